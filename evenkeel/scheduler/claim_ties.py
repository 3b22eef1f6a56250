"""Claims that leave a Pod one domain, whatever nodes join: that of their volume, or the only one of their class."""

from __future__ import annotations

from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.storage import NO_STORAGE
from evenkeel.scheduler.volumes import Mounts
from webhook.findings.room import Tie
from webhook.spread.affinity import ANY_NODE
from webhook.spread.nodes import union


def tie(snapshot: Snapshot, mounts: Mounts, topology_key: str) -> Tie | None:
    """Return the first claim that leaves the Pod one domain of a topology key; None if each leaves more, or any."""
    storage, nodes = snapshot.storage or NO_STORAGE, snapshot.nodes
    for volume in mounts.claims:
        claim = storage.claim(mounts.namespace, volume.claim)
        if claim is None:
            continue
        bound, of_class = storage.volumes.get(claim.volume_name), storage.classes.get(claim.class_name)
        terms = bound.terms if bound is not None else of_class.allowed if of_class is not None else None
        domains = ANY_NODE._replace(terms=terms).values(topology_key)
        if domains is None and terms:
            domains = nodes.placed(topology_key, union(term.matching(nodes) for term in terms)).all
        if domains is not None and len(domains) == 1:
            return Tie(volume.claim, *domains)
    return None
