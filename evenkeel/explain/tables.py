"""Each constraint as a table of its domains, and why nodes do not take the Pod: each by its name where they are few."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from evenkeel.placement.explanation import ConstraintExplained, Domain, Explanation
from evenkeel.placement.missing_room import free_in_words, lacking_room
from evenkeel.placement.new_nodes import is_fault_domain
from evenkeel.placement.obstacles import OF_OBSTACLES
from evenkeel.placement.single_domain import tied
from evenkeel.scheduler.profile import NODE_RESOURCES_FIT
from evenkeel.simulate.constraint_words import constraint_words, spreads_nothing, too_few_domains
from evenkeel.terminal.style import Look, Styled, TextLine, columns
from webhook.findings.wording import NAME_LIMIT, first_of, number_of, place_in_words
from webhook.kubernetes.names import HOSTNAME, ZONE
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD
from webhook.spread.nodes import NodeSet, union

MOST_ROWS = 12
FEWEST_ALIKE = 6  # Nodes that are one line in place of a row each, if they say the same.
MOST_NAMED = 5  # Nodes that do not pass; of more, it is said how many do not pass for each reason.


def table(explained: ConstraintExplained, explanation: Explanation) -> Iterator[TextLine]:
    """Yield a constraint, a row for each domain, and what else is to be known of it."""
    constraint = explained.constraint
    yield Styled(Look.NAME, "   ".join(constraint_words(constraint)))
    if alike := _nodes_alike(explained, explanation):
        yield f"  {alike}"
    elif rows := list(domain_rows(explained, explanation)):
        header = (constraint.topology_key.rpartition("/")[2], "Pods", "skew if placed here", "nodes", "")
        rows.insert(0, tuple([Styled(Look.FAINT, cell) for cell in header]))
        widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
        yield from (("  ", *columns(row, widths, "<><><")) for row in rows)
    yield from (f"  {remark}" for remark in constraint_remarks(explained, explanation))


def _nodes_alike(explained: ConstraintExplained, explanation: Explanation) -> str:
    """Return one line for many nodes, if a hard constraint per node lets the Pod in on all of them alike; else ""."""
    constraint, domains = explained.constraint, explained.domains
    if constraint.soft or constraint.topology_key != HOSTNAME or len(domains) < FEWEST_ALIKE:
        return ""
    outcomes = {_sort(domain, explained, explanation) for domain in domains}
    if len(outcomes) > 1 or not all(
        domain.passes and domain.eligible and domain.nodes.bit_count() == 1 for domain in domains
    ):
        return ""
    counts, outcome = [domain.match_num for domain in domains], outcomes.pop()
    least, most = min(counts), max(counts)
    if least < most:
        pods = f"{least:,} to {most:,} Pods each"
    else:
        pods = f"{number_of(most, 'Pod')} each" if most else "no Pods"
    return f"{len(domains):,} nodes, {pods}: {'all pass' if outcome == PASSES else f'each {outcome}'}"


def constraint_remarks(explained: ConstraintExplained, explanation: Explanation) -> Iterator[str]:
    """Yield what else is to be known of a constraint, besides its domains."""
    constraint = explained.constraint
    yield from too_few_domains(constraint, sum(domain.eligible for domain in explained.domains))
    if explained.single is not None:
        yield spreads_nothing(explained.single.why)
        yield from (f"  {advice}" for advice in explained.single.advice)
    elif constraint.hard and explanation.feasibility.feasible and (tie := tied(explanation.cycle, constraint)):
        place = place_in_words(constraint.topology_key, tie.domain)
        yield f"claim {tie.claim} leaves only {place}: the constraint may refuse this Pod there, not send it elsewhere"
    yield from _odd_domains(explained, explanation)
    if not constraint.selector.matches(explanation.cycle.pod.labels):
        yield "the selector does not match the Pod itself"
    # Under kube-scheduler's own defaults such a node takes part, and gets the best score.
    if (unlabelled := explained.unlabelled.bit_count()) and not explanation.cycle.system_defaults:
        outcome = "refused (missing required label)" if constraint.hard else "least preferred"
        yield f"{number_of(unlabelled, 'node')} without the label {constraint.topology_key}: {outcome}"


def _odd_domains(explained: ConstraintExplained, explanation: Explanation) -> Iterator[str]:
    """Yield which domains are hardly meant to be some."""
    key, nodes = explained.constraint.topology_key, explanation.nodes
    for domain in explained.domains:
        if not domain.value:
            unnamed = list(nodes.names(domain.nodes))
            verb = "has" if len(unnamed) == 1 else "have"
            yield f"{first_of(unnamed)} {verb} the label {key} without a value, which counts as a domain of its own"
    faults = [domain.value for domain in explained.domains if key == ZONE and is_fault_domain(nodes, domain.value)]
    if faults:
        yield f"{first_of(faults)}: not zones, but fault domains, with which Azure labels machines that are in no zone"


def domain_rows(explained: ConstraintExplained, explanation: Explanation) -> Iterator[tuple[str, ...]]:
    """Yield a row for each domain; where there are many, one for those that are alike, and of many such the ends."""
    domains = explained.domains
    if len(domains) <= MOST_ROWS:
        rows = [[domain] for domain in domains]
    else:
        alike: dict[tuple[object, ...], list[Domain]] = {}
        for domain in sorted(domains, key=lambda domain: -domain.match_num):
            sort = _sort(domain, explained, explanation)
            alike.setdefault((domain.match_num, domain.nodes.bit_count(), sort), []).append(domain)
        rows = list(alike.values())
    named_above = _named_in(takewhile(lambda earlier: earlier is not explained, explanation.constraints))
    for i, row in enumerate(rows):
        if len(rows) > MOST_ROWS and MOST_ROWS // 2 <= i < len(rows) - MOST_ROWS // 2:
            if i == MOST_ROWS // 2:
                yield ("…", "", "", "", f"{len(rows) - MOST_ROWS} kinds of domains between these")
            continue
        together = replace(
            row[0], nodes=union(domain.nodes for domain in row), open=union(domain.open for domain in row)
        )
        yield (
            first_of([domain.value for domain in row], 2, NAME_LIMIT),
            str(together.match_num),
            skew_text(together, explained),
            str(together.nodes.bit_count()),
            _outcome(together, explained, explanation, named_above),
        )


def skew_text(domain: Domain, explained: ConstraintExplained) -> str:
    """Return the sum of the skew in a domain, and that it is more than maxSkew where that refuses the Pod."""
    constraint, minimum = explained.constraint, explained.min_match_num
    over = f" > {constraint.max_skew}" if constraint.hard and not domain.passes else ""
    return f"{domain.match_num} + {explained.self_match_num} - {minimum} = {domain.skew}{over}"


PASSES, REFUSED, NO_NODE, AS_ABOVE = "passes", "refused", "no node", "as above"


def _sort(domain: Domain, explained: ConstraintExplained, explanation: Explanation) -> str:
    """Return what is alike in domains of one row: what becomes of the Pod there, without names and numbers of nodes."""
    outcome = _of_open_nodes(domain, explained, explanation)
    reasons = _by_reason(domain.nodes & ~domain.open, explanation) if domain.passes else ()
    return "; ".join(filter(None, ("" if domain.eligible else "not counted", outcome, *sorted(reasons))))


def _outcome(domain: Domain, explained: ConstraintExplained, explanation: Explanation, named_above: NodeSet) -> str:
    """Return what becomes of the Pod in a domain; in red where no node there takes it."""
    counted, outcome = "" if domain.eligible else "not counted; ", _of_open_nodes(domain, explained, explanation)
    closed = domain.nodes & ~domain.open
    if not domain.passes or not closed:
        look = Look.ERROR if outcome == REFUSED else Look.GOOD if outcome == PASSES else ""
        return Styled(look, f"{counted}{outcome}")
    if explained.constraint.topology_key == HOSTNAME and not domain.open:  # The row names its nodes.
        exact = closed.bit_count() == 1
        why = AS_ABOVE if not closed & ~named_above else " or ".join(_by_reason(closed, explanation, exact=exact))
        return Styled(Look.ERROR, f"{counted}{why or NO_NODE}")
    why = "; ".join(" ".join(part) for part in _why_closed(closed, explanation, named_above))
    if domain.open:
        return Styled(Look.WARNING, f"{counted}{outcome}{'' if why in ('', AS_ABOVE) else f'; {why}'}")
    because = f"{', ' if why == AS_ABOVE else ': '}{why}" if why else ""
    return Styled(Look.ERROR, f"{counted}{NO_NODE}{because}")


def _of_open_nodes(domain: Domain, explained: ConstraintExplained, explanation: Explanation) -> str:
    """Return what the constraint and the nodes on which the Pod can run make of a domain; "" if there is none."""
    if not domain.passes:
        return REFUSED
    scores = explanation.scores.get(POD_TOPOLOGY_SPREAD, {}) if explained.constraint.soft else {}
    if in_domain := [scores[name] for name in explanation.nodes.names(domain.open) if name in scores]:
        return f"score {max(in_domain)}"
    if domain.open == domain.nodes:
        return PASSES
    return passing_words(domain.open.bit_count(), domain.nodes.bit_count()) if domain.open else ""


def passing_words(passing: int, number: int) -> str:
    """Return `1 of 4 nodes passes`."""
    return f"{passing:,} of {number_of(number, 'node')} {'passes' if passing == 1 else 'pass'}"


def _named_in(tables: Iterable[ConstraintExplained]) -> NodeSet:
    """Return the nodes of which tables say by name why they do not pass."""
    return union(
        closed
        for explained in tables
        if len(explained.domains) <= MOST_ROWS
        for domain in explained.domains
        if domain.passes and (closed := domain.nodes & ~domain.open).bit_count() <= MOST_NAMED
    )


def named_nodes(explanation: Explanation) -> NodeSet:
    """Return the nodes of which the tables, or the causes where there are none, say by name why they do not pass."""
    if explanation.constraints:
        return _named_in(explanation.constraints)
    closed = explanation.nodes.all & ~explanation.feasibility.feasible
    return closed if closed.bit_count() <= MOST_NAMED else 0


def _why_closed(closed: NodeSet, explanation: Explanation, named_above: NodeSet = 0) -> Iterator[tuple[str, ...]]:
    """
    Yield why nodes do not take the Pod: after their names where they are few, else after their number.

    `named_above`: of these it has been said why.
    """
    nodes = explanation.nodes
    if closed.bit_count() > MOST_NAMED:
        by_reason = _by_reason(closed, explanation)
        for reason, members in sorted(by_reason.items(), key=lambda of_reason: -of_reason[1].bit_count()):
            yield f"{members.bit_count():,}", reason
        return
    by_reason = _by_reason(closed & ~named_above, explanation, exact=True)
    for reason, members in sorted(by_reason.items(), key=lambda of_reason: of_reason[1] & -of_reason[1]):
        yield ", ".join(nodes.names(members)), reason
    if seen := closed & named_above:
        yield (", ".join(nodes.names(seen)), AS_ABOVE) if seen != closed else (AS_ABOVE,)


def _by_reason(closed: NodeSet, explanation: Explanation, *, exact: bool = False) -> dict[str, NodeSet]:
    """
    Return nodes by why they do not take the Pod; none if the attempt ended before any filter looked at a node.

    `exact`: with what is free on each of them.
    """
    feasibility, by_reason = explanation.feasibility, dict[str, NodeSet]()
    if not closed or feasibility.rejected or feasibility.error:
        return by_reason
    for refusal in feasibility.refusals:
        if not (nodes := refusal.nodes & closed):
            continue
        words = " and ".join(reason.in_words for reason in refusal.reasons)
        groups = [(words, nodes)]
        if refusal.plugin == POD_TOPOLOGY_SPREAD:
            groups = list(_by_constraint(nodes, words, explanation))
        elif exact and refusal.plugin == NODE_RESOURCES_FIT:
            groups = list(_by_room(nodes, words, explanation))
        for group_words, members in groups:
            by_reason[group_words] = by_reason.get(group_words, 0) | members
    return by_reason


def _by_constraint(nodes: NodeSet, words: str, explanation: Explanation) -> Iterator[tuple[str, NodeSet]]:
    """Yield the nodes that each constraint is the first to refuse; `words` for those that none of them does."""
    for explained in explanation.constraints:
        if refused := nodes & explained.refused:
            yield f"refused by constraint {explained.constraint.index}", refused
        nodes &= ~refused
    if nodes:
        yield words, nodes


def _by_room(nodes: NodeSet, words: str, explanation: Explanation) -> Iterator[tuple[str, NodeSet]]:
    """Yield nodes that have too little room, with what is free; `words` for those that have enough, as it seems."""
    cycle, all_nodes = explanation.cycle, explanation.cycle.snapshot.nodes
    for node, lack in lacking_room(cycle, all_nodes.members(nodes)):
        named = all_nodes.named_one(node.name)
        yield free_in_words(cycle.requests, lack), named
        nodes &= ~named
    if nodes:
        yield words, nodes


def causes(explanation: Explanation, *, of_obstacles: bool = False) -> Iterator[str]:
    """Yield why nodes do not take the Pod; `of_obstacles`: other Pods that are in the way are named elsewhere."""
    feasibility = explanation.feasibility
    named = feasibility.refused_for(*OF_OBSTACLES) if of_obstacles else 0
    closed = explanation.nodes.all & ~feasibility.feasible & ~named
    unit = "" if closed.bit_count() <= MOST_NAMED else f" of {number_of(len(explanation.nodes), 'node')}"
    why = list(_why_closed(closed, explanation))
    yield from (f"{which}{unit}: {reason}" for which, reason in why[:MOST_ROWS])
    if more := why[MOST_ROWS:]:
        yield number_of(len(more), "more reason")
