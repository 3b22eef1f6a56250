"""The labels of a namespace are known only where the cluster is, and the namespace in it."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.build import FEATURES, namespace, snapshot
from webhook.admission.terms import Terms
from webhook.policy.parsing import built_in


class Case(NamedTuple):
    name: str
    objects: tuple | None
    labels: dict | None


NAMED = "kubernetes.io/metadata.name"  # which kube-apiserver writes, and a manifest seldom has
CASES = [
    Case("no cluster", None, None),
    Case("a cluster without the namespace", (namespace("bank", team="b"),), None),
    Case("a namespace with labels", (namespace("bank"), namespace("shop", team="a")), {"team": "a", NAMED: "shop"}),
    Case("a namespace without", (namespace("shop"),), {NAMED: "shop"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_labels_of_a_namespace(case):
    known = None if case.objects is None else snapshot(*case.objects)

    assert case.labels == Terms(built_in(), known, FEATURES).namespace_labels("shop")
