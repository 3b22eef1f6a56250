"""Reads all that kube-scheduler reads of a cluster."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from evenkeel.clusters.reading import LOGIN_ADVICE, contents, counted, dumped
from evenkeel.clusters.sources import Source
from evenkeel.scheduler.snapshot import Snapshot, from_objects
from evenkeel.scheduler.snapshot_changes import without_missing
from webhook.cli.options import LIVE_OPTION
from webhook.cli.usage import UsageError
from webhook.cluster.watched_resources import WATCHED
from webhook.kubernetes.features import Features


def snapshot(source: Source, features: Features) -> Snapshot:
    """Return what kube-scheduler of this version reads of the current cluster for LIVE, or of a dump."""
    return _live(source, features) if source.live else dumped(source, partial(from_objects, features=features))


def _live(source: Source, features: Features) -> Snapshot:
    read = contents(source)
    snapshot = from_objects(counted(read.objects), features)
    for kind in WATCHED:
        if why := read.missing.get(kind.name):
            raise UsageError(f"{LIVE_OPTION}: {why}{LOGIN_ADVICE[HTTPStatus.FORBIDDEN]}")
    return without_missing(snapshot, read.missing)
