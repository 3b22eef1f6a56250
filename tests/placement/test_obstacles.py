"""Which Pods keep a Pod off nodes, by name, and which of its own terms no Pod meets."""

from __future__ import annotations

from evenkeel.placement.obstacles import kept_room, obstacles
from evenkeel.scheduler.framework import find_feasible
from tests.support.build import pod
from tests.support.placing import HOSTNAME, ZONE, attempted, node, requesting, running

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PORTS = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]


def term(app, key=ZONE):
    return {REQUIRED: [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}]}


def there(name, on, labels=None, namespace="shop", **spec):
    raw = running(on, labels=labels)
    metadata = {**raw["metadata"], "name": name, "namespace": namespace}
    return {**raw, "metadata": metadata, "spec": {**raw["spec"], **spec}}


NODES = (("a1", "a"), ("a2", "a"), ("b1", "b"))


def found(*pods, **spec):
    nodes = [node(*each) for each in NODES]
    cycle = attempted(*nodes, *pods, **spec)
    met = obstacles(cycle, find_feasible(cycle))
    names = cycle.snapshot.nodes.names
    return [(one.sort, one.pods, " ".join(names(one.nodes))) for one in met]


def test_a_pod_with_the_port_is_named():
    pods = [there("edge", "a1", containers=PORTS), there("other", "a2")]

    assert [("host port", ("shop/edge",), "a1")] == found(*pods, containers=PORTS)


def test_pods_whose_anti_affinity_selects_the_pod_are_named_by_term():
    off, by_host = {"podAntiAffinity": term("web")}, {"podAntiAffinity": term("web", HOSTNAME)}
    pods = [there("db-0", "a1", affinity=off), there("db-1", "a2", affinity=off), there("log", "b1", affinity=by_host)]

    assert [
        ("podAntiAffinity of other Pods", ("shop/db-0", "shop/db-1"), "a1 a2"),
        ("podAntiAffinity of other Pods", ("shop/log",), "b1"),
    ] == found(*pods)


def test_pods_that_the_pod_does_not_want_are_named():
    db = {"app": "db"}
    pods = [there("db-0", "a1", db), there("log", "b1", {"app": "log"}), there("db-1", "a1", db, namespace="other")]

    assert [("podAntiAffinity", ("shop/db-0",), "a1 a2")] == found(*pods, affinity={"podAntiAffinity": term("db")})


def test_a_term_that_no_pod_meets_has_its_nodes():
    pods = [there("db-0", "a1", {"app": "db"})]

    assert [("podAffinity", (), "b1")] == found(*pods, affinity={"podAffinity": term("db")})


def test_nothing_is_an_obstacle_where_nothing_of_it_refuses():
    assert [] == found(there("db-0", "a1", affinity={"podAntiAffinity": term("db")}))


def test_the_pods_for_which_room_is_kept_where_the_pod_would_fit():
    full, free = node("n1", cpu="1"), node("n2", cpu="1")
    waiting = pod(name="vip", spec={"priority": 10, "containers": requesting("1")})
    kept = {**waiting, "status": {"phase": "Pending", "nominatedNodeName": "n1"}}

    for objects, named in (
        ([full, kept], {"n1": ("shop/vip",)}),
        ([free], {}),
        ([full, running("n1", cpu="1"), kept], {}),
    ):
        cycle = attempted(*objects, cpu="1")
        assert named == kept_room(cycle, find_feasible(cycle))
