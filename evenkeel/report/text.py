"""A report as text and JSON: what a policy would do, how the workloads are spread, and the sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from evenkeel.explain.claims_text import places
from evenkeel.report import moves_text
from evenkeel.report.impact import GRAVITY, Impact, WebhookAnswer
from evenkeel.report.inventory import key_of
from evenkeel.report.report import Report, ReportedWorkload, ReportSummary
from evenkeel.report.spread import Spread, ZoneLoss
from evenkeel.simulate.constraint_words import unwritten
from evenkeel.terminal.json_forms import fields, finding_json, form
from evenkeel.terminal.style import UNCOLOURED, Look, Style, Styled, TextLine, columns
from webhook.admission.decision import Outcome
from webhook.findings.finding import Finding, Severity
from webhook.findings.wording import (
    KUEUE_FIRST,
    NAME_LIMIT,
    first_of,
    ignores_constraints,
    number_of,
    one_line,
    range_of,
    shown_name,
)
from webhook.kubernetes.names import ZONE
from webhook.kubernetes.references import Scaling
from webhook.spread.cluster_view import CLUSTER_AUTOSCALER
from webhook.spread.constraint import HARD

MOST_DOMAINS, SHOWN_DOMAINS, SHOWN_OTHERS = 50, 6, 3
NAME_COLUMN, WHY = 52, 160  # characters of a name, and of why something is denied
QUIET = (Outcome.ALLOWED, Outcome.DEFAULTED, Outcome.WOULD_BE_DEFAULTED)
NAMESPACE = "namespace"
NOT_SENT, NOT_KNOWN = "not sent", "not known"
LOST = "LOST WITH ONE ZONE"


class Titles(NamedTuple):
    """The files of the policies, as they were named."""

    policy: str = ""  # "" for the built-in one
    compare: str = ""  # "" if there is none to compare with


class Shown(NamedTuple):
    """What is shown of a report."""

    changed: bool = False  # only workloads whose answers differ between the policies
    summary: bool = False  # the sums, and no workload
    by: str = ""  # sums by NAMESPACE, or by the values of this label, and no workload

    def workloads(self, report: Report) -> Sequence[ReportedWorkload]:
        """Return the workloads to be listed."""
        return [workload for workload in report.workloads if workload.changes or not self.changed]


ALL = Shown()


def text(
    report: Report,
    titles: Titles,
    shown: Shown = ALL,
    style: Style = UNCOLOURED,
    no_workload: str = "",
    asking_for_moves: str = "",
) -> str:
    """
    Render a report for a person: first what a policy would do, then the spread, and the sums last.

    `no_workload`: why it has none.  `asking_for_moves`: the command that says which Pods to delete.
    """
    if no_workload:
        return style.lines([no_workload])
    lines = list[TextLine]()
    workloads = shown.workloads(report)
    if shown.by:
        lines += [*_table(list(_groups(report, titles, shown.by))), ""]
    elif not shown.summary:
        if titles.policy:
            lines += [*_impacts(workloads, titles, shown), ""]
            lines += _audited_defaults(workloads, report.node_makers)
        if workloads:
            lines += [*_spreads(workloads, titles), ""]
        lines += _ways_back(workloads, report)
    lines += _sums(report, titles)
    if asking_for_moves and report.summary.uneven and report.ways_back is None:
        lines.append(f"For the Pods to delete until they are even again: {asking_for_moves}")
    return style.lines(lines)


# What the policy would do


def _impacts(workloads: Sequence[ReportedWorkload], titles: Titles, shown: Shown) -> Iterator[TextLine]:
    compared = f", compared with {titles.compare}" if titles.compare else ""
    yield Styled(Look.NAME, f"What {titles.policy} would do{compared}:")
    yield ""
    concerned = [workload for workload in workloads if workload.impact.worst.outcome not in QUIET or workload.changes]
    concerned.sort(key=lambda workload: workload.impact.worst.gravity)
    if not concerned:
        yield f"  no workload would {'have a different outcome' if shown.changed else 'be denied or warned'}"
        return
    was = ("WAS",) if titles.compare else ()
    rows = [("WORKLOAD", *was, "CREATED", "UPDATED", "ITS PODS", "WHY")]
    for workload in concerned:
        before = (_worst(workload.was),) if workload.was is not None and was else ()
        answers = (workload.impact.create, workload.impact.update, workload.impact.pods)
        rows.append(
            (_name(workload), *before, *map(answer_word, answers), one_line(workload.impact.worst.message, WHY))
        )
    yield from _table(rows)


def _audited_defaults(workloads: Sequence[ReportedWorkload], node_makers: Collection[str]) -> Iterator[TextLine]:
    """Yield which workloads would get which default constraints if the policy did not only audit them."""
    rows = [
        (_name(workload), f"{workload.live.pods:,}", one_line(defaults.summary, WHY), one_line(defaults.note, WHY))
        for workload in workloads
        for defaults in workload.impact.audited_defaults
    ]
    if rows:
        yield Styled(Look.NAME, "Default constraints that Pods would get if defaultingMode were Apply:")
        yield ""
        yield from _table([("WORKLOAD", "PODS", "DEFAULT CONSTRAINTS", "FROM"), *dict.fromkeys(rows)])
        sees_all = any(
            constraint["whenUnsatisfiable"] == HARD
            for workload in workloads
            for defaults in workload.impact.audited_defaults
            for constraint in defaults.constraints
        )
        starting = [maker for maker in sorted(node_makers) if sees_all or maker != CLUSTER_AUTOSCALER]
        yield from (f"  {maker} may start nodes for new Pods with these constraints." for maker in starting)
        yield ""


def _worst(impact: Impact) -> str:
    return answer_word(impact.worst)


def answer_word(answer: WebhookAnswer | None) -> str:
    """Return what the webhook answers, red where it denies, yellow where it warns."""
    if answer is None:
        return "-"
    if answer.not_sent:
        return NOT_SENT
    outcome = answer.outcome if answer.allowed else Outcome.DENIED
    if outcome in QUIET:
        return Styled("", str(outcome))
    return Styled(Look.WARNING if answer.allowed else Look.ERROR, str(outcome))


# Groups


def _groups(report: Report, titles: Titles, by: str) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the sums by namespace, with whom to ask, or by the value of a label."""
    of_namespaces = by == NAMESPACE
    title, contact = (by.upper(), ("CONTACT",)) if of_namespaces else (by, ())
    yield title, *_numbers(report.summary, titles), LOST, *contact
    for name, contacts, summary in report.namespaces if of_namespaces else report.groups:
        numbers = [NOT_KNOWN if number is None else f"{number:,}" for number in _numbers(summary, titles).values()]
        if of_namespaces:
            contact = (contact_words(contacts) or (NOT_KNOWN if contacts is None else "-"),)
        yield "-" if name is None else one_line(name, NAME_COLUMN), *numbers, _loss(summary.loss), *contact


def _numbers(summary: ReportSummary, titles: Titles) -> Mapping[str, int | None]:
    """Return the sums by the titles of their columns."""
    denied = {"DENIED AT UPDATE": summary.denied_updates, "IF CREATED": summary.denied_creates}
    return {
        "WORKLOADS": summary.workloads,
        "PODS": summary.pods,
        "WAITING": summary.waiting,
        **(denied if titles.policy else {}),
        "WITH ERRORS": summary.found[Severity.ERROR],
        "WITH WARNINGS": summary.found[Severity.WARNING],
        "SKEW TOO LARGE": summary.uneven,
        "LOSE ALL WITH A ZONE": summary.lost,
    }


def contact_words(contacts: Mapping[str, str] | None) -> str:
    """Return whom to ask about a namespace; "" if nothing says so."""
    contact = ", ".join(f"{label.rpartition('/')[2]}={value}" for label, value in sorted((contacts or {}).items()))
    return one_line(contact, WHY)


# Spread


def _spreads(workloads: Sequence[ReportedWorkload], titles: Titles) -> Iterator[TextLine]:
    yield Styled(Look.NAME, "How the Pods are spread, the worst first:")
    yield ""
    rows: list[tuple[str, ...]] = [("WORKLOAD", "PODS", LOST, "CONSTRAINT", "SKEW", "PODS PER DOMAIN")]
    below: dict[int, list[str]] = {}
    for workload in workloads:
        spreads: Sequence[Spread | None] = workload.spreads or (None,)
        reasons = workload.idle or ("",)
        for i, (spread, idle) in enumerate(zip(spreads, reasons, strict=True)):
            first = (_name(workload), _pods(workload), _loss(workload.loss)) if i == 0 else ("", "", "")
            rows.append((*first, *(_spread(spread) if spread is not None else ("none in force", "", ""))))
            below[len(rows) - 1] = [*(_remarks(spread, idle) if spread is not None else ())]
        below[len(rows) - 1] += [
            *no_constraint_words(workload, titles),
            *pinned_words(workload),
            *_findings(workload),
        ]
    for i, line in enumerate(_table(rows)):
        yield line
        yield from (("      ", remark) for remark in below.get(i, ()))
    findings = [finding for workload in workloads for finding in (*workload.findings, *workload.at_most)]
    if findings:
        worst = min(findings, key=lambda finding: finding.severity.rank)
        yield ""
        yield f"For what a finding means: evenkeel rules {worst.rule}"


def workload_name(workload: ReportedWorkload) -> str:
    ref = workload.live.ref
    return one_line(f"{ref.namespace}/{ref.kind.lower()}/{ref.name}", NAME_COLUMN)


def _name(workload: ReportedWorkload) -> str:
    return Styled(Look.NAME, workload_name(workload))


def _pods(workload: ReportedWorkload) -> str:
    """Return the numbers of Pods on nodes and of those that wait; and the replicas, if some Pods do not even exist."""
    waiting = f" + {workload.live.waiting:,} waiting" if workload.live.waiting else ""
    wanted = f" of {workload.replicas:,}" if (workload.replicas or 0) > workload.live.pods else ""
    return Styled(Look.ERROR if waiting else "", f"{workload.live.running:,}{waiting}{wanted}")


def _loss(loss: ZoneLoss | None) -> str:
    if loss is None:
        return NOT_KNOWN
    if loss.share is None:
        return "-"
    return Styled(Look.WARNING if loss.share == 1 else "", f"{share_text(loss.share)} ({shown_name(loss.largest, 24)})")


def share_text(share: float) -> str:
    """Return a share such as `67%`; only none is 0%, and only all is 100%."""
    return f"{min(max(share, 0.01), 0.99) if 0 < share < 1 else share:.0%}"


def _spread(spread: Spread) -> tuple[str, str, str]:
    constraint = spread.constraint
    key = one_line(constraint.topology_key.rpartition("/")[2], 40)
    return f"{key} {constraint.when_unsatisfiable}", skew_words(spread), _domains(spread)


def skew_words(spread: Spread) -> str:
    """Return the skew, the one that maxSkew allows, and the least that a hard constraint forces beyond it."""
    if spread.skew is None:
        return NOT_KNOWN
    forced = f" (forced: {spread.least.skew:,})" if spread.least.forced_by else ""
    words = f"{spread.skew:,}, allowed {spread.constraint.max_skew:,}{forced}"
    return Styled(Look.WARNING if spread.excess else "", words)


def _domains(spread: Spread) -> str:
    counted = spread.counted
    if counted is None:
        return NOT_KNOWN
    if not counted.eligible:
        return "no domain"
    if len(counted.eligible) <= SHOWN_DOMAINS:
        return ", ".join(f"{shown_name(value, 40)} {counted.match_num(value):,}" for value in sorted(counted.eligible))
    most = min(counted.counts, key=lambda value: (-counted.counts[value], value), default=None)
    fewest = 0 if len(counted.counts) < len(counted.eligible) else min(counted.counts.values())
    if most is None:
        return f"no Pods in {len(counted.eligible):,} domains"
    return f"{fewest:,} to {counted.counts[most]:,} ({shown_name(most, 40)}) in {len(counted.eligible):,} domains"


def _remarks(spread: Spread, idle: str) -> Iterator[str]:
    if idle:
        yield Styled(Look.WARNING, idle_words(spread, idle))
    yield from spread_remarks(spread)


def no_constraint_words(workload: ReportedWorkload, titles: Titles) -> Iterator[str]:
    """Yield that a workload has no constraints of its own, and which defaults are in force."""
    if not workload.unconstrained:
        return
    look = Look.WARNING if workload.loses_all else ""
    for source in sorted({spread.source for spread in workload.spreads}):
        yield from (Styled(look, words) for words in unwritten(source, named=bool(titles.policy)))
    if not workload.spreads:
        yield Styled(look, "It has no constraints of its own, and evenkeel knows of no defaults in force.")


def idle_words(spread: Spread, idle: str) -> str:
    """Return in words that a constraint spreads nothing, why, and what it still does."""
    still = "; it still keeps Pods off nodes without the label" if spread.constraint.hard and spread.unlabelled else ""
    return f"spreads nothing: {idle}{still}"


def spread_remarks(spread: Spread) -> Iterator[str]:
    """Yield what else is to be known of one constraint."""
    if spread.counted is None:
        return
    if shared := spread.shared:
        named = [f"{name} ({number:,})" for name, number in shared.items()]
        yield f"also counts {first_of(named, SHOWN_OTHERS, NAME_LIMIT)}"
    if key := spread.least.forced_by:
        forcing = f"the DoNotSchedule constraint on {key}"
        yield f"{forcing} allows no smaller skew than {spread.least.skew:,} for so many Pods"
    if spread.closed and spread.constraint.hard:
        counts = "counts as a domain" if len(spread.closed) == 1 else "count as domains"
        closed = first_of(spread.closed, SHOWN_OTHERS, NAME_LIMIT)
        yield f"{closed} {counts}, but no node there takes these Pods"
    if spread.unlabelled:
        yield f"{number_of(spread.unlabelled, 'node')} without the label {spread.constraint.topology_key}"
    eligible, wanted = len(spread.counted.eligible), spread.constraint.min_domains
    if spread.constraint.hard and eligible < wanted:
        yield f"{number_of(eligible, 'domain')}, fewer than minDomains {wanted}"


def _findings(workload: ReportedWorkload) -> Iterator[str]:
    if words := foreign_words(workload):
        yield words
    yield from _by_severity(workload.findings)
    if workload.scaling is not None:
        yield autoscaled(workload.scaling)
    if workload.scaling is not None and workload.at_most:
        yield f"at {workload.scaling.most:,} replicas also {'; '.join(_by_severity(workload.at_most))}"


def pinned_words(workload: ReportedWorkload) -> Iterator[str]:
    """Yield where claims pin the Pods of a workload, with the number of claims by place."""
    by_place = Counter(places(reach) for reach in workload.pinned.values())
    if by_place:
        named = [f"{place} ({number_of(number, 'claim')})" for place, number in sorted(by_place.items())]
        yield f"its PersistentVolumeClaims restrict Pods to {first_of(named, SHOWN_OTHERS, NAME_LIMIT)}"


def _by_severity(findings: Sequence[Finding]) -> Iterator[str]:
    for severity in Severity:
        rules = dict.fromkeys(finding.rule for finding in findings if finding.severity is severity)
        if rules:
            yield Styled(severity, f"{severity}: {', '.join(rules)}")


def foreign_words(workload: ReportedWorkload) -> str:
    """Return in words that something else than a known profile of kube-scheduler has a say in placement; else ""."""
    if workload.placer:
        return ignores_constraints(workload.placer)
    if workload.by_kueue:
        return KUEUE_FIRST
    name = one_line(workload.foreign, NAME_COLUMN)
    return f"placed by the scheduler {name}, whose profile is not known" if name else ""


def autoscaled(scaling: Scaling) -> str:
    """Return the bounds of an autoscaler in words."""
    least, most = scaling
    return (
        f"autoscaled: {least:,} replicas or more" if most is None else f"autoscaled: {range_of(least, most)} replicas"
    )


def _ways_back(workloads: Sequence[ReportedWorkload], report: Report) -> Iterator[TextLine]:
    """Yield for each workload beyond maxSkew the Pods to delete, as commands for a shell."""
    if not report.ways_back:
        return
    yield Styled(Look.NAME, moves_text.heading(report.ways_back.values()))
    yield ""
    for workload in workloads:
        if (way := report.ways_back.get(key_of(workload.live))) is not None:
            yield ("  ", _name(workload), f": {moves_text.title(workload.live, way)}")
            yield from (("      ", line) for line in moves_text.lines(workload.live, way, report.kubectl_options))
    yield ""


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[TextLine]:
    """Yield the rows of a table; the first row has the titles of the columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    titles = tuple([Styled(Look.FAINT, title) for title in rows[0]])
    yield from (("  ", *columns(row, widths, "<" * len(row))) for row in (titles, *rows[1:]))


def size_words(report: Report) -> str:
    """Return how many workloads, Pods, nodes and zones there are."""
    summary = report.summary
    waiting = f", {summary.waiting:,} of them waiting," if summary.waiting else ""
    what = f"{number_of(summary.workloads, 'workload')} with {number_of(summary.pods, 'Pod')}{waiting}"
    if report.nodes is None or report.zones is None:
        return f"{what.rstrip(',')}; their nodes and zones are {NOT_KNOWN}."
    where = f" in {number_of(report.zones, 'zone')}" if report.zones else f", none with the label {ZONE}"
    return f"{what} on {number_of(report.nodes, 'node')}{where}."


def _sums(report: Report, titles: Titles) -> Iterator[str]:
    summary = report.summary
    yield size_words(report)
    if report.nodes is None and summary.workloads:
        yield (
            "Without nodes, these are not known: the skew, the loss with one zone, constraints that spread nothing, "
            "and findings of rules that need nodes."
        )
    if summary.workloads and summary.uneven is not None:
        unconstrained = sum(workload.loses_all and workload.unconstrained for workload in report.workloads)
        have = "has no constraints of its own" if unconstrained == 1 else "have no constraints of their own"
        forced = f"; {summary.forced:,} more only as a DoNotSchedule constraint forces it" if summary.forced else ""
        these = f"; {unconstrained:,} of these {have}" if unconstrained else ""
        yield (
            f"{number_of(summary.uneven, 'workload exceeds', 'workloads exceed')} maxSkew{forced}. "
            f"Of all workloads with two Pods or more, {summary.lost:,} would lose every Pod with one zone{these}."
        )
    if summary.idle:
        yield f"{number_of(summary.idle, 'constraint spreads', 'constraints spread')} nothing."
    if titles.policy:
        yield from policy_sums(report, titles)


def policy_sums(report: Report, titles: Titles) -> Iterator[str]:
    summary = report.summary
    outcomes = ", ".join(
        f"{summary.outcomes[outcome]:,} {outcome}" for outcome in GRAVITY if summary.outcomes.get(outcome)
    )
    yield f"{titles.policy}: {outcomes or 'nothing to judge'}."
    their = "its" if summary.denied_updates == 1 else "their"
    updated = f"{number_of(summary.denied_updates, 'workload')} or {their} Pods would be denied"
    created = f"{number_of(summary.denied_creates, 'workload')} would be denied"
    yield f"At the next update, {updated}. If created again, {created}."
    if summary.assumed:
        beyond = number_of(summary.assumed, "exceeds", "exceed")
        in_force = titles.compare or titles.policy
        only = f"{beyond} only that of default constraints, if {in_force} is in force"
        yield f"Of the workloads that exceed maxSkew, {only}."
    if summary.audited_defaults:
        pods = number_of(summary.audited_defaults, "Pod")
        yield f"{pods} would get default constraints if defaultingMode were Apply."
    if not titles.compare:
        if summary.defaulted or not summary.audited_defaults:
            yield f"{number_of(summary.defaulted, 'Pod')} would get default constraints."
        return
    change = ", ".join(
        f"{number_of(number, 'Pod')} {DEFAULTS[how]}" for how, number in sorted(summary.defaults_change.items())
    )
    yield (
        f"{number_of(summary.changed, 'workload has', 'workloads have')} a different outcome under {titles.compare}."
    )
    yield f"{change}." if change else "No Pod would get other default constraints."


# By how the defaults of Pods change: see ReportedWorkload.defaults_change.
DEFAULTS = {
    "new": "would newly get defaults",
    "other": "would get other defaults",
    "no more": "would no longer get defaults",
}


# For programs


def as_json(report: Report, titles: Titles, notes: Sequence[str] = (), shown: Shown = ALL) -> dict[str, object]:
    """Return the form `Report`; docs/report.md documents the fields."""
    workloads = [] if shown.summary else [_workload_json(workload, report) for workload in shown.workloads(report)]
    listed = {} if shown.summary else {"workloads": workloads}
    members = {
        "policy": titles.policy or None,
        "compare": titles.compare or None,
        "notes": notes,
        **listed,
        "namespaces": [
            {"namespace": name, "contacts": contacts and dict(contacts), "summary": _summary_json(sums)}
            for name, contacts, sums in report.namespaces
        ],
        "by": shown.by or None,
        "groups": [{"value": value, "summary": _summary_json(sums)} for value, _, sums in report.groups],
        "summary": {**fields(report, "static", "nodes", "zones"), **_summary_json(report.summary)},
    }
    return form("Report", members)


def _summary_json(summary: ReportSummary) -> dict[str, object]:
    return {
        **fields(summary, "workloads", "pods", "waiting"),
        "outcomes": {str(outcome): summary.outcomes.get(outcome, 0) for outcome in GRAVITY},
        **fields(summary, "denied", "denied_updates", "denied_creates"),
        "withErrors": summary.found[Severity.ERROR],
        "withWarnings": summary.found[Severity.WARNING],
        **fields(summary, "changed", "defaulted", "audited_defaults"),
        "defaultsChange": {how: summary.defaults_change.get(how, 0) for how in DEFAULTS},
        "uneven": summary.uneven,
        "unevenByDefaults": summary.assumed,
        "lostWithOneZone": summary.lost,
        "spreadNothing": summary.idle,
        **_largest_json(summary.loss),
    }


def _largest_json(loss: ZoneLoss | None) -> dict[str, object]:
    share = None if loss is None else loss.share
    return {
        "largestZone": None if loss is None or loss.share is None else loss.largest,
        "largestZoneShare": None if share is None else round(share, 4),
    }


def _workload_json(workload: ReportedWorkload, report: Report) -> dict[str, object]:
    live, ref, loss = workload.live, workload.live.ref, workload.loss
    return {
        "workload": f"{ref.kind}/{ref.name}",
        "apiVersion": ref.api_version,
        "namespace": ref.namespace,
        "replicas": workload.replicas,
        "autoscaler": None
        if workload.scaling is None
        else {"minReplicas": workload.scaling.least, "maxReplicas": workload.scaling.most},
        **fields(live, "pods", "waiting"),
        "terminating": live.leaving,
        "zones": None if loss is None else dict(loss.zones),
        **_largest_json(loss),
        "foreignScheduler": workload.foreign or None,
        "constraintsIgnoredBy": workload.placer or None,
        "pinned": {
            name: {"topologyKey": reach.key, "domains": reach.domains} for name, reach in workload.pinned.items()
        },
        "constraints": [
            _spread_json(spread, idle) for spread, idle in zip(workload.spreads, workload.idle, strict=True)
        ],
        "moves": moves_text.as_json(live, (report.ways_back or {}).get(key_of(live)), report.kubectl_options),
        "findings": [finding_json(finding) for finding in workload.findings],
        "findingsAtMaximum": [finding_json(finding) for finding in workload.at_most],
        "outcome": workload.impact.worst.outcome,
        "wasOutcome": None if workload.was is None else workload.was.worst.outcome,
        "changed": workload.changes,
        "answers": _impact_json(workload.impact),
        "wasAnswers": None if workload.was is None else _impact_json(workload.was),
        "defaults": workload.impact.defaults,
        "auditedDefaults": [
            {"constraints": defaults.constraints, "source": defaults.note}
            for defaults in workload.impact.audited_defaults
        ],
        "defaultsChange": workload.defaults_change or None,
    }


def _impact_json(impact: Impact) -> dict[str, object]:
    return {name: _answer_json(getattr(impact, name)) for name in ("create", "update", "pods")}


def _answer_json(answer: WebhookAnswer | None) -> dict[str, object] | None:
    if answer is None:
        return None
    return {**fields(answer, "outcome", "allowed"), "sent": not answer.not_sent, "message": answer.message}


# Members about what a constraint counts, in the order of `_counted_json`; null where no node is known.
COUNTED = ("domains", "domainsWithoutPods", "closedDomains", "nodesWithoutKey", "nodesLeftOut", "alsoCounts")


def _spread_json(spread: Spread, idle: str) -> dict[str, object]:
    constraint = spread.constraint
    return {
        "index": constraint.index,
        "template": spread.template,
        **fields(constraint, "topology_key", "max_skew", "min_domains", "hard"),
        "selector": str(constraint.selector),
        **fields(spread, "source", "skew"),
        "leastSkew": spread.least.skew,
        "spreadsNothing": idle or None,
        **_counted_json(spread),
    }


def _counted_json(spread: Spread) -> dict[str, object]:
    counted = spread.counted
    if counted is None:
        return dict.fromkeys(COUNTED)
    listed_domains = counted.eligible if len(counted.eligible) <= MOST_DOMAINS else counted.counts.keys()
    counts = (
        {value: counted.match_num(value) for value in sorted(listed_domains)},
        len(counted.eligible) - len(counted.counts),
        spread.closed[:MOST_DOMAINS],
        spread.unlabelled,
        spread.excluded,
        dict(spread.shared),
    )
    return dict(zip(COUNTED, counts, strict=True))
