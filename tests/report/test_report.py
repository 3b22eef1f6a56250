"""The order of the workloads, what changes between two policies, and the sums."""

from __future__ import annotations

import pytest

from tests.report.test_impact import DEFAULTS, EMPTY, NO_DEFAULTS
from tests.support.build import HOSTNAME, constraint, hpa, namespace, policy, service, workload
from tests.support.placing import node, requesting
from tests.support.reporting import ZONES, deployment, made_by, only, pods, report, reporting
from webhook.findings.finding import Severity

WARN = "{enforcement: Warn}"


def workloads(**named):
    """A Deployment for each name, with Pods on these nodes; `None` in front asks for an error."""
    for name, nodes in named.items():
        bad, label = nodes[:1] == (None,), {"labelSelector": {"matchLabels": {"app": name}}}
        one = constraint(**({"labelSelector": {}} if bad else label))
        yield from deployment(one, name=name)
        yield from pods(*(node for node in nodes if node is not None), name=name)


def names(found):
    return [one.live.ref.name for one in found.workloads]


def test_what_hurts_most_comes_first():
    objects = [
        *ZONES,
        *workloads(
            even=("a1", "b1", "c1"),
            waits=("a1", "b1", "c1", ""),
            lost=("a1", "a2"),
            skewed=("a1", "a1", "a2", "b1"),
            leaning=("a1", "a2", "b1", "b2", "c1"),
            alone=("b1",),
            denied=(None, "a1", "b1", "c1"),
        ),
    ]

    assert ["denied", "waits", "lost", "skewed", "leaning", "even", "alone"] == names(report(*objects))
    assert ["waits", "lost", "skewed"] == names(report(*objects, named=False))[:3]


def test_what_hurts_alike_is_in_the_order_of_names_and_groups():
    versions = [f"{letter}.example.com/v1" for letter in "ab"]
    found = reporting(*ZONES, *(made_by("Cluster/db", one[0], "a1", api_version=one) for one in versions))
    for those in (found.workloads, found.workloads[::-1]):
        assert versions == [one.live.ref.api_version for one in found.report(map(found.of, those)).workloads]


def test_a_single_pod_and_a_daemon_set_lose_nothing_that_could_be_spread():
    daemon = workload("DaemonSet", name="agent", labels={"app": "agent"})
    of_daemon = [made_by("DaemonSet/agent", f"agent-{i}", "a1", labels={"app": "agent"}) for i in range(2)]
    found = report(*ZONES, *workloads(one=("a1",), two=("a1", "b1")), daemon, *of_daemon)

    assert "two" == names(found)[0]


def test_what_changes_between_two_policies():
    objects = [*ZONES, *workloads(bad=(None, "a1"), good=("a1",))]
    found = {one.live.ref.name: one for one in report(*objects, compare=policy(WARN)).workloads}

    assert (True, False) == (found["bad"].changes, found["good"].changes)
    assert ("would-be-denied", "denied") == (
        str(found["bad"].was.worst.outcome),
        str(found["bad"].impact.worst.outcome),
    )
    assert not only(*ZONES, *deployment(EMPTY)).changes, "there is nothing to compare with"


@pytest.mark.parametrize(
    ("new", "old", "change"),
    [
        (DEFAULTS, NO_DEFAULTS, "new"),
        (DEFAULTS, DEFAULTS.replace("maxSkew: 1", "maxSkew: 2"), "other"),
        (NO_DEFAULTS, DEFAULTS, "no more"),
        (DEFAULTS, DEFAULTS, ""),
    ],
)
def test_defaults_that_change(new, old, change):
    found = report(*ZONES, *deployment(), service(), *pods("a1", "b1", ""), of=policy(new), compare=policy(old))

    assert change == found.workloads[0].defaults_change
    assert ({change: 3} if change else {}) == found.summary.defaults_change
    assert (0 if new == NO_DEFAULTS else 3, 0) == (found.summary.defaulted, found.summary.audited_defaults)


def test_the_sums():
    objects = [*ZONES, *workloads(bad=(None, "a1", "a2", ""), good=("a1", "b1", "c1"), alone=("a1",))]
    found = report(*objects, compare=policy(WARN))
    summary = found.summary

    assert (3, 7, 1) == (summary.workloads, summary.pods, summary.waiting)
    assert ({"denied": 1, "allowed": 2}, 1, 1) == (summary.outcomes, summary.denied, summary.changed)
    assert (0, 1) == (summary.uneven, summary.lost)
    assert (6, 3, 0) == (found.nodes, found.zones, found.static)


def test_the_sums_of_each_namespace_and_whose_it_is():
    """A label wins over an annotation of its name; one without workloads is none of them."""
    shop = namespace(team="web", tier="a")
    shop["metadata"]["annotations"] = {"team": "x", "example.com/contact": "#web", "note": "y"}
    far = workload("Deployment", constraint(), name="far", namespace="bank")
    first, second = report(*ZONES, shop, namespace(name="empty"), *deployment(EMPTY), far).namespaces

    assert ("shop", {"team": "web", "example.com/contact": "#web"}) == (first.name, first.contacts)
    assert (1, 0, 1, 1) == (
        first.summary.workloads,
        first.summary.denied_updates,
        first.summary.denied_creates,
        first.summary.found[Severity.ERROR],
    )
    assert ("bank", None, 0) == (second.name, second.contacts, second.summary.denied_creates)


def test_the_namespace_that_is_hurt_most_comes_first():
    """In the order of the workloads: Pods that wait, then those that a zone takes as a whole, then skew, then rules."""
    hurt = {
        "waiting": ("a1", ""),
        "lost": ("a1", "a2"),
        "skewed": ("a1", "a1", "a2", "b1"),
        "warned": ("a1", "b1", "c1"),
    }
    objects = [*ZONES]
    for i, (name, nodes) in enumerate(reversed(hurt.items())):
        own = constraint(labelSelector={"matchLabels": {"app": name}})
        rows = [own] if name == "skewed" else [EMPTY] if name == "warned" else []
        made = [*deployment(*rows, name=name), *pods(*nodes, name=name)]
        for each in made:
            each["metadata"]["namespace"] = f"{i}-{name}"
        objects += made

    assert [*hurt] == [group.name.partition("-")[2] for group in report(*objects, named=False).namespaces]


def test_what_a_zone_takes_of_a_namespace_and_of_all():
    bank = [*deployment(name="bank"), *pods("b1", "b1", "b2", "a1", name="bank")]
    for each in bank:
        each["metadata"]["namespace"] = "bank"
    found = report(*ZONES, node("x", ""), *bank, *deployment(), *pods("a1", "a2", "c1", "x"))
    losses = {group.name: (group.summary.loss.largest, group.summary.loss.share) for group in found.namespaces}

    assert {"bank": ("b", 0.75), "shop": ("a", 0.5)} == losses
    assert {"a": 3, "b": 3, "c": 1} == found.summary.loss.zones
    assert report(*deployment(), *pods("a1")).summary.loss is None


def test_the_sums_by_the_value_of_a_label():
    """What lacks the label is a group of its own, and is no group with the value ""."""
    mine, empty = (workload("Deployment", name=name) for name in ("mine", "empty"))
    mine["metadata"]["labels"], empty["metadata"]["labels"] = {"team": "a"}, {"team": ""}
    found = reporting(*ZONES, *deployment(EMPTY), mine, empty)
    groups = found.report(map(found.of, found.workloads), "team").groups

    assert [(None, 1), ("", 1), ("a", 1)] == [(group.name, group.summary.workloads) for group in groups]
    assert () == report(*ZONES, mine).groups


def test_what_is_skewed_only_by_defaults_of_the_policy_is_told_apart():
    """A policy that is named is taken to be in force, so that with and without it other constraints count."""
    bare = [*ZONES, service(), *deployment(), *pods("a1", "a1", "b1"), *workloads(own=("a1", "a2"))]
    defaults = policy(DEFAULTS)

    def uneven(**options):
        summary = report(*bare, **options).summary
        return summary.uneven, summary.assumed

    assert (2, 1) == uneven(of=defaults)
    assert (1, 0) == uneven(named=False)
    assert (2, 1) == uneven(compare=defaults)


def test_what_is_denied_at_the_next_update_are_pods_too():
    """The ratchet lets the object pass as it is; its Pods are made anew by its controller."""
    owned = policy("{ownedObjects: Deny}")

    assert (0, 1) == denied(*deployment(EMPTY))
    assert (1, 1) == denied(*deployment(EMPTY), of=owned)
    assert (0, 0) == denied(*deployment(EMPTY), of=policy("{enforcement: Warn}"))


def denied(*objects, **options):
    sums = report(*ZONES, *objects, **options).summary
    return sums.denied_updates, sums.denied_creates


def test_findings_are_of_all_rules_and_of_what_has_an_owner_too():
    owned = [*deployment(constraint(topologyKey="rack"), owner="App/shop"), *pods("a1")]
    one = only(*ZONES, *owned)

    assert {"unknown-topology-key", "rollout-skew"} <= {finding.rule for finding in one.findings}


def test_what_is_too_large_to_judge_is_in_the_report_all_the_same():
    one = only(*ZONES, *deployment(*[constraint(topologyKey=f"rack{i}") for i in range(101)]), *pods("a1"))

    assert ((), "not-judged") == (one.findings, str(one.impact.create.outcome))


def test_the_replicas_that_are_asked_for():
    assert 3 == only(*deployment()).replicas
    assert only(workload("DaemonSet", spec={"replicas": None})).replicas is None


CLOSED = [one for one in ZONES if "c" not in one["metadata"]["name"]] + [node("c1", "c", unschedulable=True)]


def scaled(replicas, scaler, *on):
    """What is reported of a Deployment of so many replicas and its autoscaler, where one zone of three is closed."""
    owner, made = deployment(constraint())
    owner["spec"]["replicas"] = replicas
    return only(*CLOSED, owner, made, *pods(*on), scaler)


def rules(findings):
    return {one.rule: one.message for one in findings}


def test_what_an_autoscaler_may_bring_is_found_apart():
    """Two Pods fit beside the closed zone."""
    one = scaled(2, hpa(2, 5), "a1", "b1")

    assert (2, 5) == one.scaling
    assert "tainted-domain" not in rules(one.findings)
    assert rules(one.at_most)["tainted-domain"].endswith("3 of 5 new Pods would wait: c is cordoned, but counts")
    assert not rules(one.findings).keys() & rules(one.at_most).keys()


def test_the_replicas_that_an_autoscaler_has_set_are_those_of_now():
    """Within its bounds, to which it brings them; 0 switches it off."""
    now = [rules(scaled(replicas, hpa(3, 5)).findings).get("tainted-domain", "") for replicas in (4, 1, 9, 0)]

    assert ["2 of 4", "1 of 3", "3 of 5", ""] == [said[:6] for said in now]
    assert () == scaled(9, hpa(3, 5)).at_most
    assert "tainted-domain" in rules(scaled(0, hpa(3, 5)).at_most)


def test_an_autoscaler_without_a_known_maximum_and_one_of_something_else():
    assert ((2, None), ()) == (scaled(2, hpa(2, None)).scaling, scaled(2, hpa(2, None)).at_most)
    assert scaled(2, hpa(namespace="bank")).scaling is None


def test_what_a_policy_would_do_does_not_depend_on_an_autoscaler():
    """The webhook knows of none."""
    asked = policy("{rules: {missing-constraints: {severity: error, minReplicas: 4}}}")
    one = only(*ZONES, *deployment(), hpa(5, 9), of=asked)

    assert "missing-constraints" in rules(one.findings)
    assert "allowed" == str(one.impact.create.outcome)


@pytest.mark.parametrize(("on", "expected"), [("n1", False), ("", True)])
@pytest.mark.parametrize("owner", ["", "Cluster/db"])
def test_a_pod_that_runs_has_its_place(owner, on, expected):
    """Of a Pod that nobody made, or whose owner is not known, no other is to come while none waits."""
    version = "example.com/v1" if owner else None
    one = made_by(owner, "db-1", on, labels={"app": "web"}, api_version=version)
    one["spec"] |= {"topologySpreadConstraints": [constraint()], "containers": requesting()}
    agent = made_by("DaemonSet/agent", "agent-1", "n1", labels={"app": "agent"})
    full = node("n1", "a", pods="2" if on else "1")
    found = {named.live.ref.name: rules(named.findings) for named in report(full, agent, one).workloads}

    assert expected == ("unschedulable" in found["db-1" if not owner else "db"])


def test_whether_there_would_be_room_for_the_maximum_is_not_known():
    """By then other Pods are there, and perhaps other nodes."""
    owner, made = deployment(constraint())
    owner["spec"]["replicas"] = 3
    owner["spec"]["template"]["spec"]["containers"] = requesting("2")
    zones = [node(f"{zone}1", zone, cpu="3") for zone in "abc"]
    there = [*zones, owner, made, *pods("a1", "b1", "c1")]

    assert not {"unschedulable", "selector-matches-others"} & rules(only(*there, hpa(3, 9)).at_most).keys()
    owner["spec"]["replicas"] = 9
    assert "unschedulable" in rules(only(*there, hpa(3, 9)).findings)


def test_the_rules_are_those_of_the_namespace():
    """An override that only its labels bring into force."""
    spared = "{overrides: [{name: a, namespaceSelector: {matchLabels: {team: a}}, rules: {empty-selector: ignore}}]}"
    found = [
        "empty-selector" in rules(only(*ZONES, namespace(team=team), *deployment(EMPTY), of=policy(spared)).findings)
        for team in "ab"
    ]

    assert [False, True] == found


def test_a_hard_constraint_that_does_not_hold_comes_before_what_a_zone_takes():
    by_host = constraint(topologyKey=HOSTNAME, labelSelector={"matchLabels": {"app": "z"}})
    skewed = [*deployment(by_host, name="z"), *pods("a1", "a1", "a1", "b1", "b2", "c1", "c2", name="z")]
    leaning = [*deployment(name="a"), *pods("a1", "a2", "a1", "b1", name="a")]
    first, second = report(*ZONES, *leaning, *skewed, named=False).workloads

    assert ("z", 2, 3 / 7) == (first.live.ref.name, first.excess, first.share)
    assert ("a", 0, 3 / 4) == (second.live.ref.name, second.excess, second.share)


def test_a_soft_constraint_is_beyond_its_max_skew_without_excess():
    soft = constraint(whenUnsatisfiable="ScheduleAnyway")
    one = only(*ZONES, *deployment(soft), *pods("a1", "a1", "a1"))

    assert (0, [2]) == (one.excess, [spread.excess for spread in one.spreads])


def test_a_workload_with_two_findings_of_a_severity_counts_once():
    found = report(*ZONES, *deployment(EMPTY, EMPTY | {"topologyKey": "rack"})).summary.found

    assert 1 == found[Severity.ERROR]


def test_the_policy_in_force_is_the_one_that_is_compared_with():
    there = [*ZONES, service(), *deployment(), *pods("a1", "a1", "b1")]
    defaults, none = policy(DEFAULTS), policy(NO_DEFAULTS)
    assumed = [report(*there, of=now, compare=was).summary.assumed for now, was in ((none, defaults), (defaults, none))]

    assert [1, 0] == assumed


@pytest.mark.parametrize(("scheduler", "foreign"), [("", ""), ("default-scheduler", ""), ("other", "other")])
def test_a_scheduler_of_which_no_profile_is_known(scheduler, foreign):
    made = deployment()
    for each in made:
        each["spec"]["template"]["spec"] |= {"schedulerName": scheduler} if scheduler else {}

    assert foreign == only(*ZONES, *made).foreign


def test_what_lacks_a_label_comes_before_what_has_an_empty_one():
    with_label, without = (workload("Deployment", name=name) for name in "ab")
    with_label["metadata"]["labels"] = {"team": ""}
    found = reporting(*ZONES, with_label, without)

    assert [None, ""] == [group.name for group in found.report(map(found.of, found.workloads), "team").groups]


def test_defaults_that_change_are_counted_for_each_workload():
    there = [*ZONES, service()]
    for name in ("one", "two"):
        there += [service(name, {"app": name}), *deployment(name=name), *pods("a1", "b1", name=name)]

    assert {"new": 4} == report(*there, of=policy(DEFAULTS), compare=policy(NO_DEFAULTS)).summary.defaults_change
