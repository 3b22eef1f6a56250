"""Times as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from webhook.objects.times import seconds_at


def test_a_time_is_its_seconds_since_1970():
    time = datetime(1969, 1, 1, 12, 30, 59, tzinfo=UTC)
    while time.year < 2110:
        assert time.timestamp() == seconds_at(time.strftime("%Y-%m-%dT%H:%M:%SZ"))
        time += timedelta(days=11, hours=7)


def test_a_part_of_a_second_counts():
    assert 0.25 == seconds_at("1970-01-01T00:00:00.25Z")


@pytest.mark.parametrize(
    "value", [None, 7, "", "now", "2026-01-01", "2026-01-01T00:00:00+01:00", "٢026-01-01T00:00:00Z"]
)
def test_anything_else_is_none(value):
    assert seconds_at(value) is None
