"""A profile of kube-scheduler, and one attempt to place a Pod by it."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.profile import USUAL_PROFILE, Profile
from tests.support.attempts import affinity, cycle, named, node
from tests.support.placement import HARD, SOFT, parsed
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD


@pytest.mark.parametrize(
    ("profile", "heeded"),
    [
        (USUAL_PROFILE, (True, True)),
        (Profile(filters=(), weights={POD_TOPOLOGY_SPREAD: 2}), (False, True)),
        (Profile(filters=(POD_TOPOLOGY_SPREAD,), weights={}), (True, False)),
    ],
    ids=["both", "it only scores", "it only filters"],
)
def test_a_constraint_is_heeded_where_the_plugin_runs_at_its_extension_point(profile, heeded):
    assert heeded == tuple(profile.heeds(constraint) for constraint in (*parsed(HARD), *parsed(SOFT)))


def test_the_reach_of_a_pod_is_computed_once():
    asked = cycle(node("n1"), node("n2"), affinity=affinity(named("n2")))

    assert asked.reach is asked.reach
    assert ["n2"] == list(asked.snapshot.nodes.names(asked.reach.usable))
