"""An explanation as text and JSON: each constraint with its domains, what the scheduler said, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import reduce
from itertools import islice
from operator import and_
from types import MappingProxyType
from typing import NamedTuple

from evenkeel.explain.claims_text import as_json as claim_as_json
from evenkeel.explain.claims_text import claim_remarks, claim_rows, gap_remarks, places
from evenkeel.explain.preemption_text import as_json as preemption_json
from evenkeel.explain.preemption_text import nomination
from evenkeel.explain.preemption_text import sentences as preemption_sentences
from evenkeel.objects.workload_object import IF_DELETED, IF_RESUMED, OF_NEXT_JOB, UNCHANGEABLE, reach_of_template
from evenkeel.placement.claims import ClaimReach
from evenkeel.placement.closed_nodes import ClosedNodes
from evenkeel.placement.contradiction import Contradiction
from evenkeel.placement.explanation import ConstraintExplained, Domain, Explanation
from evenkeel.placement.gaps import in_words
from evenkeel.placement.kubectl_commands import Command, asking
from evenkeel.placement.new_nodes import is_fault_domain
from evenkeel.placement.node_makers import by_itself
from evenkeel.placement.obstacles import Obstacle
from evenkeel.placement.remedies import IN_TEMPLATE, NOW, Remedy, misspelt_keys
from evenkeel.placement.single_domain import tied
from evenkeel.placement.subject import POLICY, UNSCHEDULABLE_REASON, PlacementSubject
from evenkeel.placement.variants import place_name
from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.plugins.plugin import Reason
from evenkeel.scheduler.plugins.volume_restrictions import CLAIM_IN_USE, CLAIM_IN_USE_TO_33
from evenkeel.scheduler.pod_counts import FINISHED
from evenkeel.simulate.constraint_words import constraint_words, spreads_nothing, too_few_domains, unwritten
from evenkeel.simulate.rollout_check import MOST_PLACEMENTS, Rollout
from evenkeel.simulate.waiting import Runs
from evenkeel.terminal.json_forms import dumped, fields, form, ref_json
from evenkeel.terminal.style import UNCOLOURED, Look, Style, Styled, TextLine, columns
from webhook.findings.wording import NAME_LIMIT, constraint_names, first_of, number_of, place_in_words, range_of
from webhook.kubernetes.names import HOSTNAME, ZONE
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD
from webhook.spread.nodes import NodeSet

MOST_ROWS = 12
LAST_RESORT = "if all else fails, since these nodes are perhaps not for this Pod, or may come back"
LAST = "last, because the data of the claim is lost"
FEWEST_ALIKE = 6  # Nodes that are one line in place of a row each, if they say the same.


# upstream: scheduling_queue.go:DefaultPodMaxInUnschedulablePodsDuration (v1.37), looked at every 30 seconds
TRIED_AGAIN = (
    "kube-scheduler tries again when a change in the cluster may help, or about 5 minutes after its last attempt"
)


PLACED_THEN = "it then gets a node, unless another waiting Pod takes the place"


class Proposal(NamedTuple):
    """A remedy, and what comes of it."""

    remedy: Remedy
    rollout: Rollout | None = None  # that it starts; None if it starts none, or one that cannot be simulated
    commands: Sequence[Command] = ()  # that make the change; none where no command can
    runs: Runs | None = None  # waiting Pods that run then; None if not simulated

    @property
    def futile(self) -> bool:
        """Whether it is known that the rollout never ends."""
        rollout = self.rollout
        return rollout is not None and rollout.known and not (rollout.finishes or rollout.replaced)


class Explained(NamedTuple):
    """All that is to be printed of one Pod."""

    subject: PlacementSubject
    explanation: Explanation
    source: str  # where its constraints come from
    proposals: Sequence[Proposal]
    notes: Sequence[str] = ()
    simulated: bool = True  # rollouts of the proposals were simulated, as far as they can be
    named: bool = True  # a policy was named; False: defaults are those that evenkeel gave the newest Pod
    tried: bool = True  # kube-scheduler has tried to place the Pod, or will
    contradiction: Contradiction | None = None  # hard constraints that never let in all Pods of the workload
    obstacles: Sequence[Obstacle] = ()  # terms and ports for which nodes are refused
    kept_room: Mapping[str, Sequence[str]] = MappingProxyType({})  # by node, Pods but for which it would take this one
    stuck: int = 0  # waiting Pods that do not run without a change, this one among them; 0 = unknown
    assumed: Sequence[str] = ()  # of the cluster; printed last
    waiting: Sequence[str] = ()  # names of the Pods of the workload that wait
    pods: int = 0  # of the workload, or its replicas
    reach: str = ""  # which Pods a change of the template reaches; "" where only the kind is known
    premise: str = ""  # what is assumed of the scheduler, and may change the verdict; printed first


def text(explained: Explained, now: datetime | None, style: Style = UNCOLOURED) -> str:
    """Render an explanation for a person who asks why a Pod waits."""
    return style.lines(_lines(explained, now))


def _lines(explained: Explained, now: datetime | None) -> Iterator[TextLine]:
    subject, explanation = explained.subject, explained.explanation
    if explained.premise:
        yield explained.premise
    if explained.waiting:
        number = len(explained.waiting)
        wait = f"{number:,} of {number_of(explained.pods, 'Pod')} {'waits' if number == 1 else 'wait'}"
        command = asking(subject.ref.namespace, explained.waiting[0])
        yield Styled(Look.ERROR, wait), f": {first_of(explained.waiting)}; {command} says why"
    yield _headline(explained)
    for remark in (*subject.remarks, *nomination(explanation), *explained.notes):
        yield f"  {remark}"
    if explanation.constraints:
        yield from (f"  {line}" for line in unwritten(explained.source, named=explained.named))
    for constraint in explanation.constraints:
        yield ""
        yield from _constraint(constraint, explanation)
    if explained.contradiction is not None:
        yield ""
        yield Styled(Look.ERROR, f"  {_contradict(explained.contradiction)}")
    causes = () if explanation.constraints else tuple(_causes(explanation))
    if causes:
        yield ""
        yield from (f"  {cause}" for cause in causes)
    if explanation.claims:
        yield ""
        yield from (f"  {line}" for line in claim_lines(explanation))
    if explained.obstacles or explained.kept_room:
        yield ""
        yield from (f"  {line}" for line in (*obstacle_lines(explained), *_kept_room(explained)))
    if closed := tuple(closed_lines(explanation)):
        yield ""
        yield from (f"  {line}" for line in closed)
    yield ""
    yield from (f"  {line}" for line in said(explained, now))
    if not explanation.message:
        yield f"  {preferred(explanation)}"
        yield from (f"  {line}" for line in _what_comes_next(explained))
    if explanation.message and not subject.node:
        yield ""
        yield from _preemption(explained)
        yield from _remedies(explained)
    if explained.assumed:
        yield ""
        yield from (f"  {line}" for line in explained.assumed)


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
    if subject.pod.terminating:
        return
    for_each = subject.ref.kind == "DaemonSet"
    for sentence in preemption_sentences(preemption, subject.ref.namespace, certain=explained.tried, each=for_each):
        yield f"  {sentence}"
        yield ""


def headline(explained: Explained) -> str:
    return "".join(_headline(explained))


def _headline(explained: Explained) -> tuple[str, ...]:
    """Return which Pod it is, and how many nodes take it, in parts."""
    subject, explanation = explained.subject, explained.explanation
    passing, number = explanation.feasibility.feasible.bit_count(), len(explanation.nodes)
    preemption = explanation.preemption
    helped = preemption is not None and preemption.helps and not (subject.node or subject.pod.terminating)
    none = "no node passes, but preemption helps" if helped else "no node passes"
    nodes = f"{passing:,} of {number_of(number, 'node')} {_pass(passing)}" if passing else none
    unknown = f"; {in_words(explanation.gaps)}" if explanation.gaps else ""
    doubtful = Look.WARNING if unknown or helped or subject.node else ""
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


def _causes(explanation: Explanation) -> Iterator[str]:
    """Yield on how many nodes each cause refuses the Pod, the most first; nothing if no filter ran on any node."""
    feasibility, number = explanation.feasibility, len(explanation.nodes)
    refused: dict[Reason, NodeSet] = {}
    for refusal in () if feasibility.rejected or feasibility.error else feasibility.refusals:
        for reason in refusal.reasons:
            refused[reason] = refused.get(reason, 0) | refusal.nodes
    for reason, nodes in sorted(refused.items(), key=lambda cause: -cause[1].bit_count())[:MOST_ROWS]:
        many = nodes.bit_count()
        yield f"{many:,} of {number_of(number, 'node')} {reason.of_nodes(many)}"


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
    """Yield why none of the nodes that the Pod's bound claims leave takes it."""
    nodes_left = reduce(and_, [reach.nodes for reach in pinning])
    if nodes_left:
        names = " and ".join(reach.name for reach in pinning)
        its = f"Its claim {names} is" if len(pinning) == 1 else f"Its claims {names} are"
        fewest = min(pinning, key=lambda reach: reach.nodes.bit_count())
        yield f"{its} in {places(fewest)}, and {_refusing(nodes_left, explanation)}; no node is left."
    else:
        where = ", ".join(f"{reach.name} is in {places(reach)}" for reach in pinning)
        yield f"No node reaches all its claims: {where}."
    volumes = " and ".join(reach.volume.name for reach in pinning if reach.volume is not None)
    if len(pinning) == 1:
        yield f"The claim cannot be moved: its volume {volumes} stays there."
    else:
        yield f"The claims cannot be moved: their volumes {volumes} stay there."


def _refusing(nodes_left: NodeSet, explanation: Explanation) -> str:
    """Return what refuses the nodes that claims leave, in a few words."""
    refusing = [
        f"constraint {explained.constraint.index} refuses {place_name(explained.constraint.topology_key, domain.value)}"
        for explained in explanation.constraints
        if explained.constraint.hard
        for domain in explained.domains
        if not domain.passes and domain.nodes & nodes_left
    ]
    others = _why(nodes_left, explanation)
    if others:
        single = nodes_left.bit_count() == 1
        refusing.append(f"{'its node' if single else 'nodes there'} {others}")
    return " and ".join(refusing[:MOST_ROWS]) or "no node there takes it"


def obstacle_lines(explained: Explained) -> Iterator[str]:
    """Yield a line for each term or port for which nodes are refused, with the Pods that are in its way."""
    nodes = explained.explanation.nodes
    for obstacle in explained.obstacles[:MOST_ROWS]:
        refused = list(nodes.names(obstacle.nodes))
        several = not isinstance(obstacle.what, HostPort) and len(obstacle.what) > 1
        nobody = "no Pod nearby that all of them select" if several else "no Pod nearby"
        met = f"because of {first_of(obstacle.pods)}" if obstacle.pods else nobody
        yield f"{obstacle.sort} {_asked(obstacle)}: {met}; refuses {first_of(refused)}"
    if more := len(explained.obstacles[MOST_ROWS:]):
        yield f"{more} more terms or ports refuse nodes"


def closed_lines(explanation: Explanation) -> Iterator[str]:
    """Yield what is known of taints and cordons where no node takes the Pod."""
    if not explanation.feasibility.feasible:
        yield from map(str, explanation.closed[:MOST_ROWS])


def _kept_room(explained: Explained) -> Iterator[str]:
    """Yield a line for each node that would take the Pod if no room were kept there for others."""
    for node, pods in islice(explained.kept_room.items(), MOST_ROWS):
        yield f"room on {node} is kept for {first_of(pods)}, for which the node is nominated"
    if len(explained.kept_room) > MOST_ROWS:
        yield f"{len(explained.kept_room) - MOST_ROWS} more nodes are nominated for others"


def _asked(obstacle: Obstacle) -> str:
    """Return a port, or terms with the Pods that they select and their topology keys."""
    what = obstacle.what
    if isinstance(what, HostPort):
        return str(what)
    return " and ".join(f"{term.selector.in_words} per {term.topology_key}" for term in what)


def _pass(number: int) -> str:
    return "passes" if number == 1 else "pass"


def _constraint(explained: ConstraintExplained, explanation: Explanation) -> Iterator[TextLine]:
    constraint = explained.constraint
    yield Styled(Look.NAME, f"  {'   '.join(constraint_words(constraint))}")
    if alike := _nodes_alike(explained, explanation):
        yield f"    {alike}"
    elif rows := list(domain_rows(explained, explanation)):
        header = (constraint.topology_key.rpartition("/")[2], "Pods", "skew if placed here", "nodes", "")
        yield from _aligned([tuple([Styled(Look.FAINT, cell) for cell in header]), *rows])
    yield from (f"    {remark}" for remark in constraint_remarks(explained, explanation))


def _nodes_alike(explained: ConstraintExplained, explanation: Explanation) -> str:
    """Return one line for many nodes, if a hard constraint per node lets the Pod in on all of them alike; else ""."""
    constraint, domains = explained.constraint, explained.domains
    if constraint.soft or constraint.topology_key != HOSTNAME or len(domains) < FEWEST_ALIKE:
        return ""
    outcomes = {_outcome(domain, explained, explanation) for domain in domains}
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
    return f"{len(domains):,} nodes, {pods}: {'all pass' if outcome == 'passes' else f'each {outcome}'}"


def constraint_remarks(explained: ConstraintExplained, explanation: Explanation) -> Iterator[str]:
    """Yield what else is to be known of a constraint, besides its domains."""
    constraint = explained.constraint
    yield from too_few_domains(constraint, sum(domain.eligible for domain in explained.domains))
    if explained.single is not None:
        yield spreads_nothing(explained.single.why)
        yield from (f"  {advice}" for advice in explained.single.advice)
    elif constraint.hard and (tie := tied(explanation.cycle, constraint)):
        place = place_in_words(constraint.topology_key, tie.domain)
        yield f"claim {tie.claim} leaves only {place}: the constraint may refuse this Pod there, not send it elsewhere"
    yield from _odd_domains(explained, explanation)
    if not constraint.selector.matches(explanation.cycle.pod.labels):
        yield "the selector does not match the Pod itself"
    if unlabelled := explained.unlabelled.bit_count():
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
    alike: dict[tuple[str, ...], list[Domain]] = {}
    for domain in sorted(explained.domains, key=lambda domain: -domain.match_num):
        row = _row(domain, explained, explanation)
        together = row if len(explained.domains) > MOST_ROWS else (domain.value, *row)
        alike.setdefault(together, []).append(domain)
    rows = list(alike.values())
    if len(explained.domains) <= MOST_ROWS:
        rows.sort(key=lambda domains: domains[0].value)
    for i, domains in enumerate(rows):
        if len(rows) > MOST_ROWS and MOST_ROWS // 2 <= i < len(rows) - MOST_ROWS // 2:
            if i == MOST_ROWS // 2:
                yield ("…", "", "", "", f"{len(rows) - MOST_ROWS} kinds of domains between these")
            continue
        named = first_of([domain.value for domain in domains], 2, NAME_LIMIT)
        match_num, skew, _, outcome = _row(domains[0], explained, explanation)
        nodes = sum(domain.nodes.bit_count() for domain in domains)
        yield (named, match_num, skew, str(nodes), outcome)


def _row(domain: Domain, explained: ConstraintExplained, explanation: Explanation) -> tuple[str, ...]:
    outcome = _outcome(domain, explained, explanation)
    return str(domain.match_num), skew_text(domain, explained), str(domain.nodes.bit_count()), outcome


def skew_text(domain: Domain, explained: ConstraintExplained) -> str:
    """Return the sum of the skew in a domain, and that it is more than maxSkew where that refuses the Pod."""
    constraint, minimum = explained.constraint, explained.min_match_num
    over = f" > {constraint.max_skew}" if constraint.hard and not domain.passes else ""
    return f"{domain.match_num} + {explained.self_match_num} - {minimum} = {domain.skew}{over}"


def _outcome(domain: Domain, explained: ConstraintExplained, explanation: Explanation) -> str:
    number = domain.nodes.bit_count()
    shut = (
        f"{domain.shut.bit_count():,} of {number_of(number, 'node')} {_why(domain.shut, explanation)}"
        if domain.shut
        else ""
    )
    counted = "" if domain.eligible else "not counted; "
    if not domain.passes:
        return Styled(Look.ERROR, f"{counted}refused")
    if explained.constraint.soft:
        scores = explanation.scores.get(POD_TOPOLOGY_SPREAD, {})
        in_domain = [scores[name] for name in explanation.nodes.names(domain.open) if name in scores]
        best_score = f"score {max(in_domain)}" if in_domain else ""
        return "; ".join(filter(None, (f"{counted}{best_score}".removesuffix("; "), shut)))
    if not domain.open and not shut:
        return Styled(Look.ERROR, f"{counted}passes, but another constraint refuses it")
    if shut:
        return Styled(Look.WARNING if domain.open else Look.ERROR, f"{counted}passes, but {shut}")
    return Styled(Look.GOOD, f"{counted}passes")


def _why(nodes: NodeSet, explanation: Explanation) -> str:
    """Return which other filters than the constraints refuse these nodes, and why."""
    number = nodes.bit_count()
    words = [
        reason.of_nodes(number)
        for refusal in explanation.feasibility.refusals
        if refusal.nodes & nodes and refusal.plugin != POD_TOPOLOGY_SPREAD
        for reason in refusal.reasons
    ]
    return " or ".join(dict.fromkeys(words))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[TextLine]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    yield from (("    ", *columns(row, widths, "<><><")) for row in rows)


def said(explained: Explained, now: datetime | None) -> Iterator[str]:
    """Yield what kube-scheduler has said of the Pod, and what it would say now."""
    verdict, computed = explained.subject.verdict, explained.explanation.message
    if verdict.message:
        who_said = f"kube-scheduler said{_for_at_least(verdict.time, now)}"
        yield f"{who_said}: {verdict.message}"
        if verdict.reason not in ("", UNSCHEDULABLE_REASON):
            yield f"kube-scheduler gives the reason {verdict.reason}, which does not mean that no node passes."
        elif explained.explanation.agrees(verdict.message):
            yield "evenkeel computes the same."
        elif computed and not verdict.states_cause:
            yield f"evenkeel computes: {computed}"
        else:
            yield f"evenkeel computes now: {computed or 'a node passes'}"
    elif computed:
        yield f"evenkeel computes: {computed}"


def _for_at_least(time: str, now: datetime | None) -> str:
    """
    Return how long the Pod has waited at least; "" if not known.

    `time` is that of its condition, which does not change with the message.
    """
    if now is None:
        return ""
    try:
        seconds = (now - datetime.fromisoformat(time)).total_seconds()
    except (TypeError, ValueError):
        return ""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f" (it has waited for {seconds // length:.0f} {unit} at least)"
    return f" (it has waited for {max(0, seconds):.0f} s at least)"


def preferred(explanation: Explanation) -> str:
    """Return the nodes that pass, the best first."""
    feasible = list(explanation.nodes.names(explanation.feasibility.feasible))
    best = sorted(feasible, key=lambda name: (-explanation.total.get(name, 0), name))
    shown = [f"{name} ({explanation.total[name]})" if name in explanation.total else name for name in best]
    scored = ", the best scores first" if explanation.total else ""
    return f"Nodes that pass{scored}: {first_of(shown)}."


def _remedies(explained: Explained) -> Iterator[TextLine]:
    proposals = explained.proposals
    if not proposals:
        yield "  No change that evenkeel tried lets it run, and no two changes together."
        return
    preemption = explained.explanation.preemption
    instead = "Instead of preemption, any" if preemption is not None and preemption.helps else "Any"
    yield Styled(Look.NAME, f"  {instead} one of these changes would let it run (each was tried):")
    width = max(len(proposal.remedy.change) for proposal in proposals)
    for title, changes in remedies_by_place(explained):
        yield f"  {title}"
        yield from (f"    {change:<{width}}   -> {outcome}" for change, outcome in changes)
    yield from _commands(proposals)


def _commands(proposals: Sequence[Proposal]) -> Iterator[TextLine]:
    """Yield the commands for the first changes: those in the cluster, and one in the template."""
    with_commands = [proposal for proposal in proposals if proposal.commands and not proposal.futile]
    shown = _in_place(with_commands, NOW) + _in_place(with_commands, IN_TEMPLATE)[:1]
    for proposal in shown:
        yield ""
        yield Styled(Look.NAME, f"  {proposal.remedy.change}:")
        yield from (f"    {command}" for command in proposal.commands)
    if len(shown) < len(with_commands):
        yield ""
        yield "  For the commands of the other changes: -o json."


def _in_place(proposals: Iterable[Proposal], where: str) -> list[Proposal]:
    return [proposal for proposal in proposals if _place(proposal.remedy) == where]


def _place(remedy: Remedy) -> str:
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
    }
    for where, title in titles.items():
        if proposals := _in_place(explained.proposals, where):
            yield title, [(proposal.remedy.change, _come_to(proposal, explained.stuck)) for proposal in proposals]


def _come_to(proposal: Proposal, stuck: int) -> str:
    """Return what a change comes to: the nodes that take the Pod, its rollout, and the Pods that run then."""
    parts: list[str] = []
    if not proposal.futile:
        parts.append(first_of(proposal.remedy.nodes))
    parts.append(by_itself(proposal.remedy))
    if proposal.rollout is not None:
        parts.append(_rolled_out(proposal.rollout))
    if proposal.runs is not None and (stuck > 1 or proposal.runs.least < stuck):
        parts.append(run_then(proposal.runs, stuck))
    return "; ".join(filter(None, parts))


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


def as_json(explained: Explained) -> dict[str, object]:
    """Return the form `Explanation`, for programs."""
    subject, explanation, ref = explained.subject, explained.explanation, explained.subject.ref
    members = {
        "object": ref_json(ref),
        "pod": f"{ref.namespace}/{ref.name}" if subject.exists else "",
        **fields(subject, "api_group", "workload", "phase", "node"),
        "remarks": [
            *filter(None, [explained.premise]),
            *subject.remarks,
            *nomination(explanation),
            *explained.notes,
            *explained.assumed,
        ],
        "constraints": [_constraint_json(constraint, explained.source) for constraint in explanation.constraints],
        "nodes": _nodes_json(explanation),
        "message": explanation.message,
        "schedulerMessage": subject.verdict.message,
        "schedulerTime": subject.verdict.time,
        "agrees": explanation.agrees(subject.verdict.message) if subject.verdict.states_cause else None,
        "remedies": [
            {
                **fields(proposal.remedy, "change", "where", "nodes", "last_resort", "loses_data"),
                "rollout": _rollout_json(proposal.rollout),
                "commands": [command_json(command) for command in proposal.commands],
                **runs_json("runs", proposal.runs),
                "byItself": by_itself(proposal.remedy),
            }
            for proposal in explained.proposals
        ],
        **fields(explained, "stuck", "waiting"),
        **preemption_json(explanation.preemption),
        "notJudged": explanation.gaps,
        "contradiction": _contradiction_json(explained.contradiction),
        **_claims_json(explanation),
        **_obstacles_json(explained),
        **closed_json(explanation.closed),
    }
    return form("Explanation", members)


def _contradiction_json(contradiction: Contradiction | None) -> dict[str, object] | None:
    if contradiction is None:
        return None
    indices = [constraint.index for constraint in contradiction.constraints]
    written, apart = [index for index in indices if index >= 0], any(index < 0 for index in indices)
    number, replicas = contradiction.number, contradiction.replicas
    return {"fit": number, "replicas": replicas, "constraints": written, "podAntiAffinity": apart}


def _obstacles_json(explained: Explained) -> dict[str, object]:
    """Return the member that says which terms and ports refuse nodes; none where none does."""
    nodes = explained.explanation.nodes
    obstacles = [
        {
            "sort": obstacle.sort,
            "what": _asked(obstacle),
            "pods": obstacle.pods,
            "nodes": list(nodes.names(obstacle.nodes)),
        }
        for obstacle in explained.obstacles
    ]
    return {"obstacles": obstacles} if obstacles else {}


def closed_json(closed: Sequence[ClosedNodes]) -> dict[str, object]:
    """Return the member that says what is known of taints and cordons; none where nothing is."""
    return {"closed": [fields(nodes, "taint", "nodes", "advice") for nodes in closed]} if closed else {}


def _claims_json(explanation: Explanation) -> dict[str, object]:
    """Return the member that lists the claims of the Pod; none where it has none."""
    nodes = explanation.nodes
    claims = [claim_as_json(reach, sorted(nodes.names(reach.nodes))) for reach in explanation.claims]
    return {"claims": claims} if claims else {}


def runs_json(name: str, runs: Runs | None) -> dict[str, int | None]:
    """Return the least and the most Pods that run, as the members `name` and `nameAtMost`."""
    if runs is None:
        return {name: None, f"{name}AtMost": None}
    return {name: runs.least, f"{name}AtMost": runs.most}


def command_json(command: Command) -> dict[str, object]:
    """Return a command as a shell reads it, by its arguments, and the patch that it applies to an object."""
    written: dict[str, object] = {"shell": str(command), "arguments": ["kubectl", *command.arguments]}
    if command.patch is not None:
        written["patch"] = {"object": ref_json(command.patch.ref), "operations": command.patch.operations}
    return written


def _rollout_json(rollout: Rollout | None) -> dict[str, object] | None:
    if rollout is None:
        return None
    if not rollout.known:
        return {"runs": 0, "finishes": None, "replaced": None, "pending": None}
    pending = fields(rollout.pending, "least", "most_likely", "most")
    return {**fields(rollout, "runs", "finishes", "replaced"), "pending": pending}


def all_as_json(explained: Sequence[Explained]) -> str:
    """Render one explanation as an object, or several as a list."""
    items = [*map(as_json, explained)]
    return dumped(items[0] if len(items) == 1 else form("ExplanationList", {"items": items}))


def _constraint_json(explained: ConstraintExplained, source: str) -> dict[str, object]:
    constraint = explained.constraint
    return {
        **fields(constraint, "index", "topology_key", "max_skew", "hard", "min_domains"),
        "selector": str(constraint.selector),
        "source": source,
        **fields(explained, "min_match_num", "self_match_num"),
        "spreadsNothing": explained.single and explained.single.why,
        "advice": explained.single.advice if explained.single is not None else (),
        "domains": [
            {
                **fields(domain, "value", "match_num", "skew"),
                "nodes": domain.nodes.bit_count(),
                **fields(domain, "eligible", "passes"),
            }
            for domain in explained.domains
        ],
    }


def _nodes_json(explanation: Explanation) -> dict[str, object]:
    numbers: dict[str, object] = {}
    for refusal in explanation.feasibility.refusals:
        reasons = [reason.text for reason in refusal.reasons]
        for name in explanation.nodes.names(refusal.nodes):
            numbers[name] = {"feasible": False, "plugin": refusal.plugin, "reasons": reasons, "score": None}
    for name in explanation.nodes.names(explanation.feasibility.feasible):
        score = explanation.total.get(name)
        numbers[name] = {"feasible": True, "plugin": None, "reasons": [], "score": score}
    return dict(sorted(numbers.items()))
