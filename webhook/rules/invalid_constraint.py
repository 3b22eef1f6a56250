"""invalid-constraint: everything that kube-apiserver rejects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Subject, rule
from webhook.objects.fields import FORBIDDEN, FieldError
from webhook.objects.reading import brief
from webhook.scheduler.constraint import ACTIONS, POLICIES
from webhook.scheduler.features import Features
from webhook.scheduler.selectors import OPERATORS
from webhook.scheduler.validation import IN_BOTH, NOT_REPEATED, errors_in, on_stored_pod, shown_path, validate

MOST_CAUSES = 100


@rule(
    title="the API server rejects the constraint, or the Pods made from it",
    severity=Severity.ERROR,
    fix="correct the field",
    operators_too=True,
    rejected_by_api_server=True,
    defaults_keep=True,
    bad="""
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 3
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          topologySpreadConstraints:
          - maxSkew: 0
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: web}}
            matchLabelKeys: [pod-template-hash]
    """,
    good="""
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 3
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: web}}
            matchLabelKeys: [pod-template-hash]
    """,
)
def invalid_constraint(subject: Subject) -> Iterator[Cause]:
    """
    The API server rejects such a Pod when it is created, and such a built-in workload when it is applied.

    It does not check the Pod templates of custom resources.  And since 1.34 it accepts a template that has one key in
    both matchLabelKeys and labelSelector, but rejects every Pod that is made from it.  Both fail only when a controller
    creates the Pods, and whoever applied the object does not see it.
    """
    for error in islice(_errors(subject), MOST_CAUSES):
        yield _cause(error, subject.features)


def _errors(subject: Subject) -> Iterator[FieldError]:
    workload, merges = subject.workload, subject.reading.merges
    features = on_stored_pod(subject.features) if workload.stored else subject.features
    as_stands = workload.stored or not workload.is_pod or not merges
    if as_stands and features is subject.features:
        own = errors_in(subject.reading, workload.path)
    else:
        raw, labels, path = workload.raw_constraints, workload.labels, workload.path
        own = validate(raw, labels, path, merged=as_stands, features=features)
    for error in own:
        if workload.labels_known or not _may_be_filled_in(error, subject):
            yield error
    if not workload.is_pod and workload.labels_known and merges:
        yield from _errors_of_its_pods(subject)


def _may_be_filled_in(error: FieldError, subject: Subject) -> bool:
    """Whether the error is in a field that is absent, or about one, and an operator may fill that in."""
    operator, field = subject.workload.kind.operator, error.path[-1]
    if error.type == FORBIDDEN and field == "matchLabelKeys":
        return operator is None or operator.may_fill("labelSelector") or bool(operator.own_fields)
    if operator is None:
        return False
    about = "whenUnsatisfiable" if field == "minDomains" and error.detail.endswith("not ") else str(field)
    absent = about != field or error.value in (0, "")
    return absent and about in _FILLED_IN and operator.may_fill(about)


_FILLED_IN = frozenset({"maxSkew", "topologyKey", "whenUnsatisfiable"})


def _errors_of_its_pods(subject: Subject) -> Iterator[FieldError]:
    """The errors that the API server reports for the Pods, but not for the template: a key in both, after the merge."""
    workload, own = subject.workload, errors_in(subject.reading, subject.workload.path)
    known = {shown_path(error) for error in own if error.detail == IN_BOTH}
    labels = workload.pods_labels()
    of_pods = validate(workload.raw_constraints, labels, workload.path, merged=False, features=subject.features)
    yield from (error for error in of_pods if error.detail == IN_BOTH and shown_path(error) not in known)


def _cause(error: FieldError, features: Features) -> Cause:
    path, found = shown_path(error), brief(error.value)
    if error.detail == IN_BOTH:
        message = "must name a key only once, here or in labelSelector"
        how = "merges the two, then rejects" if features.selector_merge else "rejects"
        wanted = f"each key once: the API server {how} the Pod"
        return Cause(path, message, found, wanted, fix="remove the key from matchLabelKeys or from labelSelector")
    field, message = error.path[-1], error.detail or NOT_REPEATED
    if not error.detail:
        found = str(error.value)
    if field == "minDomains" and not message.startswith("can only"):
        return Cause(path, message, found, "1 or more", "remove minDomains, or set it to 1 or more")
    return Cause(path, message, found, *_REMEDIES.get(field, (_wanted(error), None)))


_REMEDIES: dict[str | int, tuple[str, str | None]] = {
    "maxSkew": ("1 or more", "set maxSkew to 1, or to the difference you can accept"),
    "topologyKey": ("a node label key", "set it to topology.kubernetes.io/zone or kubernetes.io/hostname"),
    "whenUnsatisfiable": (" or ".join(ACTIONS), f"set it to one of {' and '.join(ACTIONS)}"),
    "minDomains": (
        "minDomains only with DoNotSchedule",
        "remove minDomains, or set whenUnsatisfiable to DoNotSchedule",
    ),
    "nodeAffinityPolicy": (" or ".join(POLICIES), "remove the field, or set it to one of the two"),
    "nodeTaintsPolicy": (" or ".join(POLICIES), "remove the field, or set it to one of the two"),
    "matchLabelKeys": ("none, or a labelSelector beside them", "add a labelSelector, or remove matchLabelKeys"),
    "operator": (" or ".join(OPERATORS), "set one of the four operators"),
    "{topologyKey, whenUnsatisfiable}": ("each pair once", "merge the two constraints into one"),
}


def _wanted(error: FieldError) -> str:
    if error.detail.startswith("must be a") or error.path[-1] == "values":
        return error.detail.removeprefix("must be ")
    return "a valid label key" if error.path[-1] == "key" else "a valid label"
