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
    DEFAULTED_BY_ANNOTATION,
    DELETION_COST_ANNOTATION,
    IGNORE_ANNOTATION,
    MIRROR_ANNOTATION,
    REVISION_ANNOTATION,
)


class Reader(Flag):
    """The webhook, the webhook that also counts Pods and what they request, or the commands and their dumps."""

    WEBHOOK = auto()
    WATCH_PODS = auto()
    COMMANDS = auto()


SERVER = Reader.WEBHOOK | Reader.WATCH_PODS
RESOURCES = Reader.WATCH_PODS | Reader.COMMANDS
EVERYBODY = SERVER | Reader.COMMANDS
COMMANDS = Reader.COMMANDS

Table = Mapping[str, "Field"]


class Field(NamedTuple):
    """
    Who reads a field, and what of it: all if `below` is None, else the fields of the table.

    A field `of_each` is a list of such objects.
    """

    readers: Reader
    below: Table | None = None
    of_each: bool = False


CONDITIONS = ("PodScheduled", "PodResizePending", "Ready")  # The types of a Pod's conditions that are kept in a dump.
KEPT_ANNOTATIONS = (
    *(IGNORE_ANNOTATION, DEFAULTED_BY_ANNOTATION, REVISION_ANNOTATION, MIRROR_ANNOTATION, DELETION_COST_ANNOTATION),
)


class Used(TypedDict):
    pass  # An object of which only matters that it is there.


USED: Table = {}


def _fields(readers: Reader, names: str) -> dict[str, Field]:
    return {name: Field(readers) for name in names.split()}


_OWNER = _fields(COMMANDS, "apiVersion kind name uid controller")
_METADATA: Table = {
    **_fields(EVERYBODY, "name namespace uid labels deletionTimestamp"),
    "annotations": Field(COMMANDS, _fields(COMMANDS, " ".join(KEPT_ANNOTATIONS))),
    "creationTimestamp": Field(COMMANDS),
    "ownerReferences": Field(COMMANDS, _OWNER, of_each=True),
}
_REQUESTS = _fields(RESOURCES, "requests")
_REQUESTS_AND_LIMITS = {**_REQUESTS, **_fields(COMMANDS, "limits")}  # A new Pod with limits alone requests those.
_CONTAINER: Table = {
    "name": Field(RESOURCES),
    "resources": Field(RESOURCES, _REQUESTS_AND_LIMITS),
    "ports": Field(COMMANDS, _fields(COMMANDS, "hostPort"), of_each=True),
    "restartPolicy": Field(COMMANDS),
}
_CONTAINER_STATUS: Table = {
    **_fields(RESOURCES, "name allocatedResources"),
    "resources": Field(RESOURCES, _REQUESTS),
}
# The kinds of volumes that bind a Pod to nodes, or of which a node takes only so many.
_VOLUME = {
    name: Field(COMMANDS, USED)
    for name in (
        *("awsElasticBlockStore", "azureDisk", "cinder", "csi", "ephemeral", "gcePersistentDisk", "iscsi"),
        *("persistentVolumeClaim", "rbd"),
    )
}
# The number of terms of an affinity, or an anti-affinity, to other Pods.
_POD_TERMS = {
    f"{when}DuringSchedulingIgnoredDuringExecution": Field(COMMANDS, USED, of_each=True)
    for when in ("required", "preferred")
}
_AFFINITY: Table = {
    "nodeAffinity": Field(COMMANDS),
    "podAffinity": Field(COMMANDS, _POD_TERMS),
    "podAntiAffinity": Field(COMMANDS, _POD_TERMS),
}
_POD_SPEC: Table = {
    "affinity": Field(COMMANDS, _AFFINITY),
    "containers": Field(RESOURCES, _CONTAINER, of_each=True),
    "initContainers": Field(RESOURCES, {**_CONTAINER, "restartPolicy": Field(RESOURCES)}, of_each=True),
    "nodeName": Field(EVERYBODY),
    "overhead": Field(RESOURCES),
    "resourceClaims": Field(COMMANDS, USED, of_each=True),
    "resources": Field(RESOURCES, _REQUESTS_AND_LIMITS),
    "volumes": Field(COMMANDS, _VOLUME, of_each=True),
    **_fields(COMMANDS, "hostNetwork nodeSelector preemptionPolicy priority schedulerName schedulingGates tolerations"),
    **_fields(COMMANDS, "topologySpreadConstraints"),
}
_WORKLOAD_SPEC: Table = {
    "selector": Field(EVERYBODY),
    "volumeClaimTemplates": Field(COMMANDS, USED, of_each=True),
    **_fields(COMMANDS, "completionMode completions manualSelector minReadySeconds ordinals parallelism paused"),
    **_fields(COMMANDS, "podManagementPolicy replicas strategy updateStrategy"),
}
TEMPLATE: Table = {
    "metadata": Field(COMMANDS, _METADATA),
    "spec": Field(COMMANDS, {name: Field(COMMANDS, *field[1:]) for name, field in _POD_SPEC.items()}),
}
_JOB_TEMPLATE: Table = {
    "metadata": Field(COMMANDS, _METADATA),
    "spec": Field(COMMANDS, {**_WORKLOAD_SPEC, "template": Field(COMMANDS, TEMPLATE)}),
}
_SPEC: Table = {
    **_POD_SPEC,
    **_WORKLOAD_SPEC,
    "template": Field(COMMANDS, TEMPLATE),
    "jobTemplate": Field(COMMANDS, _JOB_TEMPLATE),
    **_fields(EVERYBODY, "taints unschedulable"),  # of a Node
    **_fields(COMMANDS, "maxReplicas minReplicas scaleTargetRef"),  # of a HorizontalPodAutoscaler
    **_fields(COMMANDS, "maxUnavailable minAvailable unhealthyPodEvictionPolicy"),  # of a PodDisruptionBudget
}
_CONDITION: Table = {
    **_fields(RESOURCES, "type reason"),
    **_fields(COMMANDS, "status message lastTransitionTime"),
}
_STATUS: Table = {
    "phase": Field(EVERYBODY),
    "allocatable": Field(RESOURCES),  # of a Node
    "conditions": Field(RESOURCES, _CONDITION, of_each=True),
    "containerStatuses": Field(RESOURCES, {**_CONTAINER_STATUS, "restartCount": Field(COMMANDS)}, of_each=True),
    "initContainerStatuses": Field(RESOURCES, _CONTAINER_STATUS, of_each=True),
    "resources": Field(RESOURCES, _REQUESTS),
    "allocatedResources": Field(RESOURCES),
    "nominatedNodeName": Field(COMMANDS),
    **_fields(COMMANDS, "availableReplicas currentRevision readyReplicas replicas updateRevision updatedReplicas"),
}
OBJECT: Table = {
    **_fields(COMMANDS, "apiVersion kind"),
    "metadata": Field(EVERYBODY, {**_METADATA, "resourceVersion": Field(SERVER)}),
    "spec": Field(EVERYBODY, _SPEC),
    "status": Field(EVERYBODY, _STATUS),
    **_fields(SERVER, "message code"),  # of a metav1.Status, an error
}
# Of its annotations those that name a team or a contact are kept, which no table can list.
NAMESPACE: Table = {
    **_fields(COMMANDS, "apiVersion kind"),
    "metadata": Field(COMMANDS, {**_METADATA, "annotations": Field(COMMANDS)}),
    "status": Field(COMMANDS, _fields(COMMANDS, "phase")),
}


def form(table: Table, reader: Reader) -> Any:
    """Return the type of an object with the fields of a table that `reader` reads; an object or a list may be null."""
    if not table:
        return Used
    fields = {name: _form_of(field, reader) for name, field in table.items() if reader in field.readers}
    return TypedDict("Fields", fields, total=False)  # type: ignore[operator]


def _form_of(field: Field, reader: Reader) -> Any:
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
