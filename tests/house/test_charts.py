"""On manifests as people write them lint says what is wrong, and nothing else: a false alarm is a defect."""

from __future__ import annotations

import json

import pytest

from tests.support import DATA
from webhook.cli import main as cli

CHARTS = DATA / "charts"
EXPECTED = {
    "mistakes": {
        "mistakes/agents.yaml:12 pinned-pod",
        "mistakes/agents.yaml:27 empty-selector",
        "mistakes/agents.yaml:28 malformed-topology-key",
        "mistakes/agents.yaml:34 absent-match-label-key",
        "mistakes/copied.yaml:17 selector-misses-own-pod",
        "mistakes/copied.yaml:22 misspelt-topology-key",
        "mistakes/operators.yaml:11 invalid-constraint",
        "mistakes/operators.yaml:14 invalid-constraint",
        "mistakes/operators.yaml:16 wrong-revision-key",
        "mistakes/overlay.yaml:10 misspelt-topology-key",
    },
    # Each of its nodes counts, those with taints, too.
    "kruise": {"kruise/cloneset.yaml:12 counts-tainted-nodes", "kruise/cloneset.yaml:30 counts-tainted-nodes"},
    # And so does each of its zones, a lost one, too.
    "dump": {"dump/cluster.yaml:29 counts-tainted-nodes"},
    "rollouts": {"rollouts/rollout.yaml:14 counts-tainted-nodes"},
    "shop": {"shop/deployments.yaml:33 counts-tainted-nodes"},
    # Its operator copies a selector as it is, unless additionalLabelSelectors asks it to add to it.
    "monitoring": {"monitoring/prometheus.yaml:7 empty-selector"},
    # Two operators copy what is written, one sets all but the key itself.
    "operators": {
        "operators/search.yaml:25 empty-selector",
        "operators/search.yaml:37 invalid-constraint",
        "operators/tidb.yaml:16 misspelt-topology-key",
    },
}
PASSED_OVER = {
    "helm": {"template": 3, "values": 1},
    "tooling": {"template": 1},
    "kustomize": {"kustomization": 1, "patch": 3},
    "mistakes": {"patch": 1},
}
OF_OPERATORS = ("cnpg", "kafka", "knative", "monitoring")


@pytest.fixture
def lint(monkeypatch, capsys):
    monkeypatch.chdir(CHARTS)

    def lint(*args):
        cli.main(["lint", "-o", "json", *args])
        return json.loads(capsys.readouterr().out)

    return lint


@pytest.mark.parametrize("chart", sorted(path.name for path in CHARTS.iterdir()))
def test_each_says_what_is_expected_of_it(lint, chart):
    document = lint(chart)
    summary = document["summary"]

    assert EXPECTED.get(chart, set()) == {f"{one['file']}:{one['line']} {one['rule']}" for one in document["findings"]}
    assert [] == document["problems"]
    assert PASSED_OVER.get(chart, {}) == summary["passedOver"]
    assert [] == summary["notJudged"]


def test_all_together_say_the_same(lint):
    found = {f"{one['file']}:{one['line']} {one['rule']}" for one in lint(".")["findings"]}

    assert set().union(*EXPECTED.values()) == found


WORKLOADS = """\
apiVersion: config.evenkeel.dev/v1alpha1
kind: SpreadPolicy
workloads:
- {apiVersion: kafka.strimzi.io/v1beta2, kind: Kafka, resource: kafkas,
   constraints: spec.kafka.template.pod.topologySpreadConstraints}
- {apiVersion: monitoring.coreos.com/v1, kind: Prometheus, resource: prometheuses,
   constraints: spec.topologySpreadConstraints}
- {apiVersion: postgresql.cnpg.io/v1, kind: Cluster, resource: clusters, constraints: spec.topologySpreadConstraints}
- {apiVersion: serving.knative.dev/v1, kind: Service, resource: services,
   constraints: spec.template.spec.topologySpreadConstraints}
"""


@pytest.mark.parametrize("chart", OF_OPERATORS)
def test_what_a_policy_describes_is_judged_and_found_well(lint, chart, tmp_path):
    """It is not known what the operators of these fill in: a selector that is absent is no mistake."""
    (tmp_path / "policy.yaml").write_text(WORKLOADS)
    document = lint("--policy", str(tmp_path / "policy.yaml"), chart)

    assert ([], []) == (document["findings"], document["summary"]["notJudged"])
    assert document["skipped"]
