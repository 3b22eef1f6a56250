"""Logs JSON lines: a constant message and fields; a field never breaks the line."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from math import isfinite

FIELD_LIMIT = 1_000  # Characters.
MOST_ITEMS = 100  # Of a list.
logger = logging.getLogger("evenkeel")
_encode = json.JSONEncoder(default=str).encode


class JsonLines(logging.Formatter):
    """One JSON object a line; ASCII only, so that nothing in it can end the line or colour a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **fields,
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line)


def configure(level: str) -> None:
    """Send everything to stderr as JSON lines: gunicorn's own messages, too, and the warnings of all libraries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, lowest in (("", "WARNING"), ("evenkeel", level.upper()), ("gunicorn.error", level.upper())):
        named_logger = logging.getLogger(name)
        named_logger.handlers, named_logger.propagate = [handler], False
        named_logger.setLevel(lowest)


def log(level: int, message: str, /, **fields: object) -> None:
    """Log a line with `fields`; those that are None are left out."""
    if logger.isEnabledFor(level):
        bounded = {name: _bounded(value) for name, value in fields.items() if value is not None}
        # Not logger.log(), which would look up the calling line of code.
        logger.handle(logger.makeRecord(logger.name, level, "", 0, message, (), None, extra={"fields": bounded}))


def _bounded(value: object) -> object:
    """The value, shortened to fit a log line; requests can contain any type and size."""
    if isinstance(value, str):
        return value if len(value) <= FIELD_LIMIT else f"{value[: FIELD_LIMIT - 1]}…"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [_bounded(item) for item in value[:MOST_ITEMS]]
    if (isinstance(value, float) and isfinite(value)) or (isinstance(value, int) and value.bit_length() < 64):
        return value
    from webhook.kubernetes.reader import brief  # which the arbiter does not need

    return brief(value)
