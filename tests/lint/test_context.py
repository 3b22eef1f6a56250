"""Namespaces and nodes among the manifests bear on the others."""

from __future__ import annotations

import json

import pytest

from evenkeel.lint import context as module
from evenkeel.lint.context import Context, context_objects, may_hold_context
from evenkeel.scheduler.snapshot import Snapshot
from tests.support.build import namespace, node, pod, snapshot
from tests.support.lint import KEYS, MISSPELT, WEB, shown, terms
from webhook.spread.cluster_view import ClusterView

RUNNING = {"status": {"capacity": {"pods": "110"}}}


def bare_node(**metadata):
    """A node as a manifest may have it, without what its kubelet writes."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", **metadata}}


def context(*objects):
    return Context([one for obj in objects for one in context_objects(json.dumps(obj))])


def test_a_namespace_among_the_manifests_opts_out():
    skipping = namespace("shop", **{"evenkeel.dev/skip": "true"})
    found = context(skipping, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": 1}})

    assert [] == shown(f"{WEB}{KEYS}", terms(snapshot=found.snapshot(None)))
    assert 1 == len(shown(f"{WEB}{KEYS}", terms(snapshot=context(namespace("shop")).snapshot(None))))


def test_nodes_among_the_manifests_carry_their_keys():
    labelled = bare_node(labels={"kubernetes.io/zone": "a"}) | RUNNING
    text = WEB + MISSPELT.format("")

    assert [] == shown(text, terms(snapshot=context(labelled).snapshot(None)))


@pytest.mark.parametrize(
    "text", ["kind: Namespace", '{"kind":"Node"}', "kind: 'NamespaceList'", '  "kind" : "Namespace"']
)
def test_a_cheap_look_misses_nothing_that_tells(text):
    assert may_hold_context(text.encode())


def test_of_a_file_only_the_documents_that_may_hold_one_are_parsed(monkeypatch):
    read, real = [], module.read_documents
    monkeypatch.setattr(module, "read_documents", lambda text, _: read.append(text) or real(text, _))
    text = "---\n".join(json.dumps(one) + "\n" for one in (pod(), namespace("shop"), pod()))

    assert ["shop"] == [obj["metadata"]["name"] for obj in context_objects(text)]
    assert 1 == len(read)


def test_a_file_without_namespace_or_node_is_not_parsed():
    assert not may_hold_context(b"kind: Pod\nmetadata: {namespace: shop}")


def test_the_nodes_of_a_cluster_count_before_those_of_the_manifests():
    cluster = context(node("real")).snapshot(None)
    found = context(node("n"), namespace("shop"))

    assert ["real"] == [node.name for node in found.snapshot(cluster).nodes]
    assert {"shop": {"kubernetes.io/metadata.name": "shop"}} == dict(found.snapshot(cluster).namespaces)
    for known in (ClusterView(), Snapshot()):
        nodes = found.snapshot(known).nodes
        assert (type(known.nodes), ["n"]) == (type(nodes), [node.name for node in nodes])


def test_without_namespaces_and_nodes_the_cluster_stays_as_it_is():
    assert Context().snapshot(None) is None


def test_what_cannot_be_read_gives_no_context():
    assert [] == [*context_objects("kind: Node\n  a: [")]


def test_nodes_among_the_manifests_are_known_with_their_taints():
    there = {"apiVersion": "v1", "kind": "List", "items": [node(), node("n2", ["a=b:NoSchedule"], cordoned=True)]}
    plain, tainted = context(there).snapshot(None).nodes

    assert ((), False) == (plain.taints, plain.unschedulable)
    assert (("a", "b", "NoSchedule"), True) == (*tainted.taints, tainted.unschedulable)


def test_what_the_nodes_among_the_manifests_make_of_a_constraint():
    text = f"{WEB}{KEYS}        labelSelector: {{matchLabels: {{app: web}}}}\n"

    assert ["13:9-26 unknown-topology-key"] == shown(text, terms(snapshot=context(node()).snapshot(None)))
    assert [] == shown(text, terms(snapshot=context(namespace("shop")).snapshot(None)))


@pytest.mark.parametrize(
    ("written", "counts"),
    [
        (bare_node(), False),
        (bare_node(labels={"team": "a"}), False),
        (bare_node() | {"status": {}}, False),
        (bare_node() | {"status": "up"}, False),
        (bare_node(labels="x"), False),
        (bare_node() | RUNNING, True),
        (bare_node(labels={"kubernetes.io/hostname": "n"}), True),
    ],
    ids=["bare", "a label", "an empty status", "no status", "no labels", "a status", "a hostname"],
)
def test_a_node_counts_only_as_its_kubelet_has_written_it(written, counts):
    assert counts == bool(context(written, {"apiVersion": "v1", "kind": "List", "items": [written]}).objects)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("topology.kubernetes.io/zone", False),
        ("topology.kubernetes.io/region", False),
        ("node.kubernetes.io/instance-type", False),
        ("kubernetes.io/arch", False),
        ("topology.ebs.csi.aws.com/zone", False),
        ("cloud.google.com/gke-nodepool", False),
        ("rack", True),
        ("example.com/rack", True),
    ],
)
def test_of_what_a_kubelet_or_a_cloud_writes_nodes_in_manifests_prove_nothing(key, says):
    text = WEB + MISSPELT.format("").replace("kubernetes.io/zone", key)
    in_manifests, dumped = context(node(team="a")).snapshot(None), snapshot(node(team="a"))
    for when in ("DoNotSchedule", "ScheduleAnyway"):
        written = text.replace("DoNotSchedule", when)
        rules = [
            [one.partition(" ")[2] for one in shown(written, terms(snapshot=there))] for there in (in_manifests, dumped)
        ]
        assert [["unknown-topology-key"] * says, ["unknown-topology-key"]] == [
            [rule for rule in each if rule in ("unknown-topology-key", "unlabelled-nodes")] for each in rules
        ]


def test_a_node_in_manifests_that_lacks_what_another_has_is_named():
    text = WEB + MISSPELT.format("").replace("kubernetes.io/zone", "topology.kubernetes.io/zone")

    assert ["13:9-49 unlabelled-nodes"] == [
        one for one in shown(text, terms(snapshot=context(node(), node("n2", team="a")).snapshot(None))) if "unl" in one
    ]
