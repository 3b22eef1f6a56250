"""What all are asked: Pods of which each breaks one of seven rules, and whether all answer that with the same rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from tests.e2e.webhook import containers
from tests.support.build import HOSTNAME, constraint, keys, pod, selecting, term

RULES = (
    "empty-selector",
    "malformed-topology-key",
    "forbidden-topology-key",
    "excessive-max-skew",
    "absent-match-label-key",
    "selector-misses-own-pod",
    "missing-constraints",
)
MISSES = "selector-misses-own-pod"
# The rule that each breaks; of the last rules several, for each operator that a selector has.
BROKEN = (
    ("empty-selector", pod(constraint(labelSelector={}))),
    ("malformed-topology-key", pod(constraint(), constraint(topologyKey="topology/kubernetes.io/zone"))),
    ("forbidden-topology-key", pod(constraint(), constraint(topologyKey="example.com/rack"))),
    ("excessive-max-skew", pod(constraint(maxSkew=9))),
    ("absent-match-label-key", pod(constraint(**keys("version", **selecting(app="web"))))),
    (MISSES, pod(constraint(**selecting(app="other")))),
    (MISSES, pod(constraint(**selecting(term("app", "In", "other", "another"), app="web")))),
    (MISSES, pod(constraint(**selecting(term("app", "NotIn", "web"))))),
    (MISSES, pod(constraint(**selecting(term("tier", "Exists"))))),
    (MISSES, pod(constraint(**selecting(term("app", "DoesNotExist"))))),
    ("missing-constraints", pod(constraint(topologyKey=HOSTNAME))),
)
GOOD = pod(
    constraint(**keys("version", **selecting(term("app", "In", "web"), term("tier", "NotIn", "batch"), app="web"))),
    constraint(topologyKey=HOSTNAME, **selecting(term("version", "Exists"), term("tier", "DoesNotExist"))),
    labels={"app": "web", "version": "2"},
)


class Verdict(NamedTuple):
    """What a webhook answers: whether it allows, and the rules that it names."""

    allowed: bool
    rules: frozenset[str]


def verdict(answer: Mapping) -> Verdict:
    """The verdict in an AdmissionReview that comes back."""
    message = answer["response"].get("status", {}).get("message", "")
    return Verdict(answer["response"]["allowed"], frozenset(rule for rule in RULES if rule in message))


def review(made: Mapping) -> bytes:
    """An AdmissionReview of a Pod that is created, with all that kube-apiserver writes around it."""
    resource, kind = {"group": "", "version": "v1", "resource": "pods"}, {"group": "", "version": "v1", "kind": "Pod"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        **{"kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource},
        **{"name": made["metadata"]["name"], "namespace": made["metadata"]["namespace"], "operation": "CREATE"},
        "userInfo": {"username": "jane", "uid": "7", "groups": ["developers", "system:authenticated"]},
        **{"object": made, "oldObject": None, "dryRun": False},
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


# What each must answer to each review.
WANTED = (
    *((review(containers(made)), Verdict(False, frozenset({rule}))) for rule, made in BROKEN),
    (review(containers(GOOD)), Verdict(True, frozenset())),
)
