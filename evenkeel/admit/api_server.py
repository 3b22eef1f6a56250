"""
What kube-apiserver itself says of an object that it refuses, before it asks /validate.

    Deployment ──refusal──> Refusal("Invalid", 'spec.….maxSkew: Invalid value: 0: must be greater than zero')
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.findings.rule import in_yaml
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    TYPE_INVALID,
    FieldError,
    FieldPath,
    as_list,
    as_mapping,
    path_text,
    value_at,
)
from webhook.kubernetes.kinds import BUILT_IN_KINDS, FIELD
from webhook.kubernetes.likeness import REPLACED
from webhook.kubernetes.names import ARCH, OS
from webhook.kubernetes.reader import Reader
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.workload import Workload, parse_workloads
from webhook.spread.constraint import read_constraints, read_selector
from webhook.spread.selectors import LabelSelector, Match, as_selector
from webhook.spread.validation import REPEATED, on_stored_pod, selector_errors, validate

API_SERVER = "kube-apiserver"
BAD_REQUEST, INVALID_OBJECT = "BadRequest", "Invalid"  # reasons of a metav1.Status
_CODES = {BAD_REQUEST: 400, INVALID_OBJECT: 422}
# upstream: field/errors.go:ErrorType.String
_TYPE_WORDS = {
    INVALID: "Invalid value",
    REQUIRED: "Required value",
    FORBIDDEN: "Forbidden",
    NOT_SUPPORTED: "Unsupported value",
    DUPLICATE: "Duplicate value",
}
_WITHOUT_VALUE = (REQUIRED, FORBIDDEN)
# Kinds that must have a selector, and what kube-apiserver calls them where it is empty.
_NAMES = {
    "Deployment": "deployment",
    "ReplicaSet": "deployment",  # so it is upstream
    "StatefulSet": "statefulset",
    "DaemonSet": "daemonset",
}
_SELECTING = (*_NAMES, "ReplicationController")
_SELECTOR_PATH = ("spec", "selector")
# upstream: validation.go:validateTopologySpreadConstraints looks at these fields in this order, then at the others
_ORDER = {"maxSkew": 0, "topologyKey": 1, "whenUnsatisfiable": 2, REPEATED: 3}
_LAST = len(_ORDER)
# The Go struct that has a field, and the type of the field; of each item where the field is a list or a map.
_GO_TYPES = {
    FIELD: ("PodSpec", "[]v1.TopologySpreadConstraint", "v1.TopologySpreadConstraint"),
    "maxSkew": ("TopologySpreadConstraint", "int32", ""),
    "minDomains": ("TopologySpreadConstraint", "int32", ""),
    "topologyKey": ("TopologySpreadConstraint", "string", ""),
    "whenUnsatisfiable": ("TopologySpreadConstraint", "v1.UnsatisfiableConstraintAction", ""),
    "nodeAffinityPolicy": ("TopologySpreadConstraint", "v1.NodeInclusionPolicy", ""),
    "nodeTaintsPolicy": ("TopologySpreadConstraint", "v1.NodeInclusionPolicy", ""),
    "matchLabelKeys": ("TopologySpreadConstraint", "[]string", "string"),
    "labelSelector": ("TopologySpreadConstraint", "v1.LabelSelector", ""),
    "matchLabels": ("LabelSelector", "map[string]string", "string"),
    "matchExpressions": ("LabelSelector", "[]v1.LabelSelectorRequirement", "v1.LabelSelectorRequirement"),
    "key": ("LabelSelectorRequirement", "string", ""),
    "operator": ("LabelSelectorRequirement", "v1.LabelSelectorOperator", ""),
    "values": ("LabelSelectorRequirement", "[]string", "string"),
}


class Refusal(NamedTuple):
    """Why kube-apiserver refuses an object."""

    reason: str
    errors: tuple[str, ...]  # in its own words
    # The field to mend where the selector is at fault, and what to write there; None if it is not.
    selector: tuple[str, str] | None = None

    def status(self, ref: ObjectRef) -> Mapping[str, object]:
        """Return the metav1.Status."""
        status = {"status": "Failure", "code": _CODES[self.reason], "reason": self.reason}
        return {**status, "message": self.message(ref)}

    def message(self, ref: ObjectRef) -> str:
        """Return the message of the Status."""
        said = self.errors[0] if len(self.errors) == 1 else f"[{', '.join(self.errors)}]"
        kind = ".".join(filter(None, (ref.kind, ref.group)))
        return said if self.reason == BAD_REQUEST else f"{kind} {_quoted(ref.name)} is invalid: {said}"

    def printed(self, ref: ObjectRef, attempt: str) -> str:
        """Return what kubectl prints; `attempt` is what failed. upstream: kubectl cmd/util/helpers.go:checkErr"""
        if self.reason == BAD_REQUEST:
            return f"Error from server ({self.reason}): {attempt}: {self.errors[0]}"
        head = f"The {ref.kind} {_quoted(ref.name)} is invalid: "
        return head + self.errors[0] if len(self.errors) == 1 else "\n* ".join((head, *self.errors))


def refusal(obj: Mapping[str, object], features: Features) -> Refusal | None:
    """
    Return why kube-apiserver refuses the constraints, labels or selector of a built-in kind; None if it does not.

    It decodes strictly, as kubectl asks it to.
    """
    workloads = parse_workloads(obj, BUILT_IN_KINDS)
    if not workloads:
        return None
    errors = [error for workload in workloads for error in _errors(workload, features)]
    mistyped = [error for error in errors if error.type == TYPE_INVALID]
    if mistyped:  # Go decodes the fields of an object in alphabetical order, as kubectl sends them.
        return Refusal(BAD_REQUEST, (_undecoded(min(mistyped, key=lambda error: error.path), workloads[0]),))
    for path in (("metadata", "labels"), *(_labels_path(workload) for workload in workloads)):
        for value in as_mapping(value_at(obj, path)).values():
            if value is not None and not isinstance(value, str):
                where = f"Go struct field ObjectMeta.{path_text(path)} of type string"
                return Refusal(BAD_REQUEST, (_unmarshaled(workloads[0], _json_type(value, "string"), where),))
    if unknown := sorted(path for workload in workloads for path in _unknown_fields(workload, features)):
        fields = ", ".join(f"unknown field {_quoted(f'{path_text(path[:-1])}.{path[-1]}')}" for path in unknown)
        return Refusal(BAD_REQUEST, (f"{_unhandled(workloads[0])} strict decoding error: {fields}",))
    selector_faults = [error for workload in workloads for error in _selector_errors(workload)]
    found = dict.fromkeys(map(_worded, (*selector_faults, *errors)))
    advice = _selector_advice(workloads[0]) if selector_faults else None
    return Refusal(INVALID_OBJECT, tuple(found), advice) if found else None


def _unknown_fields(workload: Workload, features: Features) -> Iterator[FieldPath]:
    """
    Yield the paths of fields in constraints, and of misplaced constraints, that strict decoding refuses.

    `kubectl apply` does not send a field that is null.
    """
    yield from workload.misplaced
    for field in read_constraints(workload.raw_constraints, features).unknown:
        if value_at(workload.raw_constraints, field.path) is not None:
            yield (*workload.path, *field.path)


def warnings(obj: Mapping[str, object], features: Features) -> tuple[str, ...]:
    """
    Return what kube-apiserver warns of in the constraints of a built-in kind.

    upstream: pod/warnings.go:warningsForPodSpecAndMeta (v1.37)
    """
    return tuple(
        f"{path_text((*workload.path, i))}.{warning}"
        for workload in parse_workloads(obj, BUILT_IN_KINDS)
        for i, constraint in enumerate(as_list(workload.raw_constraints))
        for warning in _warnings(as_mapping(constraint), features)
    )


def _warnings(constraint: Mapping[str, object], features: Features) -> Iterator[str]:
    key = str(constraint.get("topologyKey"))
    if key in REPLACED:
        since = "v1.14" if REPLACED[key] in (ARCH, OS) else "v1.17"
        yield f'topologyKey: {key} is deprecated since {since}; use "{REPLACED[key]}" instead'
    if constraint.get("labelSelector") is None and features.null_selector_warning:
        yield "labelSelector: a null labelSelector results in matching no pod"


def _errors(workload: Workload, features: Features) -> Sequence[FieldError]:
    """Return the errors of its constraints, in upstream's order."""
    path, merged = workload.path, workload.stored or not workload.is_pod
    features = on_stored_pod(features) if workload.stored else features
    errors = validate(workload.raw_constraints, workload.labels, path, merged=merged, features=features)
    return errors if any(error.type == TYPE_INVALID for error in errors) else sorted(errors, key=_place_of(len(path)))


def _place_of(length: int) -> Callable[[FieldError], tuple[int, int]]:
    """Return a key to sort errors by, for constraints whose path has this length."""
    return lambda error: (int(error.path[length]), _ORDER.get(str(error.path[length + 1]), _LAST))


def _worded(error: FieldError) -> str:
    """upstream: field/errors.go:Error.Error (v1.37)"""
    value = "" if error.type in _WITHOUT_VALUE else f": {_quoted(error.value)}"
    detail = f": {error.detail}" if error.detail else ""
    return f"{path_text(error.path)}: {_TYPE_WORDS[error.type]}{value}{detail}"


def _quoted(value: object) -> str:
    """Return a value as JSON; Go's %q writes text in nearly the same way."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _undecoded(error: FieldError, workload: Workload) -> str:
    """Return what Go says of a value that has the wrong type. upstream: json/decode.go:UnmarshalTypeError"""
    names = [str(part) for part in error.path if isinstance(part, str)]
    # A key of matchLabels is no field of a struct.
    field_names = names[: names.index("matchLabels") + 1] if "matchLabels" in names else names
    struct, go_type, item_type = _GO_TYPES[field_names[-1]]
    if error.path[-1] != field_names[-1]:
        go_type = item_type
    where = f"Go struct field {struct}.{'.'.join(field_names)} of type {go_type}"
    return _unmarshaled(workload, _json_type(error.value, go_type), where)


def _unmarshaled(workload: Workload, json_type: str, where: str) -> str:
    return f"{_unhandled(workload)} json: cannot unmarshal {json_type} into {where}"


def _unhandled(workload: Workload) -> str:
    kind, version = workload.kind.kind, workload.kind.api_version.rpartition("/")[2]
    return f'{kind} in version "{version}" cannot be handled as a {kind}:'


def _labels_path(workload: Workload) -> FieldPath:
    return (*workload.path[:-2], "metadata", "labels")


def _json_type(value: object, go_type: str) -> str:
    """Return what Go calls a value; a number that does not fit is named."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {_quoted(value)}" if go_type == "int32" else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _selector_errors(workload: Workload) -> Iterator[FieldError]:
    """
    Yield the errors of a selector that is absent or empty, or does not match the labels of the template.

    upstream: apps/validation.go:ValidateDeploymentSpec, ValidateReplicaSetSpec, ValidateStatefulSetSpec,
    ValidateDaemonSetSpec (v1.37)
    """
    labels_path, kind = _labels_path(workload), workload.kind.kind
    labels = None if value_at(workload.spec, labels_path[1:]) is None else workload.labels
    mismatch = FieldError(INVALID, labels_path, labels, "`selector` does not match template `labels`")
    if kind in _NAMES and workload.spec.get("selector") is None:
        if kind != "DaemonSet":
            yield FieldError(REQUIRED, _SELECTOR_PATH, None, "")
        yield mismatch
    elif (selector := _read_selector(workload)) is not None:
        if kind in _NAMES and not selector.keys:
            yield FieldError(INVALID, _SELECTOR_PATH, {}, f"empty selector is invalid for {_NAMES[kind]}")
        elif as_selector(selector).match(workload.labels) is not Match.YES:
            yield mismatch


def _read_selector(workload: Workload) -> LabelSelector | None:
    """Return the selector that must match the template; None if there is none, or kube-apiserver has other errors."""
    if workload.kind.kind not in _SELECTING or not isinstance(workload.spec.get("selector"), dict):
        return None
    reader = Reader()
    selector = read_selector(reader, workload.label_selector, ())
    return None if selector is None or reader.errors or any(selector_errors(selector, ())) else selector


def _selector_advice(workload: Workload) -> tuple[str, str]:
    """Return the field to mend where the selector is at fault, and what to write there."""
    selector, labels = _read_selector(workload), workload.labels
    if selector is None or not selector.keys:
        wanted = f"write selector: {in_yaml({'matchLabels': labels})}"
        return path_text(_SELECTOR_PATH), wanted if labels else "give the template labels, and select them here"
    missed = {key: value for key, value in selector.match_labels.items() if labels.get(key) != value}
    written = {key: labels[key] for key in missed if key in labels}
    instead = f", or select {_pairs(written)} in spec.selector" if written else ""
    advice = f"write {_pairs(missed)}{instead}" if missed else "write labels that spec.selector matches"
    return path_text(_labels_path(workload)), advice


def _pairs(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())
