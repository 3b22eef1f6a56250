"""Reads the inputs of commands: policies, clusters, manifests and versions.  UsageErrors name the file or option."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from webhook.documents.reading import decoded, read_objects
from webhook.documents.scalars import DocumentError
from webhook.loading.usage import UsageError, print_notes
from webhook.objects.fields import Raw, texts_at
from webhook.objects.kinds import NO_KINDS, Kinds
from webhook.objects.labels import DNS_LABEL, Labels
from webhook.policy.parsing import built_in, parse_policy
from webhook.policy.policy import Policy, PolicyError
from webhook.scheduler.cluster_view import ClusterView, view_of
from webhook.scheduler.features import LATEST, NEWEST, Features, parse_version, unknown

if TYPE_CHECKING:
    from webhook.cluster.client import Client, ClusterError
    from webhook.cluster.cluster import Contents

ViewT = TypeVar("ViewT", bound=ClusterView)
PATIENCE = 30.0  # Seconds for one page of a list, where the API server has too much to do.
NOT_JUDGED = "not-judged"  # What --fail-on of pending and simulate may name.
LIVE = "live"  # Give a dump in a file of this name as ./live.
LIVE_OPTION = f"--cluster {LIVE}"


class Source(NamedTuple):
    """Where a cluster is read: `cluster` is LIVE, a file or a folder, or empty; the rest is only for LIVE."""

    cluster: str = ""
    kubeconfig: str = ""
    context: str = ""

    @property
    def live(self) -> bool:
        return self.cluster == LIVE


NO_CLUSTER = Source()
ASK = "name with -n a namespace that you may read, or ask for the ClusterRole evenkeel-viewer"
NOTHING_LISTED = f"you are not allowed to list anything in the cluster; {ASK}"
VERSION_OPTION, NAMESPACE_LABELS = "--kubernetes-version", "--namespace-labels"
LOGIN_ADVICE: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "; log in again, and check with kubectl auth whoami",
    HTTPStatus.FORBIDDEN: "; ask for the ClusterRole evenkeel-viewer",
}


def add_policy_argument(
    parser: argparse.ArgumentParser, purpose: str = "a policy file (default: the built-in policy)"
) -> None:
    parser.add_argument("--policy", metavar="FILE", type=Path, help=purpose)


def add_quiet_argument(
    parser: argparse.ArgumentParser, purpose: str = "print no notes, only the result and errors"
) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help=purpose)


def add_cluster_arguments(parser: argparse.ArgumentParser, default: str = "") -> None:
    parser.add_argument(
        "--cluster",
        metavar="live|FILE|DIR",
        default=default or None,
        help="live: the cluster that kubectl uses; FILE or DIR: a dump of a cluster, from evenkeel dump or kubectl"
        f" get nodes,namespaces,services,replicasets,statefulsets,… -A -o yaml (default: {default or 'none'})",
    )
    add_access_arguments(parser)


def add_access_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --kubeconfig and --context."""
    parser.add_argument(
        "--kubeconfig", metavar="FILE", default="", help="the kubeconfig for --cluster live (default: kubectl's)"
    )
    parser.add_argument(
        "--context", metavar="NAME", default="", help="the context for --cluster live (default: the current one)"
    )


def source(args: argparse.Namespace) -> Source:
    """Return the source of the cluster that the arguments name."""
    if args.cluster == "":
        raise UsageError('--cluster: found "", wanted live, a file or a folder')
    chosen = Source(args.cluster or "", args.kubeconfig, args.context)
    for option, value in (("--kubeconfig", chosen.kubeconfig), ("--context", chosen.context)):
        if value and not chosen.live:
            given = f"--cluster {chosen.cluster}; write" if chosen.cluster else "no --cluster; add"
            raise UsageError(f"{option}: found {given} --cluster live, or leave {option} out")
    return chosen


def add_scheduler_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scheduler-config",
        metavar="FILE",
        type=Path,
        help="the KubeSchedulerConfiguration of the cluster's kube-scheduler (default: its default profile)",
    )


def add_version_argument(parser: argparse.ArgumentParser, of_cluster: bool = True) -> None:
    """Add --kubernetes-version; with `of_cluster` the command has --cluster, which may tell the version."""
    known = "that of the live cluster or the evenkeel dump, else " if of_cluster else ""
    usual = f"the version of the cluster (default: {known}1.{NEWEST})"
    parser.add_argument(VERSION_OPTION, metavar="VERSION", help=usual)


def policy(path: Path | None, features: Features = LATEST) -> Policy:
    """Return the policy in a file, or the built-in one, for a version with these features."""
    if path is None:
        return built_in()
    try:
        return parse_policy(text(path), features)
    except PolicyError as error:
        raise UsageError("\n".join(f"{path}: {cause}" for cause in error.causes)) from error


def policy_of_today(path: Path | None, features: Features = LATEST) -> Policy:
    """Return the policy at `path` without the overrides that have ended."""
    return policy(path, features).on(today())


def today() -> str:
    """Return the day, in UTC, such as 2027-01-31."""
    return datetime.now(UTC).date().isoformat()


def add_namespace_labels_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        NAMESPACE_LABELS,
        metavar="[NAMESPACE:]KEY=VALUE,…",
        action="append",
        default=[],
        help="the labels of one namespace, or of all; repeatable (default: those in the input or in --cluster)",
    )


def namespace_labels(args: argparse.Namespace) -> dict[str, Labels]:
    """Return what --namespace-labels says, by the name of the namespace; "" stands for all others."""
    by_namespace: dict[str, Labels] = {}
    for text in args.namespace_labels:
        namespace, colon, pairs = text.rpartition(":")
        if colon and not DNS_LABEL.fullmatch(namespace):
            raise UsageError(f'{NAMESPACE_LABELS}: found "{text}", wanted NAMESPACE:KEY=VALUE,…')
        by_namespace[namespace] = {**by_namespace.get(namespace, {}), **labels(NAMESPACE_LABELS, pairs)}
    return by_namespace


def labels(option: str, text: str) -> dict[str, str]:
    """Return the labels in `text`, the value KEY=VALUE,… of an option."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    if wrong := [key for key, equals, _ in pairs if not (key and equals)]:
        raise UsageError(f'{option}: found "{wrong[0]}", wanted KEY=VALUE')
    return {key.strip(): value.strip() for key, _, value in pairs}


def with_operators(policy: Policy) -> Policy:
    """Return the policy, with the kinds of operators that it does not describe: for what judges files."""
    from webhook.objects import operators  # which a server does not need

    return replace(policy, kinds=operators.with_operators(policy.kinds))


def cluster(source: Source) -> ClusterView | None:
    """Return what the webhook watches of the current cluster for LIVE, of a dump for a path, or None."""
    if source.live:
        from webhook.cluster.live import listed

        with usage_errors():
            return listed(client(source=source))
    return dumped(source, view_of) if source.cluster else None


def dumped(source: Source, read: Callable[[Iterable[Raw]], ViewT]) -> ViewT:
    """Return what `read` returns of the objects of a dump."""
    from webhook.cluster.dump import DumpError, load

    try:
        return load(Path(source.cluster), read)
    except DumpError as error:
        raise UsageError(str(error)) from error


def contents(source: Source, namespace: str = "", kinds: Kinds = NO_KINDS) -> Contents:
    """
    Return the objects of a live cluster or a dump, in one namespace or in all of them.

    Of a live cluster, custom resources of these `kinds` are among them.  UsageError if they cannot be read, also while
    they are gone through.
    """
    from webhook.cluster import dump

    with usage_errors():
        if not source.live:
            read = dump.contents(Path(source.cluster))
            return read._replace(objects=_of(namespace, _checked(read.objects)), namespace=namespace or read.namespace)
        from webhook.cluster.contents import read_contents

        read = read_contents(client(source=source, patience=PATIENCE), namespace, kinds)
        return read._replace(objects=_checked(read.objects))


def _of(namespace: str, objects: Iterator[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    return (obj for obj in objects if not namespace or texts_at(obj, "metadata.namespace")[0] in ("", namespace))


def _checked(objects: Iterator[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    with usage_errors():
        yield from objects


@contextmanager
def usage_errors(option: str = LIVE_OPTION) -> Iterator[None]:
    """Raise errors of a dump, a recording or an API server, for which `option` asks, as UsageError."""
    from webhook.cluster.client import ClusterError
    from webhook.cluster.dump import DumpError

    try:
        yield
    except DumpError as error:
        raise UsageError(str(error)) from error
    except ClusterError as error:
        raise UsageError(f"{option}: {error}{_advice(error)}") from error


def client(option: str = LIVE_OPTION, source: Source = NO_CLUSTER, patience: float = 0.0) -> Client:
    """Return a client of the cluster that kubectl uses; `option` asks for it, it asks again for `patience` seconds."""
    from webhook.cluster.client import Client, ClusterError, access  # Most commands need no cluster.

    try:
        return Client(partial(access, source.kubeconfig, source.context), patience)
    except ClusterError as error:
        raise UsageError(f"{option}: {error}") from error


def notes_on_kinds(source: Source, kinds: Kinds) -> Iterator[str]:
    """Yield which of the kinds a live cluster does not serve; nothing of another source, which does not tell."""
    if not source.live:
        return
    from webhook.cluster.client import ClusterError
    from webhook.cluster.discovery import read_served
    from webhook.policy.unserved import groups_of, unserved

    try:
        yield from unserved(kinds, read_served(client(source=source, patience=PATIENCE), groups_of(kinds)))
    except ClusterError as error:
        yield f"evenkeel cannot find out which kinds the cluster serves: {error}"


def namespace(text: str, advice: str = "") -> str:
    """Return the name of one namespace, the value of -n; UsageError, which ends in the advice, if it is none."""
    if not DNS_LABEL.fullmatch(text):
        raise UsageError(f'--namespace: found "{text}", wanted the name of one namespace{advice}')
    return text


def namespaced(option: str, text: str) -> tuple[str, str]:
    """Return the namespace and name in `text`, the value NS/NAME of an option."""
    namespace, _, name = text.partition("/")
    if not (DNS_LABEL.fullmatch(namespace) and DNS_LABEL.fullmatch(name)):
        raise UsageError(f'{option}: found "{text}", wanted NAMESPACE/NAME')
    return namespace, name


def features(
    version: str | None, source: Source = NO_CLUSTER, option: str = VERSION_OPTION, *, quiet: bool = False
) -> Features:
    """
    Return the features of a Kubernetes version such as 1.34; without one, those of the cluster, or else of the newest.

    `option` is the name of the option that gives the version.  Of a version that is too new, a note says so.
    """
    known = version or (_live_version(source) if source.live else _dumped_version(source))
    if not known:
        return LATEST
    known_features = given_features(known, option)
    print_notes(filter(None, [unknown(known_features)]), quiet)
    return known_features


def given_features(version: str, option: str = VERSION_OPTION) -> Features:
    """Return the features of a Kubernetes version such as 1.34, which `option` gives."""
    try:
        return parse_version(version)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


def _dumped_version(source: Source) -> str:
    if not source.cluster:
        return ""
    from webhook.cluster.dump import DumpError, version_of

    try:
        return version_of(Path(source.cluster))
    except DumpError as error:
        raise UsageError(str(error)) from error


def _live_version(source: Source) -> str:
    from webhook.cluster.client import ClusterError

    try:
        return client(source=source).version()
    except ClusterError as error:
        # Without a response, or without a login, no other request would be answered, either.
        advice = "; set --kubernetes-version" if error.status not in (0, HTTPStatus.UNAUTHORIZED) else _advice(error)
        raise UsageError(f"{LIVE_OPTION}: {error}{advice}") from error


def _advice(error: ClusterError) -> str:
    """Return what a person does about a request that the API server refuses."""
    return LOGIN_ADVICE.get(error.status, "")


def objects(name: str) -> tuple[Mapping[str, object], ...]:
    """Return every Kubernetes object in a file, or on standard input for `-`."""
    if not name:
        raise UsageError('found "", wanted a file, or - for standard input')
    try:
        read = tuple(read_objects(_stdin() if name == "-" else text(Path(name))))
    except DocumentError as error:
        raise UsageError(f"{name}: {error}") from error
    for number, obj in enumerate(read, 1):
        if not all(isinstance(obj.get(field), str) and obj[field] for field in ("apiVersion", "kind")):
            raise UsageError(f"{name}: object {number}: must have apiVersion and kind")
    if not read:
        empty = "standard input: found no object; did the command before the pipe fail?"
        raise UsageError(empty if name == "-" else f"{name}: found no object")
    return read


def objects_of(names: Sequence[str]) -> list[Mapping[str, object]]:
    """Return every Kubernetes object in several files and folders, of which one may be `-`."""
    if names.count("-") > 1:
        raise UsageError("-f: standard input can be read only once")
    return [obj for name in names for file in _files(name) for obj in objects(file)]


def _files(name: str) -> list[str]:
    """Return the manifests in a folder and in those below it, but for hidden ones; of a file its own name."""
    folder = Path(name)
    if not (name and folder.is_dir()):
        return [name]
    from webhook.lint.walk import MANIFEST_SUFFIXES

    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in MANIFEST_SUFFIXES and path.is_file())
    found = [str(path) for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    if not found:
        raise UsageError(f"-f {name}: found no file that ends in {', '.join(MANIFEST_SUFFIXES)}")
    return found


def text(path: Path) -> str:
    """Return the text of a file."""
    from webhook.cluster.dump import DumpError, read_text

    try:
        return read_text(path)
    except DumpError as error:
        raise UsageError(str(error)) from error


def _stdin() -> str:
    if sys.stdin is None:
        raise UsageError("-: standard input is closed")
    try:
        return decoded(sys.stdin.buffer.read())
    except UnicodeDecodeError as error:
        raise UsageError(f"-: is not {error.encoding.upper()}") from error
