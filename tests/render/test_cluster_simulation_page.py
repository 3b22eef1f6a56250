"""A simulation of a whole cluster as a page."""

from __future__ import annotations

from tests.render.test_cluster_simulation import FULL, SPREAD, ZONES, simulated
from tests.render.test_report_page import HOSTILE, ORIGIN, Page
from tests.support.build import ZONE, constraint
from tests.support.simulated import SOFT, application, budget, deployment, nodes, stateful
from webhook.render.cluster_simulation import MOST_IN_FULL, MOST_LOSSES
from webhook.render.cluster_simulation_page import MOST_TABLE_ROWS, html
from webhook.simulation.step import parse_step

ZONE_LOST = [*ZONES, *application("api", ["a1", "b1", "c1"], SPREAD), *application("db", ["a1"])]


def page(objects, steps, **fields):
    asked = [parse_step(word) for word in steps.split()]
    return Page(html(simulated(objects, steps, **fields), asked, ORIGIN))


def parts(found):
    """How each part of the bars is drawn, where it begins, and its length."""
    return [(each["class"], each["x"], each["width"]) for each in found.all("rect")]


def test_a_drain_that_does_not_finish_stands_above_all():
    held = [*ZONES, *deployment(on=["a1"]), budget(minAvailable=1)]
    found = page(held, "drain=a1 delete=a1")

    assert "Node a1 is drained: this does not finish, and the next step starts after a part of it." in found.text


def test_what_happens_in_words_and_in_all():
    found = page(ZONE_LOST, f"lose={ZONE}=a")

    assert "What happens to the cluster if zone a goes down dump, 2026-01-31 10:00 UTC, Kubernetes 1.37" in found.text
    assert "The whole cluster, 2 workloads, 5 runs with seed 1, Kubernetes 1.33." in found.text
    assert "Pods are lost 2 finds room 1 more waits than before 1 are missing 0" in found.text
    assert "or get none of the lost Pods back: Deployment shop/api, Deployment shop/db." in found.text
    assert f"Zone a goes down lose={ZONE}=a 2 Pods are lost: 1 finds room, 1 more waits than before." in found.text
    assert [] == found.all("script")


def test_a_bar_has_what_stays_what_finds_room_and_what_waits():
    found = page(ZONE_LOST, f"lose={ZONE}=a")

    assert "Deployment shop/api 3 1 0 1 0 1 waits: 0/3 nodes are available: 1 node(s) had untolerated" in found.text
    assert "Deployment shop/db 1 1 1 0 0 loses all its Pods at once" in found.text
    assert [("bar", "0%", "66.7%"), ("every", "66.7%", "33.3%"), ("fewer", "0%", "100%")] == parts(found)


def test_a_bar_has_what_differs_between_runs_and_what_was_there_before_all_steps():
    """Of two Pods of one priority one finds the last place; the second step takes none of either."""
    full = [*application("web", ["b1"] * 10 + ["c1"] * 9), *application("db", ["a1"]), *application("api", ["a1"])]
    found = page([*ZONES, *full], f"delete={ZONE}=a cordon=b1", runs=20)

    assert [("most", "0%", "100%")] * 4 == parts(found)
    assert "finds room" not in found.text.partition(f"delete={ZONE}=a")[0]


def test_what_is_missing_waits():
    objects = [*ZONES, *stateful(constraint(**SOFT), on=["a1", "b1", "c1"])]

    assert [("bar", "0%", "66.7%"), ("every", "66.7%", "33.3%")] == parts(page(objects, f"lose={ZONE}=a", runs=2))


def test_sums_are_a_table_of_their_own():
    found = page(ZONE_LOST, f"delete={ZONE}=a", by="team")

    assert "team lost back wait missing incomplete workloads - 2 2 0 0 0" in found.text
    assert ["Zone a goes down: team"] == page(ZONE_LOST, f"lose={ZONE}=a", by="team").all("div", "aria-label")[-1:]


def test_each_domain_in_turn_begins_with_the_worst():
    found = page(FULL, f"lose={ZONE}=*", runs=2)

    assert "What happens to the cluster if each zone goes down in turn" in found.text
    assert "The worst of 3 is zone b: Pods are lost 9 more wait than before 2" in found.text
    assert (
        "Each domain in turn, the worst first domain lost wait missing out keep < 50 % Remarks b 9 2 0 0 0 lacks"
        in (found.text)
    )
    assert "2 workloads do not keep 50 % of their Pods on their nodes workload Pods keeps domain" in found.text
    assert all(f"Zone {zone} goes down lose={ZONE}={zone} " in found.text for zone in "abc")


def test_many_domains_have_only_the_tables():
    many = MOST_LOSSES + 1
    objects = [*nodes(f"a={many}"), *application("api", [f"a{i + 1}" for i in range(many)])]
    found = page(objects, "lose=kubernetes.io/hostname=*", runs=1)

    assert many > MOST_IN_FULL
    assert [] == found.all("rect")
    assert "and 1 more, none of them worse" in found.text
    assert found.text.endswith("Every workload keeps at least 50 % of its Pods on their nodes")


def test_of_many_workloads_the_worst():
    names = [f"w{i:03}" for i in range(MOST_TABLE_ROWS + 2)]
    objects = [*nodes("a=1 b=1", pods="500"), *(raw for name in names for raw in application(name, ["a1"], cpu="1m"))]
    found = page(objects, "lose=a1", runs=1)

    assert " 1 1 1 0 0 loses all its Pods at once and 2 more" in found.text
    assert MOST_TABLE_ROWS == len(parts(found))


def test_two_thousand_workloads_that_are_hurt_in_many_steps_are_a_page_that_a_browser_opens():
    made = simulated(ZONE_LOST, f"lose={ZONE}=a", runs=1)
    (step,) = made.steps
    api = step.hurt[0]._replace(causes={f"{number} of {'x' * 500}": step.hurt[0].more for number in range(9)})
    sums = [step.sums[0]._replace(name=f"team-{i}") for i in range(2_000)]
    many = made._replace(steps=[step._replace(hurt=(api,) * 2_000, sums=tuple(sums))] * 6)

    assert 1_000_000 < len(html(many, [parse_step("lose=a1")], ORIGIN)) < 5_000_000


def test_nothing_of_a_cluster_is_taken_for_html():
    objects = [*nodes("a=1 b=1"), *application(HOSTILE, ["a1"], labels={"team": HOSTILE})]
    found = page(objects, "lose=a1 lose=b1", runs=1, by="team", keep=1)

    assert [] == found.all("script") == found.all("img")
    assert found.text.count("<script>alert(1)</script>") > 3


def test_a_step_that_hurts_nobody_has_no_picture_and_nothing_that_explains_one():
    found = page([*ZONES, *application("api", ["a1"])], "cordon=b1", runs=1)

    assert "Pods are lost 0 more wait than before 0 are missing 0" in found.text
    assert found.text.endswith("Node b1 is cordoned cordon=b1 No Pod is lost.")
    assert "in every run" not in found.text
