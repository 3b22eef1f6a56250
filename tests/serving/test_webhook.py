"""What the running webhook answers: reviews, and what it counts from the start."""

from __future__ import annotations

import gzip
import json
from contextlib import closing

from tests.support import ROOT
from tests.support.admission_reviews import review
from tests.support.build import pod
from tests.support.review import review as decide
from tests.support.serving import serving
from webhook.policy.parsing import built_in
from webhook.scheduler.features import features
from webhook.scheduler.snapshot import from_objects
from webhook.serving import wire


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
    cluster, patched = from_objects(created), 0
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
