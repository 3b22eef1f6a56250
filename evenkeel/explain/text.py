"""An explanation as text: each constraint with its domains, what the scheduler said, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import reduce
from itertools import islice
from operator import and_

from evenkeel.explain.changes_text import changes
from evenkeel.explain.claims_text import claim_remarks, claim_rows, gap_remarks, places
from evenkeel.explain.explained import Explained
from evenkeel.explain.preemption_text import nomination
from evenkeel.explain.preemption_text import sentences as preemption_sentences
from evenkeel.explain.scheduler_said import said
from evenkeel.explain.tables import MOST_ROWS, causes, named_nodes, passing_words, table
from evenkeel.placement.claims import ClaimReach
from evenkeel.placement.contradiction import Contradiction
from evenkeel.placement.explanation import Explanation
from evenkeel.placement.gaps import in_words
from evenkeel.placement.kubectl_commands import asking
from evenkeel.placement.obstacles import Obstacle
from evenkeel.placement.remedies import misspelt_keys
from evenkeel.placement.subject import UNSCHEDULABLE_REASON
from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.plugins.volume_restrictions import CLAIM_IN_USE, CLAIM_IN_USE_TO_33
from evenkeel.scheduler.pod_counts import FINISHED
from evenkeel.scheduler.profile import TAINT_TOLERATION
from evenkeel.simulate.constraint_words import unwritten
from evenkeel.terminal.style import UNCOLOURED, Look, Style, Styled, TextLine
from webhook.findings.wording import constraint_names, first_of, ignores_constraints, number_of
from webhook.spread.nodes import union

# upstream: scheduling_queue.go:DefaultPodMaxInUnschedulablePodsDuration (v1.37), looked at every 30 seconds
TRIED_AGAIN = (
    "kube-scheduler tries again when a change in the cluster may help, or about 5 minutes after its last attempt"
)
PLACED_THEN = "it then gets a node, unless another waiting Pod takes the place"


def text(explained: Explained, now: datetime | None, style: Style = UNCOLOURED, *, patch: bool = False) -> str:
    """
    Render an explanation for a person who asks why a Pod waits.

    `patch`: with a command of kubectl for a change of a template, in place of lines of YAML.
    """
    return style.lines(_lines(explained, now, patch))


def _lines(explained: Explained, now: datetime | None, patch: bool) -> Iterator[TextLine]:
    yield from _first_lines(explained)
    if explained.placer:
        yield from (
            f"  Its condition PodScheduled: {said}" for said in filter(None, [explained.subject.verdict.message])
        )
        return
    for paragraph in _paragraphs(explained, now, patch):
        lines = list(paragraph)
        if lines:
            yield ""
        for line in lines:
            yield ("  ", *((line,) if isinstance(line, str) else line)) if line else ""


def _first_lines(explained: Explained) -> Iterator[TextLine]:
    """Yield which Pods wait, how many nodes take this one, and what is to be known before its constraints."""
    subject, explanation = explained.subject, explained.explanation
    if explained.premise:
        yield explained.premise
    if explained.waiting:
        number = len(explained.waiting)
        wait = f"{number:,} of {number_of(explained.pods, 'Pod')} {'waits' if number == 1 else 'wait'}"
        command = asking(subject.ref.namespace, explained.waiting[0], explained.options)
        yield Styled(Look.ERROR, wait), f": {first_of(explained.waiting)}; {command} says why"
    yield _headline(explained)
    of_source = unwritten(explained.source, named=explained.named) if explanation.constraints else ()
    for remark in (*subject.remarks, *nomination(explanation), *explained.notes, *of_source):
        yield f"  {remark}"


def _paragraphs(explained: Explained, now: datetime | None, patch: bool) -> Iterator[Iterable[TextLine]]:
    subject, explanation = explained.subject, explained.explanation
    for constraint in explanation.constraints:
        yield table(constraint, explanation)
    if explained.contradiction is not None:
        yield [Styled(Look.ERROR, _contradict(explained.contradiction))]
    if not explanation.constraints:
        yield causes(explanation, of_obstacles=bool(explained.obstacles))
    yield claim_lines(explanation)
    yield (*obstacle_lines(explained), *_kept_room(explained))
    yield closed_lines(explanation)
    yield said(subject, explanation, now)
    if not explanation.message:
        yield (preferred(explanation), *_what_comes_next(explained))
    elif not subject.node:
        yield _preemption(explained)
        yield changes(explained, patch=patch)
    yield explained.assumed


def _contradict(contradiction: Contradiction) -> str:
    """Return how many Pods never fit, and which constraints do not let them in."""
    number, replicas, constraints = contradiction
    fit = "fits" if replicas - number == 1 else "fit"
    never = f"{replicas - number:,} of {replicas:,} Pods never {fit} on these nodes, in whatever order they come"
    return f"{never}: {constraint_names(constraints)} contradict each other."


def _what_comes_next(explained: Explained) -> Iterator[str]:
    """Yield what becomes of a Pod that waits although a node passes."""
    subject, verdict = explained.subject, explained.subject.verdict
    if not explained.tried or subject.node or subject.pod.terminating or subject.phase in FINISHED:
        return
    if verdict.reason not in ("", UNSCHEDULABLE_REASON):
        return
    next_try = TRIED_AGAIN if verdict.reason else "kube-scheduler has not tried it yet"
    gaps = explained.explanation.gaps
    yield f"{next_try}; {'what is not judged may then still keep it waiting' if gaps else PLACED_THEN}."


def _preemption(explained: Explained) -> Iterator[str]:
    """Yield what comes of preemption, nothing for a Pod that is being deleted."""
    subject, preemption = explained.subject, explained.explanation.preemption
    if not subject.pod.terminating:
        for_each = subject.ref.kind == "DaemonSet"
        yield from preemption_sentences(preemption, subject.ref.namespace, certain=explained.tried, each=for_each)


def headline(explained: Explained) -> str:
    return "".join(_headline(explained))


def _headline(explained: Explained) -> tuple[str, ...]:
    """Return which Pod it is, and how many nodes take it, in parts."""
    subject, explanation = explained.subject, explained.explanation
    if explained.placer:
        made_by = f" ({subject.workload})" if subject.workload else ""
        where = f"{made_by} is {f'on node {subject.node}' if subject.node else subject.phase}" if subject.exists else ""
        next_of = "" if subject.is_pod else "The next Pod of "
        name, ignores = Styled(Look.NAME, str(subject.ref)), ignores_constraints(explained.placer, "it")
        return next_of, name, f"{where}: not judged, because {ignores}."
    passing = explanation.feasibility.feasible.bit_count()
    preemption = explanation.preemption
    helped = preemption is not None and preemption.helps and not (subject.node or subject.pod.terminating)
    none = "no node passes, but preemption helps" if helped else "no node passes"
    nodes = passing_words(passing, len(explanation.nodes)) if passing else none
    unknown = f"; {in_words(explanation.gaps)}" if explanation.gaps else ""
    doubtful = Look.WARNING if (unknown and passing) or helped or subject.node else ""
    verdict = Styled(doubtful or (Look.GOOD if passing else Look.ERROR), nodes)
    remarks = "".join(f"; {meaning}" for meaning in meant(misspelt_keys(explanation.cycle)))
    if unknown and passing:
        remarks += " what evenkeel judges"
    name = Styled(Look.NAME, str(subject.ref))
    if not subject.exists:
        what = (name, " as it would be placed now") if subject.is_pod else ("The next Pod of ", name)
        return (*what, ": ", verdict, f"{remarks}{unknown}.")
    made_by = f" ({subject.workload})" if subject.workload else ""
    if not subject.node:
        return name, f"{made_by} is {subject.phase}: ", verdict, f"{remarks}{unknown}."
    own_node = explanation.nodes.named((subject.node,))
    its_own_node = "its own among them" if own_node & explanation.feasibility.feasible else f"but not {subject.node}"
    if passing and own_node:
        remarks += f", {its_own_node}"
    if not own_node:
        remarks += f"; the cluster has no node {subject.node}"
    begins = f"{made_by} is on node {subject.node}. If it were placed again, without counting itself: "
    return name, begins, verdict, f"{remarks}{unknown}."


def meant(misspelt: Mapping[str, str]) -> Iterator[str]:
    """Yield which topologyKey was probably meant, for each that no node has."""
    for key, probable_key in misspelt.items():
        yield f"no node has the topologyKey {key}, probably a misspelling of {probable_key}"


def claim_lines(explanation: Explanation) -> Iterator[str]:
    """Yield a line for each claim, and why one that is bound leaves no node."""
    rows = list(claim_rows(explanation.claims, len(explanation.nodes)))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    for name, bound, nodes in rows:
        yield f"{name:<{widths[0]}}   {bound:<{widths[1]}}   {nodes}"
    yield from (f"  {remark}" for remark in gap_remarks(explanation.volume_gaps))
    yield from (f"  {remark}" for remark in claim_remarks(explanation.claims))
    if explanation.feasibility.feasible or explanation.feasibility.rejected or explanation.feasibility.error:
        return
    pinning = [reach for reach in explanation.claims if reach.pins and reach.nodes]
    if explanation.feasibility.refused_for(CLAIM_IN_USE, CLAIM_IN_USE_TO_33):
        yield "Only one Pod may use a claim with ReadWriteOncePod, and another Pod uses it."
    elif pinning:
        yield from _pinned(pinning, explanation)


def _pinned(pinning: Sequence[ClaimReach], explanation: Explanation) -> Iterator[str]:
    """Yield that none of the nodes that the Pod's bound claims leave takes it."""
    if common := reduce(and_, [reach.nodes for reach in pinning]):
        fewest = min(pinning, key=lambda reach: reach.nodes.bit_count())
        place = places(fewest)
        if refusing := [row.constraint.index for row in explanation.constraints if not common & ~row.refused]:
            yield f"Claim {fewest.name} leaves only {place}, and constraint {refusing[0]} refuses {place}."
        else:
            yield f"No node in {place} takes the Pod."
    else:
        where = ", ".join(f"{reach.name} is in {places(reach)}" for reach in pinning)
        yield f"No node reaches all its claims: {where}."
    volumes = " and ".join(reach.volume.name for reach in pinning if reach.volume is not None)
    if len(pinning) == 1:
        yield f"The claim cannot be moved: its volume {volumes} stays there."
    else:
        yield f"The claims cannot be moved: their volumes {volumes} stay there."


def obstacle_lines(explained: Explained) -> Iterator[str]:
    """Yield a line for each term or port for which nodes are refused, with the Pods that are in its way."""
    explanation, nodes = explained.explanation, explained.explanation.nodes
    in_tables = named_nodes(explanation) if explanation.constraints else 0
    sorts = [obstacle.sort for obstacle in explained.obstacles]
    for obstacle in explained.obstacles[:MOST_ROWS]:
        refused = nodes.names(obstacle.nodes)
        several = not isinstance(obstacle.what, HostPort) and len(obstacle.what) > 1
        nobody = "no Pod nearby that all of them select" if several else "no Pod nearby"
        met = f"because of {first_of(obstacle.pods)}" if obstacle.pods else nobody
        has_been_said = sorts.count(obstacle.sort) == 1 and not obstacle.nodes & ~in_tables
        refuses = "" if has_been_said else f"; refuses {first_of(refused)}"
        yield f"{obstacle.sort} {obstacle_words(obstacle)}: {met}{refuses}"
    if more := len(explained.obstacles[MOST_ROWS:]):
        yield f"{more} more terms or ports refuse nodes"


def closed_lines(explanation: Explanation) -> Iterator[str]:
    """Yield what is known of taints and cordons where no node takes the Pod."""
    if not explanation.feasibility.feasible:
        refusals, nodes = explanation.feasibility.refusals, explanation.nodes
        tainted = union(refusal.nodes for refusal in refusals if refusal.plugin == TAINT_TOLERATION)
        named = tainted & named_nodes(explanation)
        for closed in explanation.closed[:MOST_ROWS]:
            has_been_said = not nodes.named(closed.nodes) & ~named
            yield f"taint {closed.taint}: {closed.advice}" if has_been_said else str(closed)


def _kept_room(explained: Explained) -> Iterator[str]:
    """Yield a line for each node that would take the Pod if no room were kept there for others."""
    for node, pods in islice(explained.kept_room.items(), MOST_ROWS):
        yield f"room on {node} is kept for {first_of(pods)}, for which the node is nominated"
    if len(explained.kept_room) > MOST_ROWS:
        yield f"{len(explained.kept_room) - MOST_ROWS} more nodes are nominated for others"


def obstacle_words(obstacle: Obstacle) -> str:
    """Return a port, or terms with the Pods that they select and their topology keys."""
    what = obstacle.what
    if isinstance(what, HostPort):
        return str(what)
    return " and ".join(f"{term.selector.in_words} per {term.topology_key}" for term in what)


def preferred(explanation: Explanation) -> str:
    """Return the nodes that pass, the best first."""
    feasible = list(explanation.nodes.names(explanation.feasibility.feasible))
    best = sorted(feasible, key=lambda name: (-explanation.total.get(name, 0), name))
    shown = [f"{name} ({explanation.total[name]})" if name in explanation.total else name for name in best]
    scored = ", the best scores first" if explanation.total else ""
    return f"Nodes that pass{scored}: {first_of(shown)}."
