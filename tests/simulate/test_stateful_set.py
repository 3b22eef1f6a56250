"""The StatefulSet controller."""

from __future__ import annotations

import pytest

from evenkeel.simulate.node_changes import after
from evenkeel.simulate.stateful_set import StatefulSet
from evenkeel.simulate.step import parse_step
from tests.support.simulated import maker, nodes, nowhere, state
from webhook.kubernetes.update_strategies import StatefulSetUpdate


def begun(replicas, minor=37, of=None, **update):
    run = state(*nodes("a=2 b=2 c=2"), minor=minor)
    found = StatefulSet(replicas, StatefulSetUpdate(**update), [of or maker()], [])
    return found, run, rest(found, run)


def rest(found, run):
    """Let all come to rest; returns the ordinals of the available Pods at each moment."""
    seen = []
    while found.sync(run) or run.schedule_next() or _gone(found, run):
        seen.append(ordinals(found))
    return seen


def _gone(found, run):
    done = run.finish()
    for pod in done:
        found.gone(pod)
    return done


def ordinals(found):
    return sorted(pod.ordinal for pod in found.pods if pod.available)


def revisions(found):
    return [pod.revision for pod in sorted(found.pods, key=lambda pod: pod.ordinal)]


def test_pods_come_one_after_the_other():
    found, _, seen = begun(3, first=5)

    assert found.complete
    assert [[], [5], [5, 6], [5, 6, 7]] == [each for i, each in enumerate(seen) if each not in seen[:i]]


def test_one_that_waits_keeps_later_ones_from_existing():
    found, _, _ = begun(3, of=nowhere())

    assert [0] == [pod.ordinal for pod in found.pods]
    assert not found.complete


def test_in_parallel_all_come():
    found, run, _ = begun(3, ordered=False, of=nowhere())

    assert 3 == len(found.pods) == len(run.waiting)


def test_those_of_the_highest_ordinals_go_one_by_one():
    found, run, _ = begun(4)
    found.scale(2)
    seen = rest(found, run)

    assert found.complete
    assert [0, 1, 2] in seen
    assert [0, 1] == ordinals(found)


def test_a_rolling_update_goes_from_the_highest_ordinal_on_one_by_one():
    found, run, _ = begun(3)
    found.roll_out(maker())
    seen = rest(found, run)

    assert found.complete
    assert [1, 1, 1] == revisions(found)
    assert min(len(each) for each in seen) == 2
    assert [[0, 1], [0, 2], [1, 2]] == [each for i, each in enumerate(seen) if len(each) == 2 and each not in seen[:i]]


def test_a_partition_keeps_what_is_below_it():
    found, run, _ = begun(3, partition=2)
    found.roll_out(maker())
    assert [2] == [pod.ordinal for pod in found.old]
    rest(found, run)

    assert (True, []) == (found.complete, found.old)
    assert [0, 0, 1] == revisions(found)


@pytest.mark.parametrize("first", [0, 5])
def test_what_is_made_anew_below_the_partition_is_old(first):
    found, run, _ = begun(2, partition=1, first=first)
    found.roll_out(maker())
    rest(found, run)
    run.delete(found.pods[0])
    rest(found, run)

    assert [0, 1] == revisions(found)


@pytest.mark.parametrize(("minor", "least"), [(36, 3), (37, 2)])
def test_max_unavailable_holds_since_1_37(minor, least):
    found, run, _ = begun(4, minor, max_unavailable="50%")
    found.roll_out(maker())

    assert least == min(len(each) for each in rest(found, run))
    assert found.complete


@pytest.mark.parametrize(
    ("minor", "update", "least"),
    [
        (37, {"max_unavailable": "50%", "partition": 4}, 4),  # of 8
        (38, {"max_unavailable": "50%", "partition": 4}, 6),  # of the 4 from the partition on
        (37, {"max_unavailable": "50%", "partition": 7}, 7),  # no more than there are
        (38, {"max_unavailable": "50%", "partition": 7}, 7),
        (38, {"max_unavailable": "49%", "partition": 4, "first": 5}, 7),
        (37, {"max_unavailable": 3, "partition": 4}, 5),
        (38, {"max_unavailable": 3, "partition": 4}, 5),
        (38, {"max_unavailable": "50%"}, 4),
    ],
)
def test_a_share_of_pods_is_of_those_that_are_updated_since_1_38(minor, update, least):
    found, run, _ = begun(8, minor, **update)
    found.roll_out(maker())

    assert least == min(len(each) for each in rest(found, run))
    assert found.complete


@pytest.mark.parametrize(("minor", "updated"), [(37, [0, 0, 0, 0]), (38, [0, 0, 1, 1])])
@pytest.mark.parametrize("ordered", [True, False])
def test_what_is_not_available_below_the_partition_holds_nothing_up_since_1_38(minor, updated, ordered):
    found, run, _ = begun(4, minor, partition=2, ordered=ordered)
    next(pod for pod in found.pods if pod.ordinal == 0).ready = False
    found.roll_out(maker())
    rest(found, run)

    assert (updated if not ordered else [0, 0, 0, 0]) == revisions(found)


@pytest.mark.parametrize("ordered", [True, False])
def test_recreate_makes_no_pod_before_all_old_ones_are_gone(ordered):
    found, run, _ = begun(3, 38, recreate=True, ordered=ordered)
    found.roll_out(maker())
    seen = rest(found, run)

    assert (True, [1, 1, 1]) == (found.complete, revisions(found))
    before = seen.index([])
    assert all(each == [0, 1, 2] for each in seen[:before])
    assert [] not in seen[:before]


def test_an_old_pod_that_never_ends_holds_up_a_recreation():
    found, run, _ = begun(3, 38, recreate=True)
    lost = found.pods[0].node
    run.move_to(after(run.ground, parse_step(f"lose={lost}")))
    found.roll_out(maker())
    rest(found, run)

    assert {lost} == {pod.node for pod in found.pods}
    assert {0} == {*revisions(found)}
    assert not found.complete


def test_pods_of_recreate_that_are_lost_come_again():
    found, run, _ = begun(2, 38, recreate=True)
    run.delete(found.pods[0])
    rest(found, run)

    assert (True, [0, 0]) == (found.complete, revisions(found))


@pytest.mark.parametrize(("minor", "rounds"), [(37, [["make"], ["delete"]]), (38, [["delete", "make"], []])])
def test_pods_that_are_too_many_go_before_others_come_since_1_38(minor, rounds):
    found, run, _ = begun(3, minor, ordered=False)
    found.update = found.update._replace(first=1)

    assert rounds == [done(found, run), done(found, run)]


@pytest.mark.parametrize("minor", [37, 38])
def test_new_pods_may_be_placed_before_old_ones_go(minor):
    found, run, _ = begun(3, minor, ordered=False, max_unavailable=3)
    found.scale(4)
    found.roll_out(maker())

    assert [["make"], ["delete", "delete"]] == [done(found, run), done(found, run)]


def done(found, run):
    """Let the controller act once; what it does to Pods, in this order."""
    actions = []
    with pytest.MonkeyPatch.context() as patch:
        for action in ("make", "delete"):
            patch.setattr(run, action, recorded(action, getattr(run, action), actions))
        found.sync(run)
    return actions


def recorded(action, act, actions):
    return lambda *given: (actions.append(action), act(*given))[1]


def test_in_parallel_what_is_not_available_is_replaced_besides():
    found, run, _ = begun(3, ordered=False, of=nowhere())
    found.roll_out(maker())
    rest(found, run)

    assert found.complete


def test_on_delete_replaces_nothing():
    found, run, _ = begun(2, on_delete=True)
    found.roll_out(maker())
    rest(found, run)

    assert [0, 0] == revisions(found)
    assert found.complete


def test_a_pod_that_terminates_for_ever_holds_all():
    found, run, _ = begun(3)
    (first,) = (pod for pod in found.pods if pod.ordinal == 0)
    run.move_to(after(run.ground, parse_step(f"lose={first.node}")))
    run.delete(first)
    found.scale(2)
    rest(found, run)

    assert [1, 2] == ordinals(found)


def remade(found, run):
    """Let the Pod with ordinal 0 be made anew; the revisions then."""
    run.delete(next(pod for pod in found.pods if pod.ordinal == 0))
    rest(found, run)
    return revisions(found)


def test_below_the_partition_stays_what_all_were_updated_to_at_last():
    found, run, _ = begun(3, partition=1)
    for _ in range(2):
        found.roll_out(maker())
        rest(found, run)

    assert [0, 2, 2] == remade(found, run)


def test_once_all_are_updated_that_is_what_stays():
    found, run, _ = begun(2)
    found.roll_out(maker())
    rest(found, run)
    found.update = found.update._replace(partition=1)
    found.roll_out(maker())
    rest(found, run)

    assert [1, 2] == remade(found, run)


def test_after_a_rollback_all_is_made_of_the_last():
    of, other = maker(), maker(priority=1)
    found = []
    for makers in ([of, of], [other, of]):
        run = state(*nodes("a=2"))
        one = StatefulSet(2, StatefulSetUpdate(partition=1), makers, [])
        rest(one, run)
        found.append(revisions(one))

    assert [[1, 1], [0, 1]] == found
