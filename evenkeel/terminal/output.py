"""The form of what a command prints, and the notes on it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from webhook.cli.options import LIVE_OPTION
from webhook.cli.usage import print_notes
from webhook.findings.finding import Skipped
from webhook.findings.rule import Need
from webhook.findings.wording import number_of

TEXT, JSON, HTML = "text", "json", "html"
_IN_A_CLUSTER = (Need.NODES, Need.PODS, Need.OTHERS)


def add_output_argument(parser: argparse.ArgumentParser, *more: str) -> None:
    parser.add_argument(
        "-o",
        "--output",
        choices=(TEXT, JSON, *more),
        default=TEXT,
        help="the output format (default: %(default)s)",
    )


def noted(args: argparse.Namespace, notes: Iterable[str]) -> tuple[str, ...]:
    """Return the notes on a run that the form of the output holds; none of text, which has them on stderr."""
    if args.output != TEXT:
        return tuple(notes)
    print_notes(notes, args.quiet)
    return ()


def not_run(skipped: Iterable[Skipped]) -> Iterator[str]:
    """Yield how many rules need a cluster, and how many did not run for each other reason."""
    rules: dict[str, set[str]] = {}
    for rule, reason in skipped:
        rules.setdefault(reason, set()).add(rule)
    cluster = "a cluster" if Need.NODES.value in rules else "a cluster with Pods"
    if in_cluster := set[str]().union(*(rules.pop(need.value, ()) for need in _IN_A_CLUSTER)):
        verb = "needs" if len(in_cluster) == 1 else "need"
        yield f"{number_of(len(in_cluster), 'rule')} {verb} {cluster}: {LIVE_OPTION}"
    yield from (f"{number_of(len(ids), 'rule')} skipped: {reason}" for reason, ids in rules.items())
