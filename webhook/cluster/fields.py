"""
What commands read of a cluster's objects: all that the webhook watches, and what says where a Pod may go.

A dump of a cluster has these fields and no others. Where it only matters that a feature is used, such as a claim of a
volume, its name is kept and its content is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import msgspec

from webhook.cluster import decoding
from webhook.cluster.watched_resources import WATCHED_NAMESPACES
from webhook.objects.contacts import contacts_in
from webhook.objects.fields import FieldPath
from webhook.objects.kinds import EACH, EACH_KEY, Kind
from webhook.objects.names import (
    DEFAULTED_BY_ANNOTATION,
    DELETION_COST_ANNOTATION,
    IGNORE_ANNOTATION,
    MIRROR_ANNOTATION,
    REVISION_ANNOTATION,
)

CONDITIONS = ("PodScheduled", "PodResizePending", "Ready")  # The types of a Pod's conditions that are read.
KEPT_ANNOTATIONS = (
    IGNORE_ANNOTATION,
    DEFAULTED_BY_ANNOTATION,
    REVISION_ANNOTATION,
    MIRROR_ANNOTATION,
    DELETION_COST_ANNOTATION,
)
Annotations = TypedDict(  # type: ignore[misc]
    "Annotations", dict.fromkeys(KEPT_ANNOTATIONS, Any), total=False
)


class Used(TypedDict):
    """An object of which only matters that it is there."""


class OwnerReference(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    name: Any
    uid: Any
    controller: Any


class Metadata(decoding.Metadata, total=False):
    annotations: Annotations | None
    creationTimestamp: Any
    ownerReferences: list[OwnerReference] | None


class NamespaceMetadata(Metadata, total=False):
    annotations: dict[str, Any] | None  # type: ignore[misc]  # Of which those that name a team or a contact are kept.


class ContainerPort(TypedDict, total=False):
    hostPort: Any


class RequestsAndLimits(decoding.ResourceRequirements, total=False):
    limits: Any  # What a new Pod requests where it states only these.


class Container(decoding.InitContainer, total=False):
    ports: list[ContainerPort] | None
    resources: RequestsAndLimits | None  # type: ignore[misc]


class Volume(TypedDict, total=False):
    """The kinds of volumes that bind a Pod to nodes, or of which a node takes only so many."""

    awsElasticBlockStore: Used
    azureDisk: Used
    cinder: Used
    csi: Used
    ephemeral: Used
    gcePersistentDisk: Used
    iscsi: Used
    persistentVolumeClaim: Used
    rbd: Used


class PodTerms(TypedDict, total=False):
    """The number of terms of an affinity, or an anti-affinity, to other Pods."""

    requiredDuringSchedulingIgnoredDuringExecution: list[Used] | None
    preferredDuringSchedulingIgnoredDuringExecution: list[Used] | None


class Affinity(TypedDict, total=False):
    nodeAffinity: Any
    podAffinity: PodTerms | None
    podAntiAffinity: PodTerms | None


class Template(TypedDict, total=False):
    """A Pod template, or a Job template, which holds one."""

    metadata: Metadata | None
    spec: Spec | None


class Spec(decoding.SpecWithResources, total=False):
    # of a Pod
    affinity: Affinity | None
    containers: list[Container] | None  # type: ignore[misc]
    hostNetwork: Any
    initContainers: list[Container] | None  # type: ignore[misc]
    nodeSelector: Any
    preemptionPolicy: Any
    priority: Any
    resourceClaims: list[Used] | None
    resources: RequestsAndLimits | None  # type: ignore[misc]
    schedulerName: Any
    schedulingGates: Any
    tolerations: Any
    topologySpreadConstraints: Any
    volumes: list[Volume] | None
    # of a workload
    completionMode: Any
    completions: Any
    jobTemplate: Template | None
    manualSelector: Any
    minReadySeconds: Any
    ordinals: Any
    parallelism: Any
    paused: Any
    podManagementPolicy: Any
    replicas: Any
    strategy: Any
    template: Template | None
    updateStrategy: Any
    volumeClaimTemplates: list[Used] | None
    # of a HorizontalPodAutoscaler
    maxReplicas: Any
    minReplicas: Any
    scaleTargetRef: Any
    # of a PodDisruptionBudget
    maxUnavailable: Any
    minAvailable: Any
    unhealthyPodEvictionPolicy: Any


class Condition(decoding.Condition, total=False):
    status: Any
    message: Any
    lastTransitionTime: Any


class RestartedStatus(decoding.ContainerStatus, total=False):
    restartCount: Any


class Status(decoding.StatusWithResources, total=False):
    # of a Pod
    conditions: list[Condition] | None  # type: ignore[misc]
    containerStatuses: list[RestartedStatus] | None  # type: ignore[misc]
    nominatedNodeName: Any
    # of a workload
    availableReplicas: Any
    currentRevision: Any
    readyReplicas: Any
    replicas: Any
    updateRevision: Any
    updatedReplicas: Any


class Object(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    metadata: Metadata | None
    spec: Spec | None
    status: Status | None


class Namespace(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    metadata: NamespaceMetadata | None
    status: decoding.Status | None


class Page(TypedDict, total=False):
    """A part of a list; its metadata has `continue` if more follows."""

    metadata: dict[str, Any]
    items: list[Object] | None


class NamespacePage(TypedDict, total=False):
    metadata: dict[str, Any]
    items: list[Namespace] | None


_PAGE, _ENCODER = msgspec.json.Decoder(Page), msgspec.json.Encoder(order="sorted")
_NAMESPACES = msgspec.json.Decoder(NamespacePage)


def page(body: bytes) -> Any:
    """A page of a list, as raw JSON with the fields above.  ValueError or RecursionError if it has another form."""
    found = _PAGE.decode(body)
    for obj in found.get("items") or ():
        _drop_conditions(obj)
    return found


def namespaces_page(body: bytes) -> Any:
    """Return the same of Namespaces, with the annotations that name a team or a contact, and no conditions."""
    found = _NAMESPACES.decode(body)
    for obj in found.get("items") or ():
        _reduce_namespace(obj)
    return found


def custom_page(body: bytes, kinds: Sequence[Kind]) -> Any:
    """A page of a list of custom resources, which are of these `kinds`, reduced as `only_read_custom` does."""
    found = msgspec.json.decode(body)
    if isinstance(found, dict) and isinstance(items := found.get("items"), list):
        found["items"] = [only_read_custom(one, kinds) for one in items if isinstance(one, dict)]
    return found


def only_read_custom(raw: Mapping[str, object], kinds: Sequence[Kind]) -> Mapping[str, object]:
    """
    A copy of a raw custom resource with its metadata, Pod templates, constraints, replicas and selector.

    `kinds` describe it.  What has another form than those have elsewhere is left out.
    """
    found: dict[str, object] = {name: raw[name] for name in ("apiVersion", "kind") if name in raw}
    found["metadata"] = _converted(raw.get("metadata"), Metadata)
    paths: list[tuple[FieldPath, Any]] = [(("spec", name), Any) for name in ("selector", "strategy")]
    for kind in kinds:
        paths += [(path, Any) for path in (kind.replicas, kind.constraints, kind.labels) if path]
        paths += [(kind.template, Template)] if kind.template else []
    for path, form in sorted(paths, key=lambda one: len(one[0])):
        _copy(raw, found, path, form)
    return found


def _copy(value: Any, into: Any, path: FieldPath, form: Any) -> None:
    """Copy what stands at a path, which may have wildcards, into a value of the same shape."""
    part, rest = path[0], path[1:]
    if part == EACH:
        if isinstance(value, list) and isinstance(into, list):
            into += [_empty(rest) for _ in value[len(into) :]]
            for one, other in zip(value, into, strict=True):
                if rest:
                    _copy(one, other, rest, form)
    elif part == EACH_KEY:
        for name in value if isinstance(value, dict) and isinstance(into, dict) else ():
            _copy_member(value, into, name, rest, form)
    elif isinstance(value, dict) and isinstance(into, dict) and part in value:
        _copy_member(value, into, part, rest, form)


def _copy_member(value: Any, into: Any, name: str | int, rest: FieldPath, form: Any) -> None:
    if not rest:
        into[name] = _converted(value[name], form)
    else:
        into.setdefault(name, _empty(rest))
        _copy(value[name], into[name], rest, form)


def _empty(path: FieldPath) -> Any:
    """What holds nothing yet of what a path leads to."""
    return [] if path[:1] == (EACH,) else {}


def _converted(value: object, form: Any) -> Any:
    try:
        return msgspec.convert(value, form)
    except (ValueError, RecursionError):
        return {}


def only_read(raw: Mapping[str, object]) -> Mapping[str, object]:
    """A copy of a raw object with the fields above.  ValueError or RecursionError if one has another form."""
    if (raw.get("apiVersion"), raw.get("kind")) == WATCHED_NAMESPACES.gvk:
        return _reduce_namespace(msgspec.convert(raw, Namespace))
    found = msgspec.convert(raw, Object)
    _drop_conditions(found)
    return found


def as_line(obj: Mapping[str, object]) -> bytes:
    """The object as one line of JSON, with the members in the order of their names."""
    return _ENCODER.encode(obj) + b"\n"


def from_line(line: bytes) -> object:
    """The value in a line of JSON.  ValueError or RecursionError if it has none."""
    return msgspec.json.decode(line)


def _reduce_namespace(obj: Namespace) -> Namespace:
    metadata = obj.get("metadata")
    if metadata and (annotations := metadata.get("annotations")):
        metadata["annotations"] = contacts_in(annotations)
    return obj


def _drop_conditions(obj: Object) -> None:
    """Keep those of CONDITIONS only."""
    status = obj.get("status")
    if status and (conditions := status.get("conditions")):
        status["conditions"] = [one for one in conditions if one.get("type") in CONDITIONS]
