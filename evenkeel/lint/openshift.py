"""OpenShift's own forms of files: Templates, and the ConfigMaps of its monitoring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.kubernetes.documents import items_of
from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.kinds import EACH_KEY, FIELD, Kind, Kinds, Operator
from webhook.kubernetes.references import ObjectRef

TEMPLATE_API = "template.openshift.io/v1"
# upstream: openshift/cluster-monitoring-operator pkg/manifests/types.go: each component takes constraints as they are
MONITORING_CONFIGS = {
    "cluster-monitoring-config": "openshift-monitoring",
    "user-workload-monitoring-config": "openshift-user-workload-monitoring",
}
_MONITORING = "config.evenkeel.dev/monitoring"  # the apiVersion of what is read of such a ConfigMap, which has none
_MONITORING_KIND = Kind(
    _MONITORING,
    "ConfigMap",
    "configmaps",
    template=None,
    constraints=(EACH_KEY, FIELD),
    built_in=False,
    operator=Operator("openshift-monitoring", frozenset()),
)


def with_monitoring(kinds: Kinds) -> Kinds:
    """Return the kinds, with the configuration of OpenShift's monitoring."""
    return Kinds((*kinds, _MONITORING_KIND), kinds.further)


def objects_in(document: object) -> Iterator[tuple[FieldPath, object]]:
    """Yield what `items_of` does, and the objects of a Template in its place."""
    for path, obj in items_of(document):
        objects = obj.get("objects") if isinstance(obj, dict) and _is_template(obj) else None
        if not isinstance(objects, list):
            yield path, obj
            continue
        for i, templated in enumerate(objects):
            yield from items_of(templated, (*path, "objects", i))


def _is_template(obj: Mapping[str, object]) -> bool:
    return obj.get("kind") == "Template" and obj.get("apiVersion") in (TEMPLATE_API, "v1")


def configures_monitoring(ref: ObjectRef | None) -> bool:
    """Return whether an object is a ConfigMap of OpenShift's monitoring."""
    if ref is None or ref.kind != "ConfigMap":
        return False
    return ref.name in MONITORING_CONFIGS and ref.namespace in ("", MONITORING_CONFIGS[ref.name])


def as_object(ref: ObjectRef, document: object) -> object:
    """Return the configuration in a ConfigMap of OpenShift's monitoring as an object; its paths stay the same."""
    metadata = {"name": ref.name, "namespace": ref.namespace}
    of_object = {"apiVersion": _MONITORING, "kind": ref.kind, "metadata": metadata}
    return {**document, **of_object} if isinstance(document, dict) else document
