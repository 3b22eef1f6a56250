"""The labels of a namespace are known only where the cluster is, and the namespace in it, or where they are given."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.build import FEATURES, namespace, snapshot
from webhook.admission.terms import Terms
from webhook.kubernetes.names import NAMESPACE_NAME as NAME
from webhook.policy.parsing import built_in


class Case(NamedTuple):
    name: str
    objects: tuple | None
    labels: dict | None
    given: dict | None = None


NAMED = "kubernetes.io/metadata.name"  # which kube-apiserver writes, and a manifest seldom has
CASES = [
    Case("no cluster", None, None),
    Case("a cluster without the namespace", (namespace("bank", team="b"),), None),
    Case("a namespace with labels", (namespace("bank"), namespace("shop", team="a")), {NAME: "shop", "team": "a"}),
    Case("a namespace without", (namespace("shop"),), {NAME: "shop"}),
    Case("what is given of it", (namespace("shop", team="a"),), {NAME: "shop", "team": "b"}, {"shop": {"team": "b"}}),
    Case("what is given of another", (namespace("shop"),), {NAME: "shop"}, {"bank": {"team": "b"}}),
    Case("what is given of all", None, {NAME: "shop", "team": "b"}, {"": {"team": "b"}}),
    Case("what is given of it before that", None, {NAME: "shop"}, {"": {"team": "b"}, "shop": {}}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_labels_of_a_namespace(case):
    known = None if case.objects is None else snapshot(*case.objects)

    assert case.labels == Terms(built_in(), known, FEATURES, labels=case.given or {}).namespace_labels("shop")
