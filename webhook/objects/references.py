"""References from one object to another, and the names by which a person knows an object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webhook.objects.fields import as_list, text_of


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner reference with `controller: true`."""

    api_version: str
    kind: str
    name: str
    uid: str = ""


def controller_of(metadata: Mapping[str, object]) -> Owner | None:
    """metav1.GetControllerOf: the first owner reference with `controller: true`."""
    for reference in as_list(metadata.get("ownerReferences")):
        if isinstance(reference, dict) and reference.get("controller") is True:
            return Owner(*[text_of(reference.get(name)) for name in ("apiVersion", "kind", "name", "uid")])
    return None
