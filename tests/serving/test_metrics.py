"""Alerts and dashboard ask for metrics that exist, and an alert fires when its time has come and not before."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from itertools import product

import pytest

from tests.generate.chart import FOLDER
from tests.generate.metrics import RULES, families
from tests.support.build import pod
from webhook.admission.decision import Decision, Outcome
from webhook.admission.defaulting import Defaults
from webhook.admission.request import AdmissionRequest
from webhook.objects.kinds import KINDS
from webhook.scheduler.selectors import Selector
from webhook.serving.metrics import Metrics

PANELS = json.loads((FOLDER / "files" / "dashboard.json").read_text("utf-8"))["panels"]
ALERTS = {rule["alert"]: rule["expr"] for rule in RULES}
QUERIES = {
    **ALERTS,
    **{f"{panel['title']} {target['refId']}": target["expr"] for panel in PANELS for target in panel["targets"]},
}
# Those of the API server and their labels: staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go
THEIRS = {
    "apiserver_admission_webhook_fail_open_count": {"name", "type"},
    "apiserver_admission_webhook_rejection_count": {"name", "type", "operation", "error_type", "rejection_code"},
}
SCRAPED = {"instance", "job", "namespace", "pod"}
SELECTOR = re.compile(r"\b((?:evenkeel|apiserver)_\w+)(?:{([^}]*)})?")
MATCHER = re.compile(r'(\w+)(=~?|!=|!~)"([^"]*)"')


@cache
def ours():
    """Every family by the names of its samples."""
    return {sample: family for family in families() for sample in family.samples}


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


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_asks_for_metrics_labels_and_values_that_exist(query):
    found = SELECTOR.findall(query)
    labels = set().union(*(THEIRS.get(name) or ours()[name].labels for name, _ in found))
    matchers = [(name, *matcher) for name, inside in found for matcher in MATCHER.findall(inside)]

    assert found
    assert {label for by in re.findall(r"by \(([^)]*)\)", query) for label in by.split(", ")} <= labels
    assert {label for _, label, _, _ in matchers} <= labels
    for name, label, _, value in matchers:
        assert name in THEIRS or set(value.split("|")) <= set(ours()[name].labels[label])


def test_the_dashboard_shows_every_metric():
    shown = {
        ours()[name].name
        for panel in PANELS
        for target in panel["targets"]
        for name, _ in SELECTOR.findall(target["expr"])
    }

    assert shown == {family.name for family in families()}


def test_a_legend_names_labels_that_are_there():
    for panel in PANELS:
        for target in panel["targets"]:
            (name, *_), *_ = SELECTOR.findall(target["expr"])
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= {*ours()[name].labels, *SCRAPED}


def test_an_alert_says_what_it_is_and_what_to_do():
    for rule in RULES:
        assert {"summary", "runbook"} == rule["annotations"].keys()
        assert rule["labels"]["severity"] in ("warning", "critical")


PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="needs promtool: apt install prometheus")
REJECTED = "apiserver_admission_webhook_rejection_count"
# So many minutes of a cluster in which all is well; "1x60" is 1, and then 60 times the same.
WELL = {
    'evenkeel_policy_generation{instance="a"}': "1x60",
    'evenkeel_certificate_expiry_timestamp_seconds{instance="a"}': "5184000x60",
    'evenkeel_certificate_reload_failures_total{instance="a"}': "0x60",
    'evenkeel_certificate_renewal_failures_total{instance="a"}': "0x60",
    'evenkeel_policy_reload_failures_total{instance="a"}': "0x60",
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
    assert ALERTS.keys() | {""} == {alert for alert, _ in CASES.values()}


@needs_promtool
@pytest.mark.parametrize(("alert", "happened"), CASES.values(), ids=CASES)
def test_an_alert_fires_alone_and_when_it_shall(alert, happened, tmp_path):
    fires = [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if alert else []
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in {**WELL, **happened}.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": "45m",
                "exp_samples": fires,
            }
        ],
    }
    file = tmp_path / "test.yaml"
    file.write_text(json.dumps({"rule_files": [str(FOLDER / "files" / "alerts.yaml")], "tests": [test]}))
    done = subprocess.run([PROMTOOL, "test", "rules", file], capture_output=True, text=True)

    assert 0 == done.returncode, done.stdout + done.stderr


@needs_promtool
def test_promtool_reads_the_rules_and_every_query(tmp_path):
    rules = [
        {"record": f"a:{n}", "expr": text.replace("$__rate_interval", "5m")} for n, text in enumerate(QUERIES.values())
    ]
    (tmp_path / "queries.yaml").write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    files = [str(FOLDER / "files" / "alerts.yaml"), str(tmp_path / "queries.yaml")]
    done = subprocess.run([PROMTOOL, "check", "rules", *files], capture_output=True, text=True)

    assert 0 == done.returncode, done.stdout + done.stderr
