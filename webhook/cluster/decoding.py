"""
Decodes pages and events of an API server: of each object only the fields that `read_object` reads.

The rest of an object, most of its bytes, is passed over and never built. What does not have this form is decoded
whole, so that what is wrong with it is found where any other object is read.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from webhook.cluster.fields import OBJECT_FIELDS, FieldReader, event_form, form, page_form


class Decoding:
    """The fields of one reader: pages and events are decoded to raw JSON that has only those."""

    def __init__(self, reader: FieldReader) -> None:
        self.form = form(OBJECT_FIELDS, reader)
        self._page, self._event = (
            msgspec.json.Decoder(page_form(self.form)),
            msgspec.json.Decoder(event_form(self.form)),
        )

    def page(self, body: bytes) -> Any:
        """Return a page of a list.  ValueError or RecursionError if it cannot be parsed."""
        return _decoded(self._page, body)

    def event(self, line: bytes) -> Any:
        """Return an event of a watch, likewise."""
        return _decoded(self._event, line)


PLAIN, WITH_RESOURCES = Decoding(FieldReader.WEBHOOK), Decoding(FieldReader.WATCH_PODS)


def _decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return json.loads(body)
