"""excessive-max-skew in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.check import CelCheck, CelObject, concerns


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of maxSkew."""
    most = obj.parameter("maxSkew")
    yield CelCheck(
        field="maxSkew",
        items=obj.constraints_where(f"c.maxSkew > {most} && {concerns(obj)}"),
        message=f"'must be at most ' + string({most}) + ', but is ' + string(c.maxSkew)",
        found="string(c.maxSkew)",
        fix=f"'write maxSkew: ' + string({most})",
        extent="c.maxSkew",
        named=True,
    )
