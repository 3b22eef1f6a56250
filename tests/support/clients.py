"""A gunicorn in a process of its own, and the clients that test it: polite, slow and hostile ones."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import ROOT
from tests.support.serving import PATIENCE, certificate, until

MB = 1_000_000
SHORT = {"greeting": 1.0, "head": 1.0, "body": 1.0, "linger": 2.0, "rate": 20 * MB}
LATE = 1.0  # How much later than its deadline a connection may be closed on a busy machine.
LARGE = b"x" * 17_400_000
CROWD, OTHER = "127.0.0.66", "127.0.0.2"  # Addresses of two peers.


class Usage(NamedTuple):
    """What a process holds."""

    descriptors: int
    threads: int
    megabytes: int


class Server:
    """One gunicorn with one worker, listening as soon as it is made: what connects early waits in the backlog."""

    def __init__(self, folder: Path, *, stock: bool = False, limits: dict[str, float] | None = None, **settings: Any):
        self.ca = certificate(folder)
        self.log = folder / "gunicorn.log"
        settings = {"threads": 4, "loglevel": "debug", "errorlog": str(self.log)} | settings
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # As gunicorn does, too late for early clients.
        self.address = listener.getsockname()
        settings |= {
            "bind": f"fd://{listener.fileno()}",
        }
        settings |= {"certfile": str(folder / "tls.crt"), "keyfile": str(folder / "tls.key")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.clients", json.dumps([stock, limits or {}, settings])],
            pass_fds=[listener.fileno()],
            cwd=ROOT,
        )
        listener.close()
        self.context = ssl.create_default_context(cadata=self.ca)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        workers = self.workers(self.process.pid)  # While they are its own.
        self.process.kill()
        self.process.wait()
        for pid in workers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @staticmethod
    def workers(pid: int) -> list[int]:
        path = Path(f"/proc/{pid}/task/{pid}/children")
        return [int(child) for child in path.read_text().split()] if path.exists() else []

    @property
    def worker(self) -> int:
        """The process that serves."""
        return until(lambda: self.workers(self.process.pid), "a worker")[0]

    def usage(self) -> Usage:
        worker = Path(f"/proc/{self.worker}")
        status = dict(line.split(":", 1) for line in (worker / "status").read_text().splitlines())
        return Usage(len(os.listdir(worker / "fd")), int(status["Threads"]), int(status["VmRSS"].split()[0]) >> 10)

    def seconds(self) -> float:
        """Processor time that the worker has taken."""
        fields = Path(f"/proc/{self.worker}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self, peer: str = "127.0.0.1") -> socket.socket:
        """A connection from this address that has said nothing."""
        return socket.create_connection(self.address, timeout=PATIENCE, source_address=(peer, 0))

    def client(self, peer: str = "127.0.0.1") -> Client:
        """A connection with its TLS handshake done."""
        return Client(self.context.wrap_socket(self.connect(peer), server_hostname="localhost"))


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """HTTP by hand, to say what no library would."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        self.sock = sock
        self.file = sock.makefile("rb")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()
        self.sock.close()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def answer(self) -> Answer:
        """The next response."""
        line = self.file.readline()
        if not line:
            raise EOFError
        headers = {}
        while (header := self.file.readline()) not in {b"\r\n", b""}:
            name, _, value = header.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return Answer(int(line.split()[1]), headers, self.file.read(int(headers.get("content-length", 0))))

    def ask(self, data: bytes) -> Answer:
        self.send(data)
        return self.answer()

    def closed(self) -> bool:
        """Whether the server closes the connection, without another word."""
        try:
            return self.file.read(1) == b""
        except OSError:
            return True


def head(path: str = "/", **headers: object) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode()


def post(body: bytes = b"{}", path: str = "/", **headers: object) -> bytes:
    return head(path, Content_Length=len(body), **headers) + body


def chunked(parts: Iterable[bytes]) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


CHUNKED = head(Transfer_Encoding="chunked")


def reset(sock: socket.socket) -> None:
    """Close with a RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def suppressed(error: type[Exception], call: Callable[..., object], *args: object) -> None:
    with suppress(error):
        call(*args)


def latencies(ask: Callable[[], object], count: int = 50) -> list[float]:
    """Milliseconds per call."""
    taken = []
    for _ in range(count):
        begin = time.perf_counter()
        ask()
        taken.append(1000 * (time.perf_counter() - begin))
    return taken


def drip(clients: list[Client], stop: threading.Event) -> None:
    """One byte from each, again and again."""
    while not stop.wait(0.1):
        for client in clients:
            with suppress(OSError):
                client.send(b"x")


class Busy:
    """A server with one request in the application, until `finish`."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.server = Server(folder, **settings)
        self.pipe = folder / "pipe"
        os.mkfifo(self.pipe)
        self.client = self.server.client()
        self.client.send(post(path=f"/wait{self.pipe}"))
        self.writer = os.open(self.pipe, os.O_WRONLY)  # Waits until the application reads.

    def __enter__(self) -> Busy:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()
        self.client.close()
        self.server.__exit__()

    def finish(self) -> None:
        with suppress(OSError):
            os.close(self.writer)


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answers with the length of the body, after what the path asks for."""
    body = environ["wsgi.input"].read()
    answer = str(len(body)).encode()
    match environ["PATH_INFO"].split("/")[1:]:
        case ["wait", *path]:  # On a named pipe: who opens its other end knows that the request is being served.
            from webhook.server.transport.thread_role import may_wait

            may_wait()
            Path("/", *path).read_bytes()
        case ["work", milliseconds]:
            until_then = time.perf_counter() + int(milliseconds) / 1000
            while time.perf_counter() < until_then:
                pass
        case ["give", length]:
            answer = b"x" * int(length)
        case ["raise"]:
            raise ValueError("asked for")
        case ["exit"]:
            raise SystemExit(1)
        case ["break"]:
            start_response("200 OK", [("Content-Length", "100")])(b"half")
            raise ValueError("asked for")
    start_response("200 OK", [("Content-Length", str(len(answer)))])
    return [answer]


def serve(stock: bool, limits: dict[str, float], settings: dict[str, Any]) -> None:
    """Run gunicorn with the app above."""
    from gunicorn.app.base import BaseApplication
    from gunicorn.workers.gthread import ThreadWorker

    from webhook.server.transport.limits import Limits
    from webhook.server.transport.worker import Worker, block_signals, ignore_signals, unblock_signals

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(settings["certfile"], settings["keyfile"])

    class LimitedWorker(Worker):  # type: ignore[misc]
        tls_context = context

    LimitedWorker.limits = Limits(**limits)

    class Application(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            for name, value in settings.items():
                self.cfg.set(name, value)
            self.cfg.set("worker_class", ThreadWorker if stock else LimitedWorker)
            self.cfg.set("ssl_context", lambda _config, _default: context)
            self.cfg.set("control_socket_disable", True)
            self.cfg.set("when_ready", lambda _arbiter: ignore_signals())
            self.cfg.set("pre_fork", lambda _arbiter, _worker: None if stock else block_signals())

        def load(self) -> Callable[..., Iterable[bytes]]:
            return app

    os.register_at_fork(after_in_parent=unblock_signals)
    Application().run()


if __name__ == "__main__":
    serve(*json.loads(sys.argv[1]))
