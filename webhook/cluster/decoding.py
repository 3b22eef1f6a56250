"""
Decodes pages and events of an API server: of each object only the fields that `read_view_object` reads.

The rest of an object, most of its bytes, is passed over and never built. What does not have this form is decoded
whole, so that the reader of objects finds what is wrong with it.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from webhook.cluster.read_fields import WATCHED_FIELDS, event_form, form, page_form

FORM = form(WATCHED_FIELDS)
_PAGE = msgspec.json.Decoder(page_form(FORM))
_EVENT = msgspec.json.Decoder(event_form(FORM))


def page(body: bytes) -> Any:
    """Decode a page of a list.  ValueError or RecursionError if it cannot be parsed."""
    return _decoded(_PAGE, body)


def event(line: bytes) -> Any:
    """Decode an event of a watch; errors as for `page`."""
    return _decoded(_EVENT, line)


def _decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return json.loads(body)
