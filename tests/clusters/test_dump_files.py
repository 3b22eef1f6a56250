"""A cluster dump becomes a view or a snapshot; what cannot be used is named with its file."""

from __future__ import annotations

import gzip
import io
import json
import os
from functools import cache, partial
from typing import NamedTuple

import pytest

from evenkeel.clusters.contents import Contents
from evenkeel.clusters.dump_files import DumpError, contents, load, version_of
from evenkeel.clusters.dump_format import CompressedLines, write
from evenkeel.scheduler.snapshot import from_objects
from tests.support.build import namespace, pod, service, snapshot, workload
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.references import Owner
from webhook.spread.cluster_view import ClusterView, view_of

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}}
OBJECTS = [NODE, namespace(team="web"), service(), workload("ReplicaSet", name="web-1"), workload("Deployment")]
FULLY = partial(from_objects, features=LATEST)
LIST = {"apiVersion": "v1", "kind": "List", "items": OBJECTS}


def dump(folder, files):
    """A folder with these files, by their paths in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


FORMS = {
    "several documents": "\n---\n".join(json.dumps(one, indent=1) for one in OBJECTS),
    "a List": json.dumps(LIST),
    "several Lists": "\n---\n".join(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [one]}) for one in OBJECTS
    ),
}


def of_evenkeel(*objects, **more):
    """What `evenkeel dump` writes of these objects."""
    lines, out = CompressedLines(), io.BytesIO()
    for obj in objects:
        lines.add(obj)
    write(out, Contents(iter(()), {}, "", "v1.37.1", "2026-01-31T10:00:00Z", **more), lines)
    return out.getvalue()


@cache
def packed():
    return of_evenkeel(*OBJECTS)


def test_the_files_of_a_folder_are_read_in_the_order_of_their_names(tmp_path):
    """Where one is of a cluster with NodePools, all are."""
    names = ["e.json", "c.json", "d/b.json", "b.json", "a.json"]
    pools = [of_evenkeel(namespace(name), serves_node_pools=name == "b.json") for name in names]
    folder = dump(tmp_path, dict(zip(names, pools, strict=True)))

    assert sorted(names) == [obj["metadata"]["name"] for obj in contents(folder).objects]
    assert load(folder, view_of).serves_node_pools


@cache
def many():
    return of_evenkeel(*(pod(name=f"web-{i}", uid=f"{i * i:x}") for i in range(1000)))


@pytest.mark.parametrize("name", ["dump.yaml", "dump.gz", "dump"])
@pytest.mark.parametrize("form", [bytes, gzip.decompress], ids=["gzipped", "plain"])
def test_a_dump_of_evenkeel_is_known_by_its_first_line(tmp_path, name, form):
    (file,) = dump(tmp_path, {name: form(packed())}).iterdir()

    assert snapshot(*OBJECTS) == load(file, FULLY)
    found = contents(file)
    assert ("v1.37.1", "2026-01-31T10:00:00Z") == (found.kubernetes_version, found.time)
    assert len(OBJECTS) == len(list(found.objects))


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_gzipped_file_of_kubectl_is_read(tmp_path, text):
    (file,) = dump(tmp_path, {"dump": gzip.compress(text.encode())}).iterdir()

    assert snapshot(*OBJECTS) == load(file, FULLY)
    found = contents(file)
    assert (OBJECTS, {}, "", "", "", False) == (list(found.objects), *found[1:])


def test_a_dump_of_evenkeel_names_the_version_of_its_cluster(tmp_path):
    files = {"ours": packed(), "kubectl.yaml": json.dumps(LIST), "empty": ""}
    dump(tmp_path, files)
    os.mkfifo(tmp_path / "pipe")

    assert ["v1.37.1", "", ""] == [version_of(tmp_path / name) for name in files]
    assert "" == version_of(tmp_path) == version_of(tmp_path / "pipe") == version_of(tmp_path / "none")


def test_a_folder_may_hold_both(tmp_path):
    one, other = json.dumps(OBJECTS[0]), of_evenkeel(*OBJECTS[1:])
    dump(tmp_path, {"a.yaml": one, "b/c.jsonl.gz": other, "d.log.gz": "no"})

    assert snapshot(*OBJECTS) == load(tmp_path, FULLY)
    assert len(OBJECTS) == len(list(contents(tmp_path).objects))


HEADER = '{"kind": "ClusterDump", "version": 1}\n'
CUT, CHANGED = "is incomplete: a disk was full, or a copy failed; dump again", "is damaged ("
UNUSABLE = {
    "cut at once": (lambda: packed()[:15], CUT),
    "cut in the middle": (lambda: many()[: len(many()) // 2], CUT),
    "cut before its end": (lambda: many()[:-4], CUT),
    "kubectl's, cut": (lambda: gzip.compress(json.dumps(LIST).encode())[:-9], CUT),
    "changed in the middle": (lambda: many()[:3000] + b"xxxxxxxx" + many()[3008:], ""),  # It depends on the bytes.
    "changed at its end": (lambda: many()[:-8] + b"xxxxxxxx", CHANGED),
    "gzipped only at first sight": (b"\x1f\x8bhello, this is no gzip at all", CHANGED),
    "more after its end": (lambda: packed() + b"hello", CHANGED),
    "of a newer evenkeel": (
        HEADER.replace("1", "2"),
        "version: found 2, wanted 1; read it with the evenkeel that wrote",
    ),
    "of no version": ('{"kind": "ClusterDump"}', "version: found null, wanted 1; read it with the evenkeel that wrote"),
    "a plain one, cut": (
        HEADER + '{"apiVersion": "v1", "kind": "No',
        "line 2: must be a JSON object; the file is incomplete",
    ),
    "a first line that is no JSON": (gzip.compress(b"hello\n"), 'document 1: found "hello", wanted an'),
    "text that is no text": (gzip.compress(b"\xff"), "is not UTF-8"),
    "nothing": (gzip.compress(b""), "is empty, wanted the output of kubectl get -o yaml; see what kubectl printed"),
}


@pytest.mark.parametrize(("content", "message"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_dump_that_cannot_be_used_is_named_in_one_line(tmp_path, content, message):
    (file,) = dump(tmp_path, {"dump.jsonl.gz": content() if callable(content) else content}).iterdir()
    for read in (lambda path: load(path, view_of), lambda path: list(contents(path).objects)):
        with pytest.raises(DumpError) as caught:
            read(file)

        assert str(caught.value).startswith(f"{file}: {message}")
        assert "\n" not in str(caught.value)


def test_a_wrong_field_in_a_dump_is_named(tmp_path):
    (file,) = dump(tmp_path, {"dump": of_evenkeel(namespace(tier=1))}).iterdir()
    with pytest.raises(DumpError) as caught:
        load(file, view_of)

    assert f"{file}: Namespace shop: metadata.labels.tier: found 1, must be a string" == str(caught.value)


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["dump.yaml", "dump.json", "dump"])
def test_a_file_is_read_whatever_its_form_and_name(tmp_path, name, text):
    (file,) = dump(tmp_path, {name: text}).iterdir()

    assert snapshot(*OBJECTS) == load(file, FULLY)


def test_a_folder_is_read_with_what_lies_below_it(tmp_path):
    texts = map(json.dumps, OBJECTS)
    names = ("nodes.yaml", "a/namespaces.yml", "a/services.json", "b/sets.yaml", "b/deployments.yaml")
    dump(tmp_path, {**dict(zip(names, texts, strict=True)), "README.md": "no: [YAML", "a/notes": "\x00"})

    assert snapshot(*OBJECTS) == load(tmp_path, FULLY)


def test_what_the_objects_say_is_found():
    found = snapshot(*OBJECTS)

    assert [("n1", {"zone": "a"})] == [(node.name, node.labels) for node in found.nodes]
    assert {"shop": {"team": "web", "kubernetes.io/metadata.name": "shop"}} == found.namespaces
    assert ["web"] == [one.name for one in found.services_of("shop", {"app": "web", "v": "1"})]
    assert () == found.services_of("bank", {"app": "web"}) == found.services_of("shop", {"app": "db"})
    owner = found.controller("shop", Owner("apps/v1", "ReplicaSet", "web-1"))
    assert "app=web" == str(owner.selector)


def test_the_items_of_a_typed_list_carry_no_kind(tmp_path):
    """kubectl get --raw /api/v1/nodes"""
    item = {"metadata": NODE["metadata"]}
    dump(tmp_path, {"nodes.json": json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [item]})})

    assert snapshot(NODE) == load(tmp_path, FULLY)


class Case(NamedTuple):
    name: str
    given: object
    found: str = ""


PASSED_OVER = [
    Case("a Pod", pod()),
    Case("a kind that nobody knows", {"apiVersion": "a/v1", "kind": "B", "spec": {"selector": 1}}),
    Case("another group's Service", service() | {"apiVersion": "serving.knative.dev/v1"}),
    Case("an old ReplicaSet", workload("ReplicaSet") | {"apiVersion": "extensions/v1beta1"}),
    Case("a Service whose selector is {}, which the API server stores as absent", service(selector={})),
    Case("a Service without selector", service() | {"spec": {"type": "ExternalName"}}),
    Case("a Service whose selector is null", service() | {"spec": {"selector": None}}),
    Case("what says no kind", {"metadata": {"name": "a"}}),
    Case("what has a list for its kind", {"apiVersion": {}, "kind": ["Node"]}),
]


@pytest.mark.parametrize("case", PASSED_OVER, ids=lambda case: case.name)
def test_what_tells_nothing_is_passed_over(tmp_path, case):
    assert ClusterView() == load(dump(tmp_path, {"a.json": json.dumps(case.given)}), view_of)


def test_a_controller_whose_selector_the_api_refuses_has_none(tmp_path):
    wrong = workload("ReplicaSet", spec={"selector": {"matchLabels": {"a b": "c"}}})
    found = load(dump(tmp_path, {"a.json": json.dumps(wrong)}), view_of)

    assert [None] == [one.selector for those in found.controllers.values() for one in those.values()]


BROKEN = [
    Case("broken YAML", "a: [", "line 1, column 5: did not find expected node content; the line is a: ["),
    Case(
        "nothing, as after a kubectl get that failed",
        "\n",
        "is empty, wanted the output of kubectl get -o yaml; see what kubectl printed",
    ),
    Case("what is no object", "- a", 'document 1: found ["a"], wanted an object with apiVersion and kind'),
    Case(
        "what is no object, in a List",
        "{kind: List, items: [1]}",
        "document 1: items[0]: found 1, wanted an object; remove it",
    ),
    Case(
        "a List without an array",
        "{apiVersion: v1, kind: List, items: 3}",
        "document 1: items: found 3, wanted an array of objects, as kubectl get -o yaml prints",
    ),
    Case("bytes that are no text", b"\xff", "is not UTF-8"),
    Case(
        "a label that is no string",
        json.dumps(namespace(tier=1)),
        "Namespace shop: metadata.labels.tier: found 1, must be a string",
    ),
    Case(
        "labels that are no object",
        json.dumps(NODE | {"metadata": {"name": "n1", "labels": ["a"]}}),
        'Node n1: metadata.labels: found ["a"], must be an object',
    ),
    Case(
        "a selector of a Service that is no map of strings",
        json.dumps(service(selector={"app": {}})),
        "Service shop/web: spec.selector.app: found {}, must be a string",
    ),
    Case(
        "a name that is a number",
        json.dumps(service(name=1)),
        "Service shop/: metadata.name: found 1, must be a string",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_what_is_broken_is_named_with_its_file(tmp_path, case):
    """Among files that are not."""
    dump(tmp_path, {"a.yaml": json.dumps(NODE), "b.yaml": case.given, "c.yaml": json.dumps(LIST)})
    with pytest.raises(DumpError) as caught:
        load(tmp_path, view_of)

    assert f"{tmp_path / 'b.yaml'}: {case.found}" == str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DumpError) as caught:
        load(tmp_path / "nodes.yaml", view_of)

    assert f"{tmp_path / 'nodes.yaml'}: No such file or directory" == str(caught.value)


def test_a_folder_without_a_dump_is_named(tmp_path):
    with pytest.raises(DumpError) as caught:
        load(dump(tmp_path, {"README.md": ""}), view_of)

    assert f"{tmp_path}: found no file that ends in .json, .jsonl, .yaml, .yml, or these with .gz" == str(caught.value)


def test_a_folder_whose_name_ends_like_a_file_is_a_folder(tmp_path):
    dump(tmp_path, {"shop.yaml/nodes.yaml": json.dumps(NODE)})

    assert snapshot(NODE) == load(tmp_path, FULLY)


def test_resources_are_read_where_a_version_is_given(tmp_path):
    node = {**NODE, "status": {"allocatable": {"cpu": "4"}}}
    bound = pod(uid="u1", spec={"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "1500m"}}}]})
    file = tmp_path / "dump.jsonl.gz"
    file.write_bytes(of_evenkeel(node, bound))

    assert snapshot(node, bound, features=LATEST) == load(file, FULLY)
    assert 1500 == load(file, FULLY).usage["n1"].milli_cpu
    assert not load(file, view_of).knows_pods


def test_a_request_that_cannot_be_read_is_named(tmp_path):
    bound = pod(uid="u1", spec={"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "1,5"}}}]})
    file = dump(tmp_path, {"a.json": json.dumps(bound)}) / "a.json"
    with pytest.raises(DumpError) as error:
        load(file, FULLY)

    wanted = "must be a quantity such as 500m, 2 or 1.5Gi"
    path = "spec.containers[0].resources.requests.cpu"
    assert f'{file}: Pod shop/web-1: {path}: found "1,5", {wanted}' == str(error.value)
