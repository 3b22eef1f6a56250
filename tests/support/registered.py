"""Webhook configurations in memory, and who registers a CA in them."""

from __future__ import annotations

from tests.support.memory import Memory
from webhook.cluster.ca_bundle import API, Registration
from webhook.cluster.client import ClusterError
from webhook.manifests.configurations import MUTATING_NAME, NAME, WebhookTarget, configurations
from webhook.policy import parsing as policies

MUTATING = f"{API}/mutatingwebhookconfigurations/{MUTATING_NAME}"
VALIDATING = f"{API}/validatingwebhookconfigurations/{NAME}"


def registered(bundle=b""):
    target = WebhookTarget(bundle, service=("guard", "keel"))
    return Memory(dict(zip((MUTATING, VALIDATING), configurations(policies.built_in(), target), strict=True)))


def registration(client):
    return Registration(client, MUTATING_NAME, NAME)


def refusing(client, monkeypatch, refused):
    """Some requests are refused, as where rights are missing."""
    real = client.send

    def send(method, path, body, seconds, query=None):
        if (method, path) in refused:
            raise ClusterError(f"{path}: 403 forbidden", 403)
        return real(method, path, body, seconds)

    monkeypatch.setattr(client, "send", send)
