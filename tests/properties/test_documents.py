"""Whatever a text holds, it is read or refused in words."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise

from hypothesis import example, given

from tests.properties.judging import at_most, fuzz
from tests.support import strategies as some
from webhook.kubernetes.documents import read_documents, read_objects
from webhook.kubernetes.scalars import DocumentError


@fuzz
@given(text=some.yaml_texts)
@example("&a [*a]")
@example('{"a": 1e400}')
@example(json.dumps(dict.fromkeys(map(str, range(100_000))))[:-1] + ', "0": 0}')
@example(json.dumps(dict.fromkeys(map(str, range(100_000))))[:-1] + ', "a": 0, "a": 0}')
@example(
    "a: &a {b: 1}\n" + "".join(f"{x}: &{x} {{<<: [{','.join([f'*{y}'] * 10)}]}}\n" for x, y in pairwise("abcdefghi"))
)
def test_a_text_is_read_or_refused_in_words(text):
    """What is read is JSON: it can be written again."""
    with suppress(DocumentError), at_most(seconds=5):
        json.dumps(read_documents(text), allow_nan=False)
        json.dumps(tuple(read_objects(text)), allow_nan=False)
