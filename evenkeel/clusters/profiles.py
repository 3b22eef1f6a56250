"""Reads the profiles of kube-scheduler."""

from __future__ import annotations

from pathlib import Path

from evenkeel.scheduler.configured_profiles import parse_profiles
from evenkeel.scheduler.profile import USUAL_PROFILES, Profiles
from webhook.cli.options import text
from webhook.cli.usage import UsageError
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.kubernetes.features import Features
from webhook.policy.scheduler_configuration import unserved


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
