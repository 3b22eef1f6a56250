"""An answer as kubectl would print it, for programs, and as it is stored."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import NamedTuple

import pytest
import yaml

from evenkeel.admit.dry_run import Applied, dry_run
from evenkeel.admit.text import as_json, as_yaml, text, title
from tests.support.build import FEATURES, constraint, pod, policy, service, snapshot, workload
from webhook.admission.terms import Terms
from webhook.kubernetes.documents import read_objects
from webhook.kubernetes.kinds import FIELD

EMPTY, INVALID, MISSES = (
    constraint(**fields)
    for fields in ({"labelSelector": {}}, {"maxSkew": 0}, {"labelSelector": {"matchLabels": {"a": "b"}}})
)
BAD = workload("Deployment", EMPTY)


def applied(obj, old=None, rules="", objects=None, **options):
    cluster = None if objects is None else snapshot(*objects)
    return dry_run(obj, old, Terms(policy(rules), cluster, FEATURES), **options)


def of_operator(rules=""):
    prometheus = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "x"}}
    return applied({**prometheus, "spec": {FIELD: [constraint()]}}, rules=rules)


class Case(NamedTuple):
    """The lines that are printed, each by how it begins."""

    name: str
    applied: partial[Applied]
    lines: tuple[str, ...]


DENIED = (
    'Error from server (Forbidden): error when creating "f": admission webhook "{}.evenkeel.dev" denied the request: '
)
STRICT = (
    'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
    'unknown field "spec.template.spec.topologySpreadConstraints'
)
THING = {
    "apiVersion": "e.com/v1",
    "kind": "Thing",
    "metadata": {"name": "x"},
    "spec": {"topologySpreadConstraints": [{}]},
}
CASES = [
    Case("created", partial(applied, workload("Deployment")), ("deployment.apps/web created",)),
    Case("configured", partial(applied, BAD, BAD), ("deployment.apps/web configured",)),
    Case("denied", partial(applied, BAD), (DENIED.format("workloads") + "Deployment shop/web: spec.template.spec.",)),
    Case(
        "an update is denied",
        partial(applied, BAD, workload("Deployment")),
        ("Error from server (Forbidden): error when patching",),
    ),
    Case(
        "a Pod by its own entry",
        partial(applied, pod(EMPTY)),
        (DENIED.format("pods") + "Pod shop/web-1: spec.topologySpreadConstraints[0]",),
    ),
    Case(
        "denied where a rule is enforced",
        partial(applied, BAD, rules="{rules: {missing-constraints: {severity: error, enforced: true}}}"),
        (
            DENIED.format("workloads") + "Deployment shop/web: spec.template.spec.",
            "  note: judged as if a person sent it, and not a controller",
            "  note: after evenkeel manifests --failure-policy-enforced Fail, the error names the entry "
            "enforced.workloads.evenkeel.dev in ValidatingWebhookConfiguration evenkeel",
        ),
    ),
    Case(
        "denied early where a rule is enforced",
        partial(
            applied,
            pod(INVALID),
            rules="{earlyAnswer: true, rules: {empty-selector: {severity: error, enforced: true}}}",
        ),
        (DENIED.format("pods") + "Pod shop/web-1: spec.topologySpreadConstraints[0].maxSkew",),
    ),
    Case("warned", partial(applied, pod(MISSES)), ("Warning: Pod shop/web-1: ", "pod/web-1 created")),
    Case(
        "given defaults",
        partial(applied, pod(), objects=[service()]),
        (
            "pod/web-1 created",
            "  defaulted: selector app=web from Service/web",
            '    - {"maxSkew": 1',
            '    - {"maxSkew": 1',
        ),
    ),
    Case("given none", partial(applied, pod(), objects=[]), ("pod/web-1 created", "  not defaulted: no Service, ")),
    Case(
        "given none without a cluster",
        partial(applied, pod()),
        ("pod/web-1 created", "  not defaulted: no cluster is given "),
    ),
    Case(
        "never sent",
        partial(applied, BAD, never_sent=["shop"]),
        ("deployment.apps/web created", "  not sent: the API server sends the webhook nothing from kube-system"),
    ),
    Case(
        "refused by kube-apiserver",
        partial(applied, pod(INVALID), rules="{enforcement: Audit}"),
        (
            'The Pod "web-1" is invalid: spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater',
            "  set maxSkew to 1",
        ),
    ),
    Case(
        "with fields that the API does not have",
        partial(applied, workload("Deployment", constraint(matchLabels={"app": "web"}, MaxSkew=1, labelSelector=None))),
        (
            f'Error from server (BadRequest): error when creating "f": {STRICT}[0].MaxSkew", unknown field',
            "  spec.template.spec.topologySpreadConstraints[0].MaxSkew: remove it: maxSkew is there, too",
            "  spec.template.spec.topologySpreadConstraints[0].matchLabels: move matchLabels below labelSelector",
        ),
    ),
    Case(
        "without a selector",
        partial(applied, workload("DaemonSet", spec={"selector": None})),
        (
            'The DaemonSet "web" is invalid: spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector`',
            "  write selector: {matchLabels: {app: web}}",
        ),
    ),
    Case(
        "of an operator that the policy does not name",
        partial(of_operator),
        ("prometheus.monitoring.coreos.com/x created", "  not sent: the API server sends a Prometheus only if the"),
    ),
    Case(
        "of an operator that the policy names",
        partial(of_operator, rules="{workloads: [{builtIn: prometheus}]}"),
        ("prometheus.monitoring.coreos.com/x created",),
    ),
    Case(
        "of no known kind",
        partial(applied, THING),
        ("thing.e.com/x created", "  not judged: the policy does not say where a e.com/v1 Thing has its"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_kubectl_would_print(case):
    lines = text(case.applied(), "f", policy(case.applied.keywords.get("rules", ""))).splitlines()

    assert len(case.lines) == len(lines)
    assert [] == [(line, wanted) for line, wanted in zip(lines, case.lines, strict=True) if not line.startswith(wanted)]


@pytest.mark.parametrize(
    ("shown", "obj"),
    [
        ("pod/web-1", pod()),
        ("deployment.apps/web", workload("Deployment")),
        ("pod/web-", {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}}),
        ("pod/", {"apiVersion": "v1", "kind": "Pod"}),
        ("pod/a\\u000ab", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a\nb"}}),
    ],
    ids=["core", "a group", "a name to come", "no name", "two lines"],
)
def test_an_object_is_named_as_kubectl_names_it(shown, obj):
    assert shown == title(obj)


def test_json_of_a_denial():
    found = json.loads(as_json(applied(BAD)))

    assert {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"} == found["object"]
    assert (False, "validate", 403) == (found["allowed"], found["deniedBy"], found["status"]["code"])
    assert (["empty-selector"], []) == ([one["rule"] for one in found["findings"]], found["patch"])
    assert {"findings"} == found["auditAnnotations"].keys()


@pytest.mark.parametrize(("objects", "reason"), [([service()], None), ([], "nothing-selects-it")], ids=["given", "not"])
def test_json_of_defaults(objects, reason):
    found = json.loads(as_json(applied(pod(), objects=objects)))

    assert (reason is None, bool(reason)) == (bool(found["defaulted"]), bool(found["notDefaulted"]))
    if reason is None:
        assert (["Service/web"], "app=web") == (found["defaulted"]["source"], found["defaulted"]["selector"])
        assert {"defaulted", "findings"} >= found["auditAnnotations"].keys()
    else:
        assert reason == found["notDefaulted"]["reason"]


# To kubectl each of these is something else than a string if it is not quoted (sigs.k8s.io/yaml v1.6.0).
NUMBERS = ["1e3", "+1e3", "-1e3", ".5e1", "0o17", "017", "1_000", ".5", "+1", "0x1F"]


UNQUOTED = [*NUMBERS, "true", "no", "off", "null", "~", "y", "N", "2024-01-01"]


@pytest.mark.parametrize("text", UNQUOTED)
def test_yaml_quotes_what_another_reader_would_not_take_for_a_string(text):
    out = as_yaml(applied(pod(labels={"v": text, text: "v"})))

    assert re.search(rf"^    v: ['\"]{re.escape(text)}['\"]$", out, re.MULTILINE)
    assert re.search(rf"^    ['\"]{re.escape(text)}['\"]: v$", out, re.MULTILINE)
    assert {"v": text, text: "v"} == yaml.safe_load(out)["metadata"]["labels"]


def test_yaml_writes_an_alias_out_and_keeps_what_is_not_ascii():
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: é}\ndata: *m\n"
    (obj,) = read_objects(text)

    assert "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: é\ndata:\n  name: é\n" == as_yaml(applied(obj))
