"""A Pod goes to nodes only that declare the features it needs."""

from __future__ import annotations

from tests.support.attempts import cycle, node, refusals

MISSING = ("NodeDeclaredFeatures", "node(s) didn't match Pod's required features")
RESTARTING = [{"name": "c", "image": "i", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]


def declaring(name, *features):
    raw = node(name)
    return {**raw, "status": {**raw["status"], "declaredFeatures": [*features]}}


NODES = [
    declaring("n1"),
    declaring("n2", "Another", "RestartAllContainersOnContainerExits"),
    declaring("n3", "Another"),
]


def test_a_node_without_the_feature_is_refused():
    assert {"n1": MISSING, "n3": MISSING} == refusals(cycle(*NODES, containers=RESTARTING))


def test_a_version_that_does_not_know_the_feature_refuses_none():
    assert {} == refusals(cycle(*NODES, containers=RESTARTING, minor=35))
