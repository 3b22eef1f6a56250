"""The tests of policies against an API server that has the policies: what it really says, and what it does not keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e import configuration
from tests.e2e.words import EMPTY, MISSES, deployment, of, owner
from tests.support import ROOT
from tests.support.build import HOSTNAME, constraint
from tests.support.commands import POLICY
from tests.support.running import run
from tests.support.serving import until
from webhook.cluster.client import Client, access
from webhook.cluster.trial import try_creation
from webhook.manifests.acting import Export
from webhook.manifests.admission_policies import POLICY_NAMES, admission_policies
from webhook.manifests.policy_objects import CEL_BINDING, CEL_POLICY
from webhook.objects.kinds import KINDS, find_kinds
from webhook.objects.names import SYSTEM_NAMESPACES
from webhook.policy.parsing import built_in, policy_of
from webhook.policy_test.installed import CEL_RESOURCES, not_in_force, read_installed
from webhook.scheduler.features import LATEST

__all__ = ["run"]
LIVE = "--engine policy --cluster live"
EXAMPLES = Path(ROOT) / "docs" / "examples"
STRICT = POLICY | {"rules": {"empty-selector": {"severity": "error", "help": "ask (us)"}, "hard-constraint": "warning"}}
CONTROLLER = "system:serviceaccount:kube-system"
MISSING = [f"{kind}/{name}" for kind in CEL_RESOURCES for name in POLICY_NAMES.values()]

UNJUDGED = "t\n  error case 0\n1 case in 1 file, 1 could not be judged\n"


@pytest.fixture(scope="module")
def cluster(plane):
    plane.create_namespace("shop")
    return plane


@pytest.fixture(autouse=True)
def kubeconfig(cluster, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))


def in_force(plane, policy):
    """Apply the policies, and wait until the API server asks them, and no earlier ones."""
    client = Client(lambda: access(str(plane.kubeconfig)))
    denied, warned = deployment("shop", EMPTY), deployment("shop", MISSES)
    (kind,) = find_kinds(denied, KINDS)

    def answers():
        trials = [try_creation(client, kind, obj, "shop") for obj in (denied, warned)]
        return not trials[0].admitted, trials[1].warnings != ()

    plane.kubectl("delete", "--ignore-not-found", *MISSING)
    until(lambda: answers() == (False, False), "the end of earlier policies")
    applied = plane.apply(*admission_policies(Export(policy, LATEST, SYSTEM_NAMESPACES)))
    assert 0 == applied.code, applied.stderr
    until(lambda: answers() == (True, True), "a denial and a warning")


def a_test(*cases, policy=STRICT):
    named = [{"name": f"case {i}", **case} for i, case in enumerate(cases)]
    return json.dumps({"kind": "PolicyTest", "policy": policy, "cases": named})


def case(obj, outcome, *rules, **fields):
    return {"object": obj, "expect": {"outcome": outcome, "rules": [*rules]}, **fields}


def test_the_examples_pass(cluster, run):
    in_force(cluster, built_in())
    code, out, err = run(f"policy test {LIVE} {EXAMPLES / 'built-in.evenkeel-test.yaml'}")

    assert (0, "") == (code, err), out
    assert out.endswith("4 cases in 1 file, all passed\n")
    assert "note: 1 case: defaults are not compared" in out
    failed = run(f"policy test {LIVE} {EXAMPLES / 'failing-test.yaml'}")
    assert 1 == failed.code
    assert "-outcome: denied\n      +outcome: warned\n" in failed.out
    assert "Warning: Validation failed for ValidatingAdmissionPolicy 'evenkeel-warn'" in failed.out


def test_what_is_asked_is_answered_and_nothing_is_kept(cluster, run):
    """An object of a name that is taken is judged, too; the API server looks for the name last."""
    in_force(cluster, policy_of(STRICT, LATEST))
    hard, soft_empty = constraint(topologyKey=HOSTNAME), EMPTY | {"whenUnsatisfiable": "ScheduleAnyway"}
    taken, new = of("Deployment", "shop", hard, replicas=0), of("Deployment", "shop", hard)
    taken["metadata"]["name"] = "taken"
    cluster.apply(taken)
    before = kept(cluster)
    cases = [
        case(of("Deployment", "shop", soft_empty), "denied", "empty-selector"),
        case(of("Deployment", "shop", EMPTY), "denied", "empty-selector", "hard-constraint"),
        case(new, "warned", "hard-constraint"),
        case(taken, "warned", "hard-constraint"),
        case(of("Pod", "shop", hard), "warned", "hard-constraint", user=f"{CONTROLLER}:replicaset-controller"),
        case(of("Deployment", "shop"), "allowed"),
        case(of("ReplicaSet", "shop", EMPTY, **owner(cluster, "shop")), "allowed"),
        case(new, "warned", old=new),
        case(new, "allowed"),
    ]
    code, out, err = run(f"policy test {LIVE} t", t=a_test(*cases))

    assert (1, "") == (code, err), out
    assert ["ok"] * 7 + ["skip", "FAIL"] == [line.split()[0] for line in out.splitlines() if " case " in line]
    assert "\n        created (server dry run)\n9 cases in 1 file, 1 failed, 1 skipped\n" in out
    assert before == kept(cluster)


def kept(plane):
    """What is in the namespace; the ConfigMap of `owner` is not asked for."""
    return plane.kubectl("get", "deployments,pods", "-n", "shop", "-o", "name").stdout


def test_what_the_api_server_refuses_itself_is_said(cluster, run):
    in_force(cluster, policy_of(STRICT, LATEST))
    web = of("Deployment", "shop")
    cases = [
        case(of("Deployment", "nowhere"), "allowed"),
        case(web, "allowed", user="jane"),
        case(of("Deployment", "shop", constraint(maxSkew=0)), "denied"),
        case({**web, "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}, "allowed"),
        case(web, "allowed"),
    ]
    code, out, err = run(f"policy test {LIVE} t", t=a_test(*cases))

    counted = "5 cases in 1 file, 1 passed, 4 could not be judged"
    assert (2, ["error"] * 4 + ["ok"], counted) == (
        code,
        [line.split()[0] for line in out.splitlines()[1:-1]],
        out.splitlines()[-1],
    )
    assert [
        'cases[0]: namespaces "nowhere" not found',
        'cases[1]: deployments.apps is forbidden: User "jane" cannot create resource "deployments" in API group "apps" '
        'in the namespace "shop"',
        'cases[2]: Deployment.apps "web" is invalid: spec.template.spec.topologySpreadConstraints[0].maxSkew: '
        "Invalid value: 0: must be greater than zero",
        "cases[3]: 404 page not found; the cluster has no rollouts of argoproj.io/v1alpha1 in namespaces",
    ] == [line.removeprefix("evenkeel: t: ") for line in err.splitlines()]


def test_who_has_no_rights_is_told_which(cluster, run, monkeypatch):
    other = cluster.folder / configuration.kubeconfig_name("system:kube-scheduler")
    web = of("Deployment", "shop")
    (kind,) = find_kinds(web, KINDS)
    trial = try_creation(Client(lambda: access(str(other))), kind, web, "shop", "jane")

    assert 403 == trial.status
    assert "cannot impersonate" in trial.message
    code, out, err = run(f"policy test {LIVE} --kubeconfig {other} t", t=a_test(case(web, "allowed")))
    assert (2, "", 1) == (code, out, err.count("\n"))
    assert "; ask for the right to get validatingadmissionpolicies and validatingadmissionpolicybindings" in err


EVERY_PART = {
    "enforcement": "Audit",
    "onError": "Deny",
    "workloads": [
        {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.template"}
    ],
    "rules": {"empty-selector": {"severity": "error", "enforced": True, "help": "ask"}, "rollout-skew": "warning"},
    "overrides": [
        {"name": "a", "namespaceSelector": {"matchLabels": {"a": ""}}, "enforcement": "Deny"},
        {"name": "b", "podSelector": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}, "enforcement": "Warn"},
    ],
}


@pytest.mark.parametrize("policy", [{}, EVERY_PART], ids=["built-in", "every part"])
def test_what_the_api_server_adds_is_no_difference_and_what_somebody_adds_is_one(cluster, policy):
    client = Client(lambda: access(str(cluster.kubeconfig)))
    export = Export(policy_of(POLICY | policy, LATEST), LATEST, SYSTEM_NAMESPACES)
    cluster.kubectl("delete", "--ignore-not-found", *MISSING)
    applied = cluster.apply(*admission_policies(export))
    assert 0 == applied.code, applied.stderr
    installed = read_installed(client)

    assert 4 <= len(installed)
    assert [] == [*not_in_force(export, installed, "print")]
    narrowed = {"objectSelector": {"matchLabels": {"a": ""}}}
    for kind, field in ((CEL_POLICY, "matchConstraints"), (CEL_BINDING, "matchResources")):
        patch = json.dumps({"spec": {field: narrowed}})
        patched = cluster.kubectl("patch", f"{kind}/evenkeel", "--type", "merge", "-p", patch)
        assert 0 == patched.code, patched.stderr
        at = f"{kind} evenkeel: spec.{field}.objectSelector"
        line = f"{at} was added by another client, and kubectl apply keeps it; remove it: "
        for _ in range(2):
            assert [line] == [each[: len(line)] for each in not_in_force(export, read_installed(client), "print")]
            cluster.apply(*admission_policies(export))
        undone = json.dumps({"spec": {field: {"objectSelector": None}}})
        cluster.kubectl("patch", f"{kind}/evenkeel", "--type", "merge", "-p", undone)
    names = [{"op": "add", "path": "/spec/matchConstraints/resourceRules/0/resourceNames", "value": ["a"]}]
    cluster.kubectl("patch", f"{CEL_POLICY}/evenkeel", "--type", "json", "-p", json.dumps(names))
    (line,) = not_in_force(export, read_installed(client), "print")
    assert line.endswith(
        "resourceRules[0].resourceNames differs from what evenkeel prints for the policy; "
        "apply it again: print | kubectl apply -f -"
    )
    cluster.apply(*admission_policies(export))
    assert [] == [*not_in_force(export, read_installed(client), "print")]


def test_another_policy_in_the_cluster_is_told(cluster, run):
    in_force(cluster, built_in())
    web = case(of("Deployment", "shop"), "allowed")
    code, out, err = run(f"policy test {LIVE} t", t=a_test(web))

    assert (2, UNJUDGED) == (code, out)
    assert err.startswith("evenkeel: t: policy: ValidatingAdmissionPolicy evenkeel: spec.validations[")
    assert "; apply it again: evenkeel manifests --engine policy --policy FILE --kubernetes-version " in err
    assert 0 == run(f"policy test {LIVE} t", t=a_test(web, policy=POLICY)).code
    cluster.kubectl("delete", f"{CEL_BINDING}/evenkeel", "ValidatingAdmissionPolicy/evenkeel-warn")
    code, out, err = run(f"policy test {LIVE} t", t=a_test(web, policy=POLICY))
    assert (2, UNJUDGED) == (code, out)
    assert [f"found no {CEL_BINDING} evenkeel in", "found no ValidatingAdmissionPolicy evenkeel-warn in"] == [
        line.removeprefix("evenkeel: t: policy: ").partition(" the cluster; ")[0] for line in err.splitlines()
    ]
