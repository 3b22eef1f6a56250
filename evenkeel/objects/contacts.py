"""Whom to ask: labels and annotations that say whose something is."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.kubernetes.fields import Raw, mappings_at

CONTACTS = ("team", "owner", "contact")  # Names of labels and annotations, without their prefix.


def contacts_in(labels: Mapping[str, object]) -> dict[str, str]:
    """Return those of the labels or annotations that name a team, an owner or a contact."""
    return {
        name: value for name, value in labels.items() if isinstance(value, str) and name.rpartition("/")[2] in CONTACTS
    }


def contacts_of(obj: Raw) -> dict[str, str]:
    """Return the labels and annotations of an object that name a team, an owner or a contact."""
    annotations, labels = mappings_at(obj, ("metadata", "annotations"), ("metadata", "labels"))
    return contacts_in({**annotations, **labels})
