"""What a constraint counts while Pods come and go."""

from __future__ import annotations

import pytest

from tests.support.build import constraint
from webhook.scheduler.constraint import parse_constraints
from webhook.scheduler.counts import PodGroup
from webhook.scheduler.features import features
from webhook.simulation.tally import Tally

WEB, DB = (("app", "web"),), (("app", "db"),)
ZONES = {"n1": "a", "n2": "a", "n3": "b", "n4": "c"}
NODES = {"a": 0b0011, "b": 0b0100, "c": 0b1000}


def tally(there=None, minor=37, **fields):
    (parsed,) = parse_constraints([constraint(**fields)], {"app": "web"}, features(minor))
    groups = {WEB: PodGroup({"app": "web"}, there or {})}
    return Tally(parsed, ZONES.get, NODES.__getitem__, NODES, 1, groups, features(minor))


def test_pods_count_by_domain_and_nodes_by_the_number_of_pods():
    found = tally({"n1": 2, "n2": 1, "n3": 1})

    assert {"a": 3, "b": 1} == found.counts
    assert {3: 0b0011, 1: 0b0100} == found.nodes_by
    assert (0, 0b0111) == (found.min_match_num, found.refused())


def test_a_pod_more_moves_its_domain_alone():
    found = tally({"n1": 1, "n3": 1})
    found.add(WEB, "n4", 1)

    assert (1, 0) == (found.min_match_num, found.refused())
    found.add(WEB, "n2", 1)
    assert (1, 0b0011) == (found.min_match_num, found.refused())
    found.add(WEB, "n4", -1)
    assert (0, 0b0111) == (found.min_match_num, found.refused())
    assert found.nodes_by == {2: 0b0011, 1: 0b0100}


def test_what_the_selector_does_not_match_and_what_is_on_no_counted_node_does_not_count():
    found = tally()
    found.add(DB, "n1", 1)
    found.add(WEB, "elsewhere", 1)

    assert {} == found.counts


def test_with_fewer_domains_than_min_domains_the_minimum_is_0():
    there = {"n1": 1, "n3": 1, "n4": 1}

    assert (1, 0) == (tally(there).min_match_num, tally(there).refused())
    assert (0, 0b1111) == (tally(there, minDomains=4).min_match_num, tally(there, minDomains=4).refused())


@pytest.mark.parametrize(("minor", "counted"), [(26, {"a": 2}), (37, {})])
def test_an_empty_selector_counts_as_in_its_version(minor, counted):
    found = tally({"n1": 1}, minor=minor, labelSelector={})
    found.add(WEB, "n1", 1)

    assert counted == found.counts


def test_a_copy_changes_by_itself():
    found = tally({"n1": 1})
    copied = found.copy()
    copied.add(WEB, "n3", 1)

    assert ({"a": 1}, {"a": 1, "b": 1}) == (found.counts, copied.counts)
    assert found.nodes_by == {1: 0b0011}
