"""Times as Kubernetes writes them, `2026-01-31T10:00:00Z`."""

from __future__ import annotations

import re

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?Z", re.ASCII)
DAYS_BEFORE_1970 = 719_468  # from 1 March of the year 0, from which leap days are counted


def seconds_at(value: object) -> float | None:
    """The seconds since 1970 at a time in UTC; None for anything else."""
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)  # a year that ends with February
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - DAYS_BEFORE_1970
    return 86_400 * days + 3_600 * hour + 60 * minute + second + float(found[7] or 0)
