"""idle-switch: a label or annotation of evenkeel that does nothing."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import islice

from webhook.findings.finding import UNUSED_SUPPRESSION, Cause, Severity
from webhook.findings.rule import LOOKS_AT_SWITCHES, RULES, Nature, Subject, rule
from webhook.findings.wording import MOST_WARNINGS
from webhook.kubernetes.fields import FieldPath, path_text
from webhook.kubernetes.kinds import NAMESPACE
from webhook.kubernetes.likeness import nearest
from webhook.kubernetes.names import IGNORE_ANNOTATION, SKIP_LABEL
from webhook.kubernetes.reader import brief
from webhook.kubernetes.workload import Workload, ignored

ON, OFF = "true", "false"
NAMESPACE_LABELS: FieldPath = ("metadata", "labels")


@rule(
    title="a label or annotation of evenkeel does nothing",
    severity=Severity.WARNING,
    fix="move it to where it counts, or remove it",
    where=(LOOKS_AT_SWITCHES, Nature.ADVICE),
    bad='metadata: {name: web, annotations: {evenkeel.dev/skip: "true"}}',
    good='labels: {app: web, evenkeel.dev/skip: "true"}',
)
def idle_switch(subject: Subject) -> Iterator[Cause]:
    """
    evenkeel has two switches: the annotation `evenkeel.dev/ignore` with ids of rules, on an object or on its Pod
    template, and the label `evenkeel.dev/skip: "true"` on a Pod or a Namespace. With another name, with another value
    or in another place they have no effect, and Kubernetes does not warn about it.

    The webhook finds this only in objects that it gets: by default, objects with constraints.
    """
    for path, value in islice(subject.workload.switches, MOST_WARNINGS):
        name = str(path[-1])
        if _is_on_pods_too(path, value, subject.workload):
            continue
        if name == IGNORE_ANNOTATION and subject.workload.kind is NAMESPACE:
            fix = f'remove it; to exempt the namespace, give it the label {SKIP_LABEL}: "{ON}"'
            yield Cause(path, "does nothing on a Namespace", "a Namespace", "a workload", fix=fix)
        elif name == IGNORE_ANNOTATION:
            yield from _ignoring(path, value, subject.enforced)
        elif name == SKIP_LABEL:
            yield from _skipping(path, value, subject.workload)
        elif (meant := nearest(name, (IGNORE_ANNOTATION, SKIP_LABEL))) is not None:
            yield Cause(path, "does nothing under this name", brief(name), meant, fix=f"write {meant}")


def _is_on_pods_too(path: FieldPath, value: object, workload: Workload) -> bool:
    """
    Return whether it is a label of the object that its Pod template has, too; there it is judged.

    upstream: SetDefaults_Job and SetDefaults_ReplicationController copy the labels of the template to the object.
    """
    of_object = path[:-1] == ("metadata", "labels") and workload.in_template and not workload.is_pod
    return of_object and workload.labels.get(str(path[-1])) == value


def _ignoring(path: FieldPath, value: object, enforced: Set[str]) -> Iterator[Cause]:
    if path[-2] != "annotations":
        right, message = path_text((*path[:-2], "annotations")), "does nothing as a label: it must be an annotation"
        yield Cause(path, message, "a label", right, fix=f"move it to {right}")
        return
    rule_ids = ignored(value if isinstance(value, str) else None)
    for rule_id in sorted(rule_ids & enforced)[:MOST_WARNINGS]:
        message = f"cannot switch off {rule_id}: the policy enforces it"
        yield Cause(
            path, message, rule_id, "rules that are not enforced", fix=f"remove {rule_id}, and fix what the rule finds"
        )
    unknown = rule_ids - {*RULES, UNUSED_SUPPRESSION}
    for rule_id in sorted(unknown)[:MOST_WARNINGS]:
        meant, message = nearest(rule_id, RULES), f"there is no rule {brief(rule_id, 40)[1:-1]}"
        if meant is None:
            yield Cause(path, message, brief(rule_id), "ids that evenkeel rules lists", fix=f"remove {brief(rule_id)}")
        else:
            yield Cause(path, message, brief(rule_id), meant, fix=f"write {meant}")


def _skipping(path: FieldPath, value: object, workload: Workload) -> Iterator[Cause]:
    if workload.kind is NAMESPACE:
        right_labels, so_that = NAMESPACE_LABELS, "so that evenkeel passes over the namespace"
    else:
        right_labels = (*workload.path[:-2], "metadata", "labels") if workload.in_template else ()
        so_that = "so that the Pods get no default constraints"
    if path[:-1] == right_labels:
        if value not in (ON, OFF):
            fix = f'write "{ON}", with the quotes, or remove it'
            yield Cause(path, f'does nothing: only the value "{ON}" works', brief(value), f'"{ON}"', fix=fix)
    elif path[-2] != "labels":
        right = path_text(right_labels) or "the labels of the Pods"
        fix = f"move it to {right}, {so_that}"
        yield Cause(path, "does nothing as an annotation: it must be a label", "an annotation", right, fix=fix)
    elif workload.kind.built_in and workload.labels.get(SKIP_LABEL) != ON:  # An operator may hand its labels on.
        right, kind = path_text(right_labels), workload.kind.kind
        fix = f"move it to {right}, {so_that}"
        yield Cause(
            path, f"does nothing on a {kind}: it must be a label of its Pods", f"a label of the {kind}", right, fix
        )
