"""Builders for lint: manifests with room for constraints, the terms to judge by, and what is found in a text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from evenkeel.lint.judgement import judge
from evenkeel.lint.results import LintSummary
from evenkeel.lint.terms import LintTerms
from evenkeel.scheduler.replica_room import room_for
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.policy.parsing import built_in

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx}]
      topologySpreadConstraints:
"""
KEYS = "      - maxSkew: 1\n        topologyKey: zone\n        whenUnsatisfiable: DoNotSchedule\n"
MISSPELT = (
    KEYS.replace("topologyKey: zone", "topologyKey: kubernetes.io/zone{}")
    + "        labelSelector: {{matchLabels: {{app: web}}}}\n"
)

EVIL = 'a,b:c%d\n::error::"<x>&é\x00'  # a name with what each output format must escape


@cache
def _terms():
    return LintTerms(built_in(), None, LATEST, never_sent=frozenset(SYSTEM_NAMESPACES), room_for=room_for)


def terms(**fields):
    """The built-in policy and the newest Kubernetes, unless `fields` say otherwise."""
    return replace(_terms(), **fields) if fields else _terms()


def judged(text, by=None, file="a.yaml"):
    return judge(file, text, by or terms())


def shown(text, by=None, file="a.yaml"):
    """Each finding as `line:column-end rule`."""
    found = judged(text, by, file).found
    return [f"{one.line}:{one.column}-{one.end_column} {one.finding.rule}" for one in found]


def summary(by=None, **files):
    """The summary of texts, each under the name of its file."""
    result = LintSummary()
    for file, text in files.items():
        result.add(judged(text, by, file))
    return result
