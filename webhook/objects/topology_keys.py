"""The well-known topology keys, and which of them a key that is nearly one was probably meant to be."""

from __future__ import annotations

from functools import lru_cache

from webhook.objects.likeness import within
from webhook.objects.names import BETA_REGION, BETA_ZONE, HOSTNAME, REGION, ZONE

WELL_KNOWN = (HOSTNAME, ZONE, REGION, "node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os")
MISTAKES = {
    "hostname": HOSTNAME,
    "topology.kubernetes.io/hostname": HOSTNAME,
    "topology.kubernetes.io/node": HOSTNAME,
    "failure-domain.beta.kubernetes.io/hostname": HOSTNAME,
    "beta.kubernetes.io/hostname": HOSTNAME,
    "node.kubernetes.io/hostname": HOSTNAME,
    "kubernetes.io/host": HOSTNAME,
    "kubernetes.io/zone": ZONE,
    BETA_ZONE: ZONE,
    "failure-domain.kubernetes.io/zone": ZONE,
    "node.kubernetes.io/zone": ZONE,
    "kubernetes.io/region": REGION,
    BETA_REGION: REGION,
    "failure-domain.kubernetes.io/region": REGION,
    "node.kubernetes.io/region": REGION,
}


def likely_meant(key: str) -> str | None:
    """Return the well-known key that `key` was probably meant to be; None if it is one itself, or a key of its own."""
    if key in WELL_KNOWN or len(key) > 60:
        return None
    return MISTAKES.get(key.lower().strip()) or (_near(key) if "/" in key else None)


@lru_cache(maxsize=1024)
def _near(key: str) -> str | None:
    return next((known for known in WELL_KNOWN if within(2 if len(known) > 16 else 1, key.lower(), known)), None)
