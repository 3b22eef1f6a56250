"""
The situations that the feature's own documents describe, by their number there, and which nodes the Pod fits.

    zoneA  node1 web   node2 web        zoneB  node3 web   node4
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.support.build import HOSTNAME, SELECTOR, ZONE, constraint

SOFT = "ScheduleAnyway"
FOUR = {"node1": {ZONE: "zoneA"}, "node2": {ZONE: "zoneA"}, "node3": {ZONE: "zoneB"}, "node4": {ZONE: "zoneB"}}
FIVE = {**FOUR, "node5": {ZONE: "zoneC"}}
SPREAD = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = f"{SPREAD} (missing required label)"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
BY_ZONE, BY_NODE = constraint(), constraint(topologyKey=HOSTNAME)


class Row(NamedTuple):
    """`fits` are the nodes that take the Pod; the others refuse it because of SPREAD, or what `because` says."""

    name: str
    constraints: tuple[Mapping[str, object], ...]
    fits: tuple[str, ...]
    nodes: Mapping[str, Mapping[str, str]] = FOUR
    pods: tuple[str, ...] = ("node1", "node2", "node3")  # The nodes that have a matching Pod, once for each.
    labels: Mapping[str, str] = SELECTOR["matchLabels"]
    spec: Mapping[str, object] = {}
    because: Mapping[str, str] = {}


def affinity(operator: str, *zones: str) -> dict:
    """A Pod's spec that asks this of its node's zone."""
    terms = [{"matchExpressions": [{"key": ZONE, "operator": operator, "values": list(zones)}]}]
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    }


TYPO = {**FOUR, "node5": {"zone-typo": "zoneC"}}
NO_ZONE = {**FOUR, "node1": {}}
OWN_KEY = {name: {**labels, "node": name} for name, labels in FOUR.items()}
THREE = {"node1": {ZONE: "zoneA"}, "node2": {ZONE: "zoneA"}, "node3": {ZONE: "zoneB"}}
CROWDED = ("node1", "node1", "node2", "node3", "node3")
NOT_C, ON_SSD = affinity("NotIn", "zoneC"), {"nodeSelector": {"disk": "ssd"}}
SSD = FIVE | {name: {**labels, "disk": "ssd"} for name, labels in FOUR.items()}

ROWS = (
    Row("1 zone", (BY_ZONE,), ("node3", "node4")),
    Row("2 node", (BY_NODE,), ("node4",)),
    Row("3 zone, maxSkew 2", (constraint(maxSkew=2),), tuple(FOUR)),
    Row("4 zone and hostname", (BY_ZONE, BY_NODE), ("node4",)),
    Row("4 zone and a key of one's own", (BY_ZONE, constraint(topologyKey="node")), ("node4",), OWN_KEY),
    Row("5 zone, soft", (constraint(whenUnsatisfiable=SOFT),), tuple(FOUR)),
    Row("6 not matching itself", (BY_ZONE,), tuple(FOUR), labels={}),
    Row(
        *("7 Pods on a node without a zone", (BY_ZONE,), ("node2",), NO_ZONE, ("node1", "node1", "node3")),
        because={"node1": MISSING_LABEL},
    ),
    Row("8 a misspelt label", (BY_ZONE,), ("node3", "node4"), TYPO, because={"node5": MISSING_LABEL}),
    Row("9 an empty zone", (BY_ZONE,), ("node5",), FIVE),
    Row("10 left out by affinity", (BY_ZONE,), ("node3", "node4"), FIVE, spec=NOT_C, because={"node5": AFFINITY}),
    Row("10 left out by nodeSelector", (BY_ZONE,), ("node3", "node4"), SSD, spec=ON_SSD, because={"node5": AFFINITY}),
    Row(
        *("11 counted in spite of affinity", (constraint(nodeAffinityPolicy="Ignore"),), (), FIVE),
        spec=NOT_C,
        because={"node5": AFFINITY},
    ),
    Row("12 zone against node", (BY_ZONE, BY_NODE), (), THREE, CROWDED),
    *(
        Row(f"12 resolved, {how}", constraints, fits, THREE, CROWDED)
        for how, constraints, fits in (
            ("zone soft", (constraint(whenUnsatisfiable=SOFT), BY_NODE), ("node2",)),
            ("node soft", (BY_ZONE, BY_NODE | {"whenUnsatisfiable": SOFT}), ("node3",)),
            ("zone maxSkew 2", (constraint(maxSkew=2), BY_NODE), ("node2",)),
            ("node maxSkew 2", (BY_ZONE, BY_NODE | {"maxSkew": 2}), ("node3",)),
        )
    ),
)
