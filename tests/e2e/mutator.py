"""Another mutating webhook, as a mesh or a cloud brings one: it changes new Pods before evenkeel, or after it."""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import containers
from tests.support.build import pod
from tests.support.serving import certificate, until

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
Change = Callable[[dict], Sequence[dict]]


@contextmanager
def mutating(plane: ControlPlane, folder: Path, name: str, namespace: str, change: Change) -> Iterator[None]:
    """Patch new Pods of a namespace as `change` says, under a configuration of that name."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.change, server.asked = True, change, 0
    ca = certificate(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        plane.api.call("POST", CONFIGURATIONS, configuration(name, namespace, server.server_address[1], ca))
        until(lambda: asked(plane, server, namespace), f"calls to {name}")
        yield
    finally:
        plane.kubectl("delete", "--ignore-not-found", f"mutatingwebhookconfiguration/{name}")
        server.shutdown()
        server.server_close()


def configuration(name: str, namespace: str, port: int, ca: str) -> dict:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    webhook = {
        "name": f"{name}.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": b64encode(ca.encode()).decode()},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {
        **{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"},
        **{"metadata": {"name": name}, "webhooks": [webhook]},
    }


def asked(plane: ControlPlane, server: ThreadingHTTPServer, namespace: str) -> bool:
    """Whether the API server has learnt to ask."""
    made = containers(pod(namespace=namespace, labels={"evenkeel.dev/skip": "true"}))
    plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", made)
    return server.asked > 0


class Handler(BaseHTTPRequestHandler):
    """Answers a review with a patch."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        self.server.asked += 1
        patch = b64encode(json.dumps(list(self.server.change(request["object"]))).encode()).decode()
        response = {"uid": request["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""
