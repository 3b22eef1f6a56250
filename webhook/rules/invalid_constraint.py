"""invalid-constraint: everything that kube-apiserver rejects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from webhook.findings.finding import Cause, Edit, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import Nature, Subject, rule
from webhook.findings.wording import MOST_LINES
from webhook.kubernetes.fields import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    TYPE_INVALID,
    FieldError,
    FieldPath,
)
from webhook.kubernetes.labels import label_key_errors, label_value_errors, wanted_instead
from webhook.kubernetes.likeness import nearest
from webhook.kubernetes.reader import brief
from webhook.spread.constraint import ACTIONS, FIELDS, HARD, POLICIES, Constraint
from webhook.spread.selectors import OPERATORS
from webhook.spread.validation import IN_BOTH, REPEATED, errors_in, on_stored_pod, shown_path, validate


@rule(
    title="the API server rejects the constraint, or the Pods made from it",
    severity=Severity.ERROR,
    fix="set the field to what the API server accepts",
    where=(Nature.REJECTED,),
    cel="""
    request.kind.kind == 'Pod' || variables.constraints.all(c, c.?matchLabelKeys.orValue([]).all(k,
      !(k in variables.labels || k in variables.added || k in variables.given)
      || !(k in c.?labelSelector.?matchLabels.orValue({}))
      && !c.?labelSelector.?matchExpressions.orValue([]).exists(e, e.key == k)
      && c.matchLabelKeys.filter(other, other == k).size() == 1))
    """,
    bad="maxSkew: 0",
    good="maxSkew: 1",
)
def invalid_constraint(subject: Subject) -> Iterator[Cause]:
    """
    The API server rejects such a Pod or built-in workload. But it does not check Pod templates in custom resources.
    Since 1.34, it also accepts a template that has one key in both matchLabelKeys and labelSelector. Then every Pod
    fails when a controller creates it, and whoever applied the object does not see it.
    """
    repairs = Repairs(subject)
    for error in islice(_errors(subject), MOST_LINES):
        yield _cause(error, subject, repairs)


def _errors(subject: Subject) -> Iterator[FieldError]:
    workload, merges = subject.workload, subject.reading.merges
    features = on_stored_pod(subject.features) if workload.stored else subject.features
    # The API server merges the matchLabelKeys of a new Pod only.
    merged = workload.stored or not workload.is_pod or not merges
    if merged and features is subject.features:
        errors = errors_in(subject.reading, workload.path)  # which the reading keeps
    else:
        raw, labels, path = workload.raw_constraints, workload.labels, workload.path
        errors = validate(raw, labels, path, merged=merged, features=features)
    for error in errors:
        if workload.labels_known or not _may_be_filled_in(error, subject):
            yield error
    if not workload.is_pod and workload.labels_known and merges:
        yield from _errors_of_its_pods(subject)


_FILLED_IN = frozenset({"maxSkew", "topologyKey", "whenUnsatisfiable"})


def _may_be_filled_in(error: FieldError, subject: Subject) -> bool:
    """Return whether the error is about an absent field that an operator may fill in."""
    operator, field = subject.workload.kind.operator, error.path[-1]
    if error.type == FORBIDDEN and field == "matchLabelKeys":
        return operator is None or operator.may_fill("labelSelector") or bool(operator.own_fields)
    if operator is None:
        return False
    # The detail "can only use minDomains if …, not X" ends without an X if whenUnsatisfiable is absent.
    about = "whenUnsatisfiable" if field == "minDomains" and error.detail.endswith("not ") else str(field)
    absent = about != field or error.value in (0, "")
    return absent and about in _FILLED_IN and operator.may_fill(about)


def _errors_of_its_pods(subject: Subject) -> Iterator[FieldError]:
    """Yield the errors that its Pods have and the template does not: after the merge, a key may be in both."""
    workload, own = subject.workload, errors_in(subject.reading, subject.workload.path)
    own_paths = {shown_path(error) for error in own if error.detail == IN_BOTH}
    labels = workload.pods_labels()
    of_pods = validate(workload.raw_constraints, labels, workload.path, merged=False, features=subject.features)
    yield from (error for error in of_pods if error.detail == IN_BOTH and shown_path(error) not in own_paths)


class Repair(NamedTuple):
    """What a finding says of an error of the API server."""

    message: str  # what must hold
    wanted: str
    fix: str


LABEL_KEY, LABEL_VALUE = "label key", "label value"
_ACTION, _POLICY_WORDS, _OPERATOR = (
    f"{', '.join(words[:-1])} or {words[-1]}" for words in (ACTIONS, POLICIES, OPERATORS)
)
_OF_POLICY = Repair(f"must be {_POLICY_WORDS}", _POLICY_WORDS, f"remove the field, or set it to {_POLICY_WORDS}")
# By the type of the error, and its field.  Errors in labels have LABEL_KEY or LABEL_VALUE for the field, and those of a
# wrong type have the right type.
REMEDIES: dict[tuple[str, str], Repair] = {
    (INVALID, "maxSkew"): Repair(
        "must be greater than zero", "1 or more", "set maxSkew to 1, or to the difference you can accept"
    ),
    (REQUIRED, "topologyKey"): Repair(
        "must not be empty", "a node label key", "set it to topology.kubernetes.io/zone or kubernetes.io/hostname"
    ),
    (NOT_SUPPORTED, "whenUnsatisfiable"): Repair(f"must be {_ACTION}", _ACTION, f"set it to {_ACTION}"),
    (INVALID, "minDomains"): Repair(
        "must be greater than zero", "1 or more", "remove minDomains, or set it to 1 or more"
    ),
    (FORBIDDEN, "minDomains"): Repair(
        f"is allowed only with whenUnsatisfiable: {HARD}",
        f"minDomains only with {HARD}",
        f"remove minDomains, or set whenUnsatisfiable to {HARD}",
    ),
    (NOT_SUPPORTED, "nodeAffinityPolicy"): _OF_POLICY,
    (NOT_SUPPORTED, "nodeTaintsPolicy"): _OF_POLICY,
    (FORBIDDEN, "matchLabelKeys"): Repair(
        "must not be set without a labelSelector",
        "no matchLabelKeys, or a labelSelector",
        "add a labelSelector, or remove matchLabelKeys",
    ),
    (DUPLICATE, "matchLabelKeys"): Repair(
        "this key is also in labelSelector, so the API server rejects the Pod",
        "each key once",
        "remove the key from matchLabelKeys or from labelSelector",
    ),
    (INVALID, "operator"): Repair(f"must be {_OPERATOR}", _OPERATOR, f"set it to {_OPERATOR}"),
    (REQUIRED, "values"): Repair(
        "must not be empty with the operator In or NotIn",
        "one value or more",
        "add the values, or set operator to Exists or DoesNotExist",
    ),
    (FORBIDDEN, "values"): Repair(
        "must be empty with the operator Exists or DoesNotExist",
        "no values",
        "remove the values, or set operator to In or NotIn",
    ),
    (INVALID, LABEL_KEY): Repair(
        "must be a valid label key",
        "a label key",
        "write a label key, or remove it",
    ),
    (INVALID, LABEL_VALUE): Repair(
        "must be a valid label value",
        "a label value",
        "write a label value, or remove it",
    ),
    (DUPLICATE, REPEATED): Repair(
        "must differ in topologyKey or whenUnsatisfiable",
        "each pair of topologyKey and whenUnsatisfiable once",
        "remove one of the two, or set another topologyKey or whenUnsatisfiable",
    ),
    (TYPE_INVALID, "a 32-bit integer"): Repair(
        "must be a 32-bit integer", "a whole number up to 2147483647", "write such a number, without quotes"
    ),
    (TYPE_INVALID, "a string"): Repair("must be a string", "a string", "write text; put a number in quotes"),
    (TYPE_INVALID, "an object"): Repair("must be an object", "an object", "write fields, each as name: value"),
    (TYPE_INVALID, "an array"): Repair("must be an array", "an array", "write a list, each item after a dash"),
}
_ALLOWED_WORDS: dict[str, tuple[str, ...]] = {
    "nodeAffinityPolicy": POLICIES,
    "nodeTaintsPolicy": POLICIES,
    "operator": OPERATORS,
}


def _cause(error: FieldError, subject: Subject, repairs: Repairs) -> Cause:
    path, value = shown_path(error), _found(error)
    type_, what = _classified(error)
    message, wanted, fix = REMEDIES[type_, what]
    edit: Edit | None = None
    if what == REPEATED:
        message, value = _repeated(int(path[-1]), subject)
    elif what == "matchLabelKeys" and type_ == DUPLICATE and _is_twice(path, subject):
        message, fix = "this key is twice in matchLabelKeys, so the API server rejects the Pod", "remove the key"
        wanted = "each key once"
    elif type_ == DUPLICATE:
        how = "merges the two, then rejects" if subject.features.selector_merge else "rejects"
        wanted += f": the API server {how} the Pod"
    elif what in (LABEL_KEY, LABEL_VALUE):
        wanted += f": {wanted_instead(error.detail)}"
        fix = f"write {wanted}, or remove it"
        stripped, errors_of = str(error.value).strip(), label_key_errors if what == LABEL_KEY else label_value_errors
        if path[-2] == "matchLabelKeys" and not repairs.label_keys(_constraint(path, subject))[int(path[-1])]:
            fix = "remove the key"
        elif stripped and not errors_of(stripped):
            fix = f"write {stripped}, without the spaces around it"
            edit = Edit(path, stripped) if path[-1] != "matchLabels" else None
    elif what == "whenUnsatisfiable":
        fix, edit = repairs.of_invalid_mode(_constraint(path, subject))
    elif what == "minDomains":
        fix = repairs.of_min_domains(_constraint(path, subject), fix)
    elif (type_, what) == (REQUIRED, "topologyKey"):
        fix = repairs.of_absent_key(_constraint(path, subject))
    elif path == subject.workload.path and isinstance(error.value, dict) and error.value:
        fix = _as_list(error.value, fix)
    elif what in _ALLOWED_WORDS and (meant := nearest(str(error.value), _ALLOWED_WORDS[what])):
        fix, edit = f"write {meant}", Edit(path, meant)
    return Cause(path, message, value, wanted, fix, edit, extents=(0,))


def _as_list(written: Mapping[str, object], fix: str) -> str:
    """Return how to make a list of a constraint, or of constraints by name; `fix` for anything else."""
    first_field = str(next(iter(written)))
    if first_field in FIELDS:
        return f'put "- " before {first_field}, so that it is a list'
    by_name = all(isinstance(value, dict) and not FIELDS.isdisjoint(value) for value in written.values())
    if not by_name or not first_field.replace("-", "").isalnum():
        return fix
    if len(written) == 1:
        return f"replace `{first_field}:` by a dash, so that it is a list"
    return f"replace `{first_field}:` and each name after it by a dash, so that it is a list"


def _constraint(path: FieldPath, subject: Subject) -> Constraint:
    """Return the constraint that has the field at `path`."""
    return subject.constraints[int(path[len(subject.workload.path)])]


def _is_twice(path: FieldPath, subject: Subject) -> bool:
    """Return whether the matchLabelKeys themselves repeat the key at `path`."""
    constraint = _constraint(path, subject)
    keys, selector = constraint.match_label_keys, constraint.label_selector
    key = keys[int(path[-1])]
    return keys.count(key) > 1 and selector is not None and key not in selector.keys


_TYPE_WORDS: dict[type, str] = {str: "string", list: "array", dict: "object"}


def _found(error: FieldError) -> str:
    if error.value not in ("", [], {}):
        return brief(error.value)
    return f"an empty {_TYPE_WORDS[type(error.value)]}" if error.type == TYPE_INVALID else "nothing"


def _classified(error: FieldError) -> tuple[str, str]:
    """Return the key of an error in REMEDIES; upstream gives several faults one type, so the detail decides."""
    field = next((part for part in reversed(error.path) if isinstance(part, str)), "")
    if error.type == TYPE_INVALID:
        return TYPE_INVALID, error.detail.removeprefix("must be ")
    if error.detail == IN_BOTH:
        return DUPLICATE, "matchLabelKeys"
    if error.type != INVALID or field in ("maxSkew", "operator"):
        return error.type, field
    if field == "minDomains":
        return FORBIDDEN if error.detail.startswith("can only") else INVALID, field
    return INVALID, LABEL_VALUE if error.detail.startswith(("must be no more", "a valid label must")) else LABEL_KEY


def _repeated(index: int, subject: Subject) -> tuple[str, str]:
    """Return the message on a constraint that repeats the pair of another one, and what was found."""
    pairs = [(written.topology_key, written.when_unsatisfiable) for written in subject.reading.written]
    other = max(i for i, pair in enumerate(pairs) if pair == pairs[index])
    key, action = pairs[index]
    value = f"{brief(key) if key else 'no topologyKey'} with {brief(action) if action else 'no whenUnsatisfiable'}"
    return f"constraints {index} and {other} must differ in topologyKey or whenUnsatisfiable", f"{value} in both"
