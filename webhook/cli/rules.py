"""
Print the catalogue of rules, or one rule's page.

The catalogue has a line for each rule: its ID, its default severity, whether CEL can express it, so that a
ValidatingAdmissionPolicy can make its checks without evenkeel, and what it finds.
The page describes what the rule finds, why that matters, and the fix, with a bad and a good example.
Exit code 0: printed, 2: no rule has that ID.
"""

from __future__ import annotations

import argparse

from webhook.loading.usage import UsageError
from webhook.render import catalogue
from webhook.rules import RULES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="ID", nargs="?", help="the rule whose page to print (default: the catalogue)")


def run(args: argparse.Namespace) -> int:
    if args.rule is None:
        print(catalogue.table())
        return 0
    if args.rule not in RULES:
        raise UsageError(f'found "{args.rule}", wanted a rule; {catalogue.suggestion(args.rule)}')
    print("\n".join(catalogue.section(RULES[args.rule])).rstrip())
    return 0
