"""The rule malformed-topology-key."""

from __future__ import annotations

import pytest

from tests.rules.judged import findings
from tests.support.build import HOSTNAME, ZONE, constraint, pod


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        (f"{HOSTNAME} ", HOSTNAME),
        ("\track", "rack"),
        ("kubernetes.io/zone ", ZONE),
        ("topology/kubernetes.io/zone", ZONE),
        ("a b", None),
        (" ", None),
    ],
)
def test_a_malformed_key_gets_advice_for_the_key_that_was_meant(key, meant):
    (found,) = findings(pod(constraint(topologyKey=key)))

    assert "malformed-topology-key" == found.rule
    assert (f"write topologyKey: {meant}" if meant else f"use {found.wanted}") == found.fix
    assert meant == (found.edit and found.edit.value)
