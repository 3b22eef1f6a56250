"""The options by which commands that read a cluster choose objects in it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evenkeel.clusters.dump_files import DumpError, namespace_of
from evenkeel.clusters.sources import WHOLE_CLUSTER, Source
from evenkeel.objects.typed_names import TypedName, TypedNameError, parse_typed_name
from evenkeel.scheduler.selector_text import parse_selector
from evenkeel.terminal import inputs
from webhook.cli.usage import UsageError
from webhook.cluster.client import ClusterError, default_namespace
from webhook.findings.wording import first_of
from webhook.kubernetes.kinds import KINDS, Kinds
from webhook.kubernetes.labels import Labels, is_subdomain, label_key_errors
from webhook.kubernetes.likeness import most_like
from webhook.kubernetes.reader import brief
from webhook.spread.selectors import Selector

BY_NAMESPACE = "namespace"
DEFAULT = "default"
OF_SOURCE = "that of the context; all of a file"
MOST_COMPARED = 5_000  # Names that a mistyped one is compared with: it takes 0.1 s.


class Selection(NamedTuple):
    """The objects of a namespace with labels that a selector matches."""

    namespace: str  # "" for all namespaces
    selector: Selector

    def has(self, namespace: str, labels: Labels) -> bool:
        """Return whether it has an object of this namespace with these labels."""
        return self.namespace in ("", namespace) and self.selector.matches(labels)

    @property
    def in_words(self) -> str:
        """Return ` in namespace shop with the labels app=web`, or as much of it as is chosen."""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return where if self.selector.empty else f"{where} with the labels {self.selector}"


class Candidates(NamedTuple):
    """Objects that could have been chosen."""

    namespace: str
    labels: Labels
    number: int = 1


def add_object_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "object", metavar="TYPE/NAME", nargs="*", help="a Pod or workload, as in kubectl; TYPE NAME works, too"
    )


def add_namespace_argument(parser: argparse.ArgumentParser) -> None:
    """Add -n, for the namespace of one object."""
    parser.add_argument("-n", "--namespace", metavar="NAME", help=f"the namespace (default: {OF_SOURCE})")
    parser.set_defaults(all_namespaces=False)


def add_namespace_arguments(parser: argparse.ArgumentParser, default: str = OF_SOURCE) -> None:
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


def selection(args: argparse.Namespace, source: Source) -> Selection:
    """Return what -n, -A and -l choose; without -n the namespace of the context, or all of a file."""
    return Selection(namespace(args, source), _selector(args))


def label_of_sums(args: argparse.Namespace) -> str:
    """Return the label that --by names; "" for namespaces, and without --by."""
    if args.by in (None, BY_NAMESPACE):
        return ""
    if label_key_errors(args.by):
        raise UsageError(f"--by: found {brief(args.by)}, wanted {BY_NAMESPACE}, or the key of a label such as team")
    return str(args.by)


def namespace(args: argparse.Namespace, source: Source) -> str:
    """Return what -n and -A choose, "" for all namespaces; without them that of the context, or all of a file."""
    if args.all_namespaces:
        return ""
    if args.namespace is not None:
        return inputs.namespace(args.namespace, "; -A means all of them")
    return _of_context(source) if source.live else ""


def namespace_to_apply_in(args: argparse.Namespace, source: Source) -> str:
    """Return the namespace of objects of files that name none: as `namespace`, else that of a dump of one."""
    return namespace(args, source) or _of_dump(source) or DEFAULT


def unknown_namespace(namespace: str, names: Iterable[str], source: Source) -> str:
    """Return that a namespace is none of these, and which one may be meant; "" if it is one, or none is known."""
    known_names = sorted(filter(is_subdomain, names))
    if not namespace or not known_names or namespace in known_names:
        return ""
    close = most_like(namespace, known_names[:MOST_COMPARED])
    hint = f"did you mean {close}?" if close else f"the namespaces there are {first_of(known_names)}"
    return f"namespace {namespace}: not in {source.in_words}; {hint}"


def none_found(what: str, chosen: Selection, candidates: Iterable[Candidates], source: Source) -> str:
    """Return that nothing is chosen, which `candidates` would be with another -n or -l, and how to choose them."""
    alike, others = Counter[str](), Counter[str]()
    for namespace, labels, number in candidates:
        (alike if chosen.selector.matches(labels) else others)[namespace] += number
    fault = f"found no {what}{chosen.in_words}"
    if alike:
        return f"{fault}; {_in_namespaces(alike)}: {another_namespace(alike)}"
    if others:
        here = others[chosen.namespace] if chosen.namespace else others.total()
        there = f"{here:,} there have other labels" if here else _in_namespaces(others)
        return f"{fault}; {there}: change -l, or leave it out"
    elsewhere = " in any other namespace" if chosen.namespace else ""
    return f"{fault}; {source.in_words} shows none{elsewhere}{'' if source.live else f'; {WHOLE_CLUSTER}'}"


def another_namespace(numbers: Mapping[str, int]) -> str:
    """Return how to choose a namespace of these, which have something."""
    (most,) = Counter(numbers).most_common(1)
    return f"add -n {most[0]}, or -A" if len(numbers) == 1 else "name one of these with -n, or add -A"


def _in_namespaces(numbers: Counter[str]) -> str:
    """Return how many there are in each namespace, the most first."""
    return first_of(f"{number:,} in {name or DEFAULT}" for name, number in sorted(numbers.items(), key=most_first))


def most_first(number: tuple[str, int]) -> tuple[int, str]:
    """Return the sort key of numbers by name."""
    return -number[1], number[0]


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
