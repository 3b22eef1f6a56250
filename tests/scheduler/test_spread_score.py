"""The score of PodTopologySpread; the recordings of tests/conformance hold it against the real plugin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from math import log
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.spread_score import normalized, rounded, topology_normalizing_weight
from tests.support.placement import HARD, SOFT, bound, cluster, incoming, parsed, score_nodes, worth
from webhook.kubernetes.features import LATEST


class Scored(NamedTuple):
    raw: Mapping[str, int]
    normalized: Mapping[str, int]
    ignored: set[str]


def scored(constraints, snapshot, names=None, **options):
    nodes = snapshot.nodes
    candidates = nodes.all if names is None else nodes.named(names)
    found = score_nodes(incoming(), parsed(*constraints), snapshot, candidates, LATEST, **options)
    return Scored(*worth(snapshot, found), set(nodes.names(found.ignored)))


def test_a_domain_with_fewer_pods_is_preferred():
    found = scored([SOFT], cluster({"n1": "a", "n2": "b"}, bound("n1"), bound("n1")))

    assert {"n1": round(2 * log(4)), "n2": 0} == found.raw
    assert {"n1": 0, "n2": 100} == found.normalized


def test_max_skew_waters_down():
    found = scored([{**SOFT, "maxSkew": 5}], cluster({"n1": "a", "n2": "b"}, bound("n1"), bound("n1")))

    assert {"n1": 7, "n2": 4} == found.raw  # 2 * ln(4) + 4 = 6.77, and 0 + 4
    assert {"n1": 100 * (7 + 4 - 7) // 7, "n2": 100} == found.normalized


def test_a_candidate_without_the_key_is_ignored_save_under_the_schedulers_own_defaults():
    snapshot = cluster({"n1": "a", "n2": None}, bound("n1"))
    own, system = scored([SOFT], snapshot), scored([SOFT], snapshot, system_defaults=True)

    assert ({"n2"}, 0, 0) == (own.ignored, own.raw["n2"], own.normalized["n2"])
    assert (set(), {"n1": 1, "n2": 0}) == (system.ignored, system.raw)


def test_an_absent_zone_is_an_empty_one_to_the_schedulers_own_defaults():
    """A Pod on a node without the key counts in the domain "", if there is one."""
    found = scored([SOFT], cluster({"n1": "", "n2": None, "n3": "a"}, bound("n2"), bound("n3")), system_defaults=True)

    assert {"n1": 1, "n2": 0, "n3": 1} == found.raw  # ln(2 + 2)


def test_a_hostname_is_counted_on_the_node_alone():
    one = {**SOFT, "topologyKey": "kubernetes.io/hostname"}
    found = scored([one], cluster({"n1": "a", "n2": "a", "n3": "a"}, bound("n1")), names=("n1", "n2"))

    assert {"n1": 1, "n2": 0} == found.raw  # ln(2 + 2): the candidates are the domains


def test_pods_on_nodes_that_are_no_candidates_count_in_their_domain():
    found = scored([SOFT], cluster({"n1": "a", "n2": "b", "n3": "b"}, bound("n3")), names=("n1", "n2"))

    assert {"n1": 100, "n2": 0} == found.normalized


def test_hard_constraints_score_nothing():
    assert {"n1": 100, "n2": 100} == scored([HARD], cluster({"n1": "a", "n2": "b"}, bound("n1"))).normalized


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, {}),
        ({1: 0, 2: 0}, {1: 100, 2: 100}),
        ({1: 3, 2: 3}, {1: 100, 2: 100}),
        ({1: 1, 2: 3}, {1: 100, 2: 33}),
    ],
    ids=["none", "all 0", "all alike", "cut off"],
)
def test_normalized_scores_are_integers_up_to_100(raw, expected):
    assert expected == normalized(raw)


def test_halves_are_rounded_away_from_zero():
    """As Go does: Python would make 2 of 2.5."""
    assert [2, 3, 3, 4] == [rounded(score) for score in (2.4, 2.5, 3.0, 3.5)]


def test_the_weight_of_a_count_grows_with_the_number_of_domains():
    assert 1.0986 < topology_normalizing_weight(1) < 1.0987


PLACED = st.lists(st.sampled_from(["n1", "n2", "n3", "n4"]), max_size=8)
NODES = st.fixed_dictionaries({name: st.sampled_from(["a", "b", "", None]) for name in ("n1", "n2", "n3", "n4")})


@given(NODES, PLACED, st.integers(1, 3), st.booleans())
def test_the_formula_holds_for_every_candidate(nodes, placed, max_skew, system_defaults):
    zone, host = {**SOFT, "maxSkew": max_skew}, {**SOFT, "topologyKey": "kubernetes.io/hostname"}
    found = scored([zone, host], cluster(nodes, *map(bound, placed)), system_defaults=system_defaults)
    candidates = [name for name, value in nodes.items() if value is not None or system_defaults]
    size = len({nodes[name] or "" for name in candidates})

    for name, value in nodes.items():
        score = placed.count(name) * log(len(candidates) + 2)
        if value is not None:
            match_num = sum((nodes[one] or "") == value for one in placed if one in candidates)
            score += match_num * log(size + 2) + max_skew - 1
        assert found.raw[name] == (math.floor(score + 0.5) if name in candidates else 0)
