"""`evenkeel admit` answers as the webhook in the cluster does, whatever else stands in its files."""

from __future__ import annotations

import base64
import io
import json
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st
from jsonpatch import apply_patch

from tests.properties.judging import fuzz
from tests.support import strategies as some
from tests.support.admission_reviews import review
from tests.support.build import (
    HOSTNAME,
    SELECTOR,
    ZONE,
    constraint,
    hpa,
    key_of,
    namespace,
    node,
    owned_by,
    pod,
    policy,
    request,
    service,
    workload,
)
from webhook.admission.ownership import ACCOUNTS
from webhook.admission.request import MUTATE, VALIDATE
from webhook.cli import main as cli
from webhook.cluster.cluster import Unchanging
from webhook.cluster.store import Store
from webhook.cluster.watched_resources import WATCHED
from webhook.kubernetes.features import LATEST
from webhook.server.metrics import Metrics
from webhook.server.reviewer import Reviewer
from webhook.spread.cluster_view import read_view_object
from webhook.spread.constraint import as_stored

ASKED = {"missing-constraints": {"severity": "error", "minReplicas": 3}}
BANK = {
    "name": "bank",
    "namespaceSelector": {"matchLabels": {"team": "bank"}},
    "rules": {"empty-selector": "warning", "selector-misses-own-pod": "error"},
    "defaulting": {"defaultingType": "List", "defaultConstraints": [some.SPREAD]},
}
POLICIES = (
    {"rules": {"selector-matches-others": "warning", "unschedulable": "warning"}},
    {"rules": ASKED},
    {"rules": {"missing-constraints": "warning", "soft-constraint": "warning"}},
    {"enforcement": "Warn", "earlyAnswer": True},
    {"rules": {"empty-selector": {"enforced": True}}, "ownedObjects": "Deny"},
    {"overrides": [BANK], "workloads": [{"builtIn": "prometheus"}]},
)
KINDS = ("Pod", "Pod", "Deployment", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Rollout", "Prometheus")
API_VERSIONS = {"Rollout": "argoproj.io/v1alpha1", "Prometheus": "monitoring.coreos.com/v1"}

# What kube-apiserver takes: it asks /validate about nothing else.
hard = st.builds(
    constraint,
    maxSkew=st.sampled_from((1, 1, 2)),
    topologyKey=st.sampled_from((ZONE, ZONE, HOSTNAME, "rack", "topology.kubernetes.io/hostname")),
    labelSelector=st.sampled_from((SELECTOR, SELECTOR, {}, {"matchLabels": {"app": "db"}})),
    matchLabelKeys=st.sampled_from((None, None, ["tier"], [some.HASH], [ZONE])),
    minDomains=st.sampled_from((None, None, 2, 5)),
    nodeTaintsPolicy=st.sampled_from((None, "Honor")),
)
soft = st.builds(partial(constraint, whenUnsatisfiable="ScheduleAnyway"), topologyKey=st.sampled_from((ZONE, HOSTNAME)))
lists = st.lists(hard | soft, max_size=2, unique_by=lambda one: (one["topologyKey"], one["whenUnsatisfiable"]))
labels = some.some_of(tier=st.just("front"), **{some.HASH: st.just("1")}).map(lambda found: {"app": "web", **found})
owners = st.sampled_from(("ReplicaSet/web", "StatefulSet/web", "Deployment/web")).map(owned_by)
metadata = st.builds(
    lambda owner, more: owner | more,
    st.just({}) | owners,
    some.some_of(
        namespace=st.sampled_from(("shop", "skipped", "bank", "unknown")),
        annotations=st.just({some.IGNORE: "empty-selector, missing-constraints"}),
    ),
)
pod_specs = some.some_of(
    nodeName=st.just("n1"), nodeSelector=st.just({ZONE: "a"}), tolerations=st.just([{"operator": "Exists"}])
)
conditions = st.sampled_from(([], [{"type": "PodScheduled", "status": "True"}]))


@st.composite
def objects(draw, kind):
    """An object that kube-apiserver takes; it writes labels into a Job's template, so that there is none among them."""
    written = draw(lists)
    if kind == "Pod":
        found = pod(*written, labels=draw(labels), spec=draw(pod_specs), **draw(metadata))
        return found | {"status": {"conditions": draw(conditions)}}
    spec = {"replicas": draw(st.sampled_from((0, 1, 3, 6)))}
    if kind == "Prometheus":
        spec |= {"topologySpreadConstraints": written}
    found = workload(kind, *written, labels=draw(labels), spec=spec, **draw(metadata))
    return found | {"apiVersion": API_VERSIONS.get(kind, found["apiVersion"])}


bound = st.builds(
    lambda found, name: found | {"metadata": found["metadata"] | {"name": name, "uid": name}, "status": {}},
    objects("Pod").filter(lambda found: found["spec"].get("nodeName")),
    st.sampled_from(("p1", "p2", "p3")),
)
in_clusters = st.one_of(
    st.builds(
        lambda name, taints, cordoned, carried: node(name, taints, cordoned, **carried),
        st.sampled_from(("n1", "n2", "n3")),
        st.sampled_from(((), (), ("dedicated=gpu:NoSchedule",))),
        st.sampled_from((False, False, True)),
        st.sampled_from(({ZONE: "a"}, {ZONE: "b"}, {"rack": "r1"})),
    ),
    st.builds(service, st.sampled_from(("web", "all")), st.sampled_from(({"app": "web"}, {"tier": "front"}, {}))),
    st.builds(lambda kind: workload(kind, uid="u1"), st.sampled_from(("ReplicaSet", "StatefulSet", "Deployment"))),
    st.builds(hpa, st.integers(1, 3), st.integers(3, 5)),
    bound,
)
SPACES = [namespace(), namespace("bank", team="bank"), namespace("skipped", **{some.SKIP: "true"})]
clusters = st.none() | st.lists(in_clusters, max_size=6, unique_by=lambda one: (one["kind"], key_of(one))).map(
    lambda found: SPACES + found
)
users = st.sampled_from(("jane", f"{ACCOUNTS}replicaset-controller", f"{ACCOUNTS}statefulset-controller"))
applied = (
    st.sampled_from(KINDS)
    .flatmap(lambda kind: st.tuples(objects(kind), st.none() | objects(kind)))
    .map(
        lambda pair: (pair[0], pair[1] and pair[1] | {"metadata": pair[1]["metadata"] | {"namespace": space(pair[0])}})
    )
)


def space(obj):
    return obj["metadata"]["namespace"]


def seen(cluster):
    """What the informers keep of a cluster."""
    if cluster is None:
        return None
    store = Store()
    for kind in WATCHED:
        found = [read_view_object(obj, *kind.gvk) for obj in cluster if (obj["apiVersion"], obj["kind"]) == kind.gvk]
        store.apply(kind.gvk, [((in_space, name), kept) for in_space, name, kept in found])
    return store.view()


def served(obj, old, user, cluster, raw_policy):
    """The answers of the webhook to the two reviews that kube-apiserver sends."""
    reviewer = Reviewer(policy(**raw_policy), Unchanging(seen(cluster)), LATEST, Metrics())

    def asked(phase, obj):
        body = json.dumps(asking(obj, old, user)).encode()
        return json.loads(reviewer.answer(phase, body).body)["response"]

    obj = obj if old is not None else labelled(obj, cluster or ())
    mutate = asked(MUTATE, obj)
    if not mutate["allowed"]:
        return said(mutate, [])
    patch = json.loads(base64.b64decode(mutate.get("patch", "W10=")))
    after = apply_patch(obj, patch)
    if obj["kind"] == "Pod" and old is None:
        after = created(after)
    return said(asked(VALIDATE, after), patch, mutate)


def asking(obj, old, user):
    kind = {"group": obj["apiVersion"].rpartition("/")[0], "version": "v1", "kind": obj["kind"]}
    return review(request=request(obj, old, kind=kind, userInfo={"username": user}))


def labelled(new, cluster):
    """A new object as kube-apiserver's own plugins leave it: with the zone of the node that a Pod names."""
    on = [one["metadata"]["labels"] for one in cluster if key_of(one) == ("", new["spec"].get("nodeName"))]
    zone = {ZONE: on[0][ZONE]} if on and ZONE in on[0] else {}
    return new | {"metadata": new["metadata"] | {"labels": new["metadata"]["labels"] | zone}} if zone else new


def created(new):
    """A new Pod as kube-apiserver prepares it: with a uid and merged matchLabelKeys, and without its status."""
    written = as_stored(new["spec"].get("topologySpreadConstraints"), new["metadata"]["labels"], LATEST)
    spec = new["spec"] | ({"topologySpreadConstraints": written} if written else {})
    return new | {"metadata": new["metadata"] | {"uid": "u9"}, "spec": spec, "status": {"phase": "Pending"}}


def said(answer, patch, *before):
    warnings = [warning for one in (*before, answer) for warning in one.get("warnings", ())]
    audit = {key: value for one in (*before, answer) for key, value in one.get("auditAnnotations", {}).items()}
    return answer["allowed"], answer.get("status"), warnings, patch, audit


def admitted(obj, old, user, cluster, raw_policy, beside):
    """The answer of the command to a file with the object, or the review of it, and with what stands beside it."""
    texts = {"policy": [some.PLAIN | raw_policy], "new": [obj, *beside], "cluster": cluster, "old": [old]}
    command = "admit -o json -f new --policy policy" + (" --cluster cluster" if cluster is not None else "")
    if user is not None:
        texts["new"][0] = asking(obj, old, user)
    elif old is not None:
        command += " --old old"
        texts["old"] = [*beside, old]
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()) as printed:
        for name, found in texts.items():
            Path(folder, name).write_text("\n---\n".join(map(json.dumps, found or ())), "utf-8")
        cli.main([str(Path(folder, word)) if word in texts else word for word in command.split()])
    answer = json.loads(printed.getvalue().splitlines()[0])
    return tuple(answer[key] for key in ("allowed", "status", "warnings", "patch", "auditAnnotations"))


def one_replica(**fields):
    return workload("Deployment", spec={"replicas": 1}, **fields)


FRONT = {"app": "web", "tier": "front"}
SHARING = workload("Deployment", constraint(), labels=FRONT, spec={"selector": {"matchLabels": FRONT}}), None
PINNED = pod(constraint(labelSelector={}, matchLabelKeys=[ZONE]), spec={"nodeName": "n1"}), None
BOUND = pod(name="p1", uid="p1", spec={"nodeName": "n1"})


@fuzz
@given(
    applied=applied,
    user=st.none() | users,
    cluster=clusters,
    raw_policy=st.sampled_from(POLICIES),
    beside=st.lists(in_clusters, max_size=2, unique_by=lambda one: (one["kind"], key_of(one))),
)
@example((one_replica(), None), None, [*SPACES, hpa(3)], {"rules": ASKED}, [hpa(3)])
@example(PINNED, None, [*SPACES, node()], {}, [])
@example(SHARING, None, [*SPACES, node(), BOUND], {"rules": {"selector-matches-others": "warning"}}, [])
def test_admit_and_serve_answer_alike(applied, user, cluster, raw_policy, beside):
    """Allowed, status, warnings, patch and what goes into the audit log, with the findings."""
    obj, old = applied
    expected = served(obj, old, user or "", cluster, raw_policy)

    assert expected == admitted(obj, old, user, cluster, raw_policy, beside)
