"""Where the control plane's programs come from, and what is said where they come from nowhere."""

from __future__ import annotations

import os
import re

import pytest

from tests.e2e import programs

BUILDS = 'while [ "$1" != -o ]; do shift; done; mkdir -p "$(dirname "$2")"; echo program > "$2"; chmod +x "$2"'


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an empty cache, without Go; `bin` is on its PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
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
    put(machine / "bin", "go", script=BUILDS)
    assert 0 == programs.main()
    assert f"built {programs.built()}" in capfd.readouterr().out

    put(machine / "bin", "go", script="exit 1")
    assert 0 == programs.main()
    assert ("", "") == capfd.readouterr()
    assert {"program\n"} == {(programs.folder() / name).read_text() for name in programs.NAMES}


def test_a_build_that_fails_leaves_nothing(machine, capfd):
    put(machine / "bin", "go", script=f"{BUILDS}; echo 'main.go:1: wrong' >&2; exit 1")

    assert 1 == programs.main()
    assert re.search(r"^main.go:1: wrong\n.*/controlplane: go build failed", capfd.readouterr().err)
    assert [] == list((machine / "cache" / "evenkeel").iterdir())


def test_all_of_kubernetes_is_of_one_version():
    """Its modules are published as v0.36.2 where it is v1.36.2."""
    replaced = re.findall(r"^\t(\S+) => (\S+) (\S+)$", (programs.SOURCE / "go.mod").read_text(), re.MULTILINE)

    assert {programs.VERSION.replace("v1", "v0", 1)} == {version for _, _, version in replaced}
    assert [name for name, _, _ in replaced] == sorted({target for _, target, _ in replaced})
