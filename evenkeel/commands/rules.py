"""
Print the catalogue of rules, or one rule's page.

The catalogue has a line for each rule: its ID, its default severity, whether CEL can express it, and what it finds.
If CEL can express a rule, a ValidatingAdmissionPolicy can check it, and evenkeel need not run.
The page of a rule says what it finds, why that matters and how to fix it, with a bad and a good example.
Exit code 0: printed, 2: no rule has that ID.
"""

from __future__ import annotations

import argparse

from evenkeel.catalogue import markdown as catalogue
from evenkeel.catalogue import rules_json
from evenkeel.terminal import output
from webhook.cli.usage import UsageError
from webhook.kubernetes.reader import brief
from webhook.rules import RULES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="ID", nargs="?", help="the rule whose page to print (default: the catalogue)")
    output.add_output_argument(parser)


def run(args: argparse.Namespace) -> int:
    if args.rule is not None and args.rule not in RULES:
        raise UsageError(f"found {brief(args.rule)}, wanted a rule; {catalogue.suggestion(args.rule)}")
    if args.output == output.JSON:
        print(rules_json.as_json(RULES.values() if args.rule is None else [RULES[args.rule]]))
    else:
        print(catalogue.table() if args.rule is None else "\n".join(catalogue.section(RULES[args.rule])).rstrip())
    return 0
