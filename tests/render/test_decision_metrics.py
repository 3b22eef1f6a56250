"""Decisions of kube-scheduler as metrics: what Prometheus reads before the first and after each."""

from __future__ import annotations

import re

from prometheus_client.parser import text_string_to_metric_families

from tests.loading.test_observing import observe
from tests.support.decisions import recorded, wrong
from tests.support.logs import waiting
from webhook.render.decision_metrics import DecisionMetrics, text
from webhook.verification.decision import NOT_COMPARED
from webhook.verification.tally import Tally


def samples(tally, failures=0):
    """The value of each series, by its name and the value of its label."""
    return {
        (sample.name.removeprefix("evenkeel_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text(tally, failures).decode())
        for sample in family.samples
    }


def test_decisions_are_counted_by_verdict_and_by_why_they_are_not_compared(tmp_path):
    log = wrong()
    log.put(waiting("static", nodeName="a1"))
    tally = observe(recorded(tmp_path / "log", log)).tally
    tally.skipped = 7
    counted = samples(tally, 2)

    assert (3, 1) == tuple(counted["decisions_compared_total", verdict] for verdict in ("agree", "differ"))
    assert 1 == counted["decisions_not_compared_total", "created with a nodeName"]
    assert (7, 2) == (counted["decisions_skipped_total",], counted["verification_failures_total",])
    assert tally.every.mean_power == counted["decisions_power_sum",] / counted["decisions_power_count",] == 0.5


def test_every_series_is_there_from_the_start():
    """Else the first decision that differs would be no increase."""
    counted = samples(Tally())

    assert {0} == set(counted.values())
    assert {*NOT_COMPARED} == {name[1] for name in counted if name[0] == "decisions_not_compared_total"}


def test_names_are_as_prometheus_wants_them():
    assert all(re.fullmatch("evenkeel_[a-z_]+", metric.name) for metric in DecisionMetrics(Tally(), 0).collect())
