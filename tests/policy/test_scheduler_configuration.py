"""Which plugins a profile of a KubeSchedulerConfiguration runs; see tests/policy/test_translation.py for its form."""

from __future__ import annotations

import pytest

from webhook.policy.scheduler_configuration import checked, enabled, profiles_of


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


def test_two_profiles_of_one_name_are_refused():
    causes = []
    checked({"apiVersion": "kubescheduler.config.k8s.io/v1", "profiles": [{}, {}]}, causes)

    assert ['profiles[1].schedulerName: found "default-scheduler" twice, wanted a name of its own'] == causes
