"""The file of a dump: a header, and one object a line in order; what was cut off or changed is found."""

from __future__ import annotations

import gzip
import io
import json
from itertools import pairwise

import pytest

from evenkeel.clusters.contents import Contents, FormatError
from evenkeel.clusters.dump_format import CompressedLines, header, is_header, read, reduced, write
from tests.support.build import key_of, namespace, pod, service, workload
from webhook.kubernetes.kinds import KINDS

OBJECTS = [
    *(pod(name=f"web-{i:03}", namespace=of) for of in ("shop-eu", "shop") for i in range(300)),
    *(namespace(name=of) for of in ("shop", "shop-eu")),
    workload("Deployment"),
]
HEADER = {"kind": "ClusterDump", "version": 1, "kubernetesVersion": "v1.37.1", "time": "2026-01-31T10:00:00Z"}
PLAIN = Contents(iter(()), {}, "", "v1.37.1", "2026-01-31T10:00:00Z")


def written(objects, contents=PLAIN):
    """The bytes of a dump."""
    lines, out = CompressedLines(), io.BytesIO()
    for obj in objects:
        lines.add(obj)
    write(out, contents, lines)
    return out.getvalue()


def str_of(obj):
    return json.dumps(obj, sort_keys=True)


def lines_of(dump):
    return gzip.decompress(dump).splitlines(keepends=True)


def test_the_header_comes_first():
    first, *_ = lines_of(written(OBJECTS))

    assert list(HEADER.items()) == list(json.loads(first).items())
    assert is_header(first)


def test_objects_are_in_the_order_of_kind_namespace_and_name():
    """An API server lists `shop-eu` before `shop`."""
    found = [json.loads(line) for line in lines_of(written(OBJECTS))[1:]]
    keys = [(obj["kind"], *key_of(obj)) for obj in found]

    assert all(one < other for one, other in pairwise(keys))
    assert sorted(OBJECTS, key=lambda obj: (obj["kind"], *key_of(obj))) == found


def test_objects_of_several_files_come_in_order_too():
    """A line that ends another in the middle of its text does not count."""
    odd = pod(name="a", labels={"b": "\x85\u2028\n\r"})

    assert lines_of(written([odd, *OBJECTS])) == lines_of(written([*reversed(OBJECTS), odd]))


def test_a_chunk_ends_with_a_line(monkeypatch):
    monkeypatch.setattr("evenkeel.clusters.dump_format.CHUNK", 1000)
    lines = CompressedLines()
    for obj in OBJECTS:
        lines.add(obj)
    chunks = list(lines)

    assert len(chunks) > 50
    assert all(chunk.endswith(b"\n") for chunk in chunks)
    assert len(OBJECTS) == b"".join(chunks).count(b"\n")


def test_the_same_objects_give_the_same_bytes():
    assert written(OBJECTS) == written(OBJECTS)


def test_a_dump_is_read_as_it_was_written():
    first, *rest = lines_of(written(OBJECTS))
    found = read(first, rest)

    assert PLAIN[1:] == found[1:]
    assert sorted(OBJECTS, key=str_of) == sorted(found.objects, key=str_of)


def test_a_dump_says_what_is_not_in_it():
    limited = PLAIN._replace(namespace="shop", missing={"nodes": "403"})

    assert HEADER | {"namespace": "shop", "missing": {"nodes": "403"}} == header(limited)
    assert limited[1:] == read(json.dumps(header(limited)).encode(), ())[1:]


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'"ClusterDump"', b'{"kind": "Pod"}', b'{"a": "ClusterDump"}'])
def test_another_first_line_is_no_header(line):
    assert not is_header(line)


@pytest.mark.parametrize("version", [2, None, "1"], ids=json.dumps)
def test_another_version_is_refused(version):
    with pytest.raises(FormatError) as error:
        read(json.dumps(HEADER | {"version": version}).encode(), ())

    assert f"version: found {json.dumps(version)}, wanted 1; read it with the evenkeel" in str(error.value)


@pytest.mark.parametrize("line", [b"", b"{", b'{"kind": "Pod"', b"[1]", b"hello", b"\xff", b"[" * 100_000])
def test_a_line_that_is_no_object_is_named(line):
    found = read(json.dumps(HEADER).encode(), [b'{"kind": "Pod"}\n', line])
    with pytest.raises(FormatError, match=r"^line 3: must be a JSON object; the file is incomplete or changed"):
        list(found.objects)


def test_what_is_not_written_is_not_believed():
    """A header may be changed by hand: what has another type reads as absent."""
    found = read(json.dumps(HEADER | {"time": 1, "missing": ["a"], "namespace": None}).encode(), ())

    assert ("", {}, "", "v1.37.1") == (found.time, found.missing, found.namespace, found.kubernetes_version)


def test_a_file_of_kubectl_is_reduced_to_what_is_listed_and_read():
    foreign = {"apiVersion": "a/v1", "kind": "Deployment", "spec": {"secret": 1}}
    image = service() | {"status": {"loadBalancer": {}}}

    assert [service() | {"status": {}}] == list(reduced([foreign, image, {"kind": "Secret", "apiVersion": "v1"}]))


def test_an_object_that_cannot_be_reduced_is_named():
    with pytest.raises(ValueError, match=r"^Pod shop/web-1: Expected `object \| null`, got `int` - at `\$\.spec`$"):
        list(reduced([pod() | {"spec": 3}]))


def test_custom_resources_are_kept_as_their_kinds_describe_them():
    rollout = workload("Rollout", spec={"password": "x"}) | {"apiVersion": "argoproj.io/v1alpha1"}
    (found,) = reduced([rollout], KINDS)

    assert {"replicas", "selector", "template"} == found["spec"].keys()
    assert [] == [*reduced([rollout])]
