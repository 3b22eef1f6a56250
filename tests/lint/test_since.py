"""The tree before a change: what git says has changed, and the files as they were, beside those of the working tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evenkeel.lint.results import JudgedFile, Problem
from evenkeel.lint.since import SinceError, TreeBefore, git_environment, old_tree, read_change, within
from tests.support.repository import commit, git


@pytest.fixture
def repository(tree):
    """Commit files in a repository, and go where it is; the branch is then another one than main."""

    def repository(**contents):
        path = tree(**contents)
        commit(path)
        git(path, "checkout", "-q", "-b", "topic")
        return path

    return repository


def old_files(top, ref="main"):
    """The content of each file before the change, by name."""
    with old_tree(read_change(ref, str(top))) as folder:
        paths = (Path(above, name) for above, _, names in os.walk(folder) for name in names)
        return {str(path.relative_to(folder)): path.read_text() for path in paths if path.name != ".git"}


def test_changed_deleted_and_renamed_files_are_as_they_were_and_new_ones_are_not_there(repository):
    top = repository(same="1", changed="2", deleted="3", renamed="4\n" * 9)
    (top / "changed").write_text("other")
    (top / "deleted").unlink()
    git(top, "mv", "renamed", "moved")
    (top / "untracked").write_text("5")

    assert {"same": "1", "changed": "2", "deleted": "3", "renamed": "4\n" * 9} == old_files(top)
    assert {"moved": "renamed"} == read_change("main", str(top)).renamed


def test_what_is_compared_is_where_both_branches_part(repository):
    top = repository(a="1", b="1")
    (top / "a").write_text("ours")
    commit(top)
    git(top, "checkout", "-q", "main")
    (top / "b").write_text("theirs")
    commit(top)
    git(top, "checkout", "-q", "topic")

    assert {"a": "1", "b": "1"} == old_files(top)
    assert ["a"] == [*read_change("main", str(top)).replaced]


def test_links_stay_links_and_lead_to_what_was_there(repository):
    top = repository(a="1")
    (top / "kept").symlink_to("a")
    (top / "changed").symlink_to("a")
    commit(top)
    git(top, "branch", "-f", "main")
    (top / "a").write_text("2")
    (top / "changed").unlink()
    (top / "changed").write_text("3")

    assert {"a": "1", "kept": "1", "changed": "1"} == old_files(top)


def test_a_submodule_is_as_it_is_where_its_commit_did_not_change(repository, tmp_path_factory):
    top, other = repository(a="1"), tmp_path_factory.mktemp("other")
    (other / "x").mkdir()
    (other / "x" / "web.yaml").write_text("2")
    commit(other)
    git(top, "submodule", "--quiet", "add", str(other), "sub")
    commit(top)
    git(top, "branch", "-f", "main")
    (top / "a").write_text("3")

    assert ("1", "2") == (old_files(top)["a"], old_files(top)["sub/x/web.yaml"])
    git(top / "sub", "commit", "-q", "--allow-empty", "-m", "b")
    assert "sub/x/web.yaml" not in old_files(top)


def test_names_of_any_characters_are_read(repository):
    top = repository(**{'ä "\n': "1", "same": "1"})
    (top / 'ä "\n').write_text("2")

    assert {'ä "\n': "1", "same": "1"} == old_files(top)


def test_nothing_is_written_to_the_repository_and_no_hook_is_run(repository, monkeypatch):
    top = repository(a="1", b="2")
    (top / "a").write_text("2")
    os.utime(top / "b", (0, 0))
    for hook in ("post-checkout", "post-index-change", "fsmonitor"):
        (top / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {top}/ran\n")
        (top / ".git" / "hooks" / hook).chmod(0o755)
    git(top, "config", "core.fsmonitor", ".git/hooks/fsmonitor")
    (top / "ran").unlink(missing_ok=True)
    before = {path: path.lstat().st_mtime_ns for path in top.rglob("*")}
    old_files(top)

    assert before == {path: path.lstat().st_mtime_ns for path in top.rglob("*")}


def test_it_is_the_repository_at_hand_also_in_a_hook_of_another_one(repository, tmp_path_factory, monkeypatch):
    top, other = repository(a="1"), tmp_path_factory.mktemp("other")
    commit(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))

    assert {"a": "1"} == old_files(top)


def test_git_is_not_told_where_it_is_and_asks_nobody(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "a")
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -v")
    environment = git_environment()

    assert (False, "ssh -v") == ("GIT_DIR" in environment, environment["GIT_SSH_COMMAND"])
    assert ("0", "0") == (environment["GIT_TERMINAL_PROMPT"], environment["GIT_OPTIONAL_LOCKS"])


def test_a_name_that_leads_out_of_the_tree_is_refused(repository):
    top = repository(a="1")
    blob = git(top, "rev-parse", "HEAD:a").strip()
    inner = _tree(top, b"100644 hooked\0" + bytes.fromhex(blob))
    outer = _tree(top, b"40000 .git\0" + bytes.fromhex(inner))
    bad = git(top, "commit-tree", "-m", "b", outer, "-p", "HEAD").strip()
    git(top, "update-ref", "refs/heads/topic", bad)

    with pytest.raises(SinceError, match=r'has a file "\.git/hooked", which leads out of the repository'):
        old_files(top, "topic")
    assert not (top / ".git" / "hooked").exists()


def _tree(top, content):
    """The name of a tree that git itself would not make."""
    (top / "raw").write_bytes(content)
    return git(top, "hash-object", "-w", "-t", "tree", "--literally", "raw").strip()


def refusal(top, ref="main"):
    with pytest.raises(SinceError) as caught:
        read_change(ref, str(top))
    return str(caught.value)


@pytest.mark.parametrize("ref", ["nope", "--all", "main^{tree}", ""])
def test_what_names_no_commit_is_refused(repository, ref):
    assert refusal(repository(a="1"), ref).startswith(f'found "{ref}", wanted a commit, branch or tag that ')


def test_a_folder_in_no_repository_is_refused(tmp_path):
    assert f"found {tmp_path}, wanted a folder in a git repository" == refusal(tmp_path)


def test_a_shallow_clone_is_told_how_to_fetch_more(repository, tmp_path_factory):
    top, clone = repository(a="1"), tmp_path_factory.mktemp("clone")
    commit(top)
    commit(top)
    git(top, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{top}", str(clone))

    assert "git fetch --unshallow" in refusal(clone, "origin/main")
    assert "fetch-depth: 0" in refusal(clone, "origin/main")


def test_histories_without_a_common_commit_are_refused(repository):
    top = repository(a="1")
    git(top, "checkout", "-q", "--orphan", "apart")
    (top / "a").write_text("2")
    commit(top)

    assert refusal(top).startswith('found "main", wanted a commit, branch or tag with which HEAD has a commit')


def test_git_that_is_not_there_or_fails_is_an_error(repository, monkeypatch):
    top = repository(a="1")
    (top / ".git" / "HEAD").write_text("broken")
    assert refusal(top).startswith("git rev-parse failed: fatal: ")
    monkeypatch.setenv("PATH", "")
    assert "git cannot be run: No such file or directory; install it" == refusal(top)


def test_a_blob_that_is_missing_is_an_error(repository):
    top = repository(a="1")
    blob = git(top, "rev-parse", "HEAD:a").strip()
    (top / "a").write_text("2")
    (top / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    with pytest.raises(SinceError, match="git fetch --refetch"):
        old_files(top)


def test_a_folder_that_cannot_be_written_is_an_error(repository, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    change = read_change("main", str(repository(a="1")))
    monkeypatch.setattr(os, "symlink", full)
    with pytest.raises(SinceError, match=r"cannot be written to .*: No space left on device"), old_tree(change):
        pass


def test_a_path_is_named_from_the_top_and_a_link_to_a_file_stays_itself(tree):
    top = tree("x/a", "y/b")
    (top / "link").symlink_to("x")
    (top / "x" / "alias").symlink_to("a")
    os.chdir(top / "y")

    paths = ("b", "../link/a", "../link", "../x/alias", ".", "..", "*.yaml")
    named = [within(path, os.path.realpath(top)) for path in paths]
    assert ["y/b", "x/a", "x", "x/alias", "y", ".", "y/*.yaml"] == named


def before(top, *files, judged=()):
    """The results before the change, and the folders in which they were judged."""
    folders = []

    def judge(folder):
        folders.append(folder)
        return [JudgedFile(f"{folder}/{name}", problems=[Problem(name, 1, 1, "x")]) for name in judged]

    return TreeBefore(read_change("main", str(top)), files, judge), folders


def test_the_old_tree_is_judged_once_and_only_if_it_is_asked_for(repository):
    top = repository(a="1", b="1")
    (top / "a").write_text("2")
    results, folders = before(top, "a", "b", judged=["a"])
    assert [] == folders

    assert (1, 0) == (len(results(JudgedFile("a")).problems), len(results(JudgedFile("b")).problems))
    assert (1, False) == (len(folders), os.path.exists(folders[0]))


def test_a_renamed_file_has_the_results_of_its_old_name(repository):
    top = repository(a="1\n" * 9)
    git(top, "mv", "a", "b")
    (top / "b").write_text("1\n" * 9 + "2\n")
    results, _ = before(top, "b", judged=["a"])

    assert 1 == len(results(JudgedFile("b")).problems)


def test_nothing_is_judged_where_nothing_changed(repository):
    top = repository(a="1")
    results, folders = before(top, "a")
    judged = JudgedFile("a")

    assert (judged, []) == (results(judged), folders)


@pytest.mark.parametrize("case", ["added", "untracked", "ignored but named"])
def test_a_file_that_the_commit_does_not_have_is_a_change(repository, case):
    top = repository(**{"a": "1", ".gitignore": "named"})
    (top / "named" if case == "ignored but named" else top / "b").write_text("2")
    git(top, "add", "--all") if case == "added" else None
    results, folders = before(top, "a", *(["named"] if case == "ignored but named" else []))

    assert ([], 1) == (results(JudgedFile("a")).problems, len(folders))
