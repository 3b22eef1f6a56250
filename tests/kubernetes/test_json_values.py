"""Anchors, merges and tags are built as kubectl builds them, and no text does harm: only DocumentError escapes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.documents import Case, assert_read, assert_refused
from webhook.kubernetes.json_values import build
from webhook.kubernetes.scalars import DocumentError

BUILT = [
    Case("an anchor", "a: &x {b: 1}\nc: *x", [{"a": {"b": 1}, "c": {"b": 1}}]),
    Case("a merge, where what is written wins", "x: {<<: {b: 1, c: 1}, b: 2}", [{"x": {"b": 2, "c": 1}}]),
    Case("a merge of several, where the first wins", "x: {<<: [{a: 1}, {a: 2, b: 2}]}", [{"x": {"a": 1, "b": 2}}]),
    Case("two merges in one object", "x: {<<: {a: 1}, <<: {b: 2}}", [{"x": {"a": 1, "b": 2}}]),
    Case("a merge after a key, as kubectl has it", "x: {b: 2, <<: {b: 1}}", [{"x": {"b": 1}}]),
    Case("a key between merges", "x: {<<: {b: 1}, b: 2, <<: {c: 3}}", [{"x": {"b": 2, "c": 3}}]),
    Case("an alias as a key", "a: &app web\nb: {*app : 1}", [{"a": "web", "b": {"web": 1}}]),
    Case("an alias of a key as a key", "&k a: 1\nb: {? *k : 2}", [{"a": 1, "b": {"a": 2}}]),
    Case("an alias of a number as a key", "a: &n 8080\nb:\n  *n : c", [{"a": 8080, "b": {"8080": "c"}}]),
    Case("an alias of a key as a value", "&n 80: x\na: *n", [{"80": "x", "a": 80}]),
    Case(
        "keys that are no strings",
        "{1.0: a, yes: b, 0x10: c, 2.5: d}",
        [{"1": "a", "true": "b", "16": "c", "2.5": "d"}],
    ),
    Case("IPv6 in a list", "a: [10.0.0.0/8, fd00::, fe80::/64]", [{"a": ["10.0.0.0/8", "fd00::", "fe80::/64"]}]),
    Case("IPv6 in an object", "{a: fd00::}", [{"a": "fd00::"}]),
    Case("a list that ends with IPv6", "[1, fd00::]", [[1, "fd00::"]]),
    Case("colons before brackets in quotes", "['a:]', \"b:}\", 'c:,', d:]", [["a:]", "b:}", "c:,", "d:"]]),
    Case("a merge in quotes is a key", "a: {'<<': 1}", [{"a": {"<<": 1}}]),
    Case("a set", "a: !!set {b, c}", [{"a": {"b": None, "c": None}}]),
]


@pytest.mark.parametrize("case", BUILT, ids=lambda case: case.name)
def test_text_is_built(case):
    assert_read(case)


REFUSED = [
    Case("a key twice, deeper", "x:\n  a: 1\n  a: 3", "line 3, column 3: duplicate key"),
    Case("a number and a string as the same key", '"1": a\n1: b', "line "),
    Case("a key again after a merge", "x: {<<: {a: 1}, a: 2, a: 3}", "line 1, column 23: duplicate key"),
    Case("an alias that is a key already", "a: &x b\nb: 1\n*x : 2", "line 3, column 1: duplicate key"),
    Case("an alias of a list as a key", "a: &x [b]\n*x : 2", "line 2, column 1: a key must be a string"),
    Case("null as a key", "~: 1", "line 1, column 1: a key must be a string"),
    Case("a list as a key", "[a]: 1", "line 1, column 1: a key must be a string"),
    Case("an alias of what another document names", "a: &x 1\n---\nb: *x", "line 3, column 4: found undefined alias"),
    Case("an alias of nothing", "a: *x", "line 1, column 4: found undefined alias"),
    Case("a tag of Python's", "a: !!python/object/apply:os.system [x]", "line 1, column 4: "),
    Case("a merge of what is no object", "a: {<<: 1}", "line 1, column 9: "),
    Case("a list called a date", "a: !!timestamp [x]", "line 1, column 4: "),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_text_is_refused_in_one_line_that_says_where(case):
    assert_refused(case)


REPEATED = [
    Case("none", "a: 1\nb: 2", ({"a": 1, "b": 2}, [])),
    Case("the last counts", "a: 1\na: 2", ({"a": 2}, [(0, ("a",))])),
    Case("deeper, in a list", "x:\n- {}\n- z: {a: 1, a: 2}", ({"x": [{}, {"z": {"a": 2}}]}, [(0, ("x", 1, "z", "a"))])),
    Case("three times", "{a: 1, a: 2, a: 3}", ({"a": 3}, [(0, ("a",)), (0, ("a",))])),
]


@pytest.mark.parametrize("case", REPEATED, ids=lambda case: case.name)
def test_a_key_that_stands_twice_is_noted_where_that_is_asked_for(case):
    repeated = []
    (value,) = build(case.text, repeated)

    assert case.found == (value, [(one.document, one.path) for one in repeated])


def test_so_many_are_noted_and_no_more():
    repeated = []
    with pytest.raises(DocumentError, match="duplicate key"):
        [*build(f"[{'{a: 1, a: 1}, ' * 101}]", repeated)]

    assert 100 == len(repeated)


def test_empty_documents_do_not_count():
    repeated = []
    [*build("---\n---\na: 1\n---\na: 1\na: 2", repeated)]

    assert [1] == [one.document for one in repeated]


def laughs(levels, width, form):
    """Each line names the one above `width` times."""
    each = (form.format(", ".join([f"*a{i - 1}" if i else "k: 1"] * (width if i else 1))) for i in range(levels))
    return "\n".join(f"a{i}: &a{i} {text}" for i, text in enumerate(each))


LISTS, WORDS = "- " * 100_000, f"[{', '.join('x' * 1000)}]"


NESTED, ITSELF = "nested more than 400 levels deep", "refers to a value that contains it"


HOSTILE = [
    Case("100,000 open brackets", "[" * 100_000, NESTED),
    Case("100,000 open braces", "{" * 100_000, NESTED),
    Case("ten open braces", "{" * 10, "line 1, column 2: "),
    Case("100,000 objects in JSON", '{"a":' * 100_000 + "1" + "}" * 100_000, NESTED),
    Case("600 objects in JSON", '{"a":' * 600 + "1" + "}" * 600, NESTED),
    Case("100,000 lists in one line", LISTS, NESTED),
    Case("100,000 keys in one line", "? " * 100_000, "line 1, column 3: "),
    Case("3,000 objects that step to the right", "\n".join(" " * i + "a:" for i in range(3000)), NESTED),
    Case("100,000 lists after a byte order mark", f"\ufeff{LISTS}", NESTED),
    Case("100,000 lists after a carriage return", f"# a\r{LISTS}", NESTED),
    Case("100,000 lists after a next line", f"# a\x85{LISTS}", NESTED),
    Case("100,000 lists after a line separator", f"# a\u2028{LISTS}", NESTED),
    Case("an object that is its own member", "a: &a {b: *a}", ITSELF),
    Case("a list that is its own item", "&a [*a]", ITSELF),
    Case("a list that is its own item, deeper", "- &a [{x: *a}]", ITSELF),
    Case("two lists that are each other's item", "- &a [&b [*a, *b]]", ITSELF),
    Case("a billion laughs", laughs(12, 9, "[{}]"), "aliases expand to too many values or levels"),
    Case(
        "a billion laughs in few lists",
        laughs(3, 1000, "[{}]").replace("[k: 1]", WORDS),
        "aliases expand to too many values or levels",
    ),
    Case("a long text that is named often", f"- &a {'x' * 100_000}\n" + "- *a\n" * 100_000, "aliases expand"),
    Case("a billion laughs by merging", laughs(10, 9, "{{<<: [{}]}}").replace("<<: [k: 1]", "k: 1"), "aliases expand"),
]


READER = """\
import resource, sys
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.scalars import DocumentError
for limit, most in ((resource.RLIMIT_AS, 2**31), (resource.RLIMIT_CPU, 5), (resource.RLIMIT_CORE, 0)):
    resource.setrlimit(limit, (most, most))
try:
    print(read_documents(sys.stdin.buffer.read().decode()))
except DocumentError as error:
    print(error)
"""


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.name)
def test_hostile_text_is_judged_in_bounded_time_and_memory(case):
    """In a process of its own, for libyaml's composer may overrun the stack."""
    done = subprocess.run([sys.executable, "-c", READER], input=case.text.encode(), capture_output=True, check=False)

    assert (0, "") == (done.returncode, done.stderr.decode()[-300:]), "it was killed or raised"
    assert case.found in done.stdout.decode()
