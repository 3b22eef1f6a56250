"""The rule stuck-rollout, also beside the simulation of the rollout."""

from __future__ import annotations

from random import Random

import pytest

from tests.rules.judged import findings
from tests.support.build import HOSTNAME, ZONE, constraint, snapshot
from tests.support.placing import INFRA, node
from tests.support.simulated import deployment, nodes, pod, simulated
from webhook.kubernetes.features import LATEST

PER_HOST = constraint(topologyKey=HOSTNAME, minDomains=9)
ON_EACH = {"on": ["a1", "b1", "c1"], "replicas": 3}
AGENT = pod("DaemonSet/log", 0, "a1", labels={"app": "log"})
FIRST_GONE = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def apart(key=HOSTNAME, **fields):
    """The affinity of Pods that keep away from each other."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}, **fields}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def reasons(there, *constraints, **fields):
    """Why the rollouts of the Deployment web cannot finish."""
    made, *rest = deployment(*(constraints or [constraint(whenUnsatisfiable="ScheduleAnyway")]), **fields)
    running = [{**one, "spec": one["spec"] | made["spec"]["template"]["spec"]} for one in rest if one["kind"] == "Pod"]
    known = snapshot(*there, *running, AGENT, features=LATEST)
    found = [one for one in findings(made, snapshot=known) if one.rule == "stuck-rollout"]
    return [one.message.partition(" rounds to 0, and ")[2] for one in found]


@pytest.mark.parametrize("on", [[], ["a1", "b1", "c1"]])
class TestEachNodeTakesOnePod:
    """The Deployment is new, or runs."""

    def test_by_anti_affinity(self, on):
        """DataDog/helm-charts#2887, cert-manager/approver-policy#396, longhorn#13787"""
        assert ["podAntiAffinity allows one Pod per hostname"] == reasons(nodes("a=1 b=1 c=1"), on=on, **apart())
        assert ["podAntiAffinity allows one Pod per zone"] == reasons(nodes("a=2 b=2 c=2"), on=on, **apart(ZONE))

    def test_by_a_constraint(self, on):
        """we-promise/sure#522: the node of the control plane is empty, and counts."""
        there = [*nodes("a=1 b=1 c=1"), node("d1", "d", taints=[INFRA])]
        hard = constraint(topologyKey=HOSTNAME)
        strict = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}}

        assert ["constraint 0 allows no Pod more per hostname"] == reasons(there, hard, on=on, strategy=strict)

    def test_by_host_ports(self, on):
        ports = {"containers": [{"name": "app", "ports": [{"containerPort": 80, "hostPort": 80}]}]}

        assert 1 == len(reasons(nodes("a=1 b=1 c=1"), on=on, **ports))

    def test_by_room(self, on):
        """JiRaska/open-bank-oss#3544, mortise#474"""
        assert ["no node has room"] == reasons([node(f"{zone}1", zone, pods="1") for zone in "bcd"], on=on[1:])


@pytest.mark.parametrize(
    ("there", "fields"),
    [
        (nodes("a=2 b=1 c=1"), {**apart(), **ON_EACH}),
        (nodes("a=1 b=1 c=1"), {**apart(), "replicas": 2}),
        (nodes("a=1 b=1 c=1 d=1"), {**apart(), "replicas": 4}),
        (nodes("a=1 b=1 c=1"), {**apart(), **ON_EACH, "strategy": FIRST_GONE}),
        (nodes("a=1 b=1 c=1"), {**apart(), **ON_EACH, "strategy": {"type": "Recreate"}}),
        (nodes("a=1 b=1 c=1"), {**apart(matchLabelKeys=["pod-template-hash"]), "replicas": 3}),
        (nodes("a=1 b=1 c=1"), {**apart("rack"), "replicas": 3}),
        (nodes("a=1 b=1 c=1"), {**apart(labelSelector={"matchLabels": {"app": "api"}}), "replicas": 3}),
        (nodes("a=1"), {**apart(), "replicas": "{{ .Values.replicas }}"}),
        (nodes("a=1 b=1"), {**apart(), "replicas": 3}),
        (nodes("a=1 b=1 c=1"), {**apart(), **ON_EACH, "priorityClassName": "high"}),
        (nodes("a=1 b=1 c=1"), {**ON_EACH, "nodeSelector": {"no": "node"}}),
    ],
    ids=[
        "room on another node",
        "fewer replicas",
        "25% of 4 is 1",
        "the old Pod first",
        "Recreate",
        "each revision by itself",
        "a key that no node has",
        "away from others",
        "a placeholder",
        "not all replicas have room",
        "preemption",
        "no node may take it",
    ],
)
def test_what_may_finish_or_is_said_by_others(there, fields):
    assert [] == reasons(there, **fields)


def test_a_constraint_that_counts_each_revision_alone_refuses_no_new_pod():
    each = constraint(topologyKey=HOSTNAME, minDomains=9, matchLabelKeys=["pod-template-hash"])

    assert ["constraint 0 allows no Pod more per hostname"] == reasons(nodes("a=1 b=1 c=1"), PER_HOST, **ON_EACH)
    assert [] == reasons(nodes("a=1 b=1 c=1"), each, **ON_EACH)


@pytest.mark.parametrize("seed", range(30))
def test_where_it_warns_no_simulated_rollout_finishes(seed):
    random = Random(seed)
    there = [
        node(f"{zone}{i}", zone, pods=random.choice("112"), taints=random.choice([[], [], [], [INFRA]]))
        for zone in "abc"
        for i in range(random.randint(1, 2))
    ]
    free = [of for of in there if not of["spec"].get("taints")]
    on = [of["metadata"]["name"] for of in random.sample(free, min(len(free), random.randint(1, 3)))]
    key = random.choice([HOSTNAME, ZONE])
    spec = random.choice([{}, apart(key)])
    spread = constraint(topologyKey=key, whenUnsatisfiable=random.choice(["DoNotSchedule", "ScheduleAnyway"]))
    warned = reasons(there, spread, on=on, replicas=len(on), **spec)
    made = deployment(spread, on=on, replicas=len(on), **spec)
    for running in made[2:]:
        running["spec"] |= spec
    (result,) = simulated([*there, *made, AGENT], "rollout", runs=5, minor=35)

    stuck = result.rollout.stuck if result.rollout is not None else 0
    assert (1.0 if warned else 0) <= stuck
