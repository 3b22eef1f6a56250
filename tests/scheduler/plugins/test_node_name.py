"""A Pod that names its node."""

from __future__ import annotations

import pytest

from tests.support.attempts import (
    cycle,
    node,
    refusals,
    said,
)


@pytest.mark.parametrize(
    ("minor", "refused"),
    [
        (36, ("NodeName", "node(s) didn't match the requested node name")),
        (37, ("", "node(s) didn't satisfy plugin(s) [NodeName]")),
    ],
)
def test_a_pod_that_names_its_node(minor, refused):
    assert {"n1": refused} == refusals(cycle(node("n1"), node("n2"), nodeName="n2", minor=minor))


def test_a_pod_that_names_a_node_that_is_not_there():
    asked = cycle(node("n1"), nodeName="gone")

    assert "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeName]." == said(asked)
