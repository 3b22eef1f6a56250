"""A byte order mark says how bytes are read, and stays when they are written again."""

from __future__ import annotations

import pytest

from webhook.documents.encodings import encoding

TEXT = "\ufeffa: é😀\r\n"


@pytest.mark.parametrize("name", ["utf-8", "utf-16-le", "utf-16-be"])
def test_a_text_survives_with_its_mark(name):
    content = TEXT.encode(name)

    assert name == encoding(content)
    assert content == content.decode(encoding(content)).encode(encoding(content))


@pytest.mark.parametrize("content", [b"", b"a: 1", b"\xff", "a: é".encode()])
def test_without_a_mark_it_is_utf_8(content):
    assert "utf-8" == encoding(content)
