"""A review of a file is read as kube-apiserver sent it, or said to be none."""

from __future__ import annotations

import pytest

from evenkeel.admit.recorded_reviews import is_review, read_recorded
from tests.support.admission_reviews import review
from tests.support.build import request, workload

NEW, OLD = workload("Deployment"), workload("Deployment", labels={"app": "web", "old": ""})


def test_what_an_update_asks():
    found = read_recorded(review(request=request(NEW, OLD)))

    assert (NEW, OLD, "shop", "jane", "") == tuple(found)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"operation": "DELETE"}, "DELETE: only"),
        ({"operation": "CONNECT", "subResource": "exec"}, "CONNECT of the subresource exec: only"),
        ({"operation": "UPDATE", "subResource": "status"}, "UPDATE of the subresource status: only"),
    ],
    ids=["a deletion", "a connection", "a subresource"],
)
def test_what_is_not_judged(fields, why):
    found = read_recorded(review(request=request(NEW) | fields | {"object": None}))

    assert found.unjudged.startswith(why)
    assert {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
    } == found.obj


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"apiVersion": "admission.k8s.io/v1beta1"}, 'apiVersion: found "admission.k8s.io/v1beta1", which is not'),
        ({"request": None}, "request: found null, wanted an object"),
        ({"request": {}}, "request: found {}, wanted an object"),
        (
            {"request": request(NEW, operation="PATCH")},
            'request.operation: found "PATCH", wanted one of CREATE, UPDATE',
        ),
        ({"request": request(NEW) | {"object": []}}, "request.object: found [], wanted an object"),
        ({"request": request(NEW) | {"object": {"kind": "Pod"}}}, "request.object: must have apiVersion and kind"),
        ({"request": request(NEW, operation="UPDATE")}, "request.oldObject: found null, wanted an object"),
    ],
    ids=["version", "no request", "an empty one", "operation", "a list", "no kind", "no old object"],
)
def test_what_is_wrong_is_named(fields, wrong):
    with pytest.raises(ValueError) as raised:
        read_recorded(review() | fields)

    assert str(raised.value).startswith(wrong)


@pytest.mark.parametrize(
    ("obj", "found"),
    [
        (review(), True),
        ({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}, True),
        ({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}, False),
        ({"apiVersion": "e.com/v1", "kind": "AdmissionReview"}, False),
        (NEW, False),
    ],
    ids=["v1", "v1beta1", "another review", "of another group", "a Deployment"],
)
def test_what_is_a_review(obj, found):
    assert found == is_review(obj)
