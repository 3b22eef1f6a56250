"""The errors of kube-apiserver for a Pod and for a Pod template, and the constraints that it stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.conformance.cases import CONSTRAINTS, Difference, compared, objects
from webhook.kubernetes.features import LATEST, Features
from webhook.kubernetes.fields import path_text, value_at
from webhook.kubernetes.labels import labels_of
from webhook.spread.constraint import as_stored, same
from webhook.spread.validation import validate

RECORDED = "validation.jsonl.gz"
CREATED_AS = (("podCreate", CONSTRAINTS, False), ("podTemplate", ("template", *CONSTRAINTS), True))


def differences(case: Mapping[str, object], features: Features) -> Iterator[Difference]:
    """
    Errors are compared as a multiset of type and field, the stored constraints as API objects.

    What is stored is read as the newest version reads it, so that a field counts that was switched off.
    """
    raw = value_at(case["pod"], CONSTRAINTS)
    labels = labels_of(value_at(case["pod"], ("metadata", "labels")))
    for what, path, merged in CREATED_AS:
        errors = validate(raw, labels, path, merged=merged, features=features)
        ours = sorted(f"{error.type} {path_text(error.path)}" for error in errors)
        yield from compared(case, what, ours, _errors)
    stored = as_stored(raw, labels, features)
    yield from compared(case, "afterPrepareForCreate", stored, objects, lambda *lists: same(*lists, LATEST))


def _errors(recorded: object, what: str) -> list[str]:
    return sorted(f"{error.get('type')} {error.get('field')}" for error in objects(recorded, what))
