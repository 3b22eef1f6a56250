"""Summaries of lint for the tests of its forms."""

from __future__ import annotations

import json

import pytest

from tests.support.build import ZONE, constraint, honoring, node, pod, policy, snapshot, workload
from tests.support.lint import EVIL, summary, terms
from webhook.kubernetes.features import LATEST


@pytest.fixture
def everything():
    """Findings, a problem, a template, a kind that no policy describes: with names that every form must escape."""
    crd = {"apiVersion": "example.com/v1", "kind": EVIL, "spec": {"topologySpreadConstraints": [{}]}}
    evil = workload("StatefulSet", constraint(topologyKey=EVIL, labelSelector=None), name=EVIL)
    info = workload("Deployment", honoring(), name="api")
    files = {
        "a b,c%é.yaml": json.dumps(evil, indent=1),
        "bad.yaml": "apiVersion: v1\nkind: [",
        "crd.yaml": json.dumps(crd, indent=1),
        "info.yaml": json.dumps(info, indent=1),
        "t.yaml": "{{ x",
    }
    there = pod(name="agent", labels={"app": "agent"}, spec={"nodeName": "n1"}, uid="u1")
    return summary(terms(snapshot=snapshot(node(), node("n2", **{ZONE: "b"}), there, features=LATEST)), **files)


@pytest.fixture
def skipping():
    """Rules were skipped, as the labels of the Pods are not known, and nothing was found."""
    thing = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "x"},
        "spec": {"constraints": [constraint(labelSelector=None)]},
    }
    described = "{apiVersion: example.com/v1, kind: Thing, resource: things, constraints: spec.constraints}"
    by = terms(policy=policy(f"workloads: [{described}]"), snapshot=snapshot(node()))
    return summary(by, a=json.dumps(thing), b=json.dumps(thing))
