"""The account of evenkeel may change the caBundle of webhook configurations, and nothing else in them."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import partial

import pytest

from tests.e2e.api import Api, ApiError
from tests.e2e.webhook import CONFIGURATIONS, NAMESPACE, apply, granted, manifests
from tests.support.registered import MUTATING, VALIDATING
from tests.support.serving import until
from webhook.cluster.ca_bundle import Registration
from webhook.cluster.client import Client, access
from webhook.manifests.ca_bundle_guard import CA_BUNDLE_NAME, CLIENT, ENTRY, METADATA, ca_bundle_policy
from webhook.manifests.configurations import MUTATING_NAME, NAME

USER = f"system:serviceaccount:{NAMESPACE}:evenkeel"
POLICY = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{CA_BUNDLE_NAME}"
# What the API server sets by itself, or nobody can change.
OF_THE_SERVER = {
    *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generateName", "generation"),
    *("managedFields", "name", "namespace", "resourceVersion", "selfLink", "uid"),
}
EVERYTHING = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"], "scope": "*"}]
SERVICE = {"namespace": "kube-system", "name": "mine", "path": "/mine", "port": 443}
OTHER_SCOPE = [{"name": "all", "expression": "true"}]
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "3c8dd2f4-0000-4000-8000-000000000000"}
OF_METADATA = {
    "annotations": {"cert-manager.io/inject-ca-from": "a/b"},
    "finalizers": ["example.com/mine"],
    "labels": {"team": "mine"},
    "ownerReferences": [OWNER],
}
OF_AN_ENTRY = {
    "admissionReviewVersions": ["v1", "v1beta1"],
    "failurePolicy": "Fail",
    "matchConditions": OTHER_SCOPE,
    "matchPolicy": "Exact",
    "name": "mine.evenkeel.dev",
    "namespaceSelector": {},
    "objectSelector": {"matchLabels": {"a": "b"}},
    "reinvocationPolicy": "Never",
    "rules": EVERYTHING,
    "sideEffects": "NoneOnDryRun",
    "timeoutSeconds": 30,
}
OF_THE_CLIENT = {"service": SERVICE, "url": "https://example.com"}


@pytest.fixture(scope="module")
def file(plane, tmp_path_factory):
    """A kubeconfig of evenkeel's account, which may update both configurations; the policy is in force."""
    folder = tmp_path_factory.mktemp("ca-bundle")
    policy = folder / "policy.json"
    policy.write_text('{"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy"}', "utf-8")
    if not plane.api.exists(f"/api/v1/namespaces/{NAMESPACE}"):
        plane.create_namespace(NAMESPACE)
    made = granted(plane, folder, policy, secret="keel")
    # No call fails by it: the name is that of no host, and failurePolicy is Ignore.
    where = ("--url", "https://localhost:1", "--ca-bundle", str(plane.folder / "ca.crt"))
    apply(plane, manifests(policy, *where))
    assert (0, "") == plane.apply(*ca_bundle_policy(USER))[::2]
    until(lambda: "labels" in refusal(caller(plane, made), MUTATING, labelled), "the policy to be in force")
    yield made
    plane.kubectl("delete", "--ignore-not-found", *CONFIGURATIONS)


@pytest.fixture
def evenkeel(plane, file):
    return caller(plane, file)


def caller(plane, file):
    token = json.loads(file.read_text())["users"][0]["user"]["token"]
    return Api(plane.api.port, (plane.folder / "ca.crt").read_text(), token)


def refusal(api, path, change):
    """What the API server says to an update with this change, "" if it takes it; nothing is stored."""
    obj = api.call("GET", path)
    change(obj)
    try:
        api.call("PUT", f"{path}?dryRun=All", obj)
    except ApiError as error:
        assert error.status in (403, 422), error
        return error.message
    return ""


def labelled(obj):
    obj["metadata"]["labels"] = {"team": "mine"}


def given(fields, *steps):
    """Changes of one field each, by its name: of the last entry for those of an entry."""

    def change(field, obj):
        for step in steps:
            obj = obj[step]
        obj[field] = fields[field]

    return {field: partial(change, field) for field in fields}


CHANGES = {
    **{f"metadata.{field}": change for field, change in given(OF_METADATA, "metadata").items()},
    **{f"webhooks[*].{field}": change for field, change in given(OF_AN_ENTRY, "webhooks", -1).items()},
    **{
        f"webhooks[*].clientConfig.{field}": change
        for field, change in given(OF_THE_CLIENT, "webhooks", -1, "clientConfig").items()
    },
    # The API server wants exactly one of both.
    "webhooks[*].clientConfig.service": lambda obj: obj["webhooks"][-1].update(clientConfig={"service": SERVICE}),
}


def test_every_field_is_changed_below():
    assert (set(METADATA), set(ENTRY), set(CLIENT)) == (set(OF_METADATA), set(OF_AN_ENTRY), set(OF_THE_CLIENT))


@pytest.mark.parametrize("path", [MUTATING, VALIDATING], ids=["mutating", "validating"])
@pytest.mark.parametrize("field", CHANGES)
def test_no_other_field_can_be_changed(plane, evenkeel, path, field):
    """Which whoever installs evenkeel may."""
    if path == VALIDATING and field.endswith("reinvocationPolicy"):
        pytest.skip("a validating webhook has none")

    said = refusal(evenkeel, path, CHANGES[field])
    assert f"{field}: found a change, wanted none: this account may only change caBundle" in said, said
    assert CA_BUNDLE_NAME not in refusal(plane.api, path, CHANGES[field])


@pytest.mark.parametrize("path", [MUTATING, VALIDATING], ids=["mutating", "validating"])
@pytest.mark.parametrize(
    "change",
    [
        lambda obj: obj["webhooks"].append({**obj["webhooks"][0], "name": "mine.evenkeel.dev", "rules": EVERYTHING}),
        lambda obj: obj["webhooks"].pop(),
        lambda obj: obj.update(webhooks=[]),
        lambda obj: obj.pop("webhooks"),
        lambda obj: obj["webhooks"][0].pop("matchConditions"),
        lambda obj: obj["webhooks"][0]["rules"][0].update(operations=["*"]),
        lambda obj: obj["webhooks"][0]["rules"][0].update(scope="Cluster"),
    ],
    ids=["an entry more", "one less", "none", "no list", "no conditions", "other operations", "another scope"],
)
def test_no_entry_comes_goes_or_is_widened(evenkeel, path, change):
    assert "this account may only change caBundle" in refusal(evenkeel, path, change)


def test_the_ca_bundle_of_every_entry_can_be_changed(plane, file):
    """By what evenkeel itself does."""
    pem = (plane.folder / "ca.crt").read_bytes()
    registration = Registration(Client(partial(access, str(file))), MUTATING_NAME, NAME)

    assert 2 == registration.inject(pem + b"\n" + pem)
    for path in (MUTATING, VALIDATING):
        entries = plane.api.call("GET", path)["webhooks"]
        assert {b64encode(pem + b"\n" + pem).decode()} == {one["clientConfig"]["caBundle"] for one in entries}


def test_every_field_of_this_kubernetes_is_named(plane):
    """One that a later version adds fails here, before anybody can change it."""
    schemas = plane.api.call("GET", "/openapi/v3/apis/admissionregistration.k8s.io/v1")["components"]["schemas"]

    def fields(name, group="api.admissionregistration.v1"):
        return {*schemas[f"io.k8s.{group}.{name}"]["properties"]}

    for kind in ("Mutating", "Validating"):
        assert {"apiVersion", "kind", "metadata", "webhooks"} == fields(f"{kind}WebhookConfiguration")
    assert {*ENTRY, "clientConfig"} == fields("MutatingWebhook") | fields("ValidatingWebhook")
    assert {*CLIENT, "caBundle"} == fields("WebhookClientConfig")
    assert {*METADATA, *OF_THE_SERVER} == fields("ObjectMeta", "apimachinery.pkg.apis.meta.v1")


def test_the_api_server_finds_no_fault_with_it(plane, file):
    def checked():
        found = plane.api.call("GET", POLICY)
        return found["status"] if found.get("status", {}).get("observedGeneration") else None

    assert not until(checked, "types to be checked")["typeChecking"].get("expressionWarnings")
