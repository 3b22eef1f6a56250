"""Hard constraints of a workload that together never let in all of its Pods."""

from __future__ import annotations

import pytest

from evenkeel.placement.contradiction import contradiction
from tests.support.build import workload
from tests.support.placing import HOSTNAME, attempted, node, running, spread

NODES = node("a1", "a"), node("a2", "a"), node("b1", "b")
BOTH = [spread(), spread(HOSTNAME)]
SELECTOR = {"matchLabels": {"app": "web"}}


def maker(replicas, kind="StatefulSet", **spec):
    return workload(kind, spec={"replicas": replicas, "selector": SELECTOR, **spec})


def found(*objects, of, constraints=BOTH, **spec):
    return contradiction(attempted(*NODES, *objects, constraints=constraints, **spec), of)


@pytest.mark.parametrize("names", [[], ["a1", "a2", "b1"], ["b1", "b1"]])
def test_two_constraints_wherever_pods_run(names):
    number, replicas, constraints = found(*map(running, names), of=maker(7))

    assert (5, 7, [0, 1]) == (number, replicas, [constraint.index for constraint in constraints])


def test_required_anti_affinity_is_taken_for_one_pod_in_each_domain():
    term = {"topologyKey": HOSTNAME, "labelSelector": SELECTOR}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    more = node("a3", "a"), node("a4", "a")
    limit = found(*more, of=maker(5), constraints=[spread()], affinity=apart)

    assert (3, [0, -1]) == (limit.number, [constraint.index for constraint in limit.constraints])


@pytest.mark.parametrize(
    ("of", "names"),
    [
        (None, []),
        (maker(5), []),
        (maker(7), ["b1"] * 3),
        (maker(None), []),
        (maker(7, selector=None), []),
        (maker(7, selector={"matchLabels": {"app": "db"}}), []),
    ],
    ids=[
        "a bare Pod",
        "all fit",
        "those that run let in the rest",
        "replicas are not known",
        "no selector",
        "another selector",
    ],
)
def test_where_nothing_is_said(of, names):
    assert found(*map(running, names), of=of) is None
