"""
Builds kustomizations and charts with kustomize's and helm's own programs.

    overlays/prod/kustomization.yaml ──kustomize build──┬──> Build(text, sources)
    charts/web/Chart.yaml ──helm template───────────────┘
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from tempfile import TemporaryFile
from threading import Lock
from typing import IO

from evenkeel.lint.builds import CHART, PARTIAL_SUFFIX, VALUES_FILE, Build
from evenkeel.lint.kustomization import ReadFile
from evenkeel.lint.since import git_environment
from evenkeel.terminal.inputs import MANIFEST_SUFFIXES
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.fields import as_mapping
from webhook.kubernetes.scalars import DocumentError

BUILD_SECONDS = 60  # for one, which may fetch a base
SECONDS_TO_END = 2
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_KLOG = re.compile(r'^[EFIW]\d{4} [^]]*\] (?:"command failed" err="?)?')  # time and process, before a kubectl message
_KUSTOMIZE_PROGRAMS = (("kustomize", "build"), ("kubectl", "kustomize"))
_HELM_PROGRAMS = (("helm", "template"),)
Process = subprocess.Popen[bytes]
_FOLDERS_RENDERED = ("templates", "charts", "crds")


def chart_roots(files: Iterable[str], read_file: ReadFile) -> Mapping[str, tuple[str, ...]]:
    """Return the Chart.yaml of each chart that has one of the files, with what it is rendered from; no libraries."""
    roots = dict[str, tuple[str, ...]]()
    for folder in dict.fromkeys(os.path.dirname(file) for file in files):
        chart_folders = [above for above in _upwards(folder) if os.path.isfile(os.path.join(above, CHART))]
        # The outermost: charts within it are built with it.
        chart = os.path.join(chart_folders[-1], CHART) if chart_folders else ""
        if chart and chart not in roots and _can_be_installed(read_file(chart) or ""):
            roots[chart] = tuple(_rendered(chart_folders[-1]))
    return roots


def _upwards(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, up to the top of the repository."""
    yield folder
    while not os.path.exists(os.path.join(folder, ".git")) and (above := os.path.dirname(folder)) != folder:
        yield (folder := above)


def _rendered(chart: str) -> Iterator[str]:
    """Yield the files of a chart that it is rendered from."""
    yield os.path.join(chart, VALUES_FILE)
    suffixes = (*MANIFEST_SUFFIXES, PARTIAL_SUFFIX)
    for name in _FOLDERS_RENDERED:
        for folder, _, names in os.walk(os.path.join(chart, name)):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(suffixes))


def _can_be_installed(text: str) -> bool:
    try:
        chart = as_mapping(next(iter(read_documents(text, [])), None))
    except DocumentError:
        return False
    return "name" in chart and chart.get("type") != "library"


def build_all(roots: Mapping[str, tuple[str, ...]], at_once: int, helm_options: Sequence[str] = ()) -> Iterator[Build]:
    """Yield a build of each file in `roots`, which gives its sources; up to `at_once` in parallel."""
    running = _Running()
    with ThreadPoolExecutor(at_once) as pool:
        try:
            yield from pool.map(lambda file: _build(file, roots[file], helm_options, running), roots)
        except BaseException:  # such as Ctrl-C, of which a program in another session is not told
            pool.shutdown(wait=False, cancel_futures=True)
            running.end()
            raise


class _Running:
    """The processes of the builds that run; none starts once they are ended."""

    def __init__(self) -> None:
        self._processes = set[Process]()
        self._ended = False
        self._lock = Lock()  # or one that is being started would be missed by `end`

    def start(self, command: Sequence[str], output: IO[bytes], errors: IO[bytes]) -> Process:
        """Start a command in a session of its own; OSError if that fails, or if all are ended."""
        with self._lock:
            if self._ended:
                raise InterruptedError("interrupted")
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=git_environment(),
                start_new_session=True,
            )
            self._processes.add(process)
        return process

    def discard(self, process: Process) -> None:
        """Leave out a process that has ended."""
        self._processes.discard(process)

    def end(self) -> None:
        """End all that run, and all that they have started."""
        self._ended = True
        with self._lock:
            processes = [*self._processes]
        for process in processes:
            _end(process)


def _build(file: str, sources: Sequence[str], helm_options: Sequence[str], running: _Running) -> Build:
    """Build one file.  If that fails, or takes more than BUILD_SECONDS, the build has a reason and no text."""
    unbuilt = Build(file, tuple(sources))
    programs = _HELM_PROGRAMS if unbuilt.is_chart else _KUSTOMIZE_PROGRAMS
    program = next((program for program in programs if shutil.which(program[0])), None)
    if program is None:
        return replace(unbuilt, reason=f"{' or '.join(name for name, _ in programs)} is not on the PATH")
    folder = os.path.dirname(file) or os.curdir
    # A name that begins with a dash would be taken for an option.
    command = (*program, os.path.join(os.curdir, folder) if folder.startswith("-") else folder)
    try:
        text, reason = _output([*command, *(helm_options if unbuilt.is_chart else ())], running)
    except OSError as error:
        text, reason = "", error.strerror or str(error)
    return replace(unbuilt, command=command, text=text, reason=reason)


def _output(command: Sequence[str], running: _Running) -> tuple[str, str]:
    """
    Return what a command prints, or "" and why it failed.

    It runs in a session of its own, so that all that it has started ends with it where it takes too long, and so that
    nothing can ask on the terminal.
    """
    with TemporaryFile() as output, TemporaryFile() as errors:
        process = running.start(command, output, errors)
        try:
            status = process.wait(BUILD_SECONDS)
        except subprocess.TimeoutExpired:
            _end(process)
            return "", f"took more than {BUILD_SECONDS} seconds"
        finally:
            running.discard(process)
        for stream in (output, errors):
            stream.seek(0)
        text, error_text = (stream.read().decode("utf-8", "replace") for stream in (output, errors))
    if status == 0 and text.strip():
        return text, ""
    return "", _reason(error_text) or f"exit code {status}, no object"


def _end(process: Process) -> None:
    """End a process and all that it has started; first they may remove their temporary folders."""
    with suppress(ProcessLookupError):  # it has just ended by itself
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _reason(error_text: str) -> str:
    """Return the first line with an error, or else the first line, without what differs from run to run."""
    lines = [_KLOG.sub("", line).strip() for line in error_text.splitlines()]
    errors = [line for line in lines if _ERROR.search(line)] or [line for line in lines if line]
    return one_line(errors[0], LINE_LIMIT) if errors else ""
