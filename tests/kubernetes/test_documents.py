"""Text is read as kubectl and the API server read it; what is wrong is a DocumentError in one line."""

from __future__ import annotations

import json

import pytest

from tests.support.documents import Case, assert_read, assert_refused
from webhook.kubernetes.documents import decoded, encoding, is_json, read_documents, read_objects
from webhook.kubernetes.scalars import DocumentError

READ = [
    Case("empty text holds nothing", "", []),
    Case("comments and empty documents hold nothing", "# a\n---\n---\n# b\n", []),
    Case("several documents", "a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    Case("JSON", '{"a": [1, 2.5, true, null, "x"]}', [{"a": [1, 2.5, True, None, "x"]}]),
    Case("JSON with tabs, which YAML does not indent with", '{\n\t"a": {\n\t\t"b": 1\n\t}\n}', [{"a": {"b": 1}}]),
    Case("JSON with half characters that make one", '{"a": "\\ud83d\\ude00"}', [{"a": "😀"}]),
    Case("JSON documents between YAML's separators", '{"a": 1}\n---\n{"b": 2}', [{"a": 1}, {"b": 2}]),
    Case("a stream of JSON objects", '{"a": 1}\n{"b": 2}{"c": 3}\nnull', [{"a": 1}, {"b": 2}, {"c": 3}]),
    Case("an object in JSON, and a comment", '{"a": 1} # b', [{"a": 1}]),
    Case("YAML that begins with a brace", "{a: 1}", [{"a": 1}]),
    Case("a byte order mark", "\ufeffa: 1", [{"a": 1}]),
]


@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
def test_text_is_read(case):
    assert_read(case)


REFUSED = [
    Case("a key twice", "b: 1\na: 2\na: 3", 'line 3, column 1: duplicate key "a"'),
    Case("a key twice in JSON", '{"x": {"a": 1, "a": 2}}', 'line 1, column 16: duplicate key "a"'),
    Case("a key twice in JSON with tabs", '{\n\t"a": 1,\n\t"a": 2}', 'line 3, column 2: duplicate key "a"'),
    Case("a stream of JSON that is cut off", '{"a": 1}\n{"b": ', "line 2, column 7: Expecting value"),
    Case("a key twice in a stream of JSON", '{"a": 1}\n{"b": 1, "b": 2}', 'duplicate key "b"'),
    Case("a number that JSON does not have", '{"a": NaN}', ""),
    Case(
        "a bracket that stays open", "b: 1\na: [1", "line 2, column 4: did not find expected ',' or ']' while parsing"
    ),
    Case("a quote that stays open", 'b: 1\na: "1\nc: 2\n', "line 2, column 4: found unexpected end of stream while"),
    Case("a second document that is broken", "a: 1\n---\nb: [", "line 3, column 5: "),
    Case(
        "a tab",
        "a:\n\tb: 1",
        "line 2, column 1: found character that cannot start any token; write spaces in place of the tab; the",
    ),
    Case("a tab after spaces", "a:\n  b: 1\n \tc: 2", "line 3, column 2: found a tab character that"),
    Case("another character", "a: @", "line 1, column 4: found character that cannot start any token; the line is"),
    Case("line ends of YAML alone", "# \u2028# b\u2029\x85\r# c\na: [1", "line 2, column 4: "),
    Case("an unprintable character after them", "# \u2028# b\x85\na: \x00", "line 2, column 4: "),
    Case("a stream of JSON after them", '{"a": "\u2028"}\n{"b": ', "line 2, column 7: "),
    Case("a key twice after them", "# \u2028# b\nb: 1\nb: 2", "line 3, column 1: "),
    Case("a number of 5,000 digits", f'{{"a": {"9" * 5000}}}', ""),
    Case("a picture", "\x89PNG\r\n\x1a\n\x00\x00", "line 1, column 1: unacceptable character"),
    Case("a zero byte", "é: 1\nb: \x00", "line 2, column 4: unacceptable character"),
    Case("half a character", "a: \ud800", ""),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_text_is_refused_in_one_line_that_says_where(case):
    assert_refused(case)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a: 1\n  b: c: d\n", "b: c: d"),
        ("a: 1\nb: 2\r\na: 3\r\n", "a: 3"),
        ('{"x": 1}\n{"a": }', '{"a": }'),
        (f"a: {'x' * 999}: b", "x" * 50 + ": b"),
        (f"a: b: {'x' * 999}", "a: b: " + "x" * 94),
        ("a: b\nc: \x1b[31m", "c: \\u001b[31m"),
        ("# \u2028# b\u2029\x85\na: [\n", "a: ["),
        ("a: b\rc: [f\r", "a: b\\u000dc: [f"),
    ],
)
def test_an_error_quotes_its_line(text, quoted):
    with pytest.raises(DocumentError) as caught:
        read_documents(text)

    assert str(caught.value).endswith(f"; the line is {quoted}")
    assert quoted not in caught.value.message


@pytest.mark.parametrize(
    ("text", "read", "where"),
    [
        ("a: 1\na: 2", [{"a": 2}], (0, ("a",), 5)),
        ('{"x": {"a": 1, "a": 2}}', [{"x": {"a": 2}}], (0, ("x", "a"), 15)),
        ('{"x": 1}{"a": 1, "a": 2}', [{"x": 1}, {"a": 2}], (None, (), None)),
    ],
    ids=["YAML", "JSON", "a stream of JSON, whose lines are not known"],
)
def test_a_key_that_stands_twice_is_noted_where_that_is_asked_for(text, read, where):
    repeated = []

    assert read == [*read_documents(text, repeated)]
    assert [where] == [(one.document, one.path, one.error.index) for one in repeated]


def test_json_is_known():
    assert [True, True, False, False, False] == [
        is_json(text) for text in ('{"a": 1}', ' {"a": 1}\n[2] ', "{a: 1}", '{"a": 1} b', "")
    ]


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
    Case(
        "a custom one, whose items are its own",
        "{apiVersion: example.com/v1, kind: AllowList, items: {}}",
        [{"apiVersion": "example.com/v1", "kind": "AllowList", "items": {}}],
    ),
    Case("an object that has items", "{kind: Manifest, items: [a]}", [{"kind": "Manifest", "items": ["a"]}]),
]


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case.name)
def test_the_items_of_lists_come_one_by_one(case):
    assert case.found == list(read_objects(case.text))


DOCUMENT, ITEM = "wanted an object with apiVersion and kind", "wanted an object; remove it"
ITEMS = "wanted an array of objects, as kubectl get -o yaml prints"
NO_OBJECTS = [
    Case("a word", "hello", f'document 1: found "hello", {DOCUMENT}'),
    Case("a list", "[{kind: Pod}]", f"document 1: found an array, {DOCUMENT}"),
    Case("the second document is a number", "kind: Pod\n---\n1", f"document 2: found 1, {DOCUMENT}"),
    Case("an item is a number", "{kind: List, items: [{kind: Pod}, 1]}", f"document 1: items[1]: found 1, {ITEM}"),
    Case("an item is null", "{kind: PodList, items: [null]}", f"document 1: items[0]: found null, {ITEM}"),
    Case(
        "an item of an item is a word",
        "{kind: List, items: [{kind: List, items: [a]}]}",
        f'document 1: items[0].items[0]: found "a", {ITEM}',
    ),
    Case("a List of a number", "{kind: List, items: 3}", f"document 1: items: found 3, {ITEMS}"),
    Case("a List of a word", "{apiVersion: v1, kind: List, items: a}", f'document 1: items: found "a", {ITEMS}'),
    Case("a List of an object", "{kind: List, items: {a: 1}}", f"document 1: items: found an object, {ITEMS}"),
    Case("a List of nothing", "kind: List", f"document 1: items: found none, {ITEMS}"),
    Case(
        "a typed list of a number", "{apiVersion: v1, kind: NodeList, items: 3}", f"document 1: items: found 3, {ITEMS}"
    ),
    Case(
        "a typed list of nothing",
        "{apiVersion: apps/v1, kind: DeploymentList}",
        f"document 1: items: found none, {ITEMS}",
    ),
    Case(
        "a List in a List",
        "{kind: List, items: [{kind: List, items: 3}]}",
        f"document 1: items[0].items: found 3, {ITEMS}",
    ),
]


@pytest.mark.parametrize("case", NO_OBJECTS, ids=lambda case: case.name)
def test_what_is_no_object_is_refused_with_where_it_stands(case):
    with pytest.raises(DocumentError) as caught:
        list(read_objects(case.text))

    assert case.found == str(caught.value)


MARKED = "\ufeffa: é😀\r\n"


@pytest.mark.parametrize("name", ["utf-8", "utf-16-le", "utf-16-be"])
def test_a_text_survives_with_its_mark(name):
    content = MARKED.encode(name)

    assert name == encoding(content)
    assert content == content.decode(encoding(content)).encode(encoding(content))


@pytest.mark.parametrize("name", ["utf-8", "utf-16-le", "utf-16-be"])
def test_a_text_is_read_without_its_mark(name):
    assert MARKED[1:] == decoded(MARKED.encode(name))


@pytest.mark.parametrize("content", [b"", b"a: 1", b"\xff", "a: é".encode()])
def test_without_a_mark_it_is_utf_8(content):
    assert "utf-8" == encoding(content)
