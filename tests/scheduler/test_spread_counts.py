"""What a constraint counts while Pods come and go."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.incoming import IncomingPod
from evenkeel.scheduler.pod_counts import PodGroup
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.spread_counts import DomainCounts, count, counted_by
from tests.support.build import constraint, pod, snapshot
from webhook.kubernetes.features import features
from webhook.spread.constraint import parse_constraints
from webhook.spread.domains import Reach
from webhook.spread.nodes import Nodes
from webhook.spread.selectors import EVERYTHING, NOTHING, selecting

WEB, DB = (("app", "web"),), (("app", "db"),)
ZONES = {"n1": "a", "n2": "a", "n3": "b", "n4": "c"}
NODES = {"a": 0b0011, "b": 0b0100, "c": 0b1000}


def counted(there=None, minor=37, **fields):
    (parsed,) = parse_constraints([constraint(**fields)], {"app": "web"}, features(minor))
    cluster = Snapshot(pods={"shop": {WEB: PodGroup({"app": "web"}, there or {})}})
    reach = Reach(IncomingPod("shop", {"app": "web"}), Nodes())
    return counted_by(reach, parsed, cluster, features(minor), ZONES.get, NODES.__getitem__, frozenset(NODES))


def test_pods_count_by_domain_and_nodes_by_the_number_of_pods():
    found = counted({"n1": 2, "n2": 1, "n3": 1})

    assert {"a": 3, "b": 1} == found.counts
    assert {3: 0b0011, 1: 0b0100} == found.nodes_by_number
    assert (0, 0b0111) == (found.min_match_num, found.refused_nodes())


def test_a_pod_more_moves_its_domain_alone():
    found = counted({"n1": 1, "n3": 1})
    found.add(WEB, "n4", 1)

    assert (1, 0) == (found.min_match_num, found.refused_nodes())
    found.add(WEB, "n2", 1)
    assert (1, 0b0011) == (found.min_match_num, found.refused_nodes())
    found.add(WEB, "n4", -1)
    assert (0, 0b0111) == (found.min_match_num, found.refused_nodes())
    assert found.nodes_by_number == {2: 0b0011, 1: 0b0100}


def test_what_the_selector_does_not_match_and_what_is_on_no_counted_node_does_not_count():
    found = counted()
    found.add(DB, "n1", 1)
    found.add(WEB, "elsewhere", 1)

    assert {} == found.counts
    assert (False, True, "a") == (found.selects(DB), found.selects(WEB), found.domain_of("n1"))
    assert found.domain_of("elsewhere") is None


def test_with_fewer_domains_than_min_domains_the_minimum_is_0():
    there = {"n1": 1, "n3": 1, "n4": 1}

    assert (1, 0) == (counted(there).min_match_num, counted(there).refused_nodes())
    assert (0, 0b1111) == (counted(there, minDomains=4).min_match_num, counted(there, minDomains=4).refused_nodes())


@pytest.mark.parametrize(("minor", "wanted"), [(26, {"a": 2}), (37, {})])
def test_an_empty_selector_counts_as_in_its_version(minor, wanted):
    found = counted({"n1": 1}, minor=minor, labelSelector={})
    found.add(WEB, "n1", 1)

    assert wanted == found.counts


def test_a_copy_changes_by_itself():
    found = counted({"n1": 1})
    copied = found.copy()
    copied.add(WEB, "n3", 1)

    assert ({"a": 1}, {"a": 1, "b": 1}) == (found.counts, copied.counts)
    assert found.nodes_by_number == {1: 0b0011}


def test_the_frequencies_are_kept_while_pods_come_and_go():
    found = counted({"n1": 1, "n3": 1, "n4": 1})
    assert (1, 0) == (found.min_match_num, found.largest_skew)
    found.add(WEB, "n1", 2)
    found.add(WEB, "n3", 1)
    found.add(WEB, "n4", 1)

    assert (2, 1) == (found.min_match_num, found.largest_skew)
    assert ("a",) == found.refused()
    fresh = DomainCounts(found.constraint, found.eligible, dict(found.counts), 1, ZONES.get, NODES.__getitem__)
    assert (fresh.min_match_num, fresh.refused_nodes()) == (found.min_match_num, found.refused_nodes())
    found.add(WEB, "n4", -2)
    assert ({"a": 3, "b": 2}, 0) == (found.counts, found.min_match_num)


def test_pods_are_counted_by_domain():
    bound = [
        pod(name=f"web-{i}", labels={"app": app}, spec={"nodeName": node}, uid=f"u{i}")
        for i, (app, node) in enumerate([("web", "n1"), ("web", "n1"), ("web", "n2"), ("db", "n1")])
    ]
    groups, zone = snapshot(*bound).pods["shop"], {"n1": "a", "n2": "b"}.get

    assert {"a": 2, "b": 1} == count(groups, selecting({"app": "web"}), zone)
    assert {"b": 1} == count(groups, selecting({"app": "web"}), {"n2": "b"}.get)
    assert {} == count(groups, NOTHING, zone)
    assert {"a": 3, "b": 1} == count(groups, EVERYTHING, zone)
