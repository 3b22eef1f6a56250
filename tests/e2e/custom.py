"""Kinds of other groups, defined without a schema: anything passes the API server that is sent under their names."""

from __future__ import annotations

from collections.abc import Mapping

from tests.e2e.api import ApiError
from tests.e2e.plane import ControlPlane
from tests.support.serving import until
from webhook.kubernetes.kinds import Kind

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def define(plane: ControlPlane, *kinds: Kind) -> None:
    """Define these kinds, and wait until they are served."""
    for kind in kinds:
        definition = _definition(kind)
        if not plane.api.exists(f"{DEFINITIONS}/{definition['metadata']['name']}"):
            plane.api.call("POST", DEFINITIONS, definition)
        until(lambda kind=kind: _served(plane, kind), f"{kind.kind} to be served")


def path_of(kind: Kind, namespace: str) -> str:
    """Where the objects of a kind are, in a namespace."""
    return f"/api{'s' if '/' in kind.api_version else ''}/{kind.api_version}/namespaces/{namespace}/{kind.resource}"


def _served(plane: ControlPlane, kind: Kind) -> bool:
    try:
        return bool(plane.api.call("GET", path_of(kind, "default")))
    except ApiError as error:
        if error.status in (404, 429):  # not known yet; known, and its storage is being made
            return False
        raise


def _definition(kind: Kind) -> Mapping[str, object]:
    group, _, version = kind.api_version.rpartition("/")
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": ANYTHING}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.resource}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "plural": kind.resource},
            "versions": [served],
        },
    }
