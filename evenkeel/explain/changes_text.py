"""The changes that would let a Pod run: what each comes to, and the commands and lines of YAML that make it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evenkeel.admit.text import dump
from evenkeel.explain.explained import Explained, Proposal
from evenkeel.objects.workload_object import IF_DELETED, IF_RESUMED, OF_NEXT_JOB, UNCHANGEABLE, reach_of_template
from evenkeel.placement.kubectl_commands import JsonPatch
from evenkeel.placement.node_makers import by_itself
from evenkeel.placement.remedies import IN_TEMPLATE, NOW
from evenkeel.placement.subject import POLICY
from evenkeel.simulate.rollout_check import MOST_PLACEMENTS, Rollout
from evenkeel.simulate.waiting import Runs
from evenkeel.terminal.style import Look, Styled, TextLine
from webhook.findings.wording import first_of, number_of, range_of
from webhook.kubernetes.fields import FieldPath, path_text, pointer_parts

LAST_RESORT = "if all else fails, since these nodes are perhaps not for this Pod, or may come back"
LAST = "last, because the data of the claim is lost"
NOT_ENOUGH = "tried, and not enough"
MOST_NAMES = 5  # nodes that are named; of more, only the number


def changes(explained: Explained, *, patch: bool) -> Iterator[TextLine]:
    """Yield the changes by where they are made, and how to make the first of them."""
    proposals = explained.proposals
    if not proposals:
        yield "No change that evenkeel tried lets it run, and no two changes together."
        return
    preemption = explained.explanation.preemption
    instead = "Instead of preemption, any" if preemption is not None and preemption.helps else "Any"
    if all(proposal.futile for proposal in proposals):
        yield "No change that evenkeel tried is enough."
    else:
        yield Styled(Look.NAME, f"{instead} one of these changes would let it run (each was tried):")
    width = max(len(proposal.remedy.change) for proposal in proposals)
    for title, rows in remedies_by_place(explained):
        yield title
        yield from (f"  {change:<{width}}   -> {outcome}" for change, outcome in rows)
    yield from _how(proposals, explained.again, patch=patch)


def _how(proposals: Sequence[Proposal], again: str, *, patch: bool) -> Iterator[TextLine]:
    """
    Yield how to make the first changes: those in the cluster, and one in the template.

    `again`: the command that has explained the Pod.
    """
    with_commands = [proposal for proposal in proposals if proposal.commands and not proposal.futile]
    in_template = _in_place(with_commands, IN_TEMPLATE)[:1]
    shown = _in_place(with_commands, NOW) + in_template
    for proposal in shown:
        yield ""
        yield Styled(Look.NAME, f"{proposal.remedy.change}:")
        for command in proposal.commands:
            if command.patch is None or (patch and command.arguments):
                yield f"  {command}"
            else:
                yield f"  in {command.patch.ref.kind}/{command.patch.ref.name}:"
                yield from (f"    {line}" for line in yaml_lines(command.patch))
    can_patch = any(command.patch and command.arguments for proposal in in_template for command in proposal.commands)
    hints = [f"To change the template with kubectl: {again} --patch"] if can_patch and not patch else []
    if any(
        proposal not in shown and all(command.arguments for command in proposal.commands) for proposal in with_commands
    ):
        hints.append(f"For the commands of the other changes: {again} -o json")
    if hints:
        yield ""
        yield from hints


def _in_place(proposals: Iterable[Proposal], where: str) -> list[Proposal]:
    return [proposal for proposal in proposals if _place(proposal) == where]


def _place(proposal: Proposal) -> str:
    remedy = proposal.remedy
    if proposal.futile:
        return NOT_ENOUGH
    if remedy.loses_data:
        return LAST
    return LAST_RESORT if remedy.last_resort else remedy.where


def remedies_by_place(explained: Explained) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    """Yield each place where changes are made, with the changes, and what each comes to."""
    titles = {
        NOW: "now",
        IN_TEMPLATE: _template(explained, _price(explained)),
        LAST_RESORT: LAST_RESORT,
        LAST: LAST,
        NOT_ENOUGH: NOT_ENOUGH,
    }
    for where, title in titles.items():
        if proposals := _in_place(explained.proposals, where):
            yield title, [(proposal.remedy.change, _come_to(proposal, explained.stuck)) for proposal in proposals]


def _come_to(proposal: Proposal, stuck: int) -> str:
    """Return what a change comes to: the nodes that take the Pod, its rollout, and the Pods that run then."""
    parts: list[str] = []
    if not proposal.futile:
        parts.append(names_or_number(proposal.remedy.nodes))
    parts.append(by_itself(proposal.remedy))
    if proposal.rollout is not None:
        parts.append(_rolled_out(proposal.rollout))
    if proposal.runs is not None and (stuck > 1 or proposal.runs.least < stuck):
        parts.append(run_then(proposal.runs, stuck))
    return "; ".join(filter(None, parts))


def names_or_number(nodes: Sequence[str]) -> str:
    """Return the names of nodes, or of many their number."""
    return first_of(nodes) if len(nodes) <= MOST_NAMES else number_of(len(nodes), "node")


def run_then(runs: Runs, stuck: int) -> str:
    """Return in words how many of the `stuck` Pods run in the end."""
    least, most = runs
    if stuck == 1:
        return "it then runs" if least else "it then runs if kube-scheduler tries it before other Pods"
    if least == stuck:
        return f"{'both' if stuck == 2 else f'all {stuck:,}'} waiting Pods then run"
    number = range_of(least, most)
    return f"{number} of {stuck:,} waiting Pods then {'runs' if number == '1' else 'run'}"


def _rolled_out(rollout: Rollout) -> str:
    """Return how the rollout that a change starts ends: all Pods run, or some wait; or why that is not known."""
    limit = f"the limit of {MOST_PLACEMENTS:,} simulated placements was reached"
    if not rollout.known:
        return f"its rollout was not simulated: {limit}"
    fewer = f" (in {rollout.runs} runs: {limit})" if rollout.runs < rollout.wanted_runs else ""
    if rollout.finishes == 1:
        return f"{'the Pod runs' if rollout.replicas == 1 else f'all {rollout.replicas:,} Pods run'} in the end{fewer}"
    if rollout.replaced == 1:
        return f"all {rollout.replicas:,} Pods run in the end, if you delete the Pods that wait now{fewer}"
    waiting = rollout.pending
    wait = range_of(waiting.least, waiting.most)
    in_some_runs = (
        "" if rollout.finishes == 0 else f" in {1 - rollout.finishes:.0%} of {rollout.runs} runs".replace("%", " %")
    )
    where = in_some_runs or " on the nodes that are there"
    return f"its rollout does not finish{where}: {wait} {'Pod waits' if wait == '1' else 'Pods wait'}{fewer}"


def _template(explained: Explained, rollout: str) -> str:
    """Return where the Pod's own fields are changed, and what that entails; `rollout`: in words, for a rollout."""
    subject = explained.subject
    if explained.source == POLICY:
        return "in the template (its constraints replace those of the policy), or in the policy"
    if (made_by := subject.made_by) is not None:
        kind_alone = {"apiVersion": made_by.api_version, "kind": made_by.kind}
        price = _PRICES.get(explained.reach or reach_of_template(kind_alone), rollout)
        return f"in the template of {subject.workload} ({price})"
    recreated = " (delete it and create it again: its constraints cannot be changed)" if subject.exists else ""
    return f"in the Pod{recreated}"


def _price(explained: Explained) -> str:
    """Return what a change in the template entails, and whether that was simulated."""
    if not explained.simulated:
        return _NOT_TRIED
    # One for each rollout that was tried, False where the limit of placements was reached.
    simulated = [proposal.rollout.known for proposal in explained.proposals if proposal.rollout is not None]
    if any(simulated):
        return _ROLLOUT_SIMULATED
    return _REPLACES if simulated else _NOT_SIMULATED


_REPLACES = "which replaces its Pods"
_ROLLOUT_SIMULATED = "which replaces its Pods: the rollout was simulated"
_NOT_SIMULATED = "for the next Pod; the rollout that it starts was not simulated"
_NOT_TRIED = "for the next Pod; evenkeel explain simulates the rollout that it starts"
_PRICES = {
    IF_DELETED: "for the next Pod: no rollout starts, so delete the old Pods to have them replaced",
    IF_RESUMED: "it is paused: no rollout starts",
    OF_NEXT_JOB: "for the Pods of its next Job: its current Pods do not change",
    UNCHANGEABLE: "delete it and create it again: its template cannot be changed",
}


def yaml_lines(patch: JsonPatch) -> Iterator[str]:
    """Yield what a patch changes in a template: the path of each object or list, and its lines of YAML, old and new."""
    for test, change in zip(patch.operations[::2], patch.operations[1::2], strict=True):
        *parents, name = (int(part) if part.isdigit() else part for part in pointer_parts(str(test["path"])))
        old, new = ({name: side["value"]} if side.get("value") is not None else {} for side in (test, change))
        for path, removed, added in _differences(tuple(parents), old, new):
            yield f"{path_text(path)}:"
            yield from (f"  {sign} {line}" for sign, part in (("-", removed), ("+", added)) for line in _in_yaml(part))


def _differences(path: FieldPath, old: object, new: object) -> Iterator[tuple[FieldPath, object, object]]:
    """Yield the path of each object or list of which fields or items differ, with those alone, as deep as there are."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
        nested = [name for name in names if _of_one_kind(old.get(name), new.get(name))]
        removed, added = ({name: side[name] for name in names if name in side.keys() - nested} for side in (old, new))
        if removed or added:
            yield path, removed, added
        for name in nested:
            yield from _differences((*path, name), old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) == len(new) and all(map(_of_one_kind, old, new)):
            for i, (before, after) in enumerate(zip(old, new, strict=True)):
                yield from _differences((*path, i), before, after)
        else:
            yield path, [item for item in old if item not in new], [item for item in new if item not in old]


def _of_one_kind(old: object, new: object) -> bool:
    """Whether both are objects, or both are lists."""
    return any(isinstance(old, kind) and isinstance(new, kind) for kind in (dict, list))


def _in_yaml(part: object) -> list[str]:
    return dump(part).splitlines() if part else []
