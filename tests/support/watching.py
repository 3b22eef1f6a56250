"""A cluster that is watched, over a fake API server, and what it reports."""

from __future__ import annotations

from contextlib import contextmanager

from tests.support.apiserver import ApiServer
from tests.support.build import namespace, pod, service, whole, workload
from tests.support.serving import until
from webhook.cluster.client import Client, of_configuration
from webhook.cluster.informer import Pace
from webhook.cluster.live import Live

SHOP = (namespace(), service(), workload("ReplicaSet"), pod(spec={"nodeName": "n1"}))
QUICK = Pace(first=0.01, most=0.05, silence=5.0)


def configured(url, token=None):
    """Access to this address."""
    from kubernetes.client import Configuration

    found = Configuration()
    found.host, found.no_proxy = url, "*"
    if token:
        found.api_key["authorization"] = token
    return of_configuration(found)


class Watching:
    """A live cluster and the API server that it watches."""

    def __init__(self, api, pace=QUICK, **options):
        self.api, self.told = api, []
        self.client = Client(lambda: configured(api.url))
        self.live = Live(self.client, self._report, pace=pace, **options)

    def _report(self, what, kind, **fields):
        self.told.append((what, kind, fields))

    def heard(self, what, kind="Service"):
        return [fields for told, of, fields in self.told if (told, of) == (what, kind)]

    def is_whole(self):
        """Whether the view is what the API server has."""
        with self.api.changed:
            objects = [obj for kind in self.live.caches() for obj in self.api.objects[kind].values()]
        return self.live.view() == whole(objects)

    def catches_up(self):
        until(self.is_whole, f"a view of what is there: {self.live.view()} {self.told[-9:]}")

    def ends(self):
        """No thread changes the view or takes a refusal from here on."""
        self.live.stop()
        until(lambda: not any(one.is_alive() for one in self.live._informers.values()), "the end of the threads")


@contextmanager
def watching(*objects, pace=QUICK, started=True, **options):
    api = ApiServer()
    api.put(*objects)
    it = Watching(api, pace, **options)
    try:
        if started:
            it.live.start()
            until(it.live.view, "the first lists")
        yield it
    finally:
        it.live.stop()
        api.silent = False
        api.stop()
