"""Reads the profiles of kube-scheduler."""

from __future__ import annotations

from pathlib import Path

from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.loading.options import text
from webhook.loading.usage import UsageError
from webhook.scheduler.configured_profiles import parse_profiles
from webhook.scheduler.profile import USUAL_PROFILES, Profiles


def load_profiles(path: Path | None) -> Profiles:
    """Return the scheduler's profiles in a KubeSchedulerConfiguration, or the default one."""
    if path is None:
        return USUAL_PROFILES
    parsed, causes = parse_profiles(text(path))
    if causes:
        raise UsageError("\n".join(f"{path}: {one_line(cause, LINE_LIMIT)}" for cause in causes))
    return parsed
