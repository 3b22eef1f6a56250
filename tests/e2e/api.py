"""What the tests themselves ask the API server: plain JSON over HTTPS, and a watch as a stream of events."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection

from tests.support.serving import PATIENCE

JSON, MERGE = "application/json", "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """An answer other than 2xx, with its status and the API server's message."""

    def __init__(self, status: int, body: str):
        super().__init__(f"{status}: {body}")
        self.status, self.body = status, body

    @property
    def message(self) -> str:
        """What kubectl prints."""
        return json.loads(self.body)["message"]


class Api:
    """A client of one API server on this machine."""

    def __init__(self, port: int, ca: str, token: str):
        self.port, self.token = port, token
        self.context = ssl.create_default_context(cadata=ca)

    def call(self, method: str, path: str, body: object = None, content_type: str = JSON) -> dict:
        """One request on a connection of its own; ApiError unless it succeeds."""
        with closing(HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=PATIENCE)) as connection:
            return json.loads(self._request(connection, method, path, body, content_type).read())

    def exists(self, path: str) -> bool:
        try:
            return bool(self.call("GET", path))
        except ApiError as error:
            if error.status == 404:
                return False
            raise

    def watch(self, path: str) -> Iterator[tuple[str, dict]]:
        """Type and object of each event: first one for all there is, then what happens, until the server ends it."""
        with closing(HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=PATIENCE)) as connection:
            response = self._request(connection, "GET", path)
            connection.sock.settimeout(None)
            for line in response:
                event = json.loads(line)
                yield event["type"], event["object"]

    def _request(self, connection, method, path, body=None, content_type=JSON) -> HTTPResponse:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        if response.status >= 300:
            raise ApiError(response.status, response.read().decode("utf-8", "replace"))
        return response


def healthy(port: int, path: str, context: ssl.SSLContext | None = None) -> bool:
    """Whether a component answers 200 there; without a context it speaks HTTP."""
    http = partial(HTTPSConnection, context=context) if context else HTTPConnection
    connection = http("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
