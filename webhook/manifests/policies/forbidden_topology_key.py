"""forbidden-topology-key in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import in_order, shown
from webhook.manifests.check import IS_HARD, CelCheck, CelObject


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of topologyKey."""
    forbidden, allowed = obj.parameter("topologyKeys"), obj.parameter("allowedTopologyKeys")
    among_allowed = f"'use one of ' + {in_order(allowed)}.join(', ')"
    other = f"'use a key other than ' + {in_order(forbidden)}.join(', ')"
    yield CelCheck(
        field="topologyKey",
        items=obj.constraints_where(
            f"c.topologyKey in {forbidden} || ({allowed}.size() > 0 && !(c.topologyKey in {allowed}))"
        ),
        message=f"'the policy does not allow ' + {shown('c.topologyKey')}",
        found="''",
        fix=f"{allowed}.size() > 0 ? {among_allowed} : {other}",
        extent=IS_HARD,
        named=True,
    )
