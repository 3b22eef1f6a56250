"""
Reads files and judges them, in several processes if there are many.

    files ──read_context, read_overlays…──> LintTerms ──judge_files──> JudgedFile, in the order of the files
                                                        └──> OtherFiles ──┘  once more, where other files matter
"""

from __future__ import annotations

import os
import signal
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evenkeel.lint.builds import Build
from evenkeel.lint.chart import read_chart
from evenkeel.lint.context import Context, context_objects, may_hold_context
from evenkeel.lint.declarations import NOTHING_STATED, FileNeighbours, packed
from evenkeel.lint.fixtures import fixture_folders
from evenkeel.lint.helm_templates import should_report, without_comments
from evenkeel.lint.judgement import RENDER, judge, unread
from evenkeel.lint.notes import NOT_BUILT, UNRENDERED_TEMPLATE, VALUES, Note
from evenkeel.lint.other_files import OtherFiles
from evenkeel.lint.overlays import Overlays, folders_with_kustomizations
from evenkeel.lint.results import NO_PLACES, JudgedFile, Located, Problem
from evenkeel.lint.terms import LintTerms
from evenkeel.lint.walk import STANDARD_INPUT, root_of
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.kubernetes.documents import encoding
from webhook.kubernetes.kinds import FIELD
from webhook.kubernetes.scalars import SyntaxFault


class WorkerDied(RuntimeError):
    """A process was killed before it had judged its files."""


# In bytes of YAML:
LEAST_WORK = 1 << 12  # what a file takes, however small it is
WORK_PER_PROCESS = 1 << 21  # starting a process takes longer than judging less
WORK_AT_ONCE = 1 << 17  # judged, sent to a process and packed at a time
JSON_BYTES = 8  # are read in the time of one of YAML


class Unread(NamedTuple):
    """A file that has no text."""

    reason: str
    latin1: str = ""  # its content, decoded for a search; "" if it cannot be read


class FileReader:
    """Reads files, and keeps the content of standard input and pipes, which can be read only once."""

    def __init__(self) -> None:
        self._streams: dict[str, bytes] = {}

    def content(self, file: str) -> bytes:
        """Return the bytes of a file; OSError if it cannot be read."""
        if os.path.isfile(file):
            return _content(file)
        if file not in self._streams:
            self._streams[file] = _standard_input() if file == STANDARD_INPUT else _content(file)
        return self._streams[file]

    def text(self, file: str) -> str | Unread:
        """Return the text of a file, with its own line ends."""
        try:
            content = self.content(file)
        except OSError as error:
            return Unread(error.strerror or str(error))
        try:
            return content.decode(encoding(content))
        except UnicodeDecodeError as error:
            return Unread(f"is not {error.encoding.upper()}", content.decode("latin-1"))

    def text_of_file(self, file: str) -> str | None:
        """Return the text of a file; None if there is none, or it cannot be read."""
        text = self.text(file) if os.path.isfile(file) else None
        return text if isinstance(text, str) else None


def _content(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read()


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def read_context(files: Iterable[str], reader: FileReader) -> Mapping[str, Context]:
    """
    Return the namespaces and nodes in the files: under "" those for all files.

    One of the `fixture_folders` that has any has a context of its own, for the files in it: with those of the folders
    above.
    """
    objects: dict[str, list[Mapping[str, object]]] = {"": []}
    for file in files:
        try:
            content = reader.content(file)
        except OSError:
            continue
        if (encoding_name := encoding(content)) != "utf-8" or may_hold_context(content):
            folder = next(reversed(fixture_folders(file)), "")
            objects.setdefault(folder, []).extend(context_objects(content.decode(encoding_name, "replace")))
    return {
        folder: Context([obj for above in ("", *fixture_folders(f"{folder}/")) for obj in objects.get(above, ())])
        for folder in objects
    }


def read_overlays(files: Iterable[str], reader: FileReader, paths: Iterable[str] = ()) -> Overlays:
    """
    Return the kustomizations of the files, to which `paths` lead.

    If the paths are parts of git repositories, other kustomizations in these may build from the files.
    """
    files = [file for file in files if file != STANDARD_INPUT]
    named_paths = {os.path.realpath(path) for path in paths if path != STANDARD_INPUT}
    roots = {root_of(path) for path in named_paths}
    tops = {root for root in roots if os.path.exists(os.path.join(root, ".git"))} - named_paths
    return Overlays(files, reader.text_of_file, (folder for top in tops for folder in folders_with_kustomizations(top)))


def judge_file(file: str, terms: LintTerms, reader: FileReader, around: FileNeighbours | None = None) -> JudgedFile:
    """
    Judge one file; `around` are the workloads, autoscalers and overlays of other files.

    An exception becomes a problem of this file, so that the others are still judged.
    """
    judged, build = JudgedFile(file), terms.builds.get(file)
    if build is not None and build.text:
        return _judge_build(build, terms, reader, around)
    if file in terms.judged_as_built:
        return judged
    text = reader.text(file)
    if isinstance(text, str):
        if FIELD in text and file != STANDARD_INPUT and (chart := read_chart(file, reader.text_of_file)) is not None:
            terms = replace(terms, chart=chart)
        try:
            judged = judge(file, text, terms, around)
        except Exception as error:
            judged.problems.append(defect(file, "judged", error))
        if build is not None:
            judged.notes.append(not_built(build))
        if file in terms.built_values:  # its places are counted in the build
            notes = [note for note in judged.notes if note.why != VALUES]
            return replace(judged, notes=notes, places=NO_PLACES)
        return judged
    if not text.latin1:
        judged.problems.append(Problem(file, 1, 1, f"cannot be read: {text.reason}", lasting=False))
    elif should_report(text.latin1, file, SyntaxFault(text.reason), file in terms.named):
        judged.problems.append(Problem(file, 1, 1, f"cannot be read: {text.reason}"))
    elif file in terms.named:
        judged.notes.append(unread(file, 1, 1, text.reason))
    return judged


def _judge_build(build: Build, terms: LintTerms, reader: FileReader, around: FileNeighbours | None) -> JudgedFile:
    """Judge what is built in the place of its kustomization or chart; findings stand where they come from."""
    from evenkeel.lint.built_lines import in_sources

    try:
        built = judge(build.file, build.text, terms.for_builds, around)
        built.notes += _not_rendered(build, reader)
        return in_sources(built, build, reader.text_of_file, lambda file: _judge_source(file, terms, reader))
    except Exception as error:
        return JudgedFile(build.file, problems=[defect(build.file, "judged", error)])


def _judge_source(file: str, terms: LintTerms, reader: FileReader) -> Sequence[Located]:
    """Return the findings on a source as it is written, before a build."""
    return judge(file, reader.text_of_file(file) or "", terms.for_builds).found


def _not_rendered(build: Build, reader: FileReader) -> Iterator[Note]:
    """Yield a note on each template with constraints that the chart does not render with its own values."""
    templates = (file for file in build.sources if build.is_chart and "templates" in file.split("/"))
    for file in templates:
        if FIELD in without_comments(reader.text_of_file(file) or "") and not build.renders(file):
            done, advice = "not rendered with the chart's own values", RENDER
            yield Note(file, 1, 1, UNRENDERED_TEMPLATE, "template", done, advice)


def not_built(build: Build) -> Note:
    """Return the note on a build that failed."""
    done = "failed" if build.command else "was not run"
    says_why = f"; to see why it failed, run {' '.join(build.command[:2])} in its folder" if build.command else ""
    return Note(
        build.file, 1, 1, NOT_BUILT, f"build ({build.reason})", done, f"the sources are judged instead{says_why}"
    )


def defect(file: str, done: str, error: Exception) -> Problem:
    """Return the problem to report for an unexpected exception; `done` is what failed, "judged" or "repaired"."""
    what = one_line(f"{type(error).__name__}: {error}", LINE_LIMIT)
    message = f"cannot be {done}: {what}; this is a defect in evenkeel, please report it"
    return Problem(file, 1, 1, message, lasting=False)


def judge_files(
    files: Sequence[str],
    terms: LintTerms,
    reader: FileReader,
    surroundings: OtherFiles,
    done: Callable[[int], None] = lambda _: None,
    cpus: int = 1,
) -> Iterator[JudgedFile]:
    """
    Judge each file, in the given order; those that other files concern twice.  WorkerDied if a process was killed.

    `surroundings` are empty at first, and filled with what all files state.  `done` is told how many files were judged
    so far.  Up to `cpus` processes judge them.
    """
    if not terms.builds:
        return _judge_each(files, terms, reader, surroundings, done, cpus)
    from evenkeel.lint.built_lines import by_source

    all_files = [*dict.fromkeys((*files, *terms.builds))]
    results = _judge_each(all_files, terms, reader, surroundings, lambda number: done(min(number, len(files))), cpus)
    return by_source([*results], terms.builds.values())


def _judge_each(
    files: Sequence[str],
    terms: LintTerms,
    reader: FileReader,
    surroundings: OtherFiles,
    done: Callable[[int], None],
    cpus: int,
) -> Iterator[JudgedFile]:
    processes = min(cpus, sum(map(_work, files)) // WORK_PER_PROCESS + 1)
    batches = _batches(files)
    if processes == 1 or not all(map(os.path.isfile, files)):
        results = list[JudgedFile]()
        for batch in batches:
            for file in batch:
                results.append(judge_file(file, terms, reader))
                done(len(results))
            surroundings.add(_stated(results[-len(batch) :]))
        concerned = surroundings.concerned()
        for judged in results:
            around = concerned.get(judged.file)
            yield judged if around is None else judge_file(judged.file, terms, reader, around)
        return
    yield from _in_processes(batches, terms, surroundings, done, processes)


def _in_processes(
    batches: Sequence[Sequence[str]],
    terms: LintTerms,
    surroundings: OtherFiles,
    done: Callable[[int], None],
    processes: int,
) -> Iterator[JudgedFile]:
    """Yield the results.  Until all files are judged they stay packed: there may be many, and few say anything."""
    import pickle
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(terms,)) as pool:
        try:
            results, judged_files = list[bytes](), 0
            for batch, (result, stated) in zip(batches, pool.map(_judge_all, batches), strict=True):
                results.append(result)
                surroundings.add(stated)
                judged_files += len(batch)
                done(judged_files)
            concerned = surroundings.concerned()
            judged_again = pool.map(_judge_around, concerned.items())
            for judged in (judged for result in results for judged in pickle.loads(zlib.decompress(result))):
                yield next(judged_again) if judged.file in concerned else judged
        except BrokenProcessPool as error:
            raise WorkerDied("a process that judges files was killed; it may have run out of memory") from error
        finally:
            pool.shutdown(cancel_futures=True)  # and wait: a thread that outlives it may use what exit has closed


def _batches(files: Sequence[str]) -> list[list[str]]:
    """Return the files in order, in lists of much the same work: some files are a thousand times as long as others."""
    batches, work = list[list[str]](), WORK_AT_ONCE
    for file in files:
        if work >= WORK_AT_ONCE:
            batches.append([])
            work = 0
        batches[-1].append(file)
        work += _work(file)
    return batches


def _work(file: str) -> int:
    """Return the work to judge a file, in bytes of YAML; little for one that cannot be read, or is a pipe."""
    try:
        size = os.stat(file).st_size
    except OSError:
        return LEAST_WORK
    return max(size // JSON_BYTES if file.endswith(".json") else size, LEAST_WORK)


def _stated(results: Sequence[JudgedFile]) -> bytes:
    """Return the declarations of some files, packed, and take them out of the results."""
    stated = packed([(judged.file, judged.states) for judged in results])
    for judged in results:
        judged.states = NOTHING_STATED
    return stated


_terms: list[LintTerms] = []


def _begin(terms: LintTerms) -> None:
    """Run once in each process: keep the terms; leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _terms[:] = [terms]


def _judge_all(files: Sequence[str]) -> tuple[bytes, bytes]:
    """Return the results of some files, pickled and compressed, and what they state, packed."""
    import pickle

    reader = FileReader()
    results = [judge_file(file, _terms[0], reader) for file in files]
    stated = _stated(results)
    return zlib.compress(pickle.dumps(results, pickle.HIGHEST_PROTOCOL), 1), stated


def _judge_around(concerned: tuple[str, FileNeighbours]) -> JudgedFile:
    file, around = concerned
    return judge_file(file, _terms[0], FileReader(), around)
