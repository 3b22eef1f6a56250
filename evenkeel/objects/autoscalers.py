"""
How many replicas an autoscaler gives a workload: a HorizontalPodAutoscaler, or a ScaledObject of KEDA.

    spec.scaleTargetRef, minReplicas, maxReplicas ──> Autoscaler(Target, Scaling)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from webhook.kubernetes.fields import Raw, integer, mappings_at, texts_at
from webhook.kubernetes.references import ObjectRef, ScaleTarget, Scaling

_HPA, _KEDA = ("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject")
_MOST_OF_KEDA = 100  # KEDA's default of maxReplicaCount.


class Autoscaler(NamedTuple):
    """An autoscaler: what it scales, and within which bounds."""

    target: ScaleTarget
    scaling: Scaling

    def scales(self, ref: ObjectRef) -> bool:
        """Whether it scales this workload; the API group is not compared, since few autoscalers name it."""
        target = self.target
        return (target.namespace, target.kind, target.name) == (ref.namespace, ref.kind, ref.name)


def read_autoscaler(obj: Mapping[str, object], namespace: str) -> Autoscaler | None:
    """
    Read an object; None if it is no autoscaler.  `namespace` is used if the object names none.

    A bound that is no integer, as in a template, counts as unknown.

    upstream: horizontal.go:reconcileAutoscaler (v1.37)
    upstream: scaledobject_types.go:GetHPAMinReplicas, GetHPAMaxReplicas (KEDA v2)
    """
    api_version, kind, own_namespace = texts_at(obj, "apiVersion", "kind", "metadata.namespace")
    group_kind = api_version.rpartition("/")[0], kind
    if group_kind not in (_HPA, _KEDA):
        return None
    spec, target = mappings_at(obj, ("spec",), ("spec", "scaleTargetRef"))
    api_of_target, kind_of_target, name = texts_at(target, "apiVersion", "kind", "name")
    if group_kind == _KEDA:
        api_of_target, kind_of_target = api_of_target or "apps/v1", kind_of_target or "Deployment"
        scaling = _of_keda(spec)
    else:
        scaling = Scaling(_bound(spec, "minReplicas", 1) or 0, _bound(spec, "maxReplicas", None))
    if not (kind_of_target and name):  # a patch of an autoscaler
        return None
    group = api_of_target.rpartition("/")[0]
    return Autoscaler(ScaleTarget(own_namespace or namespace, group, kind_of_target, name), scaling)


def scalings(autoscalers: Iterable[Autoscaler]) -> dict[ScaleTarget, Scaling]:
    """Return the bounds of each target; the widest, where several autoscalers have the same target."""
    by_target: dict[ScaleTarget, Scaling] = {}
    for target, scaling in autoscalers:
        by_target[target] = by_target[target].widened(scaling) if target in by_target else scaling
    return by_target


def _of_keda(spec: Mapping[str, object]) -> Scaling:
    """Return the bounds of a ScaledObject; idleReplicaCount, which holds while it is idle, may be the lower one."""
    least = _bound(spec, "minReplicaCount", 0) or 0
    idle = _bound(spec, "idleReplicaCount", least) or 0
    return Scaling(min(least, idle), _bound(spec, "maxReplicaCount", _MOST_OF_KEDA))


def _bound(spec: Mapping[str, object], name: str, absent: int | None) -> int | None:
    """Read an integer of 0 or more; None for anything else, and `absent` where nothing is written."""
    if spec.get(name) is None:
        return absent
    number = integer(spec[name])
    return number if number is not None and number >= 0 else None


def scalings_of(ref: ObjectRef, objects: Iterable[Raw]) -> Iterator[tuple[str, Scaling]]:
    """Yield the name and the bounds of each HorizontalPodAutoscaler of a workload, in the order of the objects."""
    for raw in objects:
        if raw.get("kind") == "HorizontalPodAutoscaler":
            autoscaler = read_autoscaler(raw, "")
            if autoscaler is not None and autoscaler.scales(ref):
                yield ObjectRef.of(raw).name, autoscaler.scaling
