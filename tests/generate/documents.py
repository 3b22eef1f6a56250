"""The generated documents: written by `make docs`, compared by tests/house/test_documents.py."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from textwrap import wrap

from evenkeel.catalogue import markdown as catalogue
from evenkeel.report import skew_metrics
from tests import outputs
from tests.generate import chart, concepts, exits, growth, metrics, tutorial, versions
from tests.generate.commands import output
from tests.generate.markdown import table
from tests.support import ROOT
from tests.support.monitoring import described
from webhook.cluster.listed_resources import LISTED_RESOURCES
from webhook.cluster.watched_resources import WATCHED, Watched

TRANSCRIPTS = ROOT / "docs" / "transcripts"  # of kubectl, written and compared where there is a control plane
TABLE = re.compile(r"(<!-- (?P<name>\w+) -->\n).*?(<!-- /(?P=name) -->)", re.DOTALL)
COLUMNS_OF_README = 98  # that a page of GitHub shows without scrolling
_TRANSCRIPT = re.compile(r"(<!-- transcript: (?P<name>\w+) -->\n```[a-z]*\n).*?(```\n)", re.DOTALL)
_FILE = re.compile(r"(<!-- file: (?P<file>\S+) -->\n```[a-z]*\n).*?(```\n)", re.DOTALL)
_BLOCK = re.compile(r"(<!-- output of: (?P<command>.+?) -->\n```[a-z]*\n)(?P<output>.*?)(```\n)", re.DOTALL)


def filled(name: str) -> str:
    """A page with its generated parts as they should be today."""
    text = fill((ROOT / name).read_text("utf-8"), COLUMNS_OF_README if name == "README.md" else None)
    return TABLE.sub(lambda block: f"{block[1]}{table_of(block)}{block[3]}", text)


def table_of(block: re.Match[str]) -> str:
    """The table of the name that the mark has; KeyError if there is no such table."""
    return TABLES[block["name"]]()


WHOLE = {
    "docs/rules.md": catalogue.page,
    "docs/tutorial.md": tutorial.page,
    "tests/bench/growth.md": growth.page,
    "charts/evenkeel/values.schema.json": chart.schema,
    "charts/evenkeel/files/program.yaml": chart.program,
    "charts/evenkeel/files/operators.yaml": chart.operators,
    **{file: partial(concepts.picture, name) for file, name in concepts.DRAWINGS.items()},
    **{file: partial(outputs.printed, name) for file, name in outputs.OUTPUTS.items()},
}
FOLDERS_OF_PAGES = (ROOT, ROOT / "docs", ROOT / "charts" / "evenkeel")
PAGES = [str(page.relative_to(ROOT)) for folder in FOLDERS_OF_PAGES for page in sorted(folder.glob("*.md"))]
GENERATED = {**WHOLE, **{name: partial(filled, name) for name in PAGES if name not in WHOLE}}


def fill(text: str, columns: int | None = None) -> str:
    """
    `text` with the output of the command above each marked block, as it is today, in that block; or a file.

    What commands print is folded as in a terminal with so many columns.
    """
    text = _FILE.sub(lambda block: f"{block[1]}{(ROOT / block['file']).read_text('utf-8')}{block[3]}", text)
    text = _TRANSCRIPT.sub(lambda block: f"{block[1]}{folded(transcript(block['name']), columns)}{block[3]}", text)
    return _BLOCK.sub(
        lambda block: f"{block[1]}$ {block['command']}\n{folded(output(block['command']), columns)}{block[4]}", text
    )


def folded(printed: str, columns: int | None) -> str:
    """Each line in so many columns, but for commands, which are to be copied."""
    if columns is None:
        return printed
    lines = (
        [line] if line.startswith("$ ") else wrap(line, columns, break_long_words=False, break_on_hyphens=False) or [""]
        for line in printed.splitlines()
    )
    return "".join(f"{line}\n" for part in lines for line in part)


def transcript(name: str) -> str:
    """A session with kubectl in a cluster."""
    return (TRANSCRIPTS / f"{name}.txt").read_text("utf-8")


def rights() -> str:
    """The table of what may be read of a cluster."""
    return _purposes(WATCHED)


def viewer() -> str:
    """The table of what people need to read of a cluster."""
    return _purposes(LISTED_RESOURCES)


def _purposes(resources: Iterable[Watched]) -> str:
    """A table of the kinds that are read for each purpose."""
    kinds: dict[str, list[str]] = {}
    for resource in resources:
        kinds.setdefault(resource.purpose, []).append(resource.kind)
    return table(("kinds", "what they are read for"), ((", ".join(names), purpose) for purpose, names in kinds.items()))


def endings() -> str:
    """The table of how steps end, of docs/concepts.md."""
    return table(("step", "Pods per zone, the fullest first"), concepts.endings())


def skew() -> str:
    """The table of the metrics of a report."""
    rows = ((f"`{family.name}`", family.help) for family in described(skew_metrics.metrics(None, 0, 0)))
    return table(("metric", "what it is"), rows)


TABLES = {
    "endings": endings,
    "rights": rights,
    "exits": exits.table,
    "viewer": viewer,
    "skew": skew,
    "values": chart.table,
    "metrics": metrics.table,
    "reasons": metrics.reasons,
    "alerts": metrics.alerts,
    **{f"picture_{name.replace('-', '_')}": partial(concepts.shown, name) for name in concepts.PICTURES},
    "compared": versions.compared,
    "changes": versions.changed,
}


def write() -> Iterator[str]:
    """Write each generated file that is not as it should be today, and yield its name."""
    for name, content in GENERATED.items():
        path, text = ROOT / name, content()
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            yield name


if __name__ == "__main__":
    rewritten = 0
    for name in write():
        rewritten += 1
        print(f"rewrote {name}")
    print(f"{rewritten} of {len(GENERATED)} generated files were not up to date")
