"""
What the API server would answer if an object were created: it is asked by a dry run, which stores nothing.

    object ──POST …?dryRun=All──> admission ──status, headers `Warning`──> Trial
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote

from webhook.cluster.client import Client, ClusterError
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.objects.fields import Raw, as_mapping
from webhook.objects.kinds import Kind

TRIAL_SECONDS = 15.0
ALREADY_EXISTS = "AlreadyExists"
_CREATED = (HTTPStatus.OK, HTTPStatus.CREATED)
_WARNING = re.compile(r'\b299 \S+ "((?:[^"\\]|\\.)*)"')  # an item of a header, as kubectl reads it
_ESCAPED = re.compile(r"\\(.)")


class Trial(NamedTuple):
    """
    An answer: the HTTP status, the reason and the message of a refusal, both "" where there is none, and the warnings.
    """

    status: int
    reason: str = ""
    message: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def admitted(self) -> bool:
        """
        Whether all policies let the object pass.

        That another one has its name is found after they were asked.
        """
        return self.status in _CREATED or self.reason == ALREADY_EXISTS


def try_creation(client: Client, kind: Kind, obj: Raw, namespace: str, user: str = "") -> Trial:
    """
    Return the answer to the creation of an object in a namespace; nothing is stored.

    `user` is who is said to create it, "" for whom the client is logged in as.  ClusterError if there is no answer.
    """
    root = "/api" if kind.api_group == "" else "/apis"
    path = f"{root}/{kind.api_version}/namespaces/{quote(namespace, safe='')}/{kind.resource}"
    status, warnings, body = client.dry_run(path, obj, TRIAL_SECONDS, user)
    said = tuple(text for header in warnings for text in warning_texts(header))
    if status in _CREATED:
        return Trial(status, warnings=said)
    if status == HTTPStatus.UNAUTHORIZED:
        raise ClusterError(f"{path}: {status} {_message(body)}", status)
    return Trial(status, _reason(body), _message(body), said)


def warning_texts(header: str) -> list[str]:
    """Return the texts in a header `Warning`, of which http.client has read each byte as a character."""
    with suppress(UnicodeError):
        header = header.encode("latin-1").decode()
    return [_ESCAPED.sub(r"\1", text) for text in _WARNING.findall(header)]


def _status(body: bytes) -> Raw:
    try:
        return as_mapping(json.loads(body))
    except ValueError:
        return {}


def _reason(body: bytes) -> str:
    return str(_status(body).get("reason") or "")


def _message(body: bytes) -> str:
    """Return the message of a metav1.Status, or else the text that is there."""
    message = _status(body).get("message")
    return str(message) if message else one_line(body.decode("utf-8", "replace").strip(), LINE_LIMIT)
