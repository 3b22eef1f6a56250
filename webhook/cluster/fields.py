"""
The fields that are read of a cluster's objects, each with who reads it.

    table ──form(reader)──> a type by which msgspec decodes these fields and passes over the others

Where it only matters that a feature is used, such as a claim of a volume, its name is kept and its content is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Flag, auto
from typing import Any, NamedTuple, TypedDict

from webhook.objects.names import (
    BETA_STORAGE_CLASS,
    BIND_COMPLETED,
    DEFAULT_CLASS_ANNOTATIONS,
    DEFAULTED_BY_ANNOTATION,
    DELETION_COST_ANNOTATION,
    IGNORE_ANNOTATION,
    MIGRATED_PLUGINS,
    MIRROR_ANNOTATION,
    REVISION_ANNOTATION,
    SELECTED_NODE,
)


class FieldReader(Flag):
    """The webhook, or the commands and their dumps."""

    WEBHOOK = auto()
    COMMANDS = auto()


BY_SERVER, BY_COMMANDS = FieldReader.WEBHOOK, FieldReader.COMMANDS
BY_EVERYBODY = BY_SERVER | BY_COMMANDS

Table = Mapping[str, "Field"]


class Field(NamedTuple):
    """
    Who reads a field, and what of it: all if `below` is None, else the fields of the table.

    A field `of_each` is a list of such objects.
    """

    readers: FieldReader
    below: Table | None = None
    of_each: bool = False


# The types of a Pod's conditions that are kept in a dump.
CONDITIONS = ("DisruptionTarget", "PodScheduled", "PodResizePending", "Ready")
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
)


class Used(TypedDict):
    pass  # An object of which only matters that it is there.


USED: Table = {}


def _fields(readers: FieldReader, names: str) -> dict[str, Field]:
    return {name: Field(readers) for name in names.split()}


_OWNER = _fields(BY_COMMANDS, "apiVersion kind name uid controller")
_KEPT_METADATA: Table = {
    **_fields(BY_EVERYBODY, "name namespace uid labels"),
    "deletionTimestamp": Field(BY_COMMANDS),
    "annotations": Field(BY_COMMANDS, _fields(BY_COMMANDS, " ".join(KEPT_ANNOTATIONS))),
    "creationTimestamp": Field(BY_COMMANDS),
    "ownerReferences": Field(BY_COMMANDS, _OWNER, of_each=True),
}
_REQUESTS_FIELDS = _fields(BY_COMMANDS, "requests")
# A new Pod with limits alone requests these.
_REQUESTS_AND_LIMITS = {**_REQUESTS_FIELDS, **_fields(BY_COMMANDS, "limits")}
_CONTAINER: Table = {
    "name": Field(BY_COMMANDS),
    "resources": Field(BY_COMMANDS, _REQUESTS_AND_LIMITS),
    "image": Field(BY_COMMANDS),
    "ports": Field(BY_COMMANDS, _fields(BY_COMMANDS, "containerPort hostIP hostPort protocol"), of_each=True),
    "restartPolicy": Field(BY_COMMANDS),
    "restartPolicyRules": Field(BY_COMMANDS, _fields(BY_COMMANDS, "action"), of_each=True),
    "volumeMounts": Field(BY_COMMANDS, _fields(BY_COMMANDS, "bindMountOptions"), of_each=True),
}
_CONTAINER_STATUS: Table = {
    **_fields(BY_COMMANDS, "name allocatedResources"),
    "resources": Field(BY_COMMANDS, _REQUESTS_FIELDS),
}
_CLAIM_SPEC: Table = {
    **_fields(BY_COMMANDS, "accessModes selector storageClassName volumeAttributesClassName volumeMode volumeName"),
    "resources": Field(BY_COMMANDS, _fields(BY_COMMANDS, "requests")),
}
_CLAIM_TEMPLATE: Table = {
    "metadata": Field(
        BY_COMMANDS,
        {**_fields(BY_COMMANDS, "name"), "annotations": Field(BY_COMMANDS, _fields(BY_COMMANDS, BETA_STORAGE_CLASS))},
    ),
    "spec": Field(BY_COMMANDS, _CLAIM_SPEC),
}
# What names a disk, of a Pod's volume and of a PersistentVolume.
_DISKS: Table = {
    "awsElasticBlockStore": Field(BY_COMMANDS, _fields(BY_COMMANDS, "volumeID readOnly")),
    "azureDisk": Field(BY_COMMANDS, _fields(BY_COMMANDS, "diskURI kind")),
    "cinder": Field(BY_COMMANDS, _fields(BY_COMMANDS, "volumeID")),
    "gcePersistentDisk": Field(BY_COMMANDS, _fields(BY_COMMANDS, "pdName readOnly")),
    "portworxVolume": Field(BY_COMMANDS, _fields(BY_COMMANDS, "volumeID")),
}
_VOLUME: Table = {
    **_DISKS,
    "name": Field(BY_COMMANDS),
    "ephemeral": Field(BY_COMMANDS, {"volumeClaimTemplate": Field(BY_COMMANDS, _CLAIM_TEMPLATE)}),
    "image": Field(BY_COMMANDS, _fields(BY_COMMANDS, "reference")),
    "iscsi": Field(BY_COMMANDS, _fields(BY_COMMANDS, "iqn readOnly")),
    "persistentVolumeClaim": Field(BY_COMMANDS, _fields(BY_COMMANDS, "claimName")),
    "rbd": Field(BY_COMMANDS, _fields(BY_COMMANDS, "image monitors pool readOnly")),
}
_PERSISTENT_VOLUME_SPEC: Table = {
    **_DISKS,
    **_fields(BY_COMMANDS, "accessModes capacity nodeAffinity storageClassName volumeAttributesClassName volumeMode"),
    "claimRef": Field(BY_COMMANDS, _fields(BY_COMMANDS, "name namespace uid")),
    "csi": Field(BY_COMMANDS, _fields(BY_COMMANDS, "driver volumeHandle")),
}
_CSI_SPEC: Table = {
    "drivers": Field(
        BY_COMMANDS,
        {**_fields(BY_COMMANDS, "name topologyKeys"), "allocatable": Field(BY_COMMANDS, _fields(BY_COMMANDS, "count"))},
        of_each=True,
    ),  # of a CSINode
    **_fields(BY_COMMANDS, "storageCapacity preventPodSchedulingIfMissing"),  # of a CSIDriver
    "attacher": Field(BY_COMMANDS),  # of a VolumeAttachment
    "source": Field(BY_COMMANDS, _fields(BY_COMMANDS, "persistentVolumeName")),  # likewise
}
_POD_SPEC: Table = {
    "affinity": Field(BY_COMMANDS),
    "containers": Field(BY_COMMANDS, _CONTAINER, of_each=True),
    "initContainers": Field(BY_COMMANDS, {**_CONTAINER, "restartPolicy": Field(BY_COMMANDS)}, of_each=True),
    "nodeName": Field(BY_COMMANDS),
    "overhead": Field(BY_COMMANDS),
    "resourceClaims": Field(BY_COMMANDS, USED, of_each=True),
    "resources": Field(BY_COMMANDS, _REQUESTS_AND_LIMITS),
    "volumes": Field(BY_COMMANDS, _VOLUME, of_each=True),
    "priority": Field(BY_COMMANDS),
    "schedulingGroup": Field(BY_COMMANDS, USED),
    **_fields(BY_COMMANDS, "hostNetwork hostUsers nodeSelector preemptionPolicy priorityClassName"),
    **_fields(BY_COMMANDS, "runtimeClassName schedulerName schedulingGates terminationGracePeriodSeconds tolerations"),
    "topologySpreadConstraints": Field(BY_COMMANDS),
}
_WORKLOAD_SPEC: Table = {
    "selector": Field(BY_EVERYBODY),
    "volumeClaimTemplates": Field(BY_COMMANDS, _CLAIM_TEMPLATE, of_each=True),
    "persistentVolumeClaimRetentionPolicy": Field(BY_COMMANDS, _fields(BY_COMMANDS, "whenScaled")),
    **_fields(BY_COMMANDS, "completionMode completions manualSelector minReadySeconds ordinals parallelism paused"),
    **_fields(BY_COMMANDS, "podManagementPolicy replicas strategy updateStrategy"),
    **_fields(BY_COMMANDS, "backoffLimit backoffLimitPerIndex podFailurePolicy podReplacementPolicy"),  # of a Job
}
TEMPLATE_FIELDS: Table = {
    "metadata": Field(BY_COMMANDS, _KEPT_METADATA),
    "spec": Field(BY_COMMANDS, {name: Field(BY_COMMANDS, *field[1:]) for name, field in _POD_SPEC.items()}),
}
_JOB_TEMPLATE: Table = {
    "metadata": Field(BY_COMMANDS, _KEPT_METADATA),
    "spec": Field(BY_COMMANDS, {**_WORKLOAD_SPEC, "template": Field(BY_COMMANDS, TEMPLATE_FIELDS)}),
}
_SPEC: Table = {
    **_PERSISTENT_VOLUME_SPEC,
    **_CLAIM_SPEC,
    **_CSI_SPEC,
    **_POD_SPEC,
    **_WORKLOAD_SPEC,
    "template": Field(BY_COMMANDS, TEMPLATE_FIELDS),
    "jobTemplate": Field(BY_COMMANDS, _JOB_TEMPLATE),
    **_fields(BY_EVERYBODY, "taints unschedulable"),  # of a Node
    **_fields(BY_COMMANDS, "maxReplicas minReplicas scaleTargetRef"),  # of a HorizontalPodAutoscaler
    **_fields(BY_COMMANDS, "maxUnavailable minAvailable unhealthyPodEvictionPolicy"),  # of a PodDisruptionBudget
    "limits": Field(BY_COMMANDS),  # of a LimitRange
    "extendedResourceName": Field(BY_COMMANDS),  # of a DeviceClass
    "holderIdentity": Field(BY_COMMANDS),  # of a Lease
}
_CONDITION_FIELDS: Table = {
    **_fields(BY_COMMANDS, "type reason"),
    **_fields(BY_COMMANDS, "status message lastTransitionTime"),
}
_STATUS_FIELDS: Table = {
    "phase": Field(BY_COMMANDS),
    "allocatable": Field(BY_COMMANDS),  # of a Node
    "declaredFeatures": Field(BY_COMMANDS),  # likewise
    "nodeInfo": Field(BY_COMMANDS, _fields(BY_COMMANDS, "kubeletVersion")),  # likewise
    "images": Field(BY_COMMANDS, _fields(BY_COMMANDS, "names sizeBytes"), of_each=True),  # likewise
    "conditions": Field(BY_COMMANDS, _CONDITION_FIELDS, of_each=True),
    "containerStatuses": Field(BY_COMMANDS, {**_CONTAINER_STATUS, "restartCount": Field(BY_COMMANDS)}, of_each=True),
    "initContainerStatuses": Field(BY_COMMANDS, _CONTAINER_STATUS, of_each=True),
    "resources": Field(BY_COMMANDS, _REQUESTS_FIELDS),
    "allocatedResources": Field(BY_COMMANDS),
    **_fields(BY_COMMANDS, "nominatedNodeName startTime"),
    **_fields(BY_COMMANDS, "disruptedPods disruptionsAllowed"),  # of a PodDisruptionBudget
    "failed": Field(BY_COMMANDS),  # of a Job
    **_fields(BY_COMMANDS, "availableReplicas currentRevision readyReplicas replicas updateRevision updatedReplicas"),
}
OBJECT_FIELDS: Table = {
    **_fields(BY_COMMANDS, "apiVersion kind"),
    "metadata": Field(BY_EVERYBODY, {**_KEPT_METADATA, "resourceVersion": Field(BY_SERVER)}),
    "spec": Field(BY_EVERYBODY, _SPEC),
    "status": Field(BY_COMMANDS, _STATUS_FIELDS),
    **_fields(BY_COMMANDS, "globalDefault preemptionPolicy value"),  # of a PriorityClass
    **_fields(BY_COMMANDS, "overhead scheduling"),  # of a RuntimeClass
    **_fields(BY_COMMANDS, "allowedTopologies provisioner volumeBindingMode"),  # of a StorageClass
    **_fields(BY_COMMANDS, "capacity maximumVolumeSize nodeTopology storageClassName"),  # of a CSIStorageCapacity
    **_fields(BY_SERVER, "message code"),  # of a metav1.Status, an error
}
# Of its annotations those that name a team or a contact are kept, which no table can list.
NAMESPACE_FIELDS: Table = {
    **_fields(BY_COMMANDS, "apiVersion kind"),
    "metadata": Field(BY_COMMANDS, {**_KEPT_METADATA, "annotations": Field(BY_COMMANDS)}),
    "status": Field(BY_COMMANDS, _fields(BY_COMMANDS, "phase")),
}


def form(table: Table, reader: FieldReader) -> Any:
    """Return the type of an object with the fields of a table that `reader` reads; an object or a list may be null."""
    if not table:
        return Used
    fields = {name: _form_of(field, reader) for name, field in table.items() if reader in field.readers}
    return TypedDict("Fields", fields, total=False)  # type: ignore[operator]


def _form_of(field: Field, reader: FieldReader) -> Any:
    if field.below is None:
        return Any
    of = form(field.below, reader)
    if field.of_each:
        return list[of] | None  # type: ignore[valid-type]
    return of if of is Used else of | None


def page_form(obj: Any) -> Any:
    """Return the type of a part of a list; its metadata has `resourceVersion`, and `continue` if more follows."""
    fields = {"metadata": dict[str, Any], "items": list[obj] | None}
    return TypedDict("Page", fields, total=False)  # type: ignore[operator]


def event_form(obj: Any) -> Any:
    """Return the type of an event of a watch."""
    return TypedDict("Event", {"type": str, "object": obj})  # type: ignore[operator]
