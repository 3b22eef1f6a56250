"""The GitHub Action: its description, and a step of it, run as GitHub's runner does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.support import ROOT

OF_GITHUB = {
    "github.server_url": "https://github.com",
    "github.action_repository": "a/evenkeel",
    "github.action_ref": "v1",
}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
INSTALL, LINT, SIMULATE = ACTION["runs"]["steps"]


def run_step(step, known: Mapping[str, str], inputs: Mapping[str, str], folder: Path = ROOT, **variables: str):
    """The step's script in a folder, with what its `env` says; `known` has what expressions other than inputs are."""
    given = {f"inputs.{name}": spec["default"] for name, spec in ACTION["inputs"].items()}
    given |= {f"inputs.{name}": value for name, value in inputs.items()} | {**known}
    said = {name: given[text.removeprefix("${{ ").removesuffix(" }}")] for name, text in step["env"].items()}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={"PATH": os.environ["PATH"], **variables, **said},
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
