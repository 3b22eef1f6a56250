"""evenkeel's defaults against kube-scheduler's own: the same Pods get them, with equal selectors, and spread alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from evenkeel.policy.export import configuration
from tests.e2e.api import MERGE
from tests.e2e.kubelet import set_taints
from tests.e2e.placement import node, refusal, settled, skew
from tests.e2e.webhook import containers, installed
from tests.support.build import API_VERSIONS, HOSTNAME, ZONE, pod, service, workload
from tests.support.serving import until
from webhook.policy.parsing import policy_of
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
NODES = tuple(f"{zone}{number}" for zone in "abc" for number in (1, 2, 3))
HASH, UNSELECTED = "pod-template-hash", "alone"
EXPRESSIONS = {
    "matchExpressions": [
        {"key": "app", "operator": "In", "values": ["bare", "other"]},
        {"key": "role", "operator": "NotIn", "values": ["cache"]},
        {"key": "tier", "operator": "Exists"},
    ]
}
UNORDERED = {"serviceName": "none", "podManagementPolicy": "Parallel"}


class Case(NamedTuple):
    """What creates a Pod for each of NODES, and what selects these."""

    name: str
    kind: str
    labels: Mapping[str, str]
    services: tuple[Mapping[str, str], ...] = ()
    spec: Mapping[str, object] = {}
    begin: Mapping[str, object] = {"replicas": len(NODES)}

    @property
    def path(self) -> str:
        version = API_VERSIONS.get(self.kind, "apps/v1")
        prefix = "/api/v1" if version == "v1" else f"/apis/{version}"
        return f"{prefix}/namespaces/{{}}/{self.kind.lower()}s"


def app(name: str) -> dict[str, str]:
    return {"app": name}


def match(**labels: str) -> dict:
    return {"matchLabels": labels}


CASES = (
    Case("web", "Deployment", {"app": "web", "x": "y"}, (app("web"),), {"selector": match(app="web")}),
    Case("bare", "ReplicaSet", {"app": "bare", "role": "api", "tier": "x"}, spec={"selector": EXPRESSIONS}),
    Case("db", "StatefulSet", {"app": "db", "x": "y"}, spec={"selector": match(app="db"), **UNORDERED}),
    Case("old", "ReplicationController", {"app": "old", "x": "y"}, spec={"selector": app("old")}),
    Case("job", "Job", {"app": "job", "x": "y"}, (app("job"),), {"suspend": True}, {"suspend": False}),
    Case("two", "Pod", {"app": "two", "part": "api", "x": "y"}, (app("two"), {"part": "api"})),
    Case(UNSELECTED, "Pod", {"app": "alone", "x": "y"}),
)


def derived(revision: str) -> dict[str, dict]:
    """The selectors that kube-scheduler's documents promise, for Pods that carry this `pod-template-hash`."""
    return {
        "web": {"matchLabels": {"app": "web", HASH: revision}},
        "bare": EXPRESSIONS,
        "db": match(app="db"),
        "old": match(app="old"),
        "job": match(app="job"),
        "two": match(app="two", part="api"),
    }


def default(key: str, action: str) -> dict:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action}


def as_list(defaults: list) -> dict:
    return {"defaultingType": "List", "defaultConstraints": defaults}


NO_DEFAULTS = {"pluginConfig": [{"name": "PodTopologySpread", "args": as_list([])}]}


@contextmanager
def scheduler(plane, folder, defaults) -> Iterator[None]:
    """kube-scheduler has the defaults, as they are exported of a policy, and there is no evenkeel."""
    policy = policy_of({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND, "defaulting": as_list(defaults)})
    plane.configure_scheduler(profiles=configuration(policy)["profiles"] if defaults else [NO_DEFAULTS])
    yield


@contextmanager
def evenkeel(plane, folder, defaults) -> Iterator[None]:
    """evenkeel has the defaults, and kube-scheduler has none."""
    with scheduler(plane, folder, []), installed(plane, folder, policy={"defaulting": as_list(defaults)}):
        yield


def created(plane, folder, namespace, who, defaults, decoys=False) -> dict[str, list[dict]]:
    """
    The Pods of each case, once all are placed or refused, with defaults from `who`.

    What selects them is there before scheduler and evenkeel start, so that neither can be too early for it.
    """
    namespace = f"{namespace}-{who.__name__}"
    plane.create_namespace(namespace)
    apply(plane, *(one for case in CASES for one in (*services(case, namespace), *controllers(case, namespace))))
    placed = place_decoys(plane, namespace) if decoys else 0
    with who(plane, folder, defaults):
        for case in CASES:
            if case.kind == "Pod":
                apply(plane, *(bare(case, namespace, f"{case.name}-{number}") for number in range(len(NODES))))
            else:
                plane.api.call("PATCH", f"{case.path.format(namespace)}/{case.name}", {"spec": case.begin}, MERGE)
        found = settled(plane, namespace, placed + len(CASES) * len(NODES))
    return {case.name: [one for one in found if one["metadata"]["name"].startswith(f"{case.name}-")] for case in CASES}


def apply(plane, *objects: dict) -> None:
    output = plane.apply(*objects)
    assert 0 == output.code, output


def services(case: Case, namespace: str) -> Iterator[dict]:
    for number, selector in enumerate(case.services):
        headless = {"clusterIP": "None", "selector": selector}
        yield service(f"{case.name}-{number}", namespace=namespace) | {"spec": headless}


def controllers(case: Case, namespace: str) -> Iterator[dict]:
    """Its controller, which creates nothing yet."""
    if case.kind != "Pod":
        made = workload(case.kind, labels=case.labels, name=case.name, namespace=namespace)
        held = {"parallelism": len(NODES), "completions": len(NODES)} if case.kind == "Job" else {"replicas": 0}
        yield containers(made | {"spec": {"template": made["spec"]["template"], **held, **case.spec}})


def bare(case: Case, namespace: str, name: str, **spec: object) -> dict:
    return containers(pod(labels=case.labels, spec=spec, name=name, namespace=namespace))


def place_decoys(plane, namespace: str) -> int:
    """Bind to the first nodes, for each case, Pods that differ from the case's in one label or in none."""
    account = plane.api.call("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default")["metadata"]
    owner = {"apiVersion": "v1", "kind": "ServiceAccount", "name": "default", "uid": account["uid"], "controller": True}
    revision = {"web": {HASH: revision_of(plane, namespace)}}
    decoys = [
        pod(labels=labels, spec={"nodeName": at}, name=f"decoy-{case.name}-{at}", namespace=namespace)
        for case in CASES
        for at, labels in zip(NODES, variants({**case.labels, **revision.get(case.name, {})}), strict=False)
    ]
    for one in decoys:  # of an owner, lest the controller whose Pods they look like adopts them
        one["metadata"]["ownerReferences"] = [owner]
    apply(plane, *map(containers, decoys))
    return len(decoys)


def variants(labels: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """These labels, each of them missing, each of them with another value, and none at all."""
    yield dict(labels)
    for key in labels:
        yield {name: value for name, value in labels.items() if name != key}
        yield {**labels, key: "other"}
    yield {}


def revision_of(plane, namespace: str) -> str:
    """The hash that the Deployment controller gives its ReplicaSet."""
    found: list[str] = []

    def is_known() -> bool:
        items = plane.api.call("GET", f"/apis/apps/v1/namespaces/{namespace}/replicasets")["items"]
        found[:] = [one["metadata"]["labels"][HASH] for one in items if HASH in one["metadata"].get("labels", {})]
        return bool(found)

    until(is_known, "the Deployment's ReplicaSet")
    return found[0]


def places(pods: Mapping[str, list[dict]]) -> dict[str, tuple[list[str], int]]:
    """Of each case the nodes that took one of its Pods, and how many were refused."""
    return {
        name: (sorted({node(one) for one in those if node(one)}), len([one for one in those if refusal(one)]))
        for name, those in pods.items()
    }


def skews(pods: Mapping[str, list[dict]]) -> dict[str, tuple[int, int]]:
    """Of each case the skew over zones and that over nodes."""
    used = {name: [node(one) for one in those] for name, those in pods.items()}
    return {name: (skew("abc", [at[0] for at in those]), skew(NODES, those)) for name, those in used.items()}


def written(pods: Mapping[str, list[dict]]) -> dict[str, list]:
    """Of each case the constraints in its Pods, those that differ."""
    found: dict[str, list] = {name: [] for name in pods}
    for name, those in pods.items():
        for one in those:
            constraints = one["spec"].get("topologySpreadConstraints")
            if constraints not in found[name]:
                found[name].append(constraints)
    return found


def expected(pods: Mapping[str, list[dict]], defaults: list) -> dict[str, list]:
    """Of each case what evenkeel has to write into its Pods."""
    selectors = derived(pods["web"][0]["metadata"]["labels"][HASH])
    return {
        name: [[one | {"labelSelector": selectors[name]} for one in defaults] if name in selectors else None]
        for name in pods
    }


@pytest.fixture
def barred(plane) -> Iterator[None]:
    """The last node takes no Pods."""
    set_taints(plane.api, NODES[-1], {"key": "barred", "effect": "NoSchedule"})
    yield
    set_taints(plane.api, NODES[-1])


def test_the_same_pods_get_them_and_count_the_same_pods(plane, barred, tmp_path, namespace):
    """
    The last node stays empty, so that every other takes one Pod at most of those that a selector matches.

    The nodes that take none of a case's Pods are thus those whose decoy the selector of its defaults matches.
    """
    defaults = [default(HOSTNAME, HARD)]

    theirs, ours = (created(plane, tmp_path, namespace, who, defaults, decoys=True) for who in (scheduler, evenkeel))

    assert {name: [None] for name in theirs} == written(theirs)
    assert expected(ours, defaults) == written(ours)
    assert [False] * 2 == [any(map(refusal, pods.pop(UNSELECTED))) for pods in (theirs, ours)]
    assert places(theirs) == places(ours)
    assert all(refused and NODES[0] not in taken for taken, refused in places(theirs).values()), places(theirs)


@pytest.fixture(scope="module")
def tilted(plane) -> None:
    """Zones b and c are busy, so that Pods that nothing spreads go to zone a."""
    requests = {"cpu": "4", "memory": "16Gi"}
    for at in NODES[3:]:
        made = pod(
            spec={"nodeName": at, "containers": [{"name": "x", "image": "x", "resources": {"requests": requests}}]}
        )
        plane.api.call("POST", "/api/v1/namespaces/default/pods", made | {"metadata": {"name": f"busy-{at}"}})


@pytest.mark.parametrize("action", [HARD, SOFT])
def test_they_spread_as_evenly(plane, tilted, tmp_path, namespace, action):
    defaults = [default(ZONE, action), default(HOSTNAME, action)]

    theirs, ours = (created(plane, tmp_path, namespace, who, defaults) for who in (scheduler, evenkeel))

    assert expected(ours, defaults) == written(ours)
    assert [{"a"}] * 2 == [{node(one)[0] for one in pods.pop(UNSELECTED)} for pods in (theirs, ours)]
    assert dict.fromkeys(ours, (0, 0)) == skews(theirs) == skews(ours)
