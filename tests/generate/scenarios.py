"""The page of scenarios, and a drawing of each: from the examples, and what evenkeel prints of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.generate.commands import output
from tests.generate.drawing import drawing
from tests.support.scenarios import CLUSTER, EXAMPLES, FOLDER, INCOMING, RULES, objects

DRAWING = "drawing.svg"
HEAD = """# Scenarios

Situations in which Pods with `topologySpreadConstraints` are placed, as Kubernetes' own documents describe them, and
what comes of each. Each is a folder of [examples/scenarios](examples/scenarios): a cluster, and the Pods to be placed
in it. This page is generated from them, with the output of the commands, which you can run in that folder.

A drawing shows the nodes with their Pods. Below them is, for each hard constraint, the skew if the Pod were placed
there: the Pods that are there, one more for the Pod itself, less the fewest Pods of any domain; for a soft one, the
number of Pods. The last line says which nodes fit. [The arithmetic](computed.md#filter) explains the sums.
"""
# The commands for an example that is about something else than where its Pods fit.
COMMANDS = {
    "20-invalid": ["lint {incoming}"],
    "23-scaling-down": ["explain pod/web-1 -n shop --cluster {cluster}"],
    "24-default-constraints": [
        *(
            f"admit -f {{incoming}} --cluster {{cluster}} --policy 24-default-constraints/{name}.yaml"
            for name in ("list", "system", "none")
        ),
        "explain -f {incoming} --cluster {cluster} --policy 24-default-constraints/system.yaml",
    ],
    "25-own-constraint": [
        f"{command} -f {{incoming}} --cluster {{cluster}} --policy 25-own-constraint/policy.yaml"
        for command in ("admit", "explain")
    ],
}
EXPLAIN, LINT = "explain -f {incoming} --cluster {cluster}", "lint {incoming} --cluster {cluster}"


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for name in EXAMPLES for line in _section(name))])


def _section(name: str) -> Iterator[str]:
    title, *text = _comment(name)
    yield f"## {int(name[:2])}. {title.rstrip('.')}"
    yield ""
    yield from text
    yield ""
    if objects(name, CLUSTER):
        yield f"![The cluster of {name}, and which nodes fit](examples/scenarios/{name}/{DRAWING})"
        yield ""
    for command in _commands(name):
        yield "```console"
        yield f"$ {command}"
        yield output(command, FOLDER).rstrip()
        yield "```"
        yield ""


def _comment(name: str) -> list[str]:
    """The lines of comment with which an example begins."""
    file = FOLDER / name / INCOMING
    lines = (file if file.exists() else FOLDER / name / CLUSTER).read_text("utf-8").splitlines()
    return [line.removeprefix("# ") for line in lines[: next(at for at, line in enumerate(lines) if line[:1] != "#")]]


def _commands(name: str) -> list[str]:
    named = [EXPLAIN, *([LINT] if name in RULES else [])]
    files = {"incoming": f"{name}/{INCOMING}", "cluster": f"{name}/{CLUSTER}"}
    return [f"evenkeel {command.format(**files)}" for command in COMMANDS.get(name, named)]


def drawn(name: str) -> str:
    """The drawing of an example."""
    (command,) = (one for one in _commands(name) if one.startswith("evenkeel explain"))
    found = json.loads(output(f"{command} -o json", FOLDER))
    names = [one["metadata"]["name"] for one in objects(name, INCOMING)] or [found["pod"]]
    return drawing(objects(name, CLUSTER), dict(zip(names, found.get("items", [found]), strict=True)))


DRAWINGS = {f"docs/examples/scenarios/{name}/{DRAWING}": name for name in EXAMPLES if name != "20-invalid"}
