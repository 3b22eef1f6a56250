"""What a simulation keeps up to date is what the scheduler's arithmetic computes anew, whatever comes and goes."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from evenkeel.scheduler.configured_profiles import parse_profiles
from evenkeel.scheduler.framework import Framework, total
from evenkeel.scheduler.pod_counts import BoundPod
from evenkeel.scheduler.profile import USUAL_PROFILES
from evenkeel.scheduler.scheduler_nodes import SchedulerNodes
from evenkeel.scheduler.snapshot import read_object
from evenkeel.simulate.node_changes import LOST, after, first_ground
from evenkeel.simulate.outcomes import run
from evenkeel.simulate.planning import planned
from evenkeel.simulate.pod import InitialPod, Maker, PodClass
from evenkeel.simulate.results import results
from evenkeel.simulate.state import Start, State
from evenkeel.simulate.step import Step, StepError, Which, parse_step
from tests.conformance.cases import read
from tests.conformance.defaults import in_force
from tests.conformance.placement import read_pod, read_snapshot, system_defaults
from tests.support import DATA
from tests.support.build import ZONE
from tests.support.simulated import budget, cluster, deployment, nodes, pod, stateful, workload
from webhook.kubernetes.features import features
from webhook.kubernetes.fields import with_value
from webhook.kubernetes.names import DEFAULT_SCHEDULER
from webhook.spread.cluster_view import SnapshotError

PART, CHANGES = 12, 12  # Every twelfth recorded cluster, and how often each changes.


def cases(minor, mode="profile"):
    return [case for i, case in enumerate(read(DATA / minor / f"{mode}.jsonl.gz")) if i % PART == 0]


def recorded_pods(case, known):
    """The Pods of a recorded cluster by their node, so that a run can take them away."""
    by_node = {}
    for raw in case["pods"]:
        namespace, _, kept = read_object(raw, "v1", "Pod", known)
        if isinstance(kept, BoundPod):
            demanded = {"spreads": kept.spreads, "affinity": kept.affinity, "ports": kept.ports}
            initial = InitialPod(namespace, kept.labels, kept.node, kept.requests, **demanded)
            by_node.setdefault(kept.node, []).append(initial)
    return {node: tuple(pods) for node, pods in by_node.items()}


def begun(case, known, *, movable=False):
    """A run in a recorded cluster, and what makes Pods like the recorded one; its own Pods may go if `movable`."""
    profiles, _ = parse_profiles(json.dumps(case["configuration"])) if "configuration" in case else (USUAL_PROFILES, ())
    profile = profiles[DEFAULT_SCHEDULER]
    snapshot = read_snapshot(case, known)
    pod = replace(read_pod(case, known), node_name="")
    constraints = tuple(one for one in in_force(case, known)[1] if profile.heeds(one))
    of_class = PodClass(pod, constraints, system_defaults(case), profile)
    there = recorded_pods(case, known) if movable else {}
    start = Start(snapshot, first_ground(snapshot.nodes), there, (), known, 0.0)
    return State(start, random.Random(case["id"])), Maker(of_class)


def differences(state, of_class):
    """How the plugins that followed all Pods differ from plugins that see the same cluster for the first time."""
    followed, fresh = state.framework(of_class), Framework(state.cycle(of_class))
    feasible = fresh.feasible()
    compared = {
        "feasible": (followed.feasible(), feasible),
        "refusals": (refusals(followed), refusals(fresh)),
        "scores": (followed.prioritize(feasible), fresh.prioritize(feasible)),
    }
    if feasible.bit_count() > 1:
        totals = total(fresh.prioritize(feasible), of_class.profile.weights)
        totals = dict.fromkeys(state.ground.nodes.names(feasible), 0) | totals
        best = {name for name, score in totals.items() if score == max(totals.values())}
        compared["best"] = set(state.ground.nodes.names(followed.best(feasible))), best
    return {name: pair for name, pair in compared.items() if pair[0] != pair[1]}


def refusals(framework):
    """Each refusal by its plugin and reasons; their order depends on what was looked at first."""
    found = framework.feasibility()
    return found.feasible, {(one.plugin, one.reasons): one.nodes for one in found.refusals}


RECORDED = ("1.33 profile", "1.37 profile", "1.37 configured", "1.33 whole_profile", "1.37 whole_profile")


@pytest.mark.parametrize(("minor", "mode"), [one.split() for one in RECORDED], ids=RECORDED)
def test_plugins_that_follow_pods_say_what_they_say_of_the_cluster_as_it_is(minor, mode):
    known, compared = features(int(minor.partition(".")[2])), 0
    for case in cases(minor, mode):
        state, maker = begun(case, known, movable=True)
        mine = [pod for node in state.begun.by_node for pod in state.on(node) if pod.active]
        others = [replace(maker.of_class, constraints=()), maker.of_class]
        for i in range(CHANGES):
            assert {} == differences(state, maker.of_class), (case["id"], i)
            compared += 1
            if mine and state.random.random() < 0.3:
                state.delete(mine.pop(state.random.randrange(len(mine))))
            elif state.random.random() < 0.3:
                state.finish()
            else:
                pod = state.make(Maker(state.random.choice(others)))
                if state.schedule_next():
                    mine.append(pod)
                else:
                    state.delete(pod)
            assert all(pod.node for pod in mine)
        # Plugins that are first asked now have followed all that has come and gone without a look at the nodes.
        assert {} == differences(state, replace(maker.of_class)), case["id"]
    assert compared > 900


@pytest.mark.parametrize("minor", ["1.37"])
def test_it_is_so_after_every_step_that_changes_nodes(minor):
    known = features(int(minor.partition(".")[2]))
    for case in cases(minor):
        state, maker = begun(case, known)
        names = [node.name for node in state.ground.order]
        for action in ("cordon", "lose", "delete"):
            if len(names) < 2:
                break
            name = names.pop(state.random.randrange(len(names)))
            pod = state.make(maker)
            bound = state.schedule_next()
            changed = state.ground.nodes.get(name)
            if changed.unschedulable if action == "cordon" else set(LOST) <= set(changed.taints):
                continue
            state.move_to(after(state.ground, Step(action, action, which=Which(name))))
            if action == "delete":
                state.forget(name)
            assert {} == differences(state, maker.of_class), (case["id"], action)
            if not bound:
                state.delete(pod)


def test_nodes_in_another_order_are_the_same_nodes():
    """The order of the node tree decides which nodes are looked at, not what they are worth."""
    known = features(37)
    for case in cases("1.37")[:20]:
        state, maker = begun(case, known)
        nodes = read_snapshot(case, known).nodes
        shuffled = list(nodes)
        random.Random(1).shuffle(shuffled)
        other = State(
            state.begun._replace(snapshot=replace(state.begun.snapshot, nodes=SchedulerNodes(shuffled))),
            random.Random(1),
        )

        assert differences(other, maker.of_class) == {}


BAD = (None, True, -1, 0, 2**40, 1.5, "", "x" * 300, "-bad-", [], {}, [None], {"a": 1}, "25%", "100%", "-40", "٣")
STEPS = ("rollout", "scale=5", "drain=a1", f"lose={ZONE}=a", "delete=b1", "add=2", "cordon=c1", "taint=a2,x:NoExecute")


def damaged(value, chance):
    """`value` with something in it replaced by what has no business there."""
    places = [place for place in _places(value) if place and place[0] not in ("kind", "apiVersion")]
    return with_value(value, chance.choice(places), chance.choice(BAD))


def _places(value, at=()):
    yield at
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in members:
        yield from _places(inner, (*at, name))


def test_whatever_a_cluster_holds_a_simulation_ends_or_says_what_is_wrong():
    ran = 0
    for seed in range(400):
        chance = random.Random(seed)
        make = chance.choice([deployment, stateful])
        objects = [*nodes("a=2 b=1 c=1"), budget(maxUnavailable="30%"), *make(replicas=3, on=["a1", "b1", "c1"])]
        objects += [pod("ReplicaSet/api", 0, "a1"), pod("ReplicaSet/api", 1, ""), pod("DaemonSet/log", 0, "a1")]
        for _ in range(2):
            i = chance.randrange(len(objects))
            objects[i] = damaged(objects[i], chance)
        raw = workload(objects)
        try:
            made = planned(raw, cluster(*objects), [parse_step(one) for one in chance.sample(STEPS, 3)]).plan
            assert results(made, [run(made, 1, 0)], set(made.workloads))
            ran += 1
        except (SnapshotError, StepError):
            pass
    assert ran > 100
