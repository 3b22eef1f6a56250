"""
`python -m tests.release.lint_compared COMMIT [FOLDER…]`: the findings of lint that differ from those of another commit.

    FOLDER…, else the examples, the chart and fixtures ──lint of COMMIT──┐
                                                       ──lint of today──┴──> - what only COMMIT finds, + what is new

A finding differs if any word of it does.  Exit code 1: one of the two could not judge the files.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support import ROOT
from tests.support.commits import checked_out
from webhook.rules import RULES

FOLDERS = (ROOT / "docs" / "examples", ROOT / "charts", ROOT / "tests" / "example")
REVIEWS = ROOT / "tests" / "data" / "admission-reviews.jsonl.gz"

Lines = Mapping[str, Counter[str]]  # by file: each finding, problem and note, in a line


def fixtures() -> Iterator[tuple[str, str]]:
    """Yield the examples of the rules, and the objects of recorded reviews, each with its name."""
    for rule in RULES.values():
        yield f"{rule.id}/bad.yaml", f"{rule.context}---\n{rule.bad}"
        yield f"{rule.id}/good.yaml", f"{rule.context}---\n{rule.good}"
    with gzip.open(REVIEWS, "rt") as reviews:
        for i, review in enumerate(map(json.loads, reviews)):
            yield f"reviews/{i}.json", json.dumps(review["review"]["request"]["object"])


def written(made: Iterable[tuple[str, str]], folder: Path) -> Path:
    """The folder, with each text in a folder of its own, so that none stands beside another for lint."""
    for name, text in made:
        path = Path(name)
        file = folder / path.with_suffix("") / "testdata" / f"manifest{path.suffix}"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return folder


def judged(tree: Path, folders: Sequence[Path]) -> Mapping[str, object]:
    """What lint of a tree prints of these folders, as JSON."""
    command = [sys.executable, "-m", "webhook", "lint", "-o", "json", *map(str, folders)]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(f"lint of {tree} exits with {done.returncode}: {done.stderr.strip()}")
    document: Mapping[str, object] = json.loads(done.stdout)
    return document


def lines_of(document: Mapping[str, object], aliases: Mapping[str, str]) -> Lines:
    """By file, under the aliases of folders: what lint says in it."""
    lines: dict[str, Counter[str]] = {}
    for sort in ("findings", "problems", "notes"):
        for said in document[sort]:
            folder = next((folder for folder in aliases if said["file"].startswith(f"{folder}/")), "")
            file = f"{aliases[folder]}{said['file'].removeprefix(folder)}" if folder else said["file"]
            line = f"{said['line']}:{said['column']} {sort[:-1]}: {said['message']}"
            if sort == "findings":
                what = f"{said['severity']} {said['rule']} {said['field']}"
                line = f"{said['line']}:{said['column']} {what}: {said['message']}; {said['fix']}"
            lines.setdefault(file, Counter())[line] += 1
    return lines


def differing(before: Lines, after: Lines) -> Iterator[str]:
    """Yield what differs by file, and a line with the sum."""
    fewer = more = files = 0
    for file in sorted(before.keys() | after.keys()):
        old, new = before.get(file, Counter()), after.get(file, Counter())
        gone, come = old - new, new - old
        if gone or come:
            yield file
            yield from (f"  - {line}" for line in sorted(gone.elements(), key=_position))
            yield from (f"  + {line}" for line in sorted(come.elements(), key=_position))
            fewer, more, files = fewer + gone.total(), more + come.total(), files + 1
    yield f"{more} new and {fewer} gone in {files} of {len(before.keys() | after.keys())} files with findings"


def _position(line: str) -> tuple[int, str]:
    return int(line.partition(":")[0]), line


def main(commit: str, folders: Sequence[str]) -> int:
    with TemporaryDirectory() as temporary:
        made = written(fixtures(), Path(temporary, "fixtures"))
        chosen = [Path(folder).resolve() for folder in folders] or [*FOLDERS, made]
        aliases = {str(folder): os.path.relpath(folder, ROOT) for folder in chosen} | {str(made): "fixtures"}
        tree = checked_out(commit, Path(temporary, "commit"))
        before, after = (lines_of(judged(code, chosen), aliases) for code in (tree, ROOT))
        print("\n".join(differing(before, after)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
