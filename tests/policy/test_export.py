"""What kube-scheduler and Karpenter are told of a policy's default constraints, or cannot be, and how copies differ."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from evenkeel.policy.export import (
    KARPENTER,
    KUBE_SCHEDULER,
    differences,
    karpenter_configuration,
    karpenter_constraints,
    karpenter_differences,
    karpenter_document,
    losses,
)
from evenkeel.policy.export import configuration as exported
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
            ["overrides[0] (batch): ends on 2199-01-31; a configuration of kube-scheduler does not"],
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
    assert loss.said == list(losses(parse_policy(loss.text), "2026-11-23", KUBE_SCHEDULER))


def test_of_the_built_in_defaults_it_is_said_that_evenkeel_leaves_some_out():
    (said,) = losses(built_in(), "2026-11-23", KUBE_SCHEDULER)
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


ON_NODES, ZONES = {**SOFT, "topologyKey": "kubernetes.io/hostname"}, {**SOFT, "topologyKey": "zone"}
FEW_NODES = {**ON_NODES, "maxSkew": 10}
NEITHER = {**ON_NODES, "whenUnsatisfiable": "DoNotSchedule"}


def for_karpenter(*constraints):
    return {"podTopologySpread": {"defaultConstraints": [*constraints]}}


@pytest.mark.parametrize(
    ("policy_text", "told"),
    [
        (policy(defaulting=SYSTEM), []),
        (policy(defaulting=listed(ZONES, NEITHER)), [ZONES, NEITHER]),
        (policy(defaulting=listed(ON_NODES)), [FEW_NODES]),
        (policy(defaulting=listed({**ON_NODES, "maxSkew": 30})), [{**ON_NODES, "maxSkew": 30}]),
        (policy(defaulting=listed({**ZONES, "matchLabelKeys": ["pod-template-hash"]})), [ZONES]),
        (policy(defaulting=listed(ZONES), overrides=[FOR_SOME, FOR_BATCH]), [ZONES]),
        (configuration(profile(listed(HARD)), profile(listed(ZONES), name="other")), [HARD]),
    ],
)
def test_karpenter_is_told_the_defaults_of_all_pods_and_few_nodes_are_started(policy_text, told):
    made = karpenter_configuration(parse_policy(policy_text))

    assert for_karpenter(*told) == made
    constraints, causes = karpenter_constraints(karpenter_document(json.dumps(made)))
    assert ([], []) == (causes, list(karpenter_differences(parse_policy(policy_text), constraints)))


def test_karpenter_has_the_built_in_defaults_as_evenkeel_gives_them_with_it():
    constraints = karpenter_configuration(built_in())["podTopologySpread"]["defaultConstraints"]

    assert {"topology.kubernetes.io/zone": 1, "kubernetes.io/hostname": 10} == {
        constraint["topologyKey"]: constraint["maxSkew"] for constraint in constraints
    }


@pytest.mark.parametrize(
    ("policy_text", "begins"),
    [
        (policy(defaulting=listed(ZONES)), []),
        (policy(), ["defaulting: evenkeel leaves out a built-in", "maxSkew of kubernetes.io/hostname: 10 in"]),
        (policy(defaulting=listed(ON_NODES)), ["maxSkew of kubernetes.io/hostname: 10 in place of 1: Karpenter"]),
        (policy(defaulting=listed(FEW_NODES, NEITHER)), []),
        (policy(defaulting=SYSTEM), ["no constraints: Karpenter"]),
        (
            policy(defaulting=listed({**ZONES, "matchLabelKeys": ["a"]})),
            ["defaulting.defaultConstraints[0].matchLabelKeys: left out"],
        ),
        (
            policy(
                defaulting=listed(ZONES),
                overrides=[FOR_SOME, FOR_BATCH, {**FOR_BATCH, "name": "same", "defaulting": listed(ZONES)}],
            ),
            [
                "overrides[0] (some): left out: Karpenter cannot select Pods by podSelector",
                "overrides[1] (batch): left out: Karpenter cannot select Pods by schedulerName",
            ],
        ),
    ],
)
def test_what_karpenter_cannot_be_told_is_said(policy_text, begins):
    said = list(losses(parse_policy(policy_text), "2026-11-23", KARPENTER))

    assert [True] * len(begins) == [line.startswith(begin) for line, begin in zip(said, begins, strict=True)], said


@pytest.mark.parametrize(
    ("document", "starts"),
    [
        ({}, True),
        ({"podTopologySpread": None}, True),
        ({"podTopologySpread": {"defaultConstraints": None}}, True),
        (for_karpenter(HARD, {**ZONES, "minDomains": None, "nodeTaintsPolicy": "Honor", "matchLabelKeys": []}), True),
        (for_karpenter({**ZONES, "labelSelector": {}}), False),
        (for_karpenter({**ZONES, "matchLabelKeys": ["a"]}), False),
        (for_karpenter({**ZONES, "max": 1}), False),
        (for_karpenter({**ZONES, "maxSkew": 0}), False),
        (for_karpenter({**ZONES, "maxSkew": "1"}), False),
        (for_karpenter({**ZONES, "topologyKey": "a b"}), False),
        (for_karpenter({**ZONES, "whenUnsatisfiable": "Never"}), False),
        (for_karpenter(ZONES, {**ZONES, "maxSkew": 2}), False),
        (for_karpenter("a"), False),
        ({"podTopologySpread": {"defaultingType": "List"}}, False),
        ({"podTopologySpreads": {}}, False),
        ({"kind": "KubeSchedulerConfiguration", **for_karpenter(ZONES)}, False),
    ],
)
def test_karpenter_starts_only_with_what_it_reads(document, starts):
    constraints, causes = karpenter_constraints(karpenter_document(json.dumps(document)))

    assert starts == (causes == []), (causes, constraints)


@pytest.mark.parametrize("other", [configuration(), policy(), "[]", "", "a: [", "{}\n---\n{}", '{"profiles": []}'])
def test_any_other_text_is_not_for_karpenter(other):
    assert karpenter_document(other) is None


def test_each_difference_of_karpenters_copy_is_a_line():
    constraints, _ = karpenter_constraints(for_karpenter(ON_NODES))

    assert [
        f"podTopologySpread: defaultConstraints: found {text(ON_NODES)}, which the policy does not have",
        f"podTopologySpread: defaultConstraints: lacks {text(FEW_NODES)}",
    ] == list(karpenter_differences(parse_policy(policy(defaulting=listed(ON_NODES))), constraints))
