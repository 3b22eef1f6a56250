"""Builders: the least that an object needs, so that a case shows only what differs."""

from __future__ import annotations

import json

from evenkeel.scheduler.snapshot import Snapshot, from_objects
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.features import LATEST
from webhook.policy.parsing import parse_policy
from webhook.policy.policy import Policy
from webhook.policy.schema import POLICY_API_VERSION as POLICY_API_VERSION
from webhook.policy.schema import POLICY_KIND
from webhook.spread.cluster_view import view_of

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
SELECTOR = {"matchLabels": {"app": "web"}}


def constraint(**fields):
    """A valid hard constraint on zones; a field that is given as None is left out."""
    base = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR}
    return {name: value for name, value in (base | fields).items() if value is not None}


def honoring(**fields):
    """Likewise, but such that a lost zone bars no other: no rule finds anything in it."""
    return constraint(nodeTaintsPolicy="Honor", **fields)


def selecting(*expressions, **labels):
    """The selector of a constraint: expressions, and labels that must be there."""
    return {"labelSelector": {"matchLabels": labels, "matchExpressions": list(expressions)}}


def term(key, operator, *values):
    """One expression of a selector."""
    return {"key": key, "operator": operator, "values": list(values)}


TERM = term("app", "In", "web")


def keys(*keys, **fields):
    """The matchLabelKeys of a constraint, with a selector unless `fields` say otherwise."""
    return {"matchLabelKeys": [*keys], **(fields or selecting(x="y"))}


def pod(*constraints, labels=None, owner=None, spec=None, **metadata):
    """A Pod with the label app=web; `owner` is `Kind/name`."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-1",
            "namespace": "shop",
            "labels": {"app": "web"} if labels is None else labels,
            **(owned_by(owner) if owner else {}),
            **metadata,
        },
        "spec": {**({"topologySpreadConstraints": list(constraints)} if constraints else {}), **(spec or {})},
    }


def priority_class(name, value, **fields):
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


def runtime_class(name, overhead=None, node_selector=None, tolerations=()):
    scheduling = {"nodeSelector": node_selector, "tolerations": list(tolerations)}
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": name},
        "handler": "runc",
        **({"overhead": {"podFixed": overhead}} if overhead else {}),
        **({"scheduling": scheduling} if node_selector is not None else {}),
    }


def limit_range(name, namespace="shop", *limits):
    """A LimitRange of containers, unless one of the limits says otherwise."""
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"limits": [{"type": "Container", **limit} for limit in limits]},
    }


API_VERSIONS = {"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1", "PodTemplate": "v1"}


def workload(kind, *constraints, labels=None, annotations=None, template=None, owner=None, spec=None, **metadata):
    """A workload whose template has the label app=web."""
    pod_template = {
        "metadata": {"labels": {"app": "web"} if labels is None else labels, **(template or {})},
        "spec": {"topologySpreadConstraints": list(constraints)} if constraints else {},
    }
    inner = {"replicas": 3, "selector": SELECTOR, "template": pod_template, **(spec or {})}
    return {
        "apiVersion": API_VERSIONS.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {
            "name": "web",
            "namespace": "shop",
            **({"annotations": annotations} if annotations else {}),
            **(owned_by(owner) if owner else {}),
            **metadata,
        },
        **({"template": pod_template} if kind == "PodTemplate" else {}),
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": inner}} if kind == "CronJob" else inner,
    }


def owned_by(owner, uid="u1"):
    kind, _, name = owner.partition("/")
    api_version = API_VERSIONS.get(kind, "apps/v1")
    return {
        "ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}]
    }


def service(name="web", selector=None, namespace="shop"):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": "web"} if selector is None else selector},
    }


def hpa(least=2, most=5, kind="HorizontalPodAutoscaler", **metadata):
    """An autoscaler of Deployment web; fields of its metadata that are given as None are left out."""
    named = {"name": "web", "namespace": "shop", **metadata}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": kind,
        "metadata": {name: value for name, value in named.items() if value is not None},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": least,
            "maxReplicas": most,
        },
    }


def node(name="n1", taints=(), cordoned=False, **labels):
    """A node with its hostname, in zone a unless `labels` say otherwise; taints are `key=value:effect`."""
    spec = {"taints": [_taint(text) for text in taints], "unschedulable": cordoned}
    carried = {HOSTNAME: name, **(labels or {ZONE: "a"})}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": carried}, "spec": spec}


def _taint(text):
    (key, _, value), effect = text.partition(":")[0].partition("="), text.partition(":")[2]
    return {"key": key, "value": value, "effect": effect}


def namespace(name="shop", **labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def policy(text="", **fields) -> Policy:
    """The built-in policy with what `text` and these fields say."""
    said = (read_documents(text) or [{}])[0]
    return parse_policy(json.dumps({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND, **said, **fields}))


def snapshot(*objects, features=LATEST) -> Snapshot:
    return from_objects(objects, features)


def key_of(obj):
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def whole(objects):
    """What view_of makes of what the webhook reads of objects, in the order of their names."""
    return view_of(sorted(objects, key=key_of))


def request(obj, old=None, operation=None, **fields):
    """The request of an AdmissionReview for `obj`; with `old`, an UPDATE."""
    return {
        "uid": "r1",
        "kind": {"group": "apps", "version": "v1", "kind": obj["kind"]},
        "name": obj["metadata"].get("name"),
        "namespace": obj["metadata"].get("namespace"),
        "operation": operation or ("CREATE" if old is None else "UPDATE"),
        "object": obj,
        "oldObject": old,
        "userInfo": {"username": "jane"},
        **fields,
    }


FEATURES = LATEST


def nest(path, value):
    """`{"spec": {"replicas": 5}}` for `spec.replicas`."""
    for name in reversed(path.split(".") if path else []):
        value = {name: value}
    return value


def merged(one, other):
    """Both objects in one, to any depth; where both have a value, the other's."""
    both = {name for name in one.keys() & other.keys() if isinstance(one[name], dict)}
    return {**one, **other, **{name: merged(one[name], other[name]) for name in both}}
