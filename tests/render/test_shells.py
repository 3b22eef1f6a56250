"""The shells complete a line by the scripts: bash and zsh in a terminal, as a person presses tab."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time

import pytest

from tests.support import ROOT
from tests.support.commands import SCRIPTS

SECONDS = 20.0
# Waits for kubectl as long as a busy machine needs.
PATIENT = f"""
from webhook.cli.main import main
from webhook.loading import completing
completing.KUBECTL_SECONDS = {SECONDS}
raise SystemExit(main())
"""
DONE = "its" + "end"  # A terminal also shows what is typed, in which they are apart.
EVIL = ("evil$(touch${IFS}bad)", "tick`touch bad`", "my ctx", 'quo"te', "apo's", "back\\slash", "*star")
CONTEXTS = ("admin@one", "admin@two", "arn:aws:eks:eu:1:cluster/a", *EVIL)
FOLDERS = ("deploy", "run$(touch bad)", "my dir", 'quo"te', "at@home")
TERMINALS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(evenkeel completion bash)"),
    "zsh": (
        ["zsh", "-f", "-i"],
        "unsetopt auto_remove_slash; autoload -U compinit; compinit -u -D; source <(evenkeel completion zsh)",
    ),
}


def needs(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}: apt install {shell}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to complete files in, and an `evenkeel` that prints its words, unless it is asked for completions."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "evenkeel"
    completing = f"exec {sys.executable} -c '{PATIENT}' \"$@\""
    printing = "printf '<%s>' \"$@\"; echo"
    program.write_text(f"#!/bin/sh\ncase $1 in (__complete|completion) {completing};; esac\n{printing}\n")
    program.chmod(0o755)
    kubectl = tmp_path / "bin" / "kubectl"
    contexts = "\n".join(CONTEXTS)
    kubectl.write_text(f"#!/bin/sh\ncase $* in (*get-contexts*) cat <<'end'\n{contexts}\nend\nesac\n")
    kubectl.chmod(0o755)
    for name in FOLDERS:
        (tmp_path / "work" / name).mkdir(parents=True)
    (tmp_path / "work" / "values.yaml").write_text("")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("KUBECONFIG", "/dev/null")
    return tmp_path / "work"


def typed(shell, line, folder):
    """What the shell runs once `line` is typed, in which tabs are pressed."""
    needs(shell)
    command, begin = TERMINALS[shell]
    process, terminal = pty.fork()
    if process == 0:  # pragma: no cover
        os.chdir(folder)
        os.execvp(command[0], command)
    try:
        os.write(terminal, f"{begin}; echo 'its''end'\n".encode())
        until(terminal, DONE)
        os.write(terminal, f"{line}; echo 'its''end'\n".encode())
        return until(terminal, DONE)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def until(terminal, end):
    """What a terminal shows up to a line that is `end`, of which the last but that one is returned."""
    seen, last = "", time.monotonic() + SECONDS
    while f"{end}\r\n" not in seen:
        assert time.monotonic() < last, seen
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096).decode(errors="replace")
    return seen.partition(f"{end}\r\n")[0].splitlines()[-1]


@pytest.mark.parametrize("shell", TERMINALS)
@pytest.mark.parametrize(
    ("line", "words"),
    {
        "evenkeel rul\tempty-sel\t": "<rules><empty-selector>",
        "evenkeel explain --out\t js\t": "<explain><--output><json>",
        "evenkeel explain --output=js\t": "<explain><--output=json>",
        "evenkeel lint --rule empty-sel\tign\t": "<lint><--rule><empty-selector=ignore>",
        "evenkeel simulate deployment/web sc\t3": "<simulate><deployment/web><scale=3>",
        "evenkeel explain statefuls\tdb": "<explain><statefulset/db>",
        "evenkeel lint val\t": "<lint><values.yaml>",
        "evenkeel lint --policy=val\t": "<lint><--policy=values.yaml>",
        "evenkeel rules val\t": "<rules><val>",
    }.items(),
)
def test_a_shell_completes_a_line(shell, line, words, folder):
    assert words == typed(shell, line, folder)


@pytest.mark.parametrize("shell", TERMINALS)
@pytest.mark.parametrize(
    ("line", "word"),
    {
        **{f"explain --context {name[:2]}\t": name for name in EVIL if name != "*star"},
        "explain --context \\*\t": "*star",
        "explain --context adm\to\t": "admin@one",
        "explain --context 'adm\to\t": "admin@one",
        "explain --context arn:aws:\t": "arn:aws:eks:eu:1:cluster/a",
        "explain --context 'my c\t": "my ctx",
        "explain --context my\\ c\t": "my ctx",
    }.items(),
)
def test_a_name_becomes_one_word_that_runs_nothing(shell, line, word, folder):
    assert word == typed(shell, f"evenkeel {line}", folder).rpartition("><")[2].removesuffix(">")
    assert not (folder / "bad").exists()


def test_zsh_quotes_a_name_in_quotes(folder):
    assert f"<explain><--context><{EVIL[0]}>" == typed("zsh", 'evenkeel explain --context "ev\t', folder)
    assert not (folder / "bad").exists()


def test_bash_leaves_out_a_name_that_would_end_the_quotes_it_is_in(folder):
    """Or that would run something in them."""
    assert "<explain><--context><ev>" == typed("bash", 'evenkeel explain --context "ev\t"', folder)


@pytest.mark.parametrize(
    ("line", "words"),
    {
        "evenkeel rul": ["rules\tprint the catalogue of rules, or one rule's page"],
        "evenkeel explain --output=js": ["--output=json"],
        "evenkeel lint --rule empty-selector=ig": ["empty-selector=ignore"],
        "evenkeel lint val": ["values.yaml"],
        "evenkeel lint --policy=val": ["--policy=values.yaml"],
        "evenkeel rules val": [],
        "evenkeel explain --context ev": [r"evil\$\(touch\$\{IFS\}bad\)"],
        "evenkeel explain --context my\\ c": ["my\\ ctx"],
        "evenkeel explain --context 'my c": ["'my ctx'"],
        'evenkeel explain --context "ev': [r'"evil\$(touch\${IFS}bad)"'],
        "evenkeel explain --context back": ["back\\\\slash"],
    }.items(),
)
def test_fish_completes_a_line(line, words, folder):
    needs("fish")
    command = "evenkeel completion fish | source; complete --escape -C (cat)"
    done = subprocess.run(
        ["fish", "--no-config", "-c", command], cwd=folder, input=line, capture_output=True, text=True, check=True
    )

    assert words == done.stdout.splitlines()


def test_kubectl_completes_its_plugin(monkeypatch):
    """By a program that it finds by its name."""
    needs("kubectl")
    monkeypatch.setenv("PATH", f"{SCRIPTS}:{os.environ['PATH']}")
    done = subprocess.run(
        ["kubectl", "__complete", "evenkeel", "rules", "empty-sel"], capture_output=True, text=True, check=True
    )

    assert ["empty-selector\tlabelSelector is null or empty, so the constraint spreads nothing", ":4"] == (
        done.stdout.splitlines()
    )
