"""Mode cert-manager with cert-manager itself: two replicas lose no call, whatever it does with their certificate."""

from __future__ import annotations

import ssl
import threading
import time
from base64 import b64decode, b64encode
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from signal import SIGKILL

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from certs.files import Pem
from certs.pem import certificates
from tests.e2e import cert_manager
from tests.e2e.api import MERGE
from tests.e2e.helm import NAMESPACE, render
from tests.e2e.release import MUTATING, VALIDATING, played, release, send_here, trusted
from tests.e2e.replicas import Balancer, Load
from tests.e2e.test_gitops import assert_written_by_others
from tests.support.serving import until

pytestmark = pytest.mark.skipif(
    not cert_manager.built().exists(), reason="cert-manager is not built: make cert-manager-check"
)

VALUES = {"certificate": {"mode": "cert-manager"}, "failurePolicy": "Fail", "uninstallHook": {"enabled": False}}
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
CERTIFICATES = f"/apis/cert-manager.io/v1/namespaces/{NAMESPACE}/certificates"
SECRET_OF = {"evenkeel": "evenkeel-cert", "evenkeel-ca": "evenkeel-ca"}
# How often the kubelet of each replica looks whether its files are still those of the Secret, in seconds.
KUBELETS = (1, 6)


class Stage:
    """A release of the chart, its replicas, a load on them, and cert-manager."""

    def __init__(self, plane, manager, replicas, load):
        self.plane, self.manager, self.replicas, self.load = plane, manager, replicas, load

    def issued(self, name):
        """The newest certificate of a Certificate, or None."""
        path = f"{SECRETS}/{SECRET_OF[name]}"
        if not self.plane.api.exists(path):
            return None
        return pem(b64decode(self.plane.api.call("GET", path)["data"]["tls.crt"]))[0]

    def until_served(self):
        """Until both replicas answer with what was issued last."""
        until(lambda: {self.issued("evenkeel")} == {*map(served, self.replicas)}, "replicas that serve what was issued")

    def renew(self, name):
        """As `cmctl renew` does, and until there is another one."""
        before, path = self.issued(name), f"{CERTIFICATES}/{name}"
        found = self.plane.api.call("GET", path)
        condition = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by hand"}
        condition["lastTransitionTime"] = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        found["status"]["conditions"].append(condition)
        self.plane.api.call("PUT", f"{path}/status", found)
        until(lambda: self.issued(name) != before, f"another {name}")

    def during(self, what, act):
        """The calls that were lost while `act` went on, and for as long as both kubelets take."""
        calls = self.load.during(act, max(KUBELETS) + 1)
        worst = max(calls.seconds) * 1000
        print(f"{what}: {len(calls.seconds)} calls, {len(calls.lost)} lost, the slowest took {worst:.0f} ms")
        assert len(calls.seconds) > 5, "there was no load"
        return calls.lost


def pem(text):
    return certificates(Pem("here", text))


def served(replica):
    """The certificate that a replica answers with."""
    return pem(ssl.get_server_certificate((replica.host, replica.port)).encode())[0]


@contextmanager
def kubelet(replica, seconds):
    """Gives a replica the files of its volumes, every so often."""
    stopped = threading.Event()

    def run():
        while not stopped.wait(seconds):
            with suppress(Exception):
                replica.mount()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@pytest.fixture(scope="module")
def stage(plane, tmp_path_factory):
    """From when the API server's calls are answered; each test leaves it so."""
    manager = cert_manager.cert_manager(plane)
    plane.create_namespace("load")
    with ExitStack() as stack:
        manager.start()
        stack.callback(manager.stop)
        release(plane, "install", "--create-namespace", **VALUES)
        until(lambda: manager.check() or plane.api.exists(f"{SECRETS}/evenkeel-cert"), "a certificate of cert-manager")
        stack.callback(
            plane.kubectl, "delete", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "--all"
        )
        folders = [tmp_path_factory.mktemp(f"replica-{n}") for n in range(len(KUBELETS))]
        replicas = [stack.enter_context(played(plane, folder)) for folder in folders]
        for replica, seconds in zip(replicas, KUBELETS, strict=True):
            stack.enter_context(kubelet(replica, seconds))
        balancer = Balancer()
        stack.callback(balancer.close)
        balancer.endpoints += [replica.port for replica in replicas]
        send_here(plane, balancer.port)
        load = stack.enter_context(Load(plane.api, "load"))
        until(lambda: not load.during(lambda: None).lost, "calls that are answered")
        yield Stage(plane, manager, replicas, load)


def test_it_issues_and_injects(stage):
    """One CA, which has signed what both replicas serve; with that alone every call is answered."""
    (ca,) = pem(trusted(stage.plane).encode())

    assert ca == stage.issued("evenkeel-ca")
    served(stage.replicas[0]).verify_directly_issued_by(ca)
    assert [] == stage.during("nothing", lambda: stage.until_served())


def test_it_writes_what_the_examples_for_gitops_have_ignored(stage):
    """And nothing besides; the port is that of `send_here`."""
    objects = [obj for obj in render(VALUES) if obj["kind"] not in ("Service", "Pod")]

    assert_written_by_others(stage.plane, objects, besides="port")


def test_it_renews_the_certificate(stage):
    def renewed():
        stage.renew("evenkeel")
        stage.until_served()

    assert [] == stage.during("a certificate is renewed", renewed)


def test_it_renews_of_itself_again_and_again(stage):
    """A certificate of 40 seconds, which it renews after ten."""
    path, seen = f"{CERTIFICATES}/evenkeel", set()
    stage.plane.api.call("PATCH", path, {"spec": {"duration": "40s", "renewBefore": "30s"}}, MERGE)

    def renewed():
        until(lambda: seen.add(stage.issued("evenkeel")) or len(seen) == 4, "three others", 90)
        stage.until_served()

    assert [] == stage.during("a certificate of 40 seconds", renewed)
    stage.plane.api.call("PATCH", path, {"spec": {"duration": "2160h", "renewBefore": None}}, MERGE)
    until(lambda: lasts(stage.issued("evenkeel")) > 80, "a certificate of the chart's duration")
    stage.until_served()


def lasts(certificate):
    """In days."""
    return (certificate.not_valid_after_utc - certificate.not_valid_before_utc).days


@pytest.mark.parametrize("how", ["renewed", "deleted"])
def test_it_replaces_the_ca(stage, how):
    """With another key. The API server trusts both, for what the old one has signed is served until a kubelet looks."""
    old = stage.issued("evenkeel-ca")

    def replaced():
        if how == "renewed":
            stage.renew("evenkeel-ca")
        else:
            stage.plane.api.call("DELETE", f"{SECRETS}/evenkeel-ca")
            until(lambda: stage.issued("evenkeel-ca"), "another CA")
        time.sleep(max(KUBELETS) + 1)
        stage.renew("evenkeel")
        stage.until_served()

    assert [] == stage.during(f"a CA is {how}", replaced)
    new = stage.issued("evenkeel-ca")
    assert old.public_key() != new.public_key()
    assert {old, new} <= {*pem(trusted(stage.plane).encode())}
    served(stage.replicas[1]).verify_directly_issued_by(new)


def test_an_old_ca_that_is_removed_stays_away(stage):
    """As is advised after a key leaked."""
    new, old = stage.issued("evenkeel-ca"), pem(trusted(stage.plane).encode())

    def removed():
        for path in (MUTATING, VALIDATING):
            found = stage.plane.api.call("GET", path)
            for entry in found["webhooks"]:
                entry["clientConfig"]["caBundle"] = b64encode(new.public_bytes(Encoding.PEM)).decode()
            stage.plane.api.call("PUT", path, found)
        stage.renew("evenkeel")
        stage.until_served()

    assert len(old) > 1
    assert [] == stage.during("an old CA is removed", removed)
    assert (new,) == pem(trusted(stage.plane).encode())


def test_it_issues_again_what_was_deleted(stage):
    before = stage.issued("evenkeel")

    def deleted():
        stage.plane.api.call("DELETE", f"{SECRETS}/evenkeel-cert")
        until(lambda: stage.issued("evenkeel") not in (None, before), "another certificate")
        stage.until_served()

    assert [] == stage.during("a Secret is deleted", deleted)


def test_it_is_killed_and_goes_on(stage):
    def killed():
        stage.manager.stop(SIGKILL)
        time.sleep(2)
        stage.manager.start()
        stage.renew("evenkeel")
        stage.until_served()

    assert [] == stage.during("cert-manager is killed", killed)


def test_all_that_was_issued_could_be_used(stage):
    """Of all this a replica saw several certificates, and none that it had to refuse."""
    for replica in stage.replicas:
        assert len(replica.lines("certificate reloaded")) > 5
        assert 0 == replica.metric("evenkeel_certificate_reload_failures_total")
