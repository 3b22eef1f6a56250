"""Programs on the PATH build kustomizations and charts; why one does not is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.lint import building
from webhook.lint.builds import Build


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
    sources = ("web/values.yaml", "web/templates/web.yaml", "web/charts/db/Chart.yaml")
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

    assert "kustomize a\n" == building.build_one("a/kustomization.yml", ()).text


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo one >&2; echo 'Error: two' >&2; echo >&2; exit 1", "Error: two"),
        ("echo text; exit 3", "exit code 3, no object"),
        ("true", "exit code 0, no object"),
        ("exec /bin/sleep 60", "took more than 0.1 seconds"),
    ],
)
def test_what_is_not_built_has_a_reason(programs, monkeypatch, script, reason):
    monkeypatch.setattr(building, "BUILD_SECONDS", 0.1 if "sleep" in script else 60)
    programs(kustomize=script)
    build = building.build_one("a/kustomization.yaml", ())

    assert ("", reason) == (build.text, build.reason)


def test_without_a_program_nothing_is_built(programs):
    (kustomization, chart) = building.build_all({"kustomization.yaml": (), "Chart.yaml": ()}, 2)

    assert ((), "kustomize or kubectl is not on the PATH") == (kustomization.command, kustomization.reason)
    assert "helm is not on the PATH" == chart.reason


def test_a_program_asks_for_nothing(programs):
    """Neither on standard input nor, as git does for a base, on the terminal."""
    programs(kustomize='read line; echo "read: $line, asks: $GIT_TERMINAL_PROMPT"')

    assert "read: , asks: 0\n" == building.build_one("kustomization.yaml", ()).text
