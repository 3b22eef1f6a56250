"""The one file runs by itself: what it prints, each way to a cluster, what krew makes of it, and what it refuses."""

from __future__ import annotations

import ast
import gzip
import io
import json
import os
import platform
import re
import select
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from urllib.parse import parse_qs

import pytest
import yaml

from tests.release.build import WHEEL, build_python, copy_tracked, digest
from tests.release.one_file import ARCHIVES, COMPILED, FILE, KREW, PACKAGES, PLATFORMS, PYTHONS, add_one_file
from tests.support import ROOT
from tests.support.apiserver import TOKEN, ApiServer, kubeconfig
from tests.support.serving import certificate
from tests.support.watching import SHOP
from webhook import __version__

URL = "https://example.com/download"
LARGEST = 60_000_000
EPOCH = 1_700_000_000
# Not that of the virtual environment, which has what the file should bring along; and `-S` leaves out the system's.
PYTHON = (os.path.realpath(sys.executable), "-S")
HERE = f"{sys.platform}-{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }"
REJECT = ROOT / "docs" / "examples" / "reject.yaml"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    copy_tracked(folder / "source")
    build_python(folder / "source", folder)
    return folder / WHEEL


@pytest.fixture(scope="module")
def archives(tmp_path_factory, wheel):
    """The archives of every platform, and krew.yaml."""
    folder = tmp_path_factory.mktemp("archives")
    add_one_file(folder, wheel, URL, EPOCH)
    return folder


@pytest.fixture(scope="module")
def plugin(tmp_path_factory, archives):
    """`kubectl-evenkeel`, as krew makes it of the archive of this platform: unpacked, and linked."""
    root = tmp_path_factory.mktemp("krew")
    with tarfile.open(archives / ARCHIVES[HERE]) as archive:
        archive.extractall(root / "store", filter="data")
    (spec,) = (spec for spec in manifest(archives)["spec"]["platforms"] if spec["uri"].endswith(ARCHIVES[HERE]))
    (root / "bin").mkdir()
    (root / "bin" / "kubectl-evenkeel").symlink_to(root / "store" / spec["bin"])
    return root / "bin" / "kubectl-evenkeel"


@pytest.fixture
def run(plugin, home):
    """Run the file by a Python that has nothing else."""

    def ran(*words, code=0, **variables):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), **variables}
        command = [*PYTHON, plugin, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=environment, check=False)
        assert code == done.returncode, done.stdout + done.stderr
        return done

    return ran


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where the file is unpacked once for these tests."""
    return tmp_path_factory.mktemp("home")


def manifest(archives):
    return yaml.safe_load((archives / KREW).read_text("utf-8"))


def content(archives, on):
    """The names in the file of a platform, and their sizes."""
    with tarfile.open(archives / ARCHIVES[on]) as archive:
        file = archive.extractfile(FILE).read()
    return {entry.filename: entry.file_size for entry in zipfile.ZipFile(io.BytesIO(file)).infolist()}


@pytest.mark.parametrize("on", PLATFORMS)
def test_it_is_small_and_has_every_compiled_module_for_every_python(archives, on):
    sizes = content(archives, on)
    pythons = {}
    for name in sizes:
        if compiled := COMPILED.search(name):
            pythons.setdefault(name.removesuffix(compiled[0]), set()).add(compiled[0].split("-")[1])

    assert sum(sizes.values()) <= LARGEST
    assert f"{PACKAGES}/rpds/rpds" in pythons
    assert {*map(frozenset, pythons.values())} == {frozenset(python.replace(".", "") for python in PYTHONS)}
    for package in ("evenkeel", "kubernetes", "cryptography"):  # whose licenses ask for that
        assert any(re.match(rf"{PACKAGES}/{package}-[\d.]+\.dist-info/licenses/LICENSE", name) for name in sizes)


def test_the_same_wheel_makes_the_same_archives(archives, wheel, tmp_path):
    """Wherever it lies, and whenever it was written there."""
    (tmp_path / "elsewhere").mkdir()
    add_one_file(tmp_path, Path(shutil.copy(wheel, tmp_path / "elsewhere")), URL, EPOCH)

    assert {file.name: digest(file) for file in archives.iterdir()} == {
        name: digest(tmp_path / name) for name in (KREW, *ARCHIVES.values())
    }


def test_it_is_unpacked_once_for_this_python_only_and_runs(run, tmp_path):
    caches = {"XDG_CACHE_HOME": str(tmp_path)}
    assert run("--help", **caches).stdout.startswith("usage: kubectl evenkeel ")
    (unpacked,) = (tmp_path / "evenkeel").iterdir()
    written = (unpacked / "webhook" / "__init__.py").stat().st_mtime_ns

    assert f"evenkeel {__version__}\n" == run("--version", **caches).stdout
    assert "empty-selector" in run("lint", REJECT, code=1, **caches).stdout
    assert "enforcement    Deny" in run("policy", "show", **caches).stdout
    assert "strimzi-kafka" in run("kinds", **caches).stdout
    run("certs", "issue", "--name", "a", "--dir", tmp_path / "tls", **caches)
    assert (tmp_path / "tls" / "tls.crt").exists()
    assert [unpacked] == [*(tmp_path / "evenkeel").iterdir()]
    assert written == (unpacked / "webhook" / "__init__.py").stat().st_mtime_ns
    suffixes = {compiled[0] for file in unpacked.rglob("*.so") if (compiled := COMPILED.search(file.name))}
    assert {EXTENSION_SUFFIXES[0]} == suffixes


def test_starts_at_once_are_one_unpacking(plugin, tmp_path):
    command, environment = [*PYTHON, plugin, "--version"], {"XDG_CACHE_HOME": str(tmp_path)}
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(3)]

    assert [0, 0, 0] == [process.wait() for process in started]
    assert 1 == len([*(tmp_path / "evenkeel").iterdir()])


@pytest.mark.parametrize("suffix", [".cpython-39-darwin.so", ".cpython-312-x86_64-linux-musl.so", ".pypy311-pp73.so"])
def test_another_python_is_refused_in_one_line(plugin, tmp_path, suffix):
    pretended = f"import importlib.machinery as m, runpy; m.EXTENSION_SUFFIXES[0] = {suffix!r}"
    command = [*PYTHON, "-c", f"{pretended}; runpy.run_path({str(plugin)!r}, run_name='__main__')"]
    done = subprocess.run(command, capture_output=True, text=True, env={"XDG_CACHE_HOME": str(tmp_path)})

    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr == (
        f"evenkeel: {PYTHON[0]}: found Python {platform.python_version()} ({suffix}), "
        f"wanted CPython {PYTHONS[0]} to {PYTHONS[-1]} on {HERE}; put such a python3 first in PATH\n"
    )
    assert [] == [*tmp_path.iterdir()]


def test_an_older_python_can_read_why():
    """Or it would say that there is an error in the syntax."""
    ast.parse(Path(__file__).with_name("start.py").read_text("utf-8"), feature_version=(3, 6))


def test_where_nothing_can_be_unpacked_it_is_said_in_one_line(run, tmp_path):
    (tmp_path / "file").write_text("")
    said = run("--version", code=2, XDG_CACHE_HOME=str(tmp_path / "file")).stderr

    assert re.fullmatch(
        rf"evenkeel: {tmp_path}/file/evenkeel/\S+: cannot be unpacked: Not a directory; "
        r"set XDG_CACHE_HOME to a folder that has room\n",
        said,
    )


# Each way to a cluster: what a new version of the `kubernetes` package might need more for.


def credential(**status):
    """A program as `aws eks get-token` and its like are, by what it answers."""
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n"


@contextmanager
def api_server(folder):
    """One that speaks TLS and wants the token; its CA is `ca.crt` in the folder."""
    (folder / "ca.crt").write_text(certificate(folder))
    api = ApiServer(context=tls(folder))
    api.token = TOKEN
    api.put(*SHOP)
    try:
        yield api
    finally:
        api.stop()


def tls(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


@contextmanager
def served(server):
    """A server on a thread of its own, while it is needed."""
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def read(run, file, **variables):
    """What a command reads of the cluster to which a kubeconfig leads."""
    dump = file.with_name("dump.gz")
    run("dump", "-o", dump, KUBECONFIG=str(file), **variables)
    return gzip.decompress(dump.read_bytes()).decode()


def test_it_reads_a_cluster_by_an_exec_plugin(run, tmp_path):
    plugin = tmp_path / "plugin"
    plugin.write_text(credential(token=TOKEN.removeprefix("Bearer ")))
    plugin.chmod(0o700)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}}
    with api_server(tmp_path) as api:
        assert "web-" in read(run, kubeconfig(api.url, tmp_path, tmp_path / "ca.crt", user))


class Issuer(BaseHTTPRequestHandler):
    """An OIDC issuer that gives a new token for the refresh token `again`."""

    def log_message(self, *args):
        pass

    def do_GET(self):
        assert "/.well-known/openid-configuration" == self.path
        self._send({"token_endpoint": f"{self.server.url}/token"})

    def do_POST(self):
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        assert (["refresh_token"], ["again"]) == (form["grant_type"], form["refresh_token"])
        self._send(
            {"id_token": self.server.token, "refresh_token": "then", "access_token": "a", "token_type": "Bearer"}
        )

    def _send(self, body):
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def token_until(expiry):
    parts = ({"alg": "none"}, {"sub": "me", "exp": int(expiry)})
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".c2ln"


def test_it_reads_a_cluster_by_a_token_that_an_oidc_issuer_renews(run, tmp_path):
    with api_server(tmp_path) as api, served(ThreadingHTTPServer(("127.0.0.1", 0), Issuer)) as issuer:
        issuer.socket = tls(tmp_path).wrap_socket(issuer.socket, server_side=True)
        issuer.url, issuer.token = f"https://127.0.0.1:{issuer.server_address[1]}", token_until(time.time() + 3_600)
        api.token = f"Bearer {issuer.token}"
        config = {
            **{"idp-issuer-url": issuer.url, "idp-certificate-authority": str(tmp_path / "ca.crt")},
            **{"client-id": "evenkeel", "client-secret": "s", "refresh-token": "again", "id-token": token_until(1)},
        }
        user = {"auth-provider": {"name": "oidc", "config": config}}
        assert "web-" in read(run, kubeconfig(api.url, tmp_path, tmp_path / "ca.crt", user))


class Proxy(socketserver.StreamRequestHandler):
    """A forward proxy that knows CONNECT, and leads every name to this machine."""

    def handle(self):
        method, target, _ = self.rfile.readline().decode().split()
        self.server.asked.append((method, target))
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2]))) as upstream:
            ends = {self.connection: upstream, upstream: self.connection}
            while True:
                for ready in select.select([*ends], [], [])[0]:
                    if not (data := ready.recv(1 << 16)):
                        return
                    ends[ready].sendall(data)


@pytest.mark.parametrize("of", ["the kubeconfig", "the environment"])
def test_it_reads_a_cluster_through_a_proxy(run, tmp_path, of):
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads, server.asked = True, []
    with served(server), api_server(tmp_path) as api:
        address, host = f"http://127.0.0.1:{server.server_address[1]}", f"localhost:{api.port}"
        user = {"token": TOKEN.removeprefix("Bearer ")}
        file = kubeconfig(f"https://{host}", tmp_path, tmp_path / "ca.crt", user)
        if of == "the kubeconfig":
            content = json.loads(file.read_text())
            content["clusters"][0]["cluster"]["proxy-url"] = address
            file.write_text(json.dumps(content))
        variables = {} if of == "the kubeconfig" else {"HTTPS_PROXY": address}

        assert "web-" in read(run, file, **variables)
        assert {("CONNECT", host)} == {*server.asked}


# What krew wants: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/, and of its source
# internal/index/validation/validate.go and cmd/validate-krew-manifest.

SEMANTIC = re.compile(r"v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[\dA-Za-z-]+(\.[\dA-Za-z-]+)*)?(\+[\dA-Za-z.-]+)?")
OF_SPEC = {"version", "homepage", "shortDescription", "description", "caveats", "platforms"}
OF_PLATFORM = {"uri", "sha256", "bin", "files", "selector"}
LICENSES = {"license", "license.txt", "license.md", "licenses", "licenses.txt", "licenses.md"}


def broken(plugin, folder):
    """The rules that a manifest breaks whose archives are in a folder."""
    spec, places = plugin["spec"], plugin["spec"]["platforms"]
    selectors = [json.dumps(place["selector"], sort_keys=True) for place in places]
    holds = {
        "apiVersion": plugin["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2",
        "kind": plugin["kind"] == "Plugin",
        "name": re.fullmatch(r"[\w-]+", plugin["metadata"]["name"]),
        "fields": {*plugin} == {"apiVersion", "kind", "metadata", "spec"} and {*spec} <= OF_SPEC,
        "version": SEMANTIC.fullmatch(spec["version"]),
        "shortDescription": re.fullmatch(".{1,50}", spec["shortDescription"]),
        "description": spec["description"],
        "platforms": places,
        "overlapping selectors": len(selectors) == len({*selectors}),
    }
    return [rule for rule in holds if not holds[rule]] + [rule for place in places for rule in broken_by(place, folder)]


def broken_by(place, folder):
    """The rules that a platform of a manifest breaks."""
    archive = folder / place["uri"].rpartition("/")[2]
    with tarfile.open(archive) as content:
        modes = {entry.name: entry.mode for entry in content}
    labels = place["selector"]["matchLabels"]
    holds = {
        "fields": {*place} <= OF_PLATFORM,
        "selector": labels and {*labels} <= {"os", "arch"},
        "files": "files" not in place or (place["files"] and all({*each} == {"from", "to"} for each in place["files"])),
        "uri": re.fullmatch(r"https://\S+\.(tar\.gz|zip)", place["uri"]),
        "sha256": place["sha256"] == digest(archive),
        "bin": modes.get(place["bin"], 0) & 0o111,
        "license": {name.lower() for name in modes} & LICENSES,
    }
    return [rule for rule in holds if not holds[rule]]


def test_the_manifest_is_as_krew_wants_it(archives):
    plugin = manifest(archives)
    places = plugin["spec"]["platforms"]

    assert [] == broken(plugin, archives)
    assert [f"{URL}/{archive}" for archive in ARCHIVES.values()] == [place["uri"] for place in places]
    assert [*PLATFORMS] == ["-".join(place["selector"]["matchLabels"].values()) for place in places]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda plugin: plugin["spec"].update(version="0.1.0"), "version"),
        (lambda plugin: plugin["spec"].update(version="v0.1.0rc1"), "version"),
        (lambda plugin: plugin["spec"].update(shortDescription="a\nb"), "shortDescription"),
        (lambda plugin: plugin["spec"].update(maintainers=[]), "fields"),
        (lambda plugin: plugin["spec"].update(platforms=[]), "platforms"),
        (lambda plugin: plugin["spec"]["platforms"].append(plugin["spec"]["platforms"][0]), "overlapping selectors"),
        (lambda plugin: plugin["spec"]["platforms"][0].update(sha256="0" * 64), "sha256"),
        (lambda plugin: plugin["spec"]["platforms"][0].update(bin="evenkeel"), "bin"),
        (lambda plugin: plugin["spec"]["platforms"][0].update(files=[]), "files"),
        (lambda plugin: plugin["spec"]["platforms"][0].update(selector={"matchLabels": {"cpu": "a"}}), "selector"),
    ],
)
def test_a_rule_of_krew_that_is_broken_is_noticed(archives, change, rule):
    plugin = manifest(archives)
    change(plugin)

    assert [rule] == broken(plugin, archives)


def test_kubectl_runs_what_krew_links(plugin, home):
    """As kubectl does: it runs `kubectl-evenkeel` of PATH, which is a link, by its first line."""
    environment = {"PATH": f"{Path(PYTHON[0]).parent}:/usr/bin:/bin", "HOME": str(home)}
    python = Path(PYTHON[0]).with_name("python3")
    assert python.exists()
    done = subprocess.run([plugin, "lint", REJECT], capture_output=True, text=True, env=environment)
    assert (1, True) == (done.returncode, "empty-selector" in done.stdout), done.stderr

    done = subprocess.run([plugin, "lint"], capture_output=True, text=True, env=environment)
    assert (2, True) == (done.returncode, done.stderr.startswith("kubectl evenkeel lint: "))
