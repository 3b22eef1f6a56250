"""The policies that the API server evaluates judge as the webhook does: the same objects by both."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import closing
from copy import deepcopy
from http.client import HTTPSConnection
from typing import NamedTuple

import pytest
import yaml

from tests.conformance.cases import read
from tests.e2e import programs
from tests.e2e.custom import path_of
from tests.e2e.judged_cases import JudgedCase, cases, excused, large
from tests.e2e.webhook import containers
from tests.support import ROOT
from tests.support.build import constraint, pod
from tests.support.build import policy as policy_of
from tests.support.serving import until
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.admission.review import review
from webhook.admission.terms import Terms
from webhook.kubernetes.features import features
from webhook.kubernetes.kinds import BUILT_IN_KINDS
from webhook.manifests.admission_policies import POLICY_NAMES, admission_policies
from webhook.rules import RULES

NAMESPACES = {"team-a": {"team": "a"}, "plain": {}}
NUMBER, SEED = 1_600, 38  # of cases, a third of which are updates: 1,000 are new objects
LEAST_CREATED = 1_000
KEY, RACK = "topology.kubernetes.io/zone", "rack"
PARAMETERS = {
    "excessive-max-skew": {"maxSkew": 4},
    "forbidden-topology-key": {"topologyKeys": [RACK, "example.com/rack"]},
    "hard-constraint": {"topologyKeys": ["example.com/rack", "zone/"]},
    "soft-constraint": {"topologyKeys": ["kubernetes.io/hostname"]},
    "missing-constraints": {"minReplicas": 2, "topologyKeys": [KEY, "kubernetes.io/hostname"]},
    "missing-min-domains": {"minDomains": 3, "topologyKeys": [KEY, RACK]},
    "rollout-skew": {"soft": True},
}
EXPORTED = [rule.id for rule in RULES.values() if rule.cel]
IGNORED = dict.fromkeys(RULES, "ignore")
CANARY = "canary"
WARNING = re.compile(r"ValidatingAdmissionPolicy 'evenkeel-warn' .*\(evenkeel ([a-z-]+)\)")


def with_severity(severity, *enforced, **others):
    """Every rule that CEL can express with this severity, some of them enforced, and with other parameters."""
    return IGNORED | {
        rule: {"severity": severity, **PARAMETERS.get(rule, {}), **others.get(rule.replace("-", "_"), {})}
        | ({"enforced": True} if rule in enforced else {})
        for rule in EXPORTED
    }


NO_DEFAULTS = {"defaulting": {"defaultingType": "System"}}
STRICT = with_severity("error", "missing-constraints", "hard-constraint", "pinned-pod")
OTHERS = with_severity(
    "error",
    missing_constraints={"topologyKeys": [], "minReplicas": 1},
    forbidden_topology_key={"topologyKeys": [], "allowedTopologyKeys": [KEY, "kubernetes.io/hostname"]},
    hard_constraint={"topologyKeys": []},
    missing_min_domains={"topologyKeys": []},
    rollout_skew={"soft": False},
)
POLICIES = {
    "errors": {"rules": with_severity("error")},
    "errors with other parameters": {"rules": OTHERS, "ownedObjects": "Deny"},
    "enforced": {"rules": STRICT},
    "overrides": {
        "rules": STRICT,
        "overrides": [
            {"name": "other", "schedulerName": "other", "enforcement": "Warn"},
            {"name": "a", "podSelector": {"matchLabels": {"tier": "a"}}, "rules": with_severity("warning")},
            {
                "name": "team",
                "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]},
                "ownedObjects": "Deny",
                "rules": {**OTHERS, "excessive-max-skew": {"severity": "error", "maxSkew": 1}},
            },
            {"name": "b", "podSelector": {"matchLabels": {"tier": "b"}}, "enforcement": "Audit"},
        ],
    },
    "few rules": {
        "rules": {
            **IGNORED,
            "hard-constraint": {"severity": "error", "enforced": True},
            **dict.fromkeys(("empty-selector", "selector-misses-own-pod", "wrong-revision-key"), "error"),
            "excessive-max-skew": {"severity": "error", "maxSkew": 1},
            "pinned-pod": "warning",
        },
    },
}


class Judged(NamedTuple):
    """A case as the API server admits it before there is any policy: what the webhook would be sent."""

    case: JudgedCase
    namespace: str
    sent: dict
    admitted: dict
    stored: dict | None


class Answer(NamedTuple):
    """An answer of the API server: its status, its message if it refuses, its warnings, and the object."""

    status: int
    message: str
    warnings: str
    obj: dict


def send(plane, method, path, body, user="", dry_run=True):
    headers = {"Authorization": f"Bearer {plane.api.token}", "Content-Type": "application/json"}
    headers |= {"Impersonate-User": user, "Impersonate-Group": "system:masters"} if user else {}
    connection = HTTPSConnection("127.0.0.1", plane.api.port, context=plane.api.context, timeout=60)
    with closing(connection):
        connection.request(method, f"{path}{'?dryRun=All' if dry_run else ''}", json.dumps(body), headers)
        response = connection.getresponse()
        obj = json.loads(response.read())
        warnings = "\n".join(response.headers.get_all("Warning") or ())
        return Answer(response.status, obj.get("message", "") if response.status >= 400 else "", warnings, obj)


def examples():
    """Each rule's examples, and what is recorded of the API server's own validation, as Pods and in workloads."""
    kinds = {(kind.api_version, kind.kind): kind for kind in BUILT_IN_KINDS}
    for rule in RULES.values():
        for name, text in (("bad", rule.bad), ("good", rule.good)):
            obj = yaml.safe_load(text)
            if kind := kinds.get((obj["apiVersion"], obj["kind"])):
                yield JudgedCase(f"{name} example of {rule.id}", kind, obj)
    pod, deployment, cron_job = kinds["v1", "Pod"], kinds["apps/v1", "Deployment"], kinds["batch/v1", "CronJob"]
    stateful_set = kinds["apps/v1", "StatefulSet"]
    for case in list(read(ROOT / "tests" / "data" / "1.37" / "validation.jsonl.gz"))[:150]:
        yield JudgedCase(f"recorded {case['id']}", pod, case["pod"])
        labels = case["pod"]["metadata"].get("labels") or {}
        template = {"metadata": {"labels": labels}, "spec": case["pod"]["spec"]}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        yield JudgedCase(f"recorded {case['id']} in a Deployment", deployment, made("apps/v1", "Deployment", spec))
        yield JudgedCase(f"recorded {case['id']} in a StatefulSet", stateful_set, made("apps/v1", "StatefulSet", spec))
        job = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": deepcopy(template)}}}
        yield JudgedCase(f"recorded {case['id']} in a CronJob", cron_job, made("batch/v1", "CronJob", job))


def made(api_version, kind, spec):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web"}, "spec": deepcopy(spec)}


def completed(obj, kind):
    """The object with what the API server asks for in each Pod: a container."""
    template = obj
    for name in kind.template:
        template = template[name]
    spec = template.setdefault("spec", {})
    spec.setdefault("containers", [{"name": "web", "image": "web"}])
    if kind.api_version == "batch/v1":
        spec["restartPolicy"] = "Never"
    return obj


@pytest.fixture(scope="module")
def admitted(plane):
    """The cases that the API server admits, each with the old object in the cluster; no controller changes them."""
    for name, labels in NAMESPACES.items():
        plane.create_namespace(name, **labels)
    plane.controller_manager.stop()
    plane.scheduler.stop()
    found = [*_admitted(plane, [*cases(NUMBER, SEED), *large(), *excused(), *examples()])]
    assert LEAST_CREATED <= sum(judged.case.name.isdecimal() and judged.stored is None for judged in found)
    return found


def _admitted(plane, every):
    for number, case in enumerate(every):
        namespace = tuple(NAMESPACES)[number % 2]
        folder, name = path_of(case.kind, namespace), f"case-{number}"
        obj, old = (each and named(completed(each, case.kind), name, namespace) for each in (case.obj, case.old))
        stored = None
        if old is not None:
            answer = send(plane, "POST", folder, old, dry_run=False)
            if answer.status >= 300:
                continue
            stored = answer.obj
        answer = sent(plane, case, namespace, obj)
        if answer.status < 300:
            yield Judged(case, namespace, obj, answer.obj, stored)


def named(obj, name, namespace):
    return {**obj, "metadata": {**obj["metadata"], "name": name, "namespace": namespace}}


def sent(plane, case, namespace, obj):
    folder = path_of(case.kind, namespace)
    if case.old is None:
        return send(plane, "POST", folder, obj, case.user)
    return send(plane, "PUT", f"{folder}/{obj['metadata']['name']}", obj, case.user)


def again(plane, judged):
    return sent(plane, judged.case, judged.namespace, judged.sent)


def decision(judged, policy):
    """What the webhook answers."""
    request = AdmissionRequest.of(
        judged.admitted,
        judged.stored,
        phase=VALIDATE,
        kinds=policy.kinds,
        namespace=judged.namespace,
        user=judged.case.user or "admin",
    )
    return review(request, Terms(policy, None, features(programs.version().minor), labels=NAMESPACES))


@pytest.fixture
def install(plane, admitted):
    """A function that has the API server evaluate the ValidatingAdmissionPolicies of a policy, until the test ends."""
    canary = pod(constraint(labelSelector={"matchLabels": {"app": "web"}}), name=CANARY, namespace="plain")
    folder = path_of(BUILT_IN_KINDS[0], "plain")

    def seen():
        answer = send(plane, "POST", folder, containers(canary))
        return {*re.findall(r"ValidatingAdmissionPolicy '([a-z-]+)'", answer.message + answer.warnings)}

    def installed(policy):
        manifests = admission_policies(policy, features(programs.version().minor))
        for manifest in manifests[::2]:
            manifest["spec"]["failurePolicy"] = "Fail"  # so that an expression that fails is seen
            said = {"expression": f"object.metadata.name != '{CANARY}'", "message": CANARY}
            manifest["spec"]["validations"].insert(0, said)
        output = plane.apply(*manifests)
        assert (0, "") == output[::2], output.stderr[:3000]
        names = {manifest["metadata"]["name"] for manifest in manifests}
        until(lambda: seen() == names - {POLICY_NAMES["Audit"]}, "the policies to be in force")

    yield installed
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        for name in POLICY_NAMES.values():
            plane.kubectl("delete", kind, name, "--ignore-not-found")
    until(lambda: not seen(), "no policy to be in force")


def only(rule):
    """The policy that denies by one rule; pinned-pod warns, too, which spares DaemonSets from the others."""
    error = {"severity": "error", **PARAMETERS.get(rule, {})}
    return policy_of(rules=IGNORED | {"pinned-pod": "warning"} | {rule: error}, **NO_DEFAULTS)


def test_new_objects_get_the_webhook_s_verdict_by_each_rule(plane, admitted, install):
    """Each rule warns, for of what denies the API server tells only the first."""
    install(policy_of(rules=with_severity("error"), enforcement="Warn", **NO_DEFAULTS))
    policies, different, broken = {rule: only(rule) for rule in EXPORTED}, [], Counter()
    for judged in admitted:
        if judged.stored is not None:
            continue
        wanted = {rule for rule, policy in policies.items() if not decision(judged, policy).allowed}
        answer = again(plane, judged)
        found = {*WARNING.findall(answer.warnings)}
        broken.update(wanted)
        if found != wanted or answer.status != 201:
            different.append((judged.case.name, judged.case.kind.kind, found - wanted, wanted - found, answer.message))
    print(dict(broken))
    assert not different, f"{len(different)} of {len(admitted)}:\n" + "\n".join(map(str, different[:30]))
    assert {*EXPORTED} == broken.keys() and min(broken.values()) >= 3


@pytest.mark.parametrize("name", POLICIES)
def test_new_objects_get_the_webhook_s_verdict_and_of_updates_no_other_is_denied(plane, admitted, install, name):
    parsed = policy_of(**POLICIES[name], **NO_DEFAULTS)
    install(parsed)
    different, seen = [], Counter()
    for judged in admitted:
        webhook, answer = decision(judged, parsed), again(plane, judged)
        denies = answer.status == 403 and "ValidatingAdmissionPolicy 'evenkeel'" in answer.message
        what = "created" if judged.stored is None else "updated"
        seen[what, webhook.allowed, denies] += 1
        wrong = denies and webhook.allowed if what == "updated" else denies is webhook.allowed
        if wrong or answer.status not in (200, 201, 403):
            different.append((what, judged.case.name, judged.case.kind.kind, webhook.status, answer.message))
    print(seen)
    assert not different, f"{len(different)} of {len(admitted)}:\n" + "\n".join(map(str, different[:30]))
    assert seen["created", False, True] > 50 and seen["updated", False, True] > 10
