"""absent-match-label-key in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import shown
from webhook.manifests.check import IS_HARD, KEYS, REVISION_KEY, CelCheck, CelObject, first_where
from webhook.objects.names import TEMPLATE_HASH


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of matchLabelKeys, and that of the key for which another rule is made."""
    absent = f"!(k in {obj.labels} || k in {obj.added})"
    yield _check(obj, KEYS, f"k != '{TEMPLATE_HASH}' && {absent}")
    yield _check(obj, REVISION_KEY, f"k == '{TEMPLATE_HASH}' && {absent}")


def _check(obj: CelObject, field: str, absent: str) -> CelCheck:
    key = first_where("c.matchLabelKeys", absent)
    return CelCheck(
        field=field,
        items=obj.constraints_for_keys(absent),
        message=f"'is ignored: the Pod has no label ' + {shown(key)}",
        found="''",
        fix="'remove the key, or correct its name'",
        place=f"'matchLabelKeys[' + string(c.matchLabelKeys.indexOf({key})) + ']'",
        extent=IS_HARD,
        named=True,
    )
