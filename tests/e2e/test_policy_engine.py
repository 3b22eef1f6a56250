"""The policies that the API server evaluates judge as the webhook does, in its words: the same objects by both."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from copy import deepcopy
from http.client import HTTPSConnection
from typing import NamedTuple

import pytest
import yaml
from webhook.cluster.trial import warning_texts

from tests.conformance.cases import read
from tests.e2e import programs
from tests.e2e.custom import define, path_of
from tests.e2e.judged_cases import CUSTOM, JudgedCase, cases, excused, large
from tests.support import ROOT
from tests.support.build import policy as policy_of
from tests.support.serving import until
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.admission.review import review
from webhook.admission.terms import Terms
from webhook.findings.wording import WARNING_LIMIT
from webhook.manifests.acting import Export
from webhook.manifests.admission_policies import POLICY_NAMES, admission_policies
from webhook.manifests.policies import CHECKS
from webhook.objects.fields import TYPE_INVALID
from webhook.objects.kinds import KINDS
from webhook.objects.names import SYSTEM_NAMESPACES
from webhook.rules import RULES
from webhook.rules.invalid_constraint import LABEL_KEY, LABEL_VALUE, REMEDIES
from webhook.scheduler.features import features

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
NAMESPACES = {"team-a": {"team": "a"}, "plain": {}}
NUMBER, SEED = 1_000, 38
DENIED = "ValidatingAdmissionPolicy 'evenkeel' with binding 'evenkeel' denied request: "
WARNED = "Validation failed for ValidatingAdmissionPolicy 'evenkeel-warn' with binding 'evenkeel-warn': "
KEY, RACK = "topology.kubernetes.io/zone", "rack"
ALL = {
    "excessive-max-skew": {"maxSkew": 4},
    "forbidden-topology-key": {"topologyKeys": [RACK, "example.com/rack"]},
    "hard-constraint": {"topologyKeys": ["example.com/rack", "zone/"]},
    "soft-constraint": {"topologyKeys": ["kubernetes.io/hostname"]},
    "missing-constraints": {"minReplicas": 2, "topologyKeys": [KEY, "kubernetes.io/hostname"]},
    **{rule: {} for rule in ("absent-match-label-key", "empty-selector", "malformed-topology-key", "pinned-pod")},
    **{rule: {} for rule in ("selector-misses-own-pod", "wrong-revision-key", "invalid-constraint")},
    "rollout-skew": {"soft": True},
}


def with_severity(severity, *enforced, **others):
    """Every rule that CEL can express with this severity, some of them enforced, and with other parameters."""
    return {
        rule: {"severity": severity, **parameters, **others.get(rule.replace("-", "_"), {})}
        | ({"enforced": True} if rule in enforced else {})
        for rule, parameters in ALL.items()
    }


NO_DEFAULTS = {"defaulting": {"defaultingType": "System"}}
STRICT = with_severity("error", "missing-constraints", "hard-constraint", "pinned-pod")
HELPED = with_severity("error", missing_constraints={"topologyKeys": [], "minReplicas": 1, "help": "see the wiki"})
ALLOWED = {"forbidden-topology-key": {"severity": "error", "allowedTopologyKeys": [KEY, "kubernetes.io/hostname"]}}
OF_SCHEMA = {  # What invalid-constraint says of the types and the label selectors of a custom resource
    repair.message
    for (error_type, field), repair in REMEDIES.items()
    if error_type == TYPE_INVALID or field in (LABEL_KEY, LABEL_VALUE, "operator", "values")
}
IGNORED = dict.fromkeys(ALL, "ignore")
ENFORCED_HINT = {"severity": "warning", "enforced": True}
POLICIES = {
    "built in": {},
    "errors": {"rules": with_severity("error"), "onError": "Deny", **NO_DEFAULTS},
    "enforced": {"rules": STRICT, "onError": "Deny", **NO_DEFAULTS},
    "warnings": {"rules": with_severity("warning"), **NO_DEFAULTS},
    "only some keys, owned objects too": {"rules": {**HELPED, **ALLOWED}, "ownedObjects": "Deny", **NO_DEFAULTS},
    "overrides": {
        **NO_DEFAULTS,
        "rules": STRICT,
        "overrides": [
            {"name": "other", "schedulerName": "other", "enforcement": "Warn"},
            {"name": "a", "podSelector": {"matchLabels": {"tier": "a"}}, "rules": with_severity("warning")},
            {
                "name": "team",
                "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]},
                "ownedObjects": "Deny",
                "rules": {**HELPED, "excessive-max-skew": {"severity": "error", "maxSkew": 1}},
            },
            {"name": "b", "podSelector": {"matchLabels": {"tier": "b"}}, "enforcement": "Audit"},
        ],
    },
    "few rules, one enforced": {
        **NO_DEFAULTS,
        "rules": {
            **IGNORED,
            "hard-constraint": {"severity": "error", "enforced": True},
            **dict.fromkeys(("empty-selector", "selector-misses-own-pod"), "error"),
            "excessive-max-skew": {"severity": "error", "maxSkew": 1},
            "pinned-pod": "warning",
        },
        "overrides": [{"name": "other", "schedulerName": "other", "rules": {"hard-constraint": "warning"}}],
    },
    "nothing denies": {
        **NO_DEFAULTS,
        "enforcement": "Warn",
        "rules": {
            **IGNORED,
            **dict.fromkeys(("malformed-topology-key", "missing-constraints"), "error"),
            "forbidden-topology-key": ALLOWED["forbidden-topology-key"] | ENFORCED_HINT,
            "pinned-pod": ENFORCED_HINT,
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
    warnings: tuple[str, ...]
    obj: dict


def send(plane, method, path, body, user="", dry_run=True):
    headers = {"Authorization": f"Bearer {plane.api.token}", "Content-Type": "application/json"}
    headers |= {"Impersonate-User": user, "Impersonate-Group": "system:masters"} if user else {}
    connection = HTTPSConnection("127.0.0.1", plane.api.port, context=plane.api.context, timeout=60)
    with closing(connection):
        connection.request(method, f"{path}{'?dryRun=All' if dry_run else ''}", json.dumps(body), headers)
        response = connection.getresponse()
        obj = json.loads(response.read())
        headers_there = response.headers.get_all("Warning") or ()
        warnings = tuple(text for header in headers_there for text in warning_texts(header))
        return Answer(response.status, obj.get("message", "") if response.status >= 400 else "", warnings, obj)


def examples():
    """Each rule's examples, and what is recorded of the API server's own validation, as Pods and in Deployments."""
    kinds = {(kind.api_version, kind.kind): kind for kind in KINDS}
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
    define(plane, *CUSTOM)
    plane.controller_manager.stop()
    plane.scheduler.stop()
    return [*_admitted(plane, [*cases(NUMBER, SEED), *large(), *excused(), *examples()])]


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
            if not case.kind.built_in:
                obj["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
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


def decision(judged, policy, minor):
    """What the webhook answers."""
    request = AdmissionRequest.of(
        judged.admitted,
        judged.stored,
        phase=VALIDATE,
        kinds=policy.kinds,
        namespace=judged.namespace,
        user=judged.case.user or "admin",
    )
    return review(request, Terms(policy, None, features(minor), labels=NAMESPACES))


@pytest.fixture(params=POLICIES)
def in_force(plane, admitted, request):
    """A policy, whose ValidatingAdmissionPolicies the API server evaluates."""
    parsed = policy_of(**POLICIES[request.param])
    export = Export(parsed, features(programs.version().minor), SYSTEM_NAMESPACES)
    manifests = admission_policies(export)
    for manifest in manifests[::2]:
        manifest["spec"]["failurePolicy"] = "Fail"  # so that an expression that fails is seen
    output = plane.apply(*manifests)
    assert (0, "") == output[::2], output.stderr[:3000]
    minor = export.features.minor
    decisions = [(judged, decision(judged, parsed, minor)) for judged in admitted]
    denied = next((judged for judged, webhook in decisions if not webhook.allowed), None)
    warned = next(judged for judged, webhook in decisions if "(evenkeel pinned-pod)" in str(webhook.warnings))
    if denied is not None:
        until(lambda: again(plane, denied).status == 403, "what denies to be in force")
    until(lambda: "(evenkeel pinned-pod)" in str(again(plane, warned).warnings), "what warns to be in force")
    yield parsed
    for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        for name in POLICY_NAMES.values():
            plane.kubectl("delete", kind, name, "--ignore-not-found")
    gone = denied or warned
    until(lambda: again(plane, gone).status < 300 and not own(again(plane, gone)), "no policy to be in force")


def own(answer):
    return [warning.removeprefix(WARNED) for warning in answer.warnings if warning.startswith(WARNED)]


def again(plane, judged):
    return sent(plane, judged.case, judged.namespace, judged.sent)


def test_api_server_and_webhook_agree(plane, admitted, in_force):
    minor = programs.version().minor
    different, seen = [], Counter()
    for judged in admitted:
        webhook, answer = decision(judged, in_force, minor), again(plane, judged)
        seen["denied" if not webhook.allowed else "warned" if webhook.warnings else "allowed"] += 1
        if difference := difference_between(judged, webhook, answer, seen):
            different.append((judged.case.name, judged.case.kind.kind, *difference))
    print(dict(seen))
    assert not different, f"{len(different)} of {len(admitted)}:\n" + "\n".join(map(str, different))
    assert seen["allowed"] > 100 and seen["warned"] > 50
    excused = seen["denied"] - seen["same message"]
    assert excused <= 0.25 * seen["denied"]


def difference_between(judged, webhook, answer, seen):
    """What differs between both answers, None if nothing does but what `evenkeel manifests` says."""
    ill_typed = any(each.rule == "invalid-constraint" and each.message in OF_SCHEMA for each in webhook.findings)
    if ill_typed and not judged.case.kind.built_in and not (webhook.allowed and answer.status == 403):
        seen["invalid in a custom resource"] += 1  # Its types and labels are left to its schema.
        return None
    if (answer.status == 403) == webhook.allowed or answer.status not in (200, 201, 403):
        return "verdict", webhook.status, answer
    if not webhook.allowed:
        line, told = webhook.status["message"].split("\n")[0], answer.message.partition(DENIED)[2]
        if line == told:
            seen["same message"] += 1
            return None
        rule = told.rpartition("(evenkeel ")[2]
        if "\\u" in line and told.partition(" (")[0] in {rule.title for rule in RULES.values()}:
            seen["unprintable"] += 1
            return None
        if rule.startswith("missing-constraints") and "add a constraint for" in told and "add {maxSkew" in line:
            seen["no offer"] += 1
            return None
        if (
            "matchLabelKeys[" in line
            and "matchLabelKeys[" in told
            and line.split("matchL")[0] == told.split("matchL")[0]
        ):
            seen["another key"] += 1
            return None
        same_but_fix = line.rpartition("; ")[0] == told.rpartition("; ")[0]
        if line.endswith(f"(evenkeel {rule}") and (judged.stored is not None or same_but_fix):
            seen["other fix or place"] += 1
            return None
        return "message", line, told
    rules = {rule for rule in RULES if f"(evenkeel {rule})" in "".join(webhook.warnings)}
    told = {rule for rule in RULES if f"(evenkeel {rule})" in "".join(answer.warnings)}
    if "more finding" in str(webhook.warnings):
        return None
    if rules & CHECKS.keys() != told:
        return "warnings", rules - told, told - rules, webhook.warnings, answer.warnings
    for text in own(answer):
        known = text in webhook.warnings or len(text) > WARNING_LIMIT
        seen["same warning" if known else "other warning"] += 1
    return None
