"""
How many nodes Karpenter would start for Pods with soft constraints, as its own code decides.

    python -m tests.oracle.karpenter   # builds main.go with Karpenter, asks it, rewrites tests/data/karpenter.jsonl

A case is a number of Pods of one workload that come at once, and the nodes that are there.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.support import DATA
from tests.support.kubernetes_source import MissingError, build
from webhook.kubernetes.names import HOSTNAME, ZONE
from webhook.spread.constraint import SOFT

VERSION, GO = "v1.15.0", "1.26.9"
SOURCE, RECORDED = Path(__file__).parent / "main.go", DATA / "karpenter.jsonl"
MODULE = f"module evenkeel.dev/built\n\ngo {GO}\n\nrequire sigs.k8s.io/karpenter {VERSION}\n"
KEYS = {"zone": ZONE, "hostname": HOSTNAME}
PODS = (2, 3, 7, 10, 11, 30, 31, 64, 100)
CPUS = ("250m", "2", "8")
# In each of the three zones a node with this many Pods of the workload, and room for so many more.
RUNNING = ((), ((4, 5), (4, 5), (4, 5)), ((8, 20), (2, 1), (0, 3)))
CONSTRAINTS = ("", "zone 1", "zone 1, hostname 1", "zone 1, hostname 3", "zone 1, hostname 10")


class Case(NamedTuple):
    """`constraints` are soft: a key and its maxSkew each, such as "zone 1, hostname 10"."""

    pods: int
    cpu: str
    running: tuple[tuple[int, int], ...]
    constraints: str


class Decision(NamedTuple):
    """The Pods on each new node of a zone; where several zones are possible, they are one."""

    zones: tuple[tuple[int, ...], ...]

    @property
    def nodes(self) -> int:
        """The number of new nodes."""
        return sum(map(len, self.zones))


def in_words(constraints: Sequence[Mapping[str, object]]) -> str:
    """Return soft constraints as cases have them; KeyError for one of another key or kind."""
    by_key = {key: name for name, key in KEYS.items()}
    wanted = [{"topologyKey": each["topologyKey"], "maxSkew": each["maxSkew"]} for each in constraints]
    if [{**each, "whenUnsatisfiable": SOFT} for each in wanted] != [dict(each) for each in constraints]:
        raise KeyError(f"not a soft constraint alone: {constraints}")
    return ", ".join(f"{by_key[str(each['topologyKey'])]} {each['maxSkew']}" for each in wanted)


def recorded() -> dict[Case, Decision]:
    """Return what is recorded."""
    lines = map(json.loads, RECORDED.read_text("utf-8").splitlines())
    return {
        Case(line["pods"], line["cpu"], tuple(map(tuple, line["running"])), line["constraints"]): Decision(
            tuple(map(_numbers, line["new"]))
        )
        for line in lines
    }


def record() -> None:
    """Ask Karpenter, and rewrite the recordings; MissingError if it cannot be built."""
    cases = [Case(*each) for each in product(PODS, CPUS, RUNNING, CONSTRAINTS)]
    lines = [
        json.dumps({**case._asdict(), "new": [*map(_text, zones)]})
        for case, zones in zip(cases, _ask(cases), strict=True)
    ]
    RECORDED.write_text("\n".join(lines) + "\n", "utf-8")


def _ask(cases: Sequence[Case]) -> Iterator[Sequence[Sequence[int]]]:
    go = shutil.which("go")
    if go is None:
        raise MissingError("the oracle needs Go: install it from https://go.dev/dl/")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copy(SOURCE, folder)
        (folder / "go.mod").write_text(MODULE, "utf-8")
        build(SOURCE.parent, folder, go, "-o=oracle")
        given = "".join(json.dumps(_input(case)) + "\n" for case in cases)
        done = subprocess.run(["nice", folder / "oracle"], input=given, capture_output=True, text=True, check=True)
    return (json.loads(line) for line in done.stdout.splitlines())


def _input(case: Case) -> dict[str, object]:
    pairs = [text.split() for text in case.constraints.split(", ") if text]
    constraints = [
        {"topologyKey": KEYS[name], "maxSkew": int(max_skew), "whenUnsatisfiable": SOFT} for name, max_skew in pairs
    ]
    nodes = [
        {"zone": f"test-zone-{number}", "running": running, "room": room}
        for number, (running, room) in enumerate(case.running, 1)
    ]
    return {"pods": case.pods, "cpu": case.cpu, "constraints": constraints, "nodes": nodes}


def _text(pods: Sequence[int]) -> str:
    """Return the Pods on each node, those of equal nodes once, such as "3x10 1x4"."""
    return " ".join(f"{len([*equal])}x{number}" for number, equal in groupby(pods))


def _numbers(text: str) -> tuple[int, ...]:
    equal = [tuple(map(int, part.split("x"))) for part in text.split()]
    return tuple(number for times, number in equal for _ in range(times))
