"""
The fields that are read of a cluster's objects.

    table ──form──> a type by which msgspec decodes these fields and passes over the others

Where it only matters that a feature is used, such as a claim of a volume, its name is kept and its content is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from webhook.kubernetes.names import (
    BETA_STORAGE_CLASS,
    BIND_COMPLETED,
    DEFAULT_CLASS_ANNOTATIONS,
    DEFAULTED_BY_ANNOTATION,
    DELETION_COST_ANNOTATION,
    IGNORE_ANNOTATION,
    KUEUE_TOPOLOGY_ANNOTATIONS,
    MIGRATED_PLUGINS,
    MIRROR_ANNOTATION,
    REVISION_ANNOTATION,
    SELECTED_NODE,
)

# By the name of a field: None for all of it, a table for some fields of an object, [table] for a list of such objects.
Table = Mapping[str, "Table | list[Table] | None"]

# The types of a Pod's conditions that are kept in a dump.
CONDITIONS = (
    *("DisruptionTarget", "PodScheduled", "PodResizePending", "Ready"),
    *("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"),  # of a Job
)
KEPT_ANNOTATIONS = (
    IGNORE_ANNOTATION,
    DEFAULTED_BY_ANNOTATION,
    REVISION_ANNOTATION,
    MIRROR_ANNOTATION,
    DELETION_COST_ANNOTATION,
    BIND_COMPLETED,
    SELECTED_NODE,
    BETA_STORAGE_CLASS,
    *DEFAULT_CLASS_ANNOTATIONS,
    MIGRATED_PLUGINS,
    *sorted(KUEUE_TOPOLOGY_ANNOTATIONS),
)


class Used(TypedDict):
    """An object of which it only matters that it is there."""


USED: Table = {}


def _all_of(names: str) -> dict[str, None]:
    return dict.fromkeys(names.split())


KEPT_METADATA: Table = {
    **_all_of("name namespace uid labels creationTimestamp deletionTimestamp"),
    "annotations": dict.fromkeys(KEPT_ANNOTATIONS),
    "ownerReferences": [_all_of("apiVersion kind name uid controller")],
}
_REQUESTS = _all_of("requests")
_REQUESTS_AND_LIMITS = _all_of("requests limits")  # A new Pod with limits alone requests these.
_CONTAINER: Table = {
    **_all_of("name image restartPolicy"),
    "resources": _REQUESTS_AND_LIMITS,
    "ports": [_all_of("containerPort hostIP hostPort protocol")],
    "restartPolicyRules": [_all_of("action")],
    "volumeMounts": [_all_of("bindMountOptions")],
}
_CONTAINER_STATUS: Table = {**_all_of("name allocatedResources"), "resources": _REQUESTS}
_CLAIM_SPEC: Table = {
    **_all_of("accessModes selector storageClassName volumeAttributesClassName volumeMode volumeName"),
    "resources": _REQUESTS,
}
_CLAIM_TEMPLATE: Table = {
    "metadata": {"name": None, "annotations": _all_of(BETA_STORAGE_CLASS)},
    "spec": _CLAIM_SPEC,
}
# The fields that name a disk, in a Pod's volume or a PersistentVolume.
_DISKS: Table = {
    "awsElasticBlockStore": _all_of("volumeID readOnly"),
    "azureDisk": _all_of("diskURI kind"),
    "cinder": _all_of("volumeID"),
    "gcePersistentDisk": _all_of("pdName readOnly"),
    "portworxVolume": _all_of("volumeID"),
}
_VOLUME: Table = {
    **_DISKS,
    "name": None,
    "ephemeral": {"volumeClaimTemplate": _CLAIM_TEMPLATE},
    "image": _all_of("reference"),
    "iscsi": _all_of("iqn readOnly"),
    "persistentVolumeClaim": _all_of("claimName"),
    "rbd": _all_of("image monitors pool readOnly"),
}
_PERSISTENT_VOLUME_SPEC: Table = {
    **_DISKS,
    **_all_of("accessModes capacity nodeAffinity storageClassName volumeAttributesClassName volumeMode"),
    "claimRef": _all_of("name namespace uid"),
    "csi": _all_of("driver volumeHandle"),
}
_CSI_SPEC: Table = {
    "drivers": [{**_all_of("name topologyKeys"), "allocatable": _all_of("count")}],  # of a CSINode
    **_all_of("storageCapacity preventPodSchedulingIfMissing"),  # of a CSIDriver
    "attacher": None,  # of a VolumeAttachment
    "source": _all_of("persistentVolumeName"),  # of a VolumeAttachment
}
_POD_SPEC: Table = {
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "resourceClaims": [USED],
    "resources": _REQUESTS_AND_LIMITS,
    "volumes": [_VOLUME],
    "schedulingGroup": USED,
    **_all_of("affinity hostNetwork hostUsers nodeName nodeSelector overhead preemptionPolicy priority"),
    **_all_of("priorityClassName runtimeClassName schedulerName schedulingGates terminationGracePeriodSeconds"),
    **_all_of("tolerations topologySpreadConstraints"),
}
_WORKLOAD_SPEC: Table = {
    "volumeClaimTemplates": [_CLAIM_TEMPLATE],
    "persistentVolumeClaimRetentionPolicy": _all_of("whenScaled"),
    **_all_of("completionMode completions manualSelector minReadySeconds ordinals parallelism paused"),
    **_all_of("podManagementPolicy replicas selector strategy updateStrategy"),
    **_all_of("backoffLimit backoffLimitPerIndex podFailurePolicy podReplacementPolicy suspend"),  # of a Job
}
TEMPLATE_FIELDS: Table = {"metadata": KEPT_METADATA, "spec": _POD_SPEC}
_JOB_TEMPLATE: Table = {"metadata": KEPT_METADATA, "spec": {**_WORKLOAD_SPEC, "template": TEMPLATE_FIELDS}}
_SPEC: Table = {
    **_PERSISTENT_VOLUME_SPEC,
    **_CLAIM_SPEC,
    **_CSI_SPEC,
    **_POD_SPEC,
    **_WORKLOAD_SPEC,
    "template": TEMPLATE_FIELDS,
    "jobTemplate": _JOB_TEMPLATE,
    **_all_of("taints unschedulable"),  # of a Node
    **_all_of("maxReplicas minReplicas scaleTargetRef"),  # of a HorizontalPodAutoscaler
    **_all_of("maxUnavailable minAvailable unhealthyPodEvictionPolicy"),  # of a PodDisruptionBudget
    "limits": None,  # of a LimitRange
    "extendedResourceName": None,  # of a DeviceClass
    "holderIdentity": None,  # of a Lease
}
_STATUS: Table = {
    "conditions": [_all_of("type reason status message lastTransitionTime")],
    "containerStatuses": [{**_CONTAINER_STATUS, "restartCount": None}],
    "initContainerStatuses": [_CONTAINER_STATUS],
    "resources": _REQUESTS,
    **_all_of("allocatedResources nominatedNodeName phase startTime"),
    **_all_of("allocatable declaredFeatures"),  # of a Node
    "nodeInfo": _all_of("kubeletVersion"),  # of a Node
    "images": [_all_of("names sizeBytes")],  # of a Node
    **_all_of("disruptedPods disruptionsAllowed"),  # of a PodDisruptionBudget
    **_all_of("failed succeeded"),  # of a Job
    **_all_of("availableReplicas currentRevision readyReplicas replicas updateRevision updatedReplicas"),
}
OBJECT_FIELDS: Table = {
    **_all_of("apiVersion kind"),
    "metadata": KEPT_METADATA,
    "spec": _SPEC,
    "status": _STATUS,
    **_all_of("globalDefault preemptionPolicy value"),  # of a PriorityClass
    **_all_of("overhead scheduling"),  # of a RuntimeClass
    **_all_of("allowedTopologies provisioner volumeBindingMode"),  # of a StorageClass
    **_all_of("capacity maximumVolumeSize nodeTopology storageClassName"),  # of a CSIStorageCapacity
}
# With all annotations: any of them may name a team or a contact.
NAMESPACE_FIELDS: Table = {
    **_all_of("apiVersion kind"),
    "metadata": {**KEPT_METADATA, "annotations": None},
    "status": _all_of("phase"),
}
# What the webhook reads of the objects that it watches, and of an error, which is a metav1.Status.
WATCHED_FIELDS: Table = {
    "metadata": _all_of("name namespace uid labels resourceVersion"),
    "spec": _all_of("selector taints unschedulable"),
    **_all_of("message code"),
}


def form(table: Table) -> Any:
    """The type of an object with the fields of a table; an object or a list may be null."""
    if not table:
        return Used
    return TypedDict("Fields", {name: _form_of(part) for name, part in table.items()}, total=False)  # type: ignore[operator]


def _form_of(part: Table | list[Table] | None) -> Any:
    if part is None:
        return Any
    if isinstance(part, list):
        return list[form(part[0])] | None  # type: ignore[misc]
    object_form = form(part)
    return object_form if object_form is Used else object_form | None


def page_form(obj: Any) -> Any:
    """The type of a page of a list; its metadata has `resourceVersion`, and `continue` if more follows."""
    fields = {"metadata": dict[str, Any], "items": list[obj] | None}
    return TypedDict("Page", fields, total=False)  # type: ignore[operator]


def event_form(obj: Any) -> Any:
    """The type of an event of a watch."""
    return TypedDict("Event", {"type": str, "object": obj})  # type: ignore[operator]
