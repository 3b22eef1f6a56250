"""What kube-scheduler is told of a policy's default constraints, what it cannot be told, and how a copy differs."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from evenkeel.policy.export import configuration as exported
from evenkeel.policy.export import differences, losses
from evenkeel.scheduler.configured_profiles import parse_profiles
from tests.policy.test_translation import HARD, SOFT, configuration, listed, policy, profile
from webhook.policy.parsing import built_in, parse_policy

SYSTEM = {"defaultingType": "System"}
FOR_BATCH = {"name": "batch", "schedulerName": "batch", "defaulting": listed(HARD)}
FOR_SOME = {"name": "some", "podSelector": {"matchLabels": {"a": "b"}}, "defaulting": SYSTEM}
POLICIES = {
    "as built in": policy(),
    "System": policy(defaulting=SYSTEM),
    "a list": policy(defaulting=listed(SOFT, HARD)),
    "an empty list": policy(defaulting=listed()),
    "of another scheduler": policy(overrides=[FOR_BATCH]),
    "of one scheduler twice": policy(overrides=[{**FOR_BATCH, "name": "all", "defaulting": SYSTEM}, FOR_BATCH]),
    "matchLabelKeys": policy(defaulting=listed({**SOFT, "matchLabelKeys": ["pod-template-hash"]})),
}


@pytest.mark.parametrize("policy_text", POLICIES.values(), ids=[*POLICIES])
def test_what_is_exported_is_what_kube_scheduler_takes_and_no_other(policy_text):
    made = json.dumps(exported(parse_policy(policy_text)))

    assert () == parse_profiles(made)[1]
    assert [] == list(differences(parse_policy(policy_text), parse_policy(made)))


def test_a_policy_without_defaults_leaves_kube_scheduler_its_own():
    nothing = parse_policy(POLICIES["an empty list"])
    off = parse_policy(configuration(profile(listed())))

    assert {"default-scheduler": SYSTEM} == args(POLICIES["an empty list"])
    assert ["profiles[0] (default-scheduler): PodTopologySpread: defaultingType: found List, wanted System"] == list(
        differences(nothing, off)
    )


def args(policy_text):
    """What is told of PodTopologySpread, by schedulerName."""
    profiles = exported(parse_policy(policy_text))["profiles"]
    return {one["schedulerName"]: one["pluginConfig"][0]["args"] for one in profiles}


def test_each_scheduler_that_is_named_has_its_profile_and_the_first_override_that_matches_counts():
    both = policy(defaulting=listed(SOFT), overrides=[FOR_SOME, FOR_BATCH])

    assert {"default-scheduler": listed(SOFT), "batch": listed(HARD)} == args(both)
    assert SYSTEM == args(POLICIES["of one scheduler twice"])["batch"]
    some_of_batch = {**FOR_SOME, "schedulerName": "batch"}
    assert listed(HARD) == args(policy(defaulting=listed(SOFT), overrides=[some_of_batch, FOR_BATCH]))["batch"]
    assert {"default-scheduler": listed(SOFT)} == args(policy(defaulting=listed(SOFT), overrides=[FOR_SOME]))
    assert {"default-scheduler": listed(SOFT)} == args(policy(defaulting=listed(SOFT), overrides=[some_of_batch]))
    assert {"default-scheduler": listed(SOFT)} == args(POLICIES["matchLabelKeys"])


class Loss(NamedTuple):
    text: str
    said: list[str]


@pytest.mark.parametrize(
    "loss",
    [
        Loss(policy(defaulting=SYSTEM), []),
        Loss(policy(defaulting=listed(SOFT), overrides=[FOR_BATCH]), []),
        Loss(
            policy(
                defaulting=listed(SOFT),
                overrides=[FOR_SOME, {**FOR_SOME, "name": "as all", "defaulting": listed(SOFT)}],
            ),
            ["overrides[0] (some): left out: kube-scheduler cannot select Pods by podSelector"],
        ),
        Loss(
            policy(defaulting=listed(SOFT), overrides=[{"name": "a", "podSelector": {"matchLabels": {"a": "b"}}}]), []
        ),
        Loss(
            policy(
                defaulting=listed(SOFT),
                overrides=[{**FOR_SOME, "schedulerName": "batch", "defaulting": listed(HARD)}, FOR_BATCH],
            ),
            [],
        ),
        Loss(
            policy(
                defaulting=listed(SOFT),
                overrides=[
                    {**FOR_SOME, "defaulting": listed(HARD)},
                    {**FOR_BATCH, "schedulerName": "default-scheduler"},
                ],
            ),
            [],
        ),
        Loss(
            policy(defaulting=SYSTEM, overrides=[{**FOR_BATCH, "until": "2199-01-31"}]),
            ["overrides[0] (batch): ends on 2199-01-31; a profile of kube-scheduler does not end"],
        ),
        Loss(
            policy(
                defaulting=SYSTEM,
                overrides=[{**FOR_BATCH, "until": "2026-01-31"}, {**FOR_SOME, "defaulting": listed(SOFT)}],
            ),
            ["overrides[1] (some): left out: kube-scheduler cannot select Pods by podSelector"],
        ),
        Loss(policy(defaulting=SYSTEM, overrides=[{"name": "a", "schedulerName": "b", "until": "2199-01-31"}]), []),
        Loss(
            POLICIES["matchLabelKeys"],
            [
                "defaulting.defaultConstraints[0].matchLabelKeys: left out: kube-scheduler ignores it in default "
                "constraints"
            ],
        ),
    ],
)
def test_what_kube_scheduler_cannot_be_told_is_said(loss):
    assert loss.said == list(losses(parse_policy(loss.text), "2026-11-23"))


def test_of_the_built_in_defaults_it_is_said_that_evenkeel_leaves_some_out():
    (said,) = losses(built_in(), "2026-11-23")
    assert said.startswith("defaulting: evenkeel leaves out a built-in constraint if nodes lack its key")


class Copy(NamedTuple):
    text: str
    said: list[str]


def text(constraint):
    return json.dumps(constraint, sort_keys=True)


AT = "profiles[0] (default-scheduler): PodTopologySpread:"


@pytest.mark.parametrize(
    "copy",
    [
        Copy(configuration(profile(listed(SOFT))), []),
        Copy(configuration(profile(listed({**SOFT, "matchLabelKeys": ["a"]}))), []),
        Copy(configuration(profile(listed({**SOFT, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}))), []),
        Copy(configuration(profile(listed(SOFT)), profile(listed(SOFT), name="other")), []),
        Copy(configuration({"pluginConfig": [{"name": "PodTopologySpread", "args": listed(SOFT)}]}), []),
        Copy(configuration(), [f"{AT} defaultingType: found System, wanted List"]),
        Copy(
            configuration(profile(listed({**SOFT, "maxSkew": 2}))),
            [
                f"{AT} defaultConstraints: found {text({**SOFT, 'maxSkew': 2})}, which the policy does not have",
                f"{AT} defaultConstraints: lacks {text(SOFT)}",
            ],
        ),
        Copy(
            configuration(profile(listed(SOFT), plugins={"score": {"disabled": [{"name": "PodTopologySpread"}]}})),
            [
                f"{AT} found disabled, or an empty list, wanted the plugin enabled, with defaultConstraints",
                f"{AT} defaultConstraints: lacks {text(SOFT)}",
            ],
        ),
        Copy(
            configuration(profile(listed(SOFT), name="other")),
            ["profiles: found none with schedulerName default-scheduler, wanted one"],
        ),
    ],
)
def test_each_difference_of_a_copy_is_a_line(copy):
    assert copy.said == list(differences(parse_policy(policy(defaulting=listed(SOFT))), parse_policy(copy.text)))
