"""webhook/loading/completing.json: what a shell may offer for each word, from the parsers, the rules and the kinds."""

from __future__ import annotations

import argparse
import json
import re

from tests.support.commands import commands
from webhook.cli.main import COMMANDS, HELP_COMMAND, HELP_OF_HELP, parser
from webhook.findings.finding import Severity
from webhook.objects.kinds import KINDS
from webhook.objects.names import HOSTNAME, ZONE
from webhook.rules import RULES
from webhook.scheduler.features import NEWEST, OLDEST
from webhook.serving.settings import LOG_LEVELS
from webhook.simulation.step import STEP_FORMS

# What a word is, by what the help calls it.
KINDS_OF_METAVARS = {
    **{"FILE": "file", "PATH": "file", "DIR": "folder", "live|FILE|DIR": "cluster"},
    **{"TYPE/NAME": "object", "TYPE/NAME STEP": "object or step", "NS/NAME": "NAMESPACE/NAME"},
    **{"LABELS": "selector", "namespace|LABEL": "label", "ID": "rule", "ID=SEVERITY": "severity of a rule"},
    "VERSION": [f"1.{minor}" for minor in range(NEWEST, OLDEST - 1, -1)],
    "LEVEL": [*LOG_LEVELS],
    **{metavar: [ZONE, HOSTNAME] for metavar in ("KEY", "KEY,…|none")},
    **dict.fromkeys(("N", "PERCENT|NUMBER", "HOST:PORT", "SECONDS", "URL", "NAME,…", "DURATION", "TIME", "REF"), ""),
    **dict.fromkeys(("DAY", "TEXT"), ""),
    **dict.fromkeys(("PATTERN", "KEY=VALUE,…", "[NAMESPACE:]KEY=VALUE,…"), ""),
}
# Of a NAME it is the option that tells.
NAMES = {"--namespace": "namespace", "--exclude-namespace": "namespace", "--context": "context"}
SHORT = re.compile(r"; .*| \(default: .*|, such as .*", re.DOTALL)


def table() -> str:
    """The table, with a line for each option, so that changes of it can be reviewed."""
    parsers = {"": parser([]), **dict(commands())}
    help_lines = {"": "", **COMMANDS}
    for name, found in parsers.items():
        for actions in (action for action in found._actions if isinstance(action, argparse._SubParsersAction)):
            help_lines |= {f"{name} {one.dest}": one.help for one in actions._choices_actions if name}
    types: dict[str, str] = {}
    for kind in KINDS:
        types.setdefault(kind.kind.lower(), "" if kind.built_in else f"{kind.resource}.{kind.api_group}")
    content = {
        "commands": {
            **{name: {"help": help_lines[name], **of_command(found)} for name, found in parsers.items()},
            HELP_COMMAND: {"help": HELP_OF_HELP, "words": "command with help", "options": {}},
        },
        "rules": {rule.id: rule.title for rule in RULES.values()},
        "severities": [*Severity],
        "types": types,
        "steps": {re.sub("=.*", "=", form): form for form in STEP_FORMS.values()},
    }
    return f"{in_lines(content)}\n"


def in_lines(value: object, indent: str = "") -> str:
    """JSON with a line for each field of an object, and none for an item of a list."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    inner = f"{indent} "
    fields = ",\n".join(f"{inner}{json.dumps(name)}: {in_lines(field, inner)}" for name, field in value.items())
    return f"{{\n{fields}\n{indent}}}" if fields else "{}"


def of_command(found: argparse.ArgumentParser) -> dict[str, object]:
    """What the words of a command are, and its options: the value and the help of each, or its long name."""
    words: object = ""
    options: dict[str, object] = {}
    for action in found._actions:
        if not action.option_strings:
            words = kind_of(action)
        names = sorted(action.option_strings, key=lambda name: not name.startswith("--"))
        entries = [[kind_of(action), SHORT.sub("", action.help or "")], *names[:1] * len(names)]
        options |= dict(zip(names, entries, strict=False))
    return {"words": words, "options": options}


def kind_of(action: argparse.Action) -> object:
    """What the value of an option is, or a word: one of some, of a kind of completing.py, or "" for anything."""
    if action.nargs == 0:
        return None
    if isinstance(action, argparse._SubParsersAction):
        return "command"
    if action.choices:
        return [*map(str, action.choices)]
    if action.metavar == "NAME":
        return next((NAMES[name] for name in action.option_strings if name in NAMES), "")
    return KINDS_OF_METAVARS[action.metavar]
