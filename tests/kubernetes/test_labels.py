"""Label keys and values, as apimachinery checks them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from webhook.kubernetes import labels
from webhook.kubernetes.labels import (
    BEFORE_35,
    SINCE_35,
    is_given_to_nodes,
    is_subdomain,
    label_key_errors,
    label_value_errors,
    labels_of,
    wanted_instead,
)
from webhook.kubernetes.names import ZONE

HUGE = "x" * 100_000


SURROGATE = "\ud800"


SHORT = {  # each error by the words that tell it from the others
    "prefix empty": "prefix part must be non-empty",
    "prefix long": "prefix part must be no more than 253 bytes",
    "prefix form": "prefix part a lowercase RFC 1123 subdomain must consist of",
    "name empty": "name part must be non-empty",
    "name long": "name part must be no more than 63 bytes",
    "name form": "name part must consist of alphanumeric characters",
    "two slashes": "a valid label key must consist of alphanumeric characters",
    "long": "must be no more than 63 bytes",
    "form": "a valid label must be an empty string or consist of alphanumeric characters",
}


def short(errors):
    return [word for error in errors for word, start in SHORT.items() if error.startswith(start)]


class Case(NamedTuple):
    name: str
    text: str
    errors: tuple = ()


KEYS = [
    Case("plain", "app"),
    Case("every kind of character", "a-Z_9.b"),
    Case("prefixed", "app.kubernetes.io/name"),
    Case("63 bytes of name", "a" * 63),
    Case("64 bytes of name", "a" * 64, ("name long",)),
    Case("253 bytes of prefix", "a" * 253 + "/n"),
    Case("254 bytes of prefix", "a" * 254 + "/n", ("prefix long",)),
    Case("62 bytes in 31 characters", "é" * 31, ("name form",)),
    Case("64 bytes in 32 characters", "é" * 32, ("name long", "name form")),
    Case("254 bytes in 127 characters of prefix", "é" * 127 + "/n", ("prefix long", "prefix form")),
    Case("empty", "", ("name empty", "name form")),
    Case("a slash alone", "/", ("prefix empty", "name empty", "name form")),
    Case("no prefix before the slash", "/name", ("prefix empty",)),
    Case("no name after the slash", "example.com/", ("name empty", "name form")),
    Case("a capital in the prefix", "Example.com/name", ("prefix form",)),
    Case("two dots in the prefix", "example..com/name", ("prefix form",)),
    Case("an underscore in the prefix", "a_b/name", ("prefix form",)),
    Case("two slashes", "a/b/c", ("two slashes",)),
    Case("two slashes in a row", "a//b", ("two slashes",)),
    Case("nothing but slashes", "//", ("two slashes",)),
    Case("a dash at the end", "app-", ("name form",)),
    Case("a space", "a b", ("name form",)),
    Case("a newline at the end", "app\n", ("name form",)),
    Case("a newline at the end of the prefix", "example.com\n/name", ("prefix form",)),
    Case("digits of another script", "٣", ("name form",)),
    Case("half a character", SURROGATE, ("name form",)),
    Case("half a character, 22 times three bytes", SURROGATE * 22, ("name long", "name form")),
    Case("a huge name", HUGE, ("name long",)),
    Case("a huge prefix", f"{HUGE}/n", ("prefix long",)),
]


VALUES = [
    Case("plain", "web"),
    Case("empty", ""),
    Case("every kind of character", "a-Z_9.b"),
    Case("63 bytes", "a" * 63),
    Case("64 bytes", "a" * 64, ("long",)),
    Case("62 bytes in 31 characters", "é" * 31, ("form",)),
    Case("64 bytes in 32 characters", "é" * 32, ("long", "form")),
    Case("a slash", "a/b", ("form",)),
    Case("a dot at the start", ".a", ("form",)),
    Case("a newline at the end", "web\n", ("form",)),
    Case("a newline alone", "\n", ("form",)),
    Case("half a character", SURROGATE, ("form",)),
    Case("huge", HUGE, ("long",)),
    Case("huge and malformed", f"{HUGE}-", ("long", "form")),
]


@pytest.mark.parametrize("case", KEYS, ids=lambda case: case.name)
def test_label_keys(case):
    assert list(case.errors) == short(label_key_errors(case.text))
    assert len(case.errors) == len(label_key_errors(case.text))


@pytest.mark.parametrize("case", VALUES, ids=lambda case: case.name)
def test_label_values(case):
    assert list(case.errors) == short(label_value_errors(case.text))
    assert len(case.errors) == len(label_value_errors(case.text))


@pytest.mark.parametrize(
    ("errors_of", "cached"),
    [(label_key_errors, labels._key_errors), (label_value_errors, labels._value_errors)],
    ids=["key", "value"],
)
def test_only_what_could_be_valid_is_cached(errors_of, cached):
    """Whoever sends huge strings must not fill the memory with them."""
    cached.cache_clear()
    errors_of("x" * 317)
    kept = cached.cache_info().currsize
    errors_of(HUGE)

    assert (1, 1) == (kept, cached.cache_info().currsize)


def test_labels_are_read_as_go_decodes_them():
    """Null is the empty string; what is no string is left out."""
    assert {"a": "x", "null": ""} == labels_of({"a": "x", "null": None, "number": 1, "true": True, "list": []})
    assert {} == labels_of(None) == labels_of([]) == labels_of("a=x")


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("/a", "something before the '/', or no '/'"),
        (f"{'a' * 254}/a", "at most 253 bytes before the '/'"),
        ("A_/a", "lower case letters, digits, '-' and '.' before the '/'"),
        ("a/", "a name, after the '/' if there is one"),
        ("a" * 64, "a name of at most 63 bytes"),
        ("a b", "a name of letters, digits, '-', '_' and '.', with a letter or a digit at both ends"),
        ("a/b/c", "at most one '/'"),
    ],
)
@pytest.mark.parametrize("words", [BEFORE_35, SINCE_35])
def test_what_a_wrong_key_should_be_in_few_words(key, wanted, words):
    assert wanted == wanted_instead(label_key_errors(key, words)[0])


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("a" * 64, "at most 63 bytes"),
        ("a b", "letters, digits, '-', '_' and '.', with a letter or a digit at both ends"),
    ],
)
def test_what_a_wrong_value_should_be_in_few_words(value, wanted):
    assert wanted == wanted_instead(label_value_errors(value)[0])


@pytest.mark.parametrize(
    ("key", "given"),
    [
        (ZONE, True),
        ("node.kubernetes.io/instance-type", True),
        ("topology.gke.io/zone", True),
        ("rack", False),
        ("zone.kubernetes.io", False),
        ("notkubernetes.io/zone", False),
    ],
)
def test_labels_that_a_kubelet_or_a_cloud_gives_to_nodes(key, given):
    assert given == is_given_to_nodes(key)


@pytest.mark.parametrize(("length", "valid"), [(253, True), (254, False)])
def test_a_subdomain_is_no_longer_than_a_name(length, valid):
    assert valid == is_subdomain("a" * length)
