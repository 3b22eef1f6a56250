"""Pages and events are decoded without what is not read; what has another form is decoded whole."""

from __future__ import annotations

import json
from typing import NamedTuple, get_args, get_origin, get_type_hints

import pytest

from tests.support.build import pod
from tests.support.watching import SHOP
from webhook.cluster import decoding
from webhook.cluster.watched_resources import WATCHED
from webhook.scheduler.features import LATEST, features
from webhook.scheduler.snapshot import read_object

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


FORMS = {"plain": (decoding.PLAIN.form, None), "with resources": (decoding.WITH_RESOURCES.form, LATEST)}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_decoded_is_what_is_read(form):
    """A field that `read_object` learns to read must be decoded, too, and one that it forgets must not."""
    of, features = FORMS[form]
    asked = set()
    for kind in WATCHED:
        read_object(Spy(of, (), asked), *kind.gvk, features)
    found = set(leaves(of))

    assert {path for path in asked if not any(path == one[: len(path)] for one in found - {path})} == found - OF_EVENTS


def test_a_page_is_decoded_without_what_is_not_read():
    page = {
        "kind": "PodList",
        "metadata": {"resourceVersion": "7", "continue": "next", "remainingItemCount": 3},
        "items": [{**pod(spec={"nodeName": "a"}), "status": {"phase": "Running", "podIP": "10.0.0.1"}}],
    }
    found = decoding.PLAIN.page(json.dumps(page).encode())

    assert page["metadata"] == found["metadata"]
    (item,) = found["items"]
    assert {"nodeName": "a"} == item["spec"]
    assert {"phase": "Running"} == item["status"]
    assert item["metadata"].items() <= page["items"][0]["metadata"].items()


@pytest.mark.parametrize("obj", SHOP, ids=lambda obj: obj["kind"])
def test_an_event_holds_all_that_is_read(obj):
    line = json.dumps({"type": "ADDED", "object": obj}).encode()
    found, gvk = decoding.PLAIN.event(line), (obj["apiVersion"], obj["kind"])

    assert "ADDED" == found["type"]
    assert read_object(obj, *gvk) == read_object(found["object"], *gvk)


CONTAINER = {"name": "c", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
STATUSES = [{"name": "c", "resources": {"requests": {"cpu": 3}, "limits": {}}, "allocatedResources": {"cpu": "2"}}]
POD = {
    **pod(
        spec={
            "nodeName": "n1",
            "containers": [{**CONTAINER, "image": "i", "env": [{"name": "a"}]}, {"name": "d", "resources": None}],
            "initContainers": [{**CONTAINER, "restartPolicy": "Always"}],
            "overhead": {"cpu": "250m"},
            "resources": {"requests": {"memory": "1Gi"}},
            "volumes": [{}],
        }
    ),
    "status": {
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "reason": "Infeasible", "message": "m"}],
        "containerStatuses": STATUSES,
        "initContainerStatuses": STATUSES,
        "resources": {"requests": {"cpu": "9"}},
        "allocatedResources": {"cpu": "8"},
    },
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4", "pods": "9"}, "capacity": {"cpu": "5"}, "images": [{"names": []}]},
}


@pytest.mark.parametrize("minor", range(32, 38))
@pytest.mark.parametrize("obj", [POD, NODE, *SHOP], ids=lambda obj: obj["kind"])
def test_resources_are_decoded_where_they_are_read(obj, minor):
    line = json.dumps({"type": "ADDED", "object": obj}).encode()
    found, gvk = decoding.WITH_RESOURCES.event(line)["object"], (obj["apiVersion"], obj["kind"])

    assert read_object(obj, *gvk, features(minor)) == read_object(found, *gvk, features(minor))
    assert read_object(obj, *gvk) == read_object(found, *gvk)


def test_of_resources_only_what_is_read_is_decoded():
    page = json.dumps({"metadata": {}, "items": [POD, NODE]}).encode()
    pod_, node = decoding.WITH_RESOURCES.page(page)["items"]

    assert {"name": "c", "resources": {"requests": {"cpu": "1"}}} == pod_["spec"]["containers"][0]
    assert "volumes" not in pod_["spec"]
    assert {"allocatable"} == set(node["status"])


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
    Odd("a container that is no object", b'{"type":"ADDED","object":{"metadata":{},"spec":{"nodeName":7}}}'),
    Odd("a long integer", b'{"type":"ADDED","object":{"metadata":{"name":100000000000000000000000000000000}}}'),
]


@pytest.mark.parametrize("form", [decoding.PLAIN, decoding.WITH_RESOURCES], ids=FORMS)
@pytest.mark.parametrize("case", ODD, ids=lambda case: case.name)
def test_what_is_odd_is_decoded_as_the_json_module_does(case, form):
    found, whole = form.event(case.line), json.loads(case.line)
    if isinstance(whole, dict):
        whole["object"].pop("kind", None)
        found["object"].pop("kind", None)

    assert repr(whole) == repr(found)


@pytest.mark.parametrize("body", [b"", b"{", b'{"items":[{"metadata":{"name":"\xff"}}]}', b"[" * 100_000])
def test_what_is_no_json_is_an_error(body):
    with pytest.raises((ValueError, RecursionError)):
        decoding.PLAIN.page(body)
