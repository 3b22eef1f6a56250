"""Times as Kubernetes writes them, `2026-01-31T10:00:00Z`, dates, and durations such as `90s`, read as numbers."""

from __future__ import annotations

import re

_DAY_PATTERN = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME_PATTERN = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?Z", re.ASCII)
_DURATION_PATTERN = re.compile("([1-9][0-9]{0,5})([smhd])")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
DAYS_BEFORE_1970 = 719_468  # from 1 March of the year 0, from which leap days are counted


def seconds_at(value: object) -> float | None:
    """Return the seconds since 1970 at a time in UTC; None for anything else."""
    match = _TIME_PATTERN.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    days = _days_at(year, month, day)
    return 86_400 * days + 3_600 * hour + 60 * minute + second + float(match[7] or 0)


def days_at(text: str) -> int | None:
    """Return the days from 1970 to one such as 2026-01-31; None for anything else, and if no calendar has that day."""
    match = _DAY_PATTERN.fullmatch(text)
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    first = _days_at(year, month, 1)
    return first + day - 1 if 1 <= month <= 12 and 1 <= day <= _days_at(year, month + 1, 1) - first else None


def duration(text: str) -> int | None:
    """Return the seconds of a duration such as 90s, 15m, 36h or 90d; None for anything else."""
    match = _DURATION_PATTERN.fullmatch(text)
    return int(match[1]) * _UNIT_SECONDS[match[2]] if match else None


def _days_at(year: int, month: int, day: int) -> int:
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)  # a year that ends with February
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - DAYS_BEFORE_1970
