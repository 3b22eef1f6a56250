"""Which of the Pods that wait are tried, and what lets them be tried again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.pod_affinity import PodAffinity, PodTerm
from evenkeel.scheduler.pod_counts import label_set
from evenkeel.scheduler.volumes import Mounts, PodVolume
from evenkeel.simulate.pod import InitialPod, Maker, Pod
from evenkeel.simulate.scheduling_queue import SchedulingQueue
from tests.support.build import HOSTNAME, constraint
from tests.support.simulated import SOFT, maker, pod_class
from webhook.spread.selectors import NOTHING, selecting


def making():
    """What makes Pods that wait; those of a kind are alike."""
    term = PodTerm(HOSTNAME, selecting({"app": "web"}), frozenset({"pay"}), NOTHING)
    makers = {
        "free": maker(),
        "hard": maker(constraint()),
        "soft": maker(constraint(**SOFT)),
        "near": maker(pod_affinity=PodAffinity(affinity=(term,))),
        "hard and near": maker(constraint(), pod_affinity=PodAffinity(affinity=(term,))),
        "apart": maker(pod_affinity=PodAffinity(anti_affinity=(term,))),
        "gated": Maker(replace(pod_class(), waits="it has gates")),
    }

    def pod(serial, kind="free", **fields):
        incoming = makers[kind].of_class.pod
        found = {"maker": makers[kind], "affinity": incoming.pod_affinity, **fields}
        return Pod(InitialPod("shop", (), "", **found), serial, 0.5, -1)

    return pod


def running(namespace="shop", **labels):
    return Pod(InitialPod(namespace, label_set({"app": "web", **labels}), "a1"), 99, 0.5, -1)


def queue(*pods):
    waiting = SchedulingQueue()
    for each in pods:
        waiting.add(each)
    return waiting


def all_tried(waiting):
    """Try all Pods that are active in vain, and return those that had to be looked at."""
    tried = []
    while (each := waiting.pop()) is not None:
        if not waiting.is_unschedulable(each):
            tried.append(each)
        waiting.set_aside(each)
    return tried


def test_pods_are_tried_by_priority_and_then_by_time():
    pod = making()
    low, late, early = pod(1), pod(3, priority=5), pod(2, priority=5)
    waiting = queue(low, late, early)

    assert ([early, late, low], 3) == ([*waiting], len(waiting))
    assert [early, late, low, None] == [waiting.pop() for _ in range(4)]
    assert [early, late, low] == [*waiting]


def test_what_kube_scheduler_does_not_look_at_is_never_tried():
    waiting = queue(making()(1, "gated"))

    assert (None, 1) == (waiting.pop(), len(waiting))


def test_a_pod_that_is_bound_or_deleted_is_not_tried():
    pod = making()
    bound, deleted = pod(1), pod(2)
    waiting = queue(bound, deleted)
    bound.node, deleted.terminating = "a1", True
    waiting.remove(bound)
    waiting.remove(deleted)

    assert (None, []) == (waiting.pop(), [*waiting])


def test_of_pods_that_are_alike_one_is_tried_until_there_is_room():
    pod = making()
    first, second, other = pod(1), pod(2), pod(3, "hard")
    waiting = queue(first, second, other)

    assert [first, other] == all_tried(waiting)
    assert [] == all_tried(waiting)
    waiting.activate()
    assert [first, other] == all_tried(waiting)


def test_once_the_first_is_bound_the_next_is_tried_in_its_turn():
    pod = making()
    first, second, third, between = pod(1), pod(3), pod(4), pod(2, "hard")
    waiting = queue(first, second, third, between)
    all_tried(waiting)
    waiting.activate()

    assert waiting.pop() is first
    first.node = "a1"
    waiting.remove(first)
    assert [between, second] == all_tried(waiting)
    waiting.activate()
    second.terminating = True
    waiting.remove(second)
    assert [between, third] == all_tried(waiting)


def test_a_pod_that_is_refused_comes_after_those_that_were_not_tried_since():
    pod = making()
    first, second, third, new = pod(1), pod(2, "soft"), pod(3, "hard"), pod(4, "apart")
    waiting = queue(first, second, third)
    waiting.set_aside(waiting.pop())
    waiting.activate()
    waiting.add(new)

    assert [second, third, first, new] == all_tried(waiting)


def test_pods_whose_first_is_deleted_while_none_is_active_are_not_forgotten():
    pod = making()
    first, second = pod(1), pod(2)
    waiting = queue(first, second)
    all_tried(waiting)
    first.terminating = True
    waiting.remove(first)
    waiting.activate()

    assert [second] == all_tried(waiting)


def test_a_pod_for_which_a_node_is_nominated_is_like_no_other():
    pod = making()
    first, second = pod(1), pod(2, nominated="a1")

    assert [first, second] == all_tried(queue(first, second))


def test_a_pod_with_volumes_of_its_own_is_like_no_other():
    pod = making()
    first, second = (pod(i, mounts=Mounts("shop", (PodVolume(f"data-{i}"),))) for i in (1, 2))

    assert [first, second] == all_tried(queue(first, second))


def test_a_pod_may_be_tried_again_at_once():
    pod = making()
    first = pod(1)
    waiting = queue(first)
    waiting.pop()
    waiting.try_again(first)

    assert waiting.pop() is first


def test_those_behind_a_pod_for_which_a_node_is_nominated_are_tried_without_it():
    pod = making()
    first, second, third = pod(1), pod(2), pod(3)
    waiting = queue(first, second, third)
    all_tried(waiting)
    waiting.activate()
    waiting.pop()
    first.nominated = "a1"
    waiting.try_again(first)

    assert [first, second] == all_tried(waiting)
    waiting.activate()
    assert [first, second] == all_tried(waiting)


@pytest.mark.parametrize(
    ("kind", "other", "tried"),
    [
        ("hard", {}, True),
        ("hard", {"app": "api"}, False),
        ("hard", {"namespace": "pay"}, False),
        ("soft", {}, False),
        ("free", {}, False),
        ("apart", {"namespace": "pay"}, False),
        ("near", {"namespace": "pay"}, True),
        ("near", {"namespace": "pay", "app": "api"}, False),
        ("hard and near", {}, True),
        ("hard and near", {"namespace": "pay"}, True),
    ],
)
def test_pods_that_come_or_go_let_those_be_tried_again_that_count_them(kind, other, tried):
    waiting = queue(making()(1, kind))
    all_tried(waiting)
    waiting.activate_heeding(running(**other))

    assert tried == bool(all_tried(waiting))
