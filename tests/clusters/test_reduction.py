"""What is read of an object, and that nothing else of it is kept: every field that the API has is planted."""

from __future__ import annotations

import json
import types
import typing

import pytest

from evenkeel.clusters import reduction
from tests.support.planted import PLANTED, kept, planted
from tests.support.watching import SHOP
from webhook.cluster import decoding
from webhook.cluster.listed_resources import LISTED_RESOURCES
from webhook.cluster.read_fields import OBJECT_FIELDS, form
from webhook.kubernetes.kinds import Kind
from webhook.spread.cluster_view import read_view_object

# What is kept, written down here once more so that nobody adds a field without a look at what it holds.
# "*" is all that stands below a field; `[]` each item of a list, and of one that ends with it only that it is there.
METADATA = """
name namespace uid labels creationTimestamp deletionTimestamp annotations
ownerReferences[].apiVersion ownerReferences[].kind ownerReferences[].name ownerReferences[].uid
ownerReferences[].controller
"""
CONTAINER = """
image name ports[].containerPort ports[].hostIP ports[].hostPort ports[].protocol
resources.limits resources.requests restartPolicy restartPolicyRules[].action volumeMounts[].bindMountOptions[]
"""


def below(prefix, names):
    return " ".join(f"{prefix}.{name}" for name in names.split())


CLAIM = """
accessModes[] resources.requests selector.* storageClassName volumeAttributesClassName volumeMode volumeName
"""
CLAIM_TEMPLATE = f"metadata.name metadata.annotations {below('spec', CLAIM)}"
DISKS = """
awsElasticBlockStore.readOnly awsElasticBlockStore.volumeID azureDisk.diskURI azureDisk.kind cinder.volumeID
gcePersistentDisk.pdName gcePersistentDisk.readOnly portworxVolume.volumeID
"""
VOLUME = f"""
name {DISKS} {below("ephemeral.volumeClaimTemplate", CLAIM_TEMPLATE)} image.reference
iscsi.iqn iscsi.readOnly persistentVolumeClaim.claimName rbd.image rbd.monitors[] rbd.pool rbd.readOnly
"""

POD = f"""
affinity.* {below("containers[]", CONTAINER)} {below("initContainers[]", CONTAINER)} {below("volumes[]", VOLUME)}
hostNetwork hostUsers nodeName nodeSelector overhead preemptionPolicy priority priorityClassName resourceClaims[]
resources.limits resources.requests runtimeClassName schedulerName schedulingGates[].name schedulingGroup
terminationGracePeriodSeconds tolerations[].* topologySpreadConstraints[].*
"""
OF_JOB = """
backoffLimit backoffLimitPerIndex completionMode completions manualSelector parallelism podFailurePolicy.*
podReplacementPolicy selector.* suspend
"""
CONTAINER_STATUS = "name allocatedResources resources.requests"
RESTARTS = "containerStatuses[].restartCount"  # by which Pods are ranked that may be deleted
TEMPLATE = f"{below('template.metadata', METADATA)} {below('template.spec', POD)}"
REPLICAS = "replicas readyReplicas availableReplicas"
STATUS = {
    "Pod": f"phase nominatedNodeName startTime allocatedResources resources.requests"
    f" {RESTARTS} {below('containerStatuses[]', CONTAINER_STATUS)}"
    f" {below('initContainerStatuses[]', CONTAINER_STATUS)}",
    "Node": "phase allocatable declaredFeatures[] nodeInfo.kubeletVersion images[].names[] images[].sizeBytes",
    "Namespace": "phase",
    "Job": "failed startTime succeeded",
    "PodDisruptionBudget": "disruptedPods disruptionsAllowed",
    "Deployment": f"{REPLICAS} updatedReplicas",
    "StatefulSet": f"{REPLICAS} currentRevision updateRevision updatedReplicas",
    "ReplicaSet": REPLICAS,
    "ReplicationController": REPLICAS,
    "PersistentVolume": "phase",
    "PersistentVolumeClaim": "phase allocatedResources",
}
# So that those which remain are those that are wanted: of Pods, and named like them elsewhere.
CONDITION = below("conditions[]", "type status reason message lastTransitionTime")
WITHOUT_CONDITIONS = {
    *("CSIDriver", "CSINode", "CSIStorageCapacity", "CronJob", "DeviceClass", "LimitRange", "PersistentVolume"),
    *("PriorityClass", "RuntimeClass", "StorageClass", "VolumeAttachment"),
}
SPEC = {
    "Pod": POD,
    "Node": "taints[].* unschedulable",
    "Service": "selector",
    "Deployment": f"minReadySeconds paused replicas selector.* strategy.* {TEMPLATE}",
    "ReplicaSet": f"minReadySeconds replicas selector.* {TEMPLATE}",
    "ReplicationController": f"minReadySeconds replicas selector {TEMPLATE}",
    "StatefulSet": "minReadySeconds ordinals.* podManagementPolicy replicas selector.* updateStrategy.*"
    f" persistentVolumeClaimRetentionPolicy.whenScaled {below('volumeClaimTemplates[]', CLAIM_TEMPLATE)} {TEMPLATE}",
    "DaemonSet": f"minReadySeconds selector.* updateStrategy.* {TEMPLATE}",
    "Job": f"{OF_JOB} {TEMPLATE}",
    "CronJob": f"suspend {below('jobTemplate.metadata', METADATA)} "
    + below("jobTemplate.spec", f"{OF_JOB} {TEMPLATE}"),
    "HorizontalPodAutoscaler": "minReplicas maxReplicas scaleTargetRef.*",
    "PodDisruptionBudget": "selector.* minAvailable maxUnavailable unhealthyPodEvictionPolicy",
    "DeviceClass": "extendedResourceName",
    "LimitRange": "limits[].*",
    "PersistentVolumeClaim": f"{CLAIM} resources.limits",
    "PersistentVolume": f"accessModes[] capacity claimRef.name claimRef.namespace claimRef.uid csi.driver"
    f" csi.volumeHandle nodeAffinity.* storageClassName volumeAttributesClassName volumeMode {DISKS}",
    "CSINode": "drivers[].name drivers[].allocatable.count drivers[].topologyKeys[]",
    "CSIDriver": "preventPodSchedulingIfMissing storageCapacity",
    "VolumeAttachment": "attacher nodeName source.persistentVolumeName",
}
BESIDE_SPEC = {
    "PriorityClass": "globalDefault preemptionPolicy value",
    "RuntimeClass": "overhead.podFixed scheduling.*",
    "StorageClass": "allowedTopologies[].* provisioner volumeBindingMode",
    "CSIStorageCapacity": "capacity maximumVolumeSize nodeTopology.* storageClassName",
}


def allowed(kind):
    """The paths that may be kept of a kind."""
    status = f"{STATUS.get(kind, '')} {CONDITION if kind not in WITHOUT_CONDITIONS else ''}"
    parts = (below("metadata", METADATA), below("spec", SPEC.get(kind, "")), below("status", status))
    beside = BESIDE_SPEC.get(kind, "").split()
    return {"apiVersion", "kind", *beside, *(path for part in parts for path in part.split())}


def as_allowed(path, paths):
    """The entry of the list that a path falls under, or the path itself."""
    return next((one for one in paths if one.endswith(".*") and path.startswith(one[:-1])), path)


def dumped(kind):
    """An object with everything planted, as a list of it is decoded and written into a dump."""
    body = json.dumps({"metadata": {}, "items": [planted(*kind.gvk)]}).encode()
    return json.loads(reduction.as_line(reduction.page(body)["items"][0]))


@pytest.mark.parametrize("kind", LISTED_RESOURCES, ids=lambda kind: kind.kind)
def test_nothing_is_kept_but_what_is_allowed(kind):
    """Neither environment nor arguments, names of secrets, annotations of others or managedFields."""
    found, paths = kept(dumped(kind)), allowed(kind.kind)

    assert paths == {as_allowed(path, paths) for path in found} - {"spec", "status"}
    assert len(kept(planted(*kind.gvk))) > len(found), "or nothing was planted"


@pytest.mark.parametrize("kind", LISTED_RESOURCES, ids=lambda kind: kind.kind)
def test_no_planted_text_remains_but_where_it_is_allowed(kind):
    """The same once more, by what a person would look for."""
    text = json.dumps(dumped(kind))

    for word in (
        "env",
        "args",
        "command",
        "imagePull",
        "secret",
        "configMap",
        "managedFields",
        "initiatorName",
        "keyring",
        'volumeAttributes"',
        "serviceAccount",
    ):
        assert f"{PLANTED}spec.containers[].{word}" not in text
        assert word not in text, word
    assert not any(f"annotations{end}" in text for end in ('": "', f'": {{"{PLANTED}'))


def test_annotations_that_evenkeel_reads_are_kept():
    names = ("evenkeel.dev/ignore", "evenkeel.dev/defaulted-by", "kubernetes.io/config.mirror")
    notes = dict.fromkeys((*names, "deployment.kubernetes.io/revision"), "a")
    obj = {"metadata": {"annotations": notes | {"kubectl.kubernetes.io/last-applied-configuration": "secret"}}}

    assert {"metadata": {"annotations": notes}} == reduction.only_read(obj)


@pytest.mark.parametrize("read", [reduction.only_read, lambda obj: reduction.namespaces_page(page_of(obj))["items"][0]])
def test_of_a_namespace_what_says_whose_it_is_is_kept(read):
    """A contact is mostly an annotation: an address is no value of a label."""
    ours = {"example.com/team": "payments", "contact": "#pay", "a.io/owner": "ann@example.com"}
    annotations = {**ours, "kubectl.kubernetes.io/last-applied-configuration": "secret", "teams": "x", "team/x": "x"}
    obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "annotations": annotations}}

    assert {**obj, "metadata": {"name": "shop", "annotations": ours}} == read(obj)
    assert {} == reduction.only_read(obj | {"kind": "Pod"})["metadata"]["annotations"]


def page_of(obj):
    return json.dumps({"items": [obj]}).encode()


def test_conditions_of_other_types_are_not_kept():
    types_of = ("PodScheduled", "PodResizePending", "Ready", "Initialized")
    obj = {"status": {"conditions": [{"type": one, "message": "m"} for one in types_of]}}

    assert [{"type": one, "message": "m"} for one in types_of[:3]] == reduction.only_read(obj)["status"]["conditions"]


def test_a_feature_is_named_and_its_content_is_not():
    spec = {
        "volumes": [{"name": "a", "secret": {"secretName": "s"}}, {"persistentVolumeClaim": {"claimName": "c"}}],
        "resourceClaims": [{"name": "gpu"}],
        "schedulingGroup": {"podGroupName": "g"},
    }

    assert {
        "volumes": [{"name": "a"}, {"persistentVolumeClaim": {"claimName": "c"}}],
        "resourceClaims": [{}],
        "schedulingGroup": {},
    } == reduction.only_read({"spec": spec})["spec"]


def hints(of, path=()):
    """The path of every field of a structure, with its type."""
    for name, hint in typing.get_type_hints(of).items():
        yield (*path, name), hint
        for part in _structures(hint):
            if (*path, name).count(name) < 2:  # A Job template holds a template.
                yield from hints(part, (*path, name))


def _structures(hint):
    parts = typing.get_args(hint) if typing.get_origin(hint) in (list, types.UnionType, typing.Union) else (hint,)
    for part in parts:
        if typing.is_typeddict(part):
            yield part
        elif part is not hint:
            yield from _structures(part)


def test_all_that_the_webhook_decodes_commands_do_too():
    """One of the fields may be decoded whole here, where only a part of it is watched."""
    of_watches = {("metadata", "resourceVersion"), ("message",), ("code",)}
    watched, read = {path for path, _ in hints(decoding.FORM)}, dict(hints(form(OBJECT_FIELDS)))
    whole = {path for path, hint in read.items() if hint is typing.Any}

    assert of_watches <= watched
    missing = {path for path in watched - of_watches if not any(path[: n + 1] in whole for n in range(len(path)))}
    assert set() == missing - set(read)


@pytest.mark.parametrize("obj", SHOP, ids=lambda obj: obj["kind"])
def test_what_is_read_is_the_same(obj):
    gvk = (obj["apiVersion"], obj["kind"])

    assert read_view_object(obj, *gvk) == read_view_object(reduction.only_read(obj), *gvk)


@pytest.mark.parametrize(
    "obj",
    [{"spec": 3}, {"spec": {"containers": {}}}, {"metadata": {"annotations": []}}, {"spec": {"volumes": [{"rbd": 1}]}}],
    ids=str,
)
def test_what_has_another_form_is_an_error(obj):
    """It is not kept whole: what is in it is not known."""
    with pytest.raises(ValueError):
        reduction.only_read(obj)
    with pytest.raises(ValueError):
        reduction.page(json.dumps({"items": [obj]}).encode())


@pytest.mark.parametrize(
    "obj", [{}, {"metadata": None, "spec": None, "status": None}, {"status": {"conditions": None}}]
)
def test_what_is_absent_stays_absent(obj):
    assert obj == reduction.only_read(obj) == reduction.page(json.dumps({"items": [obj]}).encode())["items"][0]


def test_an_object_is_one_line_whatever_the_order_of_its_members():
    obj = {"kind": "Pod", "metadata": {"name": "a\n", "labels": {"b": "", "a": ""}}}

    assert b'{"kind":"Pod","metadata":{"labels":{"a":"","b":""},"name":"a\\n"}}\n' == reduction.as_line(obj)
    assert obj == reduction.from_line(reduction.as_line(obj))


SECRET = {"name": "c", "env": [{"name": "PASSWORD", "value": "x"}], "resources": {"requests": {"cpu": "1"}}}
TEMPLATE = {"metadata": {"labels": {"app": "web"}, "annotations": {"secret": "x"}}, "spec": {"containers": [SECRET]}}
KEPT = {"name": "c", "resources": SECRET["resources"]}
READ = {"metadata": {"labels": {"app": "web"}, "annotations": {}}, "spec": {"containers": [KEPT]}}


class Custom(typing.NamedTuple):
    """A custom resource's spec, how its kind is described, and what is kept of the spec."""

    name: str
    spec: object
    kept: object
    described: dict = {}  # noqa: RUF012


CUSTOM = [
    Custom(
        "a template",
        {"template": TEMPLATE, "replicas": 3, "selector": {"matchLabels": {}}, "password": "x"},
        {"template": READ, "replicas": 3, "selector": {"matchLabels": {}}},
        {"replicas": ("spec", "replicas")},
    ),
    Custom(
        "templates in a list",
        {"sets": [{"template": TEMPLATE, "password": "x"}, {"password": "x"}]},
        {"sets": [{"template": READ}, {}]},
        {"template": ("spec", "sets", "*", "template")},
    ),
    Custom(
        "templates and replicas in a list of lists",
        {"a": [[{"t": TEMPLATE, "n": 1}], "odd"]},
        {"a": [[{"t": READ, "n": 1}], []]},
        {"template": ("spec", "a", "*", "*", "t"), "replicas": ("spec", "a", "*", "*", "n")},
    ),
    Custom(
        "constraints outside a template",
        {"spread": [{"maxSkew": 1}], "podLabels": {"app": "web"}, "password": "x"},
        {"spread": [{"maxSkew": 1}], "podLabels": {"app": "web"}},
        {"template": None, "constraints": ("spec", "spread"), "labels": ("spec", "podLabels")},
    ),
    Custom(
        "constraints under keys that are names",
        {"placement": {"mon": {"spread": [{}], "password": "x"}, "{*}": {"spread": [{}]}, "*": 7}},
        {"placement": {"mon": {"spread": [{}]}, "{*}": {"spread": [{}]}, "*": {}}},
        {"template": None, "constraints": ("spec", "placement", "{*}", "spread")},
    ),
    Custom("the spec is the template", TEMPLATE, READ, {"template": ("spec",)}),
    Custom("of a wrong type", {"template": "secret"}, {"template": {}}),
    Custom("a spec of a wrong type", "secret", {}),
]


@pytest.mark.parametrize("case", CUSTOM, ids=lambda case: case.name)
def test_of_a_custom_resource_what_its_kind_describes_is_kept(case):
    kind = Kind("example.com/v1", "Web", "webs", built_in=False, **case.described)
    metadata = {"name": "web", "labels": {"a": "b"}, "managedFields": []}
    raw = {"apiVersion": "example.com/v1", "kind": "Web", "metadata": metadata, "spec": case.spec, "data": "x"}
    found = reduction.only_read_custom(raw, [kind])

    assert case.kept == found.pop("spec")
    assert {**raw, "metadata": {"name": "web", "labels": {"a": "b"}}}.items() >= found.items()
    assert {"apiVersion", "kind", "metadata"} == found.keys()


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"items": [7, {"metadata": 7}]}'])
def test_a_page_of_custom_resources_in_another_form(body):
    kind = Kind("example.com/v1", "Web", "webs", built_in=False)
    found = reduction.custom_page(body, [kind])

    assert not found or [{"metadata": {}}][: len(found["items"])] == found["items"]


def test_a_dump_keeps_what_decides_whether_a_deleted_pod_is_made_again():
    policy = {"rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "batch"},
        "spec": {
            "backoffLimit": 3,
            "podFailurePolicy": policy,
            "podReplacementPolicy": "Failed",
            "suspend": True,
            "template": {"spec": {"terminationGracePeriodSeconds": 0}},
        },
        "status": {"conditions": [{"type": "FailureTarget", "status": "True"}], "failed": 2, "succeeded": 3},
    }
    body = json.dumps({"metadata": {}, "items": [job]}).encode()

    assert job == json.loads(reduction.as_line(reduction.page(body)["items"][0]))
