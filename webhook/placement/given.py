"""The constraints that evenkeel has given Pods: of a workload, those of its newest Pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webhook.objects.fields import as_list, as_mapping, texts_at, value_at
from webhook.objects.names import DEFAULTED_BY_ANNOTATION
from webhook.objects.references import Key, ObjectRef
from webhook.placement.subject import CONSTRAINTS, Raw, maker_of


def is_defaulted(pod: Raw | None) -> bool:
    """Whether evenkeel has given a Pod its constraints."""
    return DEFAULTED_BY_ANNOTATION in as_mapping(value_at(pod, ("metadata", "annotations")))


def given_defaults(
    workload: ObjectRef | None, pods: Iterable[Raw], others: Mapping[Key, Raw]
) -> list[dict[str, object]] | None:
    """
    The constraints, without selectors, that evenkeel gave the newest Pod of a workload.

    They are the best that is known of the policy in force.  None if it has no Pod, if the newest was given none, or for
    no workload; `others` holds what owns Pods.
    """
    if workload is None:
        return None
    made_by = ((pod, maker_of(pod, others)) for pod in pods)
    of_workload = (pod for pod, maker in made_by if maker is not None and maker.key == workload.key)
    newest = max(of_workload, key=_age, default=None)
    if not is_defaulted(newest):
        return None
    given = map(as_mapping, as_list(value_at(newest, CONSTRAINTS)))
    return [{name: value for name, value in one.items() if name != "labelSelector"} for one in given]


def _age(pod: Raw) -> tuple[str, ...]:
    return tuple(texts_at(pod, "metadata.creationTimestamp", "metadata.name"))
