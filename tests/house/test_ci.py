"""What others' CI takes from this repository: the pre-commit hooks and the GitHub Action do what they say."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evenkeel.commands.lint import FORMATS
from tests.generate.tutorial import PAGE, blocks, changed
from tests.support import ROOT
from tests.support.action import ACTION, LINT, OF_GITHUB, SIMULATE, run_step
from tests.support.simulated import deployment, nodes
from webhook.cli import main as cli

HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
BIN = Path(sys.executable).parent
REJECT, WARN = (str(ROOT / "docs" / "examples" / name) for name in ("reject.yaml", "warn.yaml"))


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_takes_the_files_that_pre_commit_gives_it(hook, tmp_path, capsys):
    (tmp_path / "a.yaml").write_text(Path(WARN).read_text())
    (tmp_path / "b.json").write_text("{}")
    _, *words = shlex.split(hook["entry"])

    code = cli.main([*words, str(tmp_path / "a.yaml"), str(tmp_path / "b.json")])

    assert code == int("--fix" not in words)
    assert 0 == cli.main([*words, str(tmp_path / "b.json")])
    assert ["yaml", "json"] == hook["types_or"]
    assert ("--fix" in words) == (Path(WARN).read_text() != (tmp_path / "a.yaml").read_text())


def action(step=LINT, folder=ROOT, **inputs):
    """Run a step of the action."""
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    return run_step(step, {"steps.install.outputs.bin": str(BIN), **OF_GITHUB}, given, folder)


def test_the_action_annotates_and_fails_as_it_is_told():
    found = action(paths=f"{REJECT} {WARN}")
    assert (1, 3) == (found.returncode, len(found.stdout.splitlines()))
    assert found.stdout.startswith("::error file=")

    assert [1, 0] == [action(paths=WARN, **inputs).returncode for inputs in ({}, {"fail_on": "error"})]
    assert 0 == action(paths="docs/exa*/r*.yaml", args="--rule empty-selector=info").returncode


def test_the_action_writes_a_file_too(tmp_path):
    found = action(paths=REJECT, format="sarif", output_file=str(tmp_path / "out.sarif"))

    assert (1, found.stdout) == (found.returncode, (tmp_path / "out.sarif").read_text())
    assert "https://github.com/a/evenkeel/blob/v1/docs/rules.md#empty-selector" in found.stdout


def test_no_input_of_the_action_is_a_command(tmp_path):
    hostile = f"$(touch {tmp_path}/made) `touch {tmp_path}/made` ; touch {tmp_path}/made"
    action(paths=hostile, fail_on=hostile, format=hostile, args=hostile)
    action(SIMULATE, paths=hostile, simulate=hostile, steps=hostile)

    assert [] == list(tmp_path.iterdir())


def test_the_action_knows_every_form():
    described = ACTION["inputs"]["format"]["description"]

    assert set(FORMATS) == set(described.replace(" or ", " ").replace(",", "").split())


def test_the_gates_of_the_page_fail_on_a_rollout_that_never_finishes(tmp_path):
    """What the page has for any job, GitHub and Argo CD: each node has room for one Pod, or for two."""
    page = (ROOT / "docs" / "simulate.md").read_text("utf-8")
    github, argo = map(yaml.safe_load, re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    (inputs,) = (step["with"] for step in github if "uses" in step)
    (script,) = re.findall(r"^\$ (helm .*)$", page, re.MULTILINE)
    (container,) = argo["spec"]["template"]["spec"]["containers"]
    words = " ".join(container["args"]).replace("/files", "rendered").replace("live", inputs["simulate"])
    (tmp_path / "rendered").mkdir()
    (tmp_path / "rendered" / "web.yaml").write_text(yaml.safe_dump(deployment(replicas=3, priority=0)[0]))

    def codes(pods):
        """The exit codes of the three."""
        there = [*nodes("a=1 b=1 c=1", pods=pods), *deployment(replicas=3, on=["a1", "b1", "c1"])]
        dump = {"apiVersion": "v1", "kind": "List", "items": there}
        with gzip.open(tmp_path / inputs["simulate"], "wt") as file:
            yaml.safe_dump(dump, file)
        piped = script.replace("helm template shop charts/shop -n shop", "cat rendered/web.yaml")
        scripts = [piped, f"evenkeel {words}"]
        path = {"PATH": f"{BIN}:/usr/bin:/bin"}
        ran = [subprocess.run(["bash", "-c", each], cwd=tmp_path, env=path, check=False) for each in scripts]
        return [action(SIMULATE, tmp_path, **inputs).returncode, *(done.returncode for done in ran)]

    assert set(inputs) <= set(ACTION["inputs"])
    assert [1, 1, 1] == codes("1")
    assert [0, 0, 0] == codes("9")


def test_what_the_tutorial_puts_into_ci_fails_until_the_files_are_mended(tmp_path, monkeypatch):
    """The action, and the hook as pre-commit calls it with the same options, in the folder that the page fills."""
    page = PAGE.read_text("utf-8")
    (workflow,) = map(yaml.safe_load, re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    (inputs,) = (step["with"] for step in workflow["jobs"]["spread"]["steps"] if "<this repository>" in step["uses"])
    (entry,) = (hook["entry"] for hook in HOOKS if hook["id"] == "evenkeel-lint")
    shutil.copytree(ROOT / "docs" / "examples" / "tutorial", folder := tmp_path / "repository")
    for block in blocks(page):
        for file in re.findall(r"^cat > .*?^EOF$", block.text, re.DOTALL | re.MULTILINE):
            subprocess.run(["bash", "-c", file], cwd=folder, check=True)
    monkeypatch.chdir(folder)

    def codes():
        """The exit codes of both."""
        known = {"steps.install.outputs.bin": str(BIN), **OF_GITHUB}
        ran = run_step(LINT, known, inputs, folder)
        files = map(str, sorted(folder.glob("*.yaml")))
        return ran.returncode, cli.main([*shlex.split(entry)[1:], *shlex.split(inputs["args"]), *files])

    assert set(inputs) <= set(ACTION["inputs"])
    assert (1, 1) == codes()
    for block in blocks(page):
        if block.language == "diff":
            assert "shop.yaml" == changed(block.text, folder).name
    assert (0, 0) == codes()
