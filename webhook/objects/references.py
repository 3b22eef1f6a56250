"""References from one object to another, and the names by which a person knows an object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webhook.objects.fields import texts_in


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner reference with `controller: true`."""

    api_version: str
    kind: str
    name: str
    uid: str = ""


def controller_of(metadata: Mapping[str, object]) -> Owner | None:
    """metav1.GetControllerOf: the first owner reference with `controller: true`."""
    references = metadata.get("ownerReferences")
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True:
            return Owner(*texts_in(reference, "apiVersion", "kind", "name", "uid"))
    return None
