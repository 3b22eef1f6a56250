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


def read(path: Path) -> list[Case]:
    """Every case, with what it expects."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def write(path: Path, cases: Sequence[Case]) -> None:
    """Write the same bytes for the same cases; a version that records what another one does links to its file."""
    lines = (json.dumps(case, separators=(",", ":"), ensure_ascii=False) + "\n" for case in cases)
    content = gzip.compress("".join(lines).encode(), mtime=0)
    path.parent.mkdir(exist_ok=True)
    _hand_over(path)
    path.unlink(missing_ok=True)  # A link would have its target overwritten.
    for other in _of_other_versions(path):
        if not other.is_symlink() and other.read_bytes() == content:
            _link(path, other)
            return
    path.write_bytes(content)


def _of_other_versions(path: Path) -> list[Path]:
    return [other for other in sorted(path.parent.parent.glob(f"*/{path.name}")) if other.parent != path.parent]


def _hand_over(path: Path) -> None:
    """Let versions that link to a file keep what it has: the first of them gets it, the others link to that."""
    if path.is_symlink() or not path.exists():
        return
    linking = [other for other in _of_other_versions(path) if other.is_symlink() and other.samefile(path)]
    if not linking:
        return
    first, *others = linking
    first.unlink()
    path.rename(first)
    for other in others:
        other.unlink()
        _link(other, first)


def _link(path: Path, other: Path) -> None:
    path.symlink_to(Path("..", other.parent.name, other.name))


def inputs(data: Path, kind: str) -> list[Case]:
    """Those of the newest minor version that has recordings of this kind, without what it expects; else made ones."""
    versions = [int(path.parent.name.partition(".")[2]) for path in data.glob(f"1.*/{kind}.jsonl.gz")]
    if not versions and kind in GENERATED:
        return GENERATED[kind]()
    newest = file_of(data, f"1.{max(versions)}", kind)
    return [{name: value for name, value in case.items() if name != "expected"} for case in read(newest)]


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
        write(path, kept)
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
