"""The same for the profile of a KubeSchedulerConfiguration: its plugins, weights and arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from evenkeel.scheduler.configured_profiles import parse_profiles
from tests.conformance import profile
from tests.conformance.cases import Difference, IllFormed
from webhook.kubernetes.features import Features
from webhook.kubernetes.names import DEFAULT_SCHEDULER

RECORDED = "configured.jsonl.gz"


def differences(case: Mapping[str, object], features: Features) -> Iterator[Difference]:
    """Those of mode profile; IllFormed where the configuration cannot be read."""
    profiles, causes = parse_profiles(json.dumps(case.get("configuration")))
    if causes:
        raise IllFormed(f"configuration: {causes[0]}")
    yield from profile.differences(case, features, profiles[DEFAULT_SCHEDULER])
