"""What a shell may offer for a word: from the table of commands, and from a kubectl that answers, fails or hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from tests.support.commands import nobody_reads, script
from webhook.loading.completing import KUBECTL_SECONDS, completed

PODS = "web-1 1/1 Running 0 5d app=web,tier=front\nweb-2 1/1 Running 0 5d app=web\ndb-0 1/1 Running 0 5d <none>"
NODES = "a1 Ready <none> 5d v1 kubernetes.io/os=linux,zone=a\nb1 Ready <none> 5d v1 zone=b"
ANSWERS = {
    "get namespaces": "shop Active 5d a=b\nshipping Active 5d a=b",
    "get nodes": NODES,
    "get pod ": PODS,
    "get pods,deployments": PODS,
    "config get-contexts": "here\nthere",
    "api-resources": "pods\nrollouts.argoproj.io",
}


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """Put a kubectl on the PATH that runs some commands, and writes down what it is asked."""
    asked = tmp_path / "asked"

    def put(commands):
        program = tmp_path / "kubectl"
        program.write_text(f'#!/bin/sh\necho "$*" >> {asked}\n{commands}\n')
        program.chmod(0o755)
        return asked

    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return put


@pytest.fixture
def answering(kubectl):
    """A cluster that answers."""
    cases = "\n".join(f"*'{asked}'*) echo '{answer}';;" for asked, answer in ANSWERS.items())
    return kubectl(f'case "$*" in\n{cases}\nesac')


def offered(line):
    """The words that are offered for the end of a line, without their help, and the directive."""
    *offers, last = completed(line.split(" ")).splitlines()
    return [offer.partition("\t")[0] for offer in offers], int(last.removeprefix(":"))


@pytest.mark.parametrize(
    ("line", "words"),
    {
        "ex": ["explain"],
        "help ex": ["explain"],
        "help h": [],
        "help lint ": [],
        "explain pod/a ex": [],
        "policy ": ["check", "show", "test", "export", "schema"],
        "help policy s": ["show", "schema"],
        "completion ": ["bash", "zsh", "fish"],
        "completion bash ": [],
        "completion -- ": ["bash", "zsh", "fish"],
        "lint --out j": ["json", "junit"],
        "lint --out=js": ["--out=json"],
        "rules emp": ["empty-selector"],
        "rules empty-selector emp": [],
        "explain --out": ["--output"],
        "explain -o ": ["text", "json"],
        "explain -o j": ["json"],
        "explain --output=j": ["--output=json"],
        "explain -o=json -n a --output ": ["text", "json"],
        "explain -- --out": [],
        "lint -q --fix --fail-on w": ["warning"],
        "lint --rule empty-selector=w": ["empty-selector=warning"],
        "lint --kubernetes-version 1.25": ["1.25"],
        "serve --log-level d": ["debug"],
        "policy show --namespace-": ["--namespace-labels"],
        "certs issue --days ": [],
        "simulate -- deployment/web ro": ["rollout"],
        "nonsense --nonsense=a -x ": [],
        "\x1b": [],
    }.items(),
)
def test_offers_what_a_word_may_become(line, words):
    assert (words, 4) == offered(line)


def test_the_first_word_is_a_command():
    assert {"explain", "lint", "help", "version"} <= {*offered("")[0]}
    assert completed([]) == completed([""])
    assert offered("help ") == ([word for word in offered("")[0] if word != "help"], 4)


def test_each_word_has_its_help():
    assert completed(["rules", "empty-sel"]).startswith("empty-selector\tlabelSelector is null or empty, so")
    assert completed(["explain", "-"]).count("\n") == completed(["explain", "-"]).count("\t")


@pytest.mark.parametrize(
    ("line", "words", "directive"),
    [
        *(("lint ", [], 0), ("lint --baseline ", [], 0), ("lint --baseline=a", [], 0), ("admit -f ", [], 0)),
        *(("explain --cluster ", ["live"], 0), ("certs issue --dir ", [], 16), ("lint --since ", [], 4)),
        *(("lint --f js", [], 0), ("lint --fix js", [], 0)),
        *(("lint --rule empty-sel", ["empty-selector="], 6), ("simulate pod/a sc", ["scale="], 6)),
    ],
)
def test_the_directive_says_what_the_shell_adds(line, words, directive):
    assert (words, directive) == offered(line)


@pytest.mark.parametrize(
    ("line", "words"),
    {
        "explain -n sh": ["shop", "shipping"],
        "explain --namespace=shop --context ": ["here", "there"],
        "manifests --service sh": ["shop/", "shipping/"],
        "explain r": ["replicationcontroller/", "replicaset/", "rollout/"],
        "explain clone": [],
        "explain pod/w": ["pod/web-1", "pod/web-2"],
        "explain pod w": ["web-1", "web-2"],
        "explain pod/web-1 w": [],
        "explain pod web-1 w": [],
        "report pod/d": ["pod/db-0"],
        "pending -l ": ["app=", "tier="],
        "pending -l app=": ["app=web"],
        "pending -l app!=": ["app!=web"],
        "pending -l app=web,t": ["app=web,tier="],
        "report --by ": ["namespace", "app", "tier"],
        "simulate pod/w": ["pod/web-1", "pod/web-2"],
        "simulate pod w": ["web-1", "web-2"],
        "simulate rollout scale=3 dr": ["drain="],
        "simulate drain=": ["drain=a1", "drain=b1", "drain=kubernetes.io/os=", "drain=zone="],
        "simulate pod/web-1 lose=zone=": ["lose=zone=a", "lose=zone=b"],
        "simulate scale=": [],
    }.items(),
)
def test_offers_what_is_in_the_cluster(answering, line, words):
    assert words == offered(line)[0]


def test_asks_where_the_line_says(answering, monkeypatch):
    monkeypatch.setenv("HOME", "/home/a")
    offered("explain --context=there --kubeconfig there.yaml -nshop pod/")
    offered("pending -A -l ")
    offered("pending --kubeconfig ~/b --context ~/b -l ")
    first, second, third = answering.read_text("utf-8").splitlines()

    assert first.startswith("--kubeconfig=there.yaml --context=there --request-timeout=0.")
    assert first.endswith("s get pod --no-headers --show-labels --namespace=shop")
    assert second.endswith(" --show-labels --all-namespaces")
    assert third.startswith("--kubeconfig=/home/a/b --context=~/b --request-timeout=")
    assert third.endswith(" --show-labels")


def test_does_not_ask_the_cluster_for_what_is_in_a_file(answering):
    assert [] == offered("explain --cluster there.yaml pod/")[0]
    assert not answering.exists()


@pytest.mark.parametrize("line", ["explain -- --kubeconfig=a/", "explain pod;id/"])
def test_what_is_no_type_is_not_given_to_kubectl(answering, line):
    assert [] == offered(line)[0]
    assert not answering.exists()


@pytest.mark.parametrize("commands", ["exit 1", "echo The cluster is gone >&2; exit 1", "printf 'a\\033[31m 1 2\\n'"])
def test_a_cluster_that_fails_is_no_words(kubectl, commands, capfd):
    kubectl(commands)

    assert ([], 4) == offered("explain pod/")
    assert ("", "") == capfd.readouterr()


def test_without_kubectl_there_are_no_words(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert ([], 4) == offered("explain -n ")


def test_a_cluster_that_hangs_is_no_words_in_time(kubectl):
    """And what kubectl has started ends, too."""
    asked = kubectl(f"sleep 30 & echo $! >> {'$0'}.pid; wait")

    begun = time.monotonic()
    assert ([], 4) == offered("explain pod/")
    assert KUBECTL_SECONDS <= time.monotonic() - begun < 4 * KUBECTL_SECONDS
    sleeping = int(asked.with_name("kubectl.pid").read_text("utf-8"))
    for _ in range(100):
        if not is_running(sleeping):
            return
        time.sleep(0.02)
    raise AssertionError("what kubectl has started still runs")


def is_running(process):
    """Whether a process is there, and no zombie that nobody has waited for."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_kubectl_gets_the_same_by_a_program_of_its_own(answering):
    done = script("explain", "pod/w", name="kubectl_complete-evenkeel")

    assert (0, "pod/web-1\npod/web-2\n:4\n", "") == (done.returncode, done.stdout, done.stderr)
    for name in ("evenkeel", "kubectl-evenkeel"):
        assert done.stdout == script("__complete", "explain", "pod/w", name=name).stdout


def test_that_program_ends_as_every_command_does(kubectl):
    """Where standard output cannot hold a name, is full or is closed, and for a person who presses Ctrl-C."""
    kubectl("echo é@x")
    name, line = "kubectl_complete-evenkeel", ("explain", "--context", "")
    done = script(*line, name=name, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (0, "\\xe9@x\n:4\n", "") == (done.returncode, done.stdout, done.stderr)
    with nobody_reads() as closed:
        done = script(*line, name=name, stdout=closed, stderr=subprocess.PIPE)
    assert (0, "") == (done.returncode, done.stderr)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = script(*line, name=name, stdout=full, stderr=subprocess.PIPE)
    assert (2, "evenkeel: standard output: No space left on device\n") == (done.returncode, done.stderr)
    kubectl("kill -INT $PPID; sleep 1")
    done = script(*line, name=name, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert (130, "", "") == (done.returncode, done.stdout, done.stderr)
