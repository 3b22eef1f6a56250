"""
Constraints outside an object: in JSON patches, Helm values, and texts within a document.

    [{op: add, path: /…/topologySpreadConstraints/0/maxSkew, value: 0}] ──fragments_in──> Fragment([{maxSkew: 0}])
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evenkeel.admit.dry_run import is_constraint
from evenkeel.lint.chart import Chart
from evenkeel.lint.helm_templates import completed, without_comments
from evenkeel.lint.open_fields import OpenFields
from evenkeel.lint.terms import LintTerms
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.admission.review import WorkloadJudge, review
from webhook.findings.finding import Finding, Severity
from webhook.findings.rule import RuleSetting
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.fields import FieldPath, as_mapping, path_text, pointer_parts, value_at, with_value
from webhook.kubernetes.kinds import EACH, FIELD, Kind, Kinds
from webhook.kubernetes.likeness import nearest
from webhook.kubernetes.workload import Workload, parse_workloads
from webhook.spread.constraint import FIELDS, Reading, read_constraints

_SCHEMA_OF_RESOURCE, _PROPERTIES = "openAPIV3Schema", "properties"  # in a CustomResourceDefinition
_SCHEMA = frozenset({_SCHEMA_OF_RESOURCE, _PROPERTIES})
_PAIR = frozenset({"topologyKey", "whenUnsatisfiable"})
# Fields with values that are wrong whatever the other fields are, and whatever a template reads beside them.
_WRONG_ANYWHERE = frozenset({"maxSkew", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy"})
UNKNOWN_FIELD, INVALID_CONSTRAINT = "unknown-field", "invalid-constraint"
_COLON, _EMPTY = r"""\\?["']?[ \t]*:""", r"[ \t]*(?:\[[ \t]*\]|\{[ \t]*\}|null\b|~)"
_FIELD_WITH_VALUE = re.compile(rf"{FIELD}{_COLON}(?!{_EMPTY})")
_FIELD_IN_TEXT = re.compile(rf"{FIELD}(?!\w)(?!{_COLON}{_EMPTY})")  # also without a value, as in a path
_DESCRIPTION = "description"
_BASE64 = {"Secret": "data", "ConfigMap": "binaryData"}  # the members that a kind encodes
MOST_FRAGMENT_FIELDS = 4  # labelSelector.matchLabels and a key, below the number of the constraint
_CONSTRAINT = ("spec", FIELD, EACH)  # the path of a constraint in a fragment
_FRAGMENT_API_VERSION, _KIND = "evenkeel.dev/v1alpha1", "Fragment"
FRAGMENTS = Kinds((Kind(_FRAGMENT_API_VERSION, _KIND, "", template=None, constraints=_CONSTRAINT[:2], built_in=False),))


class Fragment(NamedTuple):
    """A list of constraints, or what a JSON patch puts into one."""

    path: FieldPath  # of the value in the document
    constraints: Sequence[object]
    inside: FieldPath = ()  # where the value of a JSON patch goes in `constraints`; () if it is the list itself
    values: bool = False  # it is a Helm value, of which a template may make something else

    @property
    def obj(self) -> Mapping[str, object]:
        """An object with these constraints."""
        return {"apiVersion": _FRAGMENT_API_VERSION, "kind": _KIND, "spec": {FIELD: self.constraints}}

    @property
    def workload(self) -> Workload:
        """The same as a workload, with good values for what is missing."""
        (parsed,) = parse_workloads(self.obj, FRAGMENTS)
        return completed(parsed)

    @property
    def stands_for_a_list(self) -> bool:
        """Whether it is one whole constraint in place of the list, without any field but those of the API."""
        if not (self.values and self.inside == (0,) and self.path[-1:] == (FIELD,)):
            return False
        constraint = as_mapping(self.constraints[0])
        return all(map(constraint.get, _PAIR)) and not read_constraints(self.constraints, LATEST).unknown

    def holds(self, finding: Finding) -> bool:
        """Return whether a finding on the workload is about this value, and holds whatever it is merged into."""
        below = finding.path[len(_CONSTRAINT) :]
        if below[: max(len(self.inside) - 1, 0)] != self.inside[1:]:  # it is on a field that the patch does not set
            return False
        return not self.values or self._holds_in_any_chart(finding, below)

    def _holds_in_any_chart(self, finding: Finding, below: FieldPath) -> bool:
        """
        Return whether a finding holds whatever the templates of a chart make of the fields that are there.

        Templates may write a text as a number, and choose among the constraints by fields of their own.
        """
        if not below:
            have_keys = all(isinstance(raw, dict) and raw.keys() >= _PAIR for raw in self.constraints)
            return have_keys and not read_constraints(self.constraints, LATEST).unknown
        path, value = finding.path[2:], value_at(self.obj, finding.path)
        reading = read_constraints(self.constraints, LATEST)
        if self.inside and (value == "" or (self._has_own_fields(reading) and not self._wrong_anywhere(finding))):
            return False
        unknown = {field.path for field in reading.unknown}
        if path in unknown:  # A misspelt field of the API: is its value one for the right name?
            path = (*path[:-1], finding.wanted)
            reading = read_constraints(with_value(self.constraints, path, value), LATEST)
            unknown = {field.path for field in reading.unknown}
        return value is not None and path not in unknown | {error.path for error in reading.mistyped}

    def _has_own_fields(self, reading: Reading) -> bool:
        """Return whether it has fields that the API lacks, and that are no typos of the API's."""
        return any(len(field.path) == 2 and not nearest(str(field.path[1]), field.known) for field in reading.unknown)

    def _wrong_anywhere(self, finding: Finding) -> bool:
        """Return whether a finding on a map with fields of the chart's own is on a value that is wrong anywhere."""
        is_off = as_mapping(self.constraints[0]).get("enabled") is False
        return not is_off and finding.rule == INVALID_CONSTRAINT and finding.path[-1] in _WRONG_ANYWHERE

    def placed(self, path: FieldPath) -> FieldPath:
        """Return the path in the document of a path in the workload."""
        return (*self.path, *path[2 + len(self.inside) :])


class TextWithin(NamedTuple):
    """A text in a document that may hold constraints."""

    path: FieldPath
    text: str
    values: bool = True


def fragments_in(document: object, every_text: bool) -> Iterator[Fragment | TextWithin]:
    """
    Yield the constraints in a document that is no object with a Pod template.

    Texts are those at the field; with `every_text` also all others that name it.
    """
    if _is_json_patch(document):
        for i, operation in enumerate(document if isinstance(document, list) else ()):
            if _is_operation(operation):
                yield from _in_operation(i, operation)
        return
    yield from _in_values(document, (), every_text)


def fragments_of(value: object) -> Iterator[Fragment]:
    """Yield the constraints in a value of the field that stands by itself."""
    for part in _in_values({FIELD: value}, (), every_text=False):
        if isinstance(part, Fragment):
            yield part._replace(path=part.path[1:])


def _in_schema(parts: Sequence[str]) -> bool:
    """Return whether a path leads into the schema of a custom resource, which describes constraints and has none."""
    before = parts[: parts.index(FIELD)] if FIELD in parts else parts
    return not _SCHEMA.isdisjoint(before)


def _is_json_patch(document: object) -> bool:
    """Return whether it is a list with an operation; kustomize itself reports wrong items beside it."""
    return isinstance(document, list) and any(map(_is_operation, document))


def _is_operation(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("op"), str) and isinstance(value.get("path"), str)


def _in_operation(i: int, operation: Mapping[str, object]) -> Iterator[Fragment]:
    if operation["op"] not in ("add", "replace"):
        return
    parts, value = pointer_parts(str(operation["path"])), operation.get("value")
    if _in_schema(parts):
        return
    if FIELD not in parts:
        for fragment in _in_values(value, (i, "value"), every_text=False):
            if isinstance(fragment, Fragment):
                yield fragment._replace(values=False)
        return
    below = parts[parts.index(FIELD) + 1 :]
    # Further down, a number or "-" leads into a list with items that are not known.
    is_known = len(below) <= MOST_FRAGMENT_FIELDS and not any(part == "-" or part.isdigit() for part in below[1:])
    if not below or not is_known:
        yield Fragment((i, "value"), value if not below and isinstance(value, list) else [])
    else:
        constraint = with_value({}, tuple(below[1:]), value)  # with this field alone
        yield Fragment((i, "value"), [constraint], (0, *below[1:]))


def _in_values(document: object, path: FieldPath, every_text: bool) -> Iterator[Fragment | TextWithin]:
    unvisited: list[tuple[FieldPath, object]] = [(path, document)]
    while unvisited:
        above, value = unvisited.pop()
        members: Iterable[tuple[str | int, object]] = ()
        if isinstance(value, dict):
            members = value.items()
        elif isinstance(value, list):
            members = enumerate(value)
        is_below = any(map(is_field, above))
        is_judged = is_below and is_constraint(value)
        for name, member in members:
            if is_judged and name in FIELDS:
                continue
            member_path: FieldPath = (*above, name)
            in_field = is_below or is_field(name)
            if isinstance(member, list) and (is_field(name) or (in_field and any(map(is_constraint, member)))):
                yield Fragment(member_path, member, values=True)
            elif in_field and is_constraint(member) and not isinstance(value, list):
                yield Fragment(member_path, [member], (0,), values=True)
            if isinstance(member, str):
                may_hold = every_text or (name != _DESCRIPTION and has_constraints(member))
                if is_field(name) or (FIELD in member and may_hold):
                    yield TextWithin(member_path, member)
            elif isinstance(member, dict | list):
                unvisited.append((member_path, member))


def is_field(name: str | int) -> bool:
    """Return whether a key is the field, or ends in it with dots, as helm-unittest sets values."""
    return name == FIELD or (isinstance(name, str) and name.endswith(f".{FIELD}"))


def findings_on(
    fragment: Fragment, terms: LintTerms, unsettled: OpenFields, judging: WorkloadJudge
) -> Iterator[tuple[Finding, Finding]]:
    """Yield each finding that holds: on `fragment.workload`, and with its path in the document."""
    request = AdmissionRequest.of(fragment.obj, phase=VALIDATE, kinds=FRAGMENTS, namespace="")
    for finding in review(request._replace(workloads=(fragment.workload,)), terms, judging).findings:
        # Helm values have whole constraints, which are merged into no others.
        complete = fragment.values and len(finding.path) == len(_CONSTRAINT)
        held = (unsettled._replace(patch=False) if complete else unsettled).holding(finding, fragment.obj)
        if held is not None and fragment.holds(held):
            held = held._replace(edit=None)
            yield held, held._replace(path=fragment.placed(held.path))
    if fragment.stands_for_a_list and (terms.chart is None or terms.chart.takes_lists):
        yield from _unlisted(fragment, request, terms, judging)


def _unlisted(
    fragment: Fragment, request: AdmissionRequest, terms: LintTerms, judging: WorkloadJudge
) -> Iterator[tuple[Finding, Finding]]:
    """Yield the finding on a constraint where a list belongs; at most a warning: a template may make a list of it."""
    workload = replace(fragment.workload, raw_constraints=fragment.constraints[0])
    for finding in review(request._replace(workloads=(workload,)), terms, judging).findings:
        if finding.path == workload.path:
            milder = max(finding.severity, Severity.WARNING, key=lambda severity: severity.rank)
            yield finding, finding._replace(severity=milder, path=fragment.path, edit=None)


def has_constraints(text: str, field: re.Pattern[str] = _FIELD_WITH_VALUE) -> bool:
    """Return whether a text has the field outside comments, and not only with an empty value."""
    return FIELD in text and field.search(without_comments(text)) is not None


def names_field(value: object, is_object: bool = True) -> bool:
    """
    Return whether a text, or a key with a value, names the field; a text outside an object only with a value.

    Schemas and descriptions only describe it, and JSON patches that remove or test it bring no constraints.
    """
    unvisited, in_text = [value], _FIELD_IN_TEXT if is_object else _FIELD_WITH_VALUE
    while unvisited:
        value = unvisited.pop()
        if isinstance(value, list):
            unvisited += value
        elif isinstance(value, str) and has_constraints(value, in_text):
            return True
        elif isinstance(value, dict) and not (_is_operation(value) and _adds_nothing(value)):
            for name, member in value.items():
                if name in (_SCHEMA_OF_RESOURCE, _DESCRIPTION) or member in (None, "", [], {}):
                    continue
                if has_constraints(str(name), _FIELD_IN_TEXT):
                    return True
                is_schema = name == _PROPERTIES and isinstance(member, dict) and isinstance(member.get(FIELD), dict)
                unvisited.append({**member, FIELD: None} if is_schema else member)
    return False


def _adds_nothing(operation: Mapping[str, object]) -> bool:
    return operation["op"] not in ("add", "replace") or _in_schema(pointer_parts(str(operation["path"])))


def decoded(obj: Mapping[str, object]) -> Mapping[str, object]:
    """Return an object with the texts that it holds as base64."""
    name = _BASE64.get(str(obj.get("kind")), "")
    encoded = obj.get(name)
    if not isinstance(encoded, dict):
        return obj
    return {**obj, name: {key: _from_base64(value) for key, value in encoded.items()}}


def _from_base64(value: object) -> object:
    """Return the text, or the value itself if it is not base64."""
    try:
        return base64.b64decode(value).decode("utf-8", "replace") if isinstance(value, str) else value
    except ValueError:
        return value


def unread_by(chart: Chart | None, parts: Iterable[Fragment | TextWithin]) -> Sequence[FieldPath]:
    """
    Return the paths of those values that no template of the chart reads.

    A file of another tool has values of other charts below a field: fleet.yaml, helmfile.yaml and devspace.yaml below
    `values`, kustomization.yaml below `valuesInline`.  A file with a list at the top has no values.
    """
    in_field = (part.path for part in parts if part.values and FIELD in part.path)
    paths = dict.fromkeys(path[: path.index(FIELD) + 1] for path in in_field)
    own = (path for path in paths if isinstance(path[0], str) and not any(map(_is_for_another_chart, path)))
    return [path for path in own if chart is not None and not chart.reads(path)]


def _is_for_another_chart(name: str | int) -> bool:
    return str(name) in ("values", "valuesInline")


def unread_value(path: FieldPath, setting: RuleSetting) -> Finding:
    """Return the finding on a value that no template of its chart reads."""
    value = f".Values.{path_text(path)}"
    return Finding(
        rule=UNKNOWN_FIELD,
        severity=setting.severity,
        path=path,
        message=f"no template of the chart reads {value}, so it has no effect",
        found=value,
        wanted="a value that a template reads",
        fix="write it where a template reads it, or remove it",
        help=setting.help,
        notice=setting.notice,
    )
