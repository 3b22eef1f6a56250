"""Workloads as metrics: what Prometheus reads, how many series at most, and what alerts and dashboard make of them."""

from __future__ import annotations

import re
from functools import cache

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evenkeel.report import skew_metrics
from evenkeel.report.skew_metrics import metrics, text
from tests.report.test_impact import EMPTY
from tests.support.build import constraint, policy, service
from tests.support.monitoring import (
    alerts_of,
    dashboard_of,
    described,
    fires,
    known,
    metrics_of,
    needs_promtool,
    queries_of,
    reads,
    targets_of,
    unknown,
)
from tests.support.placing import node
from tests.support.reporting import ZONES, deployment, made_by, pods, report

BY_NODE = constraint(topologyKey="kubernetes.io/hostname", whenUnsatisfiable="ScheduleAnyway")
WEB = [*ZONES, *deployment(constraint(), BY_NODE), *pods("a1", "a1", "b1", "")]


def shown(*given):
    return text(*given).decode()


def gated():
    """A Pod of the Deployment that is not to be placed yet."""
    (pod,) = pods("")
    return pod | {"spec": {**pod["spec"], "schedulingGates": [{"name": "quota"}]}}


def families(found):
    """The samples of each metric, by its name: labels and value."""
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in text_string_to_metric_families(found)
    }


def test_skew_pods_by_domain_and_pods_that_wait():
    found = families(shown(report(*WEB), 1_700_000_000, 2))
    web = {"namespace": "shop", "group": "apps", "kind": "Deployment", "workload": "web"}
    zones = [(labels["domain"], value) for labels, value in found["evenkeel_workload_domain_pods"]]

    assert [2, 2] == [value for _, value in found["evenkeel_workload_skew"]]
    assert web.items() <= found["evenkeel_workload_skew"][0][0].items()
    assert [("a", 2), ("b", 1), ("c", 0)] == zones, "no series for each node"
    assert [(web, 1)] == found["evenkeel_pods_pending"]
    assert [({}, 1_700_000_000)] == found["evenkeel_report_timestamp_seconds"]
    assert [({}, 2)] == found["evenkeel_report_failures"]


def test_findings_are_counted_by_workload_rule_and_severity():
    """Two kinds of one name in different groups are one series, for the group is no label of it."""
    kruise = made_by("Deployment/bad", "bad-1", "a1", api_version="example.com/v1", labels={"app": "other"})
    bad = deployment(EMPTY, EMPTY | {"topologyKey": "rack"}, name="bad")
    found = families(shown(report(*ZONES, *bad, kruise, *deployment(BY_NODE, name="ok")), 0, 0))
    bad = {"namespace": "shop", "workload": "Deployment/bad", "rule": "empty-selector", "severity": "error"}

    assert [(bad, 2)] == [one for one in found["evenkeel_workload_findings"] if one[0]["severity"] == "error"]
    assert len({*map(str, found["evenkeel_workload_findings"])}) == len(found["evenkeel_workload_findings"])


def test_without_nodes_there_is_no_skew():
    found = families(shown(report(*deployment(constraint()), *pods("a1", "")), 0, 0))

    assert [] == found["evenkeel_workload_skew"] == found["evenkeel_workload_domain_pods"]
    assert [1] == [value for _, value in found["evenkeel_pods_pending"]]


def test_pods_with_scheduling_gates_are_not_counted_as_those_that_wait_for_a_node():
    """Whoever set the gates lifts them: nobody is to be woken for them."""
    some, all_ = families(shown(report(*WEB, gated()), 0, 0)), families(shown(report(*WEB[:-1], gated()), 0, 0))

    assert [[1], [1]] == [[value for _, value in some[f"evenkeel_pods_{which}"]] for which in ("pending", "gated")]
    assert [[], [1]] == [[value for _, value in all_[f"evenkeel_pods_{which}"]] for which in ("pending", "gated")]


def test_before_the_cluster_was_read_there_are_no_workloads():
    found = families(shown(None, 0, 1))

    assert ([], [({}, 1)]) == (found["evenkeel_workload_skew"], found["evenkeel_report_failures"])


def test_the_number_of_series_is_bounded(monkeypatch):
    """Pods that wait come first, and Pods by domain are left out first."""
    monkeypatch.setattr(skew_metrics, "MOST_SERIES", 4)
    found = families(shown(report(*WEB), 0, 0))

    assert [1, 2, 1, 0] == [
        len(found[f"evenkeel_{name}"])
        for name in ("pods_pending", "workload_skew", "workload_max_skew", "workload_domain_pods")
    ]
    assert [({}, 6)] == found["evenkeel_report_series_left_out"]


def test_pods_by_domain_are_there_for_all_domains_of_a_constraint_or_for_none(monkeypatch):
    """Else those that are left would look as if they were all in one domain."""
    monkeypatch.setattr(skew_metrics, "MOST_SERIES", 7)
    found = families(shown(report(*WEB), 0, 0))

    assert [] == found["evenkeel_workload_domain_pods"]
    assert [({}, 3)] == found["evenkeel_report_series_left_out"]


def test_no_series_is_there_twice():
    """Of kinds of one name in two groups, and of constraints on one key."""
    kruise = [made_by("StatefulSet/web", "web-0", "a1", api_version=f"{group}/v1") for group in ("apps", "a.io")]
    hard, soft = constraint(), constraint(whenUnsatisfiable="ScheduleAnyway")
    found = shown(report(*ZONES, *kruise, *deployment(hard, soft)), 0, 0)
    series = [line.rpartition(" ")[0] for line in found.splitlines() if not line.startswith("#")]

    assert len(series) == len(set(series))


def test_names_from_a_cluster_are_escaped():
    odd = node("a\n1", 'a"\\\n')
    found = families(shown(report(odd, *deployment(constraint()), *pods("a\n1")), 0, 0))

    assert ['a"\\\n'] == [labels["domain"] for labels, _ in found["evenkeel_workload_domain_pods"]]


def test_names_and_types_are_as_prometheus_wants_them():
    families = described(metrics(None, 0, 0))

    assert all(re.fullmatch("evenkeel_[a-z_]+", family.name) for family in families)
    assert ["evenkeel_report_failures_total"] == [family.name for family in families if family.type == "counter"]


FILE = "report-alerts.yaml"
ALERTS, DASHBOARD = alerts_of(FILE), dashboard_of("report-dashboard.json")
QUERIES = queries_of(ALERTS, DASHBOARD)
VARIABLES = {one["name"]: one["query"] for one in DASHBOARD["templating"]["list"]}


@cache
def served():
    """What is served of workloads with constraints of their own, and with the scheduler's alone."""
    shop = [*WEB, gated(), *deployment(name="search"), service(selector={"app": "search"})]
    found = report(*shop, of=policy(defaulting={"defaultingType": "System"}))
    return described(text_string_to_metric_families(shown(found, 0, 0)))


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_asks_for_metrics_labels_and_values_that_are_served(query):
    assert [] == unknown(query, known(served()), {f"${name}" for name in VARIABLES})


def test_a_variable_of_the_dashboard_is_a_label_that_is_served():
    asked = {name: one["query"] for name, one in VARIABLES.items() if name != "datasource"}
    found = {name: re.fullmatch(r"label_values\((evenkeel_\w+)(?:{.*})?, (\w+)\)", one) for name, one in asked.items()}

    assert [[]] * len(asked) == [unknown(one, known(served()), {"$namespace"}) for one in asked.values()]
    assert {name: name for name in asked} == {name: one[2] for name, one in found.items()}
    assert all(one[2] in known(served())[one[1]] for one in found.values())


def test_a_metric_or_label_of_another_name_is_found_in_a_query():
    renamed = {name.replace("_skew", "_imbalance"): labels for name, labels in known(served()).items()}

    assert ["evenkeel_workload_skew"] == unknown('evenkeel_workload_skew{source="pod"}', renamed)[:1]
    assert ["zone"] == unknown("sum by (zone) (evenkeel_pods_pending)", known(served()))
    assert ['evenkeel_workload_skew{source="me"}'] == unknown('evenkeel_workload_skew{source="me"}', known(served()))
    assert ["a query of no metric"] == unknown("vector(1)", known(served()))


def test_the_dashboard_shows_every_metric():
    shown = {name for target in targets_of(DASHBOARD).values() for name in metrics_of(target["expr"])}

    assert set(known(served())) == shown


def test_a_legend_names_labels_that_are_kept():
    for target in targets_of(DASHBOARD).values():
        kept = re.search(r"by \(([^)]*)\)", target["expr"])
        assert {*re.findall(r"{{(\w+)}}", target["legendFormat"])} <= {*(kept[1].split(", ") if kept else ())}


def test_an_alert_says_what_it_is_and_what_to_do_and_names_labels_that_are_kept():
    for rule in ALERTS:
        kept = re.search(r"by \(([^)]*)\)", rule["expr"])
        named = re.findall(r"\$labels\.(\w+)", "".join(rule["annotations"].values()))
        assert {"summary", "runbook"} == rule["annotations"].keys()
        assert "warning" == rule["labels"]["severity"]
        assert {*named} <= {*(kept[1].split(", ") if kept else ())}


def series(name, when="ScheduleAnyway", source="pod", **labels):
    of = {"namespace": "shop", "group": "apps", "kind": "Deployment", "workload": "web"}
    of |= {"template": "0", "constraint": "0", "topology_key": "zone", "when_unsatisfiable": when, "source": source}
    given = ",".join(f'{label}="{value}"' for label, value in (of | labels).items())
    return f"evenkeel_{name}{{{given}}}"


def spread(skew, *domains, **labels):
    """The skew of a constraint with maxSkew 1 from minute to minute, and its Pods in each domain."""
    by_domain = {series("workload_domain_pods", domain=f"d{n}", **labels): one for n, one in enumerate(domains)}
    return {series("workload_skew", **labels): skew, series("workload_max_skew", **labels): "1x60"} | by_domain


HARD = {"when": "DoNotSchedule", "workload": "db"}
READ, LEFT_OUT = "evenkeel_report_timestamp_seconds", "evenkeel_report_series_left_out"
# So many minutes of a cluster in which all is well; "1x60" is 1, and then 60 times the same.
WELL = {
    READ: "0+60x60",
    LEFT_OUT: "0x60",
    "evenkeel_report_failures_total": "0x60",
    # The skew of a rollout is gone before long, and that of a constraint that only wishes may remain.
    **spread("2x10 3x20 1x30", "3x60", "2x60", **HARD),
    **spread("2x60", "3x60", "1x60"),
    **spread("3x60", "3x60", "0x60", source="scheduler", workload="search"),
    'evenkeel_pods_pending{namespace="shop",group="apps",kind="Deployment",workload="web"}': "2x10 _x10 1x10 _x30",
    'evenkeel_pods_gated{namespace="shop",group="apps",kind="Deployment",workload="web"}': "9x60",
}
# What has happened by the 10th minute, and is seen in the 45th; every alert has one.
CASES = {
    "no Pod that serves them": ("EvenkeelReportAbsent", {READ: "0+60x10 _x50"}),
    "a cluster that is not read": ("EvenkeelReportOld", {READ: "-3600x60"}),
    "more than can be served": ("EvenkeelReportSeriesLeftOut", {LEFT_OUT: "0x10 7x50"}),
    "a Pod that waits": (
        "EvenkeelPodsPending",
        {'evenkeel_pods_pending{namespace="shop",group="apps",kind="Deployment",workload="web"}': "_x10 1x20 3x30"},
    ),
    "a hard constraint that is exceeded": ("EvenkeelWorkloadSkewed", spread("1x10 2x50", "3x60", "1x60", **HARD)),
    "a soft constraint in vain": (
        "EvenkeelWorkloadInOneDomain",
        spread("2x10 3x50", "3x60", "1x10 0x50"),
    ),
    "all is well": ("", {}),
}


def test_every_alert_has_a_case():
    assert {rule["alert"] for rule in ALERTS} | {""} == {alert for alert, _ in CASES.values()}


@needs_promtool
@pytest.mark.parametrize(("alert", "happened"), CASES.values(), ids=CASES)
def test_an_alert_fires_alone_and_when_it_shall(alert, happened, tmp_path):
    fires(FILE, alert, WELL | happened, tmp_path)


@needs_promtool
def test_promtool_reads_the_rules_and_every_query(tmp_path):
    reads(FILE, QUERIES.values(), tmp_path)
