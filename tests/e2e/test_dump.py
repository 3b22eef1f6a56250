"""`evenkeel dump` of a real cluster, by people who may read all of it, a part of it, or nothing."""

from __future__ import annotations

import gzip
import json
from functools import partial

import pytest

from tests.e2e import configuration, placement, programs
from tests.e2e.stored import (
    claim,
    claim_spec,
    create_all,
    csi_driver,
    csi_node,
    remove_all,
    storage_class,
    volume,
)
from tests.e2e.webhook import apply, containers
from tests.support.build import ZONE, constraint, pod, service, workload
from tests.support.commands import script
from tests.support.serving import until
from webhook.cluster.client import Client, access
from webhook.cluster.listed_resources import LISTED_RESOURCES
from webhook.cluster.live import listed
from webhook.cluster.watched_resources import WATCHED
from webhook.spread.cluster_view import view_of

DEVICE_CLASSES = programs.version().minor >= 34
SERVED = [kind for kind in LISTED_RESOURCES if DEVICE_CLASSES or kind.kind != "DeviceClass"]
PASSWORD = "hunter2-is-in-no-dump"


@pytest.fixture(scope="module")
def role(plane):
    """The ClusterRole as it is printed."""
    printed = script("manifests", "--rbac-viewer")
    apply(plane, printed.stdout)
    return "evenkeel-viewer"


def person(plane, namespace, name, *bindings):
    """A kubeconfig of one who has these bindings, in a context with a namespace."""
    plane.kubectl("create", "serviceaccount", name, "-n", namespace)
    for number, words in enumerate(bindings):
        kind, *rest = words
        given = ("create", kind, f"{namespace}-{name}-{number}", *rest, f"--serviceaccount={namespace}:{name}")
        assert 0 == plane.kubectl(*given).code
    token = plane.kubectl("create", "token", name, "-n", namespace, "--duration=1h").stdout
    made = configuration.kubeconfig(plane.folder, plane.ports["kube-apiserver"], name, token)
    made["contexts"][0]["context"]["namespace"] = namespace
    file = plane.folder / f"{namespace}-{name}.kubeconfig"
    file.write_text(json.dumps(made))
    return file


def with_secrets(obj):
    """A workload with what must not be in a dump."""
    spec = obj["spec"]
    while inner := spec.get("jobTemplate") or spec.get("template"):
        spec = inner["spec"]
    spec["containers"][0] |= {"env": [{"name": "P", "value": PASSWORD}], "args": [PASSWORD]}
    obj["metadata"]["annotations"] = {"example.com/note": PASSWORD}
    return obj


KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob")
PODS = (
    3 + 3 + 3 + 9 + 3 + 1 + 1
)  # A StatefulSet's come one after the other, a Job has one, a CronJob none; and one waits.


@pytest.fixture
def pods(plane, namespace):
    """The Pods of one workload of each kind, and one that waits; what else a dump holds is there, too."""
    soft = constraint(topologyKey=ZONE, whenUnsatisfiable="ScheduleAnyway")
    made = [with_secrets(containers(workload(kind, soft, namespace=namespace, name=kind.lower()))) for kind in KINDS]
    waiting = pod(
        name="waiting", namespace=namespace, labels={"app": "waiting"}, spec={"nodeSelector": {"moon": "full"}}
    )
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "deployment"}
    scaler = {
        **{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"},
        "metadata": {"namespace": namespace, "name": "web"},
        "spec": {"minReplicas": 3, "maxReplicas": 7, "scaleTargetRef": target},
    }
    budget = {
        **{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"},
        "metadata": {"namespace": namespace, "name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    limits = {
        **{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"namespace": namespace, "name": "limits"}},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1m"}}]},
    }
    headless = service(namespace=namespace)
    headless["spec"]["clusterIP"] = "None"
    output = plane.apply(*made, with_secrets(containers(waiting)), scaler, budget, headless, limits, *classes())
    assert 0 == output.code, output
    create_all(plane.api, storage(namespace))
    yield placement.settled(plane, namespace, PODS)
    remove_all(plane.api, [namespace])


def storage(namespace):
    """Return an object of each kind that volumes depend on; nothing comes of any."""
    name = "disk.example.com"
    attached = {"attacher": name, "nodeName": "gone", "source": {"persistentVolumeName": "disk"}}
    capacity = {"storageClassName": "disk", "nodeTopology": {}, "capacity": "1Gi"}
    return [
        *(storage_class("disk", name), csi_driver(name), csi_node("gone", {name: 5}), volume("disk", "disk", "1Gi")),
        claim("disk", claim_spec("disk", "9Gi"), namespace),
        {
            **{"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", **capacity},
            "metadata": {"name": "disk", "namespace": namespace},
        },
        {
            **{"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "disk"}},
            "spec": attached,
        },
    ]


def classes():
    """A class of each kind that there is none of; the API server makes PriorityClasses itself."""
    yield {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "runc"}, "handler": "runc"}
    if DEVICE_CLASSES:
        yield {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}


def lines_of(file):
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def keys(objects):
    return [(obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]) for obj in objects]


def test_a_person_dumps_the_whole_cluster_and_reads_it_back(plane, namespace, pods, role, tmp_path):
    config = person(plane, namespace, "oncall", ("clusterrolebinding", "--clusterrole", role))
    file = tmp_path / "cluster.jsonl.gz"
    done = script("dump", "--kubeconfig", config, "-o", file)
    header, *objects = lines_of(file)

    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
    assert {kind.kind for kind in SERVED} == {obj["kind"] for obj in objects}
    assert sorted(keys(objects)) == keys(objects)
    assert header["kubernetesVersion"] == plane.api.call("GET", "/version")["gitVersion"]
    assert PASSWORD not in gzip.decompress(file.read_bytes()).decode()
    assert listed(Client(partial(access, str(plane.kubeconfig)))) == watched_part(objects)
    (waiting,) = (obj for obj in objects if obj["metadata"]["name"] == "waiting")
    (theirs,) = (one for one in pods if one["metadata"]["name"] == "waiting")
    (condition,) = waiting["status"]["conditions"]
    assert (placement.refusal(theirs), "Unschedulable") == (condition["message"], condition["reason"])


def watched_part(objects):
    """What a snapshot has of the kinds that the webhook watches."""
    kinds = {kind.gvk for kind in WATCHED}
    return view_of(obj for obj in objects if (obj["apiVersion"], obj["kind"]) in kinds)


EXPLAINED = ("pod/waiting", "deploy/deployment", "sts/statefulset", "job/job", "cj/cronjob")


def test_a_dump_explains_what_the_cluster_explains(plane, namespace, pods, tmp_path):
    """As soon as nothing changes between the two."""
    file = tmp_path / "cluster.jsonl.gz"

    def explained(words, *source):
        done = script("explain", words, "-n", namespace, "-o", "json", *source)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def are_equal():
        script("dump", "--kubeconfig", plane.kubeconfig, "-o", file)
        live, dumped = ("--kubeconfig", plane.kubeconfig), ("--cluster", file)
        return all(explained(words, *live) == explained(words, *dumped) for words in EXPLAINED)

    until(are_equal, "the same explanations")


def test_kubectl_s_own_output_is_reduced_to_the_same(plane, namespace, pods, role, tmp_path):
    """As soon as nothing changes between the two."""
    kinds = ",".join(kind.resource for kind in SERVED)

    def dumped(file, *source):
        done = script("dump", *source, "-n", namespace, "-o", tmp_path / file)
        assert 0 == done.returncode, done.stderr
        return lines_of(tmp_path / file)[1:]

    def are_equal():
        (tmp_path / "kubectl.yaml").write_text(plane.kubectl("get", kinds, "-A", "-o", "yaml").stdout)
        live = dumped("live", "--kubeconfig", plane.kubeconfig)
        return len(live) > PODS and live == dumped("reduced", "--cluster", tmp_path / "kubectl.yaml")

    until(are_equal, "a dump of kubectl's output that equals that of the cluster")


def test_a_developer_dumps_a_namespace_without_its_nodes(plane, namespace, pods, role, tmp_path):
    config = person(plane, namespace, "developer", ("rolebinding", "-n", namespace, "--clusterrole", role))
    file = tmp_path / "shop.jsonl.gz"
    done = script("dump", "--kubeconfig", config, "-n", namespace, "-o", file)
    header, *objects = lines_of(file)
    missing = [line.partition(": not in the dump: ")[0] for line in done.stderr.splitlines()]

    assert [f"evenkeel: {kind.name}" for kind in LISTED_RESOURCES if not kind.namespaced] == missing
    assert 0 == done.returncode
    assert 'cannot list resource "nodes"' in header["missing"]["nodes"]
    assert {namespace} == {obj["metadata"]["namespace"] for obj in objects}
    assert PODS == sum(obj["kind"] == "Pod" for obj in objects)


def test_whoever_may_read_nothing_gets_nothing(plane, namespace, tmp_path):
    done = script("dump", "--kubeconfig", person(plane, namespace, "nobody"), "-o", tmp_path / "none")

    assert (2, len(LISTED_RESOURCES) + 1) == (done.returncode, len(done.stderr.splitlines()))
    assert not (tmp_path / "none").exists()
