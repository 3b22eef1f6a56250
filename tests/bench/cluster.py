"""
`make bench`, its second part: what watching a cluster of 5,000 nodes and 2,000 workloads costs, beside its bounds.

    an API server of its own process ──TLS──> informers here; memory, CPU and views are this process's
"""

from __future__ import annotations

import gc
import json
import re
import resource
import ssl
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import median

from tests.bench.page import fill
from tests.support import build
from tests.support.admission_reviews import raw
from tests.support.apiserver import ApiServer
from tests.support.serving import certificate, serving
from tests.support.watching import SHOP
from webhook.server.webhook import GARBAGE_THRESHOLD, freeze

NODES, NAMESPACES, WORKLOADS, PODS = 5_000, 200, 2_000, 150_000
ZONES = ("a", "b", "c")
RATE, SECONDS = 1_000, 20
# What a real object carries that is not kept: about 7 kB for a Pod, 12 kB for a Node.
BALLAST = [
    {"manager": "kubelet", "operation": "Update", "fieldsV1": {f"f:field-{i}": {".": {}} for i in range(60)}}
] * 2
CONTAINER = {"image": "registry/app:1", "env": [{"name": f"E{i}", "value": "x" * 40} for i in range(25)]}
REQUESTED = {"cpu": ("100m", "250m", "500m", "1", "1500m"), "memory": ("128Mi", "256Mi", "512Mi", "1Gi", "3Gi")}
CONDITIONS = [
    {"type": name, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-01-31T10:00:00Z"}
    for name in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
]
ALLOCATABLE = {
    "cpu": "15890m",
    "memory": "63435Mi",
    "pods": "110",
    "ephemeral-storage": "95551679124",
    "hugepages-2Mi": "0",
}
IMAGES = [
    {"names": [f"registry/image-{i}@sha256:{'0' * 64}", f"registry/image-{i}:1"], "sizeBytes": i} for i in range(50)
]


def metadata(name, labels, namespace=None, version=1):
    found = {"name": name, "uid": f"{hash((name, namespace)) & (2**64 - 1):036x}", "labels": labels}
    place = {"namespace": namespace} if namespace else {}
    return {**found, **place, "resourceVersion": str(version), "managedFields": BALLAST}


def node(i):
    zone = {"topology.kubernetes.io/zone": ZONES[i % 3], "topology.kubernetes.io/region": "r"}
    more = {f"node.example.com/label-{n}": f"value-{n}-{i % 7}" for n in range(8)}
    labels = {"kubernetes.io/hostname": f"node-{i}", "kubernetes.io/os": "linux", **zone, **more}
    status = {"allocatable": ALLOCATABLE, "capacity": ALLOCATABLE, "conditions": CONDITIONS, "images": IMAGES}
    return {"metadata": metadata(f"node-{i}", labels), "spec": {"podCIDR": "10.0.0.0/24"}, "status": status}


def labels_of(workload):
    return {"app": f"app-{workload}", "pod-template-hash": f"{workload:010x}"}


def resources_of(workload, container):
    """Requests that differ by workload, as most do."""
    asked = {name: amounts[(workload // (3 + container)) % 5] for name, amounts in REQUESTED.items()}
    return {"requests": asked, "limits": {"memory": asked["memory"]}}


def pod(i, version=1):
    """Two containers and a sidecar, which the kubelet reports as it started them."""
    workload = i % WORKLOADS
    labels = {**labels_of(workload), "topology.kubernetes.io/zone": ZONES[i % 3], "topology.kubernetes.io/region": "r"}
    name, namespace = f"app-{workload}-{workload:010x}-{i:05x}", f"team-{workload % NAMESPACES}"
    app, helper, proxy = (
        {
            "name": f"c-{n}",
            "resources": resources_of(workload, n),
            **CONTAINER,
            "env": CONTAINER["env"][: 25 // (n + 1)],
        }
        for n in range(3)
    )
    started = [
        {"name": one["name"], "resources": one["resources"], "allocatedResources": one["resources"]["requests"]}
        for one in (app, helper, proxy)
    ]
    spec = {
        "nodeName": f"node-{(i * 7) % NODES}",
        "containers": [app, helper],
        "initContainers": [{**proxy, "restartPolicy": "Always"}],
    }
    status = {
        "phase": "Running",
        "conditions": CONDITIONS,
        "containerStatuses": started[:2],
        "initContainerStatuses": started[2:],
    }
    return {"metadata": metadata(name, labels, namespace, version), "spec": spec, "status": status}


def replica_set(i):
    selector = {"matchLabels": labels_of(i)}
    name, namespace = f"app-{i}-{i:010x}", f"team-{i % NAMESPACES}"
    return {"metadata": metadata(name, labels_of(i), namespace), "spec": {"selector": selector}}


def service(i):
    return {"metadata": metadata(f"app-{i}", {}, f"team-{i % NAMESPACES}"), "spec": {"selector": {"app": f"app-{i}"}}}


KINDS = {
    "nodes": (node, NODES),
    "namespaces": (lambda i: {"metadata": metadata(f"team-{i}", {"team": f"t{i}"})}, NAMESPACES),
    "services": (service, WORKLOADS),
    "replicasets": (replica_set, WORKLOADS),
}


def serve(folder):
    """The API server's process: lists, and ReplicaSets that come, go and change from the moment a file says so."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from urllib.parse import parse_qs, urlsplit

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_GET(self):
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            resource_name = parts.path.rpartition("/")[2]
            if "watch" in query:
                self.watch(resource_name)
                return
            if "limit" not in query:  # No list: /version, or a look-up.
                self.send_error(404)
                return
            make, count = KINDS.get(resource_name, (None, 0))
            begin = int(query.get("continue", "0"))
            end = min(count, begin + int(query.get("limit", "0")))
            of = {"resourceVersion": "1", **({"continue": str(end)} if end < count else {})}
            body = json.dumps({"metadata": of, "items": [make(i) for i in range(begin, end)]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def watch(self, resource_name):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while resource_name != "replicasets" or not (folder / "go").exists():
                time.sleep(0.05)
            lines = [line(i, back) for back in (False, True) for i in range(RATE)]
            begun = time.perf_counter()
            for i in range(RATE * SECONDS):
                self.wfile.write(lines[i % len(lines)])
                time.sleep(max(0.0, begun + i / RATE - time.perf_counter()))
            while True:
                time.sleep(1)

    def line(i, back):
        """In turn one's status changes, one is deleted, and another comes in its place; then it all goes back."""
        what, changed = ("MODIFIED", "DELETED", "ADDED")[i % 3], replica_set(i - i % 3 + 1 if i % 3 else i)
        if (what == "ADDED") != back and what != "MODIFIED":
            changed["metadata"]["name"] += "-new"
        obj = {"apiVersion": "apps/v1", "kind": "ReplicaSet", **changed}
        text = json.dumps({"type": what, "object": obj}).encode() + b"\n"
        return b"%x\r\n%b\r\n" % (len(text), text)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def resident():
    """Megabytes of this process in memory, now."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


# Runs `evenkeel serve` as if in a Pod, whose service account is in a folder of the tests.
IN_A_POD = """
import os, pathlib, sys
def child():
    from webhook.cluster import client
    client.SERVICE_ACCOUNT = pathlib.Path(os.environ["SERVICE_ACCOUNT"])
os.register_at_fork(after_in_child=child)
from webhook.cli.main import main
sys.exit(main())
"""


def at_rest(folder):
    """The rows of a server that has answered a thousand reviews: alone, and with a small cluster to watch."""
    with serving(folder, MALLOC_ARENA_MAX="2") as running:
        yield f"| all processes (PSS), without a cluster, after load | {loaded(running):.0f} MB | 52 MB |"
    (folder / "ca.crt").write_text(certificate(folder))
    (folder / "token").write_text("evenkeel")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    api = ApiServer(context=context)
    api.put(*SHOP)
    pod = {"HOME": str(folder), "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.port)}
    pod |= {"SERVICE_ACCOUNT": str(folder), "MALLOC_ARENA_MAX": "2"}
    with serving(folder, "--cluster", "live", program=IN_A_POD, **pod) as running:
        yield f"| all processes (PSS), watching a small cluster, after load | {loaded(running):.0f} MB | 72 MB |"
    api.stop()


def loaded(running):
    """Megabytes after reviews of both phases, from eight clients at a time."""

    def ask(_):
        with closing(running.connection()) as connection:
            for body, path in [(raw(), "/validate"), (raw(build.pod()), "/mutate")] * 64:
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                connection.getresponse().read()

    with ThreadPoolExecutor(8) as clients:
        list(clients.map(ask, range(8)))
    return running.pss_megabytes()


def measured(live, folder):
    """The rows of the table; the cluster has not been asked for anything yet."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    before, begun, cpu = resident(), time.perf_counter(), time.process_time()
    live.start()
    while live.view() is None:
        time.sleep(0.05)
    yield f"| all caches in memory | {resident() - before:.0f} MB | 220 MB |"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"| the process beside them, and at its largest | {before:.0f} MB, {peak:.0f} MB | |"
    seconds, busy = time.perf_counter() - begun, time.process_time() - cpu
    yield f"| first lists, until it is ready | {seconds:.0f} s, {busy:.0f} s of them CPU | |"
    freeze()
    begun, cpu = time.perf_counter(), time.process_time()
    (folder / "go").touch()
    views = []
    while time.perf_counter() < begun + SECONDS:
        time.sleep(0.1)
        asked = time.perf_counter()
        live.view()
        views.append((time.perf_counter() - asked) * 1e6)
    share = (time.process_time() - cpu) / (time.perf_counter() - begun)
    yield f"| {RATE} events of ReplicaSets a second, and ten views, of one core | {share:.0%} | 15 % |"
    yield f"| a view after 100 of these events, median and longest | {median(views):.0f} µs, {max(views):.0f} µs | |"


def table(folder):
    from datetime import UTC, datetime

    from kubernetes.client import Configuration

    from certs.authority import Authority
    from webhook.cluster.client import Client, of_configuration
    from webhook.cluster.live import Live

    now = datetime.now(UTC)
    ca = Authority.create(now)
    ca.issue(["127.0.0.1"], now).write(folder / "tls.crt", folder / "tls.key")
    (folder / "ca.crt").write_bytes(ca.pair.chain_pem())
    command = [sys.executable, "-m", "tests.bench.cluster", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            configuration = Configuration()
            configuration.host = f"https://127.0.0.1:{server.stdout.readline().strip()}"
            configuration.ssl_ca_cert, configuration.no_proxy = str(folder / "ca.crt"), "*"
            live = Live(Client(lambda: of_configuration(configuration)), lambda *_, **__: None)
            yield f"| {NODES:,} nodes, {WORKLOADS:,} workloads in {NAMESPACES} namespaces | measured | bound |"
            yield "| --- | --- | --- |"
            yield from measured(live, folder)
        finally:
            server.kill()
    (folder / "rest").mkdir()
    yield from at_rest(folder / "rest")


def main():
    with tempfile.TemporaryDirectory() as temporary:
        fill("bench-cluster", table(Path(temporary)))


if __name__ == "__main__":
    serve(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
