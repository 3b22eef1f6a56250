"""What all plugins have in common."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.plugins.plugin import Plugin, Reason, Refusal, normalized
from tests.support.attempts import cycle, node


@pytest.mark.parametrize(
    ("parts", "scores", "reversed_scores"),
    [
        ([(0b01, 0), (0b10, 0)], {0b01: 0, 0b10: 0}, {0b01: 100, 0b10: 100}),
        ([(0b01, 1), (0b10, 3)], {0b01: 33, 0b10: 100}, {0b01: 67, 0b10: 0}),
        ([(0b01, 1), (0b110, 3)], {0b01: 33, 0b10: 100}, {0b01: 67, 0b10: 0}),
        ([(0b01, 1), (0b100, 3)], {0b01: 100}, {0b01: 0}),
    ],
    ids=["all 0", "shares", "nodes that are no candidates", "the largest is no candidate"],
)
def test_raw_scores_become_shares_of_the_largest_among_the_candidates(parts, scores, reversed_scores):
    assert scores == dict(normalized(parts, 0b11))
    assert reversed_scores == dict(normalized(parts, 0b11, reverse=True))


def test_a_reason_without_words_has_those_of_kube_scheduler():
    assert ["refused: nothing fits", "full"] == [Reason("nothing fits", words).in_words for words in ("", "full")]


def test_a_plugin_without_extension_points_says_nothing():
    plugin = Plugin(cycle(node("n1")))

    assert (0b1, [], None) == (plugin.passing(0b1), list(plugin.refusals(0b1)), plugin.scores(0b1))
    assert plugin is plugin.copy()


def test_pods_that_are_tried_count_as_others_do():
    class Counting(Plugin):
        def add_pods(self, info, node, number):
            counted.append((info, node, number))

    counted = []
    Counting(cycle(node("n1"))).try_pods("info", "n1", -2)

    assert [("info", "n1", -2)] == counted


def test_nodes_that_any_refusal_names_do_not_pass():
    class Refusing(Plugin):
        def refusals(self, remaining):
            yield Refusal("p", (Reason("a"),), 0b001)
            yield Refusal("p", (Reason("b"),), 0b010)

    assert 0b100 == Refusing(cycle(node("n1"))).passing(0b111)
