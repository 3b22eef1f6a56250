"""
Reads files and judges them, in several processes if there are many.

    files ──read_context──> Context ──> LintTerms ──judge_files──> Judged, in the order of the files
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from webhook.documents.encodings import encoding
from webhook.documents.scalars import SyntaxFault
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.lint.context import KUSTOMIZATIONS, Context, context_objects, may_hold_context, patches_in
from webhook.lint.judging import judge, unread
from webhook.lint.passing_over import should_parse
from webhook.lint.results import Judged, Problem
from webhook.lint.terms import LintTerms
from webhook.lint.walk import STANDARD_INPUT


class WorkerDied(RuntimeError):
    """A process was killed before it had judged its files."""


FILES_PER_PROCESS = 500  # starting a process costs more than judging fewer
FILES_AT_ONCE = 32  # sent to a process at a time


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a file has no text; `latin1` is its content, decoded for a search, or "" if it cannot be read."""

    reason: str
    latin1: str = ""


class FileReader:
    """Reads files, and keeps the content of standard input and pipes, which can be read only once."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def content(self, file: str) -> bytes:
        """The bytes of a file; OSError if it cannot be read."""
        if os.path.isfile(file):
            return _content(file)
        if file not in self._kept:
            self._kept[file] = _standard_input() if file == STANDARD_INPUT else _content(file)
        return self._kept[file]

    def text(self, file: str) -> str | Unread:
        """The text of a file, with its own line ends."""
        try:
            content = self.content(file)
        except OSError as error:
            return Unread(error.strerror or str(error))
        try:
            return content.decode(encoding(content))
        except UnicodeDecodeError as error:
            return Unread(f"is not {error.encoding.upper()}", content.decode("latin-1"))


def _content(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read()


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def read_context(files: Iterable[str], reader: FileReader) -> Context:
    """The namespaces and nodes in the files, and the patches that kustomizations in their folders name."""
    found, seen = Context(), set[str]()
    for file in files:
        folder = os.path.dirname(file)
        if folder not in seen:
            seen.add(folder)
            found.patches |= _patches(folder, reader)
        try:
            content = reader.content(file)
        except OSError:
            continue
        if (named := encoding(content)) != "utf-8" or may_hold_context(content):
            found.objects += context_objects(content.decode(named, "replace"))
    return found


def _patches(folder: str, reader: FileReader) -> set[str]:
    for name in KUSTOMIZATIONS:
        file = os.path.join(folder, name)
        text = reader.text(file) if os.path.isfile(file) else None
        if isinstance(text, str):
            return {os.path.normpath(os.path.join(folder, patch)) for patch in patches_in(text)}
    return set()


def judge_file(file: str, terms: LintTerms, reader: FileReader) -> Judged:
    """Judge one file.  An exception becomes a problem of this file, so that the others are still judged."""
    text = reader.text(file)
    judged = Judged(file)
    if isinstance(text, str):
        try:
            return judge(file, text, terms)
        except Exception as error:
            judged.problems.append(defect(file, "judged", error))
            return judged
    if not text.latin1:
        judged.problems.append(Problem(file, 1, 1, f"cannot be read: {text.reason}", lasting=False))
    elif should_parse(text.latin1, file, SyntaxFault(text.reason), file in terms.named):
        judged.problems.append(Problem(file, 1, 1, f"cannot be read: {text.reason}"))
    else:
        judged.notes.append(unread(file, 1, 1, text.reason))
    return judged


def defect(file: str, done: str, error: Exception) -> Problem:
    """The problem to report for an unexpected exception; `done` is what failed, "judged" or "repaired"."""
    what = one_line(f"{type(error).__name__}: {error}", LINE_LIMIT)
    message = f"cannot be {done}: {what}; this is a defect in evenkeel, please report it"
    return Problem(file, 1, 1, message, lasting=False)


def judge_files(files: Sequence[str], terms: LintTerms, reader: FileReader) -> Iterator[Judged]:
    """Judge each file, in the given order.  WorkerDied if a process was killed."""
    processes = min(_cpus(), len(files) // FILES_PER_PROCESS + 1)
    if processes == 1 or not all(map(os.path.isfile, files)):
        yield from (judge_file(file, terms, reader) for file in files)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(terms,)) as pool:
        try:
            yield from pool.map(_judge, files, chunksize=FILES_AT_ONCE)
        except BrokenProcessPool as error:
            raise WorkerDied("a process that judges files was killed; it may have run out of memory") from error
        finally:
            pool.shutdown(cancel_futures=True)  # and wait: a thread that outlives it may use what exit has closed


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_terms: list[LintTerms] = []


def _begin(terms: LintTerms) -> None:
    """Run once in each process: keep the terms; leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _terms[:] = [terms]


def _judge(file: str) -> Judged:
    return judge_file(file, _terms[0], FileReader())
