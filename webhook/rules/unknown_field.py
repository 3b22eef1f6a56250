"""unknown-field: a field that the API does not have, beside fields that it has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from webhook.findings.finding import Cause, Edit, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import UNKNOWN_FIELDS, Subject, rule
from webhook.findings.stray_selectors import SELECTOR, stray_selector
from webhook.findings.wording import MOST_LINES
from webhook.kubernetes.fields import FieldPath, as_mapping, path_text, value_at
from webhook.kubernetes.kinds import FIELD
from webhook.kubernetes.likeness import nearest
from webhook.kubernetes.reader import brief
from webhook.kubernetes.workload import MOST_UNKNOWN_FIELDS
from webhook.spread.validation import shown_path, validate

MESSAGE = "is not a field, so it is ignored"
OF_A_CONSTRAINT = 2  # the length of the path of a constraint's own field: the constraint's index, and the field


@rule(
    title="the API has no such field, so it is ignored",
    severity=Severity.WARNING,
    fix="remove the field, or correct its name",
    where=(UNKNOWN_FIELDS,),
    bad="matchLabelKey: [controller-revision-hash]",
    good="matchLabelKeys: [controller-revision-hash]",
)
def unknown_field(subject: Subject) -> Iterator[Cause]:
    """
    The API server drops a field that it does not know, so the field has no effect. kubectl refuses it, but other
    clients may not even warn.

    Only `lint` and `admit` find a field `topologySpreadConstraint` in a Pod's spec, and constraints beside the Pod
    template or in its metadata, because the webhook does not get them. In values of Helm, `lint` reports constraints
    that no template of the chart in the same folder reads.
    """
    workload, right = subject.workload, path_text(subject.workload.path)
    own = workload.kind.operator.own_fields if workload.kind.operator is not None else ()
    for path in workload.misplaced:
        if path[:-1] == workload.path[:-1]:
            yield _misspelt(path, FIELD, workload.pod_spec)
        else:
            message = "is ignored: constraints belong in the Pod's spec"
            yield Cause(path, message, FIELD, right, fix=f"move it to {right}")
    for field in islice(subject.reading.unknown, MOST_LINES):
        name = str(field.path[-1])
        if len(field.path) == OF_A_CONSTRAINT and name in own:
            continue
        path, meant = (*workload.path, *field.path), nearest(name, field.known)
        stray = None
        if meant is None and len(field.path) == OF_A_CONSTRAINT:
            stray = stray_selector(subject, subject.constraints[int(field.path[0])], name)
        if stray is not None:
            wanted = f"{SELECTOR}.{stray.part}"
            yield Cause(path, MESSAGE, brief(name), wanted, fix=stray.fix, edit=stray.edit)
        elif meant is not None:
            cause = _misspelt(path, meant, value_at(workload.raw_constraints, field.path[:-1]))
            yield _unless_refused(cause, subject) if len(field.path) == OF_A_CONSTRAINT else cause
        elif not field.alone and not name.startswith("$"):  # kustomize has fields such as $patch
            yield Cause(path, MESSAGE, brief(name), f"one of {', '.join(sorted(field.known))}")


def _misspelt(path: FieldPath, meant: str, parent: object) -> Cause:
    """Return the cause on the field of `parent` at `path`, which was `meant` to have another name."""
    misspelt, fields, edit = path[-1], as_mapping(parent), None
    if meant not in fields and len(fields) <= MOST_UNKNOWN_FIELDS:
        edit = Edit(path[:-1], {meant if name == misspelt else name: value for name, value in fields.items()})
    fix = f"remove it: {meant} is there, too" if meant in fields else f"write {meant}"
    return Cause(path, MESSAGE, brief(misspelt), meant, fix=fix, edit=edit)


def _unless_refused(cause: Cause, subject: Subject) -> Cause:
    """Return the cause, but with another fix if the API server would refuse the field by its right name."""
    if cause.edit is None:
        return cause
    labels, features, renamed = subject.workload.pods_labels(), subject.features, as_mapping(cause.edit.value)
    pair = Repairs(subject).pairs[int(cause.path[len(subject.workload.path)])]
    # Other fixes may change whenUnsatisfiable, too: minDomains, for one, is refused with ScheduleAnyway.
    repaired = renamed if pair is None else {**renamed, "whenUnsatisfiable": pair.when_unsatisfiable}
    errors = [
        error
        for constraint, merged in ((renamed, True), (renamed, False), (repaired, True))
        for error in validate([constraint], labels, (), merged=merged, features=features)
    ]
    if not any(cause.wanted in shown_path(error) for error in errors):
        return cause
    return cause._replace(fix=f"remove it: the API server refuses {cause.wanted} here", edit=None)
