"""A policy that needs more than the API server sends: it is said until the webhook configurations follow it."""

from __future__ import annotations

import json

import pytest

from tests.e2e.webhook import apply, installed, manifests
from tests.e2e.words import deployment
from tests.support.serving import until
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND

BARE = {"missing-constraints": {"severity": "error", "enforced": True}}
ENFORCES = "[+] policy: {}; enforces missing-constraints, except in"
ENFORCED = "[+] policy: {}; missing-constraints: enforced, but the API server does not send all that the policy needs"
LACK = "[+] calls: the webhook configurations lack"


def says(running, text):
    status, lines = running.probe("/readyz?verbose")
    return status == 200 and text in lines.decode()


@pytest.mark.parametrize("where", ["the policy", "one namespace"])
def test_a_rule_that_is_enforced_and_sent_nothing_is_said_not_to_hold(plane, namespace, tmp_path, where):
    """With a certificate from files, and the rights of `evenkeel manifests --rbac`."""
    only = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    stricter = {"rules": BARE} if where == "the policy" else {"overrides": [{"name": "a", **only, "rules": BARE}]}
    file = tmp_path / "policy.json"
    with installed(plane, tmp_path) as running:
        until(lambda: "evenkeel_entries_not_sent 0.0" in running.probe("/metrics")[1].decode(), "what is sent")
        file.write_text(json.dumps({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND, **stricter}))
        until(lambda: running.metric("evenkeel_policy_generation") == 2, "the new policy")

        assert 7 == running.metric("evenkeel_entries_not_sent")
        assert says(running, ENFORCED.format(file)) and says(running, f"{LACK} pods.evenkeel.dev, ")
        assert (0, "deployment.apps/web created\n", "") == plane.apply(deployment(namespace))

        url = f"https://127.0.0.1:{running.port}"
        apply(plane, manifests(file, "--url", url, "--ca-bundle", tmp_path / "ca.crt"))
        until(lambda: running.metric("evenkeel_entries_not_sent") == 0, "the new entries")
        assert says(running, ENFORCES.format(file))
        until(lambda: _denied(plane, namespace), "a denial")


def _denied(plane, namespace):
    made = deployment(namespace)
    made["metadata"]["name"] = "another"
    output = plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(made))
    return output.code == 1 and "missing-constraints" in output.stderr


def test_where_the_configurations_may_not_be_read_it_is_not_known(plane, tmp_path):
    with installed(plane, tmp_path, policy={"rules": BARE}) as running:
        until(lambda: says(running, "enforces missing-constraints, except in"), "what is sent")
        role = json.loads(plane.kubectl("get", "clusterrole", "evenkeel", "-o", "json").stdout)
        role["rules"] = [rule for rule in role["rules"] if "resourceNames" not in rule]
        apply(plane, json.dumps({**role, "metadata": {"name": "evenkeel"}}))
        unknown = "; whether the API server sends what it needs is not known"
        until(lambda: says(running, unknown), "that they may not be read")

        assert says(running, "[+] calls: not known: /apis/admissionregistration.k8s.io/v1/mutatingwebhook")
        assert "\nevenkeel_entries_not_sent " not in running.probe("/metrics")[1].decode()
        assert 1 == len(running.lines("cannot read the webhook configurations"))
