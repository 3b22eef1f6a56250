"""The command line: `evenkeel`, and `kubectl evenkeel`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

from webhook import __version__
from webhook.loading.usage import TOO_DEEP, UsageError, print_error

COMMANDS = {
    "admit": "print how the webhook answers when an object is applied",
    "certs": "issue the webhook's serving certificate, or show certificates",
    "dump": "write what evenkeel reads of a cluster to a file that --cluster reads",
    "explain": "explain where a Pod may run, why it waits, and what would let it in",
    "kinds": "list the kinds of operators that lint and admit judge, and where they keep constraints",
    "lint": "judge manifests before they reach a cluster",
    "manifests": "print the webhook configurations and RBAC",
    "pending": "list every Pod that could not be placed, by workload and cause, with what would free most",
    "policy": "check a policy file, show the settings for one Pod, test it, or print the schema",
    "report": "report what a policy would do to each workload, and how its Pods are spread",
    "rules": "print the catalogue of rules, or one rule's page",
    "serve": "serve the webhook over TLS",
    "simulate": "simulate a scale, a rollout, a drain or a lost zone: how the Pods would lie, and how many would wait",
    "verify": "watch what kube-scheduler decides, and say how often that is what is computed here",
}


class Parser(argparse.ArgumentParser):
    """A parser that reports with its own usage what it does not know, in place of the parser above it."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Return the arguments; of a command that takes many `words`, also those that come after an option."""
        parsed, more = super().parse_known_args(args, namespace)
        unknown = [word for word in more if word.startswith("-") or not hasattr(parsed, "words")]
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        if more:
            parsed.words += more
        return parsed, []


def parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """
    Return the parser of all commands; each command is a module in this folder with `add_arguments` and `run`.

    If `argv` names one of them, only that one is there, and only its module is imported: `admit` loads no web server.
    """
    name = "kubectl evenkeel" if os.path.basename(sys.argv[0]).startswith("kubectl") else "evenkeel"
    top = Parser(prog=name, description="Pods that spread across zones and nodes as their owners meant.")
    top.add_argument("-V", "--version", action="version", version=f"evenkeel {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    named = argv[0] if argv and argv[0] in COMMANDS else ""
    for command in [named] if named else COMMANDS:
        help_line, raw = COMMANDS[command], argparse.RawDescriptionHelpFormatter
        subparser = commands.add_parser(command, help=help_line, formatter_class=raw)
        if named:
            module = import_module(f"webhook.cli.{command}")
            subparser.description = module.__doc__
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
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
