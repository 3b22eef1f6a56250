"""A large review that gets no turn: kube-apiserver is told to ask again, and does."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest

from tests.e2e.webhook import DEPLOYMENTS, containers, installed
from tests.support.build import constraint, workload
from tests.support.clients import Client, head


@pytest.fixture(scope="module")
def running(plane, tmp_path_factory):
    folder = tmp_path_factory.mktemp("webhook")
    with installed(plane, folder, failure_policy="Fail") as running:
        yield running


def test_a_large_review_is_asked_again_and_answered(plane, running):
    """Two clients hold every turn, and send nothing; 8 MB of escapes are on their way to evenkeel."""
    large = containers(workload("Deployment", constraint(), name="large", namespace="default"))
    large["spec"]["template"]["spec"]["containers"][0]["args"] = ["<" * 1_400_000]
    with ExitStack() as crowd:
        for _ in range(2):
            connection = running.connection()
            connection.connect()
            crowd.enter_context(Client(connection.sock)).send(head("/validate", Content_Length=40 << 20))
        begun = time.monotonic()
        plane.api.call("POST", f"/{DEPLOYMENTS}", large)
        assert time.monotonic() - begun < 5

    assert 1 <= running.metric('evenkeel_requests_refused_total{code="429"}')
