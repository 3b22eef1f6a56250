"""A Secret that replicas share, updated only if its resourceVersion has not changed."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping

from webhook.cluster.client import CONFLICT_STATUS, NOT_FOUND, Client, ClusterError
from webhook.kubernetes.fields import as_mapping
from webhook.kubernetes.labels import labels_of

SECONDS = 10.0


class Secret:
    """
    One Secret; only its `data` is changed.

    Both methods raise ClusterError if the API server cannot be reached or refuses.
    """

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._identity = {"namespace": namespace, "name": name}
        self._folder = f"/api/v1/namespaces/{namespace}/secrets"
        self._last_read: Mapping[str, object] = {}  # Empty if the Secret did not exist.

    def read(self) -> tuple[Mapping[str, bytes], str]:
        """The decoded entries and the resourceVersion of the Secret; both are empty if it does not exist."""
        try:
            self._last_read = self._client.get(f"{self._folder}/{self._identity['name']}", {}, SECONDS)
        except ClusterError as error:
            if error.status != NOT_FOUND:
                raise
            self._last_read = {}
        version = as_mapping(self._last_read.get("metadata")).get("resourceVersion")
        data = labels_of(self._last_read.get("data"))
        return {key: _decoded(text) for key, text in data.items()}, str(version or "")

    def replace(self, content: Mapping[str, bytes], resource_version: str) -> bool:
        """
        Replace the entries if the Secret still has that version; create the Secret if the version is empty.

        False if another client changed, created or deleted it meanwhile.
        """
        data = {key: b64encode(value).decode() for key, value in content.items()}
        try:
            if resource_version:
                metadata = {**as_mapping(self._last_read.get("metadata")), "resourceVersion": resource_version}
                secret = {**self._last_read, "metadata": metadata, "data": data}
                self._client.send("PUT", f"{self._folder}/{self._identity['name']}", secret, SECONDS)
            else:
                secret = {"apiVersion": "v1", "kind": "Secret", "metadata": self._identity, "data": data}
                self._client.send("POST", self._folder, secret, SECONDS)
        except ClusterError as error:
            if error.status == CONFLICT_STATUS or (error.status == NOT_FOUND and resource_version):
                return False
            raise  # Also NOT_FOUND on creation: the namespace does not exist.
        return True


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return b""
