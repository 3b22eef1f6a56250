"""unknown-field: a field that the API does not have, beside fields that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import UNKNOWN_FIELDS, Subject, rule
from webhook.objects.fields import path_text
from webhook.objects.kinds import FIELD
from webhook.objects.reading import brief
from webhook.rules.misspelt_topology_key import within

MOST_CAUSES = 100
OF_A_CONSTRAINT = 2  # The length of the path of a constraint's own field: its index and its name.


@rule(
    title="a field is none that the API has, so it is ignored",
    severity=Severity.WARNING,
    fix="remove the field, or correct its name",
    looks_for=(UNKNOWN_FIELDS,),
    operators_too=True,
    bad="""
    apiVersion: v1
    kind: Pod
    metadata: {name: web, labels: {app: web, version: v2}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKey: [version]
    """,
    good="""
    apiVersion: v1
    kind: Pod
    metadata: {name: web, labels: {app: web, version: v2}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [version]
    """,
)
def unknown_field(subject: Subject) -> Iterator[Cause]:
    """
    The API server drops a field that it does not know, so what was meant by it does not hold.  kubectl refuses such a
    field; other clients may not even warn of it.

    Constraints that stand beside the Pod template, or in its metadata, are dropped as a whole.
    """
    workload, right = subject.workload, path_text(subject.workload.path)
    own = workload.kind.operator.own_fields if workload.kind.operator is not None else ()
    for path in workload.misplaced:
        yield Cause(path, "is ignored: constraints stand in the Pod's spec", FIELD, right, fix=f"move it to {right}")
    for field in islice(subject.reading.unknown, MOST_CAUSES):
        name, message = str(field.path[-1]), "is no field, and ignored"
        if len(field.path) == OF_A_CONSTRAINT and name in own:
            continue
        path, meant = (*workload.path, *field.path), _meant(name, field.known)
        if meant is not None:
            yield Cause(path, f"{message}: did you mean {meant}?", brief(name), meant, fix=f"write {meant}")
        elif not field.alone and not name.startswith("$"):  # as kustomize's $patch does
            yield Cause(path, message, brief(name), f"one of {', '.join(sorted(field.known))}")


def _meant(name: str, known: Iterable[str]) -> str | None:
    return next((each for each in sorted(known) if within(2, name.lower(), each.lower())), None)
