"""A review from the raw request that an AdmissionReview holds, as the server takes it."""

from __future__ import annotations

from webhook.admission import review as admission
from webhook.admission.request import read_request
from webhook.admission.terms import Terms


def review(raw, phase, policy, snapshot, features):
    """The decision on `raw`, an AdmissionReview's `request`."""
    uid = raw.get("uid")
    request = read_request(uid if isinstance(uid, str) else "", raw, phase, policy.kinds)
    return admission.review(request, Terms(policy, snapshot, features))
