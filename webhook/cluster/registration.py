"""The caBundle in the webhook configurations: what the API server trusts, and its repair."""

from __future__ import annotations

import json
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

    Every method raises ClusterError where the API server does not answer as it should.
    """

    def __init__(self, client: Client, mutating: str, validating: str) -> None:
        self._client = client
        self._paths = (
            f"{API}/mutatingwebhookconfigurations/{mutating}",
            f"{API}/validatingwebhookconfigurations/{validating}",
        )

    def bundles(self) -> tuple[bytes, ...]:
        """The caBundle of each entry of each configuration, b"" where it has none."""
        return tuple(
            _decoded(one.get("clientConfig")) for found in map(self._read, self._paths) for one in _entries(found)
        )

    def inject(self, ca_bundle: bytes) -> int:
        """Give every entry this caBundle; how many configurations had another.  One that changes meanwhile stays."""
        return sum(self._inject(path, ca_bundle) for path in self._paths)

    def _read(self, path: str) -> dict[str, Any]:
        try:
            return self._client.get(path, {}, SECONDS)
        except ClusterError as error:
            if error.status != NOT_FOUND:
                raise
            return {}

    def _inject(self, path: str, ca_bundle: bytes) -> bool:
        found = self._read(path)
        if all(_decoded(one.get("clientConfig")) == ca_bundle for one in _entries(found)):
            return False
        changed = json.loads(json.dumps(found))
        for one in changed["webhooks"]:
            one.setdefault("clientConfig", {})["caBundle"] = b64encode(ca_bundle).decode()
        try:
            self._client.send("PUT", path, changed, SECONDS)
        except ClusterError as error:
            if error.status not in (CONFLICT, NOT_FOUND):
                raise
            return False  # whoever was faster is looked at the next time
        return True


def _entries(found: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield from map(as_mapping, as_list(found.get("webhooks")))


def _decoded(client_config: object) -> bytes:
    text = as_mapping(client_config).get("caBundle")
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
