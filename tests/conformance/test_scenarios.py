"""Situations that the feature's own documents describe, with the outcome they promise; numbered as there."""

from __future__ import annotations

import pytest

from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint, pod, policy, request, service, snapshot, workload
from tests.support.review import review
from tests.support.said import rule_in
from tests.support.scenarios import ROWS, incoming
from webhook.admission.defaulting import Undefaulted
from webhook.admission.request import MUTATE, VALIDATE
from webhook.spread.default_constraints import SYSTEM_DEFAULTS

BY_ZONE = f"{{maxSkew: 1, topologyKey: {ZONE}, whenUnsatisfiable: ScheduleAnyway}}"
ZONES = f"defaulting: {{defaultingType: List, defaultConstraints: [{BY_ZONE}]}}"
SYSTEM = "defaulting: {defaultingType: System}"
NONE = "defaulting: {defaultingType: List, defaultConstraints: []}"
SOFT = constraint(whenUnsatisfiable="ScheduleAnyway")


@pytest.mark.parametrize("row", [row for row in ROWS if row.example < "13"], ids=str)
def test_rows_1_to_12_are_allowed_and_row_6_is_warned_of(row):
    """Which nodes fit is shown by explain, in test_examples.py, and on the real scheduler, in tests/e2e."""
    decision = review(request(incoming(row.example, row.incoming)), VALIDATE, policy(ZONES), None, FEATURES)

    assert decision.allowed
    warned = ["selector-misses-own-pod"] if row.example.startswith("06") else []
    assert warned == [*map(rule_in, decision.warnings)]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (SOFT | {"minDomains": 2}, "[0].minDomains: is allowed only with whenUnsatisfiable: DoNotSchedule"),
        (constraint(minDomains=0), "[0].minDomains: must be greater than zero"),
        (constraint(maxSkew=0), "[0].maxSkew: must be greater than zero"),
        (constraint(maxSkew=-1), "[0].maxSkew: must be greater than zero"),
    ],
)
def test_row_20_what_is_invalid_is_denied_each_with_its_path(given, field):
    decision = review(request(pod(given)), VALIDATE, policy(ZONES), None, FEATURES)

    assert f"spec.topologySpreadConstraints{field}" in decision.status["message"]


def test_row_21_a_match_label_key_that_the_pod_lacks_is_ignored_and_warned_of():
    given = pod(constraint(matchLabelKeys=["version"]))
    decision = review(request(given), VALIDATE, policy(ZONES), None, FEATURES)

    assert decision.allowed
    (warning,) = decision.warnings
    assert warning.startswith("Pod shop/web-1: topologySpreadConstraints[0].matchLabelKeys[0]: is ignored")
    assert "absent-match-label-key" == rule_in(warning)


OWNED = [
    ("a Service selects", pod(), (service(),)),
    *(
        (f"a {kind} owns", pod(owner=f"{kind}/web"), (workload(kind, spec={"selector": selector}),))
        for kind, selector in (
            ("ReplicationController", {"app": "web"}),
            ("ReplicaSet", {"matchLabels": {"app": "web"}}),
            ("StatefulSet", {"matchLabels": {"app": "web"}}),
        )
    ),
]


@pytest.mark.parametrize(("name", "given", "objects"), OWNED, ids=[one[0] for one in OWNED])
class TestRow24:
    """Default constraints: a list; System; a List of []."""

    def mutated(self, given, objects, defaulting):
        return review(request(given), MUTATE, policy(defaulting), snapshot(*objects), FEATURES)

    def test_a_list_is_applied(self, name, given, objects):
        (written,) = self.mutated(given, objects, ZONES).patch[0]["value"]

        assert SOFT == written

    def test_system_defaults_are_the_schedulers_own_and_nothing_is_injected(self, name, given, objects):
        decision = self.mutated(given, objects, SYSTEM)

        assert ((), Undefaulted("system-defaulting")) == (decision.patch, decision.defaulted)

    def test_an_empty_list_is_none_at_all(self, name, given, objects):
        decision = self.mutated(given, objects, NONE)

        assert ((), Undefaulted("no-default-constraints")) == (decision.patch, decision.defaulted)

    def test_row_25_a_pod_with_any_constraint_of_its_own_gets_no_default(self, name, given, objects):
        own = {**given, "spec": {"topologySpreadConstraints": [constraint(topologyKey="rack")]}}

        assert () == self.mutated(own, objects, ZONES).patch


def test_row_24_system_is_hostname_3_and_zone_5_soft():
    assert [(HOSTNAME, 3), (ZONE, 5)] == [(one["topologyKey"], one["maxSkew"]) for one in SYSTEM_DEFAULTS]
    assert {"ScheduleAnyway"} == {one["whenUnsatisfiable"] for one in SYSTEM_DEFAULTS}
