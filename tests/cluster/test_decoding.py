"""Pages and events are decoded without what is not read; what has another form is decoded whole."""

from __future__ import annotations

import json
from typing import NamedTuple, get_args, get_origin, get_type_hints

import pytest

from tests.support.placing import node
from tests.support.watching import SHOP
from webhook.cluster import decoding
from webhook.cluster.watched_resources import WATCHED
from webhook.spread.cluster_view import read_view_object

OF_EVENTS = {("metadata", "resourceVersion"), ("message",), ("code",)}  # read by the informer itself


class Spy(dict):
    """A JSON object of some type that notes which fields are asked for."""

    def __init__(self, of, path, asked):
        super().__init__(nodeName="n", name="i" if "init" in str(path) else "c", type="PodResizePending")
        for name, (part, many) in parts(of).items():
            spy = Spy(part, (*path, name), asked)
            self[name] = [spy] if many else spy
        self.path, self.asked = path, asked

    def get(self, name, default=None):
        self.asked.add((*self.path, name))
        return super().get(name, default)


def parts(of):
    """The fields of a type that are objects of a type, or lists of such."""
    found = {}
    for name, hint in get_type_hints(of).items():
        inner = next((one for one in get_args(hint) if one is not type(None)), None)
        if inner is not None:
            found[name] = (get_args(inner)[0], True) if get_origin(inner) is list else (inner, False)
    return found


def leaves(of, path=()):
    """The path of every field that is decoded whole."""
    inner = parts(of)
    for name in get_type_hints(of):
        if name in inner:
            yield from leaves(inner[name][0], (*path, name))
        else:
            yield (*path, name)


def test_what_is_decoded_is_what_is_read():
    """A field that `read_view_object` learns to read must be decoded, too, and one that it forgets must not."""
    asked = set()
    for kind in WATCHED:
        read_view_object(Spy(decoding.FORM, (), asked), *kind.gvk)
    found = set(leaves(decoding.FORM))

    assert {path for path in asked if not any(path == one[: len(path)] for one in found - {path})} == found - OF_EVENTS


def test_a_page_is_decoded_without_what_is_not_read():
    page = {
        "kind": "NodeList",
        "metadata": {"resourceVersion": "7", "continue": "next", "remainingItemCount": 3},
        "items": [{**node("n1", "a"), "status": {"allocatable": {"cpu": "4"}, "images": []}}],
    }
    found = decoding.page(json.dumps(page).encode())

    assert page["metadata"] == found["metadata"]
    (item,) = found["items"]
    assert {} == item.get("status", {})
    assert item["metadata"].items() <= page["items"][0]["metadata"].items()


@pytest.mark.parametrize("obj", SHOP, ids=lambda obj: obj["kind"])
def test_an_event_holds_all_that_is_read(obj):
    line = json.dumps({"type": "ADDED", "object": obj}).encode()
    found, gvk = decoding.event(line), (obj["apiVersion"], obj["kind"])

    assert "ADDED" == found["type"]
    assert read_view_object(obj, *gvk) == read_view_object(found["object"], *gvk)


class Odd(NamedTuple):
    name: str
    line: bytes


ODD = [
    Odd("a bookmark", b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}'),
    Odd("an error", b'{"type":"ERROR","object":{"kind":"Status","metadata":{},"message":"gone","code":410}}'),
    Odd("a spec that is no object", b'{"type":"ADDED","object":{"metadata":{"name":"a"},"spec":3}}'),
    Odd("null where an object is", b'{"type":"ADDED","object":{"metadata":null,"spec":null}}'),
    Odd("no type", b'{"object":{"metadata":{"name":"a"}}}'),
    Odd("no object", b"[1]"),
    Odd("half a surrogate", rb'{"type":"ADDED","object":{"metadata":{"labels":{"a":"\ud800"}}}}'),
    Odd("what is no JSON to others", b'{"type":"ADDED","object":{"metadata":{"name":NaN,"uid":Infinity}}}'),
    Odd("a repeated key", b'{"type":"ADDED","object":{"metadata":{"name":"a"},"metadata":{"name":"b","name":"c"}}}'),
    Odd("a selector that is no object", b'{"type":"ADDED","object":{"metadata":{},"spec":{"selector":7}}}'),
    Odd("a long integer", b'{"type":"ADDED","object":{"metadata":{"name":100000000000000000000000000000000}}}'),
]


@pytest.mark.parametrize("case", ODD, ids=lambda case: case.name)
def test_what_is_odd_is_decoded_as_the_json_module_does(case):
    found, whole = decoding.event(case.line), json.loads(case.line)
    if isinstance(whole, dict):
        whole["object"].pop("kind", None)
        found["object"].pop("kind", None)

    assert repr(whole) == repr(found)


@pytest.mark.parametrize("body", [b"", b"{", b'{"items":[{"metadata":{"name":"\xff"}}]}', b"[" * 100_000])
def test_what_is_no_json_is_an_error(body):
    with pytest.raises((ValueError, RecursionError)):
        decoding.page(body)
