"""What a command may write for an engine: what CEL cannot do stops it, unless a webhook does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.build import policy
from webhook.loading.engines import BOTH, POLICY, to_export
from webhook.loading.usage import UsageError
from webhook.scheduler.features import LATEST, features

FILE = Path("policy.yaml")
ENDING = {"name": "b", "podSelector": {"matchLabels": {"tier": "b"}}, "until": "2999-01-31"}
ENDED = ENDING | {"name": "a", "until": "2020-01-31"}
BY_LABEL = {"name": "c", "podSelector": {"matchLabels": {"pod-template-hash": "x"}}}


def refusal(engine, minor=LATEST.minor, **fields):
    with pytest.raises(UsageError) as raised:
        to_export(engine, FILE, policy(**fields), features(minor))
    return str(raised.value)


def test_an_older_kubernetes_is_refused():
    assert refusal(BOTH, 35).startswith(
        "--engine both: found Kubernetes 1.35, wanted 1.36 or newer: an older kube-apiserver"
    )


def test_an_override_that_has_ended_is_left_out():
    export = to_export(BOTH, FILE, policy(overrides=[ENDED, ENDING]), LATEST)

    assert ["b"] == [override.name for override in export.policy.overrides]
    assert export.beside_webhook


def test_each_line_says_which_engine_can_do_it():
    ending, by_label = sorted(refusal(POLICY, overrides=[ENDING, BY_LABEL]).splitlines())

    assert (
        "policy.yaml: override b: until: CEL cannot know the date; remove this setting, or use --engine both" == ending
    )
    assert by_label.startswith("policy.yaml: override c: podSelector: CEL cannot see the label pod-template-hash")
    assert by_label.endswith("; remove this setting, or use --engine webhook")
    assert by_label == refusal(BOTH, overrides=[ENDING, BY_LABEL])
