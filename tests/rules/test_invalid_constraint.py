"""What is said of each error that the API server reports: which constraint, which value, and what was meant."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.rules.judged import IN_BOTH, deployment, findings
from tests.spread.test_validation import FULL, NEW_PODS, STANDING, WRONG
from tests.support.build import constraint, keys, pod, selecting, term
from webhook.kubernetes.features import NEWEST, OLDEST
from webhook.kubernetes.fields import with_value
from webhook.rules.invalid_constraint import REMEDIES

SECOND = re.compile(r"constraints (\d+) and (\d+) must differ")


def invalid(raw, minor=None):
    obj = pod()
    obj["spec"]["topologySpreadConstraints"] = raw
    return [finding for finding in findings(obj, minor) if finding.rule == "invalid-constraint"]


@cache
def every_invalid():
    """All that the tests of validation hold against the API server, in the oldest and the newest version."""
    lists = [[constraint() | case.raw] if isinstance(case.raw, dict) else case.raw for case in (*NEW_PODS, *STANDING)]
    lists += [with_value([FULL], path, value) for path, values in WRONG for value in values]
    lists += [[{}, {}], [constraint(**selecting(**{key: "x" * 64})) for key in ("/a", "a/", "A/b", f"{'a' * 64}/b")]]
    lists += [[constraint(**keys(f"{'a.' * 127}/{'b' * 64}", "a/b/c", "app "))]]
    return [(raw, minor) for raw in lists for minor in (OLDEST, NEWEST)]


def test_each_remedy_is_that_of_an_error():
    said = {finding.wanted.partition(":")[0] for raw, minor in every_invalid() for finding in invalid(raw, minor)}

    assert {remedy.wanted for remedy in REMEDIES.values()} == said


@pytest.mark.parametrize(("count", "pairs"), [(2, [(0, 1)]), (3, [(0, 2), (1, 2)])])
def test_constraints_that_repeat_each_other_are_named_both(count, pairs):
    found = invalid([constraint() for _ in range(count)])

    assert pairs == [tuple(map(int, SECOND.search(finding.message).groups())) for finding in found]
    assert {'"topology.kubernetes.io/zone" with "DoNotSchedule" in both'} == {finding.found for finding in found}


def test_what_is_absent_twice_is_named():
    (repeated,) = [finding for finding in invalid([{}, {}]) if "differ" in finding.message]

    assert "no topologyKey with no whenUnsatisfiable in both" == repeated.found


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({"whenUnsatisfiable": "DoNotSchedul"}, "DoNotSchedule"),
        ({"whenUnsatisfiable": "scheduleAnyway "}, "ScheduleAnyway"),
        ({"nodeTaintsPolicy": "honor"}, "Honor"),
        ({"nodeAffinityPolicy": "Ignored"}, "Ignore"),
        (selecting(term("app", "in", "web")), "In"),
        (selecting(term("app", "exist")), "Exists"),
    ],
)
def test_a_misspelt_value_is_offered_right(fields, meant):
    (found,) = invalid([constraint(**fields)])

    assert found.message.startswith("must be ") and meant in found.message
    assert (f"write {meant}", meant) == (found.fix, found.edit.value)


@pytest.mark.parametrize("value", ["Never", "", "NoSchedule"])
def test_another_value_is_not_guessed(value):
    (found,) = invalid([constraint(whenUnsatisfiable=value)])

    assert ("must be DoNotSchedule or ScheduleAnyway", None) == (found.message, found.edit)


@pytest.mark.parametrize(
    "fields", [keys("app "), selecting(term(" app", "Exists")), selecting(term("app", "In", "a\t"))]
)
def test_blanks_around_a_label_are_taken_away(fields):
    (found,) = invalid([constraint(**fields)])

    assert found.fix.endswith("without the spaces around it")
    assert found.edit.value in ("app", "a")


def test_a_label_with_blanks_among_others_is_changed_by_hand():
    """The path of the API server's error ends at all of them."""
    (found,) = invalid([constraint(**selecting(**{"app ": "x"}))])

    assert ("write app, without the spaces around it", None) == (found.fix, found.edit)


def test_a_min_domains_of_0_is_to_be_1_or_more():
    (found,) = findings(pod(constraint(minDomains=0)))

    assert ("1 or more", "remove minDomains, or set it to 1 or more") == (found.wanted, found.fix)


@pytest.mark.parametrize(
    ("minor", "wanted"),
    [
        (33, "each key once: the API server rejects the Pod"),
        (34, "each key once: the API server merges the two, then rejects the Pod"),
    ],
)
def test_a_key_in_both_is_refused_for_the_reason_of_the_version(minor, wanted):
    (found,) = findings(deployment({**IN_BOTH, "nodeTaintsPolicy": "Honor"}), minor)

    assert wanted == found.wanted
