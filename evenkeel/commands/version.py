"""
Print the versions of evenkeel, of the Kubernetes that it knows, and of the cluster that kubectl uses.

Exit code 0: printed, also where no cluster is reached, 2: bad input.
"""

from __future__ import annotations

import argparse

from evenkeel.clusters import reading, sources
from evenkeel.terminal import output
from evenkeel.terminal.json_forms import dumped, form
from webhook import __version__
from webhook.cli import options
from webhook.cli.usage import UsageError
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.kubernetes.features import NEWEST, OLDEST


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", action="store_true", help="do not ask the cluster")
    sources.add_access_arguments(parser)
    output.add_output_argument(parser)


def run(args: argparse.Namespace) -> int:
    cluster, error = (None, None) if args.client else _of_cluster(args)
    oldest, newest = f"1.{OLDEST}", f"1.{NEWEST}"
    if args.output == output.JSON:
        versions = {"oldest": oldest, "newest": newest}
        members = {"evenkeel": __version__, "kubernetes": versions, "cluster": cluster, "notReached": error}
        print(dumped(form("Version", members)))
        return 0
    print(f"evenkeel: {__version__}\nKubernetes: {oldest} to {newest}")
    if not args.client:
        print(one_line(f"cluster: {cluster or f'not reached: {error}'}", LINE_LIMIT))
    return 0


def _of_cluster(args: argparse.Namespace) -> tuple[str | None, str | None]:
    """Return the version of the cluster, or why it is not known."""
    source = sources.Source(options.LIVE, args.kubeconfig, args.context)
    try:
        with reading.usage_errors():
            return reading.client(source=source).version(), None
    except UsageError as error:
        return None, str(error).removeprefix(f"{options.LIVE_OPTION}: ")
