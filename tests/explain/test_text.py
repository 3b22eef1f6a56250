"""An explanation as text and JSON."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from evenkeel.explain.as_json import as_json
from evenkeel.explain.explained import Explained, Proposal
from evenkeel.explain.text import text
from evenkeel.objects.pod_object import ScheduledCondition
from evenkeel.pending.groups import Runs
from evenkeel.placement.contradiction import Contradiction
from evenkeel.placement.explanation import explain
from evenkeel.placement.kubectl_commands import Command, JsonPatch
from evenkeel.placement.obstacles import obstacles
from evenkeel.placement.remedies import IN_TEMPLATE, NOW, Remedy
from evenkeel.placement.subject import FROM_POD, POLICY, of_new_pod, of_pod
from evenkeel.simulate.results import Range
from evenkeel.simulate.rollout_check import MOST_PLACEMENTS, Rollout
from evenkeel.terminal.style import PALETTE, Look, Style
from tests.support.build import pod
from tests.support.claims import claim, storage_class, using, volume
from tests.support.placing import HOSTNAME, INFRA, ZONE, attempted, node, running, spread
from webhook.kubernetes.references import ObjectRef

TIME = datetime(2026, 1, 1, 12, tzinfo=UTC)
SAID = (
    "0/1 nodes are available: 1 Insufficient cpu. "
    "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)


def explained(*objects, subject=None, remedies=(), constraints=(), **spec):
    subject = subject or of_pod(pod(), {})
    found = explain(attempted(*objects, constraints=constraints, **spec), subject.unmodelled)
    return Explained(subject, found, FROM_POD, [Proposal(remedy) for remedy in remedies])


def proposing(one, **fields):
    """What is explained with a field of each proposal, by its name."""
    for name, values in fields.items():
        each = zip(one.proposals, values, strict=True)
        one = one._replace(proposals=[proposal._replace(**{name: value}) for proposal, value in each])
    return one


def lines(one, **options):
    return [line.strip() for line in text(one, TIME, **options).splitlines()]


@pytest.mark.parametrize(
    ("before", "ago"),
    [
        ({"seconds": 5}, "5 s"),
        ({"minutes": 2}, "2 min"),
        ({"hours": 30}, "1 d"),
        ({"hours": 3}, "3 h"),
    ],
)
def test_how_long_ago(before, ago):
    subject = of_pod(pod(), {})
    time = (TIME - timedelta(**before)).isoformat()
    verdict = ScheduledCondition("Unschedulable", SAID, time)
    one = explained(node("n1", cpu="0"))._replace(subject=_with(subject, verdict))

    assert f"kube-scheduler said (it has waited for {ago} at least): {SAID}" in lines(one)
    assert "evenkeel computes the same." in lines(one)


def _with(subject, verdict):
    return replace(subject, verdict=verdict)


@pytest.mark.parametrize("time", ["", "yesterday", "2026-01-01T00:00:00"])
def test_a_time_that_cannot_be_read_is_left_out(time):
    one = explained(node("n1"))._replace(
        subject=_with(of_pod(pod(), {}), ScheduledCondition("Unschedulable", SAID, time))
    )

    assert f"kube-scheduler said: {SAID}" in lines(one)
    assert "evenkeel computes now: a node passes" in lines(one)


def test_another_reason_than_that_no_node_passes():
    one = explained(node("n1"))._replace(
        subject=_with(of_pod(pod(), {}), ScheduledCondition("SchedulerError", "broken"))
    )

    assert "kube-scheduler gives the reason SchedulerError, which does not mean that no node passes." in lines(one)


def test_what_is_new_and_what_is_there():
    assert "Pod shop/web-1 is Pending: 1 of 1 node passes." == lines(explained(node("n1")))[0]
    assert (
        "Pod shop/web-1 as it would be placed now: 1 of 1 node passes."
        == (lines(explained(node("n1"), subject=of_new_pod(pod(), {})))[0])
    )


def test_a_selector_that_misses_the_pod_and_a_key_that_nodes_lack():
    missing = spread(labelSelector={"matchLabels": {"app": "db"}})
    found = lines(explained(node("n1", "a"), node("n2"), constraints=[missing]))

    assert "the selector does not match the Pod itself" in found
    assert "1 node without the label topology.kubernetes.io/zone: refused (missing required label)" in found


def test_too_few_domains():
    found = lines(explained(node("n1", "a"), constraints=[spread(minDomains=3)]))

    assert "1 eligible domain, fewer than minDomains 3: the minimum is 0" in found


def test_one_domain_and_what_to_do_about_it():
    one = explained(node("n1", "a"), constraints=[spread()])
    found = lines(one)

    said = found.index("this constraint spreads nothing: all nodes that count are in zone a")
    assert found[said + 1].startswith("if nodes can start in other zones, set minDomains: 3")
    (of_json,) = as_json(one)["constraints"]
    assert ("all nodes that count are in zone a", 3) == (of_json["spreadsNothing"], len(of_json["advice"]))
    several = explained(node("n1", "a"), node("n2", "b"), constraints=[spread()])
    assert not any("spreads nothing" in line for line in lines(several))
    assert {"spreadsNothing": None, "advice": ()}.items() <= as_json(several)["constraints"][0].items()


def test_constraints_that_contradict_each_other():
    one = explained(node("n1", "a"), constraints=[spread(), spread("kubernetes.io/hostname")])
    constraints = tuple(one.explanation.cycle.constraints)
    apart = replace(constraints[1], index=-1)
    contradicting = one._replace(contradiction=Contradiction(5, 7, constraints))

    never = "2 of 7 Pods never fit on these nodes, in whatever order they come"
    assert f"{never}: constraints 0 and 1 contradict each other." in lines(contradicting)
    written = {"fit": 5, "replicas": 7, "constraints": [0, 1], "podAntiAffinity": False}
    assert written == as_json(contradicting)["contradiction"]
    of_affinity = one._replace(contradiction=Contradiction(5, 7, (constraints[0], apart)))
    assert {"constraints": [0], "podAntiAffinity": True}.items() <= as_json(of_affinity)["contradiction"].items()
    assert as_json(one)["contradiction"] is None


def test_a_claim_that_leaves_one_of_several_domains():
    bound = claim("data", "pv"), volume("pv", "a", of="data")
    found = lines(explained(node("n1", "a"), node("n2", "b"), *bound, constraints=[spread()], **using("data")))

    may_refuse = "the constraint may refuse this Pod there, not send it elsewhere"
    assert f"claim data leaves only zone a: {may_refuse}" in found


def test_policies_that_are_not_the_usual_ones_stand_in_the_line_of_a_constraint():
    usual, other = spread(), spread(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")
    found = lines(explained(node("n1", "a"), constraints=[usual, other]))

    assert not [line for line in found if line.startswith("constraint 0") and "Policy" in line]
    (line,) = [line for line in found if line.startswith("constraint 1")]
    assert "nodeAffinityPolicy Ignore   nodeTaintsPolicy Honor" in line


def test_a_key_that_no_node_carries_has_no_domain():
    found = lines(explained(node("n1", "a"), constraints=[spread("rack")]))

    assert "no domain counts: the minimum is 0" in found
    assert "1 node without the label rack: refused (missing required label)" in found


FULL = [node(f"f{i}", cpu="0") for i in range(3)]


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (
            [*FULL, node("n1", unschedulable=True), node("n2")],
            ["f0, f1, f2: 0 cpu free of 100m", "n1: cordoned"],
        ),
        (
            [node("full", cpu="0", pods="0"), FULL[0]],
            ["f0: 0 cpu free of 100m", "full: no room for another Pod and 0 cpu free of 100m"],
        ),
        (
            [node("n1", taints=[INFRA]), node("n2", taints=[INFRA | {"value": "gpu"}])],
            ["n1: taint dedicated=infra:NoSchedule", "n2: taint dedicated=gpu:NoSchedule"],
        ),
        (
            [node("c1", unschedulable=True), *[node(f"f{i}", cpu=f"{i}m") for i in range(5)]],
            ["5 of 6 nodes: too little cpu free", "1 of 6 nodes: cordoned"],
        ),
    ],
)
def test_what_refuses_nodes_is_said_without_constraints_too(nodes, said):
    def told(**options):
        return [line for line in lines(explained(*nodes, **options)) if line in said]

    assert (said, []) == (told(), told(constraints=[spread()]))


PER_NODE = spread(HOSTNAME, maxSkew=2)


def of_constraint(*objects, constraints=(PER_NODE,)):
    """The lines of the first constraint, without those that say what it asks."""
    found = lines(explained(*objects, constraints=constraints))
    return found[found.index("") + 2 : found.index("", found.index("") + 1)]


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        (running("n0"), "6 nodes, 0 to 1 Pods each: all pass"),
        (node("n6"), "7 nodes, no Pods: all pass"),
    ],
)
def test_a_constraint_on_hostnames_that_refuses_nothing_is_one_line(objects, said):
    assert [said] == of_constraint(*(node(f"n{i}") for i in range(6)), objects)


@pytest.mark.parametrize(
    ("number", "more", "constraint"),
    [
        (5, (), PER_NODE),
        (6, (node("tainted", taints=[INFRA]),), PER_NODE),
        (6, (node("tainted", taints=[INFRA]),), PER_NODE | {"nodeTaintsPolicy": "Honor"}),
        (6, (running("n0"), running("n0")), PER_NODE),
        (6, (), PER_NODE | {"whenUnsatisfiable": "ScheduleAnyway"}),
        (6, (), spread("rack")),
        (6, (node("again", labels={HOSTNAME: "n0"}),), PER_NODE),
        (6, [running(f"n{i}") for i in range(6)], spread(HOSTNAME, minDomains=7)),
    ],
)
def test_it_is_a_table_where_the_nodes_are_few_or_differ(number, more, constraint):
    """Another taint, one that is not counted, one that refuses, scores; and of a domain there may be more nodes."""
    some = [node(f"n{i}", labels={"rack": f"r{i}"}) for i in range(number)]

    assert len(of_constraint(*some, *more, constraints=[constraint])) > number


def test_a_pod_that_would_not_be_placed_where_it_is():
    there = of_pod(pod(spec={"nodeName": "n2"}), {})
    (first, *_) = lines(explained(node("n1"), node("n2", cpu="0"), subject=there))

    assert (
        "Pod shop/web-1 is on node n2. If it were placed again, without counting itself: 1 of 2 nodes passes, "
        "but not n2."
    ) == first


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        (of_pod, "in the Pod (delete it and create it again: its constraints cannot be changed)"),
        (of_new_pod, "in the Pod"),
    ],
)
def test_a_pod_without_a_workload_has_no_template(subject, title):
    one = explained(subject=subject(pod(), {}), remedies=[Remedy("maxSkew: 2", IN_TEMPLATE, ("n1",), attempted())])

    assert title in lines(one)


def test_a_label_that_the_api_server_has_merged_is_shown_once():
    merged = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}, {"key": "x", "operator": "Exists"}],
    }
    (line,) = [
        line
        for line in lines(
            explained(node("n1", "a"), constraints=[spread(labelSelector=merged, matchLabelKeys=["app"])])
        )
        if line.startswith("constraint 0")
    ]

    assert line.endswith("   app=web,v in (1),x")


def test_remedies_and_none():
    assert "No change that evenkeel tried lets it run, and no two changes together." in lines(explained())
    several = [Remedy("uncordon n1", NOW, tuple(f"n{i}" for i in range(number)), attempted()) for number in (5, 6)]
    found = lines(explained(remedies=several))

    assert found[found.index("now") + 1 :] == [
        "uncordon n1   -> n0, n1, n2, n3, n4",
        "uncordon n1   -> 6 nodes",
    ]


GOING = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}


def test_what_is_known_of_taints_is_said_where_no_node_takes_the_pod():
    closed = node("n1", taints=[GOING])
    advice = "set by cluster-autoscaler before it deletes a node; wait, or add a node"

    assert f"taint ToBeDeletedByClusterAutoscaler: {advice}" in lines(explained(closed))
    assert not [line for line in lines(explained(closed, node("n2"))) if advice in line]
    going = [node(f"n{i}", "a", taints=[GOING]) for i in range(6)]
    for said in (
        lines(explained(*going, constraints=[spread()])),
        lines(explained(*going)),
        lines(explained(node("n1", "a", taints=[GOING], unschedulable=True), constraints=[spread()])),
        lines(explained(closed, running("n1"), constraints=[spread("kubernetes.io/hostname", minDomains=2)])),
    ):
        assert [True] == [" the taint ToBeDeletedByClusterAutoscaler: " in line for line in said if advice in line]
    shown = as_json(explained(closed))["closed"]
    assert [{"taint": "ToBeDeletedByClusterAutoscaler", "nodes": ("n1",), "advice": advice}] == shown
    assert "closed" not in as_json(explained(node("n1", cpu="0")))


def test_what_opens_the_control_plane_is_the_last_change_and_has_no_command():
    now = Remedy("uncordon n1", NOW, ("n1",), attempted())
    last = now._replace(change="remove the taint", last_resort=True)
    softer = Remedy("softer", IN_TEMPLATE, ("n1",), attempted())
    commands = [Command(("uncordon", "n1")), Command(("taint", "node", "n2", "a-")), Command(("patch",))]
    one = proposing(
        explained(node("n1", cpu="0"), remedies=[last, now, softer]), commands=[[commands[1]], [commands[0]], []]
    )
    found = lines(one)

    positions = [
        found.index(next(line for line in found if line.startswith(f"{words} ")))
        for words in ("uncordon n1", "softer", "remove the taint")
    ]
    assert sorted(positions) == positions
    assert "kubectl uncordon n1" in found
    assert "kubectl taint node n2 a-" not in found
    assert [True, False, False] == [remedy["lastResort"] for remedy in as_json(one)["remedies"]]


def test_domains_that_nobody_meant():
    unnamed = node("n0", labels={ZONE: ""})
    region = {"topology.kubernetes.io/region": "eastus"}
    faults = [node(f"n{zone}", zone, labels=region) for zone in ("0", "1", "eastus-1")]

    assert [f"n0 has the label {ZONE} without a value, which counts as a domain of its own"] == [
        line for line in lines(explained(unnamed, node("a1", "a"), constraints=[spread()])) if "without a value" in line
    ]
    assert "0, 1: not zones, but fault domains, with which Azure labels machines that are in no zone" in lines(
        explained(*faults, constraints=[spread()])
    )


def test_what_is_not_judged_is_named():
    subject = of_pod(pod(spec={"resourceClaims": [{}]}), {})
    found = explained(node("n1"), subject=subject)

    assert "1 of 1 node passes what evenkeel judges; dynamic resources are not judged." in lines(found)[0]
    assert ("dynamic resources",) == as_json(found)["notJudged"]


@pytest.mark.parametrize(
    ("cpu", "gaps", "look"),
    [
        ("8", (), Look.GOOD),
        ("8", ("volumes",), Look.WARNING),
        ("0", (), Look.ERROR),
        ("0", ("volumes",), Look.ERROR),
    ],
)
def test_the_first_line_is_red_where_no_node_passes_whatever_else_is_not_judged(cpu, gaps, look):
    one = explained(node("n1", cpu=cpu))
    coloured = text(one._replace(explanation=replace(one.explanation, gaps=gaps)), TIME, Style(True)).splitlines()[0]

    assert f"\x1b[{PALETTE[look]}m{'1 of 1 node passes' if look != Look.ERROR else 'no node passes'}" in coloured


def test_scores_in_json():
    soft = spread(whenUnsatisfiable="ScheduleAnyway")
    found = as_json(explained(node("a1", "a"), node("b1", "b"), running("a1"), constraints=[soft]))

    assert found["nodes"]["b1"]["score"] > found["nodes"]["a1"]["score"]
    assert [None, ""] == [found["agrees"], found["message"]]


def test_each_node_has_its_own_reason():
    found = lines(
        explained(node("n1", "a", taints=[INFRA]), node("n2", "a", unschedulable=True), constraints=[spread()])
    )

    assert any(line.endswith("no node: n1 taint dedicated=infra:NoSchedule; n2 cordoned") for line in found)


def test_a_pod_on_a_node_that_is_gone():
    on_gone = of_pod(pod(spec={"nodeName": "gone"}), {})

    headline = "Pod shop/web-1 is on node gone. If it were placed again, without counting itself: 1 of 1 node passes"
    assert f"{headline}; the cluster has no node gone." == lines(explained(node("n1"), subject=on_gone))[0]


@pytest.mark.parametrize(
    ("owner", "price"),
    [
        ("Deployment/web", "for the next Pod; the rollout that it starts was not simulated"),
        ("ReplicaSet/web", "for the next Pod: no rollout starts, so delete the old Pods to have them replaced"),
        ("Job/web", "delete it and create it again: its template cannot be changed"),
        ("CronJob/web", "for the Pods of its next Job: its current Pods do not change"),
    ],
)
def test_a_change_in_a_template_has_the_price_of_its_kind(owner, price):
    softer = Remedy("softer", IN_TEMPLATE, ("n1",), attempted(node("n1")))
    one = explained(node("n1", cpu="0"), subject=of_pod(pod(owner=owner), {}), remedies=[softer])

    assert f"in the template of {owner} ({price})" in lines(one)


LIMIT = f"the limit of {MOST_PLACEMENTS:,} simulated placements was reached"


@pytest.mark.parametrize(
    ("rollout", "outcome"),
    [
        (Rollout(20, 20, 1.0, Range(0, 0, 0), 7), "n1; all 7 Pods run in the end"),
        (Rollout(20, 20, 1.0, Range(0, 0, 0), 1), "n1; the Pod runs in the end"),
        (
            Rollout(20, 20, 0.0, Range(3, 3, 3), 7),
            "its rollout does not finish on the nodes that are there: 3 Pods wait",
        ),
        (
            Rollout(20, 20, 0.75, Range(0, 0, 2), 7),
            "n1; its rollout does not finish in 25 % of 20 runs: 0–2 Pods wait",
        ),
        (Rollout(5, 20, 1.0, Range(0, 0, 0), 7), f"n1; all 7 Pods run in the end (in 5 runs: {LIMIT})"),
        (
            Rollout(5, 20, 0.0, Range(3, 3, 3), 7),
            f"its rollout does not finish on the nodes that are there: 3 Pods wait (in 5 runs: {LIMIT})",
        ),
        (Rollout(0, 20, 0.0, Range(0, 0, 0), 7), f"n1; its rollout was not simulated: {LIMIT}"),
    ],
)
def test_a_change_in_a_template_says_what_its_rollout_comes_to(rollout, outcome):
    softer = Remedy("softer", IN_TEMPLATE, ("n1",), attempted(node("n1")))
    now = Remedy("a node more", NOW, ("n2",), attempted(node("n1")))
    subject = of_pod(pod(owner="Deployment/web"), {})
    one = proposing(explained(node("n1", cpu="0"), subject=subject, remedies=[now, softer]), rollout=[None, rollout])
    price = f"which replaces its Pods{': the rollout was simulated' if rollout.runs else ''}"

    futile = outcome.startswith("its")
    title = "tried, and not enough" if futile else f"in the template of Deployment/web ({price})"
    assert [title, f"softer        -> {outcome}"] == lines(one)[-2:]
    assert [None, rollout.finishes if rollout.runs else None] == [
        each["rollout"] and each["rollout"]["finishes"] for each in as_json(one)["remedies"]
    ]


def test_what_is_not_enough_comes_last_and_is_not_said_to_let_the_pod_run():
    changes = [Remedy(name, IN_TEMPLATE, ("n1",), attempted(), last_resort=name == "last") for name in ("last", "no")]
    one = explained(node("n1", cpu="0"), subject=of_pod(pod(owner="Deployment/web"), {}), remedies=changes)
    hangs, ends = (Rollout(20, 20, finishes, Range(1, 1, 1), 2) for finishes in (0.0, 1.0))
    some, none = (lines(proposing(one, rollout=rollouts)) for rollouts in ([ends, hangs], [hangs, hangs]))

    assert ["last", "no"] == [line.split()[0] for line in some if " -> " in line]
    assert some.index("tried, and not enough") == len(some) - 2
    assert "Any one of these changes would let it run (each was tried):" in some
    assert ["No change that evenkeel tried is enough.", "tried, and not enough"] == none[-4:-2]
    assert not any("would let it run" in line for line in none)


def test_constraints_of_the_policy_are_changed_in_the_policy_or_replaced():
    remedy = Remedy("maxSkew: 2 on constraint 0", IN_TEMPLATE, ("n1",), attempted())
    found = lines(explained(remedies=[remedy])._replace(source=POLICY))

    assert "in the template (its constraints replace those of the policy), or in the policy" in found


TWO_ZONES = [node("a1", "a"), node("b1", "b")]


def pinned(*volumes, **fields):
    there = [claim(name, f"pv-{name}", **fields) for name, _ in volumes]
    there += [volume(f"pv-{name}", zone, of=name, **fields) for name, zone in volumes]
    return [*there, storage_class()]


def test_why_no_node_is_left_of_those_that_a_claim_leaves():
    found = lines(
        explained(*TWO_ZONES[1:], node("a1", "a", unschedulable=True), *pinned(("data", "a")), **using("data"))
    )

    assert ["a1: cordoned", "No node in zone a takes the Pod."] == [
        line for line in found if line == "a1: cordoned" or "in zone a t" in line
    ]
    assert "The claim cannot be moved: its volume pv-data stays there." in found


@pytest.mark.parametrize("refuses", [True, False])
def test_a_constraint_that_refuses_the_zone_of_the_claim_is_named_with_it(refuses):
    nodes = [node("b1", "b"), node("a1", "a", unschedulable=not refuses)]
    limits = [spread(maxSkew=2), spread(maxSkew=1 if refuses else 2)]
    storage = pinned(("data", "a"))
    found = lines(explained(*nodes, running("a1"), *storage, constraints=limits, **using("data")))

    said = "Claim data leaves only zone a, and constraint 1 refuses zone a."
    assert [refuses, not refuses] == [said in found, "No node in zone a takes the Pod." in found]


def test_claims_that_no_node_reaches_together():
    found = lines(explained(*TWO_ZONES, *pinned(("data", "a"), ("logs", "b")), **using("data", "logs")))

    assert "No node reaches all its claims: data is in zone a, logs is in zone b." in found
    assert "The claims cannot be moved: their volumes pv-data and pv-logs stay there." in found


def test_a_claim_of_one_pod_that_another_has():
    one_pod = {"accessModes": ["ReadWriteOncePod"]}
    user = running("a1")
    user["spec"].update(using("data"))
    found = lines(explained(*TWO_ZONES, user, *pinned(("data", "a"), **one_pod), **using("data")))

    assert "Only one Pod may use a claim with ReadWriteOncePod, and another Pod uses it." in found
    assert not [line for line in found if "cannot be moved" in line]


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ({"volumeBindingMode": None}, "running PreFilter plugin"),
        ({"volumeBindingMode": "Immediate"}, "unbound immediate PersistentVolumeClaims"),
    ],
)
def test_what_ends_an_attempt_is_said_once(mode, said):
    of_class = {**storage_class(), **mode}
    found = lines(explained(*TWO_ZONES, claim("data"), of_class, constraints=[spread()], **using("data")))

    assert 1 == sum(said in line for line in found)
    assert [True, True] == [line.endswith("no node") for line in found if line.startswith(("a ", "b "))]


def test_whose_room_is_kept_on_a_node_is_named():
    one = explained(node("n1"))._replace(kept_room={"n1": ("shop/vip",)})

    assert "room on n1 is kept for shop/vip, for which the node is nominated" in lines(one)
    assert not [line for line in lines(explained(node("n1"))) if "is kept for" in line]


def test_a_misspelt_key_stands_in_the_first_line():
    first = lines(explained(node("a1", "a"), constraints=[spread("kubernetes.io/zone")]))[0]

    meant = "probably a misspelling of topology.kubernetes.io/zone"
    assert f"no node passes; no node has the topologyKey kubernetes.io/zone, {meant}." in first


@pytest.mark.parametrize(
    ("reason", "gaps", "said"),
    [
        (
            "Unschedulable",
            (),
            "about 5 minutes after its last attempt; it then gets a node, unless another waiting Pod takes the place.",
        ),
        (
            "",
            (),
            "kube-scheduler has not tried it yet; it then gets a node, unless another waiting Pod takes the place.",
        ),
        ("Unschedulable", ("dynamic resources",), "last attempt; what is not judged may then still keep it waiting."),
        ("SchedulerError", (), ""),
    ],
)
def test_what_comes_next_where_a_node_passes(reason, gaps, said):
    one = explained(node("n1"))
    subject = _with(one.subject, ScheduledCondition(reason, "0/1 nodes are available", ""))
    found = lines(one._replace(subject=subject, explanation=replace(one.explanation, gaps=gaps)))

    assert said in found[-1]
    assert bool(said) == ("then" in found[-1])


def test_a_pod_that_runs_is_not_tried_again():
    subject = replace(of_pod(pod(), {}), node="n1", phase="Running")

    assert "then" not in lines(explained(node("n1"), subject=subject))[-1]


def test_the_commands_of_the_changes_in_the_cluster_and_of_one_in_the_template():
    cycle = attempted(node("n1"))
    now, template, other = (
        Remedy(name, where, ("n1",), cycle) for name, where in zip("abc", (NOW, IN_TEMPLATE, IN_TEMPLATE), strict=True)
    )
    operations = {"op": "test", "path": "/spec/a", "value": 1}, {"op": "remove", "path": "/spec/a"}
    patch = JsonPatch(ObjectRef("apps/v1", "Deployment", "shop", "web"), operations)
    commands = [[Command(("uncordon", "n1"))], [Command(("patch", "-p", "[]"), patch)], [Command(("patch", "other"))]]
    one = proposing(explained(node("n1", cpu="0"), remedies=[now, template, other]), commands=commands)
    one = one._replace(again="evenkeel explain pod/web")

    of_template = ["in Deployment/web:", "spec:", "- a: 1"]
    assert ["a:", "kubectl uncordon n1", "", "b:", *of_template, ""] == lines(one)[-10:-2]
    others = "For the commands of the other changes: evenkeel explain pod/web -o json"
    assert ["To change the template with kubectl: evenkeel explain pod/web --patch", others] == lines(one)[-2:]
    assert ["b:", "kubectl patch -p '[]'", "", others] == lines(one, patch=True)[-4:]
    in_a_file = proposing(one, commands=[*commands[:2], [Command((), patch)]])
    for without_others in (one._replace(proposals=one.proposals[:2]), in_a_file):
        assert others not in lines(without_others)
    (written,) = as_json(one)["remedies"][1]["commands"]
    assert ("kubectl patch -p '[]'", ["kubectl", "patch", "-p", "[]"]) == (written["shell"], written["arguments"])
    named = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    assert {"object": named, "operations": operations} == written["patch"]


def test_a_change_that_loses_data_is_last_and_has_no_command_in_the_text():
    cycle = attempted(node("n1"))
    changes = [Remedy("x", NOW, ("n1",), cycle, loses_data=True), Remedy("y", IN_TEMPLATE, ("n2",), cycle)]
    delete = Command(("delete", "pvc", "data"))
    one = proposing(explained(node("n1", cpu="0"), remedies=changes), commands=[[delete], []])
    shown = lines(one)

    assert ["last, because the data of the claim is lost", "x   -> n1"] == shown[shown.index("y   -> n2") + 1 :][:2]
    assert str(delete) not in shown
    assert [True, False] == [remedy["losesData"] for remedy in as_json(one)["remedies"]]


def test_a_domain_without_a_name_is_shown():
    nodes = [node("n1", "a"), node("n2", labels={"topology.kubernetes.io/zone": ""})]
    one = explained(*nodes, running("n1"), constraints=[spread()])

    assert '""        0   0 + 1 - 0 = 1             1   passes' in lines(one)
    assert ["", "a"] == [domain["value"] for domain in as_json(one)["constraints"][0]["domains"]]


def test_how_many_of_the_pods_that_wait_run_after_a_change():
    cycle = attempted(node("n1"))
    changes = [Remedy(name, NOW, ("n1",), cycle) for name in "abc"]
    found = lines(
        proposing(explained(node("n1", cpu="0"), remedies=changes), runs=[Runs(4, 4), Runs(1, 1), None])._replace(
            stuck=4
        )
    )

    assert ["a   -> n1; all 4 waiting Pods then run", "b   -> n1; 1 of 4 waiting Pods then runs", "c   -> n1"] == [
        line for line in found if "->" in line
    ]


def test_that_other_pods_may_take_the_place_is_said_of_one_pod_too():
    changes = [Remedy(name, NOW, ("n1",), attempted(node("n1"))) for name in "ab"]
    runs = [Runs(1, 1), Runs(0, 1)]
    found = lines(proposing(explained(node("n1", cpu="0"), remedies=changes), runs=runs)._replace(stuck=1))

    wanted = ["a   -> n1", "b   -> n1; it then runs if kube-scheduler tries it before other Pods"]
    assert wanted == [line for line in found if "->" in line]


def test_a_rollout_that_goes_on_once_pods_that_wait_are_deleted():
    change = Remedy("a", IN_TEMPLATE, ("n1",), attempted(node("n1")))
    rollout = Rollout(20, 20, 0.0, Range(1, 1, 1), 3, replaced=1.0)
    found = lines(proposing(explained(node("n1", cpu="0"), remedies=[change]), rollout=[rollout]))

    assert "a   -> n1; all 3 Pods run in the end, if you delete the Pods that wait now" in found


def test_a_change_whose_rollout_never_ends_has_no_command_in_the_text():
    changes = [Remedy(name, IN_TEMPLATE, ("n1",), attempted(node("n1"))) for name in "ab"]
    stuck, ending = (Rollout(20, 20, finishes, Range(1, 1, 1), 3) for finishes in (0.0, 1.0))
    commands = [[Command(("patch", name))] for name in "ab"]
    one = proposing(explained(node("n1", cpu="0"), remedies=changes), rollout=[stuck, ending], commands=commands)

    assert ["kubectl patch b"] == [line for line in lines(one) if line.startswith("kubectl")]


def test_each_of_two_ports_names_its_nodes():
    containers = [
        [{"name": "c", "ports": [{"containerPort": port, "hostPort": port} for port in ports]}]
        for ports in ([80], [81], [80, 81])
    ]
    pods = [pod(name=f"on-{i}", spec={"nodeName": f"n{i}", "containers": containers[i]}) for i in range(2)]
    one = explained(node("n0", "a"), node("n1", "a"), *pods, containers=containers[2], constraints=[spread()])
    found = lines(one._replace(obstacles=obstacles(one.explanation.cycle, one.explanation.feasibility)))

    assert [f"host port {80 + i}/TCP: because of shop/on-{i}; refuses n{i}" for i in range(2)] == [
        line for line in found if line.startswith("host port")
    ]


def test_of_a_pod_that_something_else_places_only_its_condition_is_said():
    one = explained(node("n1"), constraints=[spread()])
    first, *others = lines(one._replace(subject=_with(one.subject, ScheduledCondition("", "late")), placer="Fargate"))

    assert "not judged, because Fargate places it" in first
    assert ["Its condition PodScheduled: late"] == others


def test_the_nodes_that_a_port_refuses_are_named_once():
    taken = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}

    def shown(number, **options):
        there = [node(f"n{i}", "a") for i in range(number)]
        pods = [pod(name=f"on-{i}", spec={"nodeName": f"n{i}", **taken}) for i in range(number)]
        one = explained(*there, *pods, **taken, **options)
        found = one.explanation
        return lines(one._replace(obstacles=obstacles(found.cycle, found.feasibility)))

    (few,) = [line for line in shown(2, constraints=[spread()]) if line.startswith("host port 80/TCP")]
    assert few.endswith("because of shop/on-0, shop/on-1")
    for found in (shown(2), shown(6, constraints=[spread()])):
        (line,) = [line for line in found if line.startswith("host port 80/TCP")]
        assert "; refuses n0, n1" in line
        assert not [other for other in found if "n0, n1" in other and other != line]
