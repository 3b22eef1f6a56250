"""What the chart renders: webhook configurations as the program makes them, and objects that keep their promises."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.e2e.helm import NAMESPACE, RefusedError, helm, render
from tests.generate import chart
from tests.generate.chart import FOLDER
from tests.support import ROOT
from tests.support.build import merged, node
from tests.support.strategies import policies_of_defaults
from webhook import __version__
from webhook.cli.main import main, parser
from webhook.cluster.watched_resources import WATCH_VERBS, WATCHED
from webhook.kubernetes.features import OLDEST
from webhook.manifests.ca_bundle_guard import CA_BUNDLE_NAME, ca_bundle_policy
from webhook.manifests.configurations import (
    FAIL,
    MUTATING_NAME,
    NAME,
    NEEDED_NAMESPACES,
    POLICIES_SINCE,
    TIMEOUT_SECONDS,
    WebhookTarget,
    configurations,
)
from webhook.manifests.rbac import viewer
from webhook.manifests.skip_label import SKIP_LABEL_NAME, skip_label_policy
from webhook.policy import parsing as policies
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND
from webhook.rules import RULES
from webhook.server.settings import SETTINGS, SHUTDOWN_SECONDS
from webhook.server.transport.worker import LAST_SECONDS

SERVICE = (NAMESPACE, "evenkeel")
SPREAD_POLICY = {"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND}
SYSTEM = {"defaultingType": "System"}
HOST = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
LIST = {"defaultingType": "List", "defaultConstraints": [HOST]}
FOR_SOME = {"name": "some", "podSelector": {}}
ROLLOUT = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "resource": "rollouts"}
FLEET = {"apiVersion": "a.io/v1", "kind": "Fleet", "resource": "fleets"}
KRUISE = {"apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet", "resource": "statefulsets"}
KAFKA = {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": "Kafka", "resource": "kafkas"}
DIGEST = f"sha256:{'d' * 64}"
CA = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
OWN_FILES = {"certificate": {"mode": "own", "existingSecret": "own-tls", "caBundle": CA}}

POLICIES = {
    "as built in": {},
    "early answers": {"earlyAnswer": True},
    "System": {"defaulting": SYSTEM},
    "System, early answers": {"defaulting": SYSTEM, "earlyAnswer": True},
    "defaulting that says nothing": {"defaulting": {}},
    "an empty list": {"defaulting": {"defaultingType": "List", "defaultConstraints": []}},
    "a list without constraints": {"defaulting": {"defaultingType": "List"}},
    "a list": {"defaulting": {"defaultingType": "List", "defaultConstraints": [HOST]}},
    "System for some": {"overrides": [{**FOR_SOME, "defaulting": SYSTEM}]},
    "a list for some": {
        "defaulting": SYSTEM,
        "overrides": [{**FOR_SOME, "defaulting": {"defaultingType": "List", "defaultConstraints": [HOST]}}],
    },
    "System for all and for some": {"defaulting": SYSTEM, "overrides": [{**FOR_SOME, "defaulting": SYSTEM}]},
    "lists for some namespaces": {
        "defaulting": SYSTEM,
        "overrides": [
            {"name": team, "namespaceSelector": {"matchLabels": {"team": team, "env": "prod"}}, "defaulting": LIST}
            for team in "ba"
        ],
    },
    "a list, and one for some namespaces": {
        "defaulting": LIST,
        "overrides": [{"name": "a", "namespaceSelector": {"matchLabels": {"team": "a"}}, "defaulting": LIST}],
    },
    "missing constraints": {"rules": {"missing-constraints": "error"}},
    "missing constraints, early answers": {"rules": {"missing-constraints": "info"}, "earlyAnswer": True},
    "missing constraints, with parameters": {
        "rules": {"missing-constraints": {"severity": "warning", "minReplicas": 3}}
    },
    "missing constraints, parameters only": {"rules": {"missing-constraints": {"minReplicas": 3}}},
    "missing constraints for some": {"overrides": [{**FOR_SOME, "rules": {"missing-constraints": "error"}}]},
    "missing constraints for all but some": {
        "rules": {"missing-constraints": "error"},
        "overrides": [{**FOR_SOME, "rules": {"missing-constraints": "ignore"}}],
    },
    "missing constraints ignored twice": {
        "rules": {"missing-constraints": {"severity": "ignore"}},
        "overrides": [{**FOR_SOME, "rules": {"missing-constraints": {"minReplicas": 3}}}],
    },
    "another rule for some": {"overrides": [{**FOR_SOME, "rules": {"empty-selector": "warning"}}]},
    "a kind": {"workloads": [{**FLEET, "podTemplate": "spec.template", "replicas": "spec.size"}]},
    "a kind with lists": {
        "workloads": [{**FLEET, "podTemplate": "spec.sets[*].racks[*].template"}],
        "earlyAnswer": True,
    },
    "a kind without a template": {
        "workloads": [{**FLEET, "constraints": "spec.spread", "labels": "spec.labels", "replicas": "spec.size"}]
    },
    "constraints and labels in one list": {
        "workloads": [{**FLEET, "constraints": "spec.sets[*].spread", "labels": "spec.sets[*].labels"}]
    },
    "a list of lists": {"workloads": [{**FLEET, "constraints": "spec[*]"}]},
    "several places of one kind": {
        "workloads": [
            {**FLEET, "podTemplate": "spec.leader"},
            {**FLEET, "podTemplate": "spec.workers[*].template"},
            {**FLEET, "constraints": "spec.spread", "labels": "spec.workers.labels"},
        ]
    },
    "two versions and two kinds of a group": {
        "workloads": [
            {**FLEET, "podTemplate": "spec.template"},
            {**FLEET, "apiVersion": "a.io/v2", "podTemplate": "spec.pods"},
            {"apiVersion": "a.io/v1", "kind": "Armada", "resource": "fleets", "podTemplate": "spec.ships"},
            {"apiVersion": "a.io/v1", "kind": "Boat", "resource": "boats", "podTemplate": "spec.template"},
        ]
    },
    "a kind by name": {"workloads": [{"builtIn": "strimzi-kafka"}]},
    "each key of an object": {"workloads": [{"builtIn": "druid"}, {"builtIn": "kubeflow-mpijob"}], "earlyAnswer": True},
    "kinds by name, and one of their places": {
        "workloads": [
            {"builtIn": "cnpg-pooler"},
            {**FLEET, "podTemplate": "spec.template"},
            {**KAFKA, "constraints": "spec.kafka.template.pod.topologySpreadConstraints"},
            {"builtIn": "strimzi-kafka"},
        ],
        "earlyAnswer": True,
    },
    "names that CEL keeps": {"workloads": [{**FLEET, "podTemplate": "spec.pod-sets[*].in.0.namespace"}]},
    "a known kind anew": {"workloads": [{**ROLLOUT, "podTemplate": "spec.pods"}]},
    "one version of a known kind anew": {"workloads": [{**KRUISE, "podTemplate": "spec.pods"}], "earlyAnswer": True},
}


def agree(policy, failure_policy="Ignore", enforced="Ignore", **values):
    """Hold what the chart renders against what the program makes of the policy that is in the ConfigMap."""
    failing = {"failurePolicy": failure_policy, "failurePolicyEnforced": enforced}
    rendered = render({"policy": policy, **failing, **values})
    (config_map,) = (one for one in rendered if one["metadata"]["name"] == "evenkeel-policy")
    found = [one for one in rendered if one["kind"].endswith("WebhookConfiguration")]
    bundle = values["certificate"]["caBundle"].encode() if "certificate" in values else b""
    apart = failure_policy == "Ignore" and enforced == "Fail"
    needed = NEEDED_NAMESPACES if "Fail" in (failure_policy, enforced) else ()
    excluded = (*values.get("excludeNamespaces", ()), *needed)
    target = WebhookTarget(bundle, SERVICE, failure_policy=failure_policy, enforced_fail=apart, excluded=excluded)
    wanted = configurations(policies.parse_policy(config_map["data"]["policy.yaml"]), target)
    for one in found:
        labels = one["metadata"].pop("labels")
        one["metadata"]["labels"] = {"app.kubernetes.io/name": labels["app.kubernetes.io/name"]}

    assert [*wanted] == found


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_the_chart_asks_for_what_the_program_would_ask_for(policy):
    agree(policy)


@pytest.mark.parametrize("failure_policy", ["Ignore", "Fail"])
@pytest.mark.parametrize("excluded", [["a"], ["karpenter", "kube-system", "a"]], ids=["another", "some twice"])
def test_that_holds_where_namespaces_are_excluded(failure_policy, excluded):
    agree({}, failure_policy, excludeNamespaces=excluded)


def test_that_holds_with_another_failure_policy_and_a_ca_bundle():
    agree(POLICIES["several places of one kind"] | {"earlyAnswer": True}, FAIL, **OWN_FILES)


def test_a_kind_that_nobody_knows_by_name_fails_the_render():
    with pytest.raises(RefusedError, match='builtIn: found "strimzi-kafak", wanted a kind that evenkeel kinds lists'):
        render({"policy": {"workloads": [{"builtIn": "strimzi-kafka"}, {"builtIn": "strimzi-kafak"}]}})


ENFORCED = {"severity": "error", "enforced": True}
FOR_OTHERS = {"name": "others", "schedulerName": "other"}


@pytest.mark.parametrize("failure_policy", ["Ignore", "Fail"])
@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"rules": {"empty-selector": {"enforced": True}}},
        {"rules": {"empty-selector": {"enforced": True}, "missing-constraints": "warning"}, "earlyAnswer": True},
        {"rules": {"missing-constraints": ENFORCED}},
        {"enforcement": "Warn", "rules": {"missing-constraints": ENFORCED}},
        {
            "enforcement": "Warn",
            "rules": {"missing-constraints": ENFORCED},
            "overrides": [FOR_OTHERS | {"enforcement": "Deny", "until": "2027-01-31"}],
        },
    ],
    ids=["nothing", "a rule", "and another not", "what has none", "nothing denies", "some are denied"],
)
def test_that_holds_where_what_is_enforced_has_entries_of_its_own(policy, failure_policy):
    agree(policy, failure_policy, "Fail")


ENFORCEMENTS = st.fixed_dictionaries({}, optional={"enforcement": st.sampled_from(["Deny", "Warn"])})
SETTINGS_OF_RULES = st.dictionaries(
    st.sampled_from(["missing-constraints", "empty-selector", "pinned-pod", "soft-constraint"]),
    st.one_of(
        st.sampled_from(["error", "warning", "ignore"]),
        st.fixed_dictionaries(
            {}, optional={"severity": st.sampled_from(["error", "warning"]), "enforced": st.booleans()}
        ),
    ),
    max_size=3,
)


@settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(*[SETTINGS_OF_RULES] * 3, *[ENFORCEMENTS] * 2)
def test_that_holds_for_any_rules(rules, of_some, of_others, enforcement, enforcement_of_some):
    overrides = [{**FOR_SOME, **enforcement_of_some, "rules": of_some}, {**FOR_OTHERS, "rules": of_others}]
    agree({"rules": rules, **enforcement, "overrides": overrides}, enforced="Fail")


@settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(policies_of_defaults)
def test_that_holds_for_any_defaults(policy):
    agree(policy)


NAMES = st.sampled_from(["spec", "a", "b-c", "in", "_x", "9"])
PATHS = st.lists(st.tuples(NAMES, st.booleans()), min_size=1, max_size=4).map(
    lambda parts: ".".join(name + "[*]" * each for name, each in parts)
)
PLACES = st.one_of(
    st.builds(lambda path: {"podTemplate": path}, PATHS),
    st.builds(lambda path: {"constraints": path}, PATHS),
    st.builds(lambda path, labels: {"constraints": path, "labels": labels}, PATHS, PATHS),
)
KINDS = st.sampled_from([FLEET, {**FLEET, "apiVersion": "b/v2"}, ROLLOUT, KRUISE])
BY_NAME = st.sampled_from([{"builtIn": name} for name in ("druid", "cnpg-pooler", "strimzi-kafka", "kubeflow-mpijob")])
WORKLOADS = st.lists(BY_NAME | st.builds(lambda kind, place: {**kind, **place}, KINDS, PLACES), max_size=4)


def usable(policy):
    try:
        policies.parse_policy(json.dumps({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND, **policy}))
    except policies.PolicyError:
        return False
    return True


@settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    st.builds(lambda workloads, early: {"workloads": workloads, "earlyAnswer": early}, WORKLOADS, st.booleans()).filter(
        usable
    )
)
def test_that_holds_for_any_kind(policy):
    agree(policy)


def test_a_policy_of_which_all_is_commented_out_is_the_built_in_one():
    """`policy:` and nothing below it, which YAML reads as null."""
    assert render({}) == render({"policy": None})


INJECT = "cert-manager.io/inject-ca-from"
KEEP = "helm.sh/resource-policy"
KEY = "-----BEGIN PRIVATE KEY-----\nMC4\n-----END PRIVATE KEY-----\n"
DEFAULT = {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}
SECRETS = {"apiVersion": "v1", "kind": "Secret", "resource": "secrets", "podTemplate": "data"}


def test_what_it_refuses_to_render():
    """A mode that lacks something, and what values.schema.json does not allow; a sentence each."""
    for values, complaint in (
        ({"certificate": {"mode": "own", "caBundle": CA}}, "certificate.existingSecret: found none"),
        ({"certificate": {"mode": "own", "existingSecret": "a"}}, "certificate.caBundle: found none"),
        ({"policy": {"rules": {"empty-selektor": "error"}}}, "'empty-selektor' not allowed"),
        ({"policy": {"kind": "KubeSchedulerConfiguration"}}, "value must be 'SpreadPolicy'"),
        ({"replicas": 3}, "'replicas' not allowed"),
        ({"clients": {"caConfigMap": "a", "caSecret": "b"}}, "clients: found caConfigMap and caSecret"),
        ({"clients": {"names": ["a"]}}, "clients.names: found names without a CA"),
        ({"serviceAccount": {"create": False}}, "serviceAccount.name: found none with create: false"),
        ({"ports": {"health": 8443}}, "ports: found 8443 for webhook and for health"),
        ({"ports": {"health": None}}, "missing property 'health'"),
        ({"ports": {"webhook": 443}}, "minimum: got 443, want 1,024"),
        ({"hostNetwork": True, "networkPolicy": {"enabled": True}}, "networkPolicy.enabled: found true with host"),
        ({"extraArgs": ["threads"]}, "'threads' does not match pattern"),
        *(
            ({"extraArgs": [option]}, f"extraArgs: found {option}, wanted one of --ca-lifetime=")
            for option in ("--threads=2", "--thr=2", "--tls-cert=a", "--client-ca=a", "--self-signed", "--help")
        ),
        *(
            ({"certificate": {"mode": mode}, "extraEnv": [{"name": name}]}, f"extraEnv: found {name}, wanted one")
            for mode in ("self-managed", "cert-manager")
            for name in ("EVENKEEL_TLS_SECRET", "EVENKEEL_SELF_SIGNED", "EVENKEEL_CLIENT_CA")
        ),
        ({"extraEnv": [{"name": "A"}, {"name": "A"}]}, "extraEnv: found A twice"),
        ({"extraEnv": [{"name": "A", "value": 1}]}, "got number, want string"),
        ({"extraEnv": [{"name": "A", "valu": ""}]}, "'valu' not allowed"),
        ({"extraEnv": [{"name": "B C="}]}, "'B C=' does not match pattern"),
        ({"extraEnv": [{"name": "A", "value": "", "valueFrom": {"secretKeyRef": {}}}]}, "'not' failed"),
        ({"extraEnv": [{"name": "A", "valueFrom": {}}]}, "minProperties: got 0, want 1"),
        ({"excludeNamespaces": ["a b"]}, "'a b' does not match pattern"),
        ({"timeoutSeconds": {"mutate": 11}}, "maximum: got 11, want 10"),
        *(
            ({"hostNetwork": True, "ports": {"webhook": port}}, f"ports.webhook: found {port} with hostNetwork")
            for port in (10250, 2379, 6443, 30080)
        ),
        ({"hostNetwork": True, "replicaCount": 1, "failurePolicy": "Fail"}, "replicaCount: found 1 with hostNetwork"),
        ({"hostNetwork": True, "dnsPolicy": "ClusterFirst"}, "dnsPolicy: found ClusterFirst with hostNetwork"),
        ({"webhookAnnotations": {INJECT: "a/b"}}, f"webhookAnnotations: remove {INJECT}, because cert-manager"),
        ({"webhookAnnotations": {KEEP: "keep"}}, f"webhookAnnotations: remove {KEEP}, because with it"),
        ({"resources": {"claims": []}}, "'claims' not allowed"),
        ({"certificate": {"mode": None}}, "missing property 'mode'"),
        ({"failurePolicy": None}, "missing property 'failurePolicy'"),
        ({"uninstallHook": None}, "missing property 'uninstallHook'"),
        ({"uninstallHook": {"resources": {"limit": {"memory": "1Gi"}}}}, "'limit' not allowed"),
        (
            {"certificate": {"mode": "own", "existingSecret": "a", "caBundle": CA + KEY}},
            "caBundle: found a private key",
        ),
        ({"certificate": {"existingSecret": "a"}}, "certificate.existingSecret: mode self-managed does not use it"),
        ({"certificate": {"issuerRef": {"name": "a"}}}, "certificate.issuerRef: mode self-managed does not use it"),
        ({"certificate": {"mode": "cert-manager", "issuerRef": {"kind": "Issuer"}}}, "properties 'name' required"),
        ({"failurePolicy": "Fail", "replicaCount": 0}, "replicaCount: found 0 with failurePolicy Fail"),
        ({"failurePolicyEnforced": "Fail", "replicaCount": 0}, "replicaCount: found 0 with failurePolicyEnforced Fail"),
        ({"autoscaling": {"enabled": True, "minReplicas": 7}}, "autoscaling.minReplicas: found 7, wanted at most"),
        ({"networkPolicy": {"apiServerPorts": None}}, "missing property 'apiServerPorts'"),
        ({"networkPolicy": {"apiServerPorts": []}}, "minItems: got 0, want 1"),
        ({"networkPolicy": {"apiServerPorts": [70000]}}, "maximum: got 70,000, want 65,535"),
        *(
            ({"networkPolicy": {"apiServers": [address]}}, f"'{address}' does not match pattern")
            for address in ("10.0.0.0/33", "fd00::/129", "10.0.0.1")
        ),
        ({"resources": {"limits": {"memory": "lots"}}}, "'lots' does not match pattern"),
        ({"kubernetesVersion": f"1.{OLDEST - 1}"}, "does not match pattern"),
        *(
            ({"extraArgs": [option]}, f"extraArgs: found {option}, wanted a duration")
            for option in ("--certificate-lifetime=soon", "--ca-lifetime", "--ca-lifetime=0d")
        ),
        ({"topologySpreadConstraints": [None]}, "got null, want object"),
        ({"tolerations": ["x"]}, "got string, want object"),
        ({"imagePullSecrets": ["x"]}, "got string, want object"),
        ({"policy": {"defaulting": {"defaultConstraints": [DEFAULT]}}}, "missing property 'defaultingType'"),
        ({"policy": {"defaulting": {"defaultingType": "None"}}}, "value must be one of 'System', 'List'"),
        *(
            ({"policy": {"defaulting": {"defaultingType": "List", "defaultConstraints": [DEFAULT | wrong]}}}, complaint)
            for wrong, complaint in (
                ({"maxSkew": 0}, "minimum: got 0, want 1"),
                ({"topologyKey": ""}, "minLength: got 0, want 1"),
                ({"whenUnsatisfiable": "Never"}, "value must be one of 'DoNotSchedule', 'ScheduleAnyway'"),
                ({"labelSelector": {}}, "'labelSelector' not allowed"),
            )
        ),
        ({"policy": {"overrides": [{"name": "a"}]}}, "missing property 'namespaceSelector'"),
        ({"policy": {"workloads": [{**FLEET}]}}, "missing property 'podTemplate'"),
        ({"policy": {"workloads": [SECRETS]}}, "'v1' does not match pattern"),
        (
            {"policy": {"workloads": [SECRETS | {"apiVersion": "a/v1", "resource": "*"}]}},
            r"'\*' does not match pattern",
        ),
    ):
        with pytest.raises(RefusedError, match=complaint):
            render(values)
    with pytest.raises(RefusedError, match=r"failurePolicyEnforced: found Fail with Kubernetes v1\.28\.0"):
        render({"failurePolicyEnforced": "Fail", "policy": {"rules": {"empty-selector": ENFORCED}}}, version="1.28.0")
    with pytest.raises(RefusedError, match=r"skipLabel: found Kubernetes v1\.29\.4, wanted 1\.30 or newer"):
        render({"skipLabel": {"groups": ["a"]}}, "1.29.4")
    with pytest.raises(RefusedError, match="incompatible with Kubernetes"):
        render(version="1.24.0")


def test_an_api_server_that_cannot_read_the_conditions_is_not_given_them():
    old, new = (render(version=version, only="webhooks")[1]["webhooks"] for version in ("1.28.15", "1.29.0"))

    assert {False} == {"matchConditions" in one for one in old}
    assert new == [{**one, "matchConditions": other["matchConditions"]} for one, other in zip(old, new, strict=True)]


@pytest.mark.parametrize(
    ("users", "groups"),
    [
        (["jane", "system:serviceaccount:a:b"], []),
        ([], ["platform"]),
        (["1"], ["""CN=the "Ops" of <x> & y's,OU=\\n \u2638"""]),
    ],
    ids=["users", "groups", "both"],
)
def test_the_chart_lets_those_set_the_skip_label_that_the_program_would_let(users, groups):
    found = render({"skipLabel": {"users": users, "groups": groups}}, f"1.{POLICIES_SINCE}.0", only="skiplabel")
    for obj in found:
        obj["metadata"]["labels"] = {"app.kubernetes.io/name": obj["metadata"]["labels"]["app.kubernetes.io/name"]}

    assert [*skip_label_policy(users, groups)] == found


@pytest.mark.parametrize("given", [{}, {"users": None, "groups": []}], ids=["default", "nulls"])
def test_nobody_named_means_that_nothing_guards_the_skip_label(given):
    assert render({}, "1.29.4") == render({"skipLabel": given}, "1.29.4")
    assert SKIP_LABEL_NAME not in json.dumps(render({}))


@pytest.mark.parametrize("account", ["", "mine"])
def test_the_chart_holds_the_account_to_the_ca_bundle_as_the_program_does(account):
    found = render({"serviceAccount": {"name": account}}, f"1.{POLICIES_SINCE}.0", only="cabundle")
    for obj in found:
        obj["metadata"]["labels"] = {"app.kubernetes.io/name": obj["metadata"]["labels"]["app.kubernetes.io/name"]}

    assert [*ca_bundle_policy(f"system:serviceaccount:{NAMESPACE}:{account or 'evenkeel'}")] == found


@pytest.mark.parametrize(
    ("values", "version"),
    [
        ({}, "1.29.4"),
        ({"certificate": {"onlyCaBundle": False}}, "1.30.0"),
        ({"certificate": {"mode": "cert-manager"}}, "1.30.0"),
        (OWN_FILES, "1.30.0"),
    ],
    ids=["an old API server", "not wanted", "cert-manager", "own"],
)
def test_where_the_account_may_not_be_held_or_updates_nothing_there_is_no_policy(values, version):
    assert CA_BUNDLE_NAME not in json.dumps(render(values, version))


MODES = {
    "self-managed": {},
    "cert-manager": {"certificate": {"mode": "cert-manager"}},
    "own": OWN_FILES,
}
EVERYTHING = {
    "autoscaling": {"enabled": True},
    **{name: {"enabled": True} for name in ("networkPolicy", "serviceMonitor", "prometheusRule", "dashboard")},
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "priorityClassName": "system-cluster-critical",
    "podAnnotations": {"a": "b"},
    "podLabels": {"team": "platform"},
    "policy": {"earlyAnswer": True},
    "clients": {"caConfigMap": "kube-root-ca.crt", "names": ["kube-apiserver-kubelet-client", "b:c"]},
    "tlsMinVersion": "1.3",
    "skipLabel": {"users": ["system:serviceaccount:a:b"], "groups": ["platform"]},
    "excludeNamespaces": ["a"],
    "timeoutSeconds": {"mutate": 5, "validate": 10},
    "dnsPolicy": "Default",
    "ports": {"webhook": 10250, "health": 9090},
    "extraArgs": ["--certificate-lifetime=30d"],
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://a"}, {"name": "EVENKEEL_CA_LIFETIME", "value": "9d"}],
    "deploymentAnnotations": {"a": "b"},
    "revisionHistoryLimit": 5,
}


def one(kind, objects, suffix=""):
    (found,) = (obj for obj in objects if obj["kind"] == kind and obj["metadata"]["name"].endswith(suffix))
    return found


REPORTS = {"report": {"metrics": {"enabled": True}}}


def pod_of(obj):
    """The Pod that an object makes, with its labels, if it makes any."""
    return obj if obj["kind"] == "Pod" else obj["spec"]["template"] if obj["kind"] in ("Deployment", "Job") else None


PRODUCTION = yaml.safe_load((FOLDER / "values-production.yaml").read_text("utf-8"))


@pytest.mark.parametrize(
    "values",
    [*MODES.values(), PRODUCTION, EVERYTHING, EVERYTHING | REPORTS],
    ids=[*MODES, "production", "everything", "and reports"],
)
def test_helm_lint_has_nothing_to_say(values, tmp_path):
    (tmp_path / "values.yaml").write_text(json.dumps(values))
    helm("lint", FOLDER, "--strict", "--quiet", "--values", tmp_path / "values.yaml")


def test_the_values_for_production_have_what_differs_and_nothing_else():
    """That each is known, helm lint finds by the schema."""
    built_in = yaml.safe_load((FOLDER / "values.yaml").read_text("utf-8"))

    assert [] == [*same(PRODUCTION, built_in)]


def same(values, others):
    for name, value in values.items():
        if isinstance(value, dict):
            yield from same(value, others[name])
        elif value == others[name]:
            yield name


def test_what_production_runs():
    objects = render(PRODUCTION)
    spec = one("Deployment", objects)["spec"]
    pod, (container,) = spec["template"]["spec"], spec["template"]["spec"]["containers"]
    spread = [constraint["topologyKey"] for constraint in pod["topologySpreadConstraints"]]

    assert (3, 1) == (spec["replicas"], one("PodDisruptionBudget", objects)["spec"]["maxUnavailable"])
    assert ["topology.kubernetes.io/zone", "kubernetes.io/hostname"] == spread
    assert {"cpu": "300m", "memory": "192Mi"} == container["resources"]["requests"]
    assert {"memory": "512Mi"} == container["resources"]["limits"]
    assert (
        spec["selector"]["matchLabels"]
        == one("NetworkPolicy", objects, "evenkeel")["spec"]["podSelector"]["matchLabels"]
    )
    assert any(argument.startswith("--tls-secret=") for argument in container["args"]), "self-managed"
    assert {"Ignore"} == {
        entry["failurePolicy"]
        for obj in objects
        if obj["kind"].endswith("WebhookConfiguration")
        for entry in obj["webhooks"]
    }


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["as it comes", "everything"])
def test_what_selects_pods_selects_those_of_the_deployment_and_no_others(values):
    """A Pod of a hook behind the Service would be asked for reviews."""
    objects = render(values)
    selectors = [
        one("Service", objects)["spec"]["selector"],
        *(
            obj["spec"].get("selector", obj["spec"].get("podSelector"))["matchLabels"]
            for obj in objects
            if obj["kind"] in ("Deployment", "PodDisruptionBudget", "NetworkPolicy")
            if not obj["metadata"]["name"].endswith("-hooks")
        ),
        *(
            constraint["labelSelector"]["matchLabels"]
            for constraint in one("Deployment", objects)["spec"]["template"]["spec"]["topologySpreadConstraints"]
        ),
    ]
    pods = {obj["kind"]: pod_of(obj)["metadata"]["labels"] for obj in objects if pod_of(obj)}

    assert {"Deployment", "Job", "Pod"} == pods.keys()
    for selector in selectors:
        assert ["Deployment"] == [kind for kind, labels in pods.items() if selector.items() <= labels.items()]


def test_the_pods_of_hooks_reach_the_api_server_and_evenkeel_where_all_else_is_denied():
    objects = render(EVERYTHING)
    spec = one("NetworkPolicy", objects, "-hooks")["spec"]
    (selected,), (egress,) = spec["podSelector"]["matchExpressions"], spec["egress"]
    labels = {obj["kind"]: pod_of(obj)["metadata"]["labels"] for obj in objects if pod_of(obj)}
    components = {kind: own.get(selected["key"]) for kind, own in labels.items()}

    assert {"Deployment": None, "Job": "detach", "Pod": "ready"} == components
    assert ["detach", "ready"] == selected["values"]
    of_release = spec["podSelector"]["matchLabels"]
    assert {"app.kubernetes.io/instance": "evenkeel"} == of_release, "no Pod of another release"
    assert all(of_release.items() <= labels[kind].items() for kind in ("Job", "Pod"))
    assert [53, 53, 9090, 443, 6443] == [port["port"] for port in egress["ports"]]
    assert "ingress" not in spec


@pytest.mark.parametrize(
    "values", [*MODES.values(), EVERYTHING, EVERYTHING | REPORTS], ids=[*MODES, "everything", "and reports"]
)
def test_every_pod_gives_up_what_it_can(values):
    for obj in render(values):
        pod = pod_of(obj)
        if pod is None:
            continue
        (container,) = pod["spec"]["containers"]
        assert {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}} == pod["spec"]["securityContext"]
        assert {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        } == container["securityContext"]
        assert "cpu" not in container.get("resources", {}).get("limits", {})
        assert [] == [volume for volume in pod["spec"].get("volumes", ()) if "emptyDir" in volume]


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["as it comes", "everything"])
def test_the_deployment_passes_evenkeel_s_own_rules(values, tmp_path, capsys):
    """All of them, `info` included, in a policy that asks for both topologies."""
    keys = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    rules = {rule: "warning" if one.advice else "error" for rule, one in RULES.items()}
    rules |= {"missing-constraints": {"severity": "error", "topologyKeys": keys}}
    for rule, name in (("forbidden-topology-key", "topologyKeys"), ("hard-constraint", "topologyKeys")):
        rules[rule] = {"severity": "error", name: ["rack"]}
    rules["soft-constraint"] = "ignore"  # Hard ones would keep it from running where there is a single node.
    rules["excessive-max-skew"] = {"severity": "error", "maxSkew": 1}
    (tmp_path / "policy.yaml").write_text(
        json.dumps({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND, "rules": rules})
    )
    (tmp_path / "deployment.yaml").write_text(json.dumps(one("Deployment", render(values))))
    (tmp_path / "node.json").write_text(json.dumps(node()))
    options = {"-f": "deployment.yaml", "--policy": "policy.yaml", "--cluster": "node.json"}
    code = main(["admit", *(word for name, file in options.items() for word in (name, str(tmp_path / file)))])

    assert (0, "deployment.apps/evenkeel created\n", "") == (code, *capsys.readouterr())


@pytest.mark.parametrize("mode", ["self-managed", "own"])
def test_evenkeel_may_read_what_it_watches_and_write_what_it_keeps(mode):
    objects = render(MODES[mode])
    may = {
        (obj["kind"], group, resource, tuple(rule.get("resourceNames", ())), verb)
        for obj in objects
        if obj["kind"] in ("Role", "ClusterRole") and not obj["metadata"]["name"].endswith(("-detach", "-viewer"))
        for rule in obj["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    wanted = {("ClusterRole", kind.api_group, kind.resource, (), verb) for kind in WATCHED for verb in WATCH_VERBS}
    group, keep = "admissionregistration.k8s.io", ("get", "update") if mode == "self-managed" else ("get",)
    names = {"mutatingwebhookconfigurations": MUTATING_NAME, "validatingwebhookconfigurations": NAME}
    wanted |= {("ClusterRole", group, kind, (name,), verb) for kind, name in names.items() for verb in keep}
    if mode == "self-managed":
        wanted |= {("Role", "", "secrets", ("evenkeel-tls",), verb) for verb in keep}
        wanted.add(("Role", "", "secrets", (), "create"))

    assert wanted == may


def test_people_may_read_what_commands_list():
    """And nobody may who is not bound to it."""
    made = one("ClusterRole", [obj for obj in render({}) if obj["metadata"]["name"] == "evenkeel-viewer"])
    without = render({"viewerRole": {"create": False}})
    bound = {obj["roleRef"]["name"] for obj in render({}) if obj["kind"].endswith("RoleBinding")}

    assert viewer(policies.built_in())["rules"] == made["rules"]
    assert "evenkeel-viewer" not in {obj["metadata"]["name"] for obj in without} | bound


def test_people_may_list_what_the_policy_adds():
    fleets = {"workloads": [{**FLEET, "podTemplate": "spec.template"}, {"builtIn": "strimzi-kafka"}]}
    made = one("ClusterRole", render({"policy": fleets}, only="viewer"))

    assert granted([made]) == granted([viewer(policies.parse_policy(json.dumps(SPREAD_POLICY | fleets)))])


def granted(roles):
    """Each group, resource and verb."""
    return {
        (group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_nothing_reports_unless_it_is_asked_for():
    assert [] == [obj for obj in render({}) if obj["metadata"]["name"].endswith("-report")]


def test_reports_have_a_pod_and_rights_of_their_own():
    """And what it is asked is what the program takes."""
    objects = render(EVERYTHING | REPORTS)
    deployment, role = one("Deployment", objects, "-report"), one("ClusterRole", objects, "-report")
    pod, chosen = pod_of(deployment), deployment["spec"]["selector"]["matchLabels"]
    (container,) = pod["spec"]["containers"]
    args = parser(container["args"]).parse_args(container["args"])
    service = one("Service", objects)["spec"]["selector"]

    assert granted([viewer(policies.built_in())]) == granted([role])
    assert "evenkeel-report" == pod["spec"]["serviceAccountName"]
    assert not service.items() <= pod["metadata"]["labels"].items()
    assert chosen == pod["metadata"]["labels"]
    assert chosen == one("NetworkPolicy", objects, "-report")["spec"]["podSelector"]["matchLabels"]
    assert chosen == one("PodMonitor", objects, "-report")["spec"]["selector"]["matchLabels"]
    assert (":8080", 60) == (args.metrics_bind, args.metrics_interval)


@pytest.mark.parametrize(
    ("report", "seen"),
    [({}, False), ({"metrics": {"enabled": True}}, True)],
    ids=["as it comes", "metrics"],
)
def test_alerts_and_a_dashboard_of_workloads_come_with_their_metrics_alone(report, seen):
    """As they stand in the chart's files, beside those of the webhook, which stay as they are."""
    asked = {name: {"enabled": True, "labels": {"a": "b"}} for name in ("prometheusRule", "dashboard")}
    objects = render(asked | {"report": report})
    found = {obj["metadata"]["name"]: obj for obj in objects if obj["metadata"]["labels"].get("a") == "b"}
    rules = {name: obj["spec"] for name, obj in found.items() if obj["kind"] == "PrometheusRule"}
    boards = {name: obj["data"] for name, obj in found.items() if obj["kind"] == "ConfigMap"}
    files = FOLDER / "files"

    named = {"evenkeel": "alerts.yaml"} | ({"evenkeel-report": "report-alerts.yaml"} if seen else {})
    assert {name: yaml.safe_load((files / file).read_text("utf-8")) for name, file in named.items()} == rules
    shown = {"evenkeel-dashboard": ("evenkeel.json", "dashboard.json")}
    shown |= {"evenkeel-report-dashboard": ("evenkeel-report.json", "report-dashboard.json")} if seen else {}
    assert {name: [key] for name, (key, _) in shown.items()} == {name: [*data] for name, data in boards.items()}
    for name, (key, file) in shown.items():
        assert json.loads((files / file).read_text("utf-8")) == json.loads(boards[name][key])


def test_metrics_of_reports_need_no_more_than_these_objects():
    found = [obj for obj in render(REPORTS) if obj["metadata"]["name"].endswith("-report")]

    assert ["ClusterRole", "ClusterRoleBinding", "Deployment", "ServiceAccount"] == sorted(obj["kind"] for obj in found)
    assert {"get", "list", "watch"} >= {verb for *_, verb in granted([one("ClusterRole", found)])}


def test_the_secrets_of_two_modes_have_two_names():
    """Helm takes over none that cert-manager has made, and evenkeel and cert-manager must not write the same one."""
    own = one("Secret", render(MODES["self-managed"]))["metadata"]["name"]
    objects = render(MODES["cert-manager"])
    (served,) = (volume["secret"]["secretName"] for volume in volumes(objects) if "secret" in volume)
    made = {obj["spec"]["secretName"] for obj in objects if obj["kind"] == "Certificate"}

    assert served in made
    assert own not in made


def volumes(objects):
    return one("Deployment", objects)["spec"]["template"]["spec"]["volumes"]


@pytest.mark.parametrize(
    ("clients", "source"),
    [
        ({"caConfigMap": "a", "names": ["b", "system:c"]}, {"configMap": {"name": "a"}}),
        ({"caSecret": "a", "names": ["b", "system:c"]}, {"secret": {"secretName": "a"}}),
    ],
)
def test_clients_need_a_certificate_where_their_ca_is_named(clients, source):
    """Of a Secret only the certificate is mounted: the CA's key may be beside it."""
    objects = render({"clients": clients})
    (container,) = one("Deployment", objects)["spec"]["template"]["spec"]["containers"]
    ((kind, named),) = source.items()
    mount = {"name": "clients", "mountPath": "/etc/evenkeel-clients", "readOnly": True}

    assert {"--client-ca=/etc/evenkeel-clients/ca.crt", "--client-names=b,system:c"} <= {*container["args"]}
    assert {"name": "clients", kind: {**named, "items": [{"key": "ca.crt", "path": "ca.crt"}]}} in volumes(objects)
    assert mount in container["volumeMounts"]
    assert "clients" not in json.dumps(one("Deployment", render({})))


@pytest.mark.parametrize(
    ("values", "webhook", "health"), [({}, 8443, 8080), (EVERYTHING, 10250, 9090)], ids=["as it comes", "everything"]
)
def test_probes_and_metrics_have_a_port_of_their_own(values, webhook, health):
    """The Service finds each by its name, which stays as it is while another number is rolled out."""
    objects = render({**values, "serviceMonitor": {"enabled": True}, "networkPolicy": {"enabled": True}})
    (container,) = one("Deployment", objects)["spec"]["template"]["spec"]["containers"]
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]
    service = {port["port"]: port["targetPort"] for port in one("Service", objects)["spec"]["ports"]}
    allowed = [
        port["port"] for rule in one("NetworkPolicy", objects, "evenkeel")["spec"]["ingress"] for port in rule["ports"]
    ]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}

    assert {"webhook": webhook, "health": health} == ports
    assert {f"--bind=:{webhook}", f"--health-bind=:{health}"} <= {*container["args"]}
    assert [{"path": path, "port": "health"} for path in ("/healthz", "/healthz", "/readyz")] == probes
    assert {443: "webhook", 8080: "health"} == service
    assert [webhook, health] == allowed
    assert ["health"] == [one["port"] for one in one("ServiceMonitor", objects)["spec"]["endpoints"]]


def test_pods_in_the_network_of_their_nodes_leave_their_ports_to_those_that_follow():
    """A Pod more than before could find no node where they are free, and the rollout would never end."""
    as_it_comes, on_hosts, other = (
        one("Deployment", render(values))["spec"]
        for values in ({}, {"hostNetwork": True}, {"hostNetwork": True, "dnsPolicy": "Default"})
    )
    shown = [
        [spec["template"]["spec"].get(name) for name in ("hostNetwork", "dnsPolicy")]
        for spec in (as_it_comes, on_hosts, other)
    ]

    assert [[None, None], [True, "ClusterFirstWithHostNet"], [True, "Default"]] == shown
    assert {"maxUnavailable": 0, "maxSurge": 1} == as_it_comes["strategy"]["rollingUpdate"]
    assert {"maxUnavailable": 1, "maxSurge": 0} == on_hosts["strategy"]["rollingUpdate"]


def test_what_is_added_to_the_deployment_is_in_it():
    deployment = one("Deployment", render(EVERYTHING))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    assert EVERYTHING["deploymentAnnotations"] == deployment["metadata"]["annotations"]
    assert EVERYTHING["revisionHistoryLimit"] == deployment["spec"]["revisionHistoryLimit"]
    assert EVERYTHING["extraArgs"] == container["args"][-1:]
    assert EVERYTHING["extraEnv"] == container["env"]


EMPTY = {"object": {}, "array": [], "string": ""}


@pytest.mark.parametrize("values", [{}, EVERYTHING | REPORTS], ids=["as it comes", "everything"])
def test_null_is_the_same_as_empty_where_it_may_stand(values):
    """Helm takes null for "without the default"; where that would be something else, the schema refuses it."""
    empty, null = (merged(nothing(chart.values(), of), values) for of in (EMPTY, dict.fromkeys(EMPTY)))

    assert empty != null
    assert render(empty) == render(null)


def nothing(value, of):
    """Each value that may be null, as what stands in `of` for its type; only null removes what is in an object."""
    if not value.inside:
        return None if value.default and value.type == "object" else of[value.type]
    return {each.path[-1]: nothing(each, of) for each in value.inside if each.inside or each.may_be_null}


def test_a_quota_for_resources_refuses_no_pod():
    """Each says what it requests, and how much memory it may take."""
    for values in ({}, REPORTS):
        for pod in filter(None, map(pod_of, render(values))):
            for container in pod["spec"]["containers"]:
                assert {"cpu", "memory"} == container["resources"]["requests"].keys()
                assert {"memory"} == container["resources"]["limits"].keys()


def test_each_path_has_its_time():
    found = render({"timeoutSeconds": {"mutate": 5, "validate": 10}, "policy": {"earlyAnswer": True}})
    seconds = {
        (entry["clientConfig"]["service"]["path"], entry["timeoutSeconds"])
        for one in found
        for entry in one.get("webhooks", ())
    }

    assert {("/mutate", 5), ("/validate", 10)} == seconds


@pytest.mark.parametrize(
    ("addresses", "allowed"),
    [([], [{}, {}]), (["10.0.0.5/32", "fd00::/8"], [{"from": ["10.0.0.5/32", "fd00::/8"]}, {}])],
    ids=["from anywhere", "from the API servers"],
)
def test_reviews_are_accepted_from_the_addresses_that_are_named(addresses, allowed):
    """And probes from everywhere: kubelets are no Pods."""
    policy = one("NetworkPolicy", render({"networkPolicy": {"enabled": True, "apiServers": addresses}}), "evenkeel")
    webhook, health = policy["spec"]["ingress"]
    sources = [
        {"from": [source["ipBlock"]["cidr"] for source in rule["from"]]} if "from" in rule else {}
        for rule in (webhook, health)
    ]

    assert ([8443], [8080]) == tuple([port["port"] for port in rule["ports"]] for rule in (webhook, health))
    assert allowed == sources


def test_the_pods_of_reports_are_closed_off_where_evenkeel_s_cannot_be():
    values = {"hostNetwork": True, "networkPolicy": {"enabled": True}, "report": {"metrics": {"enabled": True}}}

    assert {"evenkeel-report", "evenkeel-hooks"} == {
        each["metadata"]["name"] for each in render(values) if each["kind"] == "NetworkPolicy"
    }


@pytest.mark.parametrize("mode", MODES)
def test_the_program_knows_the_settings_that_it_is_given(mode):
    (container,) = one("Deployment", render(MODES[mode]))["spec"]["template"]["spec"]["containers"]
    known = {setting.flag for setting in SETTINGS}

    assert "serve" == container["args"][0]
    assert {flag.partition("=")[0] for flag in container["args"][1:]} <= known


def test_a_replica_that_stops_has_time_to_answer_what_it_was_asked():
    pod = one("Deployment", render({"preStopSeconds": 7}))["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert ["sleep", "7"] == container["lifecycle"]["preStop"]["exec"]["command"]
    assert max(TIMEOUT_SECONDS.values()) < SHUTDOWN_SECONDS - LAST_SECONDS < SHUTDOWN_SECONDS
    assert SHUTDOWN_SECONDS < pod["terminationGracePeriodSeconds"] - 7


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ({}, f"evenkeel:{__version__}"),
        ({"repository": "a/b", "tag": "c"}, "a/b:c"),
        ({"repository": "a/b", "tag": "c", "digest": DIGEST}, f"a/b@{DIGEST}"),
    ],
)
def test_every_pod_is_of_one_image(image, name):
    pods = [pod_of(obj) for obj in render({"image": image}) if pod_of(obj)]

    assert {name} == {container["image"] for pod in pods for container in pod["spec"]["containers"]}


@pytest.mark.parametrize(
    ("image", "tools", "name"),
    [
        ({}, {}, f"evenkeel:{__version__}-tools"),
        ({"repository": "a/b", "tag": "c", "digest": DIGEST}, {}, "a/b:c-tools"),
        ({"tag": "c"}, {"repository": "d", "tag": "e"}, "d:e"),
        ({"tag": "c"}, {"tag": "e", "digest": DIGEST}, f"evenkeel@{DIGEST}"),
    ],
)
def test_the_report_is_of_the_image_of_the_tools(image, tools, name):
    values = {"image": image, "report": {"image": tools, "metrics": {"enabled": True}}}
    (report,) = (obj for obj in render(values) if obj["metadata"]["name"] == "evenkeel-report" and pod_of(obj))

    assert [name] == [container["image"] for container in pod_of(report)["spec"]["containers"]]


@pytest.mark.parametrize(
    ("values", "replicas", "budget"),
    [
        ({}, 2, True),
        ({"replicaCount": 1}, 1, False),
        ({"autoscaling": {"enabled": True}}, None, True),
        ({"autoscaling": {"enabled": True, "minReplicas": 1}}, None, False),
        ({"podDisruptionBudget": {"enabled": False}}, 2, False),
    ],
)
def test_replicas_and_what_guards_them(values, replicas, budget):
    """An autoscaler's replicas are its own; a budget for one replica would only keep a node from being drained."""
    objects = render(values)

    assert replicas == one("Deployment", objects)["spec"].get("replicas")
    assert budget == any(obj["kind"] == "PodDisruptionBudget" for obj in objects)


def test_what_is_installed_without_the_chart_is_what_it_renders():
    """But for labels, the name of the namespace, and flags that say what holds without them."""
    issuer = {"kind": "ClusterIssuer", "name": "internal-ca"}
    by_cert_manager = {"certificate": {"mode": "cert-manager", "issuerRef": issuer}}

    for file, values in (("evenkeel.yaml", {}), ("certificate.yaml", by_cert_manager)):
        text, rendered = (ROOT / "docs" / "examples" / "install" / file).read_text("utf-8"), render(values)
        text = text.replace("evenkeel/evenkeel-tls", f"{NAMESPACE}/evenkeel-tls")
        text = text.replace("evenkeel.evenkeel.svc", f"evenkeel.{NAMESPACE}.svc")
        for found in yaml.safe_load_all(text):
            wanted = relabelled(one(found["kind"], rendered)["spec"], {"app.kubernetes.io/name": "evenkeel"})
            assert without_defaults(found["spec"]) == without_defaults(wanted), found["kind"]


def without_defaults(spec):
    """Of the flags of containers, those that are not at their defaults, in any order."""
    defaults = {f"{setting.flag}={setting.default}" for setting in SETTINGS}
    for container in spec.get("template", {}).get("spec", {}).get("containers", ()):
        container["args"] = {*container["args"]} - defaults
    return spec


def relabelled(value, labels):
    """A value with these labels wherever the chart has those of a release."""
    if isinstance(value, dict):
        if "app.kubernetes.io/instance" in value:
            return labels
        return {key: relabelled(one, labels) for key, one in value.items()}
    return [relabelled(one, labels) for one in value] if isinstance(value, list) else value
