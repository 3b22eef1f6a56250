"""The Pods that wait, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evenkeel.explain.as_json import closed_json, command_json, runs_json
from evenkeel.explain.changes_text import run_then
from evenkeel.explain.preemption_text import as_json as preemption_json
from evenkeel.explain.preemption_text import in_words as preemption_in_words
from evenkeel.explain.text import TRIED_AGAIN, meant
from evenkeel.pending.groups import PASSES, Group, PendingList
from evenkeel.placement.gaps import in_words
from evenkeel.placement.kubectl_commands import asking
from evenkeel.placement.node_makers import by_itself
from evenkeel.placement.remedies import IN_TEMPLATE
from evenkeel.terminal.json_forms import dumped, fields, form
from evenkeel.terminal.style import UNCOLOURED, Look, Style, Styled, TextLine
from webhook.findings.wording import first_of, number_of


class Surroundings(NamedTuple):
    """What was asked for, and what is known beside the listed Pods."""

    none_listed: str = ""  # why no Pod is listed, and what was looked at
    elsewhere: Mapping[str, int] = {}  # Pods that wait in other namespaces, by namespace
    notes: Sequence[str] = ()
    assumed: Sequence[str] = ()  # of the cluster; printed last
    options: Sequence[str] = ()  # with which another command reads the same cluster


NOTHING_KNOWN = Surroundings()


def text(
    listed: PendingList, others: Mapping[str, int], around: Surroundings = NOTHING_KNOWN, style: Style = UNCOLOURED
) -> str:
    """Render the list for a person; `others` are numbers of Pods that wait for something else than a node, by what."""
    return style.lines(_lines(listed, others, around))


def _lines(listed: PendingList, others: Mapping[str, int], around: Surroundings) -> Iterator[TextLine]:
    number = sum(len(group.pods) for group in listed.groups)
    if number:
        could_not = f"{number_of(number, 'Pod')} could not be placed."
        yield Styled(Look.ERROR, f"{could_not}{_need_a_change(listed, number)}")
    else:
        yield around.none_listed
    yield from around.notes
    for group in listed.groups:
        yield ""
        yield from _group(group, listed.together, around.options)
    for why, count in sorted(others.items()):
        yield ""
        more = "more " if number else ""
        yield f"{number_of(count, f'{more}Pod waits', f'{more}Pods wait')}: {why}."
    if around.assumed or listed.agree < listed.compared:
        yield ""
        yield from around.assumed
    if listed.agree < listed.compared:
        agreeing = f"what kube-scheduler said for {listed.agree:,} of {number_of(listed.compared, 'Pod')}"
        yield Styled(Look.WARNING, f"evenkeel's arithmetic agrees with {agreeing}; evenkeel explain shows both.")


def _need_a_change(listed: PendingList, number: int) -> str:
    """Return how many of so many Pods do not run without a change: those of which the groups say how many then run."""
    stuck = max((group.stuck for group in listed.groups), default=0) if listed.together else 0
    return f" {stuck:,} of them {'needs' if stuck == 1 else 'need'} a change." if 0 < stuck < number else ""


def _group(group: Group, together: bool, options: Sequence[str]) -> Iterator[TextLine]:
    """Yield a group; `together`: its remedy was tried with the Pods of all groups."""
    workload = Styled(Look.NAME, f"{group.workload} in {group.namespace}")
    yield workload, f", {number_of(len(group.pods), 'Pod')}: {first_of(group.pods)}"
    yield from (Styled(Look.WARNING, f"  {meaning}") for meaning in meant(group.misspelt))
    yield f"  {group.cause}"
    if group.cause.startswith(PASSES):
        yield f"  {_next_try(group)}"
    elif group.gaps:
        yield f"  {in_words(group.gaps)}"
    yield from (f"  {nodes}" for nodes in group.closed)
    if group.preemption is not None:
        for_each = f"; the same holds for each of the {len(group.pods)} Pods alone" if len(group.pods) > 1 else ""
        yield f"  {preemption_in_words(group.preemption, group.namespace)}{for_each}"
    in_pod, rolls_out = group.workload.startswith("Pod "), False
    alone = "" if together else " (tried with the Pods of this group only)"
    for remedy, frees in ((group.remedy, group.frees), (group.in_template, group.in_template_frees)):
        if remedy is None:
            continue
        where = "in the Pod, created again" if remedy.where == IN_TEMPLATE and in_pod else remedy.where
        rolls_out = remedy.where == IN_TEMPLATE and not in_pod
        yield f"  {where}: ", Styled(Look.NAME, remedy.change), f": {run_then(frees, group.stuck)}{alone}"
        if made := by_itself(remedy):
            yield f"  {made}"
    yield from (f"    {command}" for command in group.commands)
    more = "for each node, and what else helps"
    if not group.tried:
        more = "no change was tried; to try changes"
    elif rolls_out:
        more = "the rollout was not simulated; to simulate it"
    yield f"  {more}: {asking(group.namespace, group.pods[0], options)}"


def _next_try(group: Group) -> str:
    """Return when Pods for which a node passes now are tried again."""
    number = len(group.pods)
    if group.run_now < number:
        run = f"{group.run_now:,} of the {number:,} {'gets' if group.run_now == 1 else 'get'} a node"
        return f"one after the other, {run}; {TRIED_AGAIN}"
    return TRIED_AGAIN


def as_json(listed: PendingList, others: Mapping[str, int], around: Surroundings = NOTHING_KNOWN) -> str:
    """Return the form `PendingList`, for programs."""
    members = {
        "groups": [
            {
                **fields(group, "namespace", "api_group", "workload", "pods", "cause"),
                **({"notJudged": group.gaps} if group.gaps else {}),
                **closed_json(group.closed),
                **preemption_json(group.preemption),
                "remedy": None
                if group.remedy is None
                else {
                    **fields(group.remedy, "change", "where", "last_resort"),
                    **runs_json("frees", group.frees),
                    "stuck": group.stuck,
                    "byItself": by_itself(group.remedy),
                    "commands": [command_json(command) for command in group.commands],
                },
                "runNow": group.run_now,
            }
            for group in listed.groups
        ],
        **fields(listed, "together", "agree", "compared"),
        "others": dict(sorted(others.items())),
        "elsewhere": dict(sorted(around.elsewhere.items())),
        "notes": [*around.notes, *filter(None, [around.none_listed]), *around.assumed],
    }
    return dumped(form("PendingList", members))
