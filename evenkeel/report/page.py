"""
A report as a page: what a zone takes, why Pods wait, what the policy would do, and each workload with its pictures.

    Report, Waiting ──texts and lengths──> values of the template report.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from evenkeel.clusters.known_cluster import Origin
from evenkeel.explain.changes_text import remedies_by_place
from evenkeel.explain.explained import Explained, Proposal
from evenkeel.explain.preemption_text import nomination
from evenkeel.explain.preemption_text import sentences as preemption_sentences
from evenkeel.explain.scheduler_said import said
from evenkeel.explain.tables import constraint_remarks, domain_rows
from evenkeel.explain.text import claim_lines, closed_lines, headline, preferred
from evenkeel.placement.kubectl_commands import asking
from evenkeel.placement.subject import FROM_POD
from evenkeel.report.html import SHORT_WIDTH, Bar, Tile, page, scaled
from evenkeel.report.impact import GRAVITY
from evenkeel.report.inventory import key_of
from evenkeel.report.report import Report, ReportedGroup, ReportedWorkload
from evenkeel.report.spread import Spread, ZoneLoss
from evenkeel.report.text import (
    NOT_KNOWN,
    SHOWN_OTHERS,
    Titles,
    answer_word,
    autoscaled,
    contact_words,
    foreign_words,
    idle_words,
    no_constraint_words,
    pinned_words,
    policy_sums,
    share_text,
    size_words,
    skew_words,
    spread_remarks,
    workload_name,
)
from evenkeel.report.waiting_pods import Waiting
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.simulate.constraint_words import constraint_words, unwritten
from webhook.findings.finding import Finding, Severity
from webhook.findings.wording import begun, first_of, number_of, shown_name
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.references import ObjectKey

MOST_SHOWN = 12  # items of a list; a number stands for the rest
MOST_SKEWS = 4  # bars in one cell
# Lengths of the longest bar: in a chart, in a chart with more words, and in a cell.
WIDE_REPORT, NARROW, BAR = 200, 130, 100
CURVE = (300, 150)  # width and height
HALF = 0.5


def html(
    report: Report,
    titles: Titles,
    notes: Sequence[str],
    waiting: Mapping[ObjectKey, Sequence[Waiting]],
    origin: Origin,
    no_workload: str = "",
    options: Sequence[str] = (),
) -> str:
    """
    Render the page as one file, for a browser.

    `no_workload`: why the report has none.  `options`: with which another command reads the same cluster.
    """
    zones = _zones(report)
    skews = [max(spread.skew or 0, spread.constraint.max_skew) for row in report.workloads for spread in row.spreads]
    widest = max(skews, default=0)
    return page(
        "report.html",
        "report.js",
        title="How the Pods are spread",
        origin=str(origin),
        notes=notes,
        titles=titles,
        size=no_workload or size_words(report),
        tiles=() if no_workload else list(_tiles(report, titles)),
        zones=(zones[:MOST_SHOWN], len(zones[MOST_SHOWN:])),
        curve=_curve(report),
        causes=_causes(report, waiting, origin.read, options),
        outcomes=_outcomes(report) if titles.policy else (),
        sums=list(policy_sums(report, titles)) if titles.policy else (),
        namespaces=[_namespace(group) for group in report.namespaces] if len(report.namespaces) > 1 else (),
        most_namespaces=MOST_SHOWN,
        workloads=[_workload(i, workload, titles, widest) for i, workload in enumerate(report.workloads)],
    )


def _tiles(report: Report, titles: Titles) -> Iterator[Tile]:
    summary = report.summary
    if summary.loss is not None and summary.loss.share is not None:
        lost = f"of the Pods on nodes would be lost with zone {shown_name(summary.loss.largest)}"
        yield Tile(share_text(summary.loss.share), lost)
    forced = f", and {summary.forced:,} only as a DoNotSchedule constraint forces it" if summary.forced else ""
    numbers = [
        (summary.lost, "workload", "workloads", " that would lose every Pod with one zone"),
        (summary.waiting, "waiting Pod", "waiting Pods", ""),
        (summary.uneven, "workload", "workloads", f" skewed beyond maxSkew{forced}"),
        (summary.idle, "constraint that spreads", "constraints that spread", " nothing"),
        *([(summary.denied, "workload", "workloads", " denied by the policy")] if titles.policy else []),
    ]
    for number, one, several, what in numbers:
        yield Tile("" if number is None else f"{number:,}", f"{one if number == 1 else several}{what}", bool(number))


# What the loss of a zone takes


class Zone(NamedTuple):
    """What is lost with a zone."""

    name: str
    pods: int
    # The workloads with two Pods or more, by the share of them that is in the zone:
    every: int
    half: int  # or more
    fewer: int
    single: int  # workloads whose only Pod is in the zone
    lengths: tuple[float, float, float]  # of the bars for every, half and fewer


def _zones(report: Report) -> list[Zone]:
    """Return the zones that have Pods, the one that takes the most first."""
    pods = report.summary.loss.zones if report.summary.loss is not None else {}
    classes: dict[str, Counter[str]] = {}  # by zone: numbers of workloads, named as the fields of Zone
    for workload in report.workloads:
        total = workload.live.running
        for zone, number in workload.loss.zones.items() if workload.loss is not None else ():
            if total == 1:
                field = "single"
            elif number == total:
                field = "every"
            elif number >= HALF * total:
                field = "half"
            else:
                field = "fewer"
            classes.setdefault(zone, Counter())[field] += 1
    widest = max((numbers.total() - numbers["single"] for numbers in classes.values()), default=0)
    zones = []
    for zone, numbers in classes.items():
        every, half, fewer = numbers["every"], numbers["half"], numbers["fewer"]
        lengths = (
            scaled(every, widest, WIDE_REPORT),
            scaled(half, widest, WIDE_REPORT),
            scaled(fewer, widest, WIDE_REPORT),
        )
        zones.append(Zone(shown_name(zone), pods[zone], every, half, fewer, numbers["single"], lengths))
    return sorted(zones, key=lambda zone: (-zone.every, -zone.half, -zone.fewer, -zone.single, zone.name))


class Curve(NamedTuple):
    """The shares that one zone takes of workloads with two Pods or more, the largest first."""

    points: str  # of the line, as SVG has them
    number: int  # of workloads
    words: str  # what the line shows


def _curve(report: Report) -> Curve | None:
    known_shares = [workload.share for workload in report.workloads if workload.live.running > 1]
    shares = sorted((share for share in known_shares if share is not None), reverse=True)
    if not shares:
        return None
    width, height = CURVE
    points = [f"0,{height}"]
    for i, share in enumerate(shares):
        y = height - scaled(share, 1, height)
        # Of equal shares, only the first and the last point are drawn.
        if i == 0 or share != shares[i - 1]:
            points.append(f"{scaled(i, len(shares), width)},{y}")
        if i + 1 == len(shares) or share != shares[i + 1]:
            points.append(f"{scaled(i + 1, len(shares), width)},{y}")
    points.append(f"{width},{height}")
    every = sum(share == 1 for share in shares)
    half = sum(HALF <= share < 1 for share in shares)
    words = (
        f"Of {number_of(len(shares), 'workload')} with two Pods or more, {every:,} would lose every Pod with one zone, "
        f"{half:,} half of them or more. The median workload would lose {share_text(shares[len(shares) // 2])}."
    )
    return Curve(" ".join(points), len(shares), words)


# Pods that wait


def _causes(
    report: Report, waiting: Mapping[ObjectKey, Sequence[Waiting]], now: datetime | None, options: Sequence[str]
) -> list[dict[str, object]]:
    """Return the causes for which Pods wait, that of the most Pods first, each with its Pods by workload."""
    by_cause: dict[str, list[tuple[ReportedWorkload, Waiting]]] = {}
    for workload in report.workloads:
        for group in waiting.get(key_of(workload.live), ()):
            by_cause.setdefault(_cause(group), []).append((workload, group))
    numbers = {cause: sum(len(group.names) for _, group in groups) for cause, groups in by_cause.items()}
    return [
        {
            "cause": cause,
            "pods": number_of(numbers[cause], "Pod"),
            "workloads": first_of(dict.fromkeys(workload_name(workload) for workload, _ in groups), SHOWN_OTHERS),
            "groups": [_waiting(workload, group, now, options) for workload, group in groups],
        }
        for cause, groups in sorted(by_cause.items(), key=lambda entry: -numbers[entry[0]])
    ]


def _waiting(
    workload: ReportedWorkload, group: Waiting, now: datetime | None, options: Sequence[str]
) -> dict[str, object]:
    others = [name for name in group.names if name != group.subject.ref.name]
    wait = "waits" if len(others) == 1 else "wait"
    row: dict[str, object] = {
        "workload": workload_name(workload),
        "pods": number_of(len(group.names), "Pod"),
        "like": f"{number_of(len(others), 'more Pod')} {wait} for the same reason: {first_of(others, SHOWN_OTHERS)}."
        if others
        else "",
        "explained": None,
        "ask": asking(group.subject.ref.namespace, group.subject.ref.name, options),
    }
    if group.explanation is not None:
        proposals = [Proposal(remedy) for remedy in group.remedies]
        explained = Explained(group.subject, group.explanation, group.source, proposals, simulated=False)
        row["explained"] = _explained(explained, group.tried, now)
    return row


def _cause(group: Waiting) -> str:
    """
    Return why the Pods of a group wait.

    Only whether preemption helps counts, not what it does, so that Pods with one cause are together.
    """
    explanation = group.explanation
    if explanation is not None and explanation.of_filters:
        helps = explanation.preemption is not None and explanation.preemption.helps
        return f"{explanation.of_filters}{' Preemption helps.' if helps else ''}"
    scheduler_message = group.subject.verdict.message.partition(" preemption: ")[0]
    if_nothing_said = NOT_KNOWN if explanation is None else "A node passes now."
    return scheduler_message or next(iter(group.subject.remarks), "") or if_nothing_said


def _explained(explained: Explained, tried: bool, now: datetime | None) -> dict[str, object]:
    subject, explanation = explained.subject, explained.explanation
    remarks = [*subject.remarks, *nomination(explanation)]
    if explanation.constraints:
        remarks += unwritten(explained.source)
    return {
        "headline": headline(explained),
        "remarks": [*remarks, *claim_lines(explanation), *closed_lines(explanation)],
        "constraints": [
            {
                "words": ", ".join(constraint_words(constraint.constraint)),
                "key": constraint.constraint.topology_key.rpartition("/")[2],
                "rows": list(domain_rows(constraint, explanation)),
                "remarks": list(constraint_remarks(constraint, explanation)),
            }
            for constraint in explanation.constraints
        ],
        "said": [
            *said(subject, explanation, now),
            *([] if explanation.message else [preferred(explanation)]),
            *preemption_sentences(explanation.preemption, explained.subject.ref.namespace, certain=True),
        ],
        "tried": tried,
        "remedies": list(remedies_by_place(explained)),
    }


# The policy


def _outcomes(report: Report) -> list[Bar]:
    counted = Counter(answer_word(workload.impact.worst) for workload in report.workloads)
    words = [*dict.fromkeys(["denied", *map(str, GRAVITY), *counted])]
    widest = max(counted.values(), default=0)
    return [
        Bar(word, f"{counted[word]:,}", scaled(counted[word], widest, WIDE_REPORT)) for word in words if counted[word]
    ]


# Namespaces


def _namespace(group: ReportedGroup) -> dict[str, object]:
    return {
        "name": group.name,
        "contacts": contact_words(group.contacts),
        "summary": group.summary,
        "severe": (group.summary.found[Severity.ERROR], group.summary.found[Severity.WARNING]),
        **_share(group.summary.loss),
    }


def _share(loss: ZoneLoss | None, lost: bool = False) -> dict[str, object]:
    """Return the share that one zone takes, and its bar; `lost`: it takes every one of several Pods, so it is red."""
    share = None if loss is None else loss.share
    return {
        "share": None
        if loss is None or share is None
        else (share_text(share), shown_name(loss.largest), scaled(share, 1, BAR)),
        "no_share": NOT_KNOWN if loss is None else "no zone",
        "lost": lost,
    }


# Workloads


def _workload(i: int, workload: ReportedWorkload, titles: Titles, widest: int) -> dict[str, object]:
    """Return a row; `widest` is the largest skew or maxSkew of the page, whose bar has the whole length."""
    ref, share = workload.live.ref, workload.share
    by_severity = Counter(finding.severity for finding in workload.findings)
    why_idle = [why for why in workload.idle if why]
    worst_excess = max((spread.excess for spread in workload.spreads), default=0)
    gravest_rank = min((severity.rank for severity in by_severity), default=Severity.IGNORE.rank)
    flags = {
        "waiting": workload.live.waiting,
        "uneven": worst_excess,
        "lost": workload.loses_all,
        "idle": why_idle,
        "found": by_severity[Severity.ERROR] or by_severity[Severity.WARNING],
        "denied": titles.policy and not workload.impact.worst.allowed,
        "changed": workload.changes or workload.defaults_change,
    }
    charts = [_chart(spread, why) for spread, why in zip(workload.spreads, workload.idle, strict=True)][:MOST_SHOWN]
    return {
        "id": i,
        "name": ref.name,
        "where": f"{ref.kind} in {ref.namespace}",
        "foreign": foreign_words(workload),
        "flags": " ".join(flag for flag, on in flags.items() if on),
        # By what the script sorts, in the order of its options: zone, skew, waiting, Pods, findings.
        "order": f"{share or 0:.3f} {worst_excess} {workload.live.waiting} {workload.live.pods} {-gravest_rank}",
        "running": workload.live.running,
        "waiting": workload.live.waiting,
        "leaving": workload.live.leaving,
        **_share(workload.loss, workload.loses_all),
        "skews": [_skew(spread, widest) for spread in workload.spreads[:MOST_SKEWS]],
        "more_skews": max(0, len(workload.spreads) - MOST_SKEWS),
        "idle": len(why_idle),
        "severities": [(str(severity), by_severity[severity]) for severity in Severity if by_severity[severity]],
        "charts": charts,
        "more_charts": len(workload.spreads) - len(charts),
        "remarks": [*no_constraint_words(workload, titles), *pinned_words(workload)],
        "unconstrained": workload.unconstrained,
        "scaling": autoscaled(workload.scaling) if workload.scaling is not None else "",
        "findings": _findings("", workload.findings),
        "at_most": _findings(f"At {workload.scaling.most:,} replicas also:", workload.at_most)
        if workload.scaling
        else None,
        "outcome": answer_word(workload.impact.worst),
        "was": answer_word(workload.was.worst) if workload.was is not None else "",
        "answers": [
            (what, answer_word(answer), answer.message)
            for what, answer in (
                ("Created", workload.impact.create),
                ("Updated", workload.impact.update),
                ("Its Pods", workload.impact.pods),
            )
            if answer is not None
        ],
    }


def _findings(title: str, findings: Sequence[Finding]) -> dict[str, object] | None:
    """Return findings as rows, the gravest first; None if there are none."""
    gravest = sorted(findings, key=lambda finding: finding.severity.rank)[:MOST_SHOWN]
    rows = [
        (str(finding.severity), finding.rule, path_text(finding.path), finding.message, finding.fix)
        for finding in gravest
    ]
    return {"title": title, "rows": rows, "more": len(findings) - len(rows)} if rows else None


def _skew(spread: Spread, widest: int) -> dict[str, object]:
    """Return the skew against maxSkew: a bar and a mark, both on the scale of all workloads."""
    constraint, skew = spread.constraint, spread.skew or 0
    return {
        "key": constraint.topology_key.rpartition("/")[2],
        "text": skew_words(spread),
        "beyond": spread.excess > 0,
        "length": scaled(skew, widest, BAR),
        "mark": scaled(constraint.max_skew, widest, BAR),
    }


def _chart(spread: Spread, why_idle: str) -> dict[str, object]:
    """Return the chart of Pods per domain: a bar for each; for many domains, a bar for each number of Pods."""
    constraint, counted = spread.constraint, spread.counted
    many = counted is not None and len(counted.eligible) > MOST_SHOWN
    bars: list[tuple[str, int, str]] = []
    if counted is not None:
        bars = list(_by_number(counted) if many else _by_domain(counted, spread.closed))
    widest = max((number for _, number, _ in bars), default=0)
    length = NARROW if many else WIDE_REPORT
    limit = counted.min_match_num + constraint.max_skew if counted is not None else 0
    source = "" if spread.source == FROM_POD else f", from the {spread.source}"
    return {
        "title": f"{constraint.topology_key}, maxSkew {constraint.max_skew}, {constraint.when_unsatisfiable}{source}",
        "key": constraint.topology_key.rpartition("/")[2],
        "many": many,
        "bars": [
            Bar(name, number_of(number, "domain") if many else f"{number:,}", scaled(number, widest, length), remark)
            for name, number, remark in bars
        ],
        "no_bars": "No domain counts." if counted is not None else "Not known without nodes.",
        "tall": any(len(name) > SHORT_WIDTH for name, _, _ in bars),
        "limit": scaled(limit, widest, WIDE_REPORT) if not many and bars and limit < widest else None,
        "idle": f"{begun(idle_words(spread, why_idle))}." if why_idle else "",
        "remarks": list(spread_remarks(spread)),
    }


def _by_domain(counted: DomainCounts, closed: Collection[str]) -> Iterator[tuple[str, int, str]]:
    closed = frozenset(closed)
    for value in sorted(counted.eligible):
        yield shown_name(value), counted.match_num(value), "no node takes these Pods" if value in closed else ""


def _by_number(counted: DomainCounts) -> Iterator[tuple[str, int, str]]:
    """Yield how many domains have each number of Pods, the most Pods first; the smallest numbers are one row."""
    numbers = Counter(counted.counts[value] for value in counted.eligible & counted.counts.keys())
    if without := len(counted.eligible) - numbers.total():
        numbers[0] += without
    most_first = sorted(numbers, reverse=True)
    for number in most_first[:MOST_SHOWN]:
        yield f"{number_of(number, 'Pod')}", numbers[number], ""
    if rest := most_first[MOST_SHOWN:]:
        yield f"{rest[0]} or fewer", sum(numbers[number] for number in rest), ""
