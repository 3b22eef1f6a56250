"""A file is written as a whole or not at all."""

from __future__ import annotations

import os

import pytest

from evenkeel.lint import file_writing


def test_a_written_file_keeps_its_mode_and_a_link_stays_one(tree):
    path = tree(**{"a": "old"})
    os.chmod("a", 0o640)
    (path / "b").symlink_to("a")
    file_writing.write_over("b", "old", "new")

    assert ("new", 0o640, True) == ((path / "a").read_text(), os.stat("a").st_mode & 0o777, os.path.islink("b"))
    assert ["a", "b"] == sorted(os.listdir("."))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_written_file_keeps_its_encoding(tree, encoding):
    path = tree()
    (path / "a").write_bytes("é".encode(encoding))
    file_writing.write_over("a", "\ufeffé", "\ufeffü")

    assert "ü".encode(encoding) == (path / "a").read_bytes()


def test_a_file_that_was_changed_meanwhile_is_left_alone(tree):
    path = tree(**{"a": "other"})

    with pytest.raises(OSError, match="another program has changed it"):
        file_writing.write_over("a", "old", "new")
    assert "other" == (path / "a").read_text()


def test_a_file_that_cannot_be_written_is_left_whole(tree, monkeypatch):
    path = tree(**{"a": "old"})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        file_writing.write_over("a", "old", "new")
    assert ("old", ["a"]) == ((path / "a").read_text(), os.listdir("."))


def test_a_new_file_gets_the_mode_that_the_umask_leaves(tree):
    tree()
    before = os.umask(0o027)
    try:
        file_writing.write_new("new", "text")
    finally:
        os.umask(before)

    assert 0o640 == os.stat("new").st_mode & 0o777
