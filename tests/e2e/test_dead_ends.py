"""With failurePolicy Fail and everything down at once, what evenkeel needs starts, then evenkeel, then all others."""

from __future__ import annotations

import pytest

from tests.e2e.api import ApiError
from tests.e2e.helm import NAMESPACE, render
from tests.e2e.kubelet import create_zones
from tests.e2e.placement import pods
from tests.e2e.release import MUTATING, NEEDS_AN_OPERATOR, VALIDATING, issue, played, send_here
from tests.e2e.test_chart import MODES
from tests.e2e.webhook import containers
from tests.support.build import pod, workload
from tests.support.serving import free_ports, until
from webhook.cli.main import main
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.manifests.configurations import NEEDED_NAMESPACES
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND

NEEDED = (*NEEDED_NAMESPACES, SYSTEM_NAMESPACES[0])
KINDS = {"Deployment": "deployments", "DaemonSet": "daemonsets"}


def rendered(mode):
    """What the chart makes for the mode, but for the kinds of cert-manager, whose part the test plays."""
    objects = render(MODES[mode] | {"failurePolicy": "Fail", "uninstallHook": {"enabled": False}})
    groups = [obj["apiVersion"].partition("/")[0] for obj in objects]
    known = zip(objects, groups, strict=True)
    return [obj for obj, group in known if group not in NEEDS_AN_OPERATOR and obj["kind"] != "Pod"]


def refused(plane):
    """Why a Pod in the namespace `default` is not let in; empty if it is."""
    try:
        canary = containers(pod(name="canary", namespace="default"))
        plane.api.call("POST", "/api/v1/namespaces/default/pods?dryRun=All", canary)
    except ApiError as error:
        return str(error)
    return ""


def of_deployments(plane, namespace):
    """The Pods of Deployments; those of DaemonSets are not sent while they have no constraints."""
    return [one for one in pods(plane, namespace) if one["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"]


def running(plane, namespace):
    """Whether Pods of Deployments are there, and all Pods run."""
    started = all(one["status"]["phase"] == "Running" for one in pods(plane, namespace))
    return started and bool(of_deployments(plane, namespace))


@pytest.fixture
def removed(plane):
    yield
    for path in (MUTATING, VALIDATING):
        if plane.api.exists(path):
            plane.api.call("DELETE", path)
    plane.kubectl("delete", "namespace", NAMESPACE, *NEEDED_NAMESPACES, "--ignore-not-found")
    for namespace in ("default", SYSTEM_NAMESPACES[0]):
        plane.kubectl("delete", "deployments,daemonsets", "--all", "-n", namespace)


@pytest.mark.parametrize("mode", MODES)
def test_all_is_gone_at_once_and_comes_back_by_itself(plane, removed, tmp_path, capsys, mode):
    """Nodes, network, certificates, and evenkeel with all of its namespace; the chart is then applied again."""
    for namespace in (NAMESPACE, *NEEDED_NAMESPACES):
        plane.create_namespace(namespace)
    for namespace in (*NEEDED, "default"):
        for kind, resource in KINDS.items():
            made = containers(workload(kind, name=f"a-{kind.lower()}", namespace=namespace))
            plane.api.call("POST", f"/apis/apps/v1/namespaces/{namespace}/{resource}", made)
    for namespace in (*NEEDED, "default"):
        until(lambda namespace=namespace: running(plane, namespace), f"Pods in {namespace}")
    assert 0 == plane.apply(*rendered(mode)).code
    send_here(plane, free_ports(1)[0])
    until(lambda: "failed calling webhook" in refused(plane), "calls that nobody answers")

    everything = "deployments,replicasets,services,configmaps,secrets,serviceaccounts,roles,rolebindings,pdb"
    assert 0 == plane.kubectl("delete", everything, "--all", "-n", NAMESPACE).code
    for namespace in (NAMESPACE, *NEEDED, "default"):
        plane.kubectl("delete", "pods", "--all", "-n", namespace, "--wait=false")
    plane.kubectl("delete", "nodes", "--all")
    assert 0 == plane.apply(*[one for one in rendered(mode) if "Webhook" not in one["kind"]]).code
    for namespace in (NAMESPACE, *NEEDED):
        until(lambda namespace=namespace: of_deployments(plane, namespace), f"a Pod in {namespace}, without a node")

    create_zones(plane.api, {"a": 3, "b": 3, "c": 3})  # Karpenter, or whoever else makes nodes, has its Pod.
    for namespace in (NAMESPACE, *NEEDED):
        until(lambda namespace=namespace: running(plane, namespace), f"Pods in {namespace}")
    assert [] == of_deployments(plane, "default"), "evenkeel must be asked for them, for they get defaults"
    if mode != "self-managed":
        assert 0 == main(["certs", "issue", "--dir", str(tmp_path), "--name", f"evenkeel.{NAMESPACE}.svc"])
        issue(plane, mode, tmp_path)
    with played(plane, tmp_path) as replica:
        send_here(plane, replica.port)
        until(lambda: not refused(plane), "calls that are answered")
        plane.kubectl("annotate", "deployment,daemonset", "--all", "-n", "default", "again=now")
        until(lambda: running(plane, "default"), "Pods of all others")

    live = ["--cluster", "live", "--kubeconfig", str(plane.kubeconfig)]
    told = ["policy", "check", str(tmp_path / "policy.yaml"), *live]
    (tmp_path / "policy.yaml").write_text(f"apiVersion: {POLICY_API_VERSION}\nkind: {POLICY_KIND}\n", "utf-8")
    capsys.readouterr()
    assert (0, True) == (main(told), "note: 2 replicas are ready, on " in capsys.readouterr().out), "in two zones"
    plane.kubectl("scale", "deployment/evenkeel", "--replicas=1", "-n", NAMESPACE)
    until(lambda: len(pods(plane, NAMESPACE)) == 1, "one replica")
    assert 0 == main(told)
    assert "only 1 replica is ready: " in capsys.readouterr().out


def test_the_entries_for_them_are_the_only_ones_that_are_missing(plane):
    """Where calls are not needed to start, none is left out."""
    for mode in MODES:
        made, ignoring = (
            [
                entry["namespaceSelector"]["matchExpressions"][0]["values"]
                for one in render(MODES[mode] | {"failurePolicy": policy}, only="webhooks")
                for entry in one["webhooks"]
            ]
            for policy in ("Fail", "Ignore")
        )
        assert {(*SYSTEM_NAMESPACES, NAMESPACE, *NEEDED_NAMESPACES)} == {*map(tuple, made)}
        assert {(*SYSTEM_NAMESPACES, NAMESPACE)} == {*map(tuple, ignoring)}
