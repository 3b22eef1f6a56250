"""As many replicas run in a real cluster as `lint` and `explain` say where constraints contradict each other."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e import site
from tests.e2e.futures import NAME, Situation
from tests.e2e.plane import ControlPlane
from tests.e2e.site import Site
from tests.e2e.test_stuck_rollouts import apart
from tests.support import placing
from tests.support.build import HOSTNAME, constraint, workload
from tests.support.commands import script

ON_NODES = constraint(topologyKey=HOSTNAME)


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("plane"), site.FLAGS) as running:
        running.configure_scheduler(**site.BACKOFF)
        yield running


def situation(name, *constraints, zones, racks="", replicas=9, **pod_spec):
    """A Deployment, and a node in each of these zones, perhaps each with a rack."""
    nodes = tuple(
        placing.node(f"{name}-{i}", zone, labels={"rack": racks[i]} if racks else {}) for i, zone in enumerate(zones)
    )
    made = workload("Deployment", *constraints, namespace=None, labels={"app": NAME}, spec={"replicas": replicas})
    made["spec"]["template"]["spec"] |= {"containers": placing.requesting(), **pod_spec}
    return Situation(0, nodes, (), (), made, (), False, ())


CASES = {
    "zones": (situation("zones", constraint(), ON_NODES, zones="aab", replicas=7), 5, "constraints 0 and 1"),
    "uneven": (situation("uneven", constraint(), ON_NODES, zones="aaaaabbcc"), 7, "constraints 0 and 1"),
    "racks": (
        situation("racks", constraint(), constraint(topologyKey="rack"), ON_NODES, zones="aaa", racks="xxy"),
        5,
        "constraints 1 and 2",
    ),
    "apart": (situation("apart", constraint(), zones="aaaab", replicas=5, **apart(HOSTNAME)), 3, "podAntiAffinity"),
}


@pytest.mark.parametrize("name", CASES)
def test_constraints_that_contradict_each_other(plane, tmp_path, name):
    there, most, named = CASES[name]
    replicas = there.workload["spec"]["replicas"]
    here = Site(plane, f"contradict-{name}", there)
    try:
        file = here.dump(tmp_path)
        (tmp_path / "web.json").write_text(json.dumps(here.workload()[0]))
        linted = script("lint", tmp_path / "web.json", "--cluster", file, "--format", "json").stdout
        explained = script("explain", f"deployment/{NAME}", "-n", here.namespace, "--cluster", file).stdout

        assert replicas - most == here.seen.waiting()
        assert "contradicting-constraints" in linted
        assert f"{replicas - most} of {replicas} Pods never fit" in explained and named in explained
    finally:
        here.close()
