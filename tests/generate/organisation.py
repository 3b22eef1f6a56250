"""docs/examples/organisation: the policies that evenkeel policy init writes, first to warn and then to deny."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.generate.commands import output
from webhook.policy_test.drafting import POLICY_FILE, TEST_FILE

FOLDER = "docs/examples/organisation"
WISH = (
    ("--require", "topology.kubernetes.io/zone", "--min-replicas", "3", "--namespace-selector", "env=production"),
    ("--exempt", "team=payments", "--until", "2030-06-30", "--contact", "platform@example.com"),
)
ENFORCED = {"warn": ("--enforcement", "Warn", "--deny-from", "2030-02-01"), "deny": ("--enforcement", "Deny")}


@cache
def run(enforced: str) -> tuple[str, dict[str, str]]:
    """What is printed, and the files that are written."""
    words = [*(word for line in WISH for word in line), *ENFORCED[enforced]]
    with TemporaryDirectory() as folder:
        printed = output(f"evenkeel policy init --dir {FOLDER}/{enforced} {' '.join(words)}", Path(folder))
        paths = [f"{FOLDER}/{enforced}/{name}" for name in (POLICY_FILE, TEST_FILE)]
        return printed, {path: Path(folder, path).read_text("utf-8") for path in paths}


def files() -> list[str]:
    return [f"{FOLDER}/{enforced}/{name}" for enforced in ENFORCED for name in (POLICY_FILE, TEST_FILE)]


def file(path: str) -> str:
    """A file as it is written today."""
    return run(Path(path).parent.name)[1][path]


def case() -> str:
    """The case of the test that shows that the exemption has ended."""
    cases = run("warn")[1][f"{FOLDER}/warn/{TEST_FILE}"].split("\n\n")
    text = next(each for each in cases if "no longer" in each)
    return f"```yaml\n{text}\n```\n"


def session(enforced: str) -> str:
    """The command, a line for each part of the wish, and what it prints."""
    lines = (f"evenkeel policy init --dir {FOLDER}/{enforced}", *map(" ".join, (*WISH, ENFORCED[enforced])))
    command = " \\\n    ".join(lines)
    return f"```console\n$ {command}\n{run(enforced)[0]}```\n"
