"""The Job controller."""

from __future__ import annotations

import pytest

from evenkeel.objects.jobs import JobProgress, JobReplacement
from evenkeel.simulate.job import Job, to_delete
from evenkeel.simulate.pod import InitialPod, Pod
from tests.support.build import constraint
from tests.support.simulated import application, likely, maker, nodes, nowhere, numbers, plan, run_one, simulated, state

PROGRESS = JobProgress(parallelism=3, completions=10, succeeded=0, suspended=False, finished=False)


def begun(retries=6, *, waits=False, of=None, **progress):
    run = state(*nodes("a=2 b=2 c=2"), minor=37)
    found = Job(PROGRESS._replace(**progress), JobReplacement(waits, retries), of or maker(), [])
    rest(found, run)
    return found, run


def rest(found, run):
    while found.sync(run) or run.schedule_next() or _gone(found, run):
        pass


def _gone(found, run):
    done = run.finish()
    for pod in done:
        found.gone(pod)
    return done


def batch(on, *, waiting=0, status=None, **spec):
    """A Job and its Pods."""
    made, *pods = application("web", on, constraint(maxSkew=3), kind="Job", waiting=waiting)
    fields = {"parallelism": len(on) + waiting, "completions": 20, **spec}
    return [{**made, "spec": {**made["spec"], **fields}, "status": status or {}}, *pods]


@pytest.mark.parametrize(
    ("progress", "pods"),
    [
        ({}, 3),
        ({"succeeded": 8}, 2),
        ({"succeeded": 11}, 0),
        ({"completions": None}, 3),
        ({"completions": None, "succeeded": 1}, 0),
        ({"suspended": True}, 0),
        ({"finished": True}, 0),
    ],
)
def test_how_many_pods_are_made(progress, pods):
    found, _ = begun(**progress)

    assert (pods, pods, True) == (len(found.pods), found.replicas, found.complete)


def test_a_job_whose_pods_wait_is_not_complete():
    assert not begun(of=nowhere())[0].complete


def test_other_parallelism():
    found, run = begun()
    for parallelism, pods in ((5, 5), (2, 2), (30, 10)):
        found.scale(parallelism)
        rest(found, run)
        assert pods == len(found.pods) == found.replicas
    assert 0 == found.failures


def test_those_that_became_ready_last_go_first():
    found, run = begun()
    first = list(found.pods)
    run.now += 60
    found.scale(5)
    rest(found, run)
    found.scale(3)
    rest(found, run)

    assert first == found.pods


@pytest.mark.parametrize(
    ("one", "other", "first"),
    [
        ({}, {"node": ""}, 1),
        ({}, {"pending": True}, 1),
        ({}, {"ready": False}, 1),
        ({}, {"ready_at": 9.0}, 1),
        ({"ready_at": None}, {"ready_at": 9.0}, 0),
        ({}, {"restarts": 1}, 1),
        ({"created": 1.0}, {"created": 2.0}, 1),
        ({"created": 2.0, "ready": False}, {"created": 3.0}, 0),
    ],
)
def test_the_pod_that_goes_first(one, other, first):
    """By luck it is the first."""
    given = [{"node": "a1", "ready_at": 1.0, **fields} for fields in (one, other)]
    pods = [Pod(InitialPod("shop", (), **fields), i, i / 10, 0) for i, fields in enumerate(given)]

    assert [pods[first]] == to_delete(pods, 1)


@pytest.mark.parametrize(("waits", "failures"), [(False, [0, 1, 1]), (True, [0, 0, 2])])
def test_deletions_count_once_pods_are_gone_or_at_once_but_for_those_that_were_going(waits, failures):
    run = state(*nodes("a=2"), minor=37)
    going, there = (run.pod(InitialPod("shop", (), "a1", spreads=spreads)) for spreads in (False, True))
    found = Job(PROGRESS, JobReplacement(waits, 6), maker(), [going, there])
    seen = [found.failures]
    run.delete(there)
    found.sync(run)
    seen.append(found.failures)
    for pod in (going, there):
        found.gone(pod)

    assert failures == [*seen, found.failures]


@pytest.mark.parametrize(("waits", "there"), [(False, 3), (True, 2)])
def test_a_pod_is_made_again_at_once_or_when_it_is_gone(waits, there):
    found, run = begun(waits=waits)
    run.delete(found.pods[0])
    found.sync(run)
    assert there == len(found.active)

    rest(found, run)
    assert (3, 1) == (len(found.active), found.failures)


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(("retries", "there", "lost"), [(0, 0, 3), (1, 3, 0), (None, 3, 0)])
def test_a_job_fails_with_all_its_pods(waits, retries, there, lost):
    found, run = begun(retries, waits=waits)
    run.delete(found.pods[0])
    rest(found, run)

    assert (there, lost) == (len(found.pods), len(found.lost))


def test_a_drain_of_a_job_that_is_named():
    (step,) = simulated(batch(["a1", "a2", "b1", "b2"]) + nodes(), "drain=a1", raw=batch(["a1"] * 4)[0])

    assert ((4, 4, 4), (0, 0, 0)) == numbers(step.constraints[0].total, step.gone)


def test_the_pods_of_a_job_that_fails_are_missing_from_then_on():
    objects = [*batch(["a1", "b1"], backoffLimit=0), *nodes()]
    failing, after = simulated(objects, "drain=a1 cordon=b1", raw=objects[0])

    assert ((2, 2, 2), (2, 2, 2), (2, 2, 2)) == numbers(failing.gone, after.gone, after.missing)
    assert {} == likely(after)


def test_the_scale_of_a_job_is_its_parallelism_up_to_its_completions():
    objects = [*batch(["a1", "b1"], status={"succeeded": 15}), *nodes()]

    steps = simulated(objects, "scale=4 scale=9", raw=objects[0])
    assert ((4, 4, 4), (5, 5, 5)) == numbers(*(step.constraints[0].total for step in steps))


def test_no_index_is_assumed_to_fail():
    objects = [*batch(["a1", "b1"], backoffLimitPerIndex=0), *nodes()]
    made = plan(objects, "drain=a1", raw=objects[0])

    assert 2 == sum(run_one(made, 1, 1)[-1].constraints[0].domains.values())
