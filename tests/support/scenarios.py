"""
The situations that the feature's own documents describe, by their number there: what comes of the examples in FOLDER.

Each folder there has a cluster, and the Pods, or workloads, that are to be placed in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.support import DATA
from webhook.kubernetes.documents import read_objects

FOLDER = DATA / "scenarios"
CLUSTER, INCOMING = "cluster.yaml", "incoming.yaml"

SPREAD = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = f"{SPREAD} (missing required label)"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TAINTED = "node(s) had untolerated taint(s)"

EXAMPLES = (
    *("01-zone", "02-node", "03-larger-skew", "04-zone-and-node", "05-soft", "06-selector-misses-own-pod"),
    *("07-pods-on-an-unlabelled-node", "08-misspelt-label", "09-empty-zone", "10-zone-left-out"),
    *("11-zone-counted-all-the-same", "12-zone-against-node", "13-third-zone", "14-zones-of-different-sizes"),
    *("15-tainted-zone", "16-tainted-zone-soft", "17-scores", "18-large-skew", "19-min-domains", "20-invalid"),
    *("21-absent-match-label-key", "22-rolling-update", "24-default-constraints"),
    *("25-own-constraint", "26-pods-that-do-not-count"),
)


class Row(NamedTuple):
    """
    One Pod or workload of an example, by its name: `fits` are the nodes that take it, of which `best` score highest.

    The other nodes refuse it because of SPREAD, or what `because` says.
    """

    example: str
    incoming: str
    fits: tuple[str, ...]
    because: Mapping[str, str] = {}
    best: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.example if self.incoming == "incoming" else f"{self.example} {self.incoming}"


FOUR = ("node1", "node2", "node3", "node4")
C1 = {"c1": TAINTED}

ROWS = (
    Row("01-zone", "incoming", ("node3", "node4")),
    Row("02-node", "incoming", ("node4",)),
    Row("03-larger-skew", "incoming", FOUR),
    Row("04-zone-and-node", "hostname", ("node4",)),
    Row("04-zone-and-node", "own-key", ("node4",)),
    Row("05-soft", "incoming", FOUR, best=("node3", "node4")),
    Row("06-selector-misses-own-pod", "incoming", FOUR),
    Row("07-pods-on-an-unlabelled-node", "incoming", ("node2",), {"node1": MISSING_LABEL}),
    Row("08-misspelt-label", "incoming", ("node3", "node4"), {"node5": MISSING_LABEL}),
    Row("09-empty-zone", "incoming", ("node5",)),
    Row("10-zone-left-out", "node-affinity", ("node3", "node4"), {"node5": AFFINITY}),
    Row("10-zone-left-out", "node-selector", ("node3", "node4"), {"node5": AFFINITY}),
    Row("11-zone-counted-all-the-same", "incoming", (), {"node5": AFFINITY}),
    Row("12-zone-against-node", "both-hard", ()),
    Row("12-zone-against-node", "zone-soft", ("node2",)),
    Row("12-zone-against-node", "node-soft", ("node3",)),
    Row("12-zone-against-node", "zone-max-skew-2", ("node2",)),
    Row("12-zone-against-node", "node-max-skew-2", ("node3",)),
    Row("13-third-zone", "max-skew-1", ("c1",)),
    Row("13-third-zone", "max-skew-2", ("a1", "b1", "c1")),
    Row("14-zones-of-different-sizes", "by-zone", ("n3a",)),
    Row("14-zones-of-different-sizes", "by-node", ("n1c", "n2b", "n2c")),
    Row("15-tainted-zone", "ignore", (), C1),
    Row("15-tainted-zone", "honor", ("a1", "b1"), C1),
    Row("16-tainted-zone-soft", "incoming", ("a1", "b1"), C1, best=("a1", "b1")),
    Row("17-scores", "web", ("a1", "b1"), C1, best=("a1", "b1")),
    Row("17-scores", "api", ("a1", "b1"), C1, best=("b1",)),
    Row("18-large-skew", "incoming", ("c1",)),
    Row("19-min-domains", "web", ()),
    Row("21-absent-match-label-key", "incoming", ("node3", "node4")),
    Row("22-rolling-update", "together", ("c1",)),
    Row("22-rolling-update", "by-revision", ("a1", "b1", "c1")),
    Row("26-pods-that-do-not-count", "incoming", ("a1",)),
)

# The rules that find what an example is about.
RULES = {
    "06-selector-misses-own-pod": "selector-misses-own-pod",
    "08-misspelt-label": "unlabelled-nodes",
    "11-zone-counted-all-the-same": "unschedulable",
    "12-zone-against-node": "unschedulable",
    "15-tainted-zone": "tainted-domain",
    "19-min-domains": "too-few-domains",
    "20-invalid": "invalid-constraint",
    "21-absent-match-label-key": "absent-match-label-key",
    "22-rolling-update": "rollout-skew",
}


def objects(example: str, name: str) -> tuple[Mapping, ...]:
    """The objects in a file of an example, none if there is no such file."""
    file = FOLDER / example / name
    return tuple(read_objects(file.read_text("utf-8"))) if file.exists() else ()


def incoming(example: str, name: str) -> Mapping:
    """The Pod or workload of this name that is to be placed."""
    (found,) = (one for one in objects(example, INCOMING) if one["metadata"]["name"] == name)
    return found
