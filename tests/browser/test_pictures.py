"""The pictures of the pages in a real browser: no text is cut off, and none lies on another, in light and dark."""

from __future__ import annotations

import pytest

from tests.generate.concepts import DRAWINGS
from tests.support import ROOT

# The box of the picture, and each text with its own.
BOXES = """() => {
  const box = (shown) => {
    const { left, top, right, bottom } = shown.getBoundingClientRect();
    return [left, top, right, bottom];
  };
  const texts = Array.from(document.querySelectorAll("text"));
  return [box(document.documentElement), texts.map((text) => [text.textContent, box(text)])];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("file", DRAWINGS)
def test_each_text_is_within_the_picture_and_on_no_other(opened, file, scheme):
    picture, texts = opened(ROOT / file, scheme=scheme).evaluate(BOXES)

    assert texts
    assert [] == [text for text, box in texts if not _within(box, picture)]
    assert [] == [
        (text, other)
        for at, (text, box) in enumerate(texts)
        for other, beside in texts[at + 1 :]
        if _overlap(box, beside)
    ]


def _within(box, picture):
    left, top, right, bottom = box
    return picture[0] <= left and picture[1] <= top and right <= picture[2] and bottom <= picture[3]


def _overlap(box, other):
    """Whether they share more than the edges of their lines."""
    across = min(box[2], other[2]) - max(box[0], other[0])
    down = min(box[3], other[3]) - max(box[1], other[1])
    return across > 1 and down > 3
