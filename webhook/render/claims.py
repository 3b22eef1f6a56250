"""The claims of a Pod in words: what each is bound to, and on which nodes that leaves the Pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.objects.names import HOSTNAME
from webhook.placement.claims import ClaimReach

MOST_PLACES = 5


def claim_rows(claims: Sequence[ClaimReach], number: int) -> Iterator[tuple[str, str, str]]:
    """Yield for each claim its name, its state, and the nodes that it leaves, of so many."""
    for reach in claims:
        left = reach.nodes.bit_count()
        nodes = f"{left:,} of {number:,} node{'' if number == 1 else 's'}" if left < number else "any node"
        place = places(reach)
        yield f"claim {reach.name}", state(reach), f"{nodes}{f' ({place})' if place else ''}"


def places(reach: ClaimReach) -> str:
    """Return where the nodes are that a claim leaves, such as `zone a`; "" for any node, or none."""
    if not reach.domains:
        return ""
    named = "node" if reach.key == HOSTNAME else reach.key.rpartition("/")[2]
    more = f" and {len(reach.domains) - MOST_PLACES:,} more" if len(reach.domains) > MOST_PLACES else ""
    return f"{named} {', '.join(reach.domains[:MOST_PLACES])}{more}"


def state(reach: ClaimReach) -> str:
    """Return what a claim is bound to, or would be."""
    claim = reach.claim
    if claim is None:
        return "is not there"
    if claim.lost:
        return f"has lost its volume {claim.volume_name}"
    if claim.deleting:
        return "is being deleted"
    if claim.bound:
        return f"bound to {claim.volume_name}{'' if reach.volume is not None else ', which is not there'}"
    if reach.of_class is None:
        named = f"class {claim.class_name}, which is not there" if claim.class_name else "no class"
        return f"not bound, of {named}"
    if claim.volume_name:
        return f"not bound yet to {claim.volume_name}"
    if not reach.of_class.waits:
        return f"not bound: class {claim.class_name} binds it before its Pod is placed"
    new = "new, " if claim.expected else ""
    if not reach.nodes:
        return f"{new}waits for its Pod; no node has a volume for it"
    if reach.free:
        more = f" or {len(reach.free) - 1:,} more" if len(reach.free) > 1 else ""
        return f"{new}waits for its Pod, to be bound to {reach.free[0]}{more}"
    return f"{new}waits for its Pod; class {claim.class_name} makes its volume there"


def claim_remarks(claims: Sequence[ClaimReach]) -> Iterator[str]:
    """Yield what the API does not show of claims that wait."""
    for reach in claims:
        if reach.free or reach.capacity:
            what = "these volumes" if reach.free else "this storage"
            yield f"kube-scheduler may just have given {what} to another Pod: the API does not show that at once"
            return


def as_json(reach: ClaimReach, nodes: Sequence[str]) -> dict[str, object]:
    """Return a claim for programs; `nodes` are the names of those that it leaves."""
    claim = reach.claim
    return {
        "name": reach.name,
        "class": claim.class_name if claim is not None else "",
        "volume": claim.volume_name if claim is not None else "",
        "bound": claim is not None and claim.bound,
        "state": state(reach),
        "topologyKey": reach.key,
        "domains": list(reach.domains),
        "nodes": list(nodes),
    }
