"""Paths name files, folders and patterns; what git ignores is left out of folders, a file given by name never is."""

from __future__ import annotations

import os

import pytest

from evenkeel.lint.gitignore import parse_gitignore
from evenkeel.lint.walk import find, root_of


def found(*arguments):
    """The files, where nothing is missing."""
    files, missing = find(*arguments)

    assert [] == missing
    return files


def test_a_folder_means_all_manifests_below_it_in_order(tree):
    tree("b/x.yaml", "a.yml", "b/a/c.json", "b/readme.md", ".git/x.yaml", ".github/w.yaml")

    assert [".github/w.yaml", "a.yml", "b/a/c.json", "b/x.yaml"] == found(["."])
    assert ["b/a/c.json", "b/x.yaml"] == found(["b/"])


def test_a_template_in_a_folder_is_found_if_it_has_the_field(tree):
    tree("templates/_pod.tpl", "templates/_names.tpl", "templates/_about.tpl", "values.yaml.gotmpl", "README.md.gotmpl")
    for name in ("templates/_pod.tpl", "values.yaml.gotmpl", "README.md.gotmpl"):
        with open(name, "w") as file:
            file.write("topologySpreadConstraints:\n")
    with open("templates/_about.tpl", "w") as file:
        file.write("{{/* topologySpreadConstraints */}}\n# topologySpreadConstraints\n")

    assert ["templates/_pod.tpl", "values.yaml.gotmpl"] == found(["."])
    assert ["templates/_names.tpl"] == found(["templates/_names.tpl"])


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


def test_what_a_file_of_the_repository_excludes_is_relative_to_its_top_and_options_decide_after_it(tree):
    path = tree("a.yaml", "x/a.yaml", "x/y/a.yaml")
    excludes = [parse_gitignore("/x/y\n/a.yaml", str(path))]

    assert ["x/a.yaml"] == found(["."], [], excludes)
    assert ["x/a.yaml"] == found(["x"], [], excludes)
    assert ["a.yaml", "x/a.yaml"] == found(["."], ["!/a.yaml"], excludes)


ROOTS = [
    ("repository/x/y", "repository"),
    ("repository/x/a.yaml", "repository"),
    ("repository/x/**/*.yaml", "repository"),
    ("repository/nowhere/a.yaml", "repository"),
    ("folder/x", "folder/x"),
    ("folder/x/a.yaml", "folder/x"),
    ("-", "."),
    ("*.yaml", "."),
]


@pytest.mark.parametrize(("named", "expected"), ROOTS)
def test_the_root_is_the_top_of_the_repository_or_else_the_folder(tree, named, expected):
    path = tree("repository/.git/HEAD", "repository/x/a.yaml", "repository/x/y/a.yaml", "folder/x/a.yaml")

    assert os.path.realpath(path / expected) == root_of(named)


def test_the_configuration_is_no_manifest(tree):
    tree("a.yaml", ".evenkeel.yaml")

    assert ["a.yaml"] == found(["."])


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


def test_of_the_gitignores_above_the_deepest_decides(tree):
    tree("x/y/a.yaml", "x/y/b.yaml", ".git/HEAD", DOTgitignore="a.yaml\n!b.yaml\n")
    with open("x/.gitignore", "w") as file:
        file.write("!a.yaml\nb.yaml\n")

    assert ["x/y/a.yaml"] == find(["x/y"])[0]
