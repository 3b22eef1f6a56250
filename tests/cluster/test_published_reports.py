"""Objects are written where they differ, and deleted where they are not wanted any more."""

from __future__ import annotations

import json

import pytest

from webhook.cluster.client import CONFLICT_STATUS, NOT_FOUND, ClusterError
from webhook.cluster.published_reports import publish
from webhook.cluster.watched_resources import Watched

KIND = Watched("openreports.io/v1alpha1", "Report", "reports", "", query={"labelSelector": "a=b"})
PATH = "/apis/openreports.io/v1alpha1/namespaces/shop/reports"


def report(name, said=1):
    return {"metadata": {"name": name, "namespace": "shop"}, "said": said}


class Client:
    """An API server with some objects, which writes down what it is asked."""

    def __init__(self, *there, refusal=0):
        self.there, self.refusal, self.asked = there, refusal, []

    def get(self, path, query, seconds, decode, most):
        self.asked.append(("GET", path, query["labelSelector"]))
        return decode(json.dumps({"metadata": {}, "items": self.there}).encode())

    def send(self, method, path, body, seconds, query=None, form=""):
        self.asked.append((method, path, (query, form) if body else None))
        if method == "DELETE" and self.refusal:
            raise ClusterError("refused", self.refusal)
        return {}


def published(client, *wanted, may_go=lambda obj: True, namespace="shop"):
    done = publish(client, KIND, wanted, namespace, lambda a, b: a["said"] == b["said"], may_go)
    return tuple(done), [(method, path.rpartition("/")[2]) for method, path, _ in client.asked[1:]]


def test_what_differs_is_applied_and_what_is_not_wanted_goes():
    client = Client(report("same"), report("other"), report("old"))
    done, asked = published(client, report("same"), report("other", 2), report("new"))

    assert (2, 1, 1) == done
    assert [("PATCH", "other"), ("PATCH", "new"), ("DELETE", "old")] == asked
    forced = {"fieldManager": "evenkeel", "force": "true"}
    assert ("PATCH", f"{PATH}/other", (forced, "application/apply-patch+yaml")) == client.asked[1]
    assert ("GET", PATH, "a=b") == client.asked[0]


def test_of_all_namespaces():
    client = Client(report("old"))
    published(client, namespace="")

    assert [("GET", "/apis/openreports.io/v1alpha1/reports", "a=b"), ("DELETE", f"{PATH}/old", None)] == client.asked


def test_what_may_not_go_stays():
    assert ((0, 0, 0), []) == published(Client(report("old")), may_go=lambda obj: False)


@pytest.mark.parametrize(("status", "raises"), [(NOT_FOUND, False), (CONFLICT_STATUS, True)])
def test_what_is_gone_already_is_no_error(status, raises):
    client = Client(report("old"), refusal=status)
    if raises:
        with pytest.raises(ClusterError):
            published(client)
    else:
        assert (0, 0, 0) == published(client)[0]
