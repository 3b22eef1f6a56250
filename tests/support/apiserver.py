"""A small API server for tests of what lists and watches: pages, bookmarks, 410, and every way of not answering."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.support.build import key_of
from webhook.cluster.listed_resources import LISTED_RESOURCES
from webhook.cluster.watched_resources import WATCHED

REGISTRATION = "/apis/admissionregistration.k8s.io/"  # evenkeel reads its configurations every 10 seconds.
TOKEN = "Bearer evenkeel"
KINDS = {kind.kind: kind for kind in (*LISTED_RESOURCES, *WATCHED)}.values()


def path_of(item):
    """Where etcd keeps an object, which is the order in which objects are listed."""
    return "/".join(item[0])


def chunk(text):
    return b"%x\r\n%b\r\n" % (len(text), text)


class ApiServer:
    """Objects, what happened to them, and the connections on which that is told."""

    def __init__(self, port=0, context=None, page=None, floor=0):
        self.page = page  # At most so many objects come at a time, whatever was asked for.
        self.token = None
        self.changed = threading.Condition()
        self.objects = {one.kind: {} for one in KINDS}
        self.history = {one.kind: [] for one in KINDS}  # (resourceVersion, line)
        self.lists = {}  # What a list began with, by kind and resourceVersion: its next pages are from then.
        self.version = max(1_000, floor)
        self.git_version = "v1.37.1"
        self.floor = floor  # What happened up to here is forgotten: 410.
        self.watched = set()  # The kinds of which a watch has been opened.
        self.endings = []  # The last words to every watch that was open at a time.
        self.silent = False  # Accepts requests, and says nothing.
        self.refusals = []  # A status for each of the next requests, but those that are made now and then.
        self.forbidden = set()  # Resources that nobody may list.
        # What is answered at further paths, such as those of custom resources; or a status.
        self.further = {"/apis": {"groups": []}}
        self.asked = []
        self.answers = {}  # What is answered to a POST at a path: status, warnings, body.
        self.posted = []  # The path with the query, the headers, and the body of each POST.
        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads, self.server.api = True, self
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.cut()

    def serve(self, api_version, **resources):
        """Have a version of an API group, with the kind of each resource."""
        group, version = api_version.split("/")
        groups = self.further["/apis"]["groups"]
        served = next((one["versions"] for one in groups if one["name"] == group), None)
        if served is None:
            groups.append({"name": group, "versions": (served := [])})
        served.append({"version": version})
        listed = [{"name": name, "kind": kind} for name, kind in resources.items()]
        self.further[f"/apis/{api_version}"] = {"resources": listed}

    def put(self, *objects):
        for obj in objects:
            kind, key = obj["kind"], key_of(obj)
            with self.changed:
                self._happen(kind, key, "MODIFIED" if key in self.objects[kind] else "ADDED", obj)

    def delete(self, *objects):
        for obj in objects:
            kind, key = obj["kind"], key_of(obj)
            with self.changed:
                if key in self.objects[kind]:
                    self._happen(kind, key, "DELETED", self.objects[kind][key])

    def _happen(self, kind, key, what, obj):
        self.version += 1
        stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        if what == "DELETED":
            del self.objects[kind][key]
        else:
            self.objects[kind][key] = stored
        self._say(kind, what, stored)

    def _say(self, kind, what, obj):
        line = json.dumps({"type": what, "object": obj}).encode() + b"\n"
        self.history[kind].append((self.version, line))
        self.changed.notify_all()

    def bookmark(self):
        """Tell every watch how far it is."""
        with self.changed:
            for kind in self.history:
                self._say(kind, "BOOKMARK", {"kind": kind, "metadata": {"resourceVersion": str(self.version)}})

    def error(self, code):
        """End every watch that is open with an event that says why."""
        status = {"kind": "Status", "code": code, "message": "as the test wants it"}
        self._end(chunk(json.dumps({"type": "ERROR", "object": status}).encode() + b"\n") + chunk(b""))

    def cut(self):
        """Cut every watch that is open in the middle of a line."""
        self._end(chunk(b'{"type": "ADDED", "o')[:-2])

    def _end(self, last):
        with self.changed:
            self.endings.append(last)
            self.changed.notify_all()

    def forget(self):
        """As etcd does when it is compacted: older resourceVersions are gone."""
        with self.changed:
            self.version += 1
            self.floor = self.version


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    @property
    def api(self):
        return self.server.api

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path not in ("/version", "/apis"):  # Asked for once a minute, whatever is tested.
            self.api.asked.append(self.path)
        while self.api.silent:
            time.sleep(0.01)
        with suppress(OSError):
            if parts.path == "/version":
                self._send(200, {"gitVersion": self.api.git_version})
            elif self.api.refusals and parts.path != "/apis" and not parts.path.startswith(REGISTRATION):
                self._refuse(self.api.refusals.pop(0))
            elif self.api.token not in (None, self.headers.get("Authorization", self.headers.get("authorization"))):
                self._refuse(401)
            else:
                self._answer(parts.path, query)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.api.posted.append((self.path, self.headers, body))
        status, warnings, answer = self.api.answers.get(urlsplit(self.path).path, (404, [], {"message": "not found"}))
        with suppress(OSError):
            self._send(status, answer, warnings)

    def _answer(self, path, query):
        parts = path.split("/")
        namespace = parts[-2] if "namespaces" in parts[:-2] else ""
        of = next((one for one in KINDS if path in (one.path(), one.path(namespace))), None)
        if path in self.api.further:
            answer = self.api.further[path]
            self._refuse(answer) if isinstance(answer, int) else self._send(200, answer)
        elif of is None:
            self._one(path)
        elif of.resource in self.api.forbidden:
            self._refuse(403)
        elif "watch" in query:
            self._watch(of.kind, query)
        else:
            self._list(of.kind, namespace, query)

    def _one(self, path):
        for one in KINDS:
            for (namespace, name), obj in list(self.api.objects[one.kind].items()):
                if path == one.path(namespace, name):
                    self._send(200, obj)
                    return
        self._refuse(404)

    def _list(self, kind, namespace, query):
        """A page of what there was at the version of the first page, as long as that is remembered."""
        with self.api.changed:
            version, offset = map(int, query.get("continue", f"{self.api.version}:0").split(":"))
            if version < self.api.floor:
                self._refuse(410)
                return
            items = self.api.lists.setdefault((kind, version), sorted(self.api.objects[kind].items(), key=path_of))
        items = [item for item in items if not namespace or item[0][0] == namespace]
        limit = min(int(query.get("limit", "500")), self.api.page or 500)
        page = [{name: part for name, part in obj.items() if name not in ("apiVersion", "kind")} for _, obj in items]
        metadata = {"resourceVersion": str(version)}
        if len(items) > offset + limit:
            metadata["continue"] = f"{version}:{offset + limit}"
        self._send(200, {"kind": f"{kind}List", "metadata": metadata, "items": page[offset : offset + limit]})

    def _watch(self, kind, query):
        api, seen, end = self.api, int(query["resourceVersion"]), time.monotonic() + int(query["timeoutSeconds"])
        with api.changed:
            if seen < api.floor:
                self._refuse(410)
                return
            history, endings = api.history[kind], len(api.endings)
            told = sum(1 for version, _ in history if version <= seen)
            api.watched.add(kind)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while time.monotonic() < end:
            with api.changed:
                api.changed.wait_for(lambda: len(api.endings) > endings or len(history) > told, 0.05)  # noqa: B023
                lines, last = [line for _, line in history[told:]], api.endings[endings:]
                told += len(lines)
            if last:
                self.wfile.write(last[0])
                self.close_connection = True
                return
            for line in lines:
                self.wfile.write(chunk(line))
        self.wfile.write(chunk(b""))

    def _refuse(self, status):
        self._send(status, {"kind": "Status", "code": status, "message": f"refused with {status}"})

    def _send(self, status, body, warnings=()):
        text = json.dumps(body).encode()
        self.send_response(status)
        for warning in warnings:
            self.send_header("Warning", warning.encode().decode("latin-1"))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def kubeconfig(url, folder, ca=None, user=None, **cluster):
    """A kubeconfig file that leads there; `cluster` are further fields of its cluster."""
    cluster |= {"server": url} | ({"certificate-authority": str(ca)} if ca else {})
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user or {}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(content))
    return path
