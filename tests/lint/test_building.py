"""Programs on the PATH build kustomizations and charts; why one does not is told."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from evenkeel.lint import building
from evenkeel.lint.builds import Build
from tests.support import ROOT


def build_one(file, *of_helm):
    (build,) = building.build_all({file: ()}, 1, of_helm)
    return build


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write files below the folder of a test, and go there; return their names."""
    monkeypatch.chdir(tmp_path)

    def written(**files):
        for name, text in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text)
        return [*files]

    return written


def read_text(file):
    return Path(file).read_text()


CHARTS = {
    "web/Chart.yaml": "name: web",
    "web/values.yaml": "",
    "web/values-prod.yaml": "",
    "web/templates/web.yaml": "",
    "web/templates/NOTES.txt": "",
    "web/templates/_pod.tpl": "",
    "web/charts/db/Chart.yaml": "name: db",
    "web/charts/db/templates/db.yaml": "",
    "web/ci/values.yaml": "",
    "lib/Chart.yaml": "name: lib\ntype: library",
    "broken/Chart.yaml": "name: [",
    "nameless/Chart.yaml": "a: b",
    "webs/templates/other.yaml": "",
}


def test_charts_are_built_from_their_templates_their_charts_and_their_values(written):
    files = written(**CHARTS)
    sources = ("web/values.yaml", "web/templates/_pod.tpl", "web/templates/web.yaml", "web/charts/db/Chart.yaml")
    roots = {"web/Chart.yaml": (*sources, "web/charts/db/templates/db.yaml")}

    assert roots == building.chart_roots(files, read_text)
    assert roots == building.chart_roots(["web/values-prod.yaml"], read_text)
    assert roots == building.chart_roots(["web/charts/db/templates/db.yaml"], read_text)
    assert {} == building.chart_roots(["webs/templates/other.yaml"], read_text)


def test_a_chart_at_the_top_is_one_and_none_above_the_repository(written):
    written(**{"Chart.yaml": "name: web", "templates/web.yaml": "", "in/.git/a": "", "in/beside.yaml": ""})

    assert {"Chart.yaml": ("values.yaml", "templates/web.yaml")} == building.chart_roots(["Chart.yaml"], read_text)
    assert {} == building.chart_roots(["in/beside.yaml"], read_text)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Put scripts on the PATH, which has nothing else but the programs of a shell."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")

    def programs(**scripts):
        for name, script in scripts.items():
            (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / "bin" / name).chmod(0o755)

    return programs


def test_each_is_built_by_its_own_program(programs):
    programs(kustomize='echo "by kustomize: $@"', kubectl="echo no", helm='echo "by helm: $@"')
    roots = {"a/kustomization.yaml": ("a/web.yaml",), "b/Chart.yaml": (), "Kustomization": (), "-c/Chart.yaml": ()}
    builds = [*building.build_all(roots, 2)]

    assert [*roots] == [build.file for build in builds]
    assert Build(*next(iter(roots.items())), ("kustomize", "build", "a"), "by kustomize: build a\n") == builds[0]
    assert "by helm: template b\n" == builds[1].text
    assert "by kustomize: build .\n" == builds[2].text
    assert "by helm: template ./-c\n" == builds[3].text


def test_kubectl_builds_a_kustomization_where_kustomize_is_not_installed(programs):
    programs(kubectl='echo "$@"')

    assert "kustomize a\n" == build_one("a/kustomization.yml").text


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo one >&2; echo 'Error: two' >&2; echo >&2; exit 1", "Error: two"),
        ("echo text; exit 3", "exit code 3, no object"),
        ("true", "exit code 0, no object"),
        ("/bin/sleep 60; true", "took more than 0.1 seconds"),
        ("echo 'Error: one' >&2; echo 'Use --debug flag' >&2; exit 1", "Error: one"),
        ('echo \'E1128 01:02:45.579800    2724 run.go:72] "command failed" err="no base"\' >&2; exit 1', 'no base"'),
    ],
)
def test_what_is_not_built_has_a_reason(programs, monkeypatch, script, reason):
    monkeypatch.setattr(building, "BUILD_SECONDS", 0.1 if "sleep" in script else 60)
    programs(kustomize=script)
    build = build_one("a/kustomization.yaml")

    assert ("", reason) == (build.text, build.reason)


def test_what_a_program_started_ends_with_it(programs, monkeypatch, tmp_path):
    """A program that is told to end may remove what is temporary; what ignores it is killed."""
    monkeypatch.setattr(building, "BUILD_SECONDS", 0.5)
    monkeypatch.setattr(building, "SECONDS_TO_END", 0.5)
    child = f"(trap '' TERM; echo $$ > {tmp_path}/child; /bin/sleep 60) &"
    programs(kustomize=f"trap 'echo removed > {tmp_path}/told' TERM\n{child}\nwait; trap '' TERM; /bin/sleep 60")
    build = build_one("kustomization.yaml")

    assert "took more than 0.5 seconds" == build.reason
    assert "removed\n" == (tmp_path / "told").read_text()


def test_git_is_told_of_no_other_repository(programs, monkeypatch):
    """As it would be in a hook: what kustomize fetches a base with would work in the user's repository."""
    monkeypatch.setenv("GIT_DIR", "/somewhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/somewhere/index")
    programs(kustomize='echo "dir: $GIT_DIR$GIT_INDEX_FILE"')

    assert "dir: \n" == build_one("kustomization.yaml").text


def test_helm_alone_gets_further_arguments(programs):
    programs(kustomize='echo "$@"', helm='echo "$@"')

    assert "template . --namespace shop\n" == build_one("Chart.yaml", "--namespace", "shop").text
    assert "build .\n" == build_one("kustomization.yaml", "--namespace", "shop").text


@pytest.mark.slow
def test_what_runs_ends_with_the_command(programs, tmp_path):
    programs(kustomize=f"trap 'echo > {tmp_path}/ended; exit' TERM; kill -USR1 {os.getpid()}; while :; do :; done")
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)  # as Ctrl-C does
    try:
        with pytest.raises(KeyboardInterrupt):
            build_one("kustomization.yaml")
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert (tmp_path / "ended").exists()


def test_what_is_just_being_started_ends_with_the_command(programs, monkeypatch):
    """The interrupt comes after the program has started, and before `Popen` has returned."""
    monkeypatch.setattr(building, "BUILD_SECONDS", 10)
    programs(kustomize="exec /bin/sleep 60")
    started = []

    class Slow(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.5)

    monkeypatch.setattr(subprocess, "Popen", Slow)
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            build_one("kustomization.yaml")
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert [-signal.SIGTERM] == [process.returncode for process in started]
    assert time.monotonic() - began < building.BUILD_SECONDS


def test_without_a_program_nothing_is_built(programs):
    (kustomization, chart) = building.build_all({"kustomization.yaml": (), "Chart.yaml": ()}, 2)

    assert ((), "kustomize or kubectl is not on the PATH") == (kustomization.command, kustomization.reason)
    assert "helm is not on the PATH" == chart.reason


def test_a_program_asks_for_nothing(programs):
    """Neither on standard input nor, as git does for a base, on the terminal."""
    programs(kustomize='read line; echo "read: $line, asks: $GIT_TERMINAL_PROMPT"')
    reader, writer = os.pipe()
    os.write(writer, b"what lint is given\n")
    before = os.dup(0)
    os.dup2(reader, 0)
    try:
        built = build_one("kustomization.yaml")
    finally:
        os.dup2(before, 0)
        for each in (before, reader, writer):
            os.close(each)

    assert "read: , asks: 0\n" == built.text


def test_how_long_a_build_may_take_is_documented():
    assert f"takes more than {building.BUILD_SECONDS} seconds" in (ROOT / "docs" / "lint.md").read_text()
