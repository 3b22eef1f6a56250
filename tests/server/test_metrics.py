"""Alerts and dashboard ask for metrics that exist, and an alert fires when its time has come and not before."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest

from tests.generate.metrics import families
from tests.support.build import pod
from tests.support.monitoring import (
    alerts_of,
    dashboard_of,
    fires,
    known,
    metrics_of,
    needs_promtool,
    queries_of,
    reads,
    targets_of,
    unknown,
)
from webhook.admission.decision import Decision, Outcome
from webhook.admission.defaulting import Defaults, Undefaulted
from webhook.admission.request import AdmissionRequest
from webhook.findings.finding import Finding, Severity
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.references import Owner
from webhook.server.metrics import ClusterMetrics, Metrics
from webhook.spread.selectors import Selector

FILE = "alerts.yaml"
ALERTS, DASHBOARD = alerts_of(FILE), dashboard_of("dashboard.json")
QUERIES = queries_of(ALERTS, DASHBOARD)
# Those of the API server and their labels: staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go
REJECTION = ("name", "type", "operation", "error_type", "rejection_code")
THEIRS = {
    "apiserver_admission_webhook_fail_open_count": dict.fromkeys(("name", "type")),
    "apiserver_admission_webhook_rejection_count": dict.fromkeys(REJECTION),
}
SCRAPED = {"instance", "job", "namespace", "pod"}


@cache
def ours():
    """The labels of every sample."""
    return known(families())


def test_labels_are_of_closed_sets():
    """Nothing of what is counted names an object, and no series comes that was not there before."""
    metrics = Metrics()
    before = {line.rpartition(b" ")[0] for line in metrics.text().splitlines()}
    given = Defaults((), Selector(), ("Service/secret",), (), "secret")
    for phase, outcome in product(("mutate", "validate"), Outcome):
        obj = pod(labels={"secret": "secret"}, owner="Secret/secret")
        request = AdmissionRequest.of(obj, phase=phase, kinds=KINDS, namespace="secret")
        metrics.count(request._replace(operation="SECRET"), Decision(outcome, defaulted=given), 0.1)

    assert before == {line.rpartition(b" ")[0] for line in metrics.text().splitlines()}


@pytest.mark.parametrize(("outcome", "result"), [("DENIED", "dry-run"), ("DEFAULTED", "dry-run"), ("ERROR", "error")])
def test_of_a_dry_run_neither_findings_nor_denials_nor_defaults_are_counted(outcome, result):
    """Three times `kubectl diff` is not three denials."""
    found, counted = Finding("empty-selector", Severity.ERROR, (), "", "", "", ""), {}
    for dry_run in (True, False):
        metrics = Metrics()
        request = AdmissionRequest("u", "validate", "CREATE", dry_run=dry_run)
        given = Defaults((), Selector(), ("Service/web",), (), "web")
        metrics.count(request, Decision(Outcome[outcome], findings=(found,), defaulted=given), 0.1)
        lines = [line.rpartition(" ") for line in metrics.text().decode().splitlines() if line.startswith("evenkeel_")]
        counted[dry_run] = {name for name, _, value in lines if float(value) and "_latency_" not in name}

    assert {f'evenkeel_requests_total{{operation="CREATE",phase="validate",result="{result}"}}'} == counted[True]
    assert {"evenkeel_findings_total", "evenkeel_defaulted_pods_total", "evenkeel_requests_total"} == {
        name.partition("{")[0] for name in counted[False]
    }


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_asks_for_metrics_labels_and_values_that_exist(query):
    assert [] == unknown(query, THEIRS | ours())


def test_the_dashboard_shows_every_metric():
    shown = {name for target in targets_of(DASHBOARD).values() for name in metrics_of(target["expr"])}

    assert [] == [family.name for family in families() if not family.samples & shown]


def test_a_legend_names_labels_that_are_there():
    for target in targets_of(DASHBOARD).values():
        name, *_ = metrics_of(target["expr"])
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= {*ours()[name], *SCRAPED}


def test_an_alert_says_what_it_is_and_what_to_do():
    for rule in ALERTS:
        assert {"summary", "runbook"} == rule["annotations"].keys()
        assert rule["labels"]["severity"] in ("warning", "critical")


REJECTED = "apiserver_admission_webhook_rejection_count"
# So many minutes of a cluster in which all is well; "1x60" is 1, and then 60 times the same.
WELL = {
    'evenkeel_policy_generation{instance="a"}': "1x60",
    'evenkeel_certificate_expiry_timestamp_seconds{instance="a"}': "5184000x60",
    'evenkeel_certificate_reload_failures_total{instance="a"}': "0x60",
    'evenkeel_certificate_renewal_failures_total{instance="a"}': "0x60",
    'evenkeel_policy_reload_failures_total{instance="a"}': "0x60",
    'evenkeel_policy_overrides_ending{state="ends-soon",instance="a"}': "0x60",
    'evenkeel_policy_overrides_ending{state="ended",instance="a"}': "1x60",
    'evenkeel_entries_not_sent{instance="a"}': "0x60",
    'evenkeel_panics_total{instance="a"}': "0x60",
    'evenkeel_requests_total{phase="mutate",operation="CREATE",result="allowed"}': "0+60x60",
    'evenkeel_requests_total{phase="mutate",operation="CREATE",result="error"}': "0x60",
    'evenkeel_request_latency_seconds_bucket{phase="mutate",le="0.01"}': "0+60x60",
    'evenkeel_request_latency_seconds_bucket{phase="mutate",le="1.0"}': "0+60x60",
    'evenkeel_request_latency_seconds_bucket{phase="mutate",le="+Inf"}': "0+60x60",
    'evenkeel_cache_synced{kind="Node",instance="a"}': "1x60",
    'evenkeel_cache_age_seconds{kind="Node",instance="a"}': "50x60",
    'evenkeel_lookups_total{kind="ReplicaSet",result="found"}': "0+60x60",
    'evenkeel_lookups_total{kind="ReplicaSet",result="failed"}': "0x60",
    'evenkeel_defaults_not_applied_total{reason="nothing-selects-it"}': "0+60x60",
    'evenkeel_defaults_not_applied_total{reason="would-be-invalid"}': "0x60",
    'apiserver_admission_webhook_fail_open_count{name="defaults.evenkeel.dev"}': "0x60",
    'apiserver_admission_webhook_fail_open_count{name="others.example.com"}': "0+60x60",
    f'{REJECTED}{{name="pods.evenkeel.dev",error_type="no_error"}}': "0+60x60",
}
# What has happened in the 30th minute, and is seen in the 45th; every alert has at least one.
CASES = {
    "no replica": ("EvenkeelAbsent", {'evenkeel_policy_generation{instance="a"}': "1x20 _x40"}),
    "calls that pass unasked": (
        "EvenkeelNotReached",
        {'apiserver_admission_webhook_fail_open_count{name="defaults.evenkeel.dev"}': "0x30 0+1x30"},
    ),
    "calls that fail": (
        "EvenkeelNotReached",
        {f'{REJECTED}{{name="pods.evenkeel.dev",error_type="calling_webhook_error"}}': "0x30 0+1x30"},
    ),
    "a certificate that ends": (
        "EvenkeelCertificateExpires",
        {'evenkeel_certificate_expiry_timestamp_seconds{instance="a"}': "604800x60"},
    ),
    "a certificate refused": (
        "EvenkeelCertificateRefused",
        {'evenkeel_certificate_reload_failures_total{instance="a"}': "0x30 1x30"},
    ),
    "a Secret out of reach": (
        "EvenkeelCertificateNotRenewed",
        {'evenkeel_certificate_renewal_failures_total{instance="a"}': "0x20 0+6x40"},
    ),
    "a policy refused": ("EvenkeelPolicyRefused", {'evenkeel_policy_reload_failures_total{instance="a"}': "0x30 1x30"}),
    "replicas of two policies": (
        "EvenkeelPoliciesDiffer",
        {f'evenkeel_policy_info{{hash="{one}",enforcement="Deny",instance="{one}"}}': "1x60" for one in "ab"},
    ),
    "an override that ends": (
        "EvenkeelOverrideEnds",
        {'evenkeel_policy_overrides_ending{state="ends-soon",instance="a"}': "0x20 1x40"},
    ),
    "an entry that is missing": ("EvenkeelNotAsked", {'evenkeel_entries_not_sent{instance="a"}': "0x20 1x40"}),
    "an unexpected error": ("EvenkeelPanics", {'evenkeel_panics_total{instance="a"}': "0x35 1x30"}),
    "no verdict": (
        "EvenkeelNotJudged",
        {'evenkeel_requests_total{phase="mutate",operation="CREATE",result="error"}': "0x20 0+1x40"},
    ),
    "slow answers": ("EvenkeelSlow", {'evenkeel_request_latency_seconds_bucket{phase="mutate",le="0.01"}': "0+30x60"}),
    "a kind not listed": ("EvenkeelClusterNotSynced", {'evenkeel_cache_synced{kind="Node",instance="a"}': "0x60"}),
    "an API server out of reach": (
        "EvenkeelClusterStale",
        {'evenkeel_cache_age_seconds{kind="Node",instance="a"}': "50x30 60+60x30"},
    ),
    "look-ups in vain": (
        "EvenkeelLookupsFail",
        {'evenkeel_lookups_total{kind="ReplicaSet",result="failed"}': "0x20 0+60x40"},
    ),
    "defaults that do not fit": (
        "EvenkeelDefaultsUnfit",
        {'evenkeel_defaults_not_applied_total{reason="would-be-invalid"}': "0x30 1x30"},
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


def counted(decision, request=None):
    """What has risen from 0, by name and labels."""
    metrics = Metrics()
    metrics.count(request or AdmissionRequest("u", "mutate", "CREATE"), decision, 0.1)
    lines = [line.rpartition(" ") for line in metrics.text().decode().splitlines() if line.startswith("evenkeel_")]
    return {name.removeprefix("evenkeel_"): float(value) for name, _, value in lines if float(value)}


def of_owner(kind):
    request = AdmissionRequest("u", "mutate", "CREATE")
    return request._replace(owner=Owner("apps/v1", kind, "web")) if kind else request


@pytest.mark.parametrize(
    ("owner", "label"),
    [(None, "none"), ("ReplicaSet", "ReplicaSet"), ("StatefulSet", "StatefulSet"), ("Rollout", "other")],
)
@pytest.mark.parametrize(
    ("outcome", "name"), [(Outcome.DEFAULTED, "defaulted"), (Outcome.WOULD_BE_DEFAULTED, "would_be_defaulted")]
)
def test_pods_that_get_defaults_are_counted_by_their_owner(owner, label, outcome, name):
    given = Defaults((), Selector(), ("Service/web",), (), "web", lacking="no node has a zone")
    found = counted(Decision(outcome, defaulted=given), of_owner(owner))

    assert 1 == found[f'{name}_pods_total{{owner_kind="{label}"}}']
    assert (outcome is Outcome.DEFAULTED) == ("defaults_reduced_total" in found)
    assert 1 == sum("_pods_total{" in name for name in found)


def test_pods_that_get_no_defaults_are_counted_by_the_reason():
    found = counted(Decision(defaulted=Undefaulted("nothing-selects-it")))

    assert 1 == found['defaults_not_applied_total{reason="nothing-selects-it"}']
    assert "defaults_reduced_total" not in found


def test_findings_are_counted_by_rule_and_severity():
    error, warning = (
        Finding("empty-selector", severity, (), "", "", "", "") for severity in (Severity.ERROR, Severity.WARNING)
    )
    found = counted(Decision(Outcome.DENIED, findings=(error, warning, error)))

    assert {2.0, 1.0} == {value for name, value in found.items() if name.startswith("findings_total")}
    assert 2 == found['findings_total{rule="empty-selector",severity="error"}']


def test_of_each_kind_it_is_told_whether_it_was_listed_and_how_old_it_is():
    metrics = Metrics()
    ClusterMetrics(metrics, ("Node", "Service"), ((), ()), lambda: {"Node": (True, 2.0), "Service": (False, 3.0)})
    text = metrics.text().decode()

    assert ["1.0", "0.0", "2.0", "3.0"] == re.findall(r"^evenkeel_cache_(?:synced|age_seconds){.*} (.*)$", text, re.M)


@pytest.mark.parametrize(("operation", "label"), [("CREATE", "CREATE"), ("UPDATE", "UPDATE"), ("DELETE", "other")])
@pytest.mark.parametrize("phase", ["mutate", "validate"])
def test_requests_are_counted_by_phase_operation_and_result(phase, operation, label):
    found = counted(Decision(Outcome.DENIED), AdmissionRequest("u", phase, operation))

    assert 1 == found[f'requests_total{{operation="{label}",phase="{phase}",result="denied"}}']
    assert 0.1 == found[f'request_latency_seconds_sum{{phase="{phase}"}}']
