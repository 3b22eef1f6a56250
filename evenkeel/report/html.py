"""
A page of HTML in one file, that reads nothing from anywhere and lets nothing run but its own script.

    template, values ──every value escaped──> HTML, with style, script, and a Content-Security-Policy of their hashes
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webhook.findings.wording import LINE_LIMIT, one_line

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
STYLE = "page.css"
NO_SOURCE = "'none'"
SHORT_WIDTH, WIDE_WIDTH, NAME_WIDTH = 17, 48, 63  # characters of a name: beside a bar, above it, and elsewhere


class Bar(NamedTuple):
    """One bar of a chart."""

    name: str
    number: str  # as text: what the bar stands for
    length: float  # in units of the SVG
    remark: str = ""


class Tile(NamedTuple):
    """A number at the top of a page."""

    number: str  # "" if not known
    what: str  # it counts
    bad: bool = False  # it is bad news


def page(template: str, script: str = "", **values: object) -> str:
    """Return the page that a template makes of values, all escaped; `script` is the name of its script's file."""
    style, script = _text(STYLE), _text(script) if script else ""
    allowed = f"style-src {_hash(style)}; script-src {_hash(script) if script else NO_SOURCE}"
    policy = f"default-src {NO_SOURCE}; {allowed}; base-uri {NO_SOURCE}; form-action {NO_SOURCE}"
    return _environment().get_template(template).render(style=style, script=script, policy=policy, **values)


def scaled(number: float, widest: float, length: int) -> float:
    """Return the length of a bar for `number`, where the bar for the number `widest` has `length`."""
    scaled_length = round(length * number / widest, 1) if widest else 0
    return int(scaled_length) if scaled_length == int(scaled_length) else scaled_length


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # slow to import, and only needed for a page

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, limit in (("short", SHORT_WIDTH), ("wide", WIDE_WIDTH), ("name", NAME_WIDTH), ("line", LINE_LIMIT)):
        environment.filters[name] = partial(_cut, limit=limit)
    return environment


def _shown(value: object) -> object:
    """Return a text as one printable line; what is marked as safe, such as the style and the script, stays."""
    return one_line(value, 4 * LINE_LIMIT) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _cut(text: str, limit: int) -> str:
    return one_line(text, limit)


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8")


def _hash(text: str) -> str:
    """Return the source expression of Content Security Policy that allows exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
