"""Times as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from evenkeel.clusters.listing import time_at
from webhook.kubernetes.times import days_at, duration, seconds_at


def test_a_time_is_its_seconds_since_1970():
    time = datetime(1969, 1, 1, 12, 30, 59, tzinfo=UTC)
    while time.year < 2110:
        text = time.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert (time.timestamp(), text) == (seconds_at(text), time_at(time.timestamp() + 0.9))
        time += timedelta(days=11, hours=7)


def test_a_part_of_a_second_counts():
    assert 0.25 == seconds_at("1970-01-01T00:00:00.25Z")


@pytest.mark.parametrize(
    "value", [None, 7, "", "now", "2026-01-01", "2026-01-01T00:00:00+01:00", "٢026-01-01T00:00:00Z"]
)
def test_anything_else_is_none(value):
    assert seconds_at(value) is None


def test_a_day_is_the_days_since_1970():
    day = date(1969, 1, 1)
    while day.year < 2110:
        assert (day - date(1970, 1, 1)).days == days_at(day.isoformat())
        day += timedelta(days=1)


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2026-1-01", "2026-01-01T00:00:00Z", "٢026-01-01", "2026-00-01", "2026-13-01", "2026-01-00"),
        *("2026-04-31", "2026-02-29", "1900-02-29", "2028-02-30", "2026-12-32"),
    ],
)
def test_what_is_on_no_calendar_is_no_day(text):
    assert days_at(text) is None


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("36h", 129_600), ("90d", 7_776_000)])
def test_a_duration_is_seconds(text, seconds):
    assert seconds == duration(text)


@pytest.mark.parametrize("text", ["", "1", "h", "0s", "-1h", "1.5h", "1h30m", "1H", " 1h", "1234567s", "١s"])
def test_what_is_no_duration_is_none(text):
    assert duration(text) is None
