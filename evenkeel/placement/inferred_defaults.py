"""The constraints that evenkeel gives Pods without any, inferred from what the newest Pod of a workload was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from evenkeel.objects.pod_object import PodObject, read_pod
from evenkeel.placement.subject import PlacementSubject, maker_of
from webhook.kubernetes.fields import Raw, as_list, as_mapping
from webhook.kubernetes.references import ObjectKey

# Returns the constraints that a Pod without any is given when it is created; None for those of kube-scheduler.
DefaultsOf = Callable[[PlacementSubject], Sequence[dict[str, object]] | None]


def none_given(subject: PlacementSubject) -> None:
    """Give a Pod without constraints only those of kube-scheduler."""


def newest_pods(pods: Iterable[PodObject], others: Mapping[ObjectKey, Raw]) -> Mapping[ObjectKey, PodObject]:
    """Return the newest Pod of each workload; `others` holds what owns Pods."""
    newest: dict[ObjectKey, PodObject] = {}
    for pod in pods:
        if (maker := maker_of(pod, others)) is not None:
            newest[maker.key] = max(newest.get(maker.key, pod), pod, key=lambda candidate: candidate.age)
    return newest


def given_defaults(pods: Iterable[Raw], others: Mapping[ObjectKey, Raw]) -> DefaultsOf:
    """
    Return a function that gives the next Pod of a workload the constraints that evenkeel gave its newest Pod.

    That is the best guess at the policy in force.  They have no selectors.  None if the workload has no Pod, its newest
    Pod was given none, or nothing made the Pod.  `others` holds what owns Pods.
    """
    newest = newest_pods(map(read_pod, pods), others)

    def defaults_of(subject: PlacementSubject) -> list[dict[str, object]] | None:
        pod = newest.get(subject.made_by.key) if subject.made_by is not None else None
        if pod is None or not pod.defaulted:
            return None
        constraints = map(as_mapping, as_list(pod.constraints))
        return [
            {name: value for name, value in constraint.items() if name != "labelSelector"} for constraint in constraints
        ]

    return defaults_of
