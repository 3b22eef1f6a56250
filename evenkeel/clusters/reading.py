"""Reads the cluster that a command names.  UsageErrors name the file or option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

from evenkeel.clusters import dump_files
from evenkeel.clusters.contents import Contents
from evenkeel.clusters.dump_files import DumpError, load, version_of
from evenkeel.clusters.listing import read_contents
from evenkeel.clusters.selection import unknown_namespace
from evenkeel.clusters.sources import NO_CLUSTER, Source
from evenkeel.terminal.progress import with_count
from webhook.cli import options
from webhook.cli.options import LIVE_OPTION, VERSION_OPTION
from webhook.cli.usage import UsageError
from webhook.cluster.client import Client, ClusterError
from webhook.cluster.discovery import read_served
from webhook.cluster.live import listed
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import Raw, texts_at
from webhook.kubernetes.kinds import NO_KINDS, Kinds
from webhook.policy.unserved import groups_of, unserved
from webhook.spread.cluster_view import ClusterView, view_of

Through = Callable[[Iterator[Raw]], Iterator[Raw]]
ViewT = TypeVar("ViewT", bound=ClusterView)
PATIENCE = 30.0  # Seconds for one page of a list, where the API server has too much to do.
ASK = "name with -n a namespace that you may read, or ask for the ClusterRole evenkeel-viewer"
NOTHING_LISTED = f"you are not allowed to list anything in the cluster; {ASK}"
LOGIN_ADVICE: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "; log in again, and check with kubectl auth whoami",
    HTTPStatus.FORBIDDEN: "; ask for the ClusterRole evenkeel-viewer",
}


def counted(objects: Iterator[Raw]) -> Iterator[Raw]:
    """Yield the objects that are read, and show how many there are so far."""
    return with_count(objects, "objects")


def cluster(source: Source) -> ClusterView | None:
    """Return what the webhook watches of the current cluster for LIVE, of a dump for a path, or None."""
    if source.live:
        with usage_errors():
            return listed(client(source), counted)
    return dumped(source, view_of) if source.cluster else None


def dumped(source: Source, read: Callable[[Iterable[Raw]], ViewT]) -> ViewT:
    """Return what `read` returns of the objects of a dump."""
    with usage_errors():
        return load(Path(source.cluster), lambda objects: read(counted(iter(objects))))


def contents(source: Source, namespace: str = "", kinds: Kinds = NO_KINDS) -> Contents:
    """
    Return the objects of a live cluster or a dump, in one namespace or in all of them.

    Of a live cluster, custom resources of these `kinds` are among them.  UsageError if they cannot be read, also while
    they are gone through, and at their end if they show that there is no such namespace.
    """
    with usage_errors():
        if source.live:
            read = read_contents(client(source, patience=PATIENCE), namespace, kinds)
        else:
            read = dump_files.contents(Path(source.cluster))
        read = read._replace(objects=_checked(read.objects))
        return read._replace(objects=_in_namespace(namespace, read, source), namespace=namespace) if namespace else read


def _in_namespace(namespace: str, read: Contents, source: Source) -> Iterator[Raw]:
    """Yield the objects of a namespace."""
    limited_to = "" if source.live else read.namespace  # the only one that a file has
    names = set[str]()
    for obj in read.objects:
        names.add(namespace_shown(obj))
        if texts_at(obj, "metadata.namespace")[0] in ("", namespace):
            yield obj
    why = unknown_namespace(namespace, {limited_to} if limited_to else names, source)
    if why and "namespaces" not in read.missing:
        raise UsageError(why)


def namespace_shown(obj: Raw) -> str:
    """Return the namespace that an object is, or is in; "" for what is in none."""
    return texts_at(obj, "metadata.name" if obj.get("kind") == "Namespace" else "metadata.namespace")[0]


def _checked(objects: Iterator[Raw]) -> Iterator[Raw]:
    with usage_errors():
        yield from objects


@contextmanager
def usage_errors(option: str = LIVE_OPTION) -> Iterator[None]:
    """Raise errors of a dump or an API server as UsageError, which names the `option` that asks for it."""
    try:
        yield
    except DumpError as error:
        raise UsageError(str(error)) from error
    except ClusterError as error:
        raise UsageError(f"{option}: {error}{_advice(error)}") from error


def client(source: Source, patience: float = 0.0) -> Client:
    """Return a client of the cluster that a source names; it asks again for `patience` seconds."""
    return options.client(LIVE_OPTION, source.kubeconfig, source.context, patience)


def notes_on_kinds(source: Source, kinds: Kinds) -> Iterator[str]:
    """Yield which of the kinds a live cluster does not serve; nothing of another source, which does not tell."""
    if not source.live:
        return
    try:
        yield from unserved(kinds, read_served(client(source, patience=PATIENCE), groups_of(kinds)))
    except ClusterError as error:
        yield f"evenkeel cannot find out which kinds the cluster serves: {error}"


def features(
    version: str | None, source: Source = NO_CLUSTER, option: str = VERSION_OPTION, *, quiet: bool = False
) -> Features:
    """
    Return the features of a Kubernetes version such as 1.34; without one, those of the cluster, or else of the newest.

    `option` is the name of the option that gives the version.  A note tells of a version that is too new.
    """
    known = version or (_live_version(source) if source.live else _dumped_version(source))
    return options.features(known, option, quiet=quiet)


def _dumped_version(source: Source) -> str:
    if not source.cluster:
        return ""
    with usage_errors():
        return version_of(Path(source.cluster))


def _live_version(source: Source) -> str:
    try:
        return client(source).version()
    except ClusterError as error:
        # Without a response, or without a login, no other request would be answered, either.
        advice = "; set --kubernetes-version" if error.status not in (0, HTTPStatus.UNAUTHORIZED) else _advice(error)
        raise UsageError(f"{LIVE_OPTION}: {error}{advice}") from error


def _advice(error: ClusterError) -> str:
    """Return what to do about a request that the API server refuses."""
    return LOGIN_ADVICE.get(error.status, "")
