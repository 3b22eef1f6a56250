"""evenkeel kinds: where operators keep constraints; and lint, which judges them."""

from __future__ import annotations

import json

from tests.support.build import constraint
from webhook.kubernetes.operators import names

MISSPELT = constraint(topologyKey="kubernetes.io/zone")
PROMETHEUS = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "a"}}
AGENT = {**PROMETHEUS, "spec": {"topologySpreadConstraints": [MISSPELT]}}


def test_each_kind_is_listed(run):
    found = run("kinds")
    heads = [line.split()[0] for line in found.out.splitlines() if not line.startswith(" ")]

    assert (0, list(names())) == (found.code, heads)


def test_the_list_for_programs(run):
    found = json.loads(run("kinds -o json").out)

    assert ("evenkeel.dev/v1alpha1", "KindList") == (found["apiVersion"], found["kind"])
    assert list(names()) == [kind["name"] for kind in found["kinds"]]


def test_lint_judges_them_without_a_policy(run):
    found = run("lint a", a=AGENT)

    assert "misspelt-topology-key" in found.out
    assert "topologySpreadConstraints[0].topologyKey" in found.out


def test_a_policy_that_describes_a_place_itself_says_how_it_is_judged(run):
    """With the labels of the Pods, other rules are run."""
    described = "{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, resource: prometheuses"
    policy = (
        "apiVersion: config.evenkeel.dev/v1alpha1\nkind: SpreadPolicy\n"
        f"workloads: [{described}, constraints: spec.topologySpreadConstraints, labels: spec.podMetadata.labels}}]\n"
    )
    found = {**PROMETHEUS, "spec": {"podMetadata": {"labels": {"a": "b"}}, "topologySpreadConstraints": [constraint()]}}

    assert "selector-misses-own-pod" not in run("lint a", a=found).out.partition("note:")[0]
    assert "selector-misses-own-pod" in run("lint --policy p a", a=found, p=policy).out.partition("note:")[0]
