"""The command line: `evenkeel`, and `kubectl evenkeel`."""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from types import ModuleType
from typing import NoReturn

from webhook import __version__
from webhook.cli.usage import LONGEST_LINE, TOO_DEEP, UsageError, not_among, print_error

HELP_COMMAND, COMPLETION = "help", "completion"
# As in the README, the daily ones first.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "If you write manifests": {
        "lint": "judge manifests before they reach a cluster",
        "admit": "print what the webhook answers when you apply an object",
        "rules": "print the catalogue of rules, or one rule's page",
        "kinds": "list the custom resources of operators that lint judges",
    },
    "If you are on call": {
        "explain": "explain where a Pod can run, why it waits, and what would help",
        "pending": "list the Pods that wait, by cause, with the change that helps most",
        "simulate": "simulate scaling, a rollout, a drain or the loss of a zone",
        "dump": "write a cluster to a file that other commands can read",
    },
    "If you run clusters": {
        "report": "report how Pods are spread, and what a policy would deny",
        "policy": "check, show, test or export a policy, or print its schema",
        "manifests": "print the webhook configurations, policies and RBAC to apply",
        "certs": "issue the webhook's serving certificate",
        "serve": "serve the webhook over TLS",
    },
    "To look up": {
        "version": "print the versions of evenkeel, of Kubernetes and of the cluster",
        COMPLETION: "print a script that completes commands and options in your shell",
    },
}
COMMANDS = {command: help_line for group in GROUPS.values() for command, help_line in group.items()}
IN_CLUSTER = ("certs", "manifests", "serve")  # The image of the webhook has only these.
TOOLS = "evenkeel"  # The package with all other commands.
WITHOUT_TOOLS = (
    f"has only {', '.join(IN_CLUSTER)}; evenkeel:{__version__}-tools has all commands, and so has what pip installs"
)
ASKS_HELP = "--help"
OVERVIEW = """\
usage: {name} COMMAND ...

Judge, explain and simulate how Pods spread over zones and nodes.

{groups}

Examples:
  {name} lint deploy/                      judge the manifests in a folder
  {name} explain deployment/web -n shop    explain where its next Pod can run

{name} help COMMAND describes a command; {name} -V prints the version.
"""


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong with its arguments, and what may have been meant."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse the arguments; a command that takes many `words` also gets those after an option."""
        for option in filter(self._is_unknown, self._own_options(args)):
            from webhook.kubernetes.likeness import meant  # which only an error needs

            place = "" if self._subparsers is None else "; write options after the command"
            self.error(f'unknown option "{option}"{meant(option, self._option_string_actions) or place}')
        parsed, extra = super().parse_known_args(args, namespace)
        extra = [word for word in extra if word != "--"]
        if extra and not hasattr(parsed, "words"):
            self.error(f'unexpected argument "{extra[0]}"')
        if extra:
            parsed.words += extra
        return parsed, []

    def error(self, message: str) -> NoReturn:
        """Print one line, and exit with 2."""
        from webhook.findings.wording import one_line  # which only an error needs
        from webhook.kubernetes.likeness import MEANT

        problem = self._with_choices(message).removeprefix("argument ")
        advice = "" if MEANT in problem else f"; see {self.prog} {ASKS_HELP}"
        print_error(UsageError(one_line(f"{problem}{advice}", LONGEST_LINE)), self.prog)
        self.exit(2)

    def _with_choices(self, message: str) -> str:
        """The message of argparse; if a word with choices is missing, such as an action, it names the choices."""
        for action in self._actions:
            if action.choices and message == f"the following arguments are required: {action.metavar}":
                return f"{action.metavar}: found none, wanted {', '.join(map(str, action.choices))}"
        return message

    def _own_options(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the words that may be options of this parser: not those of a subparser or after --."""
        for word in words:
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                return
            yield word.partition("=")[0]

    def _is_unknown(self, word: str) -> bool:
        """Whether a word looks like an option, but is none, not even a shortened one."""
        if not re.fullmatch(r"-[^\s\d.]\S*", word):
            return False
        long = word.startswith("--")
        return not any(
            option.startswith(word) if long else option == word[:2] for option in self._option_string_actions
        )

    def _get_value(self, action: argparse.Action, text: str) -> object:
        try:
            return super()._get_value(action, text)
        except argparse.ArgumentError:
            if action.type is not int:
                raise
        raise argparse.ArgumentError(action, f'found "{text}", wanted a whole number')

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is None or value in action.choices:
            return
        if isinstance(action, argparse._SubParsersAction):
            from webhook.kubernetes.likeness import meant

            self.error(f'unknown command "{value}"{meant(str(value), action.choices)}')
        raise argparse.ArgumentError(action, not_among(str(value), action.choices))


class TopParser(Parser):
    """The parser of all commands, whose help lists them in groups."""

    def format_help(self) -> str:
        """What evenkeel is for, and its commands."""
        groups = (
            "\n".join((f"{title}:", *(f"  {command:<12}{help_line}" for command, help_line in group.items())))
            for title, group in GROUPS.items()
        )
        overview = OVERVIEW.format(name=self.prog, groups="\n\n".join(groups))
        return overview if has_tools() else f"{overview}\nThis image {WITHOUT_TOOLS}.\n"


def parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """
    The parser of all commands; each is a module with `add_arguments` and `run`, here or in `evenkeel/commands`.

    If `argv` names a command, the parser has only that one, and only its module is imported: `admit` loads no web
    server.  For `completion` it has all of them.
    """
    name = "kubectl evenkeel" if os.path.basename(sys.argv[0]).startswith("kubectl") else "evenkeel"
    top = TopParser(prog=name)
    top.add_argument("-V", "--version", action="version", version=f"evenkeel {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    named = argv[0] if argv and argv[0] in COMMANDS else ""
    if named and named not in IN_CLUSTER and not has_tools():
        raise UsageError(f"{named}: this image {WITHOUT_TOOLS}")
    for command in [named] if named not in ("", COMPLETION) else COMMANDS:
        help_line, raw = COMMANDS[command], argparse.RawDescriptionHelpFormatter
        subparser = commands.add_parser(command, help=help_line, formatter_class=raw)
        if named:
            module = _imported(command)
            subparser.description = module.__doc__
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run, top=top)
    return top


def has_tools() -> bool:
    """Whether the tools are installed, which the image of the webhook leaves out."""
    return find_spec(TOOLS) is not None


def _imported(command: str) -> ModuleType:
    """Import a command's module, without collecting garbage meanwhile or in it later: what an import makes stays."""
    gc.disable()
    try:
        return import_module(f"webhook.cli.{command}" if command in IN_CLUSTER else f"{TOOLS}.commands.{command}")
    finally:
        gc.freeze()
        gc.enable()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A name that the terminal's encoding lacks must not stop the output.
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv) or [ASKS_HELP]
    while words[0] == HELP_COMMAND:
        words = [*words[1:], ASKS_HELP]
    try:
        args = parser(words).parse_args(words)  # imports the command, which takes a while
        code: int = args.run(args)
        if sys.stdout is None:
            raise UsageError("standard output is closed")
        sys.stdout.flush()
        return code
    except UsageError as error:
        print_error(error)
        return 2
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 0
    except RecursionError:
        print_error(TOO_DEEP)
        return 2
    except OSError as error:  # such as a full disk; the buffer must not be flushed again at exit
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        print(f"evenkeel: standard output: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
