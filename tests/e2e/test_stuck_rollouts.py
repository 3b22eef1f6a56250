"""Rollouts that do not finish in a real cluster, as `simulate` and `lint` say, and finish with each change named."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e import site
from tests.e2e.futures import INFRA, NAME, Situation
from tests.e2e.plane import ControlPlane
from tests.e2e.site import Site, complete
from tests.support import placing
from tests.support.build import HOSTNAME, ZONE, constraint, workload
from tests.support.commands import script

SURGE = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}
ROLLING, RECREATE, UNDO = "maxSurge: 0", "type: Recreate", "roll back"


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("plane"), site.FLAGS) as running:
        running.configure_scheduler(**site.BACKOFF)
        yield running


def situation(name, *constraints, nodes="abc", kind="Deployment", replicas=3, cpu="100m", tainted=False, **pod_spec):
    """A workload whose replicas have the nodes, one in each zone, for themselves."""
    there = [placing.node(f"{name}-{zone}", zone, cpu="1") for zone in nodes]
    if tainted:
        there.append(placing.node(f"{name}-d", "d", taints=[INFRA]))
    fields = {"serviceName": NAME} if kind == "StatefulSet" else {"strategy": SURGE}
    spec = {"replicas": replicas, **fields}
    made = workload(kind, *constraints, namespace=None, labels={"app": NAME}, spec=spec)
    made["spec"]["template"]["spec"] |= {"containers": placing.requesting(cpu), **pod_spec}
    return Situation(0, tuple(there), (), (), made, (), False, ())


def apart(key):
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": NAME}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


SOFT = constraint(whenUnsatisfiable="ScheduleAnyway")
CASES = {  # in public: DataDog/helm-charts#2887, we-promise/sure#522, JiRaska/open-bank-oss#3544
    "apart": situation("apart", SOFT, **apart(ZONE)),
    "spread": situation("spread", constraint(topologyKey=HOSTNAME), tainted=True),
    "room": situation("room", SOFT, nodes="a", replicas=1, cpu="600m"),
}


def remedies(here: Site, file, *step: str) -> list[dict]:
    kind = here.situation.workload["kind"].lower()
    done = script(
        "simulate", *step, f"{kind}/{NAME}", "-n", here.namespace, "--cluster", file, "-o", "json", "--fail-on", "stuck"
    )
    assert 1 == done.returncode, done.stderr
    return json.loads(done.stdout)["cures"]


def make(here: Site, remedy: dict) -> None:
    for command in remedy["commands"]:
        done = here.plane.kubectl(*command["arguments"][1:])
        assert 0 == done.code, done
    here.settle()


@pytest.mark.parametrize("name", CASES)
def test_a_rollout_that_needs_one_pod_more(plane, tmp_path, name):
    here = Site(plane, f"stuck-{name}", CASES[name])
    try:
        file = here.dump(tmp_path)
        changes = remedies(here, file, "rollout")
        (tmp_path / "web.json").write_text(json.dumps(here.workload()[0]))
        linted = script("lint", tmp_path / "web.json", "--cluster", file, "--format", "json")
        assert "stuck-rollout" in linted.stdout

        assert len(changes) == 3
        for start, remedy in zip((ROLLING, RECREATE, UNDO), changes, strict=True):
            assert remedy["change"].startswith(start)
            here.patch({"spec": {"strategy": SURGE}})
            here.do("rollout")
            assert not complete(here.workload()[0])
            make(here, remedy)
            assert complete(here.workload()[0])
    finally:
        here.close()


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_rollout_that_no_node_takes_is_rolled_back(plane, tmp_path, kind):
    """The StatefulSet leaves the Pod that waits: kubernetes#67250."""
    here = Site(plane, f"back-{kind.lower()}", situation(f"back-{kind.lower()}", SOFT, kind=kind))
    try:
        here.patch({"spec": {"template": {"spec": {"nodeSelector": {"no": "node"}}}}})
        here.settle()
        assert not complete(here.workload()[0])
        (remedy,) = remedies(here, here.dump(tmp_path), "scale", "--replicas", "3")

        assert remedy["change"].startswith(UNDO)
        make(here, remedy)
        assert complete(here.workload()[0])
    finally:
        here.close()
