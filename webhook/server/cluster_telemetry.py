"""Counts and logs what happens to a cluster that is watched."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from webhook.cluster.client import Client
from webhook.cluster.informer import WATCH_FAILED, WATCH_LISTED
from webhook.cluster.live import ABSENT, FOUND, LOOKUP_EVENTS, LOOKUP_KINDS, LOOKUP_RESULTS, SYNCED, Live
from webhook.cluster.watched_resources import WATCHED
from webhook.server.logs import log
from webhook.server.metrics import ClusterMetrics, Metrics


def watch_cluster(
    client: Client,
    metrics: Metrics,
    synced: Callable[[], None],
    *,
    may_wait: Callable[[], bool],
) -> Live:
    """
    The cluster behind `client`; `synced` is called once, when every kind has been listed.

    `may_wait` is asked before each look-up.
    """

    def report(event: str, kind: str, **fields: object) -> None:
        _count(cluster_metrics, event, kind, fields)
        log(_level(event, fields), event, kind=kind or None, **fields)
        if event == SYNCED:
            synced()

    def caches() -> Mapping[str, tuple[bool, float]]:
        return {kind: (cache.synced, cache.age) for kind, cache in live.caches().items()}

    cluster_metrics = ClusterMetrics(
        metrics, tuple(watched.kind for watched in WATCHED), (LOOKUP_KINDS, LOOKUP_RESULTS), caches
    )
    live = Live(client, report, may_wait=may_wait)
    return live


def _count(metrics: ClusterMetrics, event: str, kind: str, fields: Mapping[str, object]) -> None:
    if event == WATCH_FAILED:
        metrics.failures.labels(kind).inc()
    elif event == WATCH_LISTED and fields["again"]:
        metrics.relists.labels(kind).inc()
    elif event in LOOKUP_EVENTS.values():
        metrics.lookups.labels(kind, str(fields["result"])).inc()


def _level(event: str, fields: Mapping[str, object]) -> int:
    """The level of a log line: warning for the first of several failures, and for a failed look-up."""
    if (event == WATCH_FAILED and fields["tries"] != 1) or fields.get("result") in (FOUND, ABSENT):
        return logging.DEBUG
    return logging.INFO if event in (WATCH_LISTED, SYNCED) else logging.WARNING
