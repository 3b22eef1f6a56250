"""AdmissionReviews as kube-apiserver sends them."""

from __future__ import annotations

import json

from tests.support.build import constraint, request, workload

BAD = workload("Deployment", constraint(labelSelector={}))


def review(obj=BAD, **fields):
    """An AdmissionReview of `obj`; the Deployment it has by default is denied by the built-in policy."""
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(obj)}
    return body | fields


def raw(obj=BAD, **fields):
    return json.dumps(review(obj, **fields)).encode()
