"""Small clusters, and a Pod that is to be placed in them."""

from __future__ import annotations

from itertools import count

from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.incoming import read_incoming_pod
from evenkeel.scheduler.plugins.pod_topology_spread import UNEVEN, UNLABELLED
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.spread_filter import HardConstraints
from evenkeel.scheduler.spread_score import SoftConstraints
from tests.support.build import constraint, pod, snapshot
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.reader import Reader
from webhook.spread.constraint import parse_constraints

HARD = constraint(topologyKey="zone")
SOFT = {**HARD, "whenUnsatisfiable": "ScheduleAnyway"}
_numbers = count()


def bound(node, labels=None, **fields):
    """A Pod on a node."""
    number = next(_numbers)
    return pod(name=f"bound-{number}", uid=f"u{number}", labels=labels, spec={"nodeName": node}, **fields)


def cluster(zones, *pods):
    """Nodes by name, each in a zone or in none, and what runs on them."""
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name} | ({} if zone is None else {"zone": zone}),
            },
        }
        for name, zone in zones.items()
    ]
    return snapshot(*nodes, *pods)


def incoming(**fields):
    """The Pod that is to be placed."""
    return read_incoming_pod(Reader(), pod(**fields), LATEST)


def parsed(*constraints):
    return parse_constraints(list(constraints), {"app": "web"}, LATEST)


def filter_nodes(pod, constraints, snapshot, features=LATEST):
    """What the hard constraints say of each node."""
    return HardConstraints.of(Cycle(pod, constraints, snapshot, features)).verdicts()


def score_nodes(pod, constraints, snapshot, candidates, features=LATEST, *, system_defaults=False):
    """What the soft constraints make of each candidate."""
    return SoftConstraints.of(Cycle(pod, constraints, snapshot, features, system_defaults)).scores(candidates)


def prioritize(cycle, candidates):
    """The scores of the candidates, by plugin and by node."""
    return Framework(cycle).prioritize(candidates)


def by_node(snapshot, verdicts):
    """The reason by the name of each node that is refused."""
    refused = ((UNEVEN, verdicts.uneven), (UNLABELLED, verdicts.unlabelled))
    return {name: reason for reason, nodes in refused for name in snapshot.nodes.names(nodes)}


def match_nums(domains):
    """The number of Pods in each eligible domain."""
    return {domain: domains.match_num(domain) for domain in domains.eligible}


def worth(snapshot, scores):
    """Raw and normalised scores by the name of each candidate."""
    raw = dict.fromkeys(snapshot.nodes.names(scores.ignored), 0)
    normalized = dict(raw)
    for scored in scores.scored:
        for name in snapshot.nodes.names(scored.nodes):
            raw[name], normalized[name] = scored.raw, scored.normalized
    return raw, normalized
