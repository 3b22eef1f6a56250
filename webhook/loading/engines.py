"""Which engine judges objects: the webhook, policies that the API server evaluates, or both."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
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
        help="what judges: the webhook, ValidatingAdmissionPolicies in the API server, or both (default: %(default)s)",
    )


def to_export(
    engine: str,
    where: object,
    policy: Policy,
    features: Features,
    excluded: Sequence[str] = (),
    instead: str = BOTH,
) -> Export:
    """
    Return what of a policy holds today, to be written in CEL; `where` is its file, or its field.

    `instead` is the engine of the command that does what CEL cannot.  UsageError names all that, unless a webhook
    beside the policies does it.
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
    lost = dict.fromkeys(() if export.beside_webhook else not_carried(export), instead)
    lost |= dict.fromkeys(unanswerable(export), WEBHOOK)
    if lost:
        lines = (f"{where}: {line}; remove this setting, or use {ENGINE} {able}" for line, able in lost.items())
        raise UsageError("\n".join(lines))
    return export
