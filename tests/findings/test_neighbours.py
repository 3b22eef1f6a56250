"""What stands beside a workload: by namespace and labels, without what another object makes."""

from __future__ import annotations

import pytest

from tests.support.build import constraint, pod, workload
from webhook.findings.neighbours import Neighbours
from webhook.kubernetes.workload import parse_workloads
from webhook.spread.selectors import EVERYTHING, selecting


def beside(*objects, selector=EVERYTHING):
    (web,) = parse_workloads(workload("Deployment", constraint()))
    others = Neighbours.of(one for obj in objects for one in parse_workloads(obj))
    return [f"{other.kind} {other.name}" for other in others.matching(web.ref, selector)]


def test_an_object_does_not_stand_beside_itself():
    assert ["StatefulSet web", "Deployment api"] == beside(
        workload("Deployment"), workload("StatefulSet"), workload("Deployment", name="api")
    )


@pytest.mark.parametrize(
    "obj",
    [
        workload("StatefulSet", namespace="other"),
        workload("ReplicaSet", owner="Deployment/web"),
        pod(owner="ReplicaSet/web"),
        workload("PodTemplate"),
    ],
    ids=["in another namespace", "a ReplicaSet of a Deployment", "a Pod of a ReplicaSet", "a template alone"],
)
def test_what_makes_no_pods_beside_it_is_left_out(obj):
    assert [] == beside(obj)


def test_only_those_with_a_label_that_is_asked_for_are_candidates():
    objects = [workload("Deployment", name=name, labels={"app": name, "team": "a"}) for name in ("api", "db")]

    assert ["Deployment db"] == beside(*objects, selector=selecting({"app": "db", "team": "a"}))
    assert [] == beside(*objects, selector=selecting({"app": "x", "team": "a"}))
