"""
Builds kustomizations and charts with kustomize's and helm's own programs.

    overlays/prod/kustomization.yaml ──kustomize build──┬──> Build(text, sources)
    charts/web/Chart.yaml ──helm template───────────────┘
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryFile

from webhook.documents.reading import read_documents
from webhook.documents.scalars import DocumentError
from webhook.lint.builds import CHART, VALUES_FILE, Build
from webhook.lint.kustomization import ReadFile
from webhook.lint.walk import MANIFEST_SUFFIXES
from webhook.objects.fields import as_mapping

BUILD_SECONDS = 60  # for one, which may fetch a base
_KUSTOMIZE_PROGRAMS = (("kustomize", "build"), ("kubectl", "kustomize"))
_HELM_PROGRAMS = (("helm", "template"),)
_FOLDERS_RENDERED = ("templates", "charts", "crds")


def chart_roots(files: Iterable[str], read_file: ReadFile) -> Mapping[str, tuple[str, ...]]:
    """Return the files of the charts that files belong to, each with what it is rendered from; no libraries."""
    roots = dict[str, tuple[str, ...]]()
    for folder in dict.fromkeys(os.path.dirname(file) for file in files):
        of_charts = [above for above in _from(folder) if os.path.isfile(os.path.join(above, CHART))]
        chart = os.path.join(of_charts[-1], CHART) if of_charts else ""  # others stand within it
        if chart and chart not in roots and _can_be_installed(read_file(chart) or ""):
            roots[chart] = tuple(_rendered(of_charts[-1]))
    return roots


def _from(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, up to the top of the repository."""
    yield folder
    while not os.path.exists(os.path.join(folder, ".git")) and (above := os.path.dirname(folder)) != folder:
        yield (folder := above)


def _rendered(chart: str) -> Iterator[str]:
    """Yield the files of a chart that it is rendered from."""
    yield os.path.join(chart, VALUES_FILE)
    for name in _FOLDERS_RENDERED:
        for folder, _, names in os.walk(os.path.join(chart, name)):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(MANIFEST_SUFFIXES))


def _can_be_installed(text: str) -> bool:
    try:
        chart = as_mapping(next(iter(read_documents(text, [])), None))
    except DocumentError:
        return False
    return "name" in chart and chart.get("type") != "library"


def build_all(roots: Mapping[str, tuple[str, ...]], at_once: int) -> Iterator[Build]:
    """Yield a build of each file in `roots`, which gives its sources; up to `at_once` in parallel."""
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda file: build_one(file, roots[file]), roots)


def build_one(file: str, sources: Iterable[str]) -> Build:
    """Build one; a failure, and a build that takes more than BUILD_SECONDS, has a reason."""
    programs = _HELM_PROGRAMS if os.path.basename(file) == CHART else _KUSTOMIZE_PROGRAMS
    program = next((program for program in programs if shutil.which(program[0])), None)
    if program is None:
        return Build(file, tuple(sources), reason=f"{' or '.join(name for name, _ in programs)} is not on the PATH")
    folder = os.path.dirname(file) or os.curdir
    command = (*program, os.path.join(os.curdir, folder) if folder.startswith("-") else folder)
    with TemporaryFile() as output, TemporaryFile() as errors:
        try:
            status = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
                timeout=BUILD_SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return Build(file, tuple(sources), command, reason=f"took more than {BUILD_SECONDS} seconds")
        except OSError as error:
            return Build(file, tuple(sources), command, reason=error.strerror or str(error))
        for written in (output, errors):
            written.seek(0)
        text, said = (written.read().decode("utf-8", "replace") for written in (output, errors))
    if status == 0 and text.strip():
        return Build(file, tuple(sources), command, text)
    lines = [line for line in said.splitlines() if line.strip()]
    return Build(file, tuple(sources), command, reason=lines[-1] if lines else f"exit code {status}, no object")
