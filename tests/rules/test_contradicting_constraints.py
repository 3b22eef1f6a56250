"""The rule contradicting-constraints; the limit is tests/scheduler/test_joint_limit.py's."""

from __future__ import annotations

import pytest

from tests.rules.judged import HARD_HOST, findings, on, rolling, said, stateful, templated
from tests.support.build import HOSTNAME, ZONE, constraint, node, pod, snapshot, workload
from webhook.rules import RULES
from webhook.spread.cluster_view import view_of

RULE = RULES["contradicting-constraints"]
NODES = (node("a1"), node("a2"), node("b1", **{ZONE: "b"}))
APART = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}


def apart(**term):
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [{**APART, **term}]}
    return {"affinity": {"podAntiAffinity": required}}


def running(*names, **fields):
    return [pod(name=f"web-{i}", uid=f"u{i}", spec={"nodeName": name}, **fields) for i, name in enumerate(names)]


def finds(obj, *objects):
    return [finding for finding in on(obj, *objects) if RULE.id in finding]


def test_zones_and_nodes_contradict_each_other():
    message, fix = said(stateful(constraint(), HARD_HOST, replicas=7), *NODES, rule=RULE.id)

    assert "2 of 7 replicas never fit on these nodes: constraints 0 and 1 contradict each other" == message
    assert RULE.fix == fix


@pytest.mark.parametrize(
    ("obj", "nodes", "message"),
    [
        (
            stateful(constraint(whenUnsatisfiable="ScheduleAnyway"), constraint(), HARD_HOST, replicas=8),
            NODES,
            "3 of 8 replicas never fit on these nodes: constraints 1 and 2 contradict each other",
        ),
        (
            stateful(constraint(), pod_spec=apart(), replicas=5),
            (*NODES, node("a3"), node("a4")),
            "2 of 5 replicas never fit on these nodes: constraint 0 and podAntiAffinity contradict each other",
        ),
        (
            stateful(constraint(topologyKey="rack"), constraint(topologyKey="row"), replicas=6),
            (
                node("n1", rack="r1", row="x"),
                node("n2", rack="r1", row="y"),
                node("n3", rack="r2", row="y"),
            ),
            None,
        ),
        (
            rolling(constraint(), HARD_HOST, replicas=6),
            NODES,
            "1 of 6 replicas never fits on these nodes: constraints 0 and 1 contradict each other",
        ),
    ],
    ids=["the first is soft", "anti-affinity", "other keys that go together", "a Deployment"],
)
def test_which_constraints(obj, nodes, message):
    found = [f.message for f in findings(obj, snapshot=snapshot(*nodes)) if f.rule == RULE.id]

    assert [message] * bool(message) == found


def test_it_holds_whatever_of_its_pods_run_where():
    obj = stateful(constraint(), HARD_HOST, replicas=7)

    for names, never in ((["a1", "b1", "a2"], 2), (["b1", "b1"], 2), (["a1"] * 5, 1)):
        message, _ = said(obj, *NODES, *running(*names), rule=RULE.id)
        assert message.startswith(f"{never} of 7")
    for names in (["b1"] * 3, ["a1"] * 7):
        assert [] == finds(obj, *NODES, *running(*names)), "placed when the nodes were others, these let in the rest"


@pytest.mark.parametrize(
    "obj",
    [
        stateful(constraint(), HARD_HOST, replicas=5),
        stateful(constraint(), constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway"), replicas=7),
        workload("Job", constraint(), HARD_HOST, spec={"parallelism": 7, **templated({})}),
        workload("DaemonSet", constraint(), HARD_HOST),
        stateful(constraint(), pod_spec=apart(labelSelector={"matchLabels": {"app": "db"}}), replicas=7),
    ],
    ids=["as many as fit", "a soft one", "Pods of a Job end", "a DaemonSet", "anti-affinity to others"],
)
def test_what_fits(obj):
    assert [] == finds(obj, *NODES)


def test_pods_of_others_that_count_may_go():
    obj = stateful(constraint(), HARD_HOST, replicas=7)
    other = pod(name="other", labels={"app": "web", "track": "x"}, spec={"nodeName": "b1"}, uid="u")
    obj["spec"]["selector"] = {"matchLabels": {"app": "web", "track": "y"}}
    obj["spec"]["template"]["metadata"]["labels"] = {"app": "web", "track": "y"}

    assert [] == finds(obj, *NODES, other)
    assert finds(obj, *NODES)
    assert [] == finds(pod(constraint(), HARD_HOST), *NODES, *running("a1", "a1", "a2", "b1", "b1")), "a bare Pod"


def test_the_webhook_does_not_try_all_orders():
    obj = stateful(constraint(), HARD_HOST, replicas=7)

    assert [] == [f for f in findings(obj, snapshot=view_of(sorted(NODES, key=str))) if f.rule == RULE.id]
