"""The way back to even as text and JSON: the commands to run one after the other, and why there are no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from evenkeel.placement.kubectl_commands import Command, deleting
from evenkeel.report.inventory import LiveWorkload
from evenkeel.simulate import moves
from evenkeel.simulate.moves import Hindrance, Move, WayBack
from evenkeel.terminal.json_forms import fields
from webhook.findings.wording import LINE_LIMIT, NAME_LIMIT, domain_word, first_of, number_of, one_line

PATIENCE = 600  # seconds for a Pod to become available, besides minReadySeconds
MOST_DOMAINS = 3


def delete_command(live: LiveWorkload, move: Move, options: Sequence[str] = ()) -> str:
    return str(Command((*deleting(live.ref.namespace, move.pod).arguments, *options)))


def wait_commands(live: LiveWorkload, move: Move, options: Sequence[str] = ()) -> list[str]:
    """
    Return commands that end once the Pod that is made for a deleted one is available.

    A controller counts a Pod of a Deployment no longer as soon as it terminates, which `kubectl delete` waits for.  One
    of a StatefulSet counts until it is gone, but its successor has the same name.
    """
    number = wait_for(live, move.available, options)
    if live.ref.kind != "StatefulSet":
        return [number]
    successor = [_wait(live, f"pod/{move.pod}", condition, options) for condition in ("create", "condition=Ready")]
    return [*successor, number] if _min_ready_seconds(live) else successor


def wait_for(live: LiveWorkload, available: int, options: Sequence[str] = ()) -> str:
    """Return the command that ends once so many Pods of a workload are available."""
    return _wait(live, live.ref.in_kubectl, f"jsonpath={{.status.availableReplicas}}={available}", options)


def _wait(live: LiveWorkload, waited_for: str, condition: str, options: Sequence[str]) -> str:
    where = ("-n", live.ref.namespace, f"--timeout={PATIENCE + _min_ready_seconds(live)}s")
    return str(Command(("wait", waited_for, f"--for={condition}", *where, *options)))


def _min_ready_seconds(live: LiveWorkload) -> int:
    return live.written.min_ready_seconds if live.written is not None else 0


def lines(live: LiveWorkload, way: WayBack, options: Sequence[str] = ()) -> Iterator[str]:
    """
    Yield the commands, each deletion with what it does in a comment of the shell.

    `options`: of kubectl, that say which cluster it is in.
    """
    if way.moves:
        yield wait_for(live, way.available, options)  # The moves are found for what has settled.
    for move in way.moves:
        where = f"{domain_word(move.key)} {move.domain} to {_or(move.to_domains)}"
        yield f"{delete_command(live, move, options)}  # {where}, skew {move.skew_before:,} to {move.skew_after:,}"
        yield from wait_commands(live, move, options)


def heading(ways: Iterable[WayBack]) -> str:
    """Return how to use the commands, if there are any: each way is found with all other workloads as they are now."""
    if not any(way.moves for way in ways):
        return "The way back to even:"
    return (
        "The way back to even. Run the commands of one workload, one after the other, and stop if one fails. Then "
        "report again before those of another:"
    )


def title(live: LiveWorkload, way: WayBack) -> str:
    """Return what comes of the moves, and why there are no more."""
    deletions = number_of(len(way.moves), "deletion")
    if way.hindrance is None:
        return deletions
    return f"{f'{deletions}, then none' if way.moves else 'no deletion'} helps: {hindrance_words(live, way.hindrance)}"


def hindrance_words(live: LiveWorkload, hindrance: Hindrance) -> str:
    """Return why there is no further move, with the numbers that are known."""
    words = WORDS[hindrance.reason](hindrance)
    if hindrance.reason == moves.NOT_SIMULATED and not hindrance.detail:
        words = _NOT_MADE_AGAIN.get(live.ref.kind, words)
    return one_line(words, LINE_LIMIT * 2)


def _emptiest(hindrance: Hindrance) -> str:
    return f"{domain_word(hindrance.key)} {_or(hindrance.domains)}"


def _or(domains: Sequence[str]) -> str:
    return first_of(domains, MOST_DOMAINS, NAME_LIMIT).replace(", ", " or ")


_NOT_MADE_AGAIN: Mapping[str, str] = {
    "DaemonSet": "the Pods of a DaemonSet are tied to their nodes",
    "Job": "a Job counts a deleted Pod as failed",
    "Pod": "nothing makes the Pod again",
}
WORDS: Mapping[str, Callable[[Hindrance], str]] = {
    moves.UNDER_WAY: lambda _: "a rollout is not finished; report again once it is",
    moves.FORCED: lambda found: (
        f"the hard constraint on {found.detail} allows no smaller skew of {found.key} for so many Pods"
    ),
    moves.TOO_FEW_DOMAINS: lambda found: f"{found.key} has fewer domains than minDomains, so their fewest Pods are 0",
    moves.OTHER_PODS: lambda found: f"the fullest domains of {found.key} have no Pods of its own",
    moves.BUDGET: lambda found: f"PodDisruptionBudgets allow no eviction of {found.pod} ({found.detail})",
    moves.ROOM: lambda found: f"{_emptiest(found)} has too little room for {found.pod}: {found.detail}",
    moves.CLAIM: lambda found: f"no node in {_emptiest(found)} reaches what {found.pod} claims: {found.detail}",
    moves.CONSTRAINT: lambda found: (
        f"the constraint on {found.detail} keeps {found.pod} out of {_emptiest(found)}"
        if found.domains
        else f"without {found.pod} where it is, the skew of {found.detail} would grow"
    ),
    moves.CLOSED: lambda found: f"no node in {_emptiest(found)} takes {found.pod}: {found.detail}",
    moves.PUT_BACK: lambda found: (
        f"kube-scheduler may put {found.pod} back: it does not prefer the nodes in {_emptiest(found)}"
    ),
    moves.NEIGHBOUR: lambda found: f"{found.detail} also counts {found.pod}, and would be less even",
    moves.WAITS: lambda found: f"the Pod that is made for {found.pod} may wait",
    moves.NOT_SIMULATED: lambda found: found.detail or "the controller that makes its Pods is not simulated",
}


def as_json(live: LiveWorkload, way: WayBack | None, options: Sequence[str] = ()) -> dict[str, object] | None:
    if way is None:
        return None
    hindrance = way.hindrance
    return {
        "even": hindrance is None,
        "wait": wait_for(live, way.available, options) if way.moves else None,
        "steps": [
            {
                **fields(move, "pod", "node"),
                "topologyKey": move.key,
                "from": move.domain,
                "to": list(move.to_domains),
                **fields(move, "skew_before", "skew_after"),
                "delete": delete_command(live, move, options),
                "wait": wait_commands(live, move, options),
            }
            for move in way.moves
        ],
        "reason": hindrance.reason if hindrance is not None else None,
        "message": hindrance_words(live, hindrance) if hindrance is not None else None,
    }
