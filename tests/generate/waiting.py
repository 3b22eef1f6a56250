"""The example of docs/computed.md: a picture of filter and score, and the sum behind each score."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from evenkeel.placement.subject import attempt, next_replica
from evenkeel.scheduler.framework import feasible_nodes
from evenkeel.scheduler.snapshot import from_objects
from evenkeel.scheduler.spread_counts import count_domains
from tests.generate.commands import output
from tests.generate.drawing import drawing
from tests.support import ROOT
from tests.support.placement import score_nodes
from webhook.kubernetes.documents import read_objects
from webhook.kubernetes.features import LATEST

FOLDER = ROOT / "docs" / "examples" / "waiting"
CLUSTER, SOFT = FOLDER / "cluster.yaml", FOLDER / "soft.yaml"
HARD_COMMAND = "evenkeel explain deployment/web -n shop --cluster cluster.yaml -o json"
SOFT_COMMAND = "evenkeel explain -f soft.yaml --cluster cluster.yaml -o json"


def picture() -> str:
    """The cluster, with what a hard and a soft constraint make of it."""
    hard, soft = (json.loads(output(command, FOLDER)) for command in (HARD_COMMAND, SOFT_COMMAND))
    return drawing(tuple(read_objects(CLUSTER.read_text("utf-8"))), {"DoNotSchedule": hard, "ScheduleAnyway": soft})


def sums() -> Iterator[tuple[str, str, str, str, str]]:
    """For each zone that has a candidate: its Pods, the sum as it is written, that rounded, and the score."""
    (deployment,) = read_objects(SOFT.read_text("utf-8"))
    (subject,) = next_replica(deployment, {})
    cycle = attempt(subject, from_objects(read_objects(CLUSTER.read_text("utf-8")), LATEST), LATEST).cycle
    candidates, ((soft,), nodes) = feasible_nodes(cycle), (cycle.constraints, cycle.snapshot.nodes)
    scored = score_nodes(cycle.pod, [soft], cycle.snapshot, candidates, LATEST).scored
    (counted,) = count_domains(cycle.reach, [soft], cycle.snapshot, LATEST)
    largest, smallest = max(one.raw for one in scored), min(one.raw for one in scored)
    zones = {zone: those for zone, those in sorted(nodes.domains(soft.topology_key).items()) if those & candidates}
    for zone, those in zones.items():
        (one,) = (one for one in scored if one.nodes & those)
        number = counted.match_num(zone)
        value = number * math.log(len(zones) + 2) + soft.max_skew - 1
        formula = f"{number} × ln({len(zones)} + 2) + {soft.max_skew} - 1 = {value:.2f}"
        score = f"100 × ({largest} + {smallest} - {one.raw}) / {largest} = {one.normalized}"
        yield zone, str(number), formula, str(one.raw), score
