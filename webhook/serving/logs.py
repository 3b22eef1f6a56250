"""Logs JSON lines: a constant message and fields; a field never breaks the line."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from math import isfinite

from webhook.admission.decision import Decision, Outcome
from webhook.admission.defaulting import LEFT_OUT, Defaults, Undefaulted
from webhook.admission.request import AdmissionRequest
from webhook.objects.fields import texts_at
from webhook.objects.reading import brief

FIELD_LIMIT, MOST_ITEMS = 1_000, 100
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
    for name, least in (("", "WARNING"), ("evenkeel", level.upper()), ("gunicorn.error", level.upper())):
        found = logging.getLogger(name)
        found.handlers, found.propagate = [handler], False
        found.setLevel(least)


def log(level: int, message: str, /, **fields: object) -> None:
    """A line with `fields`; those that are None are left out."""
    if logger.isEnabledFor(level):
        given = {name: _bounded(value) for name, value in fields.items() if value is not None}
        # Not logger.log(), which would look for the line of code that called.
        logger.handle(logger.makeRecord(logger.name, level, "", 0, message, (), None, extra={"fields": given}))


def _bounded(value: object) -> object:
    """The value, shortened to fit a log line; requests can contain any type and size."""
    if isinstance(value, str):
        return value if len(value) <= FIELD_LIMIT else f"{value[: FIELD_LIMIT - 1]}…"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [_bounded(item) for item in value[:MOST_ITEMS]]
    number = (isinstance(value, float) and isfinite(value)) or (isinstance(value, int) and value.bit_length() < 64)
    return value if number else brief(value)


# The level and message of each outcome.
MESSAGES = {
    Outcome.ALLOWED: (logging.DEBUG, "allowed"),
    Outcome.WARNED: (logging.DEBUG, "warned"),
    Outcome.DEFAULTED: (logging.INFO, "defaulted"),
    Outcome.DENIED: (logging.INFO, "denied"),
    Outcome.WOULD_BE_DENIED: (logging.INFO, "would be denied"),
    Outcome.NOT_JUDGED: (logging.INFO, "not judged"),
    Outcome.ERROR: (logging.INFO, "not judged"),
}
LEFT_OUT_MESSAGE = (logging.INFO, "defaults left out")


def log_decision(request: AdmissionRequest, decision: Decision) -> None:
    """
    One line for each request that was or would be denied, given defaults or not judged.

    Other requests are logged at debug.
    """
    given = decision.defaulted
    left_out = isinstance(given, Undefaulted) and given.reason in LEFT_OUT
    level, message = LEFT_OUT_MESSAGE if left_out else MESSAGES[decision.outcome]
    if not logger.isEnabledFor(level):
        return
    name, generate_name = texts_at(request.obj, "metadata.name", "metadata.generateName")
    log(
        level,
        message,
        uid=request.uid,
        phase=request.phase,
        namespace=request.namespace or None,
        name=name or request.name or None,
        generateName=generate_name or None,
        owner=request.owner.kind if request.owner is not None else "none",
        kind=request.kind[1] or None,
        operation=request.operation or None,
        allowed=None if decision.allowed else False,
        rules=sorted({finding.rule for finding in decision.findings}) or None,
        defaulted=list(given.source) if isinstance(given, Defaults) else None,
        error=decision.error or (str(given) if left_out else None),
    )
