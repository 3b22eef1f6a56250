"""What `evenkeel verify` prints: each decision that differs, and the table at the end."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.objects.names import OUTPUT_API_VERSION
from webhook.verification.decision import NOT_COMPARED, NOT_LISTED, TAKEN_OVER, TOO_MANY_ORDERS
from webhook.verification.judgement import Judged
from webhook.verification.tally import PartTally, Tally

EVERY, PLACED, NO_NODE = "all", "a node was chosen", "no node was found"
# Reasons that need more words after a number; the form for programs and the metrics keep the short ones.
UNCOMPARED = {
    NOT_LISTED: "because evenkeel may not list objects that it needs",
    TAKEN_OVER: "by another replica of kube-scheduler, which took over",
    TOO_MANY_ORDERS: "with too many possible orders of events",
}


class Difference(NamedTuple):
    """A decision that differs, and the file that shows it, "" if none was written."""

    judged: Judged
    file: str = ""


class Observation(NamedTuple):
    """Where and how long decisions were observed, in seconds, and what is to be noted of it."""

    kubernetes_version: str
    seconds: float
    namespace: str = ""
    notes: Sequence[str] = ()


def in_words(shown: Difference, options: Sequence[str] = ()) -> str:
    """Return the lines on a decision that differs, with the command that shows it; `options` are those of the run."""
    decision = shown.judged.decision
    namespace, name = decision.key
    said = f"kube-scheduler chose {decision.node}" if decision.node else f"kube-scheduler said: {decision.message}"
    lines = [
        one_line(f"differs: pod/{name} -n {namespace}: {said}", LINE_LIMIT),
        one_line(f"  computed: {shown.judged.computed}", LINE_LIMIT),
    ]
    if shown.file:
        lines.append(f"  {shlex.join(command(shown, options))}")
    return "\n".join(lines)


def command(shown: Difference, options: Sequence[str] = ()) -> list[str]:
    """Return the command that explains the Pod in the file of a difference."""
    namespace, name = shown.judged.decision.key
    return ["evenkeel", "explain", f"pod/{name}", "-n", namespace, "--cluster", shown.file, *options]


def progress(tally: Tally) -> str:
    """Return one line on what was judged so far."""
    every = tally.every
    differ = f", {every.differ:,} differ" if every.differ else ""
    return f"{every.compared:,} decisions, {every.agree:,} agree{differ}"


def headline(tally: Tally, observed: Observation) -> str:
    """Return the first line: how many decisions agree."""
    every = tally.every
    where = f" in the namespace {observed.namespace}" if observed.namespace else ""
    version = f" of kube-scheduler {observed.kubernetes_version}" if observed.kubernetes_version else ""
    if not every.compared:
        return f"No decision{version}{where} could be compared in {_time(observed.seconds)}."
    verb = "agrees" if every.compared == 1 else "agree"
    which = f"{every.agree:,} of {every.compared:,} {'decision' if every.compared == 1 else 'decisions'}"
    return f"{which}{version}{where} {verb} with what evenkeel computes, in {_time(observed.seconds)}."


def text(tally: Tally, observed: Observation) -> str:
    """Return the headline, the table by what took part, and what is to be known of it."""
    lines = [headline(tally, observed)]
    if tally.every.compared:
        lines += ["", *_table(tally), ""]
    lines += _remarks(tally)
    return "\n".join(lines).rstrip()


def _table(tally: Tally) -> list[str]:
    rows = [("", "compared", "agree", "differ", "power")]
    for name, counted in _rows(tally).items():
        power = counted.mean_power
        told = "" if power is None else f"{power:.2f}"
        rows.append((name, f"{counted.compared:,}", f"{counted.agree:,}", f"{counted.differ:,}", told))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = (
        [row[0].ljust(widths[0]), *[cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]]
        for row in rows
    )
    return ["  ".join(row).rstrip() for row in aligned]


def _rows(tally: Tally) -> Mapping[str, PartTally]:
    """Return the rows of the table that have a decision."""
    of_all = {EVERY: tally.every, PLACED: tally.placed, NO_NODE: tally.refused}
    return {name: counted for name, counted in {**of_all, **tally.parts}.items() if counted.compared}


def _remarks(tally: Tally) -> list[str]:
    lines = []
    if tally.placed.chosen:
        lines.append(
            "power: how much agreement proves. It is the mean share of the passing nodes that evenkeel would have "
            "called wrong."
        )
    if tally.placed.powerless:
        lines.append(f"{_decisions(tally.placed.powerless)} prove nothing: any node that passes would have agreed.")
    if tally.scored:
        lines.append(
            f"{_decisions(tally.scored)} had more passing nodes than kube-scheduler scores. For these, "
            "evenkeel compares only whether the chosen node passes."
            f" In {tally.win:,} of them, the node is also the best of a set that kube-scheduler may have scored."
        )
    if tally.in_other_states:
        lines.append(
            f"{_decisions(tally.in_other_states)} agree, but only if events of the same moment came in another "
            "order than evenkeel tried first."
        )
    if told := _not_compared(tally):
        named = (f"{number:,} {UNCOMPARED.get(reason, reason)}" for reason, number in told.items())
        lines.append(f"Not compared: {', '.join(named)}.")
    if tally.skipped:
        judged = tally.every.compared + sum(tally.not_compared.values())
        rate = judged / (judged + tally.skipped)
        were = "was" if tally.skipped == 1 else "were"
        lines.append(
            f"{_decisions(tally.skipped)} {were} skipped, because evenkeel limits itself to half a CPU; "
            f"{rate:.0%} of all were judged."
        )
    return lines


def _decisions(number: int) -> str:
    return f"{number:,} {'decision' if number == 1 else 'decisions'}"


def _not_compared(tally: Tally) -> dict[str, int]:
    """Return the decisions that were not compared by the reason, in its order."""
    return {reason: tally.not_compared[reason] for reason in NOT_COMPARED if tally.not_compared[reason]}


def _time(seconds: float) -> str:
    """Return a time such as `40 s`, `3 min` or `2 h 5 min`."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours = f"{minutes // 60} h " if minutes >= 60 else ""
    return f"{hours}{minutes % 60} min" if minutes % 60 or not hours else hours.strip()


def as_json(tally: Tally, observed: Observation, differences: Sequence[Difference], options: Sequence[str] = ()) -> str:
    """Return the same as JSON."""
    fields = {
        "apiVersion": OUTPUT_API_VERSION,
        "kind": "Verification",
        "kubernetesVersion": observed.kubernetes_version,
        "namespace": observed.namespace,
        "seconds": round(observed.seconds, 1),
        **_counted(tally.every),
        "placed": _counted(tally.placed),
        "refused": _counted(tally.refused),
        "parts": {name: _counted(counted) for name, counted in tally.parts.items() if counted.compared},
        "inOtherStates": tally.in_other_states,
        "scoredInPart": {"compared": tally.scored, "agree": tally.win},
        "notCompared": _not_compared(tally),
        "skipped": tally.skipped,
        "differences": [
            {
                "namespace": shown.judged.decision.key[0],
                "pod": shown.judged.decision.key[1],
                "node": shown.judged.decision.node,
                "message": shown.judged.decision.message,
                "computed": shown.judged.computed,
                "file": shown.file,
                "command": command(shown, options),
            }
            for shown in differences
        ],
        "notes": list(observed.notes),
    }
    return json.dumps(fields, indent=2)


def _counted(counted: PartTally) -> dict[str, object]:
    power = counted.mean_power
    return {
        "compared": counted.compared,
        "agree": counted.agree,
        "differ": counted.differ,
        "power": None if power is None else round(power, 3),
        "powerless": counted.powerless,
    }
