"""A text is cut where its documents begin, and offsets lead to lines."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.lint.chunks import Chunk, NumberedLines, chunks
from evenkeel.lint.yaml_positions import spans
from webhook.kubernetes.documents import read_documents


def test_text_may_hold_what_looks_like_the_end_of_a_document():
    assert ["a: |\n  ---\n", "---\nb: 1"] == [one.text for one in chunks("a: |\n  ---\n---\nb: 1")]


class Cut(NamedTuple):
    name: str
    text: str
    starts: list[int]


CUTS = [
    Cut("nothing", "", []),
    Cut("one document", "a: 1\n", [0]),
    Cut("a document that begins at once", "---\na: 1\n---\nb: 1", [0, 9]),
    Cut("after a byte order mark", "\ufeffa: 1\n---\nb: 1", [1, 6]),
    Cut("dashes that begin a word", "---a: 1\n", [0]),
    Cut("a directive", "%YAML 1.1\n---\na: 1\n---\nb: 1", [0]),
    Cut("a directive further down", "a: 1\n...\n%YAML 1.1\n---\nb: 1", [0]),
    Cut("a percent sign in a line", "a: 1 %\n---\nb: 1", [0, 7]),
    Cut("dashes at the end", "a: 1\n---", [0, 5]),
    Cut("dashes before white space, and a word", "--- a: 1\n---\t|\n---b\n", [0, 9]),
    Cut("line ends of Windows", "a: 1\r\n---\r\nb: 1", [0, 6]),
]


@pytest.mark.parametrize("case", CUTS, ids=lambda case: case.name)
def test_a_text_is_cut_at(case):
    found = [*chunks(case.text)]

    assert case.starts == [one.start for one in found]
    assert all(case.text[one.start : one.end] == one.text for one in found)


def test_a_chunk_knows_the_template_that_helm_rendered_it_from():
    assert "cart/templates/db.yaml" == Chunk("---\n# Source: cart/templates/db.yaml\na: 1", 0).source
    assert "" == Chunk("a: 1  # Source: x", 0).source


def test_lines_and_columns_count_from_1():
    lines = NumberedLines("a\r\nbc\n\nd")

    assert [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1)] == [lines.position(at) for at in (0, 3, 4, 6, 7)]
    assert ["a", "bc", "", "d"] == [lines.line(number) for number in (1, 2, 3, 4)]


LITERAL = [
    "|\n    x: 1\n\n    yy: 2\n",
    "|-  # a comment\n   x: 1\n   yy: 2",
    "|2\n    x: 1\n    yy: 2\n\n",
    "|\r\n   x: 1\r\n   yy: 2\r\n",
]
OTHER = [">\n    x: 1\n\n    yy: 2\n", '"x: 1\\nyy: 2"', "'x: 1\n\n  yy: 2'", "&a |-\n   x: 1\n   yy: 2\n"]


def inside(written):
    """A text with a scalar in its second document, the chunk, and the text of the scalar as a chunk of its own."""
    text = f"b: 1\n---\n# first\na:\n  p: {written}"
    chunk = [*chunks(text)][1]
    (document,), (root,) = read_documents(chunk.text), spans(chunk.text, [("a", "p")])
    return text, chunk.inside(root.members["a"].members["p"], document["a"]["p"])


@pytest.mark.parametrize("written", LITERAL)
def test_what_stands_in_a_literal_scalar_has_its_own_place(written):
    text, found = inside(written)
    start = found.text.index("yy")
    first, last = found.place(start, start + 5)

    assert found.within
    assert "yy: 2" == text[first:last]
    assert text.index("x: 1") == found.place(found.text.index("x"), 0)[0]


@pytest.mark.parametrize("written", OTHER)
def test_what_stands_in_another_scalar_has_the_place_of_its_key(written):
    text, found = inside(written)

    assert "p" == text[slice(*found.place(1, 3))]


def test_a_chunk_itself_is_within_nothing():
    (found,) = chunks("a: 1")

    assert not found.within
    assert (1, 3) == found.place(1, 3)


@pytest.mark.parametrize("written", ["|\n    x: 1\n    ---\n    yy: 2\n", '"x: 1\\n---\\nyy: 2"'])
def test_a_document_of_a_text_within_a_scalar_has_its_place(written):
    text, whole = inside(written)
    first, second = map(whole.part, chunks(whole.text))
    start = second.text.index("yy")
    place = text[slice(*second.place(start, start + 5))]

    assert first.within
    assert second.within
    assert place == ("yy: 2" if written.startswith("|") else "p")
