"""
Workloads of files beside those of the cluster: which are applied, and which of these change anything.

    objects of files, cluster ──without the API's defaults, of what a dump holds──> as they are stored, or changed
"""

from __future__ import annotations

from collections.abc import Sequence

from evenkeel.clusters.known_cluster import Known
from evenkeel.clusters.reduction import only_read
from evenkeel.objects.autoscalers import scalings_of
from evenkeel.objects.workload_object import read_workload_object
from evenkeel.simulate.controllers import JOB
from evenkeel.simulate.planning import is_simulated
from webhook.cli.usage import UsageError
from webhook.kubernetes.fields import Raw, as_mapping, value_at
from webhook.kubernetes.kinds import JOB_LABELS
from webhook.kubernetes.labels import labels_in
from webhook.kubernetes.references import ObjectRef

HOOKS = ("helm.sh/hook", "argocd.argoproj.io/hook")  # Annotations of Helm and Argo CD.
COMPARED = ("template", "selector", "podManagementPolicy", "serviceName")  # A change of the last three is refused.
# What the API server fills in, by the name of the field, wherever in the spec it is: a dump has it, a file seldom.
API_DEFAULTS = {
    "podManagementPolicy": "OrderedReady",
    "schedulerName": "default-scheduler",
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "protocol": "TCP",
    "nodeAffinityPolicy": "Honor",
    "nodeTaintsPolicy": "Ignore",
}


def is_applied(raw: Raw) -> bool:
    """Return whether a workload of a file is applied and simulated: not a hook, which its tool recreates."""
    annotations = as_mapping(value_at(raw, ("metadata", "annotations")))
    return is_simulated(raw) and annotations.keys().isdisjoint(HOOKS)


def check_namespaces(written: Sequence[Raw], files: Sequence[Raw], known: Known) -> None:
    """
    Raise UsageError for a workload that the cluster has in another namespace only: it would be simulated as a new one.

    `written`: the workloads as the files have them.
    `files`: the same workloads, with the default namespace where they have none.
    """
    for raw, obj in zip(written, files, strict=True):
        ref = ObjectRef.of(obj)
        if not is_applied(obj) or ObjectRef.of(raw).namespace or ref.key in known.replaced:
            continue
        same_name = [key for key in known.others if (key.group, key.kind, key.name) == (ref.group, ref.kind, ref.name)]
        if others := sorted(key.namespace for key in same_name if key.namespace != ref.namespace):
            names = ", ".join(others)
            raise UsageError(f"{ref}: has no namespace in the file, and is in {names} in the cluster; add -n NAMESPACE")


def is_as_stored(ref: ObjectRef, known: Known, files: Sequence[Raw]) -> bool:
    """
    Return whether a workload of the files has the same template and replicas as in the cluster.

    Only the fields that a dump holds are compared.  Replicas are not compared where an autoscaler sets them, unless an
    autoscaler of the files changes them.
    """
    raw, stored = known.others[ref.key], known.replaced.get(ref.key)
    if stored is None:
        return False
    (new, replicas), (old, stored_replicas) = (_template_and_replicas(workload) for workload in (raw, stored))
    number = read_workload_object(stored).replicas or 0
    if any(scaling.bounded(number) != number for _, scaling in scalings_of(ref, files)):
        return False
    return new == old and (replicas in (None, stored_replicas) or any(scalings_of(ref, known.others.values())))


def check_job(ref: ObjectRef, known: Known) -> None:
    """Raise UsageError for a Job of a file with another template than the cluster's: the API server refuses it."""
    raw, stored = known.others[ref.key], known.replaced.get(ref.key)
    if ref.kind == JOB and stored is not None and _template_and_replicas(raw)[0] != _template_and_replicas(stored)[0]:
        immutable = "found another template than in the cluster, wanted the same: field is immutable"
        raise UsageError(f"{ref}: spec.template: {immutable}; delete the Job first, or give it another name")


def _template_and_replicas(raw: Raw) -> tuple[object, object]:
    """Return what a change is told by; for a Job without the selector and labels that the API server adds."""
    spec = as_mapping(only_read(raw).get("spec"))
    if ObjectRef.of(raw).kind == JOB:
        template = as_mapping(spec.get("template"))
        labels = {key: value for key, value in labels_in(template).items() if key not in JOB_LABELS}
        metadata = {**as_mapping(template.get("metadata")), "labels": labels}
        spec = {**spec, "selector": None, "template": {**template, "metadata": metadata}}
    return _without_defaults({name: spec.get(name) for name in COMPARED}), spec.get("replicas", spec.get("parallelism"))


def _without_defaults(value: object) -> object:
    """Return a Pod template without fields that have the API's default, or are empty."""
    if isinstance(value, dict):
        items = {key: _without_defaults(item) for key, item in value.items() if item != API_DEFAULTS.get(key)}
        return {key: item for key, item in items.items() if item not in (None, {}, [])}
    return [_without_defaults(item) for item in value] if isinstance(value, list) else value
