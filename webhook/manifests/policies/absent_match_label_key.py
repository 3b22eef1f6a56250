"""absent-match-label-key in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import cut, in_order, shown
from webhook.manifests.check import Check, Seen, first_where


def checks(seen: Seen) -> Iterator[Check]:
    """Yield the check of matchLabelKeys."""
    absent = f"!(k in {seen.labels} || k in {seen.added})"
    key = first_where("c.matchLabelKeys", absent)
    carried = cut(
        f"'[' + {in_order(f'{seen.first_label_keys} + {seen.added}')}.map(n, strings.quote(n)).join(', ') + ']'", 100
    )
    yield Check(
        field="matchLabelKeys",
        items=seen.constraints_where(f"c.?matchLabelKeys.orValue([]).exists(k, {absent})"),
        message=f"'is ignored: the Pod has no label ' + {shown(key)}",
        found="''",
        fix=f"'name one of ' + {carried} + ', or remove the key'",
        place=f"'matchLabelKeys[' + string(c.matchLabelKeys.indexOf({key})) + ']'",
        named=True,
    )
