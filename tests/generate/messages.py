"""
docs/messages.txt: the lines that a user can see, so that a change of one shows in review.

    python -m tests.generate.messages

It is derived from the code, and in doubt a text is in it: each that has two words, of which one may be filled in, by
the file that has it.  Left out are docstrings, annotations, regular expressions, tables of names, examples in YAML, and
CEL that has no text in quotes.  `{…}` is what the code fills in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import yaml

from tests.support import ROOT
from tests.support.commands import commands
from webhook.rules import RULES

TABLES = ("webhook/cluster/fields.py", "webhook/lint/charts.py", "webhook/objects/operator_places.py")
SCRIPTS = ("webhook/render/shells.py",)
CEL = "webhook/manifests/"
INTRODUCTION = """\
The lines that evenkeel prints, logs, answers or shows as help, by the file that has them. `make docs` writes them here.
{…} is what the code fills in.
"""
_PLAIN = r"\(?(?<![\w./$-])[A-Za-z]+(?:'[a-z]+)?(?![\w/=(\[]|\.\w|:\w)[,;:.?)]*"
_FILLED = r"\(?\"?\{…?\}[\"',;:.)]*"
_PROSE = re.compile(rf"{_PLAIN}\s+(?:{_PLAIN}|{_FILLED})|{_FILLED}\s+{_PLAIN}")
_IN_PROGRAM = re.compile(r"\\[sSdwW]|\(\?|text/plain|%Y")  # a regular expression, a type of content, a form of a date
_CODE = re.compile(r"&&|\|\||==|\.\?|\w\(|\]\.|\[\?| \? | \+ | in \[|variables\.|object\.")  # in CEL
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_YAML = re.compile(r"\s*(?:- )?[a-z]\w*:( .*)?\n\s*(?:- )?[a-z]\w*:")
_MARKUP = re.compile(r"<[^>]*>|\{%.*?%\}")
_ATTRIBUTE = re.compile(r"(?:aria-label|placeholder|title|label)=\"([^\"]*)\"")
_IN_QUOTES = re.compile(r'"((?:[^"\\]|\\.)*)"|`([^`]*)`')


def page() -> str:
    """The whole list."""
    blocks = ("\n".join((name, *map(_indented, texts), "")) for name, texts in every_text())
    return "\n".join((INTRODUCTION, *blocks))


def _indented(text: str) -> str:
    return "    " + "\n      ".join(line.rstrip() for line in text.strip().split("\n"))


def every_text() -> Iterator[tuple[str, list[str]]]:
    """Each file, or command, and its texts, each once."""
    for name, texts in _sources():
        if once := [*dict.fromkeys(texts)]:
            yield name, once


def _sources() -> Iterator[tuple[str, Iterable[str]]]:
    for name in _files("*.py", "webhook", "certs", "charts/evenkeel/files"):
        if name not in TABLES and name not in SCRIPTS:
            yield name, texts_in((ROOT / name).read_text("utf-8"), cel=name.startswith(CEL))
    for command, parser in commands():
        yield f"evenkeel {command} --help", [parser.description or ""]
    for rule in RULES.values():
        yield f"evenkeel rules {rule.id}", [rule.rationale]
    for pattern, (folder, read) in READERS.items():
        for name in _files(pattern, folder):
            yield name, [text for text in read((ROOT / name).read_text("utf-8")) if is_prose(text)]


def _files(pattern: str, *folders: str) -> list[str]:
    return sorted(str(file.relative_to(ROOT)) for folder in folders for file in (ROOT / folder).rglob(pattern))


def texts_in(source: str, *, cel: bool = False) -> Iterator[str]:
    """The texts of a module that a user may see."""
    return _of_node(ast.parse(source), cel)


def _of_node(node: ast.AST, cel: bool) -> Iterator[str]:
    if isinstance(node, ast.Constant | ast.JoinedStr):
        text, literal = _text(node)
        if is_prose(literal) and not (cel and _is_code(literal)):
            yield text
            return
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in ("annotation", "returns") and not _is_docstring(child):
                yield from _of_node(child, cel)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _text(node: ast.Constant | ast.JoinedStr) -> tuple[str, str]:
    """A text with what is filled in, and with `{}` in its place."""
    if isinstance(node, ast.Constant):
        return (node.value, node.value) if isinstance(node.value, str) else ("", "")
    parts = [
        (f"{{{ast.unparse(part.value)}}}", "{}") if isinstance(part, ast.FormattedValue) else (part.value,) * 2
        for part in node.values
    ]
    return "".join(text for text, _ in parts), "".join(literal for _, literal in parts)


def is_prose(literal: str) -> bool:
    """Whether a text has two words of a sentence, of which one may be filled in."""
    return not _IN_PROGRAM.search(literal) and not _YAML.match(literal) and _PROSE.search(literal) is not None


def _is_code(literal: str) -> bool:
    """Whether it is CEL without a message."""
    return _CODE.search(literal) is not None and not any(map(_PROSE.search, _QUOTED.findall(literal)))


def _of_page(text: str) -> list[str]:
    lines = (*_ATTRIBUTE.findall(text), *_MARKUP.sub("\n", text).split("\n"))
    return [line.strip() for line in lines]


def _of_notes(text: str) -> list[str]:
    return [line.strip() for line in re.sub(r"\{\{.*?\}\}", "{…}", text).split("\n") if "{…}" != line]


def _of_script(text: str) -> list[str]:
    return [one or other for one, other in _IN_QUOTES.findall(text)]


def _of_values(text: str) -> list[str]:
    return [*_values(yaml.safe_load(text))]


def _values(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _values(inner) if name not in ("expr", "legendFormat", "definition") else ()
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)


READERS: Mapping[str, tuple[str, Callable[[str], list[str]]]] = {
    "*.html": ("webhook/render/templates", _of_page),
    "*.js": ("webhook/render/templates", _of_script),
    "NOTES.txt": ("charts/evenkeel/templates", _of_notes),
    "*.tpl": ("charts/evenkeel/templates", _of_script),
    "*.yaml": ("charts/evenkeel/templates", _of_script),
    "*alerts.yaml": ("charts/evenkeel/files", _of_values),
    "*dashboard.json": ("charts/evenkeel/files", _of_values),
}


if __name__ == "__main__":
    print(page(), end="")
