"""
The tree before a change, as git keeps it: that of the commit at which HEAD and another commit, branch or tag part.

    name ──read_change──> TreeChange ──old_tree──> a folder with the files as they were ──TreeBefore──> what it had
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from evenkeel.lint.results import JudgedFile
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.kubernetes.reader import brief

SYMLINK, SUBMODULE = "120000", "160000"  # modes
NO_FILE = "000000"
_SAYS_WHERE = ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")  # set in git's hooks
_GIT_SETTINGS = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}  # it asks nobody, and writes nothing


class SinceError(Exception):
    """There is no tree to compare with; the message is the reason, and how to get one."""


class OldFile(NamedTuple):
    """A file of a commit, in git's words."""

    mode: str  # such as 100644
    blob: str  # its name


@dataclass(frozen=True, slots=True)
class TreeChange:
    """How the working tree of a repository differs from a commit; names of files begin at `top`."""

    top: str  # the folder of the repository
    commit: str
    replaced: Mapping[str, OldFile]  # the files of the commit that are changed or removed
    renamed: Mapping[str, str]  # old names by new names
    adds: bool  # git knows of a file that the commit does not have

    def is_none(self, files: Iterable[str]) -> bool:
        """Return whether nothing differs, git knows of no untracked file, and the commit has all of the files."""
        if self.replaced or self.adds or _untracked(self.top):
            return False
        return {within(file, self.top) for file in files} <= {*_names(self)}

    def old_names(self, files: Iterable[str]) -> list[str]:
        """Return the old names of the files that are renamed."""
        names = (within(file, self.top) for file in files) if self.renamed else ()
        return [self.renamed[name] for name in names if name in self.renamed]


def within(path: str, top: str) -> str:
    """Return the path of a file, a folder or a pattern from `top`.  Only links to files are not resolved."""
    folder, name = (path, "") if os.path.isdir(path) else os.path.split(path)
    return os.path.relpath(os.path.join(os.path.realpath(folder), name), top)


def read_change(ref: str, top: str) -> TreeChange:
    """Return how the working tree differs from where HEAD and `ref` part; SinceError if git cannot tell."""
    commit = _merge_base(ref, top)
    parts = iter(os.fsdecode(_git(top, "diff-index", "-M", "-z", commit)).split("\0")[:-1])
    replaced, renamed, adds = dict[str, OldFile](), dict[str, str](), False
    # An entry is ":mode mode blob blob status", of the commit and of now, and a name; if it is renamed, two names.
    for part in parts:
        mode, _, blob, _, status = part[1:].split(" ")
        name = next(parts)
        if status.startswith("R"):
            renamed[next(parts)] = name
        if mode == NO_FILE:
            adds = True
        else:
            replaced[name] = OldFile(mode, blob)
    return TreeChange(top, commit, replaced, renamed, adds)


def _merge_base(ref: str, top: str) -> str:
    if not os.path.exists(os.path.join(top, ".git")):
        raise SinceError(f"found {top}, wanted a folder in a git repository")
    commit = "" if ref.startswith("-") else _line(top, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    if not commit:
        how = "a remote branch has to be fetched first, as by git fetch origin main"
        raise SinceError(f'found "{ref}", wanted a commit, branch or tag that {top} has; {how}')
    base = _line(top, "merge-base", commit, "HEAD")
    if not base and _line(top, "rev-parse", "--is-shallow-repository") == "true":
        how = "fetch more by git fetch --unshallow, or --deepen=100, or in actions/checkout by fetch-depth: 0"
        raise SinceError(f'the clone is shallow, and has no commit that HEAD and "{ref}" have in common; {how}')
    if not base:
        raise SinceError(f'found "{ref}", wanted a commit, branch or tag with which HEAD has a commit in common')
    return base


@contextmanager
def old_tree(change: TreeChange, *, copies: bool = False) -> Iterator[str]:
    """
    Return a folder with the files of the commit, which is removed in the end.  SinceError if git cannot give them.

    What is still the same is a link to the file in the working tree, with `copies` a copy of it.
    """
    with tempfile.TemporaryDirectory(prefix="evenkeel-") as temporary:
        tree = os.path.realpath(temporary)
        try:
            _fill(tree, change, shutil.copyfile if copies else os.symlink)
        except OSError as error:
            failure = f"the files of {change.commit} cannot be written to {tree}: {error.strerror}"
            raise SinceError(f"{failure}; set TMPDIR to a folder with room") from error
        yield tree


MakeSame = Callable[[str, str], object]


def _fill(tree: str, change: TreeChange, make_same: MakeSame) -> None:
    os.symlink(os.path.join(change.top, ".git"), os.path.join(tree, ".git"))  # so that it is the top of a repository
    for name in _names(change):
        source = os.path.join(change.top, name)
        if name not in change.replaced and os.path.lexists(source):  # what a sparse checkout lacks is left out
            _make_same(source, _place(tree, name), make_same)
    files = {name: file for name, file in change.replaced.items() if file.mode != SUBMODULE}
    blobs = _blobs(change.top, [file.blob for file in files.values()])
    for (name, file), content in zip(files.items(), blobs, strict=True):
        if file.mode == SYMLINK:
            os.symlink(content, os.fsencode(_place(tree, name)))
        else:
            with open(_place(tree, name), "xb") as opened:
                opened.write(content)


def _names(change: TreeChange) -> list[str]:
    listed = _git(change.top, "ls-tree", "-r", "-z", "--full-tree", "--name-only", change.commit)
    return os.fsdecode(listed).split("\0")[:-1]


def _untracked(top: str) -> bool:
    """Return whether there is a file that is neither tracked nor ignored."""
    listed = ("ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory")
    return bool(_git(top, *listed))


def _place(tree: str, name: str) -> str:
    """Return the path of a file in the tree, whose folder is made; SinceError if its name leads out of the tree."""
    path = os.path.join(tree, name)
    folder = os.path.dirname(path)
    if os.path.realpath(folder) != folder:
        raise SinceError(f"the commit has a file {brief(name)}, which leads out of the repository")
    os.makedirs(folder, exist_ok=True)
    return path


def _make_same(source: str, target: str, make_same: MakeSame) -> None:
    """Make `target` what `source` is: a link the same, a file by `make_same`, a submodule a folder of files."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
    elif os.path.isdir(source):
        shutil.copytree(source, target, symlinks=True, copy_function=make_same)
    else:
        make_same(source, target)


def _blobs(top: str, names: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of each blob."""
    stream = io.BytesIO(_git(top, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names)))
    for name in names:
        header = stream.readline().split()  # name, type and size, or that it is missing
        if len(header) < 3:
            raise SinceError(f"the repository lacks the file {name}; fetch it by git fetch --refetch")
        yield stream.read(int(header[2]))
        stream.read(1)  # the end of the line


def git_environment() -> dict[str, str]:
    """Return the environment for git, and for programs that run it: git's own settings of a hook are left out."""
    return {name: value for name, value in os.environ.items() if name not in _SAYS_WHERE} | _GIT_SETTINGS


def _line(top: str, *arguments: str) -> str:
    return os.fsdecode(_git(top, *arguments)).strip()


def _git(top: str, *arguments: str, stdin: str = "") -> bytes:
    """Return what git prints about the repository at `top`.  Exit code 1 means no; SinceError for all others but 0."""
    # core.fsmonitor may name a program, which git would run.
    command = ["git", "-C", top, "-c", "core.fsmonitor=false", *arguments]
    try:
        process = subprocess.run(command, input=stdin.encode(), capture_output=True, env=git_environment(), check=False)
    except OSError as error:
        raise SinceError(f"git cannot be run: {error.strerror}; install it") from error
    if process.returncode not in (0, 1):
        error_text = one_line(os.fsdecode(process.stderr).strip(), LINE_LIMIT)
        raise SinceError(f"git {arguments[0]} failed: {error_text}")
    return process.stdout


class TreeBefore:
    """
    The results of the tree before the change, which is judged when they are first asked for.

    `judge` judges the tree in a folder; `files` are those of the working tree.  With `copies`, the tree has no links
    that lead out of it: kustomize refuses them.
    """

    def __init__(
        self,
        change: TreeChange,
        files: Sequence[str],
        judge: Callable[[str], Iterable[JudgedFile]],
        *,
        copies: bool = False,
    ) -> None:
        self._change, self._files, self._judge, self._copies = change, files, judge, copies

    def __call__(self, judged: JudgedFile) -> JudgedFile:
        """Return the result of the file before the change, under its old name; `judged` itself if nothing changed."""
        if self._results is None:
            return judged
        name = within(judged.file, self._change.top)
        return self._results.get(self._change.renamed.get(name, name), JudgedFile(judged.file))

    @cached_property
    def _results(self) -> Mapping[str, JudgedFile] | None:
        if self._change.is_none(self._files):
            return None
        with old_tree(self._change, copies=self._copies) as tree:
            results = (judged for judged in self._judge(tree) if judged.found or judged.problems)
            return {within(judged.file, tree): judged for judged in results}
