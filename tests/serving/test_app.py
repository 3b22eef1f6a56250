"""The routes without a server around them; test_server.py has them over TLS."""

from __future__ import annotations

import pytest

from tests.support.build import FEATURES
from webhook.cluster.cluster import Unchanging
from webhook.policy import parsing as policies
from webhook.serving.app import BODY_LIMIT, JSON, create_app
from webhook.serving.metrics import Metrics
from webhook.serving.reviewer import Reviewer


@pytest.mark.parametrize(("size", "code"), [(BODY_LIMIT, 400), (BODY_LIMIT + 1, 413)], ids=["fits", "too large"])
def test_a_body_has_a_limit_here_too(size, code):
    client = create_app(Reviewer(policies.built_in(), Unchanging(None), FEATURES, Metrics()), lambda: ()).test_client()

    response = client.post("/validate", data=b" " * size, content_type=JSON)

    assert (code, False) == (response.status_code, response.json["response"]["allowed"])
