"""How an object is named, and who owns it."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.build import pod, workload
from webhook.kubernetes.references import ObjectRef, Owner, Scaling, controller_of
from webhook.kubernetes.workload import parse_workloads

NAMED = [
    (ObjectRef("apps/v1", "Deployment", "shop", "web"), "Deployment shop/web", "deployment.apps/web"),
    (ObjectRef("v1", "Pod", "", "web-1"), "Pod web-1", "pod/web-1"),
    (ObjectRef("v1", "Pod", "shop", ""), "Pod shop/", "pod/"),
    (ObjectRef("v1", "List", "", ""), "List", "list/"),
    (ObjectRef("argoproj.io/v1alpha1", "Rollout", "", "x"), "Rollout x", "rollout.argoproj.io/x"),
]


@pytest.mark.parametrize(("ref", "text", "in_kubectl"), NAMED, ids=[text for _, text, _ in NAMED])
def test_an_object_is_named_in_two_forms(ref, text, in_kubectl):
    assert (text, in_kubectl) == (str(ref), ref.in_kubectl)


def test_the_names_are_read_from_the_object():
    unnamed = pod(name="", generateName="web-")

    assert ObjectRef("apps/v1", "Deployment", "shop", "web") == ObjectRef.of(workload("Deployment"))
    assert ObjectRef("v1", "Pod", "shop", "web-") == ObjectRef.of(unnamed)


@pytest.mark.parametrize("obj", [{}, {"metadata": []}, {"apiVersion": 1, "kind": {}, "metadata": {"name": 5}}], ids=str)
def test_what_is_no_name_reads_as_none(obj):
    assert ObjectRef("", "", "", "") == ObjectRef.of(obj)


def test_an_owner_is_read_leniently():
    assert Owner("", "ReplicaSet", "", "") == controller_of(
        {"ownerReferences": [{"controller": True, "kind": "ReplicaSet", "name": 5}]}
    )
    assert controller_of({}) is None


def reference(kind, controller=True):
    return {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": "u1", "controller": controller}


class Owned(NamedTuple):
    name: str
    references: object
    owner: str | None = None


OWNED = [
    Owned("no reference", None),
    Owned("an empty list", []),
    Owned("an owner that does not control", [reference("ReplicaSet", False)]),
    Owned("a word for true", [reference("ReplicaSet", "true")]),
    Owned("references that are no list", reference("ReplicaSet")),
    Owned("the only one that controls", [reference("A", None), reference("B"), reference("C", False)], "B"),
    Owned("the first of two that control", [1, reference("B"), reference("C")], "B"),
]


@pytest.mark.parametrize("case", OWNED, ids=lambda case: case.name)
def test_the_owner_is_the_first_reference_that_controls(case):
    (found,) = parse_workloads(pod(ownerReferences=case.references))

    assert found.owner == (Owner("apps/v1", case.owner, "web", "u1") if case.owner else None)


@pytest.mark.parametrize(
    ("least", "most", "replicas", "bounded"),
    [(2, 6, 9, 6), (2, 6, 1, 2), (2, 6, 6, 6), (2, 6, 0, 0), (2, None, 1, 1)],
)
def test_an_autoscaler_keeps_replicas_within_its_bounds(least, most, replicas, bounded):
    """But where there are none it is off, and bounds that are not known say nothing."""
    assert bounded == Scaling(least, most).bounded(replicas)
