"""What the frameworks of a run know of the Pods that come and go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.pod_affinity import PodAffinity, PodTerm
from evenkeel.scheduler.pod_counts import PodInfo, Usage, label_set
from evenkeel.scheduler.profile import NODE_RESOURCES_FIT, Profile
from evenkeel.scheduler.snapshot import from_objects
from evenkeel.scheduler.storage import NO_STORAGE
from evenkeel.scheduler.volumes import GCE_DISK, Disk, Mounts, PodVolume
from evenkeel.simulate.frameworks import Frameworks
from evenkeel.simulate.node_changes import after, first_ground
from evenkeel.simulate.step import parse_step
from tests.support.build import HOSTNAME, constraint
from tests.support.placement import bound
from tests.support.simulated import nodes, pod_class
from webhook.kubernetes.features import features
from webhook.spread.selectors import EVERYTHING, NOTHING

PORT = {"ports": (("0.0.0.0", "TCP", 80),)}


def hard():
    return pod_class(constraint(topologyKey=HOSTNAME))


def web(namespace="shop", app="web", apart="", ports=(), disk=""):
    """A Pod that keeps all Pods of the namespace `apart` off its node."""
    labels, found = label_set({"app": app}), tuple(HostPort(*port) for port in ports)
    mounts = Mounts(namespace, (PodVolume(disk=Disk(GCE_DISK, disk)),)) if disk else None
    return PodInfo(namespace, labels, apart_from(apart) if apart else None, found, mounts=mounts)


def apart_from(namespace):
    return PodAffinity(anti_affinity=(PodTerm(HOSTNAME, EVERYTHING, frozenset({namespace}), NOTHING),))


def begun(*objects):
    """The frameworks of a run in a cluster of two nodes, and what is used of these."""
    snapshot, used = from_objects([*nodes("a=1 b=1"), *objects], features(33)), {}
    ground = first_ground(snapshot.nodes)
    return Frameworks(snapshot, features(33), used, ground), used, ground


def feasible(frameworks, of_class):
    """The names of the nodes that pass, of those that the frameworks have now."""
    framework = frameworks.of(of_class, NO_STORAGE)
    return [*framework.cycle.snapshot.nodes.names(framework.feasible())]


@pytest.mark.parametrize(
    ("asked", "there", "left"),
    [
        ("hard", {}, ["b1"]),
        ("hard", {"app": "api"}, ["a1", "b1"]),
        ("hard", {"namespace": "pay"}, ["a1", "b1"]),
        ("free", {"namespace": "pay", "apart": "shop"}, ["b1"]),
        ("free", {"namespace": "pay", "apart": "pay"}, ["a1", "b1"]),
        ("apart from pay", {"namespace": "pay"}, ["b1"]),
        ("apart from shop", {"namespace": "pay"}, ["a1", "b1"]),
        ("with a port", {"namespace": "pay", **PORT}, ["b1"]),
        ("free", {"namespace": "pay", **PORT}, ["a1", "b1"]),
        ("with a disk", {"namespace": "pay", "disk": "pd"}, ["b1"]),
        ("with a disk", {"disk": "other"}, ["a1", "b1"]),
    ],
)
def test_a_class_follows_the_pods_that_matter_for_it(asked, there, left):
    """Also if it is asked only once they are there, or before any is."""
    of_class = {
        "hard": hard(),
        "free": pod_class(),
        "apart from pay": pod_class(pod_affinity=apart_from("pay")),
        "apart from shop": pod_class(pod_affinity=apart_from("shop")),
        "with a port": pod_class(ports=web(**PORT).ports),
        "with a disk": pod_class(mounts=web(disk="pd").mounts),
    }[asked]
    for asked_first in (False, True):
        frameworks, _, _ = begun()
        if asked_first:
            assert ["a1", "b1"] == feasible(frameworks, of_class)
        frameworks.add_pods(web(**there), "a1", 1)
        assert left == feasible(frameworks, of_class)
        frameworks.add_pods(web(**there), "a1", -1)
        assert ["a1", "b1"] == feasible(frameworks, of_class)


@pytest.mark.parametrize("demanding", [{"apart": "shop"}, PORT, {"disk": "pd"}], ids=["affinity", "ports", "volumes"])
def test_pods_with_the_labels_of_others_that_demand_more_are_followed(demanding):
    frameworks, _, _ = begun()
    of_class = pod_class(ports=web(**PORT).ports, mounts=web(disk="pd").mounts)
    frameworks.add_pods(web("pay"), "b1", 1)
    frameworks.add_pods(web("pay", **demanding), "a1", 1)

    assert ["b1"] == feasible(frameworks, of_class)


def test_only_what_is_heeded_is_followed_and_only_once():
    frameworks, _, _ = begun()
    spread, free = hard(), pod_class()
    of_pay = replace(spread, pod=replace(free.pod, namespace="pay"))
    frameworks.add_pods(web(), "a1", 2)
    frameworks.add_pods(web("pay"), "a1", 1)
    followed = []
    for of_class in (spread, spread, free, of_pay):
        frameworks.of(of_class, NO_STORAGE)
        followed.append(frameworks.followed)

    assert ([1, 1, 1, 2], 2) == (followed, len(frameworks.events))


def test_constraints_count_where_the_profile_does_not_run_them_too():
    frameworks, _, _ = begun()
    spread = replace(hard(), profile=Profile(filters=(NODE_RESOURCES_FIT,), weights={}))
    frameworks.add_pods(web(), "a1", 1)

    assert ["a1", "b1"] == feasible(frameworks, spread)
    assert 0b10 == frameworks.of(spread, NO_STORAGE).spread.passing(0b11)


def test_usage_that_has_changed_is_looked_at_again():
    frameworks, used, _ = begun()
    of_class = pod_class()
    assert ["a1", "b1"] == feasible(frameworks, of_class)
    used["b1"] = Usage(pods=1_000)
    frameworks.change_usage("b1")

    assert ["a1"] == feasible(frameworks, of_class)


def test_after_a_step_all_that_has_happened_is_counted_on_the_new_nodes():
    frameworks, used, ground = begun(*nodes("c=1"), bound("a1"))
    spread = hard()
    frameworks.add_pods(web(), "b1", 1)
    used["c1"] = Usage(pods=1_000)
    frameworks.change_usage("c1")
    assert [] == feasible(frameworks, spread)

    frameworks.move_to(after(ground, parse_step("add=1")))
    assert ["new-1"] == feasible(frameworks, spread)
    frameworks.move_to(after(ground, parse_step("delete=a1")))
    frameworks.add_pods(web(), "b1", -1)
    assert ["b1"] == feasible(frameworks, spread)


def test_runs_do_not_see_each_other():
    snapshot = from_objects(nodes("a=1 b=1"), features(33))
    ground, spread = first_ground(snapshot.nodes), hard()
    first, second = (Frameworks(snapshot, features(33), {}, ground) for _ in range(2))
    first.add_pods(web(), "a1", 1)

    assert (["b1"], ["a1", "b1"]) == (feasible(first, spread), feasible(second, spread))


def test_pods_that_differ_in_their_volumes_are_each_heeded():
    frameworks, _, _ = begun()
    frameworks.add_pods(web("pay", disk="other"), "b1", 1)
    frameworks.add_pods(web("pay", disk="pd"), "a1", 1)

    assert ["b1"] == feasible(frameworks, pod_class(mounts=web(disk="pd").mounts))


def test_a_class_without_volumes_and_ports_is_not_asked_about_those_of_other_namespaces(monkeypatch):
    """In a cluster with many volumes there are as many such Pods, unlike each other, times as many classes."""
    asked = []
    monkeypatch.setattr(Framework, "heeding", lambda _, info: asked.append(info) or [])
    frameworks, _, _ = begun()
    for i in range(5):
        frameworks.add_pods(web("pay", app=f"app-{i}", disk=f"pd-{i}"), "a1", 1)
        frameworks.add_pods(web("shop", disk=f"pd-{i}"), "a1", 1)
    frameworks.of(pod_class(), NO_STORAGE)

    assert ["shop"] == [info.namespace for info in asked]
