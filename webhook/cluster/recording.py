"""
The file of `evenkeel verify --record`: what there was, and the log of what happened to it.

    {"kind": "ClusterRecording", "version": 1, "kubernetesVersion": "v1.37.1", "time": "2026-01-31T10:00:00Z"}
    {"apiVersion": "v1", "kind": "Node", …}
    {"listed": 1200, "missing": {}}
    {"object": {"kind": "Pod", …}, "seconds": 1.234, "type": …, "version": 1234}

These are gzipped lines of JSON: the header of a dump, one object a line as they came, the resourceVersion up to which
what happened is in their lists with what could not be listed, and one event a line.  Where the log was interrupted,
another header follows.  A file whose end is cut off, as when the process was killed, is read up to its last whole line.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from webhook.cluster.cluster import Contents, FormatError
from webhook.cluster.dump import LONGEST_HEADER, naming_file, open_file
from webhook.cluster.dump_file import RECORDING_KIND, described, header, is_header, value_in
from webhook.cluster.reduction import as_line
from webhook.objects.fields import Raw, as_mapping, integer
from webhook.objects.reading import brief
from webhook.verification.watch_event import ADDED_EVENT, DELETED_EVENT, MODIFIED_EVENT, WatchEvent

FLUSH_SECONDS, MOST_UNWRITTEN = 2.0, 1 << 20  # Bytes of lines.
# The parts of a section, by a member that only their lines have.
_HEADER, _OBJECT, _LISTED, _EVENT_TIME = "header", "object", "listed", "seconds"
_EVENT_TYPES = (ADDED_EVENT, MODIFIED_EVENT, DELETED_EVENT)
_AGAIN = "record again"


class Recording:
    """
    A recording that is written; what was written reaches the file after FLUSH_SECONDS.

    It does so in gzip files one after the other, each by one write: an interrupt leaves a whole file.  DumpError if it
    cannot be written.
    """

    def __init__(self, path: Path) -> None:
        with naming_file(path):
            self._path, self._file = path, path.open("wb", buffering=0)
        self._lines, self._size = list[bytes](), 0
        self._flushed = monotonic()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        with self._file:
            self._flush()

    def begin(self, contents: Contents) -> None:
        """Begin a section with the header of `contents`, whose objects need not have been gone through."""
        self._write(json.dumps(header(contents._replace(missing={}), RECORDING_KIND)).encode() + b"\n")
        self._flush()

    def add_object(self, raw: Raw) -> None:
        """Write an object of the section."""
        self._write(as_line(raw))

    def end_objects(self, version: int, missing: Mapping[str, str]) -> None:
        """Write the resourceVersion of the lists, and what could not be listed; events follow."""
        self._write(as_line({"listed": version, "missing": missing}))
        self._flush()

    def add_events(self, events: Iterable[WatchEvent]) -> None:
        """Write events; to be called also when there are none, so that those before reach the file."""
        for event in events:
            fields = {"seconds": round(event.seconds, 3), "type": event.type, "version": event.version}
            self._write(as_line({**fields, "object": event.raw}))
        if monotonic() - self._flushed >= FLUSH_SECONDS:
            self._flush()

    def _write(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line)
        if self._size > MOST_UNWRITTEN:
            self._flush()

    def _flush(self) -> None:
        lines, self._lines, self._size, self._flushed = self._lines, [], 0, monotonic()
        unwritten = gzip.compress(b"".join(lines), compresslevel=6, mtime=0) if lines else b""
        with naming_file(self._path):
            while unwritten:  # Of a full disk the system may take a part, and refuse the rest.
                unwritten = unwritten[self._file.write(unwritten) :]


class LogSection:
    """
    A part of a log without gaps: first the objects of `contents`, then `events`, each to be gone through once.

    After the objects `contents.missing` is known, and `version`, the largest resourceVersion of their lists.  It is 0
    where the file was cut off before; then there are no events.
    """

    def __init__(self, lines: _Lines) -> None:
        *_, head = lines.take(_HEADER)
        missing: dict[str, str] = {}
        self.version = 0
        self.contents = described(head, self._objects(lines, missing))._replace(missing=missing)
        self.events = self._events(lines)

    def _objects(self, lines: _Lines, missing: dict[str, str]) -> Iterator[Raw]:
        yield from lines.take(_OBJECT)
        for line in lines.take(_LISTED):
            missing.update({name: str(why) for name, why in as_mapping(line.get("missing")).items()})
            self.version = integer(line[_LISTED]) or 0

    def _events(self, lines: _Lines) -> Iterator[WatchEvent]:
        for _ in self.contents.objects:
            pass
        if self.version:
            yield from map(lines.event, lines.take(_EVENT_TIME))


def read(path: Path) -> Iterator[LogSection]:
    """
    Yield the sections of a recording, of which each ends when the next is asked for.

    DumpError if the file is none or was changed, also while a section is gone through.
    """
    with naming_file(path, _AGAIN), ExitStack() as opened:
        if path.is_dir():
            raise FormatError("is a folder, wanted a file that evenkeel verify --record wrote; name the file")
        lines = _Lines(path, open_file(path, opened))
        while lines.next_is(_HEADER):
            section = LogSection(lines)
            yield section
            for _ in section.events:
                pass
        lines.end()


class _Lines:
    """The lines of a recording, up to the last that is whole."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file, self._number = path, file, 1
        first = self._read(LONGEST_HEADER)
        _check(first)
        self._next = value_in(first)

    def _read(self, most: int = -1) -> bytes:
        """Return the next line, b"" at the end and for one that is cut off, as when the process was killed."""
        try:
            line = self._file.readline(most)
        except EOFError:
            return b""
        return line if line.endswith(b"\n") or len(line) == most else b""

    def next_is(self, part: str) -> bool:
        """Return whether the next line is of that part."""
        return isinstance(self._next, dict) and part == _part(self._next)

    def take(self, part: str) -> Iterator[Raw]:
        """Yield the lines of a part, up to the first of another.  DumpError if there is one that is no JSON object."""
        with naming_file(self._path, _AGAIN):
            while self.next_is(part):
                yield as_mapping(self._next)
                self._number += 1
                line = self._read()
                self._next = value_in(line)
                if line and not isinstance(self._next, dict):
                    raise self.error("must be a JSON object")

    def event(self, fields: Raw) -> WatchEvent:
        """Return the event in a line."""
        match fields:
            case {
                "seconds": float() | int() as seconds,
                "type": str(what),
                "version": int(version),
                "object": dict(raw),
            }:
                if what in _EVENT_TYPES:
                    return WatchEvent(seconds, what, version, raw)
        with naming_file(self._path, _AGAIN):
            raise self.error("must have the seconds, type, version and object of an event")

    def end(self) -> None:
        """Raise FormatError if there are more lines."""
        if self._next is not None:
            raise self.error("does not belong here")

    def error(self, problem: str) -> FormatError:
        """Return the error of the next line."""
        return FormatError(f"line {self._number}: {problem}; the file was changed, so {_AGAIN}")


def _part(line: Raw) -> str:
    if line.get("kind") == RECORDING_KIND:
        return _HEADER
    return next((member for member in (_LISTED, _EVENT_TIME) if member in line), _OBJECT)


def _check(first: bytes) -> None:
    """Raise FormatError if the first line of a file is not that of a recording."""
    if is_header(first, RECORDING_KIND):
        return
    if not first.strip():
        problem = "is empty"
    elif is_header(first):
        problem = "is a dump"
    else:
        problem = f"line 1: found {brief(first.decode(errors='replace').strip())}"
    raise FormatError(f"{problem}, wanted what evenkeel verify --record writes; record first")
