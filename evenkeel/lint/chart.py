"""
Which values the templates of a chart read.

    templates/*  ──read_chart──> Chart ──reads(("web", "topologySpreadConstraints"))──> whether any template may read it
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from evenkeel.lint.builds import CHART
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.fields import FieldPath, as_list, as_mapping
from webhook.kubernetes.kinds import FIELD
from webhook.kubernetes.scalars import DocumentError

_COMMENT = re.compile(r"\{\{-?\s*/\*.*?\*/\s*-?\}\}|^[ \t]*#[^\n{]*$", re.DOTALL | re.MULTILINE)
_VALUES = re.compile(r"\bValues((?:\.\w+)*)")
_NAMED = re.compile(rf"([\w.$]*)\b{FIELD}\b(\s*:)?")
_INCLUDED = re.compile(r"""\b(?:include|template)\s+("[^"]*"|\S+)""")
_DEFINED = re.compile(r"""\bdefine\s+("[^"]*")""")
_REQUIREMENTS = "requirements.yaml"  # the dependencies of a chart of apiVersion v1
# The field with a whole value below it, not in a list, such as {{ with … }}topologySpreadConstraints: {{ toYaml . }}
_IN_ACTION = r"[^}]{0,300}?"
_WHOLE = re.compile(
    rf"\b{FIELD}:\s*(?:\{{\{{-?\s*(?:if|with)\b{_IN_ACTION}\}}\}}\s*)*"
    rf"\{{\{{-?(?!{_IN_ACTION}\blist\b){_IN_ACTION}\b(?:toYaml|toJson|tpl|tplvalues)\b"
)
# A field or an item of constraints, or a question about their type.
_PARTS = re.compile(
    rf"{FIELD}\.|\brange\b{_IN_ACTION}{FIELD}|[\"`](?:map|slice)\b"
    r"|[.\"`](?:maxSkew|topologyKey|whenUnsatisfiable)\b"
)
# A template that reads other files, or text of the values as a template, may read any value.
_READS_ALL = re.compile(r"\.Files\b|\btpl\b")


@dataclass(frozen=True)
class Chart:
    """The templates of a chart."""

    templates: str  # the text of all, without comments
    others: frozenset[str]  # the charts that it depends on, which read the values under their names

    def reads(self, path: FieldPath) -> bool:
        """Return whether a template may read the constraints at a path of the values, which ends in their field."""
        if path[0] in self.others or path[0] == "global" or self._reads_unknown_values:
            return True
        return any(read[: len(path)] == path[: len(read)] for read in self._values)

    @property
    def takes_lists(self) -> bool:
        """Whether a template writes constraints as a whole, and none reads parts of them, or asks for their type."""
        return _WHOLE.search(self.templates) is not None and _PARTS.search(self.templates) is None

    @cached_property
    def _values(self) -> frozenset[FieldPath]:
        """The paths of the values that a template names."""
        return frozenset(tuple(match[1].split(".")[1:]) for match in _VALUES.finditer(self.templates))

    @cached_property
    def _reads_unknown_values(self) -> bool:
        """Whether some of the values that are read are not known: those of a library, or relative to another value."""
        if _READS_ALL.search(self.templates):
            return True
        defined = set(_DEFINED.findall(self.templates))
        if any(name not in defined for name in _INCLUDED.findall(self.templates)):
            return True
        return any(
            "Values." not in before and (before or not is_key) for before, is_key in _NAMED.findall(self.templates)
        )


def read_chart(file: str, read_file: Callable[[str], str | None]) -> Chart | None:
    """
    Return the chart in whose folder a file lies, which may be its values.

    None if there is none with templates, or they cannot be read, or the file is a schema of values.
    """
    if file.endswith(".schema.json"):
        return None
    folder = os.path.dirname(file)
    described = read_file(os.path.join(folder, CHART))
    templates = [*_files_below(os.path.join(folder, "templates"))] if described is not None else []
    texts = [read_file(template) for template in templates]
    if not texts or any(text is None for text in texts):
        return None
    try:
        others = {*_names_needed(described or ""), *_names_needed(read_file(os.path.join(folder, _REQUIREMENTS)) or "")}
    except DocumentError:
        return None
    charts = os.path.join(folder, "charts")
    for name in os.listdir(charts) if os.path.isdir(charts) else ():
        # The name of an archive is NAME-VERSION.tgz, and both may have dashes.
        others |= {name, *(name[: dash.start()] for dash in re.finditer("-", name) if name.endswith(".tgz"))}
    return Chart(_COMMENT.sub("", "\n".join(text for text in texts if text)), frozenset(others))


def _names_needed(text: str) -> Iterator[str]:
    """Yield the names under which values go to the charts that a Chart.yaml or requirements.yaml depends on."""
    described = as_mapping(next(iter(read_documents(text, [])), None))
    for needed in as_list(described.get("dependencies")):
        yield from (str(as_mapping(needed).get(field)) for field in ("name", "alias"))


def _files_below(folder: str) -> Iterator[str]:
    for path, _, names in os.walk(folder):
        yield from (os.path.join(path, name) for name in sorted(names))
