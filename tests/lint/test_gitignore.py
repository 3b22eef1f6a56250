"""Patterns of .gitignore files match as git has them match."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from evenkeel.lint.gitignore import ignored, parse_gitignore
from evenkeel.lint.walk import find


class Case(NamedTuple):
    name: str
    patterns: str
    ignores: str
    keeps: str


CASES = [
    Case("a name, at any depth", "a.yaml", "a.yaml x/a.yaml x/y/a.yaml", "b.yaml xa.yaml a.yaml.old"),
    Case("a name, in this folder only", "/a.yaml", "a.yaml", "x/a.yaml"),
    Case("a path", "x/a.yaml", "x/a.yaml", "a.yaml y/x/a.yaml"),
    Case("any letters but a slash", "*.yaml", "a.yaml x/b.yaml", "a.yml"),
    Case("any letters within a folder", "x/*.yaml", "x/a.yaml", "x/y/a.yaml a.yaml"),
    Case("one letter", "?.yaml", "a.yaml", "ab.yaml"),
    Case("one of some letters", "[a-c].yaml", "a.yaml c.yaml", "d.yaml"),
    Case("any letter but some", "[!a-c].yaml", "d.yaml", "a.yaml"),
    Case("folders, in front", "**/x/a.yaml", "x/a.yaml y/x/a.yaml", "a.yaml"),
    Case("folders, between", "x/**/a.yaml", "x/a.yaml x/y/z/a.yaml", "a.yaml y/a.yaml"),
    Case("folders, at the end", "x/**", "x/a.yaml x/y/a.yaml", "a.yaml"),
    Case("an exception", "*.yaml\n!a.yaml", "b.yaml", "a.yaml x/a.yaml"),
    Case("an exception that is taken back", "*.yaml\n!a.yaml\na.*", "a.yaml b.yaml", "b.yml"),
    Case("a comment, an empty line, spaces at the end", "# a.yaml\n\nb.yaml  ", "b.yaml", "a.yaml"),
    Case("signs that mean themselves", "\\#a.yaml\n\\!b.yaml", "#a.yaml !b.yaml", "a.yaml b.yaml"),
    Case("a sign that is no pattern of Python's", "a.ya+l (x)", "", "a.yaml"),
    Case("a set that stays open", "[a.yaml", "", "a.yaml [a.yaml"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_patterns(case):
    ignores = [parse_gitignore(case.patterns, "/top")]

    assert case.ignores.split() == [one for one in case.ignores.split() if ignored(ignores, f"/top/{one}", False)]
    assert [] == [one for one in case.keeps.split() if ignored(ignores, f"/top/{one}", False)]


def test_a_pattern_for_folders_is_none_for_files():
    ignores = [parse_gitignore("x/", "/top")]

    assert (True, False) == (ignored(ignores, "/top/x", True), ignored(ignores, "/top/x", False))


def test_the_deepest_file_that_speaks_counts():
    ignores = [parse_gitignore("a.yaml\nb.yaml", "/top"), parse_gitignore("!a.yaml", "/top/x")]

    assert [False, True, False] == [ignored(ignores, f"/top/x/{one}.yaml", False) for one in "abc"]


ESCAPED = [("a\\  ", "a "), ("a\\ \\  ", "a  "), ("a\\\\  ", "a\\"), ("a\\ b ", "a b")]


@pytest.mark.parametrize(("pattern", "matched"), ESCAPED)
def test_a_space_after_a_backslash_stays(repository, pattern, matched):
    (repository / ".gitignore").write_text(pattern)
    command = ["git", "-C", repository, "check-ignore", "--no-index", "-q", matched]

    assert 0 == subprocess.run(command, check=False).returncode
    assert ignored([parse_gitignore(pattern, str(repository))], f"{repository}/{matched}", False)


@pytest.mark.slow
def test_spaces_are_trimmed_in_time_proportional_to_their_number():
    parse_gitignore(" " * 500_000 + "x", "/top")  # quadratic time would take minutes


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    if shutil.which("git") is None:
        pytest.skip("needs git")
    path = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", path], check=True)
    return path


PARTS = ["a", "b", "*", "?", "**", "/", "[ab]", "[!a]", "\\*", ".", "!", "ab"]


@given(patterns=st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=5).map("".join), min_size=1, max_size=3))
@example(patterns=["aa", "//a"])
@example(patterns=["**/**/a"])
@example(patterns=["a//"])
def test_git_agrees(repository, patterns):
    """On files; what lies in a folder that is ignored is not asked about, and what ** means beside others is git's."""
    assume(not any("**" in part and part != "**" for one in patterns for part in one.removeprefix("!").split("/")))
    (repository / ".gitignore").write_text("\n".join(patterns))
    paths = ["a", "b", "ab", "*", "c"]
    command = ["git", "-C", repository, "check-ignore", "--no-index", "--stdin"]
    told = subprocess.run(command, input="\n".join(paths), capture_output=True, text=True, check=False).stdout.split()
    ignores = [parse_gitignore("\n".join(patterns), str(repository))]

    assert told == [one for one in paths if ignored(ignores, f"{repository}/{one}", False)]


TREES = [
    "*\n!*/\n!*.yaml",
    "*\n!/a",
    "*\n!/a/\n!/a/**",
    "/*\n!/a",
    "a/**\n!a/b/\n!a/b/**",
    "a/*\n!a/b",
    "*/\n!a/",
    "**/b\n!/a/b/x.yaml",
    "b/\n!*.yaml",
    "x.yaml\n!a/x.yaml",
]
NAMES = st.lists(st.sampled_from([*PARTS, "x.yaml", "/b", "*/"]), min_size=1, max_size=4).map("".join)


@given(patterns=st.lists(NAMES, min_size=1, max_size=4).map("\n".join))
def test_git_finds_the_same_files_in_folders(trees, patterns):
    """With patterns at the top that take folders or files in again."""
    assume(
        not any("**" in part and part != "**" for one in patterns.split("\n") for part in one.lstrip("!").split("/"))
    )

    assert git_finds(trees, patterns) == files_found(trees, patterns)


@pytest.mark.parametrize("patterns", TREES)
def test_a_list_of_what_is_taken_in_is_read_as_git_reads_it(trees, patterns):
    assert git_finds(trees, patterns) == files_found(trees, patterns)


@pytest.fixture(scope="module")
def trees(repository):
    """A repository with two folders, and a file in each of two levels."""
    for folder in ("", "a", "a/b", "b", "b/a"):
        (repository / folder).mkdir(exist_ok=True)
        for name in ("x.yaml", "y.json", "ab"):
            (repository / folder / name).write_text("")
    return repository


def git_finds(folder, patterns):
    (folder / ".gitignore").write_text(patterns)
    command = ["git", "-C", folder, "ls-files", "--others", "--exclude-standard"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted(name for name in said if name.endswith((".yaml", ".json")))


def files_found(folder, patterns):
    (folder / ".gitignore").write_text(patterns)
    found, _ = find([str(folder)])
    return sorted(os.path.relpath(file, folder) for file in found)
