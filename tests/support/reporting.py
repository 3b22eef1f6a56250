"""A cluster of Pods that controllers have made, and the report on it."""

from __future__ import annotations

from evenkeel.placement.created_pods import read_creation
from evenkeel.report.inventory import Inventory
from evenkeel.report.report import Policies, Reporting
from evenkeel.scheduler.profile import USUAL_PROFILES
from evenkeel.scheduler.snapshot import from_objects
from tests.support.build import owned_by, pod, policy, workload
from tests.support.placing import node
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.references import ObjectRef

ZONES = [node(f"{zone}{i}", zone) for zone in "abc" for i in (1, 2)]


def made_by(owner, name, on="", *, labels=None, api_version=None, phase=None, **metadata):
    """A Pod that `owner`, a `Kind/name`, has made; on a node, or waiting."""
    found = pod(name=name, uid=f"u-{name}", labels=labels, spec={"nodeName": on} if on else {}, **metadata)
    if owner:
        found["metadata"] |= owned_by(owner)
        if api_version:
            found["metadata"]["ownerReferences"][0]["apiVersion"] = api_version
    return found | {"status": {"phase": phase or ("Running" if on else "Pending")}}


def deployment(*constraints, name="web", labels=None, hash_="5d", **fields):
    """A Deployment and the ReplicaSet that has its template."""
    app = {"app": name} if labels is None else labels
    selector = {"selector": {"matchLabels": app}}
    hashed = {**app, "pod-template-hash": hash_}
    owner = workload("Deployment", *constraints, name=name, labels=app, spec=selector, **fields)
    made = workload("ReplicaSet", *constraints, name=f"{name}-{hash_}", labels=hashed, owner=f"Deployment/{name}")
    made["spec"]["selector"] = {"matchLabels": hashed}
    return [owner, made]


def pods(*nodes, name="web", hash_="5d", **fields):
    """Pods of a Deployment on these nodes, "" for one that waits."""
    labels = {"app": name, "pod-template-hash": hash_}
    return [
        made_by(f"ReplicaSet/{name}-{hash_}", f"{name}-{hash_}-{i}", on, labels=labels, **fields)
        for i, on in enumerate(nodes)
    ]


def inventory(*objects, kinds=KINDS):
    """What there is of these objects."""
    found = Inventory(kinds)
    for one in objects:
        found.add(one)
    return found


def reporting(*objects, of=None, compare=None, named=True, features=LATEST, never_sent=(), profiles=USUAL_PROFILES):
    """What reports on these objects."""
    of, snapshot = of or policy(), from_objects(objects, features)
    there, policies = inventory(*objects, kinds=of.kinds), Policies(of, compare, named)
    creation = read_creation({ObjectRef.of(one).key: one for one in objects}, features)
    return Reporting(there, snapshot, features, policies, never_sent, profiles, creation)


def report(*objects, label="", **options):
    """The report on them."""
    found = reporting(*objects, **options)
    return found.report(map(found.of, found.workloads), label)


def only(*objects, **options):
    """What is reported of the only workload there is."""
    (one,) = report(*objects, **options).workloads
    return one
