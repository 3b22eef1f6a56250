"""Two replicas behind a balancer, failurePolicy Fail: whatever happens to one of them, no call is lost."""

from __future__ import annotations

import os
import time
from base64 import b64decode
from signal import SIGKILL

import pytest

from certs.files import Pem
from certs.pem import certificates
from certs.rotation import CA_CERT, CERT
from tests.e2e.api import MERGE
from tests.e2e.replicas import NAME, SECRET, be_silent, create_large, reload_policy, staged
from tests.e2e.webhook import NAMESPACE, granted
from tests.support.serving import until


@pytest.fixture(scope="module")
def stage(plane, tmp_path_factory):
    """One for all tests here, each of which leaves two replicas that serve."""
    with staged(plane, tmp_path_factory.mktemp("replicas")) as found:
        yield found


def secret(stage):
    """The certificates in the Secret, each with how many there are."""
    data = stage.plane.api.call("GET", SECRET)["data"]
    return {name: certificates(Pem(name, b64decode(data[name]))) for name in (CA_CERT, CERT)}


def report(what, calls):
    worst = max(calls.seconds) * 1000
    print(f"{what}: {len(calls.seconds)} calls, {len(calls.lost)} lost, the slowest took {worst:.0f} ms")
    assert len(calls.seconds) > 5, "there was no load"
    return calls


def test_a_rolling_restart(stage):
    calls = report("rolling restart", stage.load.during(stage.replicas.roll))

    assert [] == calls.lost


def test_a_leaf_is_renewed(stage):
    before = secret(stage)[CERT]
    calls = report("leaf renewal", stage.load.during(lambda: until_renewed(stage, CERT, before), 5))

    assert [] == calls.lost


def test_a_ca_is_renewed_and_signs(stage):
    """Three things one after the other: a new CA, a leaf that it has signed, and no call that did not trust it."""

    def renewed():
        until_renewed(stage, CA_CERT, secret(stage)[CA_CERT])
        newest = secret(stage)[CA_CERT][0]
        until(lambda: signed(secret(stage)[CERT][0], newest), "a leaf of the new CA", 90)

    calls = report("CA renewal", stage.load.during(renewed, 5))

    assert [] == calls.lost


def until_renewed(stage, name, before):
    until(lambda: secret(stage)[name] != before, f"another {name}", 150)


def signed(leaf, ca):
    try:
        leaf.verify_directly_issued_by(ca)
    except Exception:
        return False
    return True


def test_a_policy_is_reloaded(stage):
    calls = report("policy reload", stage.load.during(lambda: reload_policy(stage, {"rollout-skew": "warning"})))

    assert [] == calls.lost


def test_silent_connections(stage):
    calls = report("200 silent connections", stage.load.during(lambda: be_silent(stage)))

    assert [] == calls.lost


def test_a_large_object_among_small_ones(stage):
    calls = report("a large object", stage.load.during(lambda: create_large(stage)))

    assert [] == calls.lost


def test_one_that_is_killed_loses_what_it_held_and_nothing_more(stage):
    """What was sent and not answered when it died: the load has one call at a time in the air, or two."""
    victim = stage.replicas.running[0]

    def kill():
        worker = victim.worker()
        victim.process.kill()
        os.kill(worker, SIGKILL)
        victim.process.wait()
        stage.replicas.forget(victim)  # as its endpoint goes once the kubelet sees the container end

    calls = report("SIGKILL", stage.load.during(kill, 5))
    stage.replicas.start()

    assert len(calls.lost) <= 2, calls.lost


def test_the_api_server_is_restarted(stage):
    """It loses what it held itself; once it is back nothing is lost to the webhook."""
    calls = report("API server restart", stage.load.during(stage.plane.apiserver.restart))
    assert [] == [one for one in calls.lost if "webhook" in one]

    after = report("after the restart", stage.load.during(lambda: time.sleep(5)))
    assert [] == after.lost


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_a_secret_that_is_gone_is_put_back(stage, how):
    """By whichever replica sees it first, with what was in it: all of them still serve that."""

    def gone():
        if how == "deleted":
            stage.plane.api.call("DELETE", SECRET)
        else:
            stage.plane.api.call("PATCH", SECRET, {"data": None}, MERGE)
        until(lambda: stage.plane.api.exists(SECRET), "a Secret")
        until(lambda: stage.plane.api.call("GET", SECRET).get("data"), "what was in it")

    calls = report("a Secret that is gone", stage.load.during(gone, 15))

    assert [] == calls.lost


def test_credentials_that_are_replaced(stage):
    """An account that is made anew has other tokens; whoever renews the certificate takes the one that is there now."""

    def replaced():
        stage.plane.kubectl("delete", "serviceaccount", "evenkeel", "-n", NAMESPACE)
        granted(stage.plane, stage.replicas.folder, stage.policy, secret=NAME)
        until(lambda: all(refused(one) for one in stage.replicas.running), "a token that is refused", 60)
        stage.plane.api.call("DELETE", SECRET)
        until(lambda: stage.plane.api.exists(SECRET), "a Secret that is put back", 60)

    calls = report("other credentials", stage.load.during(replaced, 5))

    assert [] == calls.lost


def refused(replica):
    return f"{SECRET}: 401 Unauthorized" in replica.log.read_text("utf-8")
