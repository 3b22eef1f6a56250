"""What the API server would answer: how it is asked, and what is read of the answer."""

from __future__ import annotations

import pytest

from tests.support.apiserver import ApiServer
from tests.support.build import constraint, pod, workload
from tests.support.watching import configured
from webhook.cluster.client import Client, ClusterError
from webhook.cluster.trial import Trial, try_creation, warning_texts
from webhook.objects.kinds import KINDS, find_kinds

DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
WEB = workload("Deployment", constraint())


@pytest.fixture
def api():
    running = ApiServer()
    yield running
    running.stop()


def tried(api, obj=WEB, namespace="shop", user="", token=None):
    (kind,) = find_kinds(obj, KINDS)
    return try_creation(Client(lambda: configured(api.url, token)), kind, obj, namespace, user)


def refusal(reason, message="no"):
    return {"kind": "Status", "reason": reason, "message": message}


def test_nothing_is_sent_without_dry_run(api):
    tried(api)
    tried(api, pod(), "a/../b?dryRun=", "jane")

    assert [
        "/apis/apps/v1/namespaces/shop/deployments?dryRun=All",
        "/api/v1/namespaces/a%2F..%2Fb%3FdryRun%3D/pods?dryRun=All",
    ] == [path for path, _, _ in api.posted]
    assert [None, "jane"] == [headers.get("Impersonate-User") for _, headers, _ in api.posted]
    assert [WEB, pod()] == [body for _, _, body in api.posted]


def test_what_is_admitted_has_warnings_and_no_message(api):
    api.answers[DEPLOYMENTS] = 201, ['299 - "say \\"…\\""', '299 - "a\\\\b", 299 - "c"'], WEB

    assert Trial(201, warnings=('say "…"', "a\\b", "c")) == tried(api)
    assert tried(api).admitted


@pytest.mark.parametrize(
    ("status", "reason", "admitted"),
    [(403, "Forbidden", False), (409, "AlreadyExists", True), (409, "Conflict", False), (422, "Invalid", False)],
)
def test_a_refusal_has_its_reason_all_of_its_message_and_warnings(api, status, reason, admitted):
    """The name of an object is looked for after all policies were asked."""
    api.answers[DEPLOYMENTS] = status, ['299 - "x"'], refusal(reason, "m" * 2_000)

    assert Trial(status, reason, "m" * 2_000, ("x",)) == tried(api)
    assert admitted == tried(api).admitted


def test_a_refusal_that_is_no_status_is_its_text(api):
    api.answers[DEPLOYMENTS] = 404, [], "not\nfound"

    assert Trial(404, "", '"not\\nfound"') == tried(api)


def test_without_a_login_there_is_no_answer(api):
    api.answers[DEPLOYMENTS] = 401, [], refusal("Unauthorized")

    with pytest.raises(ClusterError, match=f"{DEPLOYMENTS}: 401 no"):
        tried(api)


@pytest.mark.parametrize("user", ["a\nb", "ї"])
def test_a_user_that_no_header_can_hold_is_said(api, user):
    with pytest.raises(ClusterError, match=DEPLOYMENTS):
        tried(api, user=user)
    assert not api.posted


@pytest.mark.parametrize("header", ["", "299", '299 - "', '199 - "x"', '299 - "\\"'])
def test_what_is_no_warning_has_no_text(header):
    assert [] == warning_texts(header)


def test_a_header_that_is_no_utf_8_is_read_as_it_is():
    assert ["caf\xe9"] == warning_texts('299 - "caf\xe9"')
