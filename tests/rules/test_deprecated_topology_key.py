"""The rule deprecated-topology-key."""

from __future__ import annotations

import pytest

from tests.rules.judged import OBJECT, findings
from tests.support.build import ZONE, constraint, node, pod, snapshot
from webhook.findings import wording
from webhook.findings.finding import Severity
from webhook.kubernetes.likeness import REPLACED, WELL_KNOWN

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(("key", "replacement"), REPLACED.items())
def test_a_deprecated_key_is_no_misspelt_one(key, replacement):
    (found,) = findings(pod(constraint(topologyKey=key)))

    assert ("deprecated-topology-key", Severity.WARNING, replacement) == (found.rule, found.severity, found.edit.value)
    assert found.said_by_api_server and replacement in WELL_KNOWN
    assert (f"is deprecated: {replacement} has replaced it", f"write topologyKey: {replacement}") == (
        found.message,
        found.fix,
    )
    assert found.fix in wording.warning(found, OBJECT)


@pytest.mark.parametrize("key", [OLD_ZONE.upper(), f"{OLD_ZONE} "])
def test_a_deprecated_key_that_is_misspelt_besides_is_replaced_as_well(key):
    (found,) = findings(pod(constraint(topologyKey=key)))

    assert found.rule != "deprecated-topology-key"
    assert ZONE == found.edit.value


def test_a_key_that_nodes_of_the_cluster_have_is_used():
    there = snapshot(node(**{OLD_ZONE: "a"}), node("n2", **{OLD_ZONE: "b"}))

    assert () == findings(pod(constraint(topologyKey=OLD_ZONE, nodeTaintsPolicy="Honor")), snapshot=there)
