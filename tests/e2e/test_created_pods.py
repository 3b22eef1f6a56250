"""A Pod that is not there yet, completed as the API server does it: held against what the API server stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pytest

from evenkeel.clusters.known_cluster import place
from evenkeel.clusters.listing import read_contents
from evenkeel.placement.created_pods import PodCreation, created, read_creation
from evenkeel.scheduler.resources import read_requests
from tests.e2e import programs
from tests.e2e.api import ApiError
from tests.e2e.plane import ControlPlane
from tests.support.build import HOSTNAME, ZONE, limit_range, pod, priority_class, runtime_class
from webhook.cluster.client import Client, access
from webhook.kubernetes.features import features
from webhook.kubernetes.reader import Reader

GPU, OWN = ({"key": key, "operator": "Exists"} for key in ("example.com/gpu", "example.com/own"))
NOT_READY = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
CLASSES = (
    priority_class("high", 1000),
    priority_class("polite", 500, preemptionPolicy="Never"),
    priority_class("standard", 10, globalDefault=True),
    runtime_class("bare"),
    runtime_class("sandboxed", {"cpu": "250m", "memory": "120Mi"}, {"sandbox": "yes"}, [GPU, {"operator": "Exists"}]),
    runtime_class("selecting", None, {"sandbox": "yes"}),
    runtime_class("tolerating", None, {}, [GPU, {**GPU, "effect": "NoSchedule"}]),
    runtime_class(
        "patient",
        None,
        {},
        [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 600,
            }
        ],
    ),
)
LIMITS = {
    "none": (),
    "requests": ({"defaultRequest": {"cpu": "100m", "memory": "128Mi"}},),
    "limits": ({"default": {"cpu": "2"}, "min": {"cpu": "10m", "memory": "16Mi"}},),
    "most": ({"max": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"cpu": "300m"}},),
    "several": ({"defaultRequest": {"cpu": "100m"}}, {"default": {"memory": "256Mi"}, "min": {"memory": "32Mi"}}),
}
CPU, BOTH = {"requests": {"cpu": "1"}}, {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "500m"}}
SELECTOR = {"matchLabels": {"app": "web"}}
OLD = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
TERMS = (
    {"topologyKey": ZONE, "labelSelector": SELECTOR, "matchLabelKeys": ["track", "lacking"]},
    {"topologyKey": ZONE, "labelSelector": OLD, "mismatchLabelKeys": ["track"], "matchLabelKeys": ["team"]},
    {"topologyKey": HOSTNAME, "labelSelector": {}, "mismatchLabelKeys": ["team", "track"]},
    {"topologyKey": HOSTNAME, "labelSelector": SELECTOR},
)
AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": list(TERMS),
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term} for term in TERMS],
}
LABELS = {"app": "web", "track": "canary", "team": "shop"}
LASTING = {**NOT_READY, "key": "node.kubernetes.io/unreachable"}


def holding(*resources: Mapping, init: tuple[Mapping, ...] = (), **spec: object) -> dict:
    """A spec with a container for each of these resources, and init containers likewise."""
    made = {
        name: [{"name": f"{name[0]}{i}", "image": "web", "resources": of} for i, of in enumerate(given)]
        for name, given in (("containers", resources), ("initContainers", init))
        if given
    }
    return {**made, **spec}


def with_ports(spec: dict, *ports: dict) -> dict:
    spec["containers"][0]["ports"] = list(ports)
    return spec


PODS = {
    "bare": holding({}),
    "requesting": holding(CPU, {}, BOTH, init=({}, BOTH)),
    "limited": holding({"limits": {"cpu": "1", "memory": "512Mi"}}),
    "high": holding({}, priorityClassName="high"),
    "polite": holding({}, priorityClassName="polite"),
    "critical": holding({}, priorityClassName="system-node-critical"),
    "runtime bare": holding({}, runtimeClassName="bare"),
    "sandboxed": holding(CPU, runtimeClassName="sandboxed", nodeSelector={"disk": "ssd"}, tolerations=[OWN]),
    "selecting": holding({}, runtimeClassName="selecting", nodeSelector={"sandbox": "yes"}),
    "tolerating": holding({}, runtimeClassName="tolerating", tolerations=[{**GPU, "effect": "NoSchedule"}, OWN]),
    "patient": holding({}, runtimeClassName="patient"),
    "tolerating all": holding({}, tolerations=[{"operator": "Exists"}]),
    "lasting": holding({}, tolerations=[LASTING]),
    "other values": holding({}, tolerations=[{**LASTING, "operator": "Equal", "value": "x"}]),
    "on the host": with_ports(
        holding({}, hostNetwork=True), {"containerPort": 80}, {"containerPort": 81, "hostPort": 81, "protocol": "UDP"}
    ),
    "ports": with_ports(holding({}), {"containerPort": 80}, {"containerPort": 81, "hostPort": 8081}),
    "affine": holding({}, affinity={"podAffinity": AFFINITY}),
    "anti-affine": holding({}, affinity={"podAntiAffinity": AFFINITY}),
    "as a whole": holding({}, BOTH, resources={"limits": {"cpu": "4", "memory": "2Gi"}}),
    "as a whole alone": holding({}, resources={"requests": {"cpu": "2"}, "limits": {"cpu": "4", "memory": "2Gi"}}),
}
SINCE = {"as a whole": 34, "as a whole alone": 34, "affine": 31, "anti-affine": 31}
READ = ("affinity", "nodeSelector", "overhead", "preemptionPolicy", "priority", "priorityClassName", "tolerations")


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane with the classes, and a namespace for each of the limits."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as running:
        for name, items in LIMITS.items():
            running.create_namespace(name)
            for i, item in enumerate(items):
                running.api.call("POST", f"/api/v1/namespaces/{name}/limitranges", limit_range(f"l{i}", name, item))
        for made in CLASSES:
            group = "scheduling.k8s.io/v1/priorityclasses" if "value" in made else "node.k8s.io/v1/runtimeclasses"
            running.api.call("POST", f"/apis/{group}", made)
        yield running


@pytest.fixture(scope="module")
def creation(plane) -> PodCreation:
    """What commands read of the cluster."""
    contents = read_contents(Client(partial(access, str(plane.kubeconfig))))
    others = {place(obj): obj for obj in contents.objects}
    assert {} == contents.missing
    return read_creation(others, features(programs.version().minor))


def what_is_read(stored: Mapping) -> Mapping:
    """
    What evenkeel reads of it and the API server may have added; a port's protocol apart.

    What the Pod requests as a whole is held against it as the scheduler adds it up: the sum of its containers may be
    written there, or not.
    """
    spec = stored["spec"]
    containers = [one for name in ("initContainers", "containers") for one in spec.get(name, ())]
    ports = [[{"protocol": "TCP", **port} for port in one.get("ports", ())] for one in containers]
    resources = [one.get("resources") or {} for one in containers]
    requests = read_requests(Reader(), stored, features(programs.version().minor), bound=False)
    return {name: spec.get(name) for name in READ} | {"ports": ports, "containers": resources, "requests": requests}


@pytest.mark.parametrize("namespace", LIMITS)
@pytest.mark.parametrize("case", PODS)
def test_a_new_pod_is_completed_as_it_is_stored(plane, creation, case, namespace):
    if programs.version().minor < SINCE.get(case, 0):
        pytest.skip(f"since 1.{SINCE[case]}")
    new = pod(name=case.replace(" ", "-"), namespace=namespace, labels=LABELS, spec=PODS[case])
    stored = plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods", new)
    found = created(new, creation)

    assert () == found.errors
    assert what_is_read(stored) == what_is_read(found.raw)
    # Once more, as what is stored: only label keys would be merged anew, and they are not.
    assert what_is_read(stored) == what_is_read(created(stored, creation).raw)


REFUSED = {
    "no priority class": (holding({}, priorityClassName="none"), "no PriorityClass with name none was found"),
    "no runtime class": (holding({}, runtimeClassName="none"), "pod rejected: RuntimeClass"),
    "another priority": (holding({}, priority=7), "the integer value of priority (7) must not be provided"),
    "another node": (holding({}, runtimeClassName="selecting", nodeSelector={"sandbox": "no"}), "conflict: "),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_api_server_refuses_is_an_error(plane, creation, case):
    spec, message = REFUSED[case]
    new = pod(name=case.replace(" ", "-"), namespace="none", spec=spec)
    with pytest.raises(ApiError) as refused:
        plane.api.call("POST", "/api/v1/namespaces/none/pods", new)

    assert message in str(refused.value)
    (error,) = created(new, creation).errors
    assert "kube-apiserver would refuse the Pod" in error.detail
