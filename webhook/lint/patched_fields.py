"""
Which of the fields that rules read are changed by kustomize, and the workload with these fields left open.

    patch, labels, replicas ──> PatchedFields ──left_open──> the workload, in which these fields may be anything
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from webhook.findings.finding import Finding
from webhook.objects.fields import FieldPath, as_list, as_mapping, texts_at, value_at
from webhook.objects.kinds import BUILT_IN_KINDS, FIELD
from webhook.objects.names import IGNORE_ANNOTATION
from webhook.objects.workload import Workload

KeyAndAction = tuple[str, str]  # topologyKey, whenUnsatisfiable

_LABEL_FIELDS = frozenset({"labels", "matchLabels", "selector", "matchExpressions"})
_WHOLE = frozenset({"", "metadata", "spec", "jobTemplate", "template", "kind", "apiVersion"})
_SCALE_FIELDS = frozenset({"replicas", "parallelism", "strategy"})
_ASKS = frozenset({"containers", "initContainers", "resources", "overhead"})
_PLACES = frozenset({"tolerations", "nodeSelector", "affinity", "nodeName", "schedulerName"})
_LABELLING = frozenset({"completionMode", "manualSelector"})  # by which a Job labels its Pods
_SCHEMA = frozenset({"openAPIV3Schema", "properties"})  # in a CustomResourceDefinition
NAME_PATCHED = "name"  # of the object, by which Pods of a Job and of an operator are labelled, too
_ALL_FIELDS = _SCALE_FIELDS | _ASKS | _PLACES | _LABELLING
_MERGED = frozenset(kind.kind for kind in BUILT_IN_KINDS)  # of others, kustomize replaces lists as a whole


@dataclass(frozen=True, slots=True)
class PatchedFields:
    """
    The keys of the labels, the constraints and the other fields that are changed; None stands for any.

    Constraints are merged by topologyKey and whenUnsatisfiable; ADDED stands for one that changes no other.
    """

    labels: frozenset[str] | None = frozenset()
    constraints: frozenset[KeyAndAction] | None = frozenset()
    fields: frozenset[str] = frozenset()

    def __or__(self, other: PatchedFields) -> PatchedFields:
        labels, constraints = self.labels, self.constraints
        return PatchedFields(
            None if labels is None or other.labels is None else labels | other.labels,
            None if constraints is None or other.constraints is None else constraints | other.constraints,
            self.fields | other.fields,
        )


NO_PATCH = PatchedFields()
ALL_PATCHED = PatchedFields(None, None, _ALL_FIELDS | {NAME_PATCHED})
RENAMED = PatchedFields(fields=frozenset({NAME_PATCHED}))
ADDED: KeyAndAction = ("", "")


def union(touched: Iterable[PatchedFields]) -> PatchedFields:
    """Return all that is touched by any."""
    patched = NO_PATCH
    for fields in touched:
        patched |= fields
    return patched


def by_patch(patch: object) -> PatchedFields:
    """Return the fields that a patch changes: a strategic merge patch, an object, or a JSON patch, a list."""
    if isinstance(patch, list):
        return union(_by_operation(as_mapping(operation)) for operation in patch)
    (kind,) = texts_at(patch, "kind")
    return union(_by_merge(as_mapping(patch), kind in ("", "Pod"), kind in _MERGED))


def _by_merge(patch: Mapping[str, object], of_pod: bool, merged: bool) -> Iterator[PatchedFields]:
    left: list[tuple[Mapping[str, object], bool]] = [(patch, True)]
    while left:
        at, is_top = left.pop()
        for name, value in at.items():
            if name == "$patch" or name == IGNORE_ANNOTATION or (name in _WHOLE and value is None):
                yield ALL_PATCHED
            elif name == FIELD:
                yield PatchedFields(constraints=_pairs(value) if merged else None)
            elif name in _LABEL_FIELDS:
                yield PatchedFields(labels=_keys(value))
            elif name in _ALL_FIELDS:
                yield PatchedFields(fields=frozenset({name}))
            elif isinstance(value, dict):
                of_pods = of_pod or not (is_top and name == "metadata")
                below = value if of_pods else {key: each for key, each in value.items() if key != "labels"}
                left.append((below, False))


def _pairs(value: object) -> frozenset[KeyAndAction] | None:
    """Return the keys by which the constraints of a patched list are merged; None if more may change."""
    items = [as_mapping(item) for item in as_list(value)]
    pairs = [pair(item) for item in items]
    whole = not isinstance(value, list) or any(item.get("$patch") == "replace" for item in items)
    return None if whole or not all(map(all, pairs)) else frozenset(pairs)


def pair(constraint: object) -> KeyAndAction:
    """Return the keys by which a constraint is merged; "" for a key that is not there."""
    key, when = texts_at(constraint, "topologyKey", "whenUnsatisfiable")
    return key, when


def _keys(value: object) -> frozenset[str] | None:
    """Return the keys of labels, or of a selector that asks for labels; None if others may go."""
    keys = set[str]()
    left = [value]
    while left:
        value = left.pop()
        if not isinstance(value, dict) or "$patch" in value or "matchExpressions" in value:
            return None
        for key, each in value.items():
            if key == "matchLabels":
                left.append(each)
            else:
                keys.add(key)
    return frozenset(keys)


def _by_operation(operation: Mapping[str, object]) -> PatchedFields:
    """
    Return the fields that an operation of a JSON patch may change.

    upstream: evanphx/json-patch patch.go:Patch.Apply
    """
    if operation.get("op") == "test":
        return NO_PATCH
    pointers = [operation.get("path"), *([operation["from"]] if "from" in operation else ())]
    return union(_at(pointer_parts(str(pointer)), operation) for pointer in pointers)


def pointer_parts(pointer: str) -> list[str]:
    """Return the names in a JSON pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def in_schema(parts: Sequence[str]) -> bool:
    """Return whether a path leads into the schema of a custom resource, which describes constraints and has none."""
    before = parts[: parts.index(FIELD)] if FIELD in parts else parts
    return not _SCHEMA.isdisjoint(before)


def _at(parts: Sequence[str], operation: Mapping[str, object]) -> PatchedFields:
    if in_schema(parts):
        return NO_PATCH
    if FIELD in parts:
        adds = operation.get("op") == "add" and parts[-2:] == [FIELD, "-"]
        return PatchedFields(constraints=frozenset({ADDED}) if adds else None)
    if not parts or parts[-1] in _WHOLE:
        return ALL_PATCHED
    if parts == ["metadata", NAME_PATCHED]:
        return RENAMED
    value = None if parts[-1] in _LABEL_FIELDS else operation.get("value")
    for part in reversed(parts):
        value = {part: value}
    return by_patch(value)


def by_path(parts: Sequence[str]) -> PatchedFields:
    """Return the fields that a change at a path touches; the path may name list items in any way."""
    return _at(parts, {"op": "replace"})


def concerns_constraints(touched: PatchedFields, constraints: object) -> bool:
    """Return whether more is touched than labels that the constraints, or one of them, do not name."""
    if touched.labels is None or touched != PatchedFields(labels=touched.labels):
        return True
    left, names = [constraints], set[object]()
    while touched.labels and left:
        value = left.pop()
        if isinstance(value, dict):
            if value.get("matchLabels") == {}:  # is filled in
                return True
            names |= value.keys()
            left += value.values()
        elif isinstance(value, list):
            left += value
        else:
            names.add(value)
    return not names.isdisjoint(touched.labels)


def left_open(workload: Workload, touched: PatchedFields) -> Workload:
    """Return the workload, in which fields that are touched may have any value; `touched.labels` must not be None."""
    labels, fields = touched.labels or frozenset(), touched.fields
    open_workload = replace(
        workload,
        labels={key: value for key, value in workload.labels.items() if key not in labels},
        addable=workload.addable | labels,
    )
    if fields & (_LABELLING | {NAME_PATCHED}):
        open_workload = replace(open_workload, addable=open_workload.addable | workload.kind.addable, given_labels={})
    if fields & _SCALE_FIELDS:
        spec = {name: value for name, value in open_workload.spec.items() if name not in _SCALE_FIELDS}
        open_workload = replace(open_workload, replicas=1, scaling=None, strategy="Recreate", surges=False, spec=spec)
    if fields & _PLACES:
        return replace(open_workload, node_name="", affine_to_one_node=False, pod_spec=None)
    if fields & _ASKS and open_workload.pod_spec is not None:  # the less is asked for, the less is found
        return replace(
            open_workload, pod_spec={name: value for name, value in open_workload.pod_spec.items() if name not in _ASKS}
        )
    return open_workload


def constraint_of(finding: Finding) -> FieldPath:
    """Return the path of the constraint that a finding is on; its own where it is on none."""
    at = finding.path.index(FIELD) + 1 if FIELD in finding.path else len(finding.path)
    return finding.path[: at + 1]


def holds_although(touched: PatchedFields, finding: Finding, obj: Mapping[str, object]) -> bool:
    """Return whether a finding on a workload that is `left_open` holds whatever becomes of the touched constraints."""
    if touched.constraints == frozenset() and touched.labels == frozenset():
        return True
    constraint = constraint_of(finding)
    if touched.constraints != frozenset():
        keys = pair(value_at(obj, constraint))
        if touched.constraints is None or not all(keys) or keys in touched.constraints:
            return False
    # kustomize fills in an empty selector, if it is written as such
    return touched.labels == frozenset() or value_at(obj, (*constraint, "labelSelector", "matchLabels")) != {}
