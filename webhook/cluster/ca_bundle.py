"""Reads and updates the caBundle in the webhook configurations: the CAs that the API server trusts."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from webhook.cluster.client import CONFLICT_STATUS, FORBIDDEN_STATUS, NOT_FOUND, Client, ClusterError
from webhook.kubernetes.fields import as_list, as_mapping

SECONDS = 10.0  # For one request.
PATCH_TRIES = 3  # If replicas write at the same moment, one succeeds, and the others then find nothing left to do.
API = "/apis/admissionregistration.k8s.io/v1"


class Registration:
    """
    The mutating and the validating webhook configuration; either may be absent.

    `read` and `inject` raise ClusterError if the API server cannot be reached or refuses.
    """

    def __init__(self, client: Client, mutating: str, validating: str) -> None:
        self._client = client
        self._paths = (
            f"{API}/mutatingwebhookconfigurations/{mutating}",
            f"{API}/validatingwebhookconfigurations/{validating}",
        )
        self._seen: dict[str, tuple[Mapping[str, object], ...]] = {}

    @property
    def seen(self) -> tuple[Mapping[str, object], ...] | None:
        """Every entry of both, as it was last read or written; None until both were read."""
        seen = dict(self._seen)  # A copy: other threads ask while one reads.
        if len(seen) < len(self._paths):
            return None
        return tuple(entry for path in self._paths for entry in seen[path])

    @property
    def bundles(self) -> tuple[bytes, ...] | None:
        """The caBundle of every entry in `seen`."""
        return tuple(map(_bundle, self.seen)) if self.seen is not None else None

    def read(self) -> None:
        """Read both; if one may no longer be read, `seen` becomes None."""
        seen = {}
        for path in self._paths:
            try:
                seen[path] = tuple(_entries(self._read(path)))
            except ClusterError as error:
                if error.status == FORBIDDEN_STATUS:
                    self._seen = {}
                raise
        self._seen = seen

    def inject(self, ca_bundle: bytes) -> int:
        """
        Write this caBundle into every entry of both, and return the number of changed configurations.

        If one fails, the other is still written.  A configuration is left unchanged after PATCH_TRIES conflicts.
        """
        changed, problems = 0, []
        for path in self._paths:
            try:
                changed += self._inject_into(path, ca_bundle)
            except ClusterError as error:
                problems.append(error)
        if problems:
            raise problems[0]
        return changed

    def _inject_into(self, path: str, ca_bundle: bytes) -> bool:
        for _ in range(PATCH_TRIES):
            configuration = self._read(path)
            self._seen[path] = tuple(_entries(configuration))
            if all(_bundle(entry) == ca_bundle for entry in self._seen[path]):
                return False
            if self._replace(path, configuration, ca_bundle):
                return True
        return False

    def _replace(self, path: str, configuration: Mapping[str, object], ca_bundle: bytes) -> bool:
        encoded = b64encode(ca_bundle).decode()
        entries = tuple(
            {**entry, "clientConfig": {**as_mapping(entry.get("clientConfig")), "caBundle": encoded}}
            for entry in _entries(configuration)
        )
        try:
            self._client.send("PUT", path, {**configuration, "webhooks": entries}, SECONDS)
        except ClusterError as error:
            if error.status not in (CONFLICT_STATUS, NOT_FOUND):
                raise
            return False
        self._seen[path] = entries
        return True

    def _read(self, path: str) -> dict[str, Any]:
        try:
            return self._client.get(path, {}, SECONDS)
        except ClusterError as error:
            if error.status != NOT_FOUND:
                raise
            return {}


def _entries(configuration: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield from map(as_mapping, as_list(configuration.get("webhooks")))


def _bundle(entry: Mapping[str, object]) -> bytes:
    text = as_mapping(entry.get("clientConfig")).get("caBundle")
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
