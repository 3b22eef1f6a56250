"""Times as Kubernetes writes them, `2026-01-31T10:00:00Z`, dates, and durations such as `90s`, read as numbers."""

from __future__ import annotations

import re

_DAY_PATTERN = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME_PATTERN = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?Z", re.ASCII)
_DURATION_PATTERN = re.compile("([1-9][0-9]{0,5})([smhd])")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
DAYS_BEFORE_1970 = 719_468  # since 1 March of the year 0


def seconds_at(value: object) -> float | None:
    """Return the seconds since 1970 at a time in UTC; None for anything else."""
    match = _TIME_PATTERN.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    days = _days_at(year, month, day)
    return 86_400 * days + 3_600 * hour + 60 * minute + second + float(match[7] or 0)


def days_at(text: str) -> int | None:
    """Return the days from 1 January 1970 to a date such as 2026-01-31; None if it is not a date of the calendar."""
    match = _DAY_PATTERN.fullmatch(text)
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    first = _days_at(year, month, 1)
    length = _days_at(year, month + 1, 1) - first  # of the month; month 13 is January of the next year
    return first + day - 1 if 1 <= month <= 12 and 1 <= day <= length else None


def duration(text: str) -> int | None:
    """Return the seconds of a duration such as 90s, 15m, 36h or 90d; None for anything else."""
    match = _DURATION_PATTERN.fullmatch(text)
    return int(match[1]) * _UNIT_SECONDS[match[2]] if match else None


def _days_at(year: int, month: int, day: int) -> int:
    # Count years from March to February, so that the leap day is the last day of a year.  March is month 0.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    before_month = (153 * month + 2) // 5  # days of the months before: five months have 153
    return 365 * year + year // 4 - year // 100 + year // 400 + before_month + day - 1 - DAYS_BEFORE_1970
