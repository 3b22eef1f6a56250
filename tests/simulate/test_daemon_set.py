"""The DaemonSet controller."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.pod_counts import Requests
from evenkeel.simulate.daemon_set import DaemonSet
from evenkeel.simulate.node_changes import after
from evenkeel.simulate.step import UNDO, Step, parse_step
from tests.support.build import constraint
from tests.support.simulated import application, likely, maker, nodes, plan, run_one, simulated_steps, state
from webhook.kubernetes.update_strategies import DaemonSetUpdate
from webhook.spread.taints import Toleration

HALF_A_NODE, MOST_OF_A_NODE = maker(requests=Requests(milli_cpu=4000)), maker(requests=Requests(milli_cpu=6000))
TOLERANT = maker(tolerations=(Toleration("old", "Exists", "", "NoSchedule"),))


def begun(of=HALF_A_NODE, **update):
    run = state(*nodes("a=2 b=2"), minor=37)
    found = DaemonSet(DaemonSetUpdate(**update), [of], [], run.ground)
    return found, run, rest(found, run)


def rest(found, run):
    """Let all come to rest; returns at each moment how many Pods are available, and how many are not being deleted."""
    seen = []
    while found.sync(run) or run.schedule_next() or _gone(found, run):
        seen.append((available(found), sum(pod.active for pod in found.pods)))
    return seen


def _gone(found, run):
    done = run.finish()
    for pod in done:
        found.gone(pod)
    return done


def available(found):
    return sum(pod.available for pod in found.pods)


def on(found, **fields):
    """The nodes of the Pods that have these fields."""
    return sorted(pod.node for pod in found.pods if all(getattr(pod, name) == value for name, value in fields.items()))


def step(run, text):
    run.move_to(after(run.ground, parse_step(text)))


def test_each_node_has_a_pod():
    found, run, _ = begun()

    assert (["a1", "a2", "b1", "b2"], 4, True, 0) == (on(found), found.replicas, found.complete, len(run.waiting))


@pytest.mark.parametrize(
    ("update", "least", "most"),
    [
        ({}, 3, 4),
        ({"max_unavailable": "50%"}, 2, 4),
        ({"max_unavailable": "30%"}, 2, 4),
        ({"max_unavailable": 0}, 3, 4),
        ({"max_unavailable": 0, "max_surge": 1}, 4, 5),
        ({"max_unavailable": 0, "max_surge": "30%"}, 4, 6),
    ],
)
def test_a_rolling_update(update, least, most):
    """Percentages are rounded up."""
    found, run, _ = begun(**update)
    found.roll_out(HALF_A_NODE)
    seen = rest(found, run)

    assert (True, ["a1", "a2", "b1", "b2"]) == (found.complete, on(found, revision=1))
    assert (least, most) == (min(number for number, _ in seen), max(number for _, number in seen))


def test_where_no_node_has_room_for_two_a_surge_never_ends():
    found, run, _ = begun(MOST_OF_A_NODE, max_surge=2)
    found.roll_out(MOST_OF_A_NODE)
    rest(found, run)

    assert (4, 2, 4, False) == (available(found), len(run.waiting), len(found.old), found.complete)
    found.undo()
    rest(found, run)
    assert (4, 0, True) == (available(found), len(run.waiting), found.complete)


def test_on_delete_replaces_none_until_somebody_deletes_them():
    found, run, _ = begun(on_delete=True)
    found.roll_out(HALF_A_NODE)
    rest(found, run)
    assert ([], True) == (on(found, revision=1), found.complete)

    run.delete(next(pod for pod in found.pods if pod.node == "b1"))
    rest(found, run)
    assert (["b1"], 4) == (on(found, revision=1), available(found))


def test_pods_on_a_node_that_nobody_reaches_count_as_unavailable():
    """The old one there is deleted, and never gone."""
    found, run, _ = begun()
    step(run, "lose=a1")
    for pod in run.pods_of(["a1"]):
        run.fail(pod)
    found.roll_out(HALF_A_NODE)
    rest(found, run)

    assert (["a1"], [], 3) == (on(found, terminating=True), on(found, revision=1), len(found.old))


@pytest.mark.parametrize(
    ("of", "taint", "there", "wanted"),
    [
        (HALF_A_NODE, "old=yes:NoExecute", ["a2", "b1", "b2"], 3),
        (HALF_A_NODE, "old=yes:NoSchedule", ["a1", "a2", "b1", "b2"], 3),
        (HALF_A_NODE, "old=yes:PreferNoSchedule", ["a1", "a2", "b1", "b2"], 4),
        (TOLERANT, "old=yes:NoSchedule", ["a1", "a2", "b1", "b2"], 4),
    ],
)
def test_a_tainted_node_keeps_its_pod_or_not(of, taint, there, wanted):
    found, run, _ = begun(of)
    step(run, f"taint=a1,{taint}")
    rest(found, run)

    assert (there, wanted, True) == (on(found), found.replicas, found.complete)


@pytest.mark.parametrize("update", [{}, {"max_unavailable": 0, "max_surge": 1}])
def test_a_pod_that_its_node_should_not_run_is_not_made_anew(update):
    found, run, _ = begun(**update)
    step(run, "taint=a1,old=yes:NoSchedule")
    found.roll_out(HALF_A_NODE)
    rest(found, run)

    assert (["a2", "b1", "b2"], True) == (on(found), found.complete)


def test_with_a_surge_a_new_pod_does_not_wait_until_the_old_one_is_gone():
    found, run, _ = begun(max_surge=1)
    for pod in [pod for pod in found.pods if pod.node == "a1"]:
        run.delete(pod)
    found.sync(run)

    assert 5 == len([*found.pods])


def daemons(generations, *constraints, waiting_for=(), **spec):
    """The DaemonSet agent and its Pods, by their nodes of these generations of its template."""
    made, *pods = application("agent", [*generations], *constraints, kind="DaemonSet", waiting=len(waiting_for), **spec)
    for pod, (name, generation) in zip(pods, [*generations.items(), *((name, 1) for name in waiting_for)], strict=True):
        pod["metadata"]["labels"] |= {
            "controller-revision-hash": f"h{generation}",
            "pod-template-generation": str(generation),
        }
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        pod["spec"] = {**pod["spec"], "affinity": {"nodeAffinity": required}}
    return [made, *pods]


def test_steps_of_nodes():
    objects = [
        *daemons(
            dict.fromkeys(["a1", "a2", "b1", "b2"], 1), constraint(labelSelector={"matchLabels": {"app": "agent"}})
        ),
        *nodes("a=2 b=2"),
    ]
    steps = "drain=a1 add=2,topology.kubernetes.io/zone=b delete=b1"
    results = simulated_steps(objects, steps, raw=objects[0], runs=20)
    (drained, _), (added, _), (deleted, elsewhere) = ((of.workloads[0], of.elsewhere) for of in results)

    assert [{"a": 2, "b": 2}, {"a": 2, "b": 4}, {"a": 2, "b": 3}] == [*map(likely, (drained, added, deleted))]
    assert ([(0, 0), (0, 0), (1, 0)], ()) == (
        [(of.lost.most, of.missing.most) for of in (drained, added, deleted)],
        tuple(elsewhere),
    )


def test_one_amid_a_rollout_continues_or_goes_back():
    """The Pod with the highest generation is of the newest template."""
    objects = [*daemons({"a1": 3, "a2": 2, "b1": 10}), *nodes("a=2 b=1")]
    made = plan(objects, "cordon=a1", raw=objects[0])
    before, continued = run_one(made, 1, 1)
    _, undone = run_one(replace(made, steps=(Step(UNDO, UNDO),)), 1, 1)

    assert (2, 3, False) == (before.old, before.running, before.complete)
    assert [(0, 3, True)] * 2 == [(end.old, end.running, end.complete) for end in (continued, undone)]


def test_a_pod_that_waits_for_a_node_that_is_deleted_goes():
    made, *pods = daemons({"a2": 1}, waiting_for=["a1"])
    objects = [made, *pods, *nodes("a=2", pods="1"), *application("full", ["a1"])]
    waiting, deleted = run_one(plan(objects, "delete=a1", raw=made), 1, 1)

    assert [(1, 1, 0), (0, 1, 0)] == [(end.waiting, end.running, end.missing) for end in (waiting, deleted)]
