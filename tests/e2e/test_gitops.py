"""The examples for Argo CD and Flux: in order, and what others write into evenkeel's objects is left alone."""

from __future__ import annotations

import json
import re
import subprocess
from base64 import b64encode
from itertools import product

import pytest
import yaml

from tests.e2e.api import healthy
from tests.e2e.helm import NAMESPACE, render
from tests.e2e.release import DEPLOYMENT, Container, played, release, trusted
from tests.e2e.test_chart import POLICIES as CHART_POLICIES
from tests.e2e.test_chart import SERVICE, SPREAD_POLICY
from tests.support import ROOT
from tests.support.serving import PATIENCE, certificate, until
from webhook.kubernetes.features import LATEST
from webhook.manifests.admission_policies import admission_policies
from webhook.manifests.ca_bundle_guard import ca_bundle_policy
from webhook.manifests.configurations import WebhookTarget, configurations
from webhook.manifests.skip_label import skip_label_policy
from webhook.policy import parsing as policies

EXAMPLES = ROOT / "docs" / "examples" / "gitops"
TOOLS = ("argocd", "flux")
MODES = ("self-managed", "cert-manager", "own")
INJECTED = "cert-manager.io/inject-ca-from"
WAVE = "argocd.argoproj.io/sync-wave"
BUNDLES = ("webhooks", "*", "clientConfig", "caBundle")
RENDERED = ("helm", "kube-controller-manager")  # The latter keeps no field that the chart has.
VOLATILE = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid")


def spec_of(tool, mode):
    return yaml.safe_load((EXAMPLES / f"{tool}-{mode}.yaml").read_text("utf-8"))["spec"]


def values_of(tool, mode):
    spec = spec_of(tool, mode)
    return spec["source"]["helm"]["valuesObject"] if tool == "argocd" else spec["values"]


def rules_of(tool, mode):
    """Kind, name and path of what the example has ignored; "*" in a path stands for each item of a list."""
    spec = spec_of(tool, mode)
    for rule in spec.get("ignoreDifferences", ()) if tool == "argocd" else spec["driftDetection"].get("ignore", ()):
        target = rule.get("target", rule)
        for path in rule.get("jqPathExpressions", ()):
            yield target["kind"], target["name"], tuple(re.findall(r"\w+|\*", path.replace("[]", ".*")))
        for pointer in rule.get("jsonPointers", rule.get("paths", ())):
            steps = (int(step) if step.isdigit() else step for step in pointer[1:].split("/"))
            yield target["kind"], target["name"], tuple(steps)


def places(value, path):
    """The paths in a value that a path leads to; its last step need not be there."""
    step, *rest = path
    if step == "*" or isinstance(step, int):
        found = range(len(value)) if step == "*" else [step] if step < len(value) else []
    else:
        found = [step] if step in value or not rest else []
    for one in found:
        yield from ((one, *more) for more in places(value[one], rest)) if rest else [(one,)]


def written(objects):
    """Object and path of what evenkeel's rights, or an annotation for cainjector, let others write."""
    by_name = {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}
    configurations = {name for name in by_name if name[0].endswith("WebhookConfiguration")}
    found = {name for name in configurations if INJECTED in by_name[name]["metadata"].get("annotations", {})}
    for rule in (rule for obj in objects if obj["kind"].endswith("Role") for rule in obj["rules"]):
        if "update" in rule["verbs"]:
            targets = {*product(rule["resources"], rule["resourceNames"])}
            found |= {name for name in by_name if (f"{name[0].lower()}s", name[1]) in targets}
    for name in found:
        for path in places(by_name[name], BUNDLES if name in configurations else ("data",)):
            yield (*name, path)


def unhooked(values):
    """What is rendered, but for hooks."""
    return [obj for obj in render(values) if "helm.sh/hook" not in obj["metadata"].get("annotations", {})]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", TOOLS)
def test_an_example_has_ignored_what_others_write_and_nothing_else(tool, mode):
    objects = render(values_of(tool, mode))
    by_name = {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}
    ignored = [
        {(kind, name, one) for one in places(by_name[kind, name], path)} for kind, name, path in rules_of(tool, mode)
    ]

    assert all(ignored), "a rule that leads nowhere"
    assert {*written(objects)} == set().union(*ignored)
    assert bool(ignored) == (mode != "own")


@pytest.mark.parametrize("mode", MODES)
def test_with_argo_cd_the_webhook_configurations_come_last_and_go_first(mode):
    waves = {}
    for obj in render(values_of("argocd", mode)):
        wave = obj["metadata"].get("annotations", {}).get(WAVE, "0")
        waves.setdefault(int(wave), set()).add(obj["kind"])

    assert {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} == waves.pop(max(waves))
    assert "Deployment" in waves[max(waves)]


@pytest.mark.parametrize("mode", ["self-managed", "own"])
def test_others_write_what_is_ignored_and_no_tool_finds_drift(plane, tmp_path, mode):
    """By the fields that the API server says are whose, and by a dry run of what Flux applies."""
    values = values_of("flux", mode) | {"uninstallHook": {"enabled": False}}
    plane.kubectl("create", "namespace", NAMESPACE)
    if mode == "own":
        values["certificate"] |= {"caBundle": certificate(tmp_path)}
        pair = {name: b64encode((tmp_path / name).read_bytes()).decode() for name in ("tls.crt", "tls.key")}
        secret = {"metadata": {"name": values["certificate"]["existingSecret"]}, "data": pair}
        plane.api.call("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)
    release(plane, "install", "--wait", **values)
    with played(plane, tmp_path):
        objects = unhooked(values)
        assert_written_by_others(plane, objects)
        assert [] == drift(plane, objects)
        assert 0 == plane.kubectl("scale", "deployment/evenkeel", "-n", NAMESPACE, "--replicas=3").code
        assert ["Deployment"] == [obj["kind"] for obj in drift(plane, objects)]
    release(plane, "uninstall", "--wait")


REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
ENFORCED = {"rules": {"missing-constraints": {"severity": "error", "enforced": True}}, "earlyAnswer": True}
APART = WebhookTarget(b"", url="https://evenkeel.example.com", enforced_fail=True)


@pytest.mark.parametrize("policy", [*CHART_POLICIES.values(), ENFORCED], ids=[*CHART_POLICIES, "enforced"])
def test_the_api_server_fills_in_no_field_of_the_configurations(plane, policy):
    """A tool that compares what is rendered with what is there would take such a field for drift."""
    parsed = policies.parse_policy(json.dumps({**SPREAD_POLICY, **policy}))
    target = APART if parsed.enforced else WebhookTarget(b"", SERVICE)
    guards = (*skip_label_policy(["a"], ["b"]), *ca_bundle_policy("c"))
    for obj in (*configurations(parsed, target), *admission_policies(parsed, LATEST), *guards):
        stored = plane.api.call("POST", f"{REGISTRATION}/{plural(obj['kind'])}?dryRun=All", obj)

        assert {name: obj[name] for name in obj if name != "metadata"} == {
            name: value for name, value in stored.items() if name not in ("metadata", "status")
        }


def plural(kind):
    return re.sub("ys$", "ies", f"{kind.lower()}s")


def test_a_replica_is_ready_before_the_webhook_configurations_are_there(plane, tmp_path):
    """Or a wave after it would never come; and it makes them trust it when they come."""
    objects = unhooked(values_of("argocd", "self-managed"))
    last = [obj for obj in objects if WAVE in obj["metadata"].get("annotations", {})]
    first = [obj for obj in objects if obj not in last]
    plane.kubectl("create", "namespace", NAMESPACE)
    assert 0 == plane.apply(*first).code
    container = Container(plane, plane.api.call("GET", DEPLOYMENT)["spec"]["template"]["spec"], tmp_path)
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(container.command, stdout=log, stderr=log, env=container.environment)
    try:
        until(lambda: healthy(container.ports["health"], "/readyz"), "a replica that is ready")
        assert 0 == plane.apply(*last).code
        until(lambda: trusted(plane), "a CA in every entry")
        assert healthy(container.ports["health"], "/readyz")
    finally:
        process.terminate()
        process.wait(PATIENCE)
        plane.kubectl("delete", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def assert_written_by_others(plane, objects, besides=None):
    """Others have written each field of `written`, and none but those besides."""
    found, wanted = {one for one in by_others(plane, objects) if one[2][-1] != besides}, {*written(objects)}
    covered = {(leaf, one) for leaf in found for one in wanted if leaf[:2] == one[:2] and starts(leaf[2], one[2])}

    assert (found, wanted) == ({leaf for leaf, _ in covered}, {one for _, one in covered})


def starts(path, with_):
    return path[: len(with_)] == with_


def live(plane, obj):
    where = ("-n", NAMESPACE) if "namespace" in obj["metadata"] else ()
    kind = f"{obj['kind']}.{obj['apiVersion'].partition('/')[0]}" if "/" in obj["apiVersion"] else obj["kind"]
    output = plane.kubectl("get", kind, obj["metadata"]["name"], *where, "-o", "json", "--show-managed-fields")
    assert 0 == output.code, output
    return json.loads(output.stdout)


def by_others(plane, objects):
    """Object and path of each field that only others than those who rendered it have written."""
    for obj in objects:
        found = live(plane, obj)
        owned = {True: set(), False: set()}
        for entry in found["metadata"]["managedFields"]:
            if "subresource" not in entry:
                owned[entry["manager"] in RENDERED] |= {*leaves(entry["fieldsV1"], found)}
        for path in owned[False] - owned[True]:
            yield obj["kind"], obj["metadata"]["name"], path


def leaves(fields, value):
    """The paths of a FieldsV1 in the value that it is about."""
    inner = {key: more for key, more in fields.items() if key != "."}
    if not inner:
        yield ()
    for key, more in inner.items():
        sort, _, rest = key.partition(":")
        if sort == "k":
            item = json.loads(rest)
            step = next(i for i, one in enumerate(value) if item.items() <= one.items())
        else:
            step = rest
        yield from ((step, *path) for path in leaves(more, value[step] if more else None))


def drift(plane, objects):
    """The objects that a server-side apply of what is rendered would change, tried as Flux tries it."""
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    how = ("--server-side", "--dry-run=server", "--force-conflicts", "--field-manager=helm-controller")
    output = plane.kubectl("apply", *how, "-f", "-", "-o", "json", stdin=given)
    assert 0 == output.code, output
    after = json.loads(output.stdout)["items"]
    pairs = [(live(plane, one), one) for one in after]
    return [then for now, then in pairs if steady(now) != steady(then)]


def steady(obj):
    """Without what changes by the apply itself."""
    return obj | {"metadata": {key: value for key, value in obj["metadata"].items() if key not in VOLATILE}}
