"""A finding stands at its field, or at what lacks it, in one line."""

from __future__ import annotations

import pytest

from evenkeel.lint.chunks import NumberedLines, chunks
from evenkeel.lint.places import placed
from evenkeel.lint.results import Address
from evenkeel.lint.yaml_positions import spans
from webhook.findings.finding import Finding, Severity

TEXT = """\
# Source: web/a.yaml
spec:
  list:
  - a: 1
    b:
      c: d
  text: "é"
"""


@pytest.mark.parametrize(
    ("path", "place", "absent"),
    [
        (("spec", "list", 0, "a"), (4, 5, 9), ""),
        (("spec", "text"), (7, 3, 12), ""),
        (("spec", "list", 0, "b"), (5, 5, 6), ""),
        (("spec", "list", 0, "b", "x", "y"), (5, 5, 6), "x.y"),
        (("spec", "list", 0, "x"), (4, 3, 9), "x"),
        (("x",), (2, 1, 6), "x"),
    ],
)
def test_a_finding_is_placed_at_its_field_or_at_what_lacks_it(path, place, absent):
    (chunk,), finding = chunks(TEXT), Finding("a-rule", Severity.INFO, path[1:], "", "", "", "")
    (root,) = spans(TEXT, [path])
    address = Address(0, len(TEXT), 0, path[:1])
    located = placed("a.yaml", NumberedLines(TEXT), chunk, root, address, finding, None, "")

    assert (place, absent) == ((located.line, located.column, located.end_column), located.absent)
    assert ("web/a.yaml", address) == (located.source, located.address)
