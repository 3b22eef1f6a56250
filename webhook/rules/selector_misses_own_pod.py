"""selector-misses-own-pod: a selector that does not match the labels of its own Pod."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from webhook.findings.finding import Cause, Edit, Severity
from webhook.findings.rule import MOST_LABELS_COPIED, Need, Subject, in_yaml, rule
from webhook.kubernetes.kinds import JOB_LABELS
from webhook.kubernetes.names import TOPOLOGY_LABELS
from webhook.kubernetes.reader import brief
from webhook.spread.constraint import Constraint
from webhook.spread.selectors import Match, Selector

# CEL that is true if the selector of `c` matches the Pods, or may once a controller or binding has added labels.
_OWN_VALUE = "variables.labels[?{0}].or(variables.given[?{0}])"
_ADDABLE = f"({{0}} in variables.carried || features.topology_labels && {{0}} in {sorted(TOPOLOGY_LABELS)})"
COUNTS_OWN_PODS = f"""
  c.?labelSelector.?matchLabels.orValue({{}}).all(k,
    {_OWN_VALUE.format("k")}.optMap(v, v == c.labelSelector.matchLabels[k]).orValue({_ADDABLE.format("k")}))
  && c.?labelSelector.?matchExpressions.orValue([]).all(e, {_OWN_VALUE.format("e.key")}.optMap(v,
    e.operator == 'Exists' || e.operator != 'DoesNotExist' && (v in e.values) == (e.operator == 'In')
  ).orValue(e.operator == 'DoesNotExist'
    ? !(e.key in variables.added)
    : e.operator == 'NotIn' || {_ADDABLE.format("e.key")}))"""


@rule(
    title="labelSelector does not match the Pod's own labels",
    severity=Severity.WARNING,
    fix="select labels that the Pod itself carries",
    where=(Need.GIVEN_LABELS,),
    cel=f"variables.constraints.all(c, {COUNTS_OWN_PODS})",
    bad="labelSelector: {matchLabels: {app: wbe}}",
    good="labelSelector: {matchLabels: {app: web}}",
)
def selector_misses_own_pod(subject: Subject) -> Iterator[Cause]:
    """
    The scheduler counts only Pods that the selector matches. If the selector does not match its own Pod, all replicas
    may run in one domain.

    A selector that names the job-name of a CronJob's Job, or a controller-uid, matches no Pod: the name ends in the
    time at which the Job is due, and the uid is created with the Job. In an operator's custom resource, evenkeel knows
    only the labels that `evenkeel kinds` lists, and reports a selector that asks for another value.
    """
    added = _added(subject)
    for constraint in subject.constraints:
        selector = constraint.selector
        if selector.empty or selector.matches_nothing:
            continue
        addable = subject.addable if subject.workload.labels_known else selector.keys
        labels = subject.workload.labels
        if selector.match(labels, addable, added) is not Match.NO:
            continue
        missed = Selector(
            tuple([part for part in selector.requirements if part.match(labels, addable, added) is Match.NO])
        )
        path, written = subject.at(constraint, "labelSelector"), str(missed)
        # Only the author knows what the expressions are for, so they are not replaced.
        has_expressions = constraint.label_selector is not None and constraint.label_selector.match_expressions
        fix, edit = (None, None) if has_expressions else _selecting_own(subject, constraint)
        shown = _shown(subject, missed)
        if asked := _asked_of_template(subject):
            fix, edit = f"give the Pod template {asked}, as spec.selector asks: the API server requires it", None
        if subject.workload.kind.kind == "CronJob" and not selector.keys.isdisjoint(JOB_LABELS):
            fix = "select labels of the Pod template, and add matchLabelKeys: [job-name]"
        yield Cause(
            path,
            f"selects {brief(written, 50)}, but its Pods have {shown}: they are not counted",
            found=brief(written, 50),
            wanted=f"a selector that matches {shown}" if labels else "a selector that matches its Pods",
            fix=fix,
            edit=edit,
        )


def _added(subject: Subject) -> tuple[str, ...]:
    """Return the label keys that every Pod gets; a Job with a selector of its own does not add any."""
    return tuple([key for key in subject.workload.kind.added_labels if key in subject.addable])


def _selecting_own(subject: Subject, constraint: Constraint) -> tuple[str | None, Edit | None]:
    """Return the fix that selects the Pods by their own labels or the operator's, in words and as an edit."""
    if subject.workload.labels_known or constraint.label_selector is None:
        return subject.copy_own_selector(constraint)
    written, labels = constraint.label_selector.match_labels, subject.workload.labels
    if len(written) > MOST_LABELS_COPIED or labels.keys().isdisjoint(written):
        return None, None
    right = {"matchLabels": {key: labels.get(key, value) for key, value in written.items()}}
    return f"write labelSelector: {in_yaml(right)}", Edit(subject.at(constraint, "labelSelector"), right)


def _asked_of_template(subject: Subject) -> str:
    """Return the labels by which spec.selector misses the Pod template, so that the API server refuses the object."""
    workload, selector = subject.workload, subject.workload_selector
    if not workload.labels_known or selector.match(workload.labels, subject.addable) is not Match.NO:
        return ""
    asked = [requirement for requirement in selector.requirements if not requirement.matches(workload.labels)]
    return brief(",".join(map(str, asked)), 50)[1:-1]


def _value_shown(key: str, value: str) -> str:
    """Return the value of a label, or UID for the uid of a Job, which nobody knows when they write a selector."""
    return "UID" if key in JOB_LABELS and key.endswith("-uid") else value


def _shown(subject: Subject, selector: Selector) -> str:
    """Return the Pod's labels with the keys of the selector; if it has none of these, the first of its labels."""
    labels = subject.workload.labels
    selected = {key: labels[key] for key in selector.keys if key in labels}
    shown = sorted(islice((selected or labels).items(), 10))
    return brief(",".join(f"{key}={_value_shown(key, value)}" for key, value in shown), 50) if shown else "no labels"
