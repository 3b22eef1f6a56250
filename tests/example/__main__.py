"""
Start the webhook with an example cluster, send it three reviews, and show the answers.

The webhook has a self-signed certificate and the built-in policy.  The reviews are sent over TLS, as kube-apiserver
sends them.  Then it serves until Ctrl-C; without a terminal, or with --once, it stops.
Exit code 0: shown, 2: bad input, or the webhook does not start.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from webhook.kubernetes.fields import as_list, as_mapping

FOLDER = Path(__file__).parent
START_SECONDS = 20


class ExampleError(Exception):
    """Why the example cannot be shown, in one line."""


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.example", description=__doc__)
    parser.add_argument("--port", type=int, default=8443, help="the port of the webhook (default: %(default)s)")
    parser.add_argument("--program", default="", help="evenkeel itself (default: that of this interpreter)")
    parser.add_argument("--once", action="store_true", help="stop after the three answers")
    args = parser.parse_args(words)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))  # `_server` then stops its process
    try:
        return _run(args)
    except KeyboardInterrupt:  # Ctrl-C is how a user stops it
        return 0
    except ExampleError as error:
        print(error, file=sys.stderr)
        return 2


def _run(args: argparse.Namespace) -> int:
    if not 0 < args.port < 65536:
        raise ExampleError(f"--port: found {args.port}, wanted a number from 1 to 65535")
    try:
        socket.create_server(("127.0.0.1", args.port)).close()
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        fix = "choose another port, such as make run PORT=8444"
        raise ExampleError(f"127.0.0.1:{args.port}: {reason}; {fix}") from error
    health = _free_port()
    with _server(args.program, args.port, health) as (server, ca):
        _wait(server, health)
        context = ssl.create_default_context(cafile=ca)
        print(f"evenkeel serves on https://127.0.0.1:{args.port}, CA certificate: {ca}\n")
        for line in (FOLDER / "reviews.jsonl").read_text("utf-8").splitlines():
            review = json.loads(line)
            _show(review, _post(args.port, context, review["path"], json.dumps(review["review"])))
        if args.once or not sys.stdout.isatty():
            return 0
        target = f"https://127.0.0.1:{args.port}/validate"
        print("To send an AdmissionReview of your own, in review.json:")
        print(f"  curl --cacert {ca} -H 'Content-Type: application/json' -d @review.json {target}")
        print(f"Probes and metrics: http://127.0.0.1:{health}/readyz?verbose and /metrics")
        print("Press Ctrl-C to stop.")
        return server.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def _server(program: str, port: int, health: int) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The started server, which stops with this command, and the file for its CA certificate, which goes with it."""
    bind = ["--bind", f"127.0.0.1:{port}", "--health-bind", f"127.0.0.1:{health}"]
    options = ["--self-signed", "--cluster", str(FOLDER / "cluster.yaml"), "--log-level", "warning"]
    command = [*([program] if program else [sys.executable, "-m", "webhook"]), "serve", *bind, *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVENKEEL_")}
    with TemporaryDirectory(prefix="evenkeel-") as folder:
        ca = Path(folder) / "ca.crt"
        with ca.open("wb") as printed:
            server = subprocess.Popen(command, env=environment, stdout=printed)
        try:
            yield server, ca
        finally:
            server.terminate()
            server.wait()


def _wait(server: subprocess.Popen[bytes], health: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), closing(http.client.HTTPConnection("127.0.0.1", health, timeout=10)) as connection:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.05)
    raise ExampleError("the server did not become ready" if server.poll() is None else "the server did not start")


def _post(port: int, context: ssl.SSLContext, path: str, body: str) -> Mapping[str, object]:
    with closing(http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)) as connection:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        return as_mapping(as_mapping(json.loads(connection.getresponse().read())).get("response"))


def _show(review: Mapping[str, object], response: Mapping[str, object]) -> None:
    request = as_mapping(as_mapping(review["review"]).get("request"))
    metadata = as_mapping(as_mapping(request.get("object")).get("metadata"))
    kind, name = as_mapping(request.get("kind")).get("kind"), metadata.get("name") or metadata.get("generateName")
    verdict = "allowed" if response.get("allowed") is True else "denied"
    print(f"POST {review['path']}: {request.get('operation')} {kind} {name}: {verdict}")
    for line in str(as_mapping(response.get("status")).get("message", "")).splitlines():
        print(f"  {line}")
    for warning in as_list(response.get("warnings")):
        print(f"  Warning: {warning}")
    for operation in json.loads(base64.b64decode(str(response.get("patch", "")))) if "patch" in response else ():
        print(f"  {operation['op']} {operation['path']}")
        values = operation["value"] if isinstance(operation["value"], list) else [operation["value"]]
        for value in values:
            print(f"    {json.dumps(value)}")
    print()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
