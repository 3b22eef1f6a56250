"""An explanation as JSON, for programs."""

from __future__ import annotations

from collections.abc import Sequence

from evenkeel.explain.claims_text import as_json as claim_as_json
from evenkeel.explain.explained import Explained
from evenkeel.explain.preemption_text import as_json as preemption_json
from evenkeel.explain.preemption_text import nomination
from evenkeel.explain.text import obstacle_words
from evenkeel.placement.closed_nodes import ClosedNodes
from evenkeel.placement.contradiction import Contradiction
from evenkeel.placement.explanation import ConstraintExplained, Explanation
from evenkeel.placement.kubectl_commands import Command
from evenkeel.placement.node_makers import by_itself
from evenkeel.simulate.rollout_check import Rollout
from evenkeel.simulate.waiting import Runs
from evenkeel.terminal.json_forms import dumped, fields, form, ref_json
from webhook.findings.wording import ignores_constraints


def as_json(explained: Explained) -> dict[str, object]:
    """Return the form `Explanation`, for programs."""
    subject, explanation, ref = explained.subject, explained.explanation, explained.subject.ref
    members = {
        "object": ref_json(ref),
        "pod": f"{ref.namespace}/{ref.name}" if subject.exists else "",
        **fields(subject, "api_group", "workload", "phase", "node"),
        "remarks": [
            *filter(None, [explained.premise]),
            *([f"{ignores_constraints(explained.placer, 'it')}."] if explained.placer else ()),
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
        "agrees": explanation.agrees(subject.verdict.message)
        if subject.verdict.states_cause and not explained.placer
        else None,
        "remedies": [
            {
                **fields(proposal.remedy, "change", "where", "nodes", "last_resort", "loses_data"),
                "rollout": _rollout_json(proposal.rollout),
                "commands": _commands_json(proposal.commands),
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


def _commands_json(commands: Sequence[Command]) -> list[dict[str, object]]:
    """Return the commands of a change; none if a template in a file is a part of it."""
    return [command_json(command) for command in commands] if all(command.arguments for command in commands) else []


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
            "what": obstacle_words(obstacle),
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
