"""excessive-max-skew in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.check import Check, Seen, concerns


def checks(seen: Seen) -> Iterator[Check]:
    """Yield the check of maxSkew."""
    most = seen.parameter("maxSkew")
    yield Check(
        field="maxSkew",
        items=seen.constraints_where(f"c.maxSkew > {most} && {concerns(seen)}"),
        message=f"'must be at most ' + string({most}) + ', but is ' + string(c.maxSkew)",
        found="string(c.maxSkew)",
        fix=f"'write maxSkew: ' + string({most})",
        extent="c.maxSkew",
        named=True,
    )
