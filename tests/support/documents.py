"""A text and what comes of reading it."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.scalars import DocumentError


class Case(NamedTuple):
    name: str
    text: str
    found: object  # the documents; or how the one line begins that refuses the text, "" where it does not matter


def assert_read(case: Case) -> None:
    assert json.dumps(case.found) == json.dumps(read_documents(case.text)), case.name


def assert_refused(case: Case) -> None:
    with pytest.raises(DocumentError) as caught:
        read_documents(case.text)

    assert str(caught.value).startswith(case.found)
    assert 1 == len(str(caught.value).splitlines())
