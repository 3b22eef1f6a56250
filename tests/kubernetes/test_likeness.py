"""A typo is told from a word of one's own by the edits between it and a known word, of short words fewer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kubernetes.likeness import MISTAKES, WELL_KNOWN, likely_meant, most_like, nearest, within
from webhook.kubernetes.names import HOSTNAME, REGION, ZONE

WORDS = ("In", "NotIn", "Exists", "DoesNotExist", "Honor", "Ignore", "DoNotSchedule", "matchLabelKeys", "matchLabels")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("DoNotSchedul", "DoNotSchedule"),
        ("do-not-schedule", "DoNotSchedule"),
        ("NoSchedule", None),
        ("honor", "Honor"),
        (" Honor\t", "Honor"),
        ("honour", "Honor"),
        ("horn", None),
        ("in", "In"),
        ("on", None),
        ("notin", "NotIn"),
        ("Exist", "Exists"),
        ("matchLabelKey", "matchLabelKeys"),
        ("matchlabel", "matchLabels"),
        ("Honor" * 100, None),
        ("", None),
    ],
)
def test_the_word_that_was_meant(text, meant):
    assert meant == nearest(text, WORDS)


@given(st.sampled_from(WORDS))
def test_a_word_is_nearest_to_itself(word):
    assert word == nearest(word, WORDS)


@pytest.mark.parametrize("word", ["matchLabelKeys", "matchLabels"])
def test_fewer_edits_are_nearer(word):
    assert word == nearest(word + "s", WORDS)


@given(st.text("ab", max_size=6), st.text("ab", max_size=6), st.integers(0, 2))
def test_a_text_within_so_many_edits_is_one_that_as_many_steps_reach(text, other, edits):
    reached = {text}
    for _ in range(edits):
        reached |= {changed for each in reached for changed in edited(each)}

    assert within(edits, text, other) == (other in reached)


def edited(text):
    """The text with any one letter of two put in, taken away or replaced."""
    for i in range(len(text) + 1):
        yield from (text[:i] + new + text[rest:] for new in ("", "a", "b") for rest in (i, i + 1))


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("kubernetes.io/zone", ZONE),
        ("topology.kubernetes.io/zones", ZONE),
        ("topology.kubernets.io/region", REGION),
        (" Hostname ", HOSTNAME),
        ("rack", None),
        ("example.com/zone", None),
        ("topology.ebs.csi.aws.com/zone", None),
        ("k" * 61, None),
        *((key, None) for key in WELL_KNOWN),
    ],
)
def test_what_a_key_was_meant_to_be(key, meant):
    assert meant == likely_meant(key)


def test_every_mistake_is_put_right_by_a_well_known_key():
    assert set(MISTAKES.values()) <= set(WELL_KNOWN)
    assert not set(MISTAKES) & set(WELL_KNOWN)


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("strimzi", "strimzi-kafka"),
        ("selector-misses", "selector-misses-own-pod"),
        ("x", ""),
        ("Strimzi-Kafka", "strimzi-kafka"),
        ("x" * 100_000, ""),
    ],
)
def test_what_a_hint_names_may_be_longer(text, like):
    assert like == most_like(text, {"strimzi-kafka": 1, "selector-misses-own-pod": 2})
