"""The Pods of a run."""

from __future__ import annotations

from evenkeel.simulate.pod import InitialPod, Pod


def test_a_pod_is_available_while_it_is_ready_and_stays():
    pod = Pod(InitialPod("shop", (), "n1"), 1, 0.5, 0)

    assert (True, True) == (pod.active, pod.available)
    pod.ready = False
    assert (True, False) == (pod.active, pod.available)
    pod.ready, pod.terminating = True, True
    assert (False, False) == (pod.active, pod.available)


def test_a_pod_that_is_being_deleted_terminates_from_the_start():
    assert Pod(InitialPod("shop", (), "n1", spreads=False), 1, 0.5, -1).terminating
