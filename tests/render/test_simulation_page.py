"""A simulation as a page."""

from __future__ import annotations

import pytest

from tests.render.test_report_page import HOSTILE, ORIGIN, Page
from tests.render.test_simulation import EVEN, LOST, shown
from tests.support.build import ZONE, constraint
from tests.support.placing import node
from tests.support.simulated import deployment, nodes
from webhook.objects.references import ObjectRef
from webhook.render.simulation_page import html, step_words
from webhook.simulation.step import APPLY, Step, parse_step


def page(*args, **fields):
    return Page(html(shown(*args, **fields), ORIGIN))


def test_a_picture_for_each_constraint_before_and_after_each_step():
    found = page(EVEN, "scale=4")

    assert [
        "Pods per domain: a 1; b 1; c 1",
        "Pods per domain: a 1 to 2; b 1 to 2; c 1 to 2",
    ] == found.pictures()
    assert "total 4: 2+1+1 in every run" in found.text
    assert "What happens to Deployment shop/web dump, 2026-01-31 10:00 UTC, Kubernetes 1.37" in found.text
    assert "20 runs with seed 1." in found.text
    assert "Among equally good nodes, one is chosen at random." in found.text
    assert [] == found.all("script")


def test_each_step_has_a_heading_in_words_and_is_there_as_it_was_written():
    found = page(EVEN, "scale=4 cordon=a1")

    assert "Now constraint 0" in found.text
    assert "The workload is scaled to 4 replicas scale=4 constraint 0" in found.text
    assert "Node a1 is cordoned cordon=a1 constraint 0" in found.text


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("rollout", "the workload is rolled out"),
        ("scale=1", "the workload is scaled to 1 replica"),
        ("add=1", "1 node joins"),
        (f"add=3,pool=new,{ZONE}=a", f"3 nodes join with pool=new, {ZONE}=a"),
        (f"lose={ZONE}=a", "zone a goes down"),
        (f"lose={ZONE}=*", "each zone goes down in turn"),
        ("lose=a1", "node a1 goes down"),
        ("delete=kubernetes.io/hostname=a1", "node a1 is deleted"),
        ("delete=topology.kubernetes.io/region=eu", "the nodes of region eu are deleted"),
        (f"drain={ZONE}=*", "the nodes of each zone are drained in turn"),
        ("cordon=pool=old", "the nodes with pool=old are cordoned"),
        ("lose=rack=*", "the nodes with each value of rack go down in turn"),
        ("taint=a1,gpu=yes:NoExecute", "node a1 gets the taint gpu=yes:NoExecute"),
        ("taint=rack=1,gpu=:NoSchedule", "the nodes with rack=1 get the taint gpu=:NoSchedule"),
    ],
)
def test_steps_in_words(step, words):
    assert words == step_words(parse_step(step))


def test_a_file_in_words():
    assert "the workload is applied" == step_words(Step(APPLY, APPLY))


def test_the_parts_of_a_bar_are_those_of_the_runs():
    """One Pod in every run is half of the two that are the most."""
    found = page(EVEN, "scale=4")
    bars = [(one["class"], one["width"]) for one in found.all("rect")]

    assert [("least", "85")] * 3 == bars[:3]
    assert [("most", "170"), ("least", "85")] * 3 == bars[3:]


def test_pods_on_nodes_that_nobody_reaches_are_drawn_apart():
    found = page(LOST, "lose=a1")

    assert "Pods per domain: a 2, 1 on unreachable nodes; b 1; c 1" == found.pictures()[-1]
    assert {"class": "unreachable", "width": "85"}.items() <= found.all("rect")[4].items()


def test_what_waits_and_why_and_what_would_help():
    found = page([*nodes("a=1 b=1"), node("c1", "c", pods="1"), *deployment(replicas=3)], "scale=9")

    assert "4 Pods wait: in every run: 0/3 nodes are available:" in found.text
    assert "If only constraint 0 were removed, a waiting Pod would find a node." in found.text


def test_a_skew_beyond_max_skew():
    soft = constraint(whenUnsatisfiable="ScheduleAnyway")
    found = page([*nodes("a=1 b=1"), *deployment(soft, replicas=4, on=["a1", "a1", "a1", "b1"])], "scale=5")

    assert "skew larger than maxSkew 1 in every run" in found.text


def test_nothing_is_taken_for_html():
    made = shown(EVEN, "scale=4", notes=[HOSTILE], not_judged=[HOSTILE])._replace(
        ref=ObjectRef("apps/v1", "Deployment", "shop", HOSTILE)
    )
    found = Page(html(made, ORIGIN))

    assert [] == found.all("script") == found.all("img")
    assert "<script>alert(1)</script>" in found.text
