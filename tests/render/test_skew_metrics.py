"""Workloads as metrics: what Prometheus reads, and how many series at most."""

from __future__ import annotations

import re

from prometheus_client.parser import text_string_to_metric_families

from tests.support.build import constraint
from tests.support.placing import node
from tests.support.reporting import ZONES, deployment, made_by, pods, report
from webhook.render import skew_metrics
from webhook.render.skew_metrics import METRICS, text

BY_NODE = constraint(topologyKey="kubernetes.io/hostname", whenUnsatisfiable="ScheduleAnyway")
WEB = [*ZONES, *deployment(constraint(), BY_NODE), *pods("a1", "a1", "b1", "")]


def families(found):
    """The samples of each metric, by its name: labels and value."""
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in text_string_to_metric_families(found)
    }


def test_skew_pods_by_domain_and_pods_that_wait():
    found = families(text(report(*WEB), 1_700_000_000, 2))
    web = {"namespace": "shop", "group": "apps", "kind": "Deployment", "workload": "web"}
    zones = [(labels["domain"], value) for labels, value in found["evenkeel_workload_domain_pods"]]

    assert [2, 2] == [value for _, value in found["evenkeel_workload_skew"]]
    assert web.items() <= found["evenkeel_workload_skew"][0][0].items()
    assert [("a", 2), ("b", 1), ("c", 0)] == zones, "no series for each node"
    assert [(web, 1)] == found["evenkeel_pods_pending"]
    assert [({}, 1_700_000_000)] == found["evenkeel_report_timestamp_seconds"]
    assert [({}, 2)] == found["evenkeel_report_failures"]


def test_before_the_cluster_was_read_there_are_no_workloads():
    found = families(text(None, 0, 1))

    assert ([], [({}, 1)]) == (found["evenkeel_workload_skew"], found["evenkeel_report_failures"])


def test_the_number_of_series_is_bounded(monkeypatch):
    """Pods that wait come first, and Pods by domain are left out first."""
    monkeypatch.setattr(skew_metrics, "MOST_SERIES", 4)
    found = families(text(report(*WEB), 0, 0))

    assert [1, 2, 1, 0] == [
        len(found[f"evenkeel_{name}"])
        for name in ("pods_pending", "workload_skew", "workload_max_skew", "workload_domain_pods")
    ]
    assert [({}, 4)] == found["evenkeel_report_series_left_out"]


def test_pods_by_domain_are_there_for_all_domains_of_a_constraint_or_for_none(monkeypatch):
    """Else those that are left would look as if they were all in one domain."""
    monkeypatch.setattr(skew_metrics, "MOST_SERIES", 7)
    found = families(text(report(*WEB), 0, 0))

    assert [] == found["evenkeel_workload_domain_pods"]
    assert [({}, 3)] == found["evenkeel_report_series_left_out"]


def test_no_series_is_there_twice():
    """Of kinds of one name in two groups, and of constraints on one key."""
    kruise = [made_by("StatefulSet/web", "web-0", "a1", api_version=f"{group}/v1") for group in ("apps", "a.io")]
    hard, soft = constraint(), constraint(whenUnsatisfiable="ScheduleAnyway")
    found = text(report(*ZONES, *kruise, *deployment(hard, soft)), 0, 0)
    series = [line.rpartition(" ")[0] for line in found.splitlines() if not line.startswith("#")]

    assert len(series) == len(set(series))


def test_names_from_a_cluster_are_escaped():
    odd = node("a\n1", 'a"\\\n')
    found = families(text(report(odd, *deployment(constraint()), *pods("a\n1")), 0, 0))

    assert ['a"\\\n'] == [labels["domain"] for labels, _ in found["evenkeel_workload_domain_pods"]]


def test_names_and_types_are_as_prometheus_wants_them():
    assert all(re.fullmatch("evenkeel_[a-z_]+", metric.name) for metric in METRICS)
    assert {"counter"} == {metric.type for metric in METRICS if metric.name.endswith("_total")}
