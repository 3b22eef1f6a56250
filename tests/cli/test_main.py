"""The command line: help, exit codes, streams that cannot be used, and errors that keep to their lines."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys

import pytest

from tests.generate.exits import codes
from tests.support import ROOT
from tests.support.build import constraint, namespace, pod, workload
from tests.support.commands import POLICY, SCRIPTS, commands, nobody_reads, script
from webhook import __version__
from webhook.cli import main
from webhook.cli.main import COMMANDS, GROUPS, IN_CLUSTER

DENIED = workload("Deployment", constraint(labelSelector={}))
WARNED = workload("StatefulSet", constraint(labelSelector={"matchLabels": {"app": "db"}}), name="db")


@pytest.mark.parametrize("command", [*COMMANDS, *(f"policy {action}" for action in ("check", "show", "schema"))])
def test_every_command_has_help(run, command):
    code, out, err = run(f"{command} --help")

    assert (0, "") == (code, err)
    assert out.startswith(f"usage: evenkeel {command} ")


# Options that choose something else in some commands than in most, and say so.
OWN_WORDS = {
    "serve": {"--cluster", "--kubernetes-version", "--policy", "--tls-secret"},
    "policy test": {"--cluster", "--kubernetes-version", "--policy"},
    "dump": {"-o", "--policy"},
    "report": {"--policy", "--fail-on"},
    "simulate": {"-f", "--fail-on", "--by"},
    "explain": {"-f"},
    "lint": {"-o", "-n", "-q"},
    "pending": {"--fail-on"},
    "admit": {"-n", "-o"},
    "certs issue": {"--client", "--force"},
    "policy show": {"-n"},
}
DEFAULT = re.compile(r" ?\(default: (%\(default\)s|.)*?\)")


def options(found):
    """The options and words of a command, by their first name, but those of its actions."""
    left = (argparse._HelpAction, argparse._SubParsersAction)
    return {(*one.option_strings, one.metavar)[0]: one for one in found._actions if not isinstance(one, left)}


def test_every_command_says_what_it_exits_with_and_what_each_option_is():
    for command, found in commands():
        assert {"0"} <= codes(found.description or "").keys(), command
        for name, option in options(found).items():
            assert DEFAULT.sub("", option.help or ""), f"{command} {name}"


def test_an_option_has_the_same_words_in_every_command():
    """But for its default."""
    words: dict[str, str] = {}
    for command, found in commands():
        for name, option in options(found).items():
            if name.startswith("-") and name not in OWN_WORDS.get(command, ()):
                said = DEFAULT.sub("", option.help)
                assert words.setdefault(name, said) == said, f"{command} {name}"


def test_the_list_of_commands_says_what_each_is_for(run):
    out = run("--help").out

    for command in COMMANDS:
        assert re.search(rf"^  {command} +\w+", out, re.MULTILINE)


def test_without_a_command_they_are_listed_in_the_groups_of_the_list_of_pages(run):
    """With two examples, in 80 columns, and as --help and help do."""
    code, out, err = run("")

    assert (0, "") == (code, err)
    assert {out} == {run(words).out for words in ("--help", "-h", "help", "help --help", "help help")}
    assert 2 == len(re.findall(r"^  evenkeel ", out, re.MULTILINE))
    assert all(len(line) <= 80 for line in out.splitlines())
    pages = (ROOT / "docs" / "README.md").read_text("utf-8").partition("\n## ")[0]
    for title, group in GROUPS.items():
        section = pages.partition(f"\n{title}:\n")[2].partition("\nIf you")[0].partition("\nTo look up")[0]
        assert [*group] == list(dict.fromkeys(re.findall(r"`evenkeel (\w+)", section))), title


@pytest.mark.parametrize("words", ["lint", "policy test", "certs"])
def test_help_of_a_command_is_its_help(run, words):
    assert run(f"{words} --help") == run(f"help {words}")


WRONG = {
    "explian": 'evenkeel: unknown command "explian"; did you mean explain?',
    "nonsense": 'evenkeel: unknown command "nonsense"; see evenkeel --help',
    "help explian": 'evenkeel: unknown command "explian"; did you mean explain?',
    "--versoin": 'evenkeel: unknown option "--versoin"; did you mean --version?',
    "policy chekc": 'evenkeel policy: unknown command "chekc"; did you mean check?',
    "policy": "evenkeel policy: ACTION: found none, wanted check, show, test, export, schema; see evenkeel policy"
    " --help",
    "completion": "evenkeel completion: SHELL: found none, wanted bash, zsh, fish; see evenkeel completion --help",
    "-n shop explain pod/a": 'evenkeel: unknown option "-n"; write options after the command; see evenkeel --help',
    "admit": "evenkeel admit: the following arguments are required: -f/--filename; see evenkeel admit --help",
    "admit -f": "evenkeel admit: -f/--filename: expected one argument; see evenkeel admit --help",
    "admit --filname new": 'evenkeel admit: unknown option "--filname"; did you mean --filename?',
    "explain --outptu=json pod/a": 'evenkeel explain: unknown option "--outptu"; did you mean --output?',
    "explain -Z pod/a": 'evenkeel explain: unknown option "-Z"; see evenkeel explain --help',
    "admit -f new -o xml": 'evenkeel admit: -o/--output: found "xml", wanted text, json, yaml; see evenkeel admit',
    "admit -f new -o jsn": 'evenkeel admit: -o/--output: found "jsn", wanted text, json, yaml; did you mean json?',
    "report --cluster x --fail-on DENIED": 'evenkeel report: --fail-on: found "DENIED", wanted denied-updates, denied, '
    "warned; did you mean denied?",
    "simulate --fail-on stuk pod/a": 'evenkeel simulate: --fail-on: found "stuk", wanted pending, stuck, skew, lost, '
    "not-judged; did you mean stuck?",
    "kinds -- more": 'evenkeel kinds: unexpected argument "more"; see evenkeel kinds --help',
    "kinds more": 'evenkeel kinds: unexpected argument "more"; see evenkeel kinds --help',
    "pending -A -n a": "evenkeel pending: -n/--namespace: not allowed with argument -A/--all-namespaces;"
    " see evenkeel pending --help",
    "simulate --runs x": 'evenkeel simulate: --runs: found "x", wanted a whole number; see evenkeel simulate --help',
    "certs issue --name a --dir b --days x": "evenkeel certs issue: --days: must be",
    "explain --\x1b[31m": 'evenkeel explain: unknown option "--\\u001b[31m"; see evenkeel explain --help',
}


@pytest.mark.parametrize("command", WRONG)
def test_wrong_arguments_are_one_line_and_exit_code_2(run, command):
    code, out, err = run(command)

    assert (2, "", 1) == (code, out, len(err.splitlines()))
    assert err.startswith(WRONG[command])


@pytest.mark.parametrize("command", ["admit -f new", "lint new", "policy show", "explain pod/a", "pending"])
def test_a_namespace_is_a_dns_label(run, command):
    code, out, err = run(f"{command} -n Bad_NS", new=WARNED)

    assert (2, "") == (code, out)
    assert err.startswith('evenkeel: --namespace: found "Bad_NS", wanted the name of one namespace')
    assert 1 == len(err.splitlines())


@pytest.mark.parametrize("words", ["admit --filen new", "admit -fnew", "admit -f=new", "admit -f new --output=json"])
def test_an_option_may_be_shortened_and_have_its_value_beside_it(run, words):
    assert 0 == run(words, new=WARNED).code


WITHOUT_MORE = [command for command in COMMANDS if command not in ("admit", "certs", "lint", "policy")]
WITH_MORE = [
    *("admit -f new", "lint new", "policy check new", "policy schema", "explain pod/a -n b"),
    "simulate deployment/web scale=3 -n b more",
]


@pytest.mark.parametrize("command", [*WITHOUT_MORE, *WITH_MORE])
def test_an_option_that_there_is_not_is_told_by_its_command(run, command):
    code, out, err = run(f"{command} --bogus")
    named = " ".join(command.split()[: 1 + command.startswith(("certs", "policy"))])

    assert (2, "") == (code, out)
    assert f'evenkeel {named}: unknown option "--bogus"; see evenkeel {named} --help\n' == err


def test_the_installed_command_exits_with_the_code(tmp_path):
    for code, given in ((0, WARNED), (1, DENIED), (2, {})):
        (tmp_path / "new").write_text(json.dumps(given))
        assert code == script("admit", "-f", tmp_path / "new").returncode
    assert f"evenkeel {__version__}\n" == script("--version").stdout
    assert script("-h", name="kubectl-evenkeel").stdout.startswith("usage: kubectl evenkeel ")


@pytest.mark.parametrize("command", ["policy schema", "kinds", "lint docs/examples", "lint --help"])
def test_a_reader_that_has_seen_enough_is_no_error(command):
    with nobody_reads() as closed:
        done = script(*command.split(), cwd=ROOT, stdout=closed, stderr=subprocess.PIPE)

    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("how", ["admit -f - <&-", "policy schema >&-", "policy schema >/dev/full"])
def test_streams_that_cannot_be_used_are_no_traceback(how):
    done = subprocess.run(f"'{SCRIPTS}'/evenkeel {how}", shell=True, capture_output=True, text=True, check=False)

    assert done.returncode
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_quietly_while_a_command_is_imported(run, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "import_module", interrupted)

    assert (130, "", "") == run("lint .")


EXAMPLES = ROOT / "docs" / "examples"
NEWER = "--kubernetes-version 1.99"
OF_A_DUMP = f"--cluster {EXAMPLES}/waiting/cluster.yaml {NEWER}"
NOTED = [
    f"admit -f {EXAMPLES}/web.yaml {NEWER}",
    f"explain deployment/web -n shop {OF_A_DUMP}",
    f"lint {EXAMPLES}/web.yaml {NEWER}",
    f"manifests --engine policy {NEWER}",
    f"pending -A {OF_A_DUMP}",
    "policy export --for kube-scheduler",
    f"report -A {OF_A_DUMP}",
    f"simulate deployment/web scale=3 -n shop {OF_A_DUMP}",
    f"simulate scale=3 -f {EXAMPLES}/web.yaml {OF_A_DUMP}",
    f"simulate drain=a1 -A --runs 2 {OF_A_DUMP}",
]


@pytest.mark.parametrize("command", NOTED)
def test_notes_are_on_standard_error_and_not_there_if_it_is_to_be_quiet(run, command):
    """But for lint, whose totals are left out, too."""
    code, out, err = run(command)

    assert err.splitlines() == [line for line in err.splitlines() if line.startswith("note: ")] != []
    assert "note: " not in out
    assert (code, "" if command.startswith("lint") else out, "") == run(f"{command} --quiet")


@pytest.mark.parametrize("command", [command for command in NOTED if command.startswith(("pending", "simulate"))])
def test_a_form_for_programs_holds_the_notes(run, command):
    err, (_, out, none) = run(command).err, run(f"{command} -q -o json")

    assert "" == none
    assert {line.removeprefix("note: ") for line in err.splitlines()} <= set(json.loads(out)["notes"])


RED = "\x1b[31mred"
ESCAPES = [
    ("policy check new", POLICY | {RED: 1}),
    ("policy check new", POLICY | {"rules": {RED: "error"}}),
    ("admit -f new --cluster new", namespace(RED) | {"metadata": {"name": RED, "labels": {"a": 1}}}),
    ("admit -f new --cluster new", namespace() | {"metadata": {"name": "shop", "labels": {RED: 1}}}),
    (f"admit -f new --cluster {RED}", pod()),
    (f"admit -f {RED}", pod()),
    (f"lint {RED}.yaml", pod()),
    (f"lint new --baseline {RED}", pod()),
]


@pytest.mark.parametrize(("command", "content"), ESCAPES, ids=lambda value: str(value)[:40])
def test_a_name_in_an_error_cannot_write_to_the_terminal(run, command, content):
    """Not even one that a policy, a dump or a folder brings in."""
    code, out, err = run(command, new=content)

    assert (2, "") == (code, out)
    assert "\\u001b[31mred" in err
    assert all(line.isprintable() for line in err.splitlines())


SHOWN = [
    (f"policy check {RED}", POLICY),
    ("policy show --policy new", POLICY | {"overrides": [{"name": RED, "schedulerName": "default-scheduler"}]}),
    (f"admit -f {RED}", DENIED),
    ("admit -f new", pod(name=RED)),
    (f"lint {RED}", DENIED),
    (f"lint {RED} --diff", DENIED),
    (f"lint {RED} --baseline {RED}-baseline --write-baseline", DENIED),
]


@pytest.mark.parametrize(("command", "content"), SHOWN, ids=lambda value: str(value)[:50])
def test_a_name_cannot_write_to_the_terminal(run, command, content):
    """Whether it is that of a file, of an object or of an override, where nothing is wrong with it."""
    code, out, err = run(command, **{"new": content, RED: content})

    assert code in (0, 1)
    assert "[31mred" in out + err
    assert all(line.isprintable() for line in (out + err).splitlines())


def test_an_error_keeps_its_lines(run):
    code, _, err = run("policy check new", new=POLICY | {"one": 1, "other": 2})

    assert (2, 2) == (code, len(err.splitlines()))


@pytest.fixture
def without_tools(monkeypatch):
    """As in the image of the webhook."""
    monkeypatch.setitem(sys.modules, "evenkeel", None)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in IN_CLUSTER])
def test_a_command_that_is_not_in_the_image_says_where_it_is(without_tools, capsys, command):
    assert 2 == main.main([command])
    error = capsys.readouterr().err
    assert error.startswith(f"evenkeel: {command}: ") and 1 == error.count("\n")


def test_help_says_which_commands_the_image_has(without_tools, capsys):
    with pytest.raises(SystemExit):
        main.main(["--help"])

    assert f"has only certs, manifests, serve; evenkeel:{__version__}-tools has all" in capsys.readouterr().out


@pytest.mark.parametrize("command", IN_CLUSTER)
def test_what_runs_in_the_cluster_is_there_without_the_tools(without_tools, capsys, command):
    with pytest.raises(SystemExit) as ended:
        main.main([command, "--help"])

    assert 0 == ended.value.code
