"""The claims of a Pod in words: what each is bound to, and on which nodes that leaves the Pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evenkeel.placement.claims import ClaimReach, VolumeGap
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.storage import CLAIMS, NO_STORAGE, PERSISTENT_VOLUMES
from webhook.findings.wording import domain_word, first_of, number_of


def claim_rows(claims: Sequence[ClaimReach], number: int) -> Iterator[tuple[str, str, str]]:
    """Yield for each claim its name, its state, and how many of so many nodes it leaves to the Pod."""
    for reach in claims:
        nodes_left = reach.nodes.bit_count()
        nodes = f"{nodes_left:,} of {number_of(number, 'node')}" if nodes_left < number else "any node"
        if not reach.judged:
            nodes = "not judged"
        place = places(reach)
        yield title(reach.name), state(reach), f"{nodes}{f' ({place})' if place else ''}"


def title(name: str) -> str:
    """
    Return what a claim is called.

    That of an ephemeral volume is named after its Pod.  Before the Pod has a name it is `-` and the volume's name.
    """
    return f"claim of volume {name[1:]}" if name.startswith("-") else f"claim {name}"


def places(reach: ClaimReach) -> str:
    """Return where the nodes are that a claim leaves, such as `zone a`; "" for any node, or none."""
    if not reach.domains:
        return ""
    return f"{domain_word(reach.key)} {first_of(reach.domains)}"


def state(reach: ClaimReach) -> str:
    """Return what a claim is bound to, or would be."""
    claim = reach.claim
    if claim is None:
        return "does not exist" if reach.judged else "is not known"
    if claim.lost:
        return f"has lost its volume {claim.volume_name}"
    if claim.deleting:
        return "is being deleted"
    if reach.foreign:
        return "belongs to another Pod"
    wanted_labels = " and ".join(f"{key}={value}" for key, value in reach.wanted.items())
    if wanted_labels:
        if claim.bound:
            return f"bound to {claim.volume_name}, which no node reaches; a node with {wanted_labels} would"
        return f"waits for its Pod; its volume can be created on no node; a node with {wanted_labels} would be one"
    if claim.bound:
        missing = reach.judged and reach.volume is None
        return f"bound to {claim.volume_name}{', which does not exist' if missing else ''}"
    if reach.of_class is None and not reach.judged:
        return f"not bound, of class {claim.class_name}" if claim.class_name else "not bound"
    if reach.of_class is None:
        return (
            f"not bound, of class {claim.class_name}, which does not exist"
            if claim.class_name
            else "not bound, without a class"
        )
    if claim.volume_name:
        return f"not bound yet to {claim.volume_name}"
    if not reach.of_class.waits:
        return f"not bound yet: class {claim.class_name} does not wait for the Pod; see the events of the claim"
    if claim.selected_node and not reach.nodes:
        return f"its volume is being created for node {claim.selected_node}"
    waits = f"{'new, ' if claim.expected else ''}waits for its Pod"
    if not reach.nodes:
        return f"{waits}; no node has a volume for it"
    creates = f"class {claim.class_name} creates its volume"
    if reach.free:
        more = f" or one of {len(reach.free) - 1:,} others" if len(reach.free) > 1 else ""
        elsewhere = f"; on other nodes {creates}" if reach.makes_volume else ""
        return f"{waits}, to be bound to {reach.free[0]}{more}{elsewhere}"
    return f"{waits}; {creates} there"


def gap_remarks(gaps: Iterable[VolumeGap]) -> Iterator[str]:
    """Yield which resources are missing, so that volumes are not judged."""
    for gap in gaps:
        if gap.unread:
            yield f"{gap.what}: {_unread(gap.unread)}"


def notes_on_pins(snapshot: Snapshot) -> Iterator[str]:
    """Yield which resources are missing, so that it is not known where claims pin Pods."""
    unread = (snapshot.storage or NO_STORAGE).unread & {CLAIMS, PERSISTENT_VOLUMES}
    if unread:
        yield f"The nodes to which claims tie Pods are not known: {_unread(unread)}."


def _unread(resources: Iterable[str]) -> str:
    hint = "cannot be listed, or are not in the file; use evenkeel dump, which also says if the cluster has none"
    return f"{' and '.join(sorted(resources))} {hint}"


def claim_remarks(claims: Sequence[ClaimReach]) -> Iterator[str]:
    """Yield that another Pod may just have taken volumes or storage: the API shows that late."""
    for reach in claims:
        if reach.free or reach.takes_capacity:
            what = "these volumes" if reach.free else "this storage"
            shown_late = "the API does not show that at once; ask again in a minute"
            yield f"kube-scheduler may just have given {what} to another Pod: {shown_late}"
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
        "judged": reach.judged,
        "topologyKey": reach.key,
        "domains": reach.domains,
        "nodes": nodes,
    }
