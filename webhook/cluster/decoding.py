"""
Decodes pages and events of an API server: of each object only the fields that `read_view_object` reads.

The rest of an object, most of its bytes, is passed over and never built. What does not have this form is decoded
whole, so that what is wrong with it is found where any other object is read.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from webhook.cluster.read_fields import WATCHED_FIELDS, event_form, form, page_form

FORM = form(WATCHED_FIELDS)
_PAGE, _EVENT = (msgspec.json.Decoder(form_of(FORM)) for form_of in (page_form, event_form))


def page(body: bytes) -> Any:
    """Return a page of a list.  ValueError or RecursionError if it cannot be parsed."""
    return _decoded(_PAGE, body)


def event(line: bytes) -> Any:
    """Return an event of a watch, likewise."""
    return _decoded(_EVENT, line)


def _decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return json.loads(body)
