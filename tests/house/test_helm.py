"""Where Helm comes from, and what is said where it comes from nowhere."""

from __future__ import annotations

import re

import pytest

from tests.e2e import helm

BUILDS = 'mkdir -p "$GOBIN"; echo program > "$GOBIN/helm"; chmod +x "$GOBIN/helm"'


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an empty cache; `go` makes a Go of a script."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HELM", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)

    def go(script):
        (tmp_path / "go").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "go").chmod(0o755)
        monkeypatch.setattr("shutil.which", lambda name: tmp_path / name)

    return go


def test_without_go_it_says_how_to_get_it(machine, capsys):
    assert 1 == helm.main()

    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(r"need Go.*https://go\.dev/dl/.*set HELM", line)


def test_it_is_built_once(machine, capfd):
    machine(BUILDS)
    assert 0 == helm.main()
    assert f"built {helm.built()}" in capfd.readouterr().out

    machine("exit 1")
    assert 0 == helm.main()
    assert ("", "", "program\n") == (*capfd.readouterr(), helm.program().read_text())


def test_a_build_that_fails_leaves_nothing(machine, capfd):
    machine(f"{BUILDS}; echo 'no such module' >&2; exit 1")

    assert 1 == helm.main()
    assert re.search(r"^no such module\n.*go install failed", capfd.readouterr().err)
    assert [] == list(helm.built().parent.parent.iterdir())


def test_one_that_is_named_must_be_there(machine, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("HELM", str(tmp_path / "none"))

    assert 1 == helm.main()
    assert f"HELM={tmp_path}/none: is no program; unset it\n" == capsys.readouterr().err
