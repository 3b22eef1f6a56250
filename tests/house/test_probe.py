"""What the chart's probe prints where both judge, so that `engine=both` is in force already."""

from __future__ import annotations

import runpy
import sys
import time
import urllib.request
from itertools import count
from types import SimpleNamespace

import pytest
from kubernetes import client, config

from tests.generate.chart import FOLDER

CONFIGURATION = SimpleNamespace(webhooks=[SimpleNamespace(client_config=SimpleNamespace(ca_bundle="PEM"))])


class Registration:
    """An API server that has both the configuration and the policy."""

    def read_validating_webhook_configuration(self, _name):
        return CONFIGURATION

    def read_validating_admission_policy(self, _name):
        return SimpleNamespace()


class Core:
    """An API server that admits each Pod."""

    def __init__(self, _connection):
        """Need no connection."""

    def create_namespaced_pod(self, _namespace, _pod, dry_run):
        assert dry_run == "All"


def refused(*_arguments, **_options):
    raise OSError("refused")


@pytest.fixture
def refusal(monkeypatch):
    """Run the probe, and return what it says when it refuses the upgrade."""
    seconds = count(step=10)
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(config, "load_config", lambda: None)
    monkeypatch.setattr(client, "AdmissionregistrationV1Api", Registration)
    monkeypatch.setattr(client, "CoreV1Api", Core)
    monkeypatch.setattr(urllib.request.OpenerDirector, "open", refused)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["probe.py", *arguments])
        with pytest.raises(SystemExit) as stopped:
            runpy.run_path(str(FOLDER / "files" / "probe.py"))
        return stopped.value.code

    return run


def test_a_policy_that_does_not_deny_yet_is_no_reason_for_another_engine(refusal):
    assert refusal("to-policy", "shop") == (
        "ValidatingAdmissionPolicy evenkeel does not deny yet: "
        "the test Pod (dry run, label evenkeel.dev/probe) was admitted in namespace shop, and should have been denied; "
        "nothing was changed; remove the cause, then try again"
    )


def test_a_webhook_that_is_not_ready_is_no_reason_for_another_engine(refusal):
    assert refusal("to-webhook", "http://evenkeel.evenkeel.svc:8080/readyz") == (
        "the webhook does not judge yet: http://evenkeel.evenkeel.svc:8080/readyz: refused; "
        "nothing was changed; remove the cause, then try again"
    )
