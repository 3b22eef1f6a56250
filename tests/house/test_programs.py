"""Where the control plane's programs come from, and what is said where they come from nowhere."""

from __future__ import annotations

import os
import re

import pytest

from tests.e2e import programs
from tests.support import DATA
from tests.support.kubernetes_source import NEWEST
from tests.support.pretended_go import install

VERSION = "v1.33.13"  # the one that the go that pretends knows
BUILDS = """for one; do case $one in -o=*) out=${one#-o=};; esac; done
    mkdir -p "$(dirname "$out")"; echo program > "$out"; chmod +x "$out\""""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an empty cache, without Go; `bin` is on its PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("KUBERNETES", VERSION)
    monkeypatch.setattr(
        "shutil.which", lambda name: found if os.access(found := tmp_path / "bin" / name, os.X_OK) else None
    )
    return tmp_path


def put(folder, *names, script="exit 1"):
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)


def test_without_go_and_assets_it_says_how_to_get_them(machine, capsys):
    assert 1 == programs.main()

    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(r"needs Go.*https://go\.dev/dl/.*KUBEBUILDER_ASSETS", line)


def test_assets_are_used_where_they_are_set(machine, monkeypatch):
    put(machine / "bin", *programs.NAMES)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(machine / "bin"))

    assert 0 == programs.main()
    assert machine / "bin" == programs.folder()
    assert not (machine / "cache").exists()


def test_assets_that_lack_a_component_are_refused(machine, monkeypatch, capsys):
    """As those of envtest do."""
    put(machine / "bin", "etcd", "kube-apiserver", "kubectl")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(machine / "bin"))

    assert 1 == programs.main()
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(r"/bin: has no kube-controller-manager, kube-scheduler: put .* https://dl\.k8s\.io/", line)


def test_it_is_built_once(machine, capfd):
    install(machine / "bin", BUILDS)
    assert 0 == programs.main()
    assert f"built {programs.built()}" in capfd.readouterr().out

    (machine / "bin" / "go").unlink()
    assert 0 == programs.main()
    assert ("", "") == capfd.readouterr()
    assert {"program\n"} == {(programs.folder() / name).read_text() for name in programs.NAMES}


def test_a_build_that_fails_leaves_nothing(machine, capfd):
    install(machine / "bin", f"{BUILDS}; echo 'main.go:1: wrong' >&2; exit 1")

    assert 1 == programs.main()
    assert re.search(r"^main.go:1: wrong\n.*/controlplane: go build failed", capfd.readouterr().err)
    assert [] == list((machine / "cache" / "evenkeel").iterdir())


def test_another_version_is_built_beside_the_newest(machine, monkeypatch, capfd):
    install(machine / "bin", BUILDS)
    assert 0 == programs.main()
    arguments, go_mod = ((machine / "bin" / name).read_text() for name in ("arguments", "built.mod"))

    assert f"/controlplane-{VERSION}-" in capfd.readouterr().out
    assert f"-X k8s.io/component-base/version.gitVersion={VERSION} " in arguments
    assert "\t" + f"k8s.io/api => k8s.io/api {VERSION.replace('v1', 'v0', 1)}" + "\n" in go_mod
    monkeypatch.delenv("KUBERNETES")
    assert programs.built().name.startswith(f"controlplane-{NEWEST}-")
    assert not programs.built().exists()


def test_the_newest_is_of_the_newest_minor_that_was_recorded():
    recorded = {path.parent.name for path in DATA.glob("1.*/validation.jsonl.gz")}

    assert NEWEST.folder == max(recorded, key=lambda name: int(name.partition(".")[2]))


def test_what_is_no_version_is_refused(machine, monkeypatch, capsys):
    monkeypatch.setenv("KUBERNETES", "1.33")

    assert 1 == programs.main()
    assert re.fullmatch(r'KUBERNETES is "1\.33", must be .* such as v1\.\d+\.\d+\n', capsys.readouterr().err)
