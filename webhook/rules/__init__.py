"""
The rules: what one is, what it finds, and how all of them are run over a workload.

    Workload ──> Subject ──each rule──> Cause ──severity, at most one per field──> Report(findings, skipped)

One rule is one file beside this one: a function decorated with @rule.  Adding the file is the whole change.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from inspect import cleandoc

from webhook.scheduler.constraint import Constraint, parse
from webhook.scheduler.features import Features
from webhook.scheduler.fields import FieldPath, path_text
from webhook.scheduler.snapshot import Snapshot
from webhook.workload import Workload

TOPOLOGY_LABELS = frozenset({"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})
MOST_LABELS_COPIED = 20
INVALID_CONSTRAINT = "invalid-constraint"


class Severity(StrEnum):
    """What a finding does: an error denies, a warning warns, info shows in lint and reports."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    IGNORE = "ignore"

    @property
    def rank(self) -> int:
        """0 is the gravest."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Edit:
    """A repair where there is exactly one right answer: `value` goes to `path`."""

    path: FieldPath
    value: object


@dataclass(frozen=True, slots=True)
class Cause:
    """What a rule yields: `message` says what must hold; `at_most` lowers the severity, never raises it."""

    path: FieldPath
    message: str
    found: str
    wanted: str
    fix: str | None = None
    edit: Edit | None = None
    at_most: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause, with the rule that found it and the severity that the policy gives it."""

    rule: str
    severity: Severity
    path: FieldPath
    message: str
    found: str
    wanted: str
    fix: str
    edit: Edit | None = None
    enforced: bool = False

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {self.message} ({self.rule})"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not be run, and why."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """What a policy says of one rule; `parameters` are complete, defaults filled in."""

    severity: Severity
    enforced: bool = False
    parameters: Mapping[str, object] = field(default_factory=dict)


Settings = Mapping[str, Setting]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a rule may look at, and nothing else; `addable` are the labels that a controller may still add."""

    workload: Workload
    constraints: tuple[Constraint, ...]
    addable: frozenset[str]
    features: Features
    snapshot: Snapshot | None
    parameters: Mapping[str, object]

    def at(self, constraint: Constraint, *names: str | int) -> FieldPath:
        """The path of a constraint's field in the object."""
        return (*self.workload.path, constraint.index, *names)

    def keys(self, name: str) -> frozenset[str]:
        """A parameter that is a list of strings."""
        found = self.parameters.get(name)
        return frozenset(key for key in found if isinstance(key, str)) if isinstance(found, list) else frozenset()

    def number(self, name: str) -> int:
        """A parameter that is an integer."""
        found = self.parameters.get(name)
        return found if isinstance(found, int) else 0

    def carries(self, key: str) -> bool:
        """Whether a Pod has a label of this key, or may have, before it is scheduled."""
        return key in self.workload.labels or key in self.workload.addable

    @property
    def merges(self) -> bool:
        """Whether there is anything that the API server merges into a selector."""
        return any(constraint.match_label_keys for constraint in self.constraints)

    @property
    def own_selector(self) -> dict[str, str]:
        """
        The labels of the workload's own selector, where it is a plain one that matches its Pods; else empty.

        A Job's is not its author's to write: the API server makes it up, of a uid.
        """
        raw, labels = self.workload.selector, self.workload.labels
        match_labels = raw.get("matchLabels")
        if not isinstance(match_labels, dict) or len(raw) > 1 or len(match_labels) > MOST_LABELS_COPIED:
            return {}
        made_up = self.workload.addable & match_labels.keys()
        return match_labels if match_labels.items() <= labels.items() and not made_up else {}

    def copy_own_selector(self, path: FieldPath) -> tuple[str | None, Edit | None]:
        """The way out, in words and as an edit, that writes the workload's own selector to `path`."""
        own = self.own_selector
        labels = ", ".join(f"{key}: {value}" for key, value in own.items())
        edit = Edit(path, {"matchLabels": own}) if own else None
        return (f"write labelSelector: {{matchLabels: {{{labels}}}}}" if own else None), edit


@dataclass(frozen=True, slots=True)
class Rule:
    """
    One rule.  `needs` names what it cannot do without: "nodes".  Of the `required` parameters one must be given;
    `example` has those under which the bad example is bad.

    `yields_to` is the rule whose finding is shown where both find the same field.  Only rules that are
    `operators_too` look at constraints outside a Pod template of which no labels are known: operators fill in the rest.
    """

    id: str
    title: str
    severity: Severity
    fix: str
    rationale: str
    bad: str
    good: str
    parameters: Mapping[str, Mapping[str, object]]
    required: tuple[str, ...]
    example: Mapping[str, object]
    needs: tuple[str, ...]
    needs_constraints: bool
    yields_to: str | None
    operators_too: bool
    check: Callable[[Subject], Iterable[Cause]]

    def setting(
        self, severity: Severity | None = None, enforced: bool = False, parameters: Mapping[str, object] | None = None
    ) -> Setting:
        """A setting of this rule, with the defaults of what is not given."""
        defaults = {name: schema["default"] for name, schema in self.parameters.items() if "default" in schema}
        return Setting(self.severity if severity is None else severity, enforced, {**defaults, **(parameters or {})})


RULES: dict[str, Rule] = {}


def rule(
    *,
    title: str,
    severity: Severity,
    fix: str,
    bad: str,
    good: str,
    parameters: Mapping[str, Mapping[str, object]] | None = None,
    required: tuple[str, ...] = (),
    example: Mapping[str, object] | None = None,
    needs: tuple[str, ...] = (),
    needs_constraints: bool = True,
    yields_to: str | None = None,
    operators_too: bool = False,
) -> Callable[[Callable[[Subject], Iterable[Cause]]], Callable[[Subject], Iterable[Cause]]]:
    """Make a rule of a function: its name is the id, its docstring the rationale, `parameters` their JSON schemas."""

    def register(check: Callable[[Subject], Iterable[Cause]]) -> Callable[[Subject], Iterable[Cause]]:
        rule_id, rationale = check.__name__.replace("_", "-"), cleandoc(check.__doc__ or "")
        if rule_id in RULES or not rationale:
            raise TypeError(f"rule {rule_id}: must have a rationale and an id of its own")
        RULES[rule_id] = Rule(
            id=rule_id,
            title=title,
            severity=severity,
            fix=fix,
            rationale=rationale,
            bad=f"{cleandoc(bad)}\n",
            good=f"{cleandoc(good)}\n",
            parameters=parameters or {},
            required=required,
            example=example or {},
            needs=needs,
            needs_constraints=needs_constraints,
            yields_to=yields_to,
            operators_too=operators_too,
            check=check,
        )
        return check

    return register


def evaluate(workload: Workload, settings: Settings, snapshot: Snapshot | None, features: Features) -> Report:
    """
    The findings on `workload`, at most one rule's per field, in the order of the fields.

    The annotation `evenkeel.dev/ignore` silences what is not enforced.  A rule that cannot be run is reported as
    skipped, never passed over in silence.
    """
    found = find_all(workload, settings, snapshot, features)
    return replace(found, findings=_one_per_field(found.findings, len(workload.path) + 2)) if found.findings else found


def find_all(workload: Workload, settings: Settings, snapshot: Snapshot | None, features: Features) -> Report:
    """Like `evaluate`, with all findings on a field."""
    constraints = parse(workload.raw_constraints, workload.labels, features)
    addable = workload.addable | (TOPOLOGY_LABELS if features.topology_labels else frozenset())
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    bare = Subject(workload, constraints, addable, features, snapshot, {})
    for one in RULES.values() if workload.has_constraints else WITHOUT_CONSTRAINTS:
        setting = settings[one.id]
        if setting.severity is Severity.IGNORE or (one.id in workload.ignored_rules and not setting.enforced):
            continue
        if reason := _missing(one, workload, snapshot):
            skipped.append(Skipped(one.id, reason))
            continue
        subject = replace(bare, parameters=setting.parameters) if setting.parameters else bare
        findings += (_finding(one, setting, cause) for cause in one.check(subject))
    return Report(tuple(findings), tuple(skipped))


def _missing(one: Rule, workload: Workload, snapshot: Snapshot | None) -> str | None:
    if not one.operators_too and not workload.labels_known:
        return "the labels of its Pods are not known: name their path in the policy's workloads"
    if "nodes" in one.needs and (snapshot is None or not snapshot.nodes):
        return "needs the nodes of a cluster"
    return None


def _finding(one: Rule, setting: Setting, cause: Cause) -> Finding:
    severity = max(setting.severity, cause.at_most, key=lambda severity: severity.rank)
    fix = cause.fix or one.fix
    return Finding(
        one.id, severity, cause.path, cause.message, cause.found, cause.wanted, fix, cause.edit, setting.enforced
    )


def _one_per_field(findings: Sequence[Finding], field_length: int) -> tuple[Finding, ...]:
    """
    What the API server itself rejects silences the rest on that field of a constraint, however deep in it it lies.

    Else the gravest stays.  What is enforced is never silenced by what is not.
    """
    rejected = [f.path for f in findings if f.rule == INVALID_CONSTRAINT]
    invalid = {path[:end] for path in rejected for end in (*range(field_length, len(path)), len(path))}
    shown: dict[tuple[FieldPath, bool], str] = {}
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda f: (f.severity.rank, not f.enforced, _depth(f.rule), f.rule)):
        at, above = (finding.path, finding.enforced), shown.get((finding.path, True), finding.rule)
        silenced = not finding.enforced and (finding.path in invalid or above != finding.rule)
        if finding.rule == INVALID_CONSTRAINT or (not silenced and shown.setdefault(at, finding.rule) == finding.rule):
            kept.append(finding)
    return tuple(sorted(kept, key=lambda f: _order(f.path)))


def _depth(rule_id: str) -> int:
    above = RULES[rule_id].yields_to
    return 0 if above is None else 1 + _depth(above)


def _order(path: FieldPath) -> tuple[tuple[int, str], ...]:
    return tuple((part, "") if isinstance(part, int) else (-1, part) for part in path)


for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
RULES = dict(sorted(RULES.items()))
WITHOUT_CONSTRAINTS = tuple(one for one in RULES.values() if not one.needs_constraints)
DEFAULT_SETTINGS: Settings = {rule_id: one.setting() for rule_id, one in RULES.items()}
