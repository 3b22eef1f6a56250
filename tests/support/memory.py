"""Objects of an API server in memory: GET, POST and PUT with its answers to what has changed meanwhile."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from webhook.cluster.client import CONFLICT_STATUS, NOT_FOUND, UNAUTHORIZED, ClusterError


class Memory:
    """
    Stands in for a Client; `away` makes every request fail, `meanwhile` is called once before the next write.

    `expired` names the method that brings a token which is accepted again; nothing can be made below `missing`.
    """

    def __init__(self, objects=None):
        self.objects, self.version = {}, 0
        self.away, self.meanwhile, self.writes, self.expired, self.missing = False, None, [], "", ""
        for path, obj in (objects or {}).items():
            self.put(path, obj)

    def put(self, path, obj):
        self.version += 1
        self.objects[path] = {**obj, "metadata": {**obj.get("metadata", {}), "resourceVersion": str(self.version)}}
        return self.objects[path]

    def authenticate(self):
        self._renew("authenticate")

    def reconnect(self):
        self._renew("reconnect")

    def _renew(self, by):
        self.expired = self.expired if self.expired != by else ""

    def get(self, path, query, seconds):
        return self.send("GET", path, None, seconds)

    def send(self, method, path, body, seconds, query=None):
        if self.away:
            raise ClusterError(f"{path}: connection refused")
        if self.expired:
            raise ClusterError(f"{path}: Unauthorized", UNAUTHORIZED)
        if method != "GET" and self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            act()
        if self.missing and path.startswith(self.missing):
            raise ClusterError(f"{path}: not found", NOT_FOUND)
        if method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                raise ClusterError(f"{path}: already exists", CONFLICT_STATUS)
        elif path not in self.objects:
            raise ClusterError(f"{path}: not found", NOT_FOUND)
        if method == "GET":
            return json.loads(json.dumps(self.objects[path]))
        if method == "PUT" and body["metadata"]["resourceVersion"] != self.objects[path]["metadata"]["resourceVersion"]:
            raise ClusterError(f"{path}: the object has been modified", CONFLICT_STATUS)
        self.writes.append((method, path))
        return self.put(path, json.loads(json.dumps(body)))


@contextmanager
def over_http(memory):
    """The same objects for another process; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            given = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                status, found = 200, memory.send(self.command, self.path, json.loads(given or b"null"), 1.0)
            except ClusterError as error:
                status, found = error.status or 503, {"kind": "Status", "message": str(error)}
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        do_POST = do_PUT = do_GET

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
