"""The score of PodTopologySpread; the recordings of tests/conformance hold it against the real plugin."""

from __future__ import annotations

from math import log

import pytest

from tests.support.placement import HARD, SOFT, bound, cluster, incoming, parsed
from webhook.scheduler.features import LATEST
from webhook.scheduler.scoring import normalized, score_nodes


def scored(constraints, snapshot, names=None, **options):
    candidates = [node for node in snapshot.nodes if names is None or node.name in names]
    return score_nodes(incoming(), parsed(*constraints), snapshot, candidates, LATEST, **options)


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
        ({"a": 0, "b": 0}, {"a": 100, "b": 100}),
        ({"a": 3, "b": 3}, {"a": 100, "b": 100}),
        ({"a": 1, "b": 3}, {"a": 100, "b": 33}),
    ],
    ids=["none", "all 0", "all alike", "cut off"],
)
def test_normalized_scores_are_integers_up_to_100(raw, expected):
    assert expected == normalized(raw)


def test_halves_are_rounded_away_from_zero(monkeypatch):
    """As Go does: Python would make 2 of 2.5."""
    monkeypatch.setattr("math.log", lambda _: 2.5)
    found = scored([SOFT], cluster({"n1": "a", "n2": "b"}, bound("n1")))

    assert {"n1": 3, "n2": 0} == found.raw
