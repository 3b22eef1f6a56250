"""How an object is named, and who owns it."""

from __future__ import annotations

import pytest

from tests.support.build import pod, workload
from webhook.objects.references import ObjectRef, Owner, controller_of

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
