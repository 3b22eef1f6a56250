"""`evenkeel completion`: the scripts, and what bash offers by its own."""

from __future__ import annotations

import subprocess

import pytest

from evenkeel.commands.completion import SHELLS
from webhook.cli.main import COMMANDS

OFFER = """
source ./script
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_shtab_evenkeel
printf '%s\\n' "${COMPREPLY[@]}"
"""
ACTIONS = ["check", "show", "test", "export", "schema"]


@pytest.mark.parametrize("shell", SHELLS)
def test_prints_a_script_with_every_command_and_option(run, shell):
    code, out, err = run(f"completion {shell}")

    assert (0, "") == (code, err)
    assert all(word in out for word in ("evenkeel", *COMMANDS, "scheduler-config"))


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ex"], ["explain"]),
        (["policy", ""], ACTIONS),
        (["policy", "check", "--against"], ["--against"]),
        (["explain", "--output", ""], ["text", "json"]),
        (["lint", "mani"], ["manifests"]),
        (["explain", "--cluster", "mani"], ["manifests"]),
    ],
)
def test_bash_offers(run, tmp_path, words, offered):
    """At once, as no Python runs."""
    (tmp_path / "script").write_text(run("completion bash").out)
    (tmp_path / "manifests").mkdir()
    command = ["bash", "--norc", "-c", OFFER, "bash", "evenkeel", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=10)

    assert ("", offered) == (done.stderr, done.stdout.split())


def test_an_unknown_shell_is_told_in_one_line(run):
    wanted = 'SHELL: found "tcsh", wanted bash, zsh, fish; see evenkeel completion --help'

    assert (2, "", f"evenkeel completion: {wanted}\n") == run("completion tcsh")
