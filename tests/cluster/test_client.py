"""How a client finds the API server, and says who it is."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import warnings
from types import SimpleNamespace

import pytest

from tests.support.apiserver import TOKEN, ApiServer, kubeconfig
from tests.support.build import whole
from tests.support.serving import certificate, until
from tests.support.watching import QUICK, SHOP, configured, watching
from webhook.cluster.client import Access, Client, ClusterError, TooLong, access, default_namespace, service_account
from webhook.cluster.live import Live, listed


def test_a_refused_token_is_read_again(monkeypatch):
    monkeypatch.setattr("webhook.cluster.client.RECONNECT_SECONDS", 0.0)
    with watching(*SHOP, started=False) as it:
        tokens = iter(["Bearer old", TOKEN])
        it.api.token = TOKEN
        latest = []

        def configure():
            latest.append(next(tokens, TOKEN))
            return configured(it.api.url, latest[-1])

        it.live = Live(Client(configure), it._report, pace=QUICK)
        it.live.start()
        until(it.live.view, "the new token")

        assert it.is_whole()


@pytest.mark.parametrize("status", [429, 503])
def test_who_has_patience_asks_again_where_the_api_server_is_busy(status, monkeypatch):
    waited = []
    monkeypatch.setattr("webhook.cluster.client.sleep", waited.append)
    with watching(*SHOP, started=False) as it:
        client = Client(lambda: configured(it.api.url), patience=30.0)
        it.api.refusals = [status, status]

        assert "NodeList" == client.get("/api/v1/nodes", {}, 5.0)["kind"]
        assert [1.0, 1.0] == waited
        it.api.refusals = [500]
        with pytest.raises(ClusterError, match="500"):
            client.get("/api/v1/nodes", {}, 5.0)


def test_who_has_no_patience_does_not(monkeypatch):
    with watching(*SHOP, started=False) as it:
        it.api.refusals = [429]
        with pytest.raises(ClusterError, match="429"):
            it.client.get("/api/v1/nodes", {}, 5.0)


def test_patience_ends(monkeypatch):
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr("webhook.cluster.client.monotonic", lambda: next(clock))
    monkeypatch.setattr("webhook.cluster.client.sleep", lambda seconds: None)
    with watching(*SHOP, started=False) as it:
        client = Client(lambda: configured(it.api.url), patience=9.0)
        it.api.refusals = [429] * 50
        with pytest.raises(ClusterError, match="429"):
            client.get("/api/v1/nodes", {}, 5.0)

        assert 40 < len(it.api.refusals) < 50


def test_a_kubeconfig_leads_to_the_api_server(tmp_path, monkeypatch):
    with watching(*SHOP, started=False) as it:
        it.api.token = TOKEN
        user = {"token": TOKEN.removeprefix("Bearer ")}
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(it.api.url, tmp_path, user=user)))

        assert whole(SHOP[:3]) == listed(Client())


def two_contexts(folder, current="here"):
    """A kubeconfig with two contexts, of two servers."""
    names = ("here", "there")
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:1"}} for name in names],
        "users": [{"name": "me", "user": {}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "here", "user": "me"}},
            {"name": "there", "context": {"cluster": "there", "user": "me", "namespace": "shop"}},
        ],
    }
    file = folder / "two"
    file.write_text(json.dumps(content | ({"current-context": current} if current else {})))
    return str(file)


@pytest.mark.parametrize(
    ("context", "host", "namespace"), [("", "here", "default"), ("there", "there", "shop")], ids=["current", "named"]
)
def test_a_context_is_the_current_one_or_the_one_named(tmp_path, monkeypatch, context, host, namespace):
    file = two_contexts(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "other"))

    assert (f"https://{host}:1", namespace) == (access(file, context).host, default_namespace(file, context))


def test_a_context_can_be_named_where_none_is_current(tmp_path):
    assert "https://there:1" == access(two_contexts(tmp_path, ""), "there").host


def test_a_namespace_without_a_kubeconfig_is_that_of_the_pod(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setattr("webhook.cluster.client.SERVICE_ACCOUNT", tmp_path)
    without = default_namespace()
    (tmp_path / "namespace").write_text("guard")

    assert ("default", "guard") == (without, default_namespace())


@pytest.mark.parametrize(
    ("file", "context", "message"),
    [
        ("none", "", "{}/none: No such file or directory"),
        ("two", "away", '{}/two: found no context "away", wanted one of here, there'),
        ("empty", "away", '{}/empty: found no context "away", wanted a file that has contexts'),
        ("list", "away", "{}/list: "),
    ],
)
def test_a_context_that_is_not_there_is_said_with_those_that_are(tmp_path, file, context, message):
    two_contexts(tmp_path)
    (tmp_path / "empty").write_text("kind: Config")
    (tmp_path / "list").write_text("- a")
    with pytest.raises(ClusterError) as error:
        access(str(tmp_path / file), context)

    assert str(error.value).startswith(message.format(tmp_path))


def test_a_context_needs_a_kubeconfig(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "here")
    with pytest.raises(ClusterError, match='none, wanted a kubeconfig with the context "there"; set KUBECONFIG'):
        access(context="there")


def test_a_plugin_says_who_we_are(tmp_path, monkeypatch):
    """As `aws eks get-token` and its like do, with a token that has to be renewed."""
    plugin = tmp_path / "plugin"
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": TOKEN.removeprefix("Bearer "), "expirationTimestamp": "2020-01-01T00:00:00Z"},
    }
    plugin.write_text(f"#!/bin/sh\necho x >> {tmp_path}/runs\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    plugin.chmod(0o700)
    user = {"exec": {"apiVersion": answer["apiVersion"], "command": str(plugin), "interactiveMode": "Never"}}
    with watching(*SHOP, started=False) as it:
        it.api.token = TOKEN
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(it.api.url, tmp_path, user=user)))
        client = Client()
        before = (tmp_path / "runs").read_text()
        client.authenticate()

        assert whole(SHOP[:3]) == listed(client)
        assert len(before) < len((tmp_path / "runs").read_text())


NOWHERE = [
    ({"KUBECONFIG": "{}/none"}, "KUBECONFIG: found no {}/none, wanted the path of a kubeconfig"),
    ({"KUBECONFIG": "{}/bad"}, "{}/bad: "),
    ({"HOME": "{}"}, "found neither {}/.kube/config nor a Pod's service account; set KUBECONFIG"),
    (
        {"HOME": "{}", "KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"},
        "/var/run/secrets/kubernetes.io/serviceaccount/token: No such file or directory",
    ),
]


@pytest.mark.parametrize(("environment", "message"), NOWHERE)
def test_where_there_is_no_cluster_it_is_said_in_one_line(tmp_path, monkeypatch, environment, message):
    (tmp_path / "bad").write_text("x: [")
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    with pytest.raises(ClusterError) as error:
        access()

    assert str(error.value).startswith(message.format(tmp_path))
    assert 1 == len(str(error.value).splitlines())


@pytest.fixture
def in_a_pod(tmp_path, monkeypatch):
    """An API server that speaks TLS, and what the kubelet gives a Pod to reach it with."""
    (tmp_path / "ca.crt").write_text(certificate(tmp_path))
    (tmp_path / "token").write_text(TOKEN.removeprefix("Bearer ") + "\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    api = ApiServer(context=context)
    api.token = TOKEN
    api.put(*SHOP)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api.port))
    monkeypatch.setattr("webhook.cluster.client.SERVICE_ACCOUNT", tmp_path)
    yield tmp_path, api
    api.stop()


def test_a_pod_reaches_the_api_server_with_its_service_account(in_a_pod):
    _, api = in_a_pod
    client = Client()

    assert f"https://127.0.0.1:{api.port}" == client.host
    assert whole(SHOP[:3]) == listed(client)


def test_a_token_that_the_kubelet_renews_is_read_again(in_a_pod):
    folder, api = in_a_pod
    client = Client()
    api.token = "Bearer new"
    (folder / "token").write_text("new")
    client.authenticate()

    assert whole(SHOP[:3]) == listed(client)


def test_an_api_server_of_another_ca_is_refused(in_a_pod):
    folder, _ = in_a_pod
    (folder / "ca.crt").write_text(certificate(folder))
    with pytest.raises(ClusterError, match="CERTIFICATE_VERIFY_FAILED"):
        listed(Client())


def test_where_nothing_is_verified_no_library_warns_of_each_request(in_a_pod):
    folder, api = in_a_pod
    user = {"token": TOKEN.removeprefix("Bearer ")}
    file = kubeconfig(api.url, folder, user=user, **{"insecure-skip-tls-verify": True})
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")

        assert whole(SHOP[:3]) == listed(Client(lambda: access(str(file))))
    assert [] == warned


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:1", "cannot connect to 127.0.0.1:1: Connection refused"),
        ("http://none.invalid:80", "cannot connect to none.invalid:80: "),
    ],
)
def test_a_server_that_is_not_there_is_told_in_the_words_of_the_system(url, said):
    with pytest.raises(ClusterError) as error:
        Client(lambda: configured(url)).version()

    assert str(error.value).startswith(f"/version: {said}")
    assert "Error" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content"), [("token", b" \n"), ("ca.crt", b""), ("token", b"\xff"), ("ca.crt", None)]
)
def test_a_service_account_that_cannot_be_read_is_said_in_one_line(in_a_pod, name, content):
    file = in_a_pod[0] / name
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(ClusterError) as error:
        Client()

    assert str(error.value).startswith(f"{file}: ")


def test_an_address_of_ipv6_is_bracketed(in_a_pod):
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}

    assert "https://[fd00::1]:443" == service_account(in_a_pod[0], environment).host


def test_a_proxy_is_left_to_the_kubernetes_package(in_a_pod, monkeypatch):
    """It knows which of them is for whom; its own message says that it was asked."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    with pytest.raises(ClusterError, match=r"Service (token file does not exist|host/port)"):
        access()


@pytest.mark.parametrize("used", ["", "; webhook.cluster.client.access()"], ids=["a dump", "a Pod"])
def test_nothing_of_the_kubernetes_package_is_imported_without_need(in_a_pod, used):
    """It takes long and much memory, and neither a dump nor a Pod needs it."""
    given = f"from pathlib import Path; webhook.cluster.client.SERVICE_ACCOUNT = Path({str(in_a_pod[0])!r}){used}"
    code = f"import sys, webhook.server.gunicorn_server, webhook.cluster.live; {given}"
    code += "; print([m for m in sys.modules if m[:10] == 'kubernetes'])"

    assert (
        "[]" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    )


class Pool:
    """Connections to an API server that answers everything alike, and what it was asked."""

    def __init__(self, body=b"{}", status=200, **headers):
        self.body, self.status, self.headers = body, status, {k.replace("_", "-"): v for k, v in headers.items()}
        self.asked, self.closed = [], 0

    def request(self, method, url, **sent):
        self.asked.append((method, url, sent))
        left = [self.body]

        def read(size=None):
            part, left[0] = left[0][:size], left[0][len(left[0][:size]) :]
            return part

        return SimpleNamespace(status=self.status, headers=self.headers, read=read, close=self._close)

    def _close(self):
        self.closed += 1

    def client(self, **fields):
        return Client(lambda: Access("https://here", self, lambda: TOKEN), **fields)


@pytest.mark.parametrize("status", [200, 201])
def test_what_is_sent_is_json_under_our_name(status):
    pool = Pool(b'{"a": 1}', status)

    assert {"a": 1} == pool.client().send("POST", "/api/v1/x", {"b": [2]}, 3.0)
    ((method, url, sent),) = pool.asked
    assert ("POST", "https://here/api/v1/x", '{"b": [2]}') == (method, url, sent["body"])
    assert ("application/json", TOKEN) == (sent["headers"]["Content-Type"], sent["headers"]["Authorization"])
    assert (3.0, 3.0, False) == (sent["timeout"].connect_timeout, sent["timeout"].read_timeout, sent["retries"])
    assert 1 == pool.closed


def test_what_is_asked_for_is_in_the_query():
    pool = Pool()
    pool.client().get("/x", {"labelSelector": "a=b,c"}, 60.0)
    ((method, url, sent),) = pool.asked

    assert ("GET", "https://here/x?labelSelector=a%3Db%2Cc") == (method, url)
    assert (5.0, 60.0, False) == (sent["timeout"].connect_timeout, sent["timeout"].read_timeout, "body" in sent)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"message": "try\\n later"}', "/x: 429 try later"),
        (b"too\nmany", "/x: 429 too many"),
        (b'{"message"', '/x: 429 {"message"'),
        (b"y" * 1_000, "/x: 429 " + "y" * 292),
    ],
)
def test_a_refusal_is_told_in_one_short_line(body, message):
    pool = Pool(body, 429)
    with pytest.raises(ClusterError) as caught:
        pool.client().get("/x", {}, 5.0)

    assert (message, 429, 1) == (str(caught.value), caught.value.status, pool.closed)


@pytest.mark.parametrize(("after", "seconds"), [("7", 7.0), ("soon", 0.0), ("-1", 0.0), ("", 0.0)])
def test_how_long_the_api_server_asks_to_wait(after, seconds, monkeypatch):
    waited = []
    monkeypatch.setattr("webhook.cluster.client.sleep", waited.append)
    monkeypatch.setattr("webhook.cluster.client.monotonic", lambda: 100.0 * len(waited))
    with pytest.raises(ClusterError) as caught:
        Pool(status=503, Retry_After=after).client(patience=30.0).get("/x", {}, 5.0)

    assert (seconds, [max(1.0, seconds)]) == (caught.value.retry_after, waited)


@pytest.mark.parametrize(("most", "fits"), [(4, False), (5, True), (6, True), (None, True)])
def test_an_answer_has_at_most_so_many_bytes(most, fits):
    pool = Pool(b"{   }")
    if fits:
        assert {} == pool.client().get("/x", {}, 5.0, most=most)
        return
    with pytest.raises(TooLong):
        pool.client().get("/x", {}, 5.0, most=most)


@pytest.mark.parametrize("body", [b"[]", b"null", b'"x"', b"", b"{"])
def test_an_answer_that_is_no_object_is_an_error(body):
    with pytest.raises(ClusterError, match=r"^/x: "):
        Pool(body).client().get("/x", {}, 5.0)


def test_the_configuration_is_read_again_once_in_ten_seconds(monkeypatch):
    now, found = [0.0], []
    monkeypatch.setattr("webhook.cluster.client.monotonic", lambda: now[0])
    client = Client(lambda: found.append(now[0]) or Access("https://here", Pool(), lambda: ""))
    for now[0] in (5.0, 10.0, 10.5, 20.5, 21.0):
        client.reconnect()

    assert [0.0, 10.5, 21.0] == found


@pytest.mark.parametrize(("proxy", "by_package"), [("", False), ("http://127.0.0.1:1", True)])
def test_a_proxy_that_is_empty_is_none(in_a_pod, monkeypatch, proxy, by_package):
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setattr("webhook.cluster.client._by_package", lambda files: "by the package")

    assert by_package == (access() == "by the package")


def test_one_of_several_kubeconfigs_is_enough(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none:{two_contexts(tmp_path)}")

    assert "https://there:1" == access(context="there").host
