"""
What a shell may offer for the last word of a command line.

What the parsers know is in a table, which `make docs` writes: to import a command takes longer than a person waits.
What is in the cluster kubectl tells, which has every way to log in; what it has not told in time is not offered.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

KUBECTL_SECONDS = 0.2
NO_SPACE, NO_FILES, ONLY_FOLDERS = 2, 4, 16  # cobra's ShellCompDirective
WORDS_TABLE = Path(__file__).with_suffix(".json")
LIVE_CLUSTER, NAMESPACE_OPTION, ALL_OPTION = "live", "--namespace", "--all-namespaces"
LABELLED_RESOURCES = "pods,deployments,statefulsets,daemonsets"
TYPE_FORM = re.compile(r"[A-Za-z][A-Za-z0-9.-]*")

Offers = Iterable[tuple[str, str]]  # words, each with its help, which may be ""


class CommandLine(NamedTuple):
    """What is known, and what stands before the last word: the command, its options, and other words."""

    table: Mapping[str, Any]
    command: str
    given: Mapping[str, str]
    words: Sequence[str]
    deadline: float

    def kubectl(self, *words: str) -> list[str]:
        """Return the lines that kubectl prints of the cluster that the line names; none if it takes too long."""
        left = self.deadline - monotonic()
        if self.given.get("--cluster", LIVE_CLUSTER) != LIVE_CLUSTER or left <= 0:
            return []
        kubeconfig = os.path.expanduser(self.given.get("--kubeconfig", ""))  # A shell gives a word as it is typed.
        where = {"--kubeconfig": kubeconfig, "--context": self.given.get("--context")}
        options = [f"{option}={value}" for option, value in where.items() if value]
        command = ["kubectl", *options, f"--request-timeout={left:.3f}s", *words]
        try:
            with subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ) as process:
                try:
                    return process.communicate(timeout=left)[0].decode(errors="replace").splitlines()
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)  # also what it has started to log in
        except OSError:
            pass  # There is no kubectl.
        return []

    def listed(self, resource: str, *options: str) -> list[list[str]]:
        """Return the columns of each object of a kind: its name first, its labels last."""
        rows = self.kubectl("get", resource, "--no-headers", "--show-labels", *options)
        return [columns for row in rows if (columns := row.split())]

    def in_namespace(self, resource: str) -> list[list[str]]:
        """Return the same of those in the namespace that the line names."""
        if ALL_OPTION in self.given:
            return [columns[1:] for columns in self.listed(resource, ALL_OPTION)]
        if NAMESPACE_OPTION in self.given:
            return self.listed(resource, f"{NAMESPACE_OPTION}={self.given[NAMESPACE_OPTION]}")
        return self.listed(resource)


def completed(words: Sequence[str]) -> str:
    """Return a line for each word that the last of `words` may become, with its help, and a last one for the shell."""
    table = json.loads(WORDS_TABLE.read_text("utf-8"))
    *before, last = words or [""]
    line, wanted = _read(before, table)
    command, prefix = table["commands"][line.command], ""
    options = command["options"]
    if wanted is None and last.startswith("-"):
        option, equals, value = last.partition("=")
        if not equals:
            about = ((name, options[entry] if isinstance(entry, str) else entry) for name, entry in options.items())
            return _lines(((name, help_line) for name, (_, help_line) in about), "", last, NO_FILES)
        prefix, last, wanted = f"{option}=", value, _entry(option, options)[1] or ""
    elif wanted is None:
        wanted = command["words"]
    if isinstance(wanted, list):
        is_given = bool(line.words) and wanted == command["words"]
        return _lines(_bare(() if is_given else wanted), prefix, last, NO_FILES)
    offer, directive = KINDS_OF_WORDS.get(wanted, (_nothing, NO_FILES))
    return _lines(offer(last, line), prefix, last, directive)


def _read(before: Sequence[str], table: Mapping[str, Any]) -> tuple[CommandLine, Any]:
    """Return what stands before the last word, and what is wanted there: None if that may also be an option."""
    command, given, words, wanted, waiting, ended = "", dict[str, str](), list[str](), None, "", False
    for word in before:
        options = table["commands"][command]["options"]
        if waiting:
            given[waiting], waiting, wanted = word, "", None
        elif word == "--":
            ended = True
        elif word.startswith("-") and word != "-" and not ended:
            name, equals, value = word.partition("=")
            if name not in options and not name.startswith("--"):
                name, equals, value = word[:2], word[2:], word[2:]
            name, wanted = _entry(name, options)
            given[name] = value
            waiting = name if wanted is not None and not equals else ""
            wanted = wanted if waiting else None
        elif not words and (below := f"{command} {word}".strip()) in table["commands"]:
            command = below
        else:
            words.append(word)
    if ended and not waiting:
        wanted = table["commands"][command]["words"]
    return CommandLine(table, command, given, words, monotonic() + KUBECTL_SECONDS), wanted


def _entry(name: str, options: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the long name of an option, and what its value is: None if it has none, or if there is no such option."""
    longer = [option for option in options if option.startswith(name)]
    if name not in options and name.startswith("--") and len(longer) == 1:
        (name,) = longer  # as argparse takes it
    entry = options.get(name, [None])
    return (entry, options[entry][0]) if isinstance(entry, str) else (name, entry[0])


def _lines(offers: Offers, prefix: str, last: str, directive: int) -> str:
    fitting = [(name, help_line) for name, help_line in offers if name.startswith(last) and name.isprintable()]
    if fitting and all(name.endswith(("=", "/")) for name, _ in fitting):
        directive |= NO_SPACE
    return "\n".join([*(f"{prefix}{name}\t{help_line}".rstrip() for name, help_line in fitting), f":{directive}"])


def _bare(names: Iterable[str]) -> Offers:
    return ((name, "") for name in names)


def _nothing(last: str, line: CommandLine) -> Offers:
    return ()


def _commands(last: str, line: CommandLine) -> Offers:
    return _below([*line.command.split(), *line.words], line)


def _commands_with_help(last: str, line: CommandLine) -> Offers:
    return _below(line.words, line)


def _below(above: Sequence[str], line: CommandLine) -> Offers:
    names = {name: about["help"] for name, about in line.table["commands"].items() if name not in ("", line.command)}
    return [(name.split()[-1], names[name]) for name in names if name.split()[:-1] == [*above]]


def _rules(last: str, line: CommandLine) -> Offers:
    return () if line.words else line.table["rules"].items()


def _severities(last: str, line: CommandLine) -> Offers:
    rule, equals, _ = last.partition("=")
    if equals:
        return _bare(f"{rule}={severity}" for severity in line.table["severities"])
    return ((f"{rule}=", title) for rule, title in line.table["rules"].items())


def _cluster(last: str, line: CommandLine) -> Offers:
    return ((LIVE_CLUSTER, "the cluster that kubectl uses"),)


def _namespaces(last: str, line: CommandLine) -> Offers:
    return _bare(name for name, *_ in line.listed("namespaces"))


def _namespaced(last: str, line: CommandLine) -> Offers:
    return () if "/" in last else _bare(f"{name}/" for name, _ in _namespaces(last, line))


def _contexts(last: str, line: CommandLine) -> Offers:
    return _bare(line.kubectl("config", "get-contexts", "--output=name"))


def _selector(last: str, line: CommandLine) -> Offers:
    earlier, comma, label = last.rpartition(",")
    return _bare(f"{earlier}{comma}{more}" for more in _labels(label, line.in_namespace(LABELLED_RESOURCES)))


def _label(last: str, line: CommandLine) -> Offers:
    return _bare(["namespace", *(key.rstrip("=") for key in _labels("", line.in_namespace(LABELLED_RESOURCES)))])


def _labels(label: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the keys, and once one is there its values, of the labels in the last column."""
    pairs = {tuple(pair.split("=", 1)) for columns in rows for pair in columns[-1].split(",") if "=" in pair}
    key, equals, _ = label.partition("=")
    values = (f"{key}={value}" for other, value in pairs if other == key.rstrip("!"))
    return sorted(values if equals else {f"{other}=" for other, _ in pairs})


def _objects(last: str, line: CommandLine) -> Offers:
    """Return types, and the names of the one that is named, as TYPE/NAME or as TYPE NAME."""
    type_name, slash, _ = last.partition("/")
    if not slash and len(line.words) == 1 and "/" not in line.words[0]:
        return _bare(_names(line.words[0], line))
    if line.words:
        return ()
    if slash:
        return _bare(f"{type_name}/{name}" for name in _names(type_name, line))
    resources = {"", *line.kubectl("api-resources", "--cached", "--output=name")}
    return _bare(f"{name}/" for name, resource in line.table["types"].items() if resource in resources)


def _names(type_name: str, line: CommandLine) -> list[str]:
    return [name for name, *_ in line.in_namespace(type_name)] if TYPE_FORM.fullmatch(type_name) else []


def _steps(last: str, line: CommandLine) -> Offers:
    """Return first a workload, then steps, and the nodes of a step, by their names and labels."""
    steps = line.table["steps"]
    name, equals, which = last.partition("=")
    if equals and "NODE" in steps.get(f"{name}=", ""):
        rows = line.listed("nodes")
        return _bare(f"{name}={node}" for node in (*(row[0] for row in rows), *_labels(which, rows)))
    if equals:
        return ()
    if not line.words:
        return [*_objects(last, line), *steps.items()]
    is_type = len(line.words) == 1 and line.words[0] not in steps and TYPE_FORM.fullmatch(line.words[0])
    return _objects(last, line) if is_type else steps.items()


KINDS_OF_WORDS: Mapping[str, tuple[Callable[[str, CommandLine], Offers], int]] = {
    "command": (_commands, NO_FILES),
    "command with help": (_commands_with_help, NO_FILES),
    "rule": (_rules, NO_FILES),
    "severity of a rule": (_severities, NO_FILES),
    "namespace": (_namespaces, NO_FILES),
    "NAMESPACE/NAME": (_namespaced, NO_FILES),
    "context": (_contexts, NO_FILES),
    "selector": (_selector, NO_FILES),
    "label": (_label, NO_FILES),
    "object": (_objects, NO_FILES),
    "object or step": (_steps, NO_FILES),
    "cluster": (_cluster, 0),
    "file": (_nothing, 0),
    "folder": (_nothing, ONLY_FOLDERS),
}
