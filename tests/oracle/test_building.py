"""What is built of which version, with a go that only pretends."""

from __future__ import annotations

import json
import re

import pytest

from tests.oracle import building
from tests.oracle.building import SOURCE, built, program, tags
from tests.support.kubernetes_source import MissingError, Version, module, parse, staged
from tests.support.pretended_go import GO, GO_MOD, install


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an empty cache, without Go until it is installed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("shutil.which", lambda name: found if (found := tmp_path / name).exists() else None)
    return tmp_path


VERSION = Version(33, 13)
MAKES = "echo program > oracle"


def test_a_version_is_one_of_kubernetes():
    assert VERSION == parse("v1.33.13")
    assert "v1.38.0-beta.0" == str(parse("v1.38.0-beta.0"))
    assert "1.38" == parse("v1.38.0-rc.1").folder
    assert ("v1.33.13", "1.33", "kubernetes1.32,kubernetes1.33") == (str(VERSION), VERSION.folder, tags(VERSION))


@pytest.mark.parametrize("text", ["", "1.37.1", "v1.37", "v1.37.1-", "v1.37.1-rc", "v2.0.0", "v1.31.0"])
def test_what_is_none_or_too_old_is_refused(text):
    with pytest.raises(ValueError, match=r"^KUBERNETES is .* must be "):
        parse(text)


def test_staging_modules_are_those_that_no_release_of_kubernetes_has():
    assert ["k8s.io/api", "k8s.io/kube-scheduler"] == staged(GO_MOD)


def test_the_language_is_that_of_kubernetes():
    assert "\ngo 1.24.0\n" in module(VERSION, GO_MOD, {})


def test_it_is_built_once(machine, capsys):
    install(machine, MAKES)
    assert "program\n" == program(VERSION).read_text()
    assert f"built {built(VERSION)}" in capsys.readouterr().out

    (machine / "go").unlink()
    assert "program\n" == program(VERSION).read_text()
    assert ("", "") == capsys.readouterr()


def test_all_of_it_is_of_one_version_or_the_newest_before(machine):
    install(machine, MAKES)
    program(VERSION)
    replaced = re.findall(r"^\t(\S+ => .+)$", (machine / "built.mod").read_text(), re.MULTILINE)

    assert [
        "k8s.io/kubernetes => ./kubernetes",
        "k8s.io/api => k8s.io/api v0.33.13",
        "k8s.io/kube-scheduler => k8s.io/kube-scheduler v0.33.11",
    ] == replaced
    arguments = (machine / "arguments").read_text().split()
    assert "-tags=kubernetes1.32,kubernetes1.33" in arguments
    assert "k8s.io/component-base/version.gitVersion=v1.33.13" in arguments


def test_files_of_ours_are_laid_into_the_packages_of_kubernetes(machine):
    install(machine, MAKES)
    program(VERSION)
    laid = json.loads((machine / "overlay.json").read_text())["Replace"]

    ours = {str(file.relative_to(SOURCE / "overlay")) for file in SOURCE.glob("overlay/**/*.go")}

    assert ours == {file.partition("/overlay/")[2] for file in laid.values()}
    assert ours == {path.partition("/kubernetes/")[2] for path in laid}
    assert {file.name for file in SOURCE.glob("*.go")} <= set((machine / "laid").read_text().split())


def test_another_source_is_another_program(tmp_path, monkeypatch):
    before = built(VERSION)
    monkeypatch.setattr(building, "SOURCE", tmp_path)
    (tmp_path / "main.go").write_text("package main\n")

    assert before != built(VERSION)
    assert built(VERSION) != built(Version(33, 12))


def test_linked_otherwise_it_is_another_program(monkeypatch):
    before = built(VERSION)
    monkeypatch.setattr(building, "linking", lambda version: "-s")

    assert before != built(VERSION)


def test_a_build_that_fails_leaves_nothing_and_shows_what_go_said(machine, capfd):
    install(machine, "echo 'main.go:1: wrong' >&2; exit 1")

    with pytest.raises(MissingError, match=r"/tests/oracle/go: go build failed"):
        program(VERSION)
    assert "main.go:1: wrong\n" == capfd.readouterr().err
    assert [] == list((machine / "cache" / "evenkeel").iterdir())


def test_a_module_without_any_release_is_left_as_kubernetes_has_it(machine):
    """Go itself says so if it needs the module."""
    install(machine, MAKES, GO.replace("|k8s.io/kube-scheduler@v0.33.11", ""))
    program(VERSION)

    assert "k8s.io/kube-scheduler" not in (machine / "built.mod").read_text()


def test_a_pre_release_takes_modules_of_that_pre_release(machine):
    install(machine, MAKES, GO.replace("v0.33.13", "v0.33.0-beta.1"))
    program(Version(33, 0, "-beta.1"))

    assert "k8s.io/api => k8s.io/api v0.33.0-beta.1\n" in (machine / "built.mod").read_text()


def test_without_go_it_says_where_to_get_it(machine):
    with pytest.raises(MissingError, match=r"needs Go: .*https://go\.dev/dl/"):
        program(VERSION)
