"""
Requests to an API server, with raw JSON as the response.

    a Pod's service account ─────────────────────────────────┬──> address, credentials, urllib3's pool ──> requests
    kubeconfig, exec plugins ──> the `kubernetes` package ───┘

That package takes more memory than a small cluster, and a Pod needs only two files; it is imported only here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

if TYPE_CHECKING:
    from urllib3 import PoolManager

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_NAMESPACE = "default"
# Environment variables of a proxy: only the `kubernetes` package reads them.
PROXIES = ("https_proxy", "all_proxy")
VERSION_SECONDS = 5.0
POOL = 16  # Connections that are kept open: a watch for each kind, and look-ups.
CONNECT_SECONDS = 5.0
RECONNECT_SECONDS = 10.0
GONE_STATUS, UNAUTHORIZED, FORBIDDEN_STATUS, NOT_FOUND, CONFLICT_STATUS = 410, 401, 403, 404, 409
BUSY_STATUSES = (429, 503)
LEAST_WAIT = 1.0  # Seconds before `get` asks again; more if the API server says so.
LONGEST_MESSAGE = 300
JSON_TYPE = "application/json"
NO_QUERY: Mapping[str, str] = {}


class ClusterError(Exception):
    """A request that failed; the message is one line."""

    def __init__(self, message: str, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(" ".join(message.split())[:LONGEST_MESSAGE])
        self.status = status  # That of HTTP; 0 if there was no response.
        self.retry_after = retry_after  # Seconds that the API server asks the client to wait.


class TooLong(ClusterError):
    """A response has more bytes than were wanted."""


class Access(NamedTuple):
    """How to reach one API server, and as whom."""

    host: str  # Its URL.
    pool: PoolManager
    authorization: Callable[[], str]  # The Authorization header at this moment; "" for none.


def access(kubeconfig: str = "", context: str = "") -> Access:
    """
    Find the API server as kubectl does: by kubeconfig, or in a Pod by its service account.

    `kubeconfig` replaces the usual files, `context` the current context.  ClusterError if there is neither.
    """
    files = _files(kubeconfig)
    if _any_exists(files):
        return _by_package(files, context)
    if kubeconfig:
        raise ClusterError(f"{kubeconfig}: No such file or directory")
    if context:
        raise ClusterError(f'found no {files}, wanted a kubeconfig with the context "{context}"; set KUBECONFIG')
    if "KUBECONFIG" in os.environ:
        raise ClusterError(f"KUBECONFIG: found no {files}, wanted the path of a kubeconfig")
    if "KUBERNETES_SERVICE_HOST" not in os.environ:
        raise ClusterError(f"found neither {files} nor a Pod's service account; set KUBECONFIG")
    proxied = any(name.lower() in PROXIES and value for name, value in os.environ.items())
    return _by_package("") if proxied else service_account(SERVICE_ACCOUNT, os.environ)


def default_namespace(kubeconfig: str = "", context: str = "") -> str:
    """The namespace that kubectl uses if you name none: that of the context, or the Pod's own, or `default`."""
    files = _files(kubeconfig)
    if _any_exists(files):
        contexts, current = _contexts(files)
        return str(contexts.get(context or current, {}).get("namespace") or DEFAULT_NAMESPACE)
    file = SERVICE_ACCOUNT / "namespace"
    return _content(file) if file.exists() else DEFAULT_NAMESPACE


def _files(kubeconfig: str) -> str:
    return kubeconfig or os.environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())


def _any_exists(files: str) -> bool:
    return any(Path(file).exists() for file in files.split(os.pathsep))


def service_account(folder: Path, environ: Mapping[str, str]) -> Access:
    """The access of a Pod, from files that the kubelet renews; ClusterError if they cannot be read."""
    from urllib3 import PoolManager

    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    ca, token = folder / "ca.crt", folder / "token"

    def authorization() -> str:
        return f"Bearer {_content(token)}"

    for file in (token, ca):
        _content(file)  # Fail now if it cannot be read.
    address = f"[{host}]" if ":" in host else host
    pool = PoolManager(maxsize=POOL, cert_reqs="CERT_REQUIRED", ca_certs=str(ca))
    return Access(f"https://{address}:{port}", pool, authorization)


def _content(file: Path) -> str:
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterError(f"{file}: {error.strerror if isinstance(error, OSError) else error}") from error
    if not text:
        raise ClusterError(f"{file}: is empty")
    return text


def _by_package(files: str, context: str = "") -> Access:
    """Have the `kubernetes` package read these kubeconfig files, or for "" the service account."""
    from kubernetes.client import Configuration
    from kubernetes.config import load_incluster_config, load_kube_config
    from urllib3 import disable_warnings
    from urllib3.exceptions import InsecureRequestWarning

    disable_warnings(InsecureRequestWarning)  # As kubectl, say nothing of insecure-skip-tls-verify at each request.
    if context and context not in (contexts := _contexts(files)[0]):
        wanted = f"one of {', '.join(sorted(contexts))}" if contexts else "a file that has contexts"
        raise ClusterError(f'{files}: found no context "{context}", wanted {wanted}')
    configuration = Configuration()
    with _reading(files):
        if files:
            load_kube_config(files, context or None, client_configuration=configuration, persist_config=False)
        else:
            load_incluster_config(client_configuration=configuration)
    return of_configuration(configuration)


def _contexts(files: str) -> tuple[dict[str, dict[str, Any]], str]:
    """The contexts in kubeconfig files by name, and the name of the current one, "" if there is none."""
    from kubernetes.config.kube_config import KubeConfigMerger

    with _reading(files):
        config = KubeConfigMerger(files).config.value
        contexts = {context.value["name"]: context.value.get("context") or {} for context in config["contexts"]}
        return contexts, config.get("current-context") or ""


@contextmanager
def _reading(files: str) -> Iterator[None]:
    """Raise whatever a malformed kubeconfig causes as ClusterError."""
    from kubernetes.config import ConfigException

    try:
        yield
    except ConfigException as error:
        raise ClusterError(str(error)) from error
    except OSError as error:
        raise ClusterError(f"{files}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ClusterError(f"{files}: is not UTF-8") from error
    except Exception as error:  # Whatever the package meets in a file that is something else.
        raise ClusterError(f"{files}: is no kubeconfig: {type(error).__name__}: {error}") from error


def of_configuration(configuration: Any) -> Access:
    """The access that a kubernetes.client.Configuration describes."""
    from kubernetes.client import ApiClient
    from kubernetes.config import ConfigException

    def authorization() -> str:
        try:
            token = configuration.auth_settings().get("BearerToken")
        except ConfigException as error:
            raise ClusterError(f"token: {error}") from error
        return token["value"] or "" if token else ""

    return Access(str(configuration.host), ApiClient(configuration).rest_client.pool_manager, authorization)


class Client:
    """Requests to one API server."""

    def __init__(self, find: Callable[[], Access] = access, patience: float = 0.0) -> None:
        """
        Connect by what `find` returns; `reconnect` calls it again, after a 401.

        While the API server is too busy, `get` asks again, for `patience` seconds at most.
        """
        self._find, self._lock, self._patience = find, Lock(), patience
        with _as_cluster_error("configuration"):
            self._connect()

    def _connect(self) -> None:
        self._access, self._connected = self._find(), monotonic()
        self._headers = self._authenticated()

    @property
    def host(self) -> str:
        """The address of the API server."""
        return self._access.host

    def authenticate(self) -> None:
        """Renew a token that is about to expire, from a file or by a plugin.  ClusterError if that fails."""
        with self._lock, _as_cluster_error("token"):
            self._headers = self._authenticated()

    def _authenticated(self) -> dict[str, str]:
        headers, value = {"Accept": "application/json", "User-Agent": "evenkeel"}, self._access.authorization()
        return headers | ({"Authorization": value} if value else {})

    def reconnect(self) -> None:
        """Load the configuration again, unless that was done in the last RECONNECT_SECONDS."""
        with self._lock, _as_cluster_error("configuration"):
            if monotonic() - self._connected > RECONNECT_SECONDS:
                self._connect()

    def get(
        self,
        path: str,
        query: Mapping[str, str],
        seconds: float,
        decode: Callable[[bytes], Any] = json.loads,
        most: int | None = None,
    ) -> dict[str, Any]:
        """
        Return the JSON object at `path`, within `seconds`; any other response is a ClusterError.

        TooLong if it has more than `most` bytes.
        """
        deadline = monotonic() + self._patience
        while True:
            try:
                return self._answer(path, decode, self._request(path, query, seconds), most)
            except ClusterError as error:
                wait = max(LEAST_WAIT, error.retry_after)
                if error.status not in BUSY_STATUSES or monotonic() + wait > deadline:
                    raise
                sleep(wait)

    def version(self) -> str:
        """Return the API server's version, such as v1.37.1."""
        return str(self.get("/version", {}, VERSION_SECONDS).get("gitVersion"))

    def send(self, method: str, path: str, body: object, seconds: float) -> dict[str, Any]:
        """Return the JSON object that the API server returns within `seconds`; any other response is a ClusterError."""
        return self._answer(path, json.loads, self._request(path, NO_QUERY, seconds, method, body))

    def _answer(
        self, path: str, decode: Callable[[bytes], Any], request: AbstractContextManager[Any], most: int | None = None
    ) -> dict[str, Any]:
        with request as response, _as_cluster_error(path):
            body = response.read() if most is None else _up_to(response, path, most)
            answer = decode(body)
        if not isinstance(answer, dict):
            raise ClusterError(f"{path}: the response is not a JSON object")
        return answer

    @contextmanager
    def stream(self, path: str, query: Mapping[str, str], silence: float) -> Iterator[Stream]:
        """Yield a response line by line; ClusterError after `silence` seconds without data."""
        with self._request(path, query, silence) as response:
            yield Stream(path, response)

    @contextmanager
    def _request(
        self,
        path: str,
        query: Mapping[str, str],
        seconds: float,
        method: str = "GET",
        body: object = None,
    ) -> Iterator[Any]:
        """Yield the response; ClusterError if its status is another than 200 or 201."""
        from urllib3 import Timeout

        timeout = Timeout(connect=min(seconds, CONNECT_SECONDS), read=seconds)
        url = f"{self.host}{path}" + (f"?{urlencode(query)}" if query else "")
        options: dict[str, Any] = {"headers": self._headers}
        if body is not None:
            options = {"headers": {**self._headers, "Content-Type": JSON_TYPE}, "body": json.dumps(body)}
        with _as_cluster_error(path):
            # Without preload_content the caller reads the body: in parts, up to a limit, or line by line.
            options |= {"timeout": timeout, "preload_content": False, "retries": False}
            response = self._access.pool.request(method, url, **options)
        try:
            if response.status not in (200, 201):
                raise _refusal(path, response)
            yield response
        finally:
            response.close()  # If the response was read to its end, its connection is already back in the pool.


def _up_to(response: Any, path: str, most: int) -> bytes:
    """Read the body; TooLong if it has more than `most` bytes."""
    body = bytearray()
    while part := response.read(min(most, 1 << 20)):
        body += part
        if len(body) > most:
            raise TooLong(f"{path}: the response has more than {most} bytes")
    return bytes(body)


class Stream:
    """The lines of a response; another thread may end it."""

    def __init__(self, path: str, response: Any) -> None:
        self._path, self._response = path, response

    def __iter__(self) -> Iterator[list[bytes]]:
        """Complete lines, as they arrive; a line that is cut off is dropped."""
        rest = b""
        with _as_cluster_error(self._path):
            for data in self._response.stream(1 << 16):
                *lines, rest = (rest + data).split(b"\n")
                if lines:
                    yield lines

    def end(self) -> None:
        """End the response, so that the thread that reads it returns."""
        with suppress(Exception):
            self._response.shutdown()


@contextmanager
def _as_cluster_error(path: str) -> Iterator[None]:
    """Raise network and configuration errors as ClusterError."""
    from urllib3.exceptions import HTTPError

    try:
        yield
    except (HTTPError, OSError, ValueError) as error:
        raise ClusterError(f"{path}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Why a request was not answered: in the system's words, or else in the library's."""
    from urllib3.connection import HTTPConnection
    from urllib3.exceptions import NameResolutionError, NewConnectionError

    if isinstance(error, NewConnectionError | NameResolutionError) and isinstance(error.conn, HTTPConnection):
        reason = error.__cause__.strerror if isinstance(error.__cause__, OSError) else None
        return f"cannot connect to {error.conn.host}:{error.conn.port}: {reason or error}"
    return f"{type(error).__name__}: {error}"


def _refusal(path: str, response: Any) -> ClusterError:
    """The error for a response: with the message of its metav1.Status, or else with its text."""
    with _as_cluster_error(path):
        body = response.read(1 << 16)
    try:
        message = str(json.loads(body)["message"])
    except (ValueError, TypeError, KeyError):
        message = body.decode("utf-8", "replace")
    header = response.headers.get("Retry-After", "")
    retry_after = float(header) if header.isdecimal() else 0.0
    return ClusterError(f"{path}: {response.status} {message}", response.status, retry_after)
