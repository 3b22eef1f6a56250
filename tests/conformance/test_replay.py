"""The reviews that kube-apiserver 1.36.2 sent while workloads of every built-in kind were run, reviewed again."""

from __future__ import annotations

import gzip
import json
from functools import cache

import jsonpatch
import pytest

from tests.support import DATA
from tests.support.build import ZONE
from tests.support.review import review
from webhook.admission.defaulting import Defaults
from webhook.admission.request import MUTATE, VALIDATE
from webhook.kubernetes.features import features
from webhook.kubernetes.names import DEFAULTED_BY_ANNOTATION
from webhook.policy.parsing import built_in
from webhook.spread.cluster_view import view_of

with gzip.open(DATA / "admission-reviews.jsonl.gz", "rt") as file:
    RECORDED = [json.loads(line) for line in file]
RECORDED_BY = 36  # The minor version.
REQUESTS = [(one["path"].strip("/"), one["review"]["request"]) for one in RECORDED]
CREATED = [request["object"] for _, request in REQUESTS if request["operation"] == "CREATE"]


@cache
def cluster():
    """All that was created."""
    return view_of(CREATED)


def reviewed(request, phase):
    return review(request, phase, built_in(), cluster(), features(RECORDED_BY))


def name(one):
    phase, request = one
    metadata = (request["object"] or {}).get("metadata", {})
    of = metadata.get("name") or metadata.get("generateName") or request.get("name")
    return f"{phase} {request['operation']} {request['kind']['kind']} {of}"


def owner_kind(request):
    references = request["object"]["metadata"].get("ownerReferences", [])
    return next((reference["kind"] for reference in references if reference.get("controller")), None)


def constraints(obj):
    return obj["spec"].get("topologySpreadConstraints")


def wants_defaults(phase, request):
    """Design 5: Pods that a controller with a selector creates, and that have no constraints of their own."""
    is_new_pod = phase == MUTATE and request["operation"] == "CREATE" and request["kind"]["kind"] == "Pod"
    owned = is_new_pod and owner_kind(request) in ("ReplicaSet", "StatefulSet", "ReplicationController")
    return owned and not constraints(request["object"])


def test_the_recording_holds_what_this_file_is_about():
    defaulted = [request for phase, request in REQUESTS if wants_defaults(phase, request)]

    assert (92, {MUTATE, VALIDATE}) == (len(REQUESTS), {phase for phase, _ in REQUESTS})
    assert {"ReplicaSet", "StatefulSet", "ReplicationController"} == {owner_kind(request) for request in defaulted}


@pytest.mark.parametrize("one", REQUESTS, ids=name)
class TestEveryRecordedReview:
    def decision(self, one):
        return reviewed(one[1], one[0])

    def test_is_allowed_without_a_warning_about_a_real_workload(self, one):
        decision = self.decision(one)
        assert (True, None, "") == (decision.allowed, decision.status, decision.error)
        assert () == decision.warnings

    def test_is_patched_only_where_a_pod_wants_defaults(self, one):
        assert wants_defaults(*one) == bool(self.decision(one).patch)

    def test_patched_and_reviewed_again_changes_nothing(self, one):
        decision = self.decision(one)
        if not decision.patch:
            assert not isinstance(decision.defaulted, Defaults)
            return
        phase, request = one
        patched = jsonpatch.apply_patch(request["object"], list(decision.patch))
        zone, hostname = constraints(patched)
        owner = request["object"]["metadata"]["ownerReferences"][0]
        selector = next(
            r["object"]["spec"]["selector"]
            for _, r in REQUESTS
            if r["operation"] == "CREATE" and (r["kind"]["kind"], r.get("name")) == (owner["kind"], owner["name"])
        )
        match_labels = selector.get("matchLabels", selector)

        assert (ZONE, "kubernetes.io/hostname") == (zone["topologyKey"], hostname["topologyKey"])
        for one_of_two in (zone, hostname):
            assert (1, "ScheduleAnyway") == (one_of_two["maxSkew"], one_of_two["whenUnsatisfiable"])
            assert {"matchLabels": match_labels} == one_of_two["labelSelector"]
        assert owner["name"] in patched["metadata"]["annotations"][DEFAULTED_BY_ANNOTATION]
        assert () == reviewed({**request, "object": patched}, phase).patch
        assert reviewed({**request, "object": patched}, VALIDATE).allowed

    def test_gives_the_same_answer_twice(self, one):
        assert self.decision(one) == self.decision(one)
