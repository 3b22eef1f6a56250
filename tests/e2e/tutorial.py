"""Runs docs/tutorial.md as a reader does; `python -m tests.e2e.tutorial` writes into it what its commands print."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.e2e.demo import STARTING, script
from tests.e2e.placement import pods, refusal
from tests.e2e.plane import ControlPlane
from tests.e2e.sessions import NAMESPACE, cluster
from tests.support import ROOT
from tests.support.serving import PATIENCE, Running, until

PAGE = ROOT / "docs" / "tutorial.md"
BEGIN = "make demo"
COMMANDS, OUTPUT, CHANGE = "sh", "text", "diff"
CUT = "…\n"  # ends an output that is shown in part
END = "-- the end of a command --"
MAY_EXIT_WITH_1 = re.compile("^evenkeel (?:explain|lint) ", re.MULTILINE)
_BLOCK = re.compile(rf"^```({COMMANDS}|{OUTPUT}|{CHANGE})\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATH, SHOWN_PATH = r"(?<=export PATH=)\S+", "/home/you/evenkeel/.venv/bin:$PATH"
# What differs from run to run. The same things on the page and in the output become equal.
MASKS = {
    "web-HASH": r"\b(?<=web-)[a-z0-9]{8,10}\b",
    "POD": r"(?<=web-HASH-)[a-z0-9]{5}\b",
    "pod-template-hash=HASH": r"pod-template-hash=\w+",
    "FOLDER": r"(?<=export KUBECONFIG=/)\S+(?=/)",
    "for TIME at least": r"for \d+ (?:s|min) at least",
}


class Block(NamedTuple):
    """A fenced block of the page, and where its text is."""

    language: str
    text: str
    start: int
    end: int


class Shell:
    """A terminal: its commands share one folder and one environment."""

    def __init__(self, home: Path, programs: Path):
        variables = {"HOME": str(home), "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            env={"PATH": os.pathsep.join((str(programs), os.environ["PATH"])), **variables},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, command: str) -> str:
        """Return what a command prints to both streams, in its order.  Only `explain` and `lint` may exit with 1."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{{ {command}\n}} < /dev/null\nprintf '\\n%s %s\\n' '{END}' $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(END):
                code = line.removeprefix(END).strip()
                assert code == "0" or (code == "1" and MAY_EXIT_WITH_1.search(command)), f"{code}: {command}"
                return "".join(lines).removesuffix("\n")
            lines.append(line)
        raise AssertionError(f"the shell ended: {command}")

    def close(self) -> None:
        self.process.communicate(timeout=PATIENCE)


class Tutorial:
    """A reader of the page, at the control plane of `make demo`."""

    def __init__(self, plane: ControlPlane, running: Running, shell: Shell):
        self.plane, self.running, self.shell = plane, running, shell

    def follow(self, page: str) -> str:
        """Do what the page says; return it with what is printed now, or as it is if only names and times differ."""
        parts, at, printed = [], 0, ""
        for block in blocks(page):
            assert not printed or block.language == OUTPUT, f"the page lacks an output:\n{printed}"
            text = block.text
            if block.language == COMMANDS:
                printed = self.give(text.rstrip("\n"))
            elif block.language == OUTPUT:
                text, printed = shown(printed, block.text), ""
            else:
                changed(text, Path(self.shell.run("pwd").strip()))
            parts += [page[at : block.start], text]
            at = block.end
        assert not printed, f"the page lacks an output:\n{printed}"
        now = "".join((*parts, page[at:]))
        return page if masked(now) == masked(page) else now

    def give(self, command: str) -> str:
        """Return what a command prints, and wait until nothing moves in the cluster."""
        if command == BEGIN:
            said = script(self.plane, self.running)
            self.shell.run("\n".join(re.findall(r"^ *(export .*)$", said, re.MULTILINE)))
            return f"{STARTING}\n{re.sub(PATH, SHOWN_PATH, said)}\n"
        printed = self.shell.run(command)
        until(lambda: still(self.plane), "a cluster in which nothing moves")
        return printed


def changed(change: str, folder: Path) -> Path:
    """Edit the file that has the lines of a change without `+`, as the lines without `-` say; return its path."""
    lines = change.splitlines(keepends=True)
    old, new = ("".join(line[1:] for line in lines if line[0] != sign) for sign in "+-")
    (file,) = (path for path in folder.glob("*.yaml") if path.read_text("utf-8").count(old) == 1)
    file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")
    return file


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page that are typed, printed or edited."""
    for match in _BLOCK.finditer(page):
        yield Block(match[1], match[2], match.start(2), match.end(2))


def shown(printed: str, before: str) -> str:
    """Return of an output as many lines as the page has shown before."""
    if not before.endswith(CUT):
        return printed
    return "".join((*printed.splitlines(keepends=True)[: before.count("\n") - 1], CUT))


def masked(text: str) -> str:
    """Return a text without what differs from run to run."""
    for name, pattern in MASKS.items():
        text = re.sub(pattern, name, text)
    return text


def still(plane: ControlPlane) -> bool:
    """Return whether all controllers, the scheduler and the kubelets have done their work."""
    deployments = plane.api.call("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments")["items"]
    nodes = plane.api.call("GET", "/api/v1/nodes")["items"]
    there = pods(plane, NAMESPACE)
    return (
        all(
            deployment["status"].get("observedGeneration") == deployment["metadata"]["generation"]
            for deployment in deployments
        )
        and all(
            deployment["status"].get("updatedReplicas") == deployment["spec"]["replicas"] for deployment in deployments
        )
        and len(there) == sum(deployment["spec"]["replicas"] for deployment in deployments)
        and all(pod["status"]["phase"] == "Running" or refusal(pod) for pod in there)
        and all(bool(node["spec"].get("taints")) == bool(node["spec"].get("unschedulable")) for node in nodes)
    )


@contextmanager
def tutorial(folder: Path) -> Iterator[Tutorial]:
    """Yield a reader with a home of their own."""
    (home := folder / "home").mkdir()
    with cluster(folder) as (plane, running):
        shell = Shell(home, plane.programs)
        try:
            yield Tutorial(plane, running, shell)
        finally:
            shell.close()


def main() -> None:
    """Write what the commands print into the page."""
    with TemporaryDirectory(prefix="evenkeel-demo-") as folder, tutorial(Path(folder)) as reader:
        PAGE.write_text(reader.follow(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
