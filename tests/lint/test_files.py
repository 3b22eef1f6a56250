"""Which files are meant: what git ignores is passed over, what is given by name never; a file is written whole."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from webhook.lint import writing
from webhook.lint.gitignore import ignored, parse_gitignore
from webhook.lint.walk import find


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


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Make files, and go where they are."""

    def tree(*names, **contents):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("")
        for name, content in contents.items():
            (tmp_path / name.replace("DOT", ".")).write_text(content)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return tree


def found(*arguments):
    """The files, where nothing is missing."""
    files, missing = find(*arguments)

    assert [] == missing
    return files


def test_a_folder_means_all_manifests_below_it_in_order(tree):
    tree("b/x.yaml", "a.yml", "b/a/c.json", "b/readme.md", ".git/x.yaml", ".github/w.yaml")

    assert [".github/w.yaml", "a.yml", "b/a/c.json", "b/x.yaml"] == found(["."])
    assert ["b/a/c.json", "b/x.yaml"] == found(["b/"])


def test_what_git_ignores_is_passed_over_but_not_what_is_given(tree):
    tree("out/a.yaml", "b.yaml", "keep/b.yaml", DOTgitignore="out/\nb.yaml\n!keep/b.yaml\n")

    assert ["keep/b.yaml"] == found(["."])
    assert ["b.yaml", "keep/b.yaml"] == found(["b.yaml", ".", "./b.yaml"])


def test_the_gitignore_of_a_folder_above_counts_within_its_repository(tree):
    tree("x/a.yaml", "x/b.yaml", "x/c.yaml", ".git/info/exclude", DOTgitignore="a.yaml")
    with open(".git/info/exclude", "w") as exclude:
        exclude.write("c.yaml")

    assert ["x/b.yaml"] == found(["x"])


def test_more_can_be_excluded(tree):
    tree("a.yaml", "test/b.yaml", "x/test/c.yaml")

    assert ["a.yaml"] == found(["."], ["test/"])


def test_patterns_on_the_command_line(tree):
    tree("x/a.yaml", "x/y/b.yaml", "c.txt")

    assert ["x/a.yaml", "x/y/b.yaml"] == found(["**/*.yaml"])
    assert ["c.txt"] == found(["*.txt"])


@pytest.mark.parametrize("path", ["nowhere.yaml", "*.nothing"])
def test_a_path_that_leads_nowhere_is_told_beside_the_files(tree, path):
    tree("a.yaml")
    files, (missing,) = find([path, "a.yaml"])

    assert (["a.yaml"], path) == (files, missing.path)
    assert missing.reason in ("no such file or folder", "matches no file")


def test_a_folder_that_cannot_be_looked_into_keeps_nothing_else_from_being_found(tree, monkeypatch):
    tree("x/a.yaml", "y/b.yaml", "z/c.yaml")
    scandir = os.scandir

    def denying(folder):
        if str(folder) == "y":
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", denying)
    files, missing = find(["."])

    assert (["x/a.yaml", "z/c.yaml"], ["y: Permission denied"]) == (files, [str(one) for one in missing])


def test_links_to_folders_are_not_followed_and_those_to_nowhere_passed_over(tree):
    path = tree("x/a.yaml")
    (path / "x" / "loop").symlink_to(path / "x")
    (path / "x" / "gone.yaml").symlink_to(path / "nowhere")
    (path / "x" / "b.yaml").symlink_to(path / "x" / "a.yaml")

    assert ["x/a.yaml", "x/b.yaml"] == found(["."])


def test_a_written_file_keeps_its_mode_and_a_link_stays_one(tree):
    path = tree(**{"a": "old"})
    os.chmod("a", 0o640)
    (path / "b").symlink_to("a")
    writing.write("b", "old", "new")

    assert ("new", 0o640, True) == ((path / "a").read_text(), os.stat("a").st_mode & 0o777, os.path.islink("b"))
    assert ["a", "b"] == sorted(os.listdir("."))


def test_a_file_that_was_changed_meanwhile_is_left_alone(tree):
    path = tree(**{"a": "other"})

    with pytest.raises(OSError, match="changed by another program"):
        writing.write("a", "old", "new")
    assert "other" == (path / "a").read_text()


def test_a_file_that_cannot_be_written_is_left_whole(tree, monkeypatch):
    path = tree(**{"a": "old"})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        writing.write("a", "old", "new")
    assert ("old", ["a"]) == ((path / "a").read_text(), os.listdir("."))
