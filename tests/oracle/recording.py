"""
Recordings, made anew by the oracle.

    inputs, a case a line --> the oracle --> decisions, a line each --> tests/data/<minor>/<kind>.jsonl.gz

A case whose decision is as recorded keeps its line, so that a file changes only where Kubernetes does.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.cases import read
from tests.oracle import clusters
from tests.oracle.building import program
from tests.oracle.clusters.preempting import preempting
from tests.oracle.clusters.volumes import volumes
from tests.support import DATA
from tests.support.kubernetes_source import MissingError, parse

# Each with the mode in which the oracle is asked.
KINDS = {
    "validation": "validation",
    "placement": "placement",
    "profile": "profile",
    "whole_profile": "profile",
    "volume_profile": "profile",
    "configured": "configured",
    "preemption": "preemption",
}
# The first minor version of which the oracle answers in that mode.
SINCE = {"preemption": 33}
# What there is to ask before anything is recorded.
GENERATED = {"whole_profile": clusters.whole_profile, "volume_profile": volumes, "preemption": preempting}
# Where Go walks a map, errors come in random order.
UNORDERED = ("podCreate", "podTemplate")

Case = dict[str, object]


def main(arguments: Sequence[str], data: Path = DATA) -> int:
    """The exit status; errors are one line, after what go said of them."""
    try:
        version = parse(arguments[0] if arguments else "")
        oracle = program(version)
        for kind in KINDS:
            if version.minor < SINCE.get(kind, 0):
                continue
            cases = inputs(data, kind)
            print(record(data, version.folder, kind, cases, ask(oracle, KINDS[kind], cases)), flush=True)
    except (ValueError, MissingError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def file_of(data: Path, version: str, kind: str) -> Path:
    """Where the recordings of a kind stand."""
    return data / version / f"{kind}.jsonl.gz"


def write(path: Path, cases: Sequence[Case]) -> None:
    """Write the same bytes for the same cases; of those that are as in the version before, only their ids."""
    older = [other for other in files_of(path.parent.parent, path.name) if _minor(other) < _minor(path)]
    before = {case["id"]: case for case in read(older[-1])} if older else {}
    written = [
        {"id": case["id"], "as": older[-1].parent.name} if before.get(case["id"]) == case else case for case in cases
    ]
    lines = (json.dumps(case, separators=(",", ":"), ensure_ascii=False) + "\n" for case in written)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)  # A link would have its target overwritten.
    path.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def files_of(data: Path, name: str) -> list[Path]:
    """The recordings of a kind, the oldest version first."""
    return sorted(data.glob(f"1.*/{name}"), key=_minor)


def _minor(path: Path) -> int:
    return int(path.parent.name.partition(".")[2])


def inputs(data: Path, kind: str) -> list[Case]:
    """Those of the newest minor version that has recordings of this kind, without what it expects; else made ones."""
    files = files_of(data, f"{kind}.jsonl.gz")
    if not files and kind in GENERATED:
        return GENERATED[kind]()
    return [{name: value for name, value in case.items() if name != "expected"} for case in read(files[-1])]


def ask(oracle: Path, mode: str, cases: Sequence[Case]) -> list[object]:
    """A decision on each case."""
    given = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(["nice", oracle, mode], input=given, capture_output=True, text=True)
    if done.returncode:
        raise MissingError(f"{oracle} {mode}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def record(data: Path, version: str, kind: str, cases: Sequence[Case], decisions: Sequence[object]) -> str:
    """Rewrite the file if any decision is another than recorded there; what became of it, in a line."""
    path = file_of(data, version, kind)
    before = {case["id"]: case for case in read(path)} if path.exists() else {}
    now = [{**case, "expected": decision} for case, decision in zip(cases, decisions, strict=True)]
    kept = [_kept(before.get(case["id"]), case) for case in now]
    same = sum(case is before.get(case["id"]) for case in kept)
    if same < max(len(now), len(before)):
        others = {other: [*read(other)] for other in files_of(data, path.name) if other != path}
        write(path, kept)
        for other, cases_before in others.items():  # Those that refer to this file keep what they say.
            if [*read(other)] != cases_before:
                write(other, cases_before)
    return f"{version} {kind}: {len(now)} cases, {same} as recorded before"


def comparable(expected: object) -> object:
    """What of a decision counts: neither the order of errors, nor whether no errors are [] or null."""
    if not isinstance(expected, dict):
        return expected
    return expected | {name: sorted(expected[name] or [], key=json.dumps) for name in UNORDERED if name in expected}


def _kept(before: Case | None, now: Case) -> Case:
    """The case as it was recorded, if it says the same."""
    if before is None or {**before, "expected": None} != {**now, "expected": None}:
        return now
    return before if comparable(before["expected"]) == comparable(now["expected"]) else now
