"""What lint says of a kustomization, by its sources or as kustomize builds it, holds for that; so do its repairs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e import helm, programs
from tests.e2e.kustomized import Maker
from webhook.cli import main as cli

pytestmark = pytest.mark.slow  # It needs kubectl alone; tests/lint has the rules.

TREES = 100
POLICY = [f"--rule={rule}=info" for rule in ("missing-constraints", "hard-constraint", "soft-constraint")]


def built(folder):
    """What kustomize makes of a folder; "" if it refuses."""
    command = [programs.folder() / "kubectl", "kustomize", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


@pytest.fixture
def trees(tmp_path):
    """Folders, and what kustomize builds of each; a folder that it refuses is left out."""
    return made(tmp_path)


def made(folder, **how):
    makers = [Maker(seed, folder / str(seed), **how) for seed in range(TREES)]
    for maker in makers:
        maker.make()
    return built_all([maker.folder for maker in makers])


def built_all(folders):
    with ThreadPoolExecutor(2) as pool:
        texts = dict(zip(folders, pool.map(lambda folder: built(folder / "overlay"), folders), strict=True))
    return {folder: text for folder, text in texts.items() if text}


@pytest.fixture
def lint(capsys, monkeypatch):
    def lint(folder, *args):
        """The document that lint prints about a folder."""
        monkeypatch.chdir(folder)
        cli.main(["lint", "-o", "json", *POLICY, *args, "."])
        return json.loads(capsys.readouterr().out)

    return lint


@pytest.fixture
def findings_on(lint, tmp_path):
    def findings_on(text):
        """The findings on what was built, also where the webhook would not see it."""
        folder = tmp_path / "built"
        folder.mkdir(exist_ok=True)
        (folder / "all.yaml").write_text(text)
        return lint(folder, "--include-system")["findings"]

    return findings_on


def about(finding):
    """What a finding says, whatever became of the object's name and of the order of its constraints."""
    named = finding["object"]
    name = re.sub(r"^(?:a-)*|(?:-b)*$", "", named["name"])
    return finding["rule"], named["kind"], name, re.sub(r".*\]\.?", "", finding["field"])


def is_of_patch(finding):
    """Whether it is about what stands in a patch, of which the object may not be known."""
    return "/patches/" in finding["file"] or "kustomization" in finding["file"]


def values(findings):
    return {(finding["rule"], finding["found"]) for finding in findings}


def test_what_is_said_of_the_sources_holds_for_what_is_built(trees, lint, findings_on):
    contradicted, of_objects, of_patches = {}, Counter(), Counter()
    for folder, text in trees.items():
        said, there = lint(folder)["findings"], findings_on(text)
        patches = values(filter(is_of_patch, said))
        objects = counted(finding for finding in said if not is_of_patch(finding))
        wrong = objects - counted(there)
        if not any(finding["rule"] == "pinned-pod" for finding in there):  # which silences all others
            wrong += Counter(patches - values(there))
        contradicted |= {folder.name: wrong} if wrong else {}
        of_objects.update(rule for rule, *_ in objects)
        of_patches.update(rule for rule, _ in patches)

    assert {} == contradicted
    assert len(trees) > TREES / 2
    assert {"invalid-constraint", "malformed-topology-key", "misspelt-topology-key"} <= of_objects.keys()
    assert {"invalid-constraint", "malformed-topology-key", "misspelt-topology-key"} <= of_patches.keys()


def test_with_builds_what_is_said_is_what_is_found_on_what_is_built(trees, lint, findings_on, monkeypatch):
    """In both directions; where a line of a source is certain, it has the value that was found."""
    monkeypatch.setenv("PATH", f"{programs.folder()}:{os.environ['PATH']}")
    different, places = {}, Counter()
    for folder, text in trees.items():
        there = findings_on(text)
        said = lint(folder, "--build=auto", "--include-system")["findings"]
        of_line = [finding for finding in said if (finding["line"], finding["column"]) != (1, 1)]
        different |= {folder.name: (counted(there), counted(said))} if counted(said) != counted(there) else {}
        places.update(line=len(of_line), top=len(said) - len(of_line))

    assert {} == different
    assert places["line"] > places["top"] > 0


def test_what_is_repaired_in_the_sources_is_repaired_in_what_is_built(trees, lint, findings_on, monkeypatch):
    monkeypatch.setenv("PATH", f"{programs.folder()}:{os.environ['PATH']}")
    before = {folder: findings_on(text) for folder, text in trees.items()}
    found = [finding for folder in trees for finding in lint(folder, "--build=auto")["findings"]]
    repairable = sum(finding["fixable"] for finding in found if finding["severity"] != "info")
    repaired = sum(lint(folder, "--build=auto", "--fix")["summary"]["repaired"] for folder in trees)
    again = built_all(trees)
    after = {folder: findings_on(again[folder]) for folder in trees}
    worse = {folder.name: more for folder in trees if (more := grave(after[folder]) - grave(before[folder]))}
    gone = sum((counted(before[folder]) - counted(after[folder])).total() for folder in trees)

    assert {} == worse
    assert repaired >= repairable > TREES / 10  # what comes of a repair is repaired, too
    assert gone >= repairable


def counted(findings):
    return Counter(map(about, findings))


def grave(findings):
    """Without infos: rules that look at what is counted say more once something is."""
    return counted(finding for finding in findings if finding["severity"] != "info")


CHART = {
    "Chart.yaml": "{apiVersion: v2, name: web, version: 0.1.0}",
    "values.yaml": """\
replicas: 3
spread:
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: wbe}}
""",
    "templates/web.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name | quote }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx}]
      topologySpreadConstraints:
      {{- toYaml .Values.spread.topologySpreadConstraints | nindent 6 }}
      - maxSkew: 1
        topologyKey: a b
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app: {{ "web" }}}}
""",
}


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_chart_is_judged_as_helm_renders_it(lint, tmp_path, monkeypatch):
    """At the line of its template, and at that of its values."""
    monkeypatch.setenv("PATH", f"{helm.program().parent}:{os.environ['PATH']}")
    write(tmp_path / "web", CHART)
    found = lint(tmp_path, "--build=auto")
    places = {f"{one['file']}:{one['line']} {one['rule']}" for one in found["findings"] if one["severity"] != "info"}

    assert {"web/templates/web.yaml:14 malformed-topology-key", "web/values.yaml:7 selector-misses-own-pod"} == places
    assert {"helm template web"} == {one["source"] for one in found["findings"]}
    assert [] == found["summary"]["notJudged"]
    assert {"total": 1, "inFull": 1, "withoutLabels": 0} == found["summary"]["places"]


WEB = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        nodeTaintsPolicy: Honor
        labelSelector: {matchLabels: {team: a}}
      - {maxSkew: 0, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""
LABELLED = (
    "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}, spec: {template: {metadata: {labels: {team: a}}}}}"
)


def test_what_was_built_before_a_change_is_accepted(lint, tmp_path, monkeypatch):
    """Of the tree before, kustomize builds copies: it refuses links that lead out of it."""
    monkeypatch.setenv("PATH", f"{programs.folder()}:{os.environ['PATH']}")
    write(tmp_path / "base", {"web.yaml": WEB, "kustomization.yaml": "resources: [web.yaml]"})
    write(tmp_path / "prod", {"kustomization.yaml": f"resources: [../base]\npatches: [{{patch: '{LABELLED}'}}]"})
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    before = lint(tmp_path, "--build=auto", "--since=HEAD")
    write(tmp_path / "prod", {"kustomization.yaml": "resources: [../base]\ncommonAnnotations: {a: b}"})
    after = lint(tmp_path, "--build=auto", "--since=HEAD")

    assert [] == before["findings"]
    assert ["base/web.yaml:15 selector-misses-own-pod"] == [
        f"{one['file']}:{one['line']} {one['rule']}" for one in after["findings"]
    ]
    assert before["summary"]["before"] == after["summary"]["before"] > 0
