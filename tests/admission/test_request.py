"""A request is read once, from an AdmissionReview or from an object in a file."""

from __future__ import annotations

import pytest

from tests.support.build import constraint, pod, request, workload
from webhook.admission.request import CREATE, MUTATE, UPDATE, VALIDATE, AdmissionRequest, read_request
from webhook.kubernetes.kinds import KINDS

DEPLOYMENT = workload("Deployment", constraint())


def read(raw, phase=VALIDATE):
    return read_request("u", raw, phase, KINDS)


def of(obj, old=None, phase=VALIDATE, namespace="default"):
    return AdmissionRequest.of(obj, old, phase=phase, kinds=KINDS, namespace=namespace)


def test_what_an_admission_review_holds():
    found = read(request(DEPLOYMENT))

    assert ("u", VALIDATE, CREATE, "shop", ("apps", "Deployment"), "web", "jane") == (
        *(found.uid, found.phase, found.operation, found.namespace, found.kind, found.name, found.user),
    )
    assert DEPLOYMENT == found.obj
    assert [("Deployment", "shop")] == [(one.kind.kind, one.namespace) for one in found.workloads]
    assert ("", "", None, ()) == (found.unread, found.malformed, found.defect, found.before)


def test_an_object_in_a_file_makes_the_request_that_kube_apiserver_would_make_of_it():
    sent = read({**request(DEPLOYMENT, DEPLOYMENT), "userInfo": None})

    assert of(DEPLOYMENT, DEPLOYMENT) == read_request(
        "", {**request(DEPLOYMENT, DEPLOYMENT), "userInfo": None}, VALIDATE, KINDS
    )
    assert (UPDATE, 1, 1) == (sent.operation, len(sent.workloads), len(sent.before))


def test_the_namespace_is_that_of_the_request():
    """In the mutating phase an object may not carry its own yet."""
    homeless = {**DEPLOYMENT, "metadata": {"name": "web"}}

    assert ["shop"] == [one.namespace for one in read({**request(homeless), "namespace": "shop"}).workloads]
    assert ["default"] == [one.namespace for one in of(homeless).workloads]
    assert ["shop"] == [one.namespace for one in of(DEPLOYMENT).workloads]


def test_a_namespace_that_is_no_string_is_not_replaced():
    """Digits without quotes: whatever is meant, it is not the namespace of what names none."""
    numbered = {**DEPLOYMENT, "metadata": {"name": "web", "namespace": 4}}

    assert "" == of(numbered, namespace="kube-system").namespace


@pytest.mark.parametrize(("written", "expected"), [(True, True), (False, False), (None, False), ("true", False)])
def test_a_dry_run(written, expected):
    assert expected is read(request(DEPLOYMENT) | {"dryRun": written}).dry_run


@pytest.mark.parametrize("wrong", [None, 7, True, [], {}, "text", [{}]], ids=repr)
@pytest.mark.parametrize("name", ["uid", "kind", "name", "namespace", "operation", "userInfo", "oldObject"])
def test_what_has_the_wrong_type_reads_as_if_it_were_absent(name, wrong):
    found = read({**request(DEPLOYMENT), name: wrong})

    assert isinstance(found, AdmissionRequest)
    assert all(
        isinstance(text, str) for text in (found.operation, found.namespace, found.name, found.user, *found.kind)
    )


@pytest.mark.parametrize(
    "fields", [{"operation": "DELETE"}, {"operation": "CONNECT"}, {"subResource": "scale"}], ids=str
)
def test_nothing_is_judged_of_other_operations_and_subresources(fields):
    found = read({**request(DEPLOYMENT), "object": None, **fields})

    assert ((), (), "") == (found.workloads, found.before, found.malformed)


def test_the_old_object_of_a_create_is_not_looked_at():
    assert () == read({**request(DEPLOYMENT), "oldObject": DEPLOYMENT}).before


def test_a_create_without_an_object_is_malformed():
    assert "request.object: found null, wanted an object" == read({**request(DEPLOYMENT), "object": None}).malformed


@pytest.mark.parametrize(
    ("given", "lacks"),
    [
        ({"obj": pod(), "phase": MUTATE}, True),
        ({"obj": pod(constraint()), "phase": MUTATE}, False),
        ({"obj": pod(), "phase": VALIDATE}, False),
        ({"obj": pod(), "old": pod(), "phase": MUTATE}, False),
        ({"obj": DEPLOYMENT, "phase": MUTATE}, False),
        ({"obj": {"kind": "Unknown"}, "phase": MUTATE}, False),
    ],
    ids=["new", "with constraints", "at /validate", "an update", "no Pod", "no workload"],
)
def test_only_a_new_pod_without_constraints_may_be_given_defaults(given, lacks):
    assert lacks is of(**given).lacks_constraints


def test_the_owner_is_that_of_the_object():
    assert "web" == of(pod(owner="ReplicaSet/web")).owner.name
    assert of(pod()).owner is None
    assert read({"operation": "DELETE"}).owner is None
