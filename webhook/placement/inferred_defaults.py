"""The constraints that evenkeel gives Pods without any: of a workload, those that its newest Pod was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from webhook.objects.fields import as_list, as_mapping, texts_at, value_at
from webhook.objects.kinds import CONSTRAINTS_PATH
from webhook.objects.names import DEFAULTED_BY_ANNOTATION
from webhook.objects.references import ObjectKey
from webhook.placement.subject import PlacementSubject, Raw, maker_of

# The constraints that a Pod without any is given as it is made; None for those of kube-scheduler.
Defaults = Callable[[PlacementSubject], Sequence[dict[str, object]] | None]


def is_defaulted(pod: Raw | None) -> bool:
    """Whether evenkeel has given a Pod its constraints."""
    return DEFAULTED_BY_ANNOTATION in as_mapping(value_at(pod, ("metadata", "annotations")))


def none_given(subject: PlacementSubject) -> None:
    """For a Pod without constraints, only those of kube-scheduler."""


def given_defaults(pods: Iterable[Raw], others: Mapping[ObjectKey, Raw]) -> Defaults:
    """
    For the next Pod of a workload, the constraints, without selectors, that evenkeel gave its newest Pod.

    They are the best that is known of the policy in force.  None if it has no Pod, if the newest was given none, or for
    no workload; `others` holds what owns Pods.
    """
    newest: dict[ObjectKey, Raw] = {}
    for pod in pods:
        if (maker := maker_of(pod, others)) is not None:
            newest[maker.key] = max(newest.get(maker.key, pod), pod, key=_age)

    def given(subject: PlacementSubject) -> list[dict[str, object]] | None:
        pod = newest.get(subject.made_by.key) if subject.made_by is not None else None
        if not is_defaulted(pod):
            return None
        constraints = map(as_mapping, as_list(value_at(pod, CONSTRAINTS_PATH)))
        return [{name: value for name, value in one.items() if name != "labelSelector"} for one in constraints]

    return given


def _age(pod: Raw) -> tuple[str, ...]:
    return tuple(texts_at(pod, "metadata.creationTimestamp", "metadata.name"))
