"""What is watched is read."""

from __future__ import annotations

import ast

import pytest

from tests.support import ROOT
from webhook.cluster.listed_resources import LISTED_RESOURCES
from webhook.cluster.watched_resources import BY_KIND, WATCHED, Watched

# What else of a Snapshot shows a kind; those that fill it are no readers.
SHOWN_BY = {
    "Node": {"nodes"},
    "Namespace": {"namespaces"},
    "Service": {"services", "services_of"},
    **{kind: {"controllers", "controller"} for kind in ("ReplicationController", "ReplicaSet", "StatefulSet")},
}
DECIDING = ("admission", "findings", "policy", "rules", "spread")


def read_attributes():
    """The attributes that the code which decides reads of anything that is named after a snapshot."""
    files = [file for folder in DECIDING for file in (ROOT / "webhook" / folder).glob("*.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).rpartition(".")[2] in ("snapshot", "view")
    }


@pytest.mark.parametrize("kind", WATCHED, ids=lambda kind: kind.kind)
def test_a_kind_that_is_watched_is_read(kind):
    assert not SHOWN_BY[kind.kind].isdisjoint(read_attributes())


def test_a_kind_is_named_as_kubectl_names_it():
    """Without the groups of Kubernetes itself."""
    names = {kind.kind: kind.name for kind in LISTED_RESOURCES}

    assert ("pods", "poddisruptionbudgets", "priorityclasses") == tuple(
        names[kind] for kind in ("Pod", "PodDisruptionBudget", "PriorityClass")
    )
    assert "jobsets.jobset.x-k8s.io" == Watched("jobset.x-k8s.io/v1", "JobSet", "jobsets", "").name


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "path"),
    [
        ("v1 Node", "", "", "/api/v1/nodes"),
        ("v1 Node", "shop", "", "/api/v1/nodes"),
        ("v1 Service", "shop", "", "/api/v1/namespaces/shop/services"),
        ("v1 Node", "", "n1", "/api/v1/nodes/n1"),
        ("v1 Service", "", "", "/api/v1/services"),
        ("apps/v1 ReplicaSet", "shop", "web", "/apis/apps/v1/namespaces/shop/replicasets/web"),
        ("v1 Namespace", "shop", "shop", "/api/v1/namespaces/shop"),
    ],
)
def test_where_a_kind_and_an_object_of_it_are_found(kind, namespace, name, path):
    assert path == BY_KIND[tuple(kind.split())].path(namespace, name)


def test_the_kinds_that_are_watched_are_those_that_a_snapshot_holds_but_for_owners_of_owners():
    assert ("Node", "Namespace", "Service", "ReplicationController", "ReplicaSet", "StatefulSet") == tuple(
        one.kind for one in WATCHED
    )
    assert ("", "apps") == (WATCHED[0].api_group, WATCHED[-1].api_group)
    assert "/apis/apps/v1/namespaces/shop/statefulsets/db" == WATCHED[-1].path("shop", "db")
    assert "/api/v1/namespaces/shop" == WATCHED[1].path("shop", "shop")
