"""The caBundle in the webhook configurations: what the API server trusts, and its repair."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from webhook.cluster.client import CONFLICT, NOT_FOUND, Client, ClusterError
from webhook.scheduler.fields import as_list, as_mapping

SECONDS = 10.0
API = "/apis/admissionregistration.k8s.io/v1"


class Registration:
    """
    The two webhook configurations of one name each, of which either may be absent.

    `inject` raises ClusterError where the API server does not answer as it should.
    """

    def __init__(self, client: Client, mutating: str, validating: str) -> None:
        self._client = client
        self.seen: tuple[Mapping[str, object], ...] | None = None  # Every entry, when they were last looked at.
        self._paths = (
            f"{API}/mutatingwebhookconfigurations/{mutating}",
            f"{API}/validatingwebhookconfigurations/{validating}",
        )

    def inject(self, ca_bundle: bytes) -> tuple[int, tuple[bytes, ...]]:
        """
        Give every entry of both this caBundle; how many configurations had another, and what each entry has now.

        A configuration that somebody else changes meanwhile is left for the next time.
        """
        changed, bundles = 0, []
        read = [self._read(path) for path in self._paths]
        self.seen = tuple(one for found in read for one in _entries(found))
        for path, found in zip(self._paths, read, strict=True):
            before = [_decoded(one.get("clientConfig")) for one in _entries(found)]
            if any(one != ca_bundle for one in before) and self._replace(path, found, ca_bundle):
                changed, before = changed + 1, [ca_bundle] * len(before)
            bundles += before
        return changed, tuple(bundles)

    def _read(self, path: str) -> dict[str, Any]:
        try:
            return self._client.get(path, {}, SECONDS)
        except ClusterError as error:
            if error.status != NOT_FOUND:
                raise
            return {}

    def _replace(self, path: str, found: Mapping[str, Any], ca_bundle: bytes) -> bool:
        encoded = b64encode(ca_bundle).decode()
        entries = [
            {**one, "clientConfig": {**as_mapping(one.get("clientConfig")), "caBundle": encoded}}
            for one in _entries(found)
        ]
        try:
            self._client.send("PUT", path, {**found, "webhooks": entries}, SECONDS)
        except ClusterError as error:
            if error.status not in (CONFLICT, NOT_FOUND):
                raise
            return False
        return True


def _entries(found: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield from map(as_mapping, as_list(found.get("webhooks")))


def _decoded(client_config: object) -> bytes:
    text = as_mapping(client_config).get("caBundle")
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
