"""A live cluster is asked for its version, again and again: it may be upgraded while evenkeel runs."""

from __future__ import annotations

import pytest

from tests.support.build import FEATURES, policy
from webhook.cluster.client import ClusterError
from webhook.cluster.cluster import Unchanging
from webhook.kubernetes.features import LATEST, features
from webhook.server import kubernetes_version as module
from webhook.server.kubernetes_version import KubernetesVersion
from webhook.server.metrics import Metrics
from webhook.server.reviewer import Reviewer


class Answers:
    """A client whose API server gives these versions in turn, or raises."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def version(self):
        answer = self.answers.pop(0)
        if answer == FORBIDDEN:
            raise ClusterError(FORBIDDEN, 403)
        return answer


@pytest.fixture
def told(monkeypatch):
    found = []
    monkeypatch.setattr(module, "log", lambda level, message, **fields: found.append((message, fields)))
    return found


def asking(*answers):
    asks = KubernetesVersion(Answers(*answers), Reviewer(policy(), Unchanging(None), LATEST, Metrics()))
    for _ in answers:
        asks.look()
    return asks


def test_reviews_follow_the_version_of_the_api_server(told):
    asks = asking("v1.33.13", "v1.33.13", "v1.34.2-gke.100")

    assert features(34) == asks.reviewer.features
    assert ["v1.33.13", "v1.34.2-gke.100"] == [fields["version"] for _, fields in told]
    assert (True, "v1.34.2-gke.100") == (asks.check().ok, asks.check().detail)


def test_a_version_newer_than_any_that_is_known_is_said_once(told):
    asks = asking("v1.99.0", "v1.99.0")

    note = f"Kubernetes 1.99 is newer than 1.{FEATURES.minor}, the newest version that evenkeel was tested with"
    assert [("Kubernetes version", {"version": "v1.99.0", "note": note})] == told
    assert f"v1.99.0; {note}" == asks.check().detail


FORBIDDEN = "/version: 403 forbidden"
FAILURES = (FORBIDDEN, "None", "v2.0.0", "v1.20.1")


@pytest.mark.parametrize("answer", FAILURES, ids=str)
def test_where_no_version_comes_reviews_are_judged_by_the_last_one(told, answer):
    assert LATEST == asking(answer, answer).reviewer.features
    asks = asking("v1.30.0", answer, answer, "v1.30.0", answer)

    assert features(30) == asks.reviewer.features
    assert 3 == [message for message, _ in told].count("cannot find out the Kubernetes version")
    assert asks.check().ok


def test_a_replica_is_not_ready_before_it_has_asked():
    assert not asking().check().ok


def test_why_it_is_not_known_is_shown(told):
    asks = asking(FORBIDDEN)

    assert f"not known: /version: 403 forbidden; evenkeel uses the rules of 1.{LATEST.minor}" == asks.check().detail
