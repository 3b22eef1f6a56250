"""`evenkeel report` of a real cluster: it says what the API server would answer, and counts as kubectl does."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from http.client import HTTPSConnection

import pytest

from tests.e2e import custom
from tests.e2e.webhook import installed
from tests.e2e.words import KINDS, of, selecting
from tests.support.build import ZONE, constraint, owned_by
from tests.support.commands import script
from tests.support.serving import PATIENCE, until
from webhook.admission.ownership import ACCOUNTS
from webhook.kubernetes.kinds import KINDS as KNOWN
from webhook.kubernetes.names import DEFAULTED_BY_ANNOTATION
from webhook.rules import RULES

NAMESPACE = "shop"
# By the name that each workload gets besides that of its kind: what its constraints select, None for none at all.
VARIANTS = {"good": ..., "empty": {}, "misses": {"matchLabels": {"app": "nobody"}}, "none": None}
POLICIES = {
    "the built-in one": {},
    "one that warns": {"enforcement": "Warn"},
    "an enforced rule": {
        "rules": {"empty-selector": {"severity": "error", "enforced": True}},
    },
    "owned objects are denied": {"ownedObjects": "Deny", "rules": {"missing-constraints": "error"}},
}
MAKERS = {
    "ReplicationController": "replication-controller",
    "ReplicaSet": "replicaset-controller",
    "StatefulSet": "statefulset-controller",
    "DaemonSet": "daemon-set-controller",
    "Job": "job-controller",
}
(ROLLOUT,) = (kind for kind in KNOWN if kind.kind == "Rollout")
PATHS = {kind.kind: custom.path_of(kind, NAMESPACE) for kind in KNOWN if kind.built_in} | {
    "Rollout": custom.path_of(ROLLOUT, NAMESPACE)
}
GIVEN = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "name")


def name_of(kind, variant):
    return f"{kind.lower()}-{variant}"


def made(kind, variant):
    """A workload of a kind, with its own label."""
    app, selector = {"app": name_of(kind, variant)}, VARIANTS[variant]
    chosen = {"matchLabels": app} if selector is ... else selector
    spread = () if chosen is None else (constraint(maxSkew=2, labelSelector=chosen),)
    found = of(
        kind, NAMESPACE, *spread, labels=app, **({} if kind == "Pod" else {"spec": {"selector": {"matchLabels": app}}})
    )
    found["metadata"]["name"] = name_of(kind, variant)
    return found


@pytest.fixture(scope="module", autouse=True)
def cluster(plane):
    """Workloads of every kind with Pods that run, from before there was evenkeel."""
    plane.create_namespace(NAMESPACE)
    custom.define(plane, ROLLOUT)
    kinds = [kind for kind in KINDS if kind != "PodTemplate"]
    objects = [made(kind, variant) for kind in kinds for variant in VARIANTS]
    objects += [selecting(NAMESPACE, name_of(kind, "none")) for kind in kinds]
    for one in objects:
        if one["kind"] == "Service":
            one["spec"]["selector"] = {"app": one["metadata"]["name"]}
    output = plane.apply(*objects)
    assert 0 == output.code, output
    for variant in VARIANTS:
        name = name_of("CronJob", variant)
        assert 0 == plane.kubectl("create", "job", f"{name}-1", f"--from=cronjob/{name}", "-n", NAMESPACE).code
    _by_a_rollout(plane)
    until(
        lambda: all(pods_of(plane, kind, variant) for kind in kinds for variant in VARIANTS), "Pods of every workload"
    )
    until(lambda: not _waiting(plane), "all of them on nodes", 4 * PATIENCE)


def _by_a_rollout(plane):
    """A Rollout, the ReplicaSet that its controller would have made, and its Pods."""
    app = {"app": "rollout-good"}
    spread = constraint(maxSkew=2, labelSelector={"matchLabels": app})
    rollout = of("Deployment", NAMESPACE, spread, labels=app, spec={"selector": {"matchLabels": app}})
    rollout |= {"apiVersion": ROLLOUT.api_version, "kind": "Rollout"}
    rollout["metadata"]["name"] = "rollout-good"
    uid = plane.api.call("POST", PATHS["Rollout"], rollout)["metadata"]["uid"]
    owner = owned_by("Rollout/rollout-good", uid)
    owner["ownerReferences"][0]["apiVersion"] = ROLLOUT.api_version
    made_by_it = of("ReplicaSet", NAMESPACE, spread, labels=app, spec={"selector": {"matchLabels": app}})
    made_by_it["metadata"] |= {"name": "rollout-good-1", **owner}
    plane.api.call("POST", PATHS["ReplicaSet"], made_by_it)


def listed(plane, kind):
    return plane.api.call("GET", PATHS[kind])["items"]


def _waiting(plane):
    return [one for one in listed(plane, "Pod") if not one["spec"].get("nodeName")]


def pods_of(plane, kind, variant):
    """The Pods of a workload, which have its label; those of a Pod are itself."""
    app = name_of(kind, variant)
    return [one for one in listed(plane, "Pod") if one["metadata"]["labels"].get("app") == app]


class Report:
    """What `evenkeel report` says of the namespace."""

    def __init__(self, plane, *options):
        done = script("report", "-n", NAMESPACE, "-o", "json", "--kubeconfig", plane.kubeconfig, *options)
        assert (0, "") == (done.returncode, done.stderr), done
        self.whole = json.loads(done.stdout)
        self.workloads = {one["workload"]: one for one in self.whole["workloads"]}

    def answer(self, workload, request):
        found = self.workloads[workload]["answers"][request]
        return None if found is None else found["outcome"]


# What the API server answers


def asked(plane, method, path, body, user="", content_type="application/json"):
    """The outcome of a dry run, as whoever sends it sees it."""
    headers = {"Authorization": f"Bearer {plane.api.token}", "Content-Type": content_type}
    headers |= {"Impersonate-User": user} if user else {}
    with closing(HTTPSConnection("127.0.0.1", plane.api.port, context=plane.api.context, timeout=PATIENCE)) as opened:
        opened.request(method, f"{path}?dryRun=All", json.dumps(body), headers)
        response = opened.getresponse()
        found = json.loads(response.read())
    if response.status == 403 and "evenkeel.dev" in found["message"]:
        return "denied"
    assert response.status in (200, 201), found
    said = [
        line
        for line in response.headers.get_all("Warning") or ()
        if any(f"(evenkeel {rule})" in line for rule in RULES)
    ]
    if said:
        return "warned"
    return "defaulted" if DEFAULTED_BY_ANNOTATION in found["metadata"].get("annotations", {}) else "allowed"


def anew(raw):
    """An object of the cluster as it would be created under another name."""
    metadata = {name: value for name, value in raw["metadata"].items() if name not in GIVEN}
    found = {name: value for name, value in raw.items() if name != "status"} | {"metadata": metadata}
    metadata["generateName"] = "again-"
    if raw["kind"] == "Pod":
        found["spec"] = {name: value for name, value in raw["spec"].items() if name != "nodeName"}
        metadata["labels"] = {name: value for name, value in metadata["labels"].items() if "topology" not in name}
    return found


def created(plane, kind, variant):
    (raw,) = (one for one in listed(plane, kind) if one["metadata"]["name"] == name_of(kind, variant))
    again = anew({**raw, "kind": kind, "apiVersion": api_version(kind)})
    if kind == "Job":  # The API server makes these up.
        del again["spec"]["selector"]
        again["spec"]["template"]["metadata"]["labels"] = {"app": name_of(kind, variant)}
    return asked(plane, "POST", PATHS[kind], again)


def updated(plane, kind, variant):
    template = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}
    inner = {"spec": {"template": template}}
    spec = {"jobTemplate": inner} if kind == "CronJob" else {"suspend": False} if kind == "Job" else inner["spec"]
    path = f"{PATHS[kind]}/{name_of(kind, variant)}"
    return asked(plane, "PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")


def made_by_its_controller(plane, kind, variant):
    """One of its Pods, sent again by who has made it."""
    pod = next(one for one in pods_of(plane, kind, variant) if one["metadata"].get("ownerReferences"))
    account = MAKERS[pod["metadata"]["ownerReferences"][0]["kind"]]
    again = anew({**pod, "kind": "Pod", "apiVersion": "v1"})
    return asked(plane, "POST", PATHS["Pod"], again, ACCOUNTS + account)


def api_version(kind):
    return next(one.api_version for one in KNOWN if one.kind == kind and one.built_in)


@pytest.mark.parametrize("fields", POLICIES.values(), ids=POLICIES)
def test_the_answers_are_those_of_the_webhook(plane, tmp_path, fields):
    with installed(plane, tmp_path, policy=fields):
        report = Report(plane, "--policy", tmp_path / "policy.json")
        until(lambda: created(plane, "Pod", "none") == report.answer("Pod/pod-none", "create"), "defaults")
        differing = {}
        for kind in KINDS:
            for variant in VARIANTS if kind != "PodTemplate" else ():
                requests = {"create": created} if kind == "Pod" else {"create": created, "update": updated}
                requests |= {} if kind == "Pod" else {"pods": made_by_its_controller}
                for request, ask in requests.items():
                    said = report.answer(f"{kind}/{name_of(kind, variant)}", request)
                    if fields.get("enforcement") == "Warn" and said == "would-be-denied":
                        said = "warned"
                    if (answered := ask(plane, kind, variant)) != said:
                        differing[kind, variant, request] = (said, answered)

    assert {} == differing


def test_something_of_each_outcome_was_compared(plane, tmp_path):
    outcomes = set()
    for number, fields in enumerate(POLICIES.values()):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps({"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy", **fields}))
        for one in Report(plane, "--policy", file).whole["workloads"]:
            outcomes |= {answer["outcome"] for answer in one["answers"].values() if answer}

    assert {"allowed", "warned", "defaulted", "denied", "would-be-denied"} == outcomes


# What kubectl counts


def counted(plane, app):
    """The Pods with this label that are on a node, by its zone, as one counts them by hand."""
    zones = {
        one["metadata"]["name"]: one["metadata"]["labels"][ZONE]
        for one in plane.api.call("GET", "/api/v1/nodes")["items"]
    }
    printed = plane.kubectl("get", "pods", "-n", NAMESPACE, "-l", f"app={app}", "-o", "json").stdout
    stay = [
        one
        for one in json.loads(printed)["items"]
        if "deletionTimestamp" not in one["metadata"] and one["status"]["phase"] not in ("Succeeded", "Failed")
    ]
    found = Counter(zones[one["spec"]["nodeName"]] for one in stay if one["spec"].get("nodeName"))
    return {zone: found[zone] for zone in sorted(set(zones.values()))}


def by_hand(plane, name):
    """A Pod on a node that the constraints of a Deployment count, and that is none of its own; its path."""
    found = made("Pod", "good")
    found["metadata"] |= {"name": name, "labels": {"app": name_of("Deployment", "good")}}
    assert 0 == plane.apply(found).code
    until(lambda: not _waiting(plane), "a node")
    return f"{PATHS['Pod']}/{name}"


def test_the_counts_are_those_of_kubectl(plane):
    """Also where a Pod has finished, another is being deleted, and one more has been made by hand."""
    _, finished, leaving = (by_hand(plane, name) for name in ("by-hand", "finished", "leaving"))
    merge = "application/merge-patch+json"
    plane.api.call("PATCH", f"{finished}/status", {"status": {"phase": "Succeeded"}}, merge)
    plane.api.call("PATCH", leaving, {"metadata": {"finalizers": ["example.com/held"]}}, merge)
    plane.api.call("DELETE", leaving)
    report = Report(plane)
    for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Rollout", "Job"):
        one = report.workloads[f"{kind}/{name_of(kind, 'good')}"]
        (spread,) = one["constraints"]

        assert counted(plane, name_of(kind, "good")) == spread["domains"], kind
    assert {"Pod/by-hand": 1} == report.workloads["Deployment/deployment-good"]["constraints"][0]["alsoCounts"]
    assert "Pod/finished" not in report.workloads
    plane.api.call("PATCH", leaving, {"metadata": {"finalizers": None}}, merge)


def test_a_custom_resource_is_a_workload_and_its_replica_set_is_none(plane):
    report = Report(plane)

    assert 3 == report.workloads["Rollout/rollout-good"]["pods"]
    assert "ReplicaSet/rollout-good-1" not in report.workloads
