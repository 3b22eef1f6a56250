"""Which engine judges objects: the webhook, policies that the API server evaluates, or both."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from webhook.loading import inputs
from webhook.loading.usage import UsageError
from webhook.policy.policy import Policy
from webhook.scheduler.features import Features

if TYPE_CHECKING:
    from webhook.manifests.acting import Export

ENGINE = "--engine"
ENGINES = WEBHOOK, POLICY, BOTH = "webhook", "policy", "both"


def add_engine_argument(parser: argparse.ArgumentParser) -> None:
    """Add --engine."""
    parser.add_argument(
        ENGINE,
        choices=ENGINES,
        default=WEBHOOK,
        help="who judges: the webhook, the API server by ValidatingAdmissionPolicies, or both (default: %(default)s)",
    )


def to_export(
    engine: str, file: Path | None, policy: Policy, features: Features, excluded: Sequence[str] = ()
) -> Export:
    """
    Return what of the policy in a file holds today, to be written in CEL.

    UsageError names all that CEL cannot do, unless a webhook beside it does it.
    """
    # With all rules in CEL, which the other engine does not need.
    from webhook.manifests.acting import Export
    from webhook.manifests.admission_policies import VARIABLES_SINCE, WHY_SINCE
    from webhook.manifests.carrying import not_carried, unanswerable

    if features.minor < VARIABLES_SINCE:
        raise UsageError(
            f"{ENGINE} {engine}: found Kubernetes 1.{features.minor}, wanted 1.{VARIABLES_SINCE} or newer: "
            f"{WHY_SINCE}; use {ENGINE} {WEBHOOK}"
        )
    export = Export(policy.on(inputs.today()), features, excluded, beside_webhook=engine == BOTH)
    if lost := not_carried(export):
        needed = {line: WEBHOOK if line in unanswerable(export) else BOTH for line in lost}
        lines = (f"{file}: {line}; leave it out, or use {ENGINE} {other}" for line, other in needed.items())
        raise UsageError("\n".join(lines))
    return export
