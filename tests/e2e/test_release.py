"""The chart on a real control plane: installed, upgraded, rolled back and uninstalled, with its containers played."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode

import pytest

from tests.e2e.api import MERGE
from tests.e2e.helm import NAMESPACE, render
from tests.e2e.release import (
    MUTATING,
    NEEDS_AN_OPERATOR,
    SECRET,
    VALIDATING,
    bundles,
    played,
    played_hook,
    release,
    trusted,
)
from tests.e2e.test_chart import EVERYTHING, MODES, OWN_FILES
from tests.generate.chart import FOLDER
from tests.support.serving import certificate, ready, until
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.manifests.configurations import MUTATING_NAME, NAME, NEEDED_NAMESPACES

NO_HOOKS = {"uninstallHook": {"enabled": False}}


@pytest.fixture(scope="module", autouse=True)
def guard(plane):
    """A namespace with a quota, which refuses each Pod that does not say what it needs."""
    plane.create_namespace(NAMESPACE)
    quota = {"hard": {"requests.cpu": "4", "requests.memory": "4Gi", "limits.memory": "8Gi"}}
    path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas"
    plane.api.call("POST", path, {"metadata": {"name": "quota"}, "spec": quota})
    until(lambda: plane.api.call("GET", f"{path}/quota")["status"].get("used"), "the quota to be in force")


@pytest.mark.parametrize("values", [*MODES.values(), EVERYTHING], ids=[*MODES, "everything"])
def test_the_api_server_accepts_what_is_rendered(plane, values):
    """Strictly: no field that it does not know, none that is there twice."""
    objects = [obj for obj in render(values) if obj["apiVersion"].partition("/")[0] not in NEEDS_AN_OPERATOR]
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    done = plane.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=given)

    assert (0, "") == (done.code, done.stderr)
    assert len(objects) == done.stdout.count("created (server dry run)")


@pytest.mark.parametrize("enforcement", ["Deny", "Warn", "Audit"])
def test_the_notes_tell_of_the_enforcement_in_force(plane, enforcement):
    notes = release(plane, "install", "--dry-run=client", policy={"enforcement": enforcement}).split("NOTES:")[1]

    assert ("The policy denies errors from now on" in notes) == (enforcement == "Deny")
    assert (f"The policy denies nothing: enforcement is {enforcement}." in notes) == (enforcement != "Deny")
    assert f"configuration/{MUTATING_NAME} validatingwebhookconfiguration/{NAME}\n" in notes


def test_the_notes_tell_who_may_set_the_skip_label_where_not_everybody_may(plane):
    chosen, everybody = (
        release(plane, "install", "--dry-run=client", **values).split("NOTES:")[1]
        for values in ({"skipLabel": {"users": ["jane"], "groups": ["platform"]}}, {})
    )

    assert "Only these users and groups may do so: jane, platform." in chosen
    assert "Only these users" not in everybody


@pytest.mark.parametrize("failure_policy", ["Ignore", "Fail"])
def test_the_notes_tell_what_is_never_refused(plane, failure_policy):
    values = {"failurePolicy": failure_policy, "excludeNamespaces": ["a", "karpenter"]}
    notes = release(plane, "install", "--dry-run=client", **values).split("NOTES:")[1]

    never = dict.fromkeys((*SYSTEM_NAMESPACES, NAMESPACE, "a", "karpenter", *NEEDED_NAMESPACES))
    told = f"except in the namespaces {', '.join(never)}. evenkeel's Pods" in notes
    asked = "evenkeel policy check policy.yaml --cluster live" in notes
    enforced = release(plane, "install", "--dry-run=client", failurePolicyEnforced="Fail").split("NOTES:")[1]
    assert told == asked == (failure_policy == "Fail")
    assert "evenkeel policy check policy.yaml --cluster live" in enforced


def test_what_evenkeel_writes_is_left_alone_by_upgrade_and_rollback(plane):
    """Its CA and key in the Secret that the chart makes without data, and caBundle in the configurations."""
    release(plane, "install", "--wait", **NO_HOOKS)
    plane.api.call("PATCH", SECRET, {"data": {"ca.key": "a2V5"}}, MERGE)
    bundle = b64encode(b"PEM").decode()
    for path in (MUTATING, VALIDATING):
        found = plane.api.call("GET", path)
        for entry in found["webhooks"]:
            entry["clientConfig"]["caBundle"] = bundle
        plane.api.call("PUT", path, found)
    before = bundles(plane, MUTATING) | bundles(plane, VALIDATING)
    assert {bundle} == {*before.values()}

    release(plane, "upgrade", "--wait", policy={"earlyAnswer": True}, **NO_HOOKS)
    assert {"ca.key": "a2V5"} == plane.api.call("GET", SECRET)["data"]
    assert before == bundles(plane, VALIDATING) | {"defaults.evenkeel.dev": bundle}
    assert bundle == bundles(plane, MUTATING)["defaults.evenkeel.dev"]
    assert 1 < len(bundles(plane, MUTATING))

    release(plane, "rollback", "1", "--wait")
    assert {"ca.key": "a2V5"} == plane.api.call("GET", SECRET)["data"]
    assert before == bundles(plane, MUTATING) | bundles(plane, VALIDATING)

    release(plane, "uninstall", "--wait")
    assert not plane.api.exists(SECRET)


def test_a_release_with_a_certificate_of_ones_own(plane, tmp_path):
    """Its replica gets ready with the rights of its account, takes a new policy, and all is gone in the end."""
    ca = certificate(tmp_path)
    pair = {name: b64encode((tmp_path / name).read_bytes()).decode() for name in ("tls.crt", "tls.key")}
    plane.api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": "own-tls"}, "data": pair})
    values = OWN_FILES | {"certificate": {**OWN_FILES["certificate"], "caBundle": ca}}
    release(plane, "install", "--wait", **values)

    with played(plane, tmp_path) as running:
        until(lambda: b"calls: all that the policy needs" in running.probe("/readyz?verbose")[1], "what is sent")
        status, text = running.probe("/readyz?verbose")
        assert (200, []) == (status, running.lines("watch failed"))
        ready_script = [
            sys.executable,
            FOLDER / "files" / "ready.py",
            f"http://localhost:{running.health}/readyz?verbose",
        ]
        done = subprocess.run(ready_script, capture_output=True, text=True)
        assert (0, text.decode()) == (done.returncode, done.stdout.rstrip("\n") + "\n")

        release(plane, "upgrade", "--wait", **values | {"policy": {"enforcement": "Warn", "earlyAnswer": True}})
        running.mount()
        until(lambda: running.metric("evenkeel_policy_generation") == 2, "the new policy")
        assert 5 < len(plane.api.call("GET", MUTATING)["webhooks"])

    with played_hook(plane, tmp_path) as hook:
        release(plane, "uninstall", "--wait")
    gone = f"MutatingWebhookConfiguration {MUTATING_NAME}", f"ValidatingWebhookConfiguration {NAME}"
    assert [f"removed {each}" for each in gone] == hook["printed"].splitlines()
    assert ([], True) == (hook["configurations"], hook["deployment"]), "before the rest"
    kinds = "all,secrets,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,pdb,jobs"
    left = plane.kubectl("get", kinds, "-A", "-l", f"app.kubernetes.io/instance={NAME}", "-o", "name")
    assert (0, "") == (left.code, left.stdout)


def test_a_release_whose_certificate_is_its_own_affair(plane, tmp_path):
    """It fills the Secret that the chart made, puts both back that somebody took away, and trusts new entries, too."""
    release(plane, "install", "--wait", **NO_HOOKS)

    with played(plane, tmp_path) as running:
        plane.api.call("DELETE", SECRET)
        until(lambda: plane.api.exists(SECRET), "a Secret in the place of the one that was deleted")
        policy = {"earlyAnswer": True, "rules": {"missing-constraints": "warning"}}
        release(plane, "upgrade", "--wait", policy=policy, **NO_HOOKS)
        until(lambda: trusted(plane), "a CA in the new entries")
        assert 5 < len(bundles(plane, MUTATING))
        running.context.load_verify_locations(cadata=trusted(plane))
        until(lambda: ready(running), "a replica that is ready after all this")
        running.mount()
        until(lambda: running.metric("evenkeel_policy_generation") == 2, "the new policy")
        release(plane, "rollback", "1", "--wait")  # which brings the replica no other policy: it is not mounted
        until(lambda: running.metric("evenkeel_entries_not_sent") > 0, "a word of entries that are missing")
        release(plane, "rollback", "2", "--wait")
        until(lambda: running.metric("evenkeel_entries_not_sent") == 0, "nothing that is missing")
        assert [] == running.lines("watch failed")

    release(plane, "uninstall", "--wait")
    assert not plane.api.exists(SECRET), "the one that evenkeel made is Helm's, too: it has the chart's name"
