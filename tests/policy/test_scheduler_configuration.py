"""Which plugins a profile of a KubeSchedulerConfiguration runs; see tests/policy/test_translation.py for its form."""

from __future__ import annotations

import pytest

from webhook.kubernetes.features import LATEST, NEWEST, OLDEST, features
from webhook.policy.scheduler_configuration import CURRENT, checked, enabled, profiles_of, unserved


@pytest.mark.parametrize("name", [[], {}, None, 5])
def test_a_plugin_whose_name_is_none_is_not_disabled(name):
    profile = {"plugins": {"score": {"disabled": [{"name": name}]}}}

    assert {"NodeName": 1} == enabled(profile, "score", {"NodeName": 1})


@pytest.mark.parametrize(
    ("score", "everywhere", "expected"),
    [
        ({}, {}, {"A": 1, "B": 2}),
        ({"enabled": [{"name": "B", "weight": 5}]}, {}, {"B": 5, "A": 1}),
        ({"disabled": [{"name": "*"}], "enabled": [{"name": "C"}]}, {}, {"C": 0}),
        ({}, {"disabled": [{"name": "A"}], "enabled": [{"name": "C", "weight": 3}]}, {"B": 2, "C": 3}),
        ({"disabled": [{"name": "C"}]}, {"enabled": [{"name": "C", "weight": 3}]}, {"A": 1, "B": 2}),
    ],
)
def test_the_plugins_that_run_at_a_point_with_their_weights(score, everywhere, expected):
    profile = {"plugins": {"score": score, "multiPoint": everywhere}}

    assert [*expected.items()] == [*enabled(profile, "score", {"A": 1, "B": 2}).items()]


def test_null_is_absent_and_a_configuration_without_profiles_has_the_usual_one():
    causes = []
    raw = checked({"apiVersion": "kubescheduler.config.k8s.io/v1", "profiles": None}, causes)

    assert ([], [{}]) == (causes, profiles_of(raw))


@pytest.mark.parametrize(
    ("version", "last"), [("v1beta1", OLDEST - 1), ("v1beta2", 27), ("v1beta3", 28), ("v1", NEWEST), ("v9", NEWEST)]
)
def test_a_version_is_served_up_to_a_minor_version(version, last):
    api_version = f"kubescheduler.config.k8s.io/{version}"
    served = [minor for minor in range(OLDEST, NEWEST + 1) if not unserved(api_version, features(minor))]

    assert [*range(OLDEST, last + 1)] == served


def test_the_version_to_write_is_named():
    found = "kubescheduler.config.k8s.io/v1beta3"
    wanted = "kubescheduler.config.k8s.io/v1: Kubernetes 1.29 removed the version, so kube-scheduler does not start"

    assert f'apiVersion: found "{found}", wanted {wanted}' == unserved(found, LATEST)


def test_two_profiles_of_one_name_are_refused():
    causes = []
    checked({"apiVersion": "kubescheduler.config.k8s.io/v1", "profiles": [{}, {}]}, causes)

    assert ['profiles[1].schedulerName: found "default-scheduler" twice, wanted a name of its own'] == causes


def test_what_1_38_adds_is_read():
    causes = []
    feasible = {"placementFeasible": {"enabled": [{"name": "GangScheduling"}]}}
    profile = {"plugins": feasible, "percentageOfPlacementsToScore": 30}
    found = {"apiVersion": CURRENT, "profiles": [profile], "percentageOfPlacementsToScore": 0}
    checked(found, causes)

    assert [] == causes
