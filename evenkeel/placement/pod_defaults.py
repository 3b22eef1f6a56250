"""The constraints that new Pods are given: those of a policy, as the webhook gives them, or those of the newest Pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenkeel.placement.inferred_defaults import DefaultsOf, given_defaults
from evenkeel.placement.subject import PlacementSubject
from evenkeel.scheduler.snapshot import Snapshot
from webhook.admission.defaulting import exempt
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.references import ObjectKey
from webhook.kubernetes.workload import parse_workloads
from webhook.policy.defaults import SuitedDefaults, suited_defaults
from webhook.policy.policy import AUDIT, Policy


def defaults_in_force(
    policy: Policy | None, pods: Sequence[Raw], others: Mapping[ObjectKey, Raw], snapshot: Snapshot
) -> DefaultsOf:
    """Return a function that gives new Pods constraints: those of the policy or, without one, of the newest Pods."""
    if policy is None:
        return given_defaults(pods, others)

    def of_policy(subject: PlacementSubject) -> list[dict[str, object]] | None:
        return [dict(constraint) for constraint in suited(subject, policy, snapshot).constraints] or None

    return of_policy


def suited(subject: PlacementSubject, policy: Policy, snapshot: Snapshot) -> SuitedDefaults:
    """Return those of the policy's constraints that the webhook would give a new Pod."""
    workload = next(iter(parse_workloads(subject.raw, policy.kinds)), None)
    if workload is None:  # an object of the kind Pod, but of another API
        return SuitedDefaults(())
    in_force = policy.in_force(workload, snapshot.namespaces.get(subject.ref.namespace))
    if in_force.defaulting is None or in_force.defaulting_mode == AUDIT or exempt(workload, in_force) is not None:
        return SuitedDefaults(())
    return suited_defaults(in_force.defaulting, workload, snapshot)
