"""Text is read as kubectl and the API server read it, and no text does harm: only DocumentError escapes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

import pytest

from webhook.documents.reading import read_documents, read_objects
from webhook.documents.scalars import DocumentError


class Case(NamedTuple):
    name: str
    text: str
    found: object


READ = [
    Case("empty text holds nothing", "", []),
    Case("comments and empty documents hold nothing", "# a\n---\n---\n# b\n", []),
    Case("several documents", "a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    Case("JSON", '{"a": [1, 2.5, true, null, "x"]}', [{"a": [1, 2.5, True, None, "x"]}]),
    Case("JSON with tabs, which YAML does not indent with", '{\n\t"a": {\n\t\t"b": 1\n\t}\n}', [{"a": {"b": 1}}]),
    Case("JSON with half characters that make one", '{"a": "\\ud83d\\ude00"}', [{"a": "😀"}]),
    Case("JSON documents between YAML's separators", '{"a": 1}\n---\n{"b": 2}', [{"a": 1}, {"b": 2}]),
    Case("YAML that begins with a brace", "{a: 1}", [{"a": 1}]),
    Case("a byte order mark", "\ufeffa: 1", [{"a": 1}]),
    Case("an anchor", "a: &x {b: 1}\nc: *x", [{"a": {"b": 1}, "c": {"b": 1}}]),
    Case("a merge, where what is written wins", "x: {<<: {b: 1, c: 1}, b: 2}", [{"x": {"b": 2, "c": 1}}]),
    Case("a merge of several, where the first wins", "x: {<<: [{a: 1}, {a: 2, b: 2}]}", [{"x": {"a": 1, "b": 2}}]),
    Case("two merges in one object", "x: {<<: {a: 1}, <<: {b: 2}}", [{"x": {"a": 1, "b": 2}}]),
    Case("a key that is no string", "1: a\ntrue: b\n1.5: c", [{"1": "a", "true": "b", "1.5": "c"}]),
    Case("a date", "a: 2024-01-01\nb: 2024-01-01T00:00:00Z", [{"a": "2024-01-01", "b": "2024-01-01T00:00:00Z"}]),
    Case("a date as a key", "2024-01-01: a", [{"2024-01-01": "a"}]),
    Case("a bare off", "a: off\nb: 'off'", [{"a": False, "b": "off"}]),
    Case("numbers with a point", "a: 1.0\nb: .5", [{"a": 1.0, "b": 0.5}]),
    # What follows was measured on sigs.k8s.io/yaml v1.6.0, which kubectl reads with.
    Case("a time of day is no number of seconds", "a: 12:30:45", [{"a": "12:30:45"}]),
    Case("an equals sign", "a: =", [{"a": "="}]),
    Case("words for true", "[y, Yes, on, TRUE]", [[True, True, True, True]]),
    Case("words for false", "[N, no, Off, false]", [[False, False, False, False]]),
    Case("words that are text", "[nO, yep, 'no', Nil]", [["nO", "yep", "no", "Nil"]]),
    Case("words for nothing", "[~, null, Null, ]", [[None, None, None]]),
    Case("numbers to another base", "[017, 0o17, 0x1F, 0b11, 1_000, -0x1]", [[15, 15, 31, 3, 1000, -1]]),
    Case("a number beyond 64 bits", "a: 18446744073709551616", [{"a": 18446744073709551616.0}]),
    Case("a merge in quotes is a key", "a: {'<<': 1}", [{"a": {"<<": 1}}]),
    Case("tags that make text", "[!!str 1, !!timestamp 2024-01-01]", [["1", "2024-01-01"]]),
    Case("an exponent without a point", "a: 1e3", [{"a": 1000.0}]),
    Case("digits that make no number", f"a: {'9' * 400}", [{"a": "9" * 400}]),
    Case("a set", "a: !!set {b, c}", [{"a": {"b": None, "c": None}}]),
]


@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
def test_text_is_read(case):
    assert json.dumps(case.found) == json.dumps(read_documents(case.text))


# Each is refused with a line that begins like this; where it does not matter how, with "".
REFUSED = [
    Case("a key twice", "b: 1\na: 2\na: 3", 'line 3, column 1: key "a" stands twice'),
    Case("a key twice, deeper", "x:\n  a: 1\n  a: 3", "line 3, column 3: key"),
    Case("a number and a string as the same key", '"1": a\n1: b', "line "),
    Case("a key twice in JSON", '{"x": {"a": 1, "a": 2}}', 'line 1, column 16: key "a" stands twice'),
    Case("a key twice in JSON with tabs", '{\n\t"a": 1,\n\t"a": 2}', 'line 3, column 2: key "a" stands twice'),
    Case("a list as a key", "[a]: 1", "line 1, column 1: a key must be a string"),
    Case("a number that JSON does not have", '{"a": NaN}', ""),
    Case("a number that JSON does not have, in YAML", "a: .inf", ""),
    Case("a bracket that stays open", "a: [1", "line 2, column 1: did not find expected ',' or ']'"),
    Case("a second document that is broken", "a: 1\n---\nb: [", "line 4, column 1: "),
    Case("a tab", "a:\n\tb: 1", "line 2, column 1: "),
    Case("an alias of what another document names", "a: &x 1\n---\nb: *x", "line 3, column 4: found undefined alias"),
    Case("an alias of nothing", "a: *x", "line 1, column 4: found undefined alias"),
    Case("a tag of Python's", "a: !!python/object/apply:os.system [x]", "line 1, column 4: "),
    Case("a merge of what is no object", "a: {<<: 1}", "line 1, column 9: "),
    Case("a word called a whole number", "a: !!int x", ""),
    Case("nothing called a whole number", "a: !!int ''", ""),
    Case("nothing called a number", "a: !!float ''", ""),
    Case("a word called true or false", "a: !!bool x", ""),
    Case("a list called a date", "a: !!timestamp [x]", "line 1, column 4: "),
    Case("a number of 5,000 digits", f'{{"a": {"9" * 5000}}}', ""),
    Case("a picture", "\x89PNG\r\n\x1a\n\x00\x00", "unacceptable character"),
    Case("a zero byte", "a: \x00", "unacceptable character"),
    Case("half a character", "a: \ud800", ""),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_text_is_refused_in_one_line_that_says_where(case):
    with pytest.raises(DocumentError) as caught:
        read_documents(case.text)

    assert str(caught.value).startswith(case.found)
    assert 1 == len(str(caught.value).splitlines())


def laughs(levels, width, form):
    """Each line names the one above `width` times."""
    each = (form.format(", ".join([f"*a{i - 1}" if i else "k: 1"] * (width if i else 1))) for i in range(levels))
    return "\n".join(f"a{i}: &a{i} {text}" for i, text in enumerate(each))


LISTS, WORDS = "- " * 100_000, f"[{', '.join('x' * 1000)}]"
NESTED, ITSELF = "nested more than 500 levels deep", "stands inside what it names"
HOSTILE = [
    Case("100,000 open brackets", "[" * 100_000, NESTED),
    Case("100,000 open braces", "{" * 100_000, "line 1, column 2: "),
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
    Case("a billion laughs", laughs(12, 9, "[{}]"), "more than aliases may stand for"),
    Case(
        "a billion laughs in few lists",
        laughs(3, 1000, "[{}]").replace("[k: 1]", WORDS),
        "more than aliases may stand for",
    ),
    Case("a long text that is named often", f"- &a {'x' * 100_000}\n" + "- *a\n" * 100_000, "may stand for"),
    Case("a billion laughs by merging", laughs(10, 9, "{{<<: [{}]}}").replace("<<: [k: 1]", "k: 1"), "may stand for"),
]

READER = """\
import resource, sys
from webhook.documents.reading import read_documents
from webhook.documents.scalars import DocumentError
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


def test_nesting_that_people_write_is_read():
    assert read_documents("[" * 150 + "]" * 150) == read_documents("- " * 149 + "[]")


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
LISTED = [
    Case("an object by itself", "{apiVersion: v1, kind: Pod, metadata: {name: web}}", [POD]),
    Case("several documents", f"{json.dumps(POD)}\n---\n{json.dumps(POD)}", [POD, POD]),
    Case("a List of objects", json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD, POD]}), [POD, POD]),
    Case("a List that is empty", "{apiVersion: v1, kind: List, items: []}", []),
    Case("a List whose items are null", "{apiVersion: v1, kind: List, items: null}", []),
    Case("a typed list", "{apiVersion: v1, kind: PodList, items: [{metadata: {name: web}}]}", [POD]),
    Case("an item of a typed list that says its kind", json.dumps({"kind": "PodList", "items": [POD]}), [POD]),
    Case("a List in a List", json.dumps({"kind": "List", "items": [{"kind": "List", "items": [POD]}]}), [POD]),
    Case("a kind that ends like a List, without items", "{kind: AllowList}", [{"kind": "AllowList"}]),
    Case("another, whose items are its own", "{kind: AllowList, items: {}}", [{"kind": "AllowList", "items": {}}]),
    Case("an object that has items", "{kind: Manifest, items: [a]}", [{"kind": "Manifest", "items": ["a"]}]),
]


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case.name)
def test_the_items_of_lists_come_one_by_one(case):
    assert case.found == list(read_objects(case.text))


NO_OBJECTS = [
    Case("a word", "hello", "document 1: must be an object"),
    Case("a list", "[{kind: Pod}]", "document 1: must be an object"),
    Case("the second document is a number", "kind: Pod\n---\n1", "document 2: must be an object"),
    Case("an item is a number", "{kind: List, items: [{kind: Pod}, 1]}", "document 1: items[1]: must be an object"),
]


@pytest.mark.parametrize("case", NO_OBJECTS, ids=lambda case: case.name)
def test_what_is_no_object_is_refused_with_where_it_stands(case):
    with pytest.raises(DocumentError) as caught:
        list(read_objects(case.text))

    assert case.found == str(caught.value)
