"""Pages and events are decoded without what is not read; what has another form is decoded whole."""

from __future__ import annotations

import json
from typing import NamedTuple, get_type_hints

import pytest

from tests.support.build import pod
from tests.support.watching import SHOP
from webhook.cluster import decoding
from webhook.cluster.watched import WATCHED
from webhook.scheduler.snapshot import read_object

PARTS = {"metadata": decoding.WatchedMetadata, "spec": decoding.Spec, "status": decoding.Status}
OF_EVENTS = {("metadata", "resourceVersion"), ("message",), ("code",)}  # read by the informer itself


class Spy(dict):
    """A JSON object that notes which fields are asked for."""

    def __init__(self, path, asked):
        super().__init__({"nodeName": "n"} if path else {name: Spy((name,), asked) for name in PARTS})
        self.path, self.asked = path, asked

    def get(self, name, default=None):
        self.asked.add((*self.path, name))
        return super().get(name, default)


def test_what_is_decoded_is_what_is_read():
    """A field that `read_object` learns to read must be decoded, too, and one that it forgets must not."""
    asked = set()
    for kind in WATCHED:
        read_object(Spy((), asked), *kind.gvk)
    fields = {(part, name) for part, of in PARTS.items() for name in get_type_hints(of)}
    fields |= {(name,) for name in get_type_hints(decoding.Object) if name not in PARTS}

    assert asked - {(part,) for part in PARTS} == fields - OF_EVENTS


def test_a_page_is_decoded_without_what_is_not_read():
    page = {
        "kind": "PodList",
        "metadata": {"resourceVersion": "7", "continue": "next", "remainingItemCount": 3},
        "items": [{**pod(spec={"nodeName": "a"}), "status": {"phase": "Running", "podIP": "10.0.0.1"}}],
    }
    found = decoding.page(json.dumps(page).encode())

    assert page["metadata"] == found["metadata"]
    (item,) = found["items"]
    assert {"nodeName": "a"} == item["spec"]
    assert {"phase": "Running"} == item["status"]
    assert item["metadata"].items() <= page["items"][0]["metadata"].items()


@pytest.mark.parametrize("obj", SHOP, ids=lambda obj: obj["kind"])
def test_an_event_holds_all_that_is_read(obj):
    line = json.dumps({"type": "ADDED", "object": obj}).encode()
    found, gvk = decoding.event(line), (obj["apiVersion"], obj["kind"])

    assert "ADDED" == found["type"]
    assert read_object(obj, *gvk) == read_object(found["object"], *gvk)


class Odd(NamedTuple):
    name: str
    line: bytes


ODD = [
    Odd("a bookmark", b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}'),
    Odd("an error", b'{"type":"ERROR","object":{"kind":"Status","metadata":{},"message":"gone","code":410}}'),
    Odd("a spec that is no object", b'{"type":"ADDED","object":{"metadata":{"name":"a"},"spec":3}}'),
    Odd("null where an object is", b'{"type":"ADDED","object":{"metadata":null,"spec":null,"status":null}}'),
    Odd("no type", b'{"object":{"metadata":{"name":"a"}}}'),
    Odd("no object", b"[1]"),
    Odd("half a surrogate", rb'{"type":"ADDED","object":{"metadata":{"labels":{"a":"\ud800"}}}}'),
    Odd("what is no JSON to others", b'{"type":"ADDED","object":{"metadata":{"name":NaN,"uid":Infinity}}}'),
    Odd("a repeated key", b'{"type":"ADDED","object":{"metadata":{"name":"a"},"metadata":{"name":"b","name":"c"}}}'),
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
