"""The Deployment controller."""

from __future__ import annotations

import pytest

from evenkeel.simulate.deployment import Deployment
from evenkeel.simulate.replica_set import ReplicaSet
from tests.support.simulated import maker, nodes, nowhere, state
from webhook.kubernetes.fields import scaled
from webhook.kubernetes.update_strategies import DeploymentStrategy


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [(2, 10, 2, 2), ("25%", 10, 3, 2), ("0%", 10, 0, 0), ("100%", 3, 3, 3), (-1, 3, 0, 0)],
)
def test_a_percentage_is_rounded(value, total, up, down):
    assert (up, down) == (scaled(value, total, up=True), scaled(value, total, up=False))


@pytest.mark.parametrize(
    ("strategy", "replicas", "fenceposts"),
    [
        (DeploymentStrategy(), 10, (3, 2)),
        (DeploymentStrategy(), 1, (1, 0)),
        (DeploymentStrategy(max_surge=0, max_unavailable="25%"), 3, (0, 1)),
        (DeploymentStrategy(max_surge=0, max_unavailable=0), 5, (0, 1)),
    ],
)
def test_both_limits_are_never_0(strategy, replicas, fenceposts):
    assert fenceposts == strategy.fenceposts(replicas)


def begun(replicas, **strategy):
    """A Deployment with all of its Pods, in a cluster that has room."""
    run = state(*nodes("a=3 b=3 c=3"))
    found = Deployment(replicas, DeploymentStrategy(**strategy), [ReplicaSet(maker(), 0, replicas)])
    rest(found, run)
    assert found.complete
    return found, run


def rest(found, run):
    """Let all come to rest; returns how many Pods there were, and how many were available, at each moment."""
    seen = []
    while found.sync(run) or run.schedule_next() or _gone(found, run):
        seen.append((sum(pod.active for pod in found.pods), sum(pod.available for pod in found.pods)))
    return seen


def _gone(found, run):
    done = run.finish()
    for pod in done:
        found.gone(pod)
    return done


@pytest.mark.parametrize(
    ("strategy", "most", "least"),
    [({}, 15, 9), ({"max_surge": 1, "max_unavailable": 0}, 13, 12), ({"max_surge": 0, "max_unavailable": 1}, 12, 11)],
)
def test_a_rolling_update_stays_within_its_limits_and_ends(strategy, most, least):
    found, run = begun(12, **strategy)
    found.roll_out(maker())
    seen = rest(found, run)

    assert found.complete
    assert ([0, 12], 1) == ([len(one.pods) for one in found.sets], found.revision)
    assert (most, least) == (max(there for there, _ in seen), min(available for _, available in seen))


def test_a_rollout_is_not_complete_while_an_old_pod_is_there():
    found, run = begun(3, max_surge="100%", max_unavailable=0)
    found.roll_out(maker())
    while found.sets[-1].available < 3:
        assert found.sync(run) or run.schedule_next()

    assert (False, True) == (found.complete, bool(found.old))
    rest(found, run)
    assert (True, []) == (found.complete, found.old)


def test_recreate_waits_until_every_old_pod_is_gone():
    found, run = begun(3, recreate=True)
    found.roll_out(maker())
    found.sync(run)

    assert [3, 0] == [len(one.pods) for one in found.sets]
    assert not any(pod.active for pod in found.pods)
    assert not found.sync(run)
    rest(found, run)
    assert found.complete


def test_a_rollout_whose_pods_wait_stops():
    found, run = begun(4)
    found.roll_out(nowhere())
    rest(found, run)

    assert (False, 3) == (found.complete, len(found.old))
    assert [3, 2] == [len(one.active) for one in found.sets]
    assert 3 == sum(pod.available for pod in found.pods)


def test_old_pods_that_are_not_available_go_first():
    found, run = begun(4)
    found.roll_out(nowhere())
    rest(found, run)
    found.roll_out(maker())
    rest(found, run)

    assert found.complete
    assert [] == [*run.waiting]


def test_a_scale_concerns_the_one_active_set():
    found, run = begun(3)
    found.scale(5)
    rest(found, run)

    assert found.complete
    assert 5 == found.sets[0].desired


def test_a_scale_amid_a_rollout_is_shared_in_proportion():
    found, run = begun(10)
    found.roll_out(nowhere())
    rest(found, run)
    before = [one.desired for one in found.sets]
    found.scale(20)

    assert [8, 5] == before
    assert 25 == sum(one.desired for one in found.sets)
    assert [15, 10] == [one.desired for one in found.sets]


@pytest.mark.parametrize(("replicas", "sizes"), [(15, [7, 8, 4]), (7, [3, 3, 3])])
def test_the_rest_of_a_scale_in_proportion_goes_to_the_newest_of_the_largest_sets(replicas, sizes):
    sets = [ReplicaSet(maker(), i, desired) for i, desired in enumerate((5, 5, 3))]
    found = Deployment(10, DeploymentStrategy(), sets)
    found.scale(replicas)

    assert sizes == [one.desired for one in found.sets]


def test_a_scale_to_nothing_takes_all():
    found, run = begun(4)
    found.roll_out(nowhere())
    rest(found, run)
    found.scale(0)

    assert [0, 0] == [one.desired for one in found.sets]


@pytest.mark.parametrize(("fresh", "left"), [(True, [3, 0]), (False, [2, 1])])
def test_of_old_pods_those_go_first_that_are_not_available(fresh, left):
    found, run = begun(3, max_surge=1, max_unavailable=0)
    found.roll_out(maker())
    while not found.sets[-1].available:
        assert found.sync(run) or run.schedule_next()
    found.pods[-1].fresh = fresh
    found.roll_out(nowhere())
    rest(found, run)

    assert [*left, 1] == [len(one.active) for one in found.sets]
