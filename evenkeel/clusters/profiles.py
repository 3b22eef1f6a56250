"""The profiles of kube-scheduler: those of a file, or those that a cloud is assumed to have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evenkeel.scheduler.configured_profiles import parse_profiles
from evenkeel.scheduler.profile import USUAL_PROFILE, USUAL_PROFILES, Profiles
from webhook.cli.options import text
from webhook.cli.usage import UsageError
from webhook.findings.wording import LINE_LIMIT, number_of, one_line
from webhook.kubernetes.features import Features
from webhook.kubernetes.names import AKS_LABELS, ZONE
from webhook.policy.scheduler_configuration import unserved
from webhook.spread.default_constraints import SYSTEM_DEFAULTS
from webhook.spread.known_taints import FARGATE
from webhook.spread.nodes import Nodes, union

AKS_MINOR = 33  # Since then AKS has another default (Azure/AKS#4664).
AKS_ASSUMED = (
    f"Assumed, because most nodes have labels of AKS: kube-scheduler's default constraint on {ZONE} has maxSkew 1 "
    "(Azure/AKS#4664), and that on kubernetes.io/hostname is the usual one. If you have set others, give them with "
    "--scheduler-config."
)
# AKS publishes only maxSkew of the zone, and not how it is set: all else is as with kube-scheduler's own defaults.
AKS_PROFILE = replace(
    USUAL_PROFILE,
    defaults=tuple([{**item, "maxSkew": 1} if item["topologyKey"] == ZONE else item for item in SYSTEM_DEFAULTS]),
    assumed=AKS_ASSUMED,
)


OPENSHIFT_LABEL = "node.openshift.io/os_id"


def notes_on_clouds(nodes: Nodes) -> Iterator[str]:
    """Yield what the clouds of these nodes do to Pods besides what a policy says."""
    key, value = FARGATE
    if is_of_aks(nodes):
        yield (
            f"nodes are of AKS: from 1.{AKS_MINOR} on, kube-scheduler's own default on zones is assumed to have "
            "maxSkew 1 (Azure/AKS#4664); with Deployment Safeguards enforced, workloads get a soft constraint on "
            "nodes, and so no defaults"
        )
    if on_fargate := nodes.domains(key).get(value, 0):
        number = number_of(on_fargate.bit_count(), "node is", "nodes are")
        yield f"{number} of EKS Fargate, which ignores constraints: neither those of Pods nor defaults spread its Pods"
    if nodes.carrying(OPENSHIFT_LABEL):
        yield (
            "nodes are of OpenShift: with the profile NoScoring in the Scheduler cluster, soft constraints, defaults "
            "among them, do nothing; with HighNodeUtilization, full nodes score best"
        )


def load_profiles(path: Path | None) -> Profiles:
    """Return the scheduler's profiles in a KubeSchedulerConfiguration, or the default one."""
    if path is None:
        return USUAL_PROFILES
    parsed, causes = parse_profiles(text(path))
    if causes:
        raise UsageError("\n".join(f"{path}: {one_line(cause, LINE_LIMIT)}" for cause in causes))
    return parsed


def check_served(profiles: Profiles, path: Path | None, features: Features) -> None:
    """Raise UsageError if kube-scheduler of this version does not start with the configuration that they are from."""
    for cause in {unserved(profile.api_version, features) for profile in profiles.values()} - {""}:
        raise UsageError(f"{path}: {cause}")


def profiles_in(nodes: Nodes, path: Path | None, profiles: Profiles, features: Features) -> Profiles:
    """Return the profiles that were read from `path`, or without one those that a cluster is assumed to have."""
    check_served(profiles, path, features)
    return {AKS_PROFILE.name: AKS_PROFILE} if path is None and has_aks_defaults(nodes, features) else profiles


def has_aks_defaults(nodes: Nodes, features: Features) -> bool:
    """Return whether nodes are of AKS, in a version whose default constraints differ from kube-scheduler's own."""
    return features.minor >= AKS_MINOR and is_of_aks(nodes)


def is_of_aks(nodes: Nodes) -> bool:
    """Return whether most nodes have labels of AKS; virtual nodes, and those that others attach, have none."""
    return 2 * union(map(nodes.carrying, AKS_LABELS)).bit_count() > nodes.all.bit_count()
