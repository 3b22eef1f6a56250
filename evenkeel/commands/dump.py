"""
Write a cluster to a file that other commands read with --cluster, and that you can attach to a ticket:

    evenkeel dump -o cluster.jsonl.gz
    evenkeel dump -n shop | ssh HOST 'cat > cluster.jsonl.gz'

The file holds only the fields that evenkeel reads. It has no environment variables, arguments or annotations.
Of containers it has the images, requests and ports.
With -n, the file still has all nodes and all namespaces. --cluster FILE reduces a file that kubectl wrote.
A kind that you may not list is left out, and named on stderr. The policy says which custom resources are read.
Exit code 0: written, 2: bad input, or nothing can be read.
"""

from __future__ import annotations

import argparse
import sys

from evenkeel.clusters import reading, selection, sources
from evenkeel.clusters.contents import Contents
from evenkeel.clusters.dump_format import CompressedLines, reduced, write
from evenkeel.terminal import output
from webhook.cli import options
from webhook.cli.usage import UsageError
from webhook.findings.wording import LINE_LIMIT, one_line

STDOUT = "-"
# What -o is elsewhere, and in kubectl.
NOT_FILES = (output.TEXT, output.JSON, output.HTML, "yaml", "name", "wide")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    sources.add_cluster_arguments(parser, options.LIVE)
    selection.add_namespace_arguments(parser, "all namespaces")
    parser.add_argument(
        "-o", "--output", metavar="FILE", default=STDOUT, help="the file to write (default: standard output)"
    )
    options.add_policy_argument(parser, "a policy file that names custom workloads (default: the built-in policy)")


def run(args: argparse.Namespace) -> int:
    if args.output == STDOUT and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError("standard output is a terminal, wanted a file or a pipe; write -o cluster.jsonl.gz")
    if args.output in NOT_FILES:
        raise UsageError(
            f'-o: found "{args.output}", wanted the file to write, such as cluster.jsonl.gz; '
            f"for a file of this name write ./{args.output}"
        )
    source = sources.source(args)
    namespace = selection.namespace(args, source) if args.namespace is not None else ""
    kinds = options.policy(args.policy).kinds
    contents = reading.contents(source, namespace, kinds)
    objects = contents.objects if source.live else reduced(contents.objects, kinds)
    lines, empty = CompressedLines(), True
    try:
        for obj in reading.counted(objects):
            lines.add(obj)
            empty = False
    except ValueError as error:
        raise UsageError(f"--cluster: {error}") from error
    _report(contents, empty=empty)
    _write(args.output, contents, lines)
    return 0


def _report(contents: Contents, *, empty: bool) -> None:
    """Print what could not be read; UsageError if nothing could."""
    lines = [one_line(f"{resource}: not in the dump: {why}", LINE_LIMIT) for resource, why in contents.missing.items()]
    if empty and "pods" in contents.missing:
        raise UsageError("\n".join((*lines, reading.NOTHING_LISTED)))
    for line in lines:
        print(f"evenkeel: {line}", file=sys.stderr)


def _write(output: str, contents: Contents, lines: CompressedLines) -> None:
    if output == STDOUT:
        if sys.stdout is not None:
            write(sys.stdout.buffer, contents, lines)
        return
    try:
        with open(output, "wb") as file:
            write(file, contents, lines)
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}") from error
