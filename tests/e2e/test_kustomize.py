"""What lint says of the sources of a kustomization holds for what kustomize builds of them; so do its repairs."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e import programs
from tests.e2e.kustomized import Maker
from webhook.cli import main as cli

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
    assert {"empty-selector", "selector-misses-own-pod", "rollout-skew", "missing-constraints"} <= of_objects.keys()
    assert {"invalid-constraint", "malformed-topology-key", "misspelt-topology-key"} <= of_patches.keys()


def test_what_is_repaired_in_the_sources_is_repaired_in_what_is_built(trees, lint, findings_on):
    before = {folder: findings_on(text) for folder, text in trees.items()}
    repairable = sum(finding["fixable"] for folder in trees for finding in lint(folder)["findings"])
    repaired = sum(lint(folder, "--fix", "--fix-severity=info")["summary"]["repaired"] for folder in trees)
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
