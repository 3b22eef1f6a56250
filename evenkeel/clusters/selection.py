"""The options by which commands that read a cluster choose objects in it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evenkeel.clusters.dump_files import DumpError, namespace_of
from evenkeel.clusters.sources import Source
from evenkeel.objects.typed_names import TypedName, TypedNameError, parse_typed_name
from evenkeel.scheduler.selector_text import parse_selector
from evenkeel.terminal import inputs
from webhook.cli.usage import UsageError
from webhook.cluster.client import ClusterError, default_namespace
from webhook.kubernetes.kinds import KINDS, Kinds
from webhook.kubernetes.labels import Labels, label_key_errors
from webhook.kubernetes.reader import brief
from webhook.spread.selectors import Selector

OF_CONTEXT = "that of the context or the dump, else default"
BY_NAMESPACE = "namespace"


class Selection(NamedTuple):
    """The objects of a namespace with labels that a selector matches."""

    namespace: str  # "" for all namespaces
    selector: Selector

    def has(self, namespace: str, labels: Labels) -> bool:
        """Return whether it has an object of this namespace with these labels."""
        return self.namespace in ("", namespace) and self.selector.matches(labels)


def add_object_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "object", metavar="TYPE/NAME", nargs="*", help="a Pod or workload, as in kubectl; TYPE NAME works, too"
    )


def add_namespace_argument(parser: argparse.ArgumentParser) -> None:
    """Add -n, for the namespace of one object."""
    parser.add_argument("-n", "--namespace", metavar="NAME", help=f"the namespace (default: {OF_CONTEXT})")
    parser.set_defaults(all_namespaces=False)


def add_namespace_arguments(parser: argparse.ArgumentParser, default: str = OF_CONTEXT) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("-n", "--namespace", metavar="NAME", help=f"the namespace (default: {default})")
    where.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")


def add_selector_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-l",
        "--selector",
        metavar="LABELS",
        default="",
        help="only objects with these labels, such as app=web,tier!=db",
    )


def typed_name(words: Sequence[str], kinds: Kinds = KINDS) -> TypedName:
    """UsageError if the arguments name no object."""
    try:
        return parse_typed_name(words, kinds)
    except TypedNameError as error:
        raise UsageError(str(error)) from error


def selection(args: argparse.Namespace, source: Source, default: str = "default") -> Selection:
    """Return what -n, -A and -l choose; without -n the namespace of the context, or of a dump of one, or `default`."""
    return Selection(namespace(args, source, default), _selector(args))


def label_of_sums(args: argparse.Namespace) -> str:
    """Return the label that --by names; "" for namespaces, and without --by."""
    if args.by in (None, BY_NAMESPACE):
        return ""
    if label_key_errors(args.by):
        raise UsageError(f"--by: found {brief(args.by)}, wanted {BY_NAMESPACE}, or the key of a label such as team")
    return str(args.by)


def namespace(args: argparse.Namespace, source: Source, default: str = "default") -> str:
    """Return what -n and -A choose, "" for all namespaces.  With a `default` of "", these are all without -n, too."""
    if args.all_namespaces:
        return ""
    if args.namespace is not None:
        return inputs.namespace(args.namespace, "; -A means all of them")
    if not default:
        return ""
    return _of_context(source) if source.live else _of_dump(source) or default


def _of_dump(source: Source) -> str:
    try:
        return namespace_of(Path(source.cluster)) if source.cluster else ""
    except DumpError:
        return ""  # The command reads the dump later, and says then what is wrong.


def _of_context(source: Source) -> str:
    try:
        return default_namespace(source.kubeconfig, source.context)
    except ClusterError as error:
        raise UsageError(f"--cluster live: {error}") from error


def _selector(args: argparse.Namespace) -> Selector:
    try:
        return parse_selector(args.selector)
    except ValueError as error:
        raise UsageError(f"--selector: {error}") from error
