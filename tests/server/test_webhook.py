"""What the running webhook answers: reviews, and what it counts from the start."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from certs.authority import Authority
from certs.serving import ServingCertificate
from tests.support import ROOT
from tests.support.admission_reviews import review
from tests.support.build import pod
from tests.support.registered import registered, registration
from tests.support.review import review as decide
from tests.support.serving import serving
from webhook.kubernetes.features import features
from webhook.policy.parsing import built_in
from webhook.server import webhook, wire
from webhook.server.health import Check
from webhook.spread.cluster_view import view_of

NOW = datetime.now(UTC)
CONFIG = webhook.Config(
    certificate=ServingCertificate(*Authority.create(NOW).issue(["localhost"], NOW).pem("--self-signed")),
    policy=built_in(),
    policy_file=None,
    cluster=None,
    features=features(36),
    asks_version=False,
)


def test_a_bad_deployment_is_denied(server):
    status, response = server.review("/validate", review())

    assert (200, "r1", False) == (status, response["uid"], response["allowed"])
    assert "(evenkeel empty-selector)" in response["status"]["message"]


def test_a_pod_is_given_defaults(server):
    status, response = server.review("/mutate?timeout=3s", review(pod()))

    assert (200, "r1", True, "JSONPatch") == (status, response["uid"], response["allowed"], response["patchType"])


def test_every_series_is_there_from_the_start(server):
    text = server.probe("/metrics")[1].decode()

    assert 'evenkeel_findings_total{rule="soft-constraint",severity="info"} 0.0' in text
    assert 'evenkeel_defaulted_pods_total{owner_kind="StatefulSet"} 0.0' in text


def test_the_recorded_reviews_over_http(tmp_path):
    """The replay of conformance against the running server: each answer is the core's, under its own uid."""
    with gzip.open(ROOT / "tests" / "data" / "admission-reviews.jsonl.gz", "rt") as file:
        recorded = [json.loads(line) for line in file]
    created = [
        one["review"]["request"]["object"] for one in recorded if one["review"]["request"]["operation"] == "CREATE"
    ]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": created}))
    cluster, patched = view_of(created), 0
    with serving(tmp_path, "--cluster", dump, "--kubernetes-version", "1.36") as running:
        with closing(running.connection()) as connection:
            for one in recorded:
                asked, path = one["review"]["request"], one["path"]
                connection.request("POST", path, json.dumps(one["review"]), {"Content-Type": "application/json"})
                response = connection.getresponse()
                decision = decide(asked, path.strip("/"), built_in(), cluster, features(36))
                patched += bool(decision.patch)

                assert (200, wire.answer(asked["uid"], decision)) == (response.status, response.read())
                assert decision.allowed
        assert patched == sum(
            running.metric(f'evenkeel_defaulted_pods_total{{owner_kind="{kind}"}}')
            for kind in ("ReplicaSet", "StatefulSet", "ReplicationController")
        )
    assert (92, True) == (len(recorded), patched > 0)


@pytest.mark.parametrize(
    ("address", "url"),
    [(("127.0.0.1", 8443), "https://127.0.0.1:8443"), (("::", 8443, 0, 0), "https://[::]:8443")],
)
def test_where_it_listens_is_told_as_an_address(address, url):
    assert url == webhook.url("https", SimpleNamespace(getsockname=lambda: address))


def test_a_task_that_fails_keeps_no_other_from_its_turn(lines):
    done = []
    webhook._run([lambda: done.append(1), lambda: {}["gone"], lambda: done.append(2)])

    assert [1, 2] == done
    assert ["KeyError('gone')"] == [json.loads(line)["problem"] for line in lines()]


@pytest.mark.parametrize(("worked", "failures"), [(True, 0.0), (False, 1.0)])
def test_a_certificate_that_could_not_be_renewed_is_counted(worked, failures):
    config = replace(CONFIG, renewal=SimpleNamespace(round=lambda: worked, registration=registration(registered())))
    served = webhook.Webhook(config)
    served._renew()

    assert f"evenkeel_certificate_renewal_failures_total {failures}" in served.reviewer.metrics.text().decode()


def test_what_is_checked_and_in_which_order():
    """Files, renewal, calls, policy, kinds and version, and the cluster last."""
    renewal = SimpleNamespace(check=lambda: Check("registration", True, ""), registration=registration(registered()))

    assert ["certificate", "policy", "cluster"] == [check.name for check in webhook.Webhook(CONFIG).checks()]
    assert ["certificate", "registration", "calls", "policy", "cluster"] == [
        check.name for check in webhook.Webhook(replace(CONFIG, renewal=renewal)).checks()
    ]


def test_a_client_that_is_refused_is_counted_and_a_request_answered():
    served = webhook.Webhook(CONFIG)
    served.refused_client("expired")
    body = json.loads(served.refusal_body(413, "too large"))["response"]

    text = served.reviewer.metrics.text().decode()
    assert 'evenkeel_clients_refused_total{reason="expired"} 1.0' in text
    assert 'evenkeel_requests_refused_total{code="413"} 1.0' in text
    assert (False, "too large", frozenset()) == (body["allowed"], body["status"]["message"], served.client_names)
