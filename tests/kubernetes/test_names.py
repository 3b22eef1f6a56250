"""Names that people write into their objects: they must stay what they are."""

from __future__ import annotations

from webhook.kubernetes import names
from webhook.kubernetes.labels import label_key_errors


def test_the_names_are_those_that_are_documented():
    assert ("evenkeel.dev/ignore", "evenkeel.dev/skip") == (names.IGNORE_ANNOTATION, names.SKIP_LABEL)
    assert () == label_key_errors(names.SKIP_LABEL)
