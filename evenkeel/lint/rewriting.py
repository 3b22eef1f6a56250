"""
Finds the smallest change to a text that sets one value, or renames one; comments, order and formatting stay.

A value that has an anchor or a tag, or comes from an alias or merge is not changed, because other values share it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from evenkeel.lint.spans import OBJECT, SCALAR, Span
from webhook.kubernetes.fields import FieldPath, as_mapping
from webhook.kubernetes.scalars import resolve

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_./]*")
_COMMENT = re.compile(r"(^|\s)#", re.MULTILINE)
_STEP = 2  # spaces of indentation


@dataclass(frozen=True, slots=True)
class Replacement:
    """A text to write in place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Text:
    """YAML or JSON text to change."""

    text: str
    is_json: bool

    @cached_property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def column(self, offset: int) -> int:
        return offset - (self.text.rfind("\n", 0, offset) + 1)

    def end_of_line(self, offset: int) -> int:
        """Return the end of the line with the last character before `offset`, without its line end."""
        end = self.text.find("\n", max(offset - 1, 0))
        end = len(self.text) if end < 0 else end
        return end - 1 if self.text[end - 1 : end] == "\r" else end

    def change(self, root: Span, path: FieldPath, old: object, new: object) -> Replacement | None:
        """Return the change that replaces `old` at `path` with `new`; None if there is no safe change."""
        spans = root.spans_to(path)
        if any(map(_is_tied, spans)):
            return None
        if len(spans) == len(path):
            return self._insert(spans[-1], path[-1], new)
        return self._put(spans[-1], spans[-2], old, new) if len(spans) == len(path) + 1 else None

    def _put(self, span: Span, parent: Span, old: object, new: object) -> Replacement | None:
        """Replace a value that is there, `old`."""
        if isinstance(old, dict) and isinstance(new, dict):
            if names := _renamed(old, new):
                return self._rename(span.members.get(names[0]), names[1])
            moved = _moved(old, new)
            if moved is not None and (change := self._move(span, moved, new)) is not None:
                return change
        if any(map(_is_tied, (span, *span.members.values()))):
            return None
        if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
            # If only one member differs, change that alone.
            differing = [name for name in new if new[name] != old[name]]
            if len(differing) == 1 and differing[0] in span.members:
                return self._put(span.members[differing[0]], span, old[differing[0]], new[differing[0]])
        if isinstance(old, list) and isinstance(new, list) and old and new[:-1] == old:
            return self._append(span, new[-1])
        return self._replace(span, parent, new)

    def _rename(self, member: Span | None, name: str) -> Replacement | None:
        """Rename a member; only its name is changed, so that it does not matter if others share its value."""
        if member is None or member.key is None or member.elsewhere:
            return None
        start, end = member.key.start, member.key.end
        return Replacement(start, end, self._like(self.text[start:end], name))

    def _move(self, parent: Span, moved: _Moved, new: Mapping[str, object]) -> Replacement | None:
        """Take a member out of its object, and put it below its target."""
        member, target = parent.members.get(moved.name), parent.members.get(moved.target)
        if member is None or any(_is_tied(span) for span in (member, target) if span is not None):
            return None
        if not moved.target:
            return self._removal(parent, member)
        if target is None:
            return self._wrapped(parent, member, moved)
        value = as_mapping(new[moved.target])
        ways = [(self._removal(parent, member), self._insert(target, moved.new_name, value[moved.new_name]))]
        if len(value) == 1:  # The target is null or empty.
            ways = [
                (self._removal(parent, target), self._wrapped(parent, member, moved)),
                (self._removal(parent, member), self._replace(target, parent, value)),
            ]
        return next((self._joined(one, other) for one, other in ways if one is not None and other is not None), None)

    def _removal(self, parent: Span, member: Span) -> Replacement | None:
        """Remove a member; None if a comment would get lost."""
        if member.key is None:
            return None
        start, end = member.key.start, member.end
        own_members = [other for other in parent.members.values() if other.key is not None and not other.elsewhere]
        following = [other.key.start for other in own_members if other.key is not None and other.key.start > start]
        start_of_line = start - self.column(start)
        if not parent.flow and not self.text[start_of_line:start].strip():
            start, end = start_of_line, self.end_of_line(max(end, member.key.end)) + len(self.newline)
        elif following:
            end = min(following)
        elif parent.flow:
            start = max((other.end for other in own_members if other.end <= start), default=start)
        return None if _COMMENT.search(self.text[start:end]) else Replacement(start, end, "")

    def _wrapped(self, parent: Span, member: Span, moved: _Moved) -> Replacement | None:
        """Put a member below a new one, in its place."""
        if member.key is None:
            return None
        key = self.text[member.key.start : member.key.end]
        target = self._like(key, moved.target)
        inner = self._like(key, moved.new_name) + self.text[member.key.end : member.end]
        if parent.flow:
            return Replacement(member.key.start, member.end, f"{target}: {{{inner}}}")
        indent = " " * (self.column(member.key.start) + _STEP)
        inner = re.sub(r"\n(?=[^\r\n])", "\n" + " " * _STEP, inner)
        return Replacement(member.key.start, member.end, f"{target}:{self.newline}{indent}{inner}")

    def _joined(self, *changes: Replacement) -> Replacement:
        """Return one change that makes several, with the text between them as it is."""
        start, end = min(change.start for change in changes), max(change.end for change in changes)
        within = [Replacement(change.start - start, change.end - start, change.text) for change in changes]
        return Replacement(start, end, with_changes(self.text[start:end], within))

    def _replace(self, span: Span, parent: Span, new: object) -> Replacement | None:
        written = self.text[span.start : span.end]
        # A comment would get lost, and a block scalar is written in more than one line.
        if _COMMENT.search(written) or (span.shape == SCALAR and written[:1] in ("|", ">")):
            return None
        if span.shape == SCALAR and written and isinstance(new, str):
            return Replacement(span.start, span.end, self._like(written, new))
        if not span.flow:
            return Replacement(span.start, span.end, self._block(new, self.column(span.start)))
        # A key without a value has no space behind its colon.
        after_colon = " " if span.key is not None and self.text[span.start - 1 : span.start] == ":" else ""
        rest_of_line = self.text[span.end : self.end_of_line(span.end + 1)].strip()
        if span.key is None or parent.flow or rest_of_line or not isinstance(new, dict):
            return Replacement(span.start, span.end, after_colon + self._flow(new))
        # An object goes below its key, in block style; blanks behind the colon go.
        indent = self.column(span.key.start) + _STEP
        before = self.text[span.key.end : span.start]
        return Replacement(
            span.start - len(before) + len(before.rstrip(" ")),
            span.end,
            f"{self.newline}{' ' * indent}{self._block(new, indent)}",
        )

    def _append(self, span: Span, item: object) -> Replacement | None:
        """Add an item at the end of a list that has others."""
        last = span.members[len(span.members) - 1]
        if span.flow:
            return Replacement(last.end, last.end, f", {self._flow(item)}")
        start_of_line = last.start - self.column(last.start)
        dash = self.text[start_of_line : last.start]
        if dash.strip() != "-":  # as in a list of lists
            return None
        end = self.end_of_line(last.end)
        return Replacement(end, end, f"{self.newline}{dash}{self._flow(item)}")

    def _insert(self, parent: Span, name: str | int, new: object) -> Replacement | None:
        """Add a member at the end of an object that has others."""
        own_members = [member for member in parent.members.values() if not member.elsewhere]
        keys = [member.key for member in own_members if member.key is not None]
        if parent.shape != OBJECT or not isinstance(name, str) or not keys:
            return None
        key = self._flow(name)
        indent = self.column(keys[-1].start)
        if parent.flow:
            last = max(member.end for member in own_members)
            own_line = not self.text[keys[-1].start - indent : keys[-1].start].strip()
            before = f",{self.newline}{' ' * indent}" if own_line and self.is_json else ", "
            return Replacement(last, last, f"{before}{key}: {self._flow(new)}")
        end = self.end_of_line(parent.end)
        lead = " " * self.column(keys[0].start)
        value = self._flow(new) if isinstance(new, list) else self._nested(new, len(lead) + _STEP)
        return Replacement(end, end, f"{self.newline}{lead}{_member(key, value)}")

    def _nested(self, value: object, indent: int) -> str:
        if isinstance(value, dict) and value:
            return f"{self.newline}{' ' * indent}{self._block(value, indent)}"
        return self._flow(value)

    def _block(self, value: object, indent: int) -> str:
        """Return `value` in block style; every line but the first is indented by `indent` spaces."""
        if not isinstance(value, dict) or not value:
            return self._flow(value)
        lines = []
        for name, member in value.items():
            lines.append(_member(self._flow(name), self._nested(member, indent + _STEP)))
        return f"{self.newline}{' ' * indent}".join(lines)

    def _flow(self, value: object) -> str:
        """Return `value` in flow style, in one line."""
        if self.is_json:
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{self._flow(name)}: {self._flow(member)}" for name, member in value.items()) + "}"
        if isinstance(value, list):
            return f"[{', '.join(map(self._flow, value))}]"
        plain = isinstance(value, str) and _PLAIN_KEY.fullmatch(value) and isinstance(resolve(value), str)
        return str(value) if plain else json.dumps(value, ensure_ascii=False)

    def _like(self, written: str, new: str) -> str:
        """Return `new` in the same quotes as `written`."""
        if written[0] == "'" and "'" not in new:
            return f"'{new}'"
        return json.dumps(new, ensure_ascii=False) if written[0] == '"' else self._flow(new)


def _renamed(old: Mapping[str, object], new: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the old and the new name of a member, if it is the only difference."""
    removed, added = old.keys() - new.keys(), new.keys() - old.keys()
    if len(removed) != 1 or len(added) != 1:
        return None
    names = removed.pop(), added.pop()
    return names if list(old.values()) == list(new.values()) else None


class _Moved(NamedTuple):
    """A member of an object that goes below another member."""

    name: str
    target: str  # "" if it is only removed
    new_name: str


def _moved(old: Mapping[str, object], new: Mapping[str, object]) -> _Moved | None:
    """Return the member that has moved, if this is the only difference."""
    removed = old.keys() - new.keys()
    differing = [name for name in new if name not in old or old[name] != new[name]]
    if len(removed) != 1 or len(differing) > 1:
        return None
    (name,) = removed
    if not differing:
        return _Moved(name, "", "")
    (target,) = differing
    before, after = old.get(target), as_mapping(new[target])
    added = after.keys() - as_mapping(before).keys()
    if len(added) != 1 or not isinstance(before, dict | None):
        return None
    (new_name,) = added
    return _Moved(name, target, new_name) if after == {**as_mapping(before), new_name: old[name]} else None


def _is_tied(span: Span) -> bool:
    """Return whether changing its text would change other values, or the meaning of its tag."""
    return span.elsewhere or span.anchored or span.tagged


def _member(key: str, value: str) -> str:
    """Return a member of an object; a value that begins with a line end is written below its key."""
    return f"{key}:{value}" if value.startswith(("\r", "\n")) else f"{key}: {value}"


def with_changes(text: str, changes: list[Replacement]) -> str:
    """Return `text` with `changes`, which must not overlap."""
    parts, end = list[str](), 0
    for change in sorted(changes, key=lambda change: change.start):
        parts += (text[end : change.start], change.text)
        end = change.end
    return "".join((*parts, text[end:]))
