"""What kube-scheduler reads is listed once, and then told as it changes: without gaps, or with the reason for one."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from tests.support.apiserver import ApiServer
from tests.support.build import key_of, namespace, pod, service, workload
from tests.support.serving import until
from tests.support.watching import QUICK, configured
from webhook.cluster.client import Client, ClusterError
from webhook.cluster.informer import Pace
from webhook.cluster.listed_resources import FOLLOWED_RESOURCES
from webhook.cluster.watching import REFUSED_TRIES, LogInterrupted, Watching

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {}}
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
    "spec": {"holderIdentity": "a"},
}
OBJECTS = [NODE, LEASE, namespace(), service(), workload("ReplicaSet"), *(pod(name=f"web-{i}") for i in range(3))]


class Followed:
    """A log that has begun, with the API server that it is of, and the objects of its lists."""

    def __init__(self, api, pace):
        self.api, self.heard = api, []
        self.log = Watching(Client(lambda: configured(api.url)), pace)
        self.contents = self.log.begin()
        self.listed = list(self.contents.objects)

    def hears(self, number):
        """The first so many events, once there are."""
        until(lambda: self.heard.extend(self.log.events(0.05)) or len(self.heard) >= number, "the events")
        return self.heard

    def ends(self):
        """The error with which the log ends, after the events before."""
        with pytest.raises(ClusterError) as caught:
            until(lambda: self.heard.extend(self.log.events(0.05)), "the end of the log")
        return caught.value

    def all_watch(self):
        until(lambda: all(thread._stream for thread in self.log._threads), "the watches")


@contextmanager
def following(*objects, pace=QUICK, forbidden=()):
    api = ApiServer(page=2)
    api.put(*objects)
    api.forbidden = set(forbidden)
    followed = Followed(api, pace)
    try:
        yield followed
    finally:
        followed.log.stop()
        api.stop()


def told(events):
    return [(event.type, event.raw["kind"], key_of(event.raw)[1]) for event in events]


def test_what_is_there_is_listed_whole_and_its_version_is_that_of_the_lists():
    with following(*OBJECTS) as it:
        assert sorted(map(key_of, OBJECTS)) == sorted(map(key_of, it.listed))
        assert ({}, "v1.37.1") == (it.contents.missing, it.contents.kubernetes_version)
        assert it.api.version == it.log.version
        assert [] == it.log.events(0)


@pytest.mark.parametrize(
    ("path", "version"),
    [("/apis/storage.k8s.io/v1/volumeattachments", "7"), ("/apis/coordination.k8s.io/v1/leases", "99999999")],
    ids=["an older list of another API server", "Leases in an etcd of their own"],
)
def test_the_version_is_the_newest_of_what_is_in_order(path, version):
    api = ApiServer()
    api.further[path] = {"metadata": {"resourceVersion": version}, "items": []}
    it = Followed(api, QUICK)
    it.log.stop()
    api.stop()

    assert api.version == it.log.version


def test_changes_of_all_kinds_come_with_their_versions_and_times():
    with following(*OBJECTS) as it:
        it.api.put(pod(name="web-0", spec={"nodeName": "n1"}), {**LEASE, "spec": {"holderIdentity": "b"}})
        it.api.delete(NODE)
        it.api.put(namespace(name="bank"))
        events = sorted(it.hears(4), key=lambda event: event.version)

        assert [
            ("MODIFIED", "Pod", "web-0"),
            ("MODIFIED", "Lease", "kube-scheduler"),
            ("DELETED", "Node", "n1"),
            ("ADDED", "Namespace", "bank"),
        ] == told(events)
        assert [it.log.version + i for i in range(1, 5)] == [event.version for event in events]
        assert all(0 < event.seconds < 60 for event in events)
        assert {"nodeName": "n1"} == events[0].raw["spec"]
        assert {"holderIdentity": "b"} == events[1].raw["spec"]


def test_an_event_has_what_a_dump_has_and_no_more():
    raw = pod(spec={"nodeName": "n1", "containers": [{"name": "a", "env": [{"name": "PASSWORD"}]}]})
    conditions = [{"type": "Ready", "status": "True"}, {"type": "example.com/Own", "status": "True"}]
    noted = namespace(name="bank")
    noted["metadata"] |= {"annotations": {"example.com/team": "web", "note": "secret"}}
    with following() as it:
        it.api.put({**raw, "status": {"conditions": conditions, "hostIP": "10.0.0.1"}}, noted)
        bank, bound = sorted((event.raw for event in it.hears(2)), key=lambda raw: raw["kind"])

        assert {"nodeName": "n1", "containers": [{"name": "a"}]} == bound["spec"]
        assert {"conditions": conditions[:1]} == bound["status"]
        assert raw["metadata"] == bound["metadata"], "without a resourceVersion"
        assert {"example.com/team": "web"} == bank["metadata"]["annotations"]


def test_finished_pods_are_neither_listed_nor_watched_and_one_lease_is():
    with following() as it:
        it.all_watch()
        pods, leases = ([path for path in it.api.asked if f"/{name}?" in path] for name in ("pods", "leases"))

        assert len(pods) == 2 and all("fieldSelector=status.phase%21%3DSucceeded" in path for path in pods)
        selected = "fieldSelector=metadata.namespace%3Dkube-system%2Cmetadata.name%3Dkube-scheduler"
        assert len(leases) == 2 and all(selected in path for path in leases)


def test_a_lease_that_is_only_renewed_is_no_news():
    with following(*OBJECTS) as it:
        for renewed in range(3):
            it.api.put({**LEASE, "spec": {"holderIdentity": "a", "renewTime": str(renewed)}})
        it.api.put({**LEASE, "spec": {"holderIdentity": "b"}})

        assert ["a", "b"] == [event.raw["spec"]["holderIdentity"] for event in it.hears(2)]


@pytest.mark.parametrize(("ending", "argument"), [("cut", ()), ("error", (500,))])
def test_a_watch_that_ends_goes_on_where_it_was(ending, argument):
    with following(*OBJECTS) as it:
        it.all_watch()
        it.api.put(service("before"))
        it.hears(1)
        getattr(it.api, ending)(*argument)
        it.api.put(service("after"))

        assert ["before", "after"] == [name for _, _, name in told(it.hears(2))]
        until(lambda: not it.log.problem, "all watches")


def test_a_bookmark_spares_an_interruption():
    """Nothing happened to Services for long, other things did: the version of the last event is forgotten."""
    with following(*OBJECTS) as it:
        it.all_watch()
        it.api.put(*(namespace(f"n{i}") for i in range(3)))
        it.api.bookmark()
        it.hears(3)
        until(lambda: {str(it.api.version)} == {thread._version for thread in it.log._threads}, "the bookmarks")
        it.api.floor = it.api.version
        it.api.cut()
        it.api.put(service("after"))

        assert ("ADDED", "Service", "after") == told(it.hears(4))[-1]


def test_a_log_with_a_gap_is_interrupted_after_what_was_heard_before():
    with following(*OBJECTS) as it:
        it.all_watch()
        it.api.put(service("before"))
        until(lambda: not it.log._heard.empty(), "the event")
        it.api.forget()
        it.api.cut()
        until(lambda: it.log._heard.qsize() > 1, "the end")

        assert isinstance(it.ends(), LogInterrupted)
        assert [("ADDED", "Service", "before")] == told(it.heard)
        with pytest.raises(LogInterrupted, match="410"):
            it.log.events(0)


def test_410_as_an_event_interrupts_it_too():
    with following() as it:
        it.all_watch()
        it.api.error(410)
        error = it.ends()

        assert isinstance(error, LogInterrupted)
        assert str(error).endswith("as the test wants it")


def test_what_may_not_be_listed_is_missing_and_not_watched():
    with following(*OBJECTS, forbidden=("persistentvolumes",)) as it:
        it.api.put(service("after"))
        it.hears(1)

        assert {"persistentvolumes": "/api/v1/persistentvolumes: 403 refused with 403"} == it.contents.missing
        assert [False] == ["watch=" in path for path in it.api.asked if "/persistentvolumes?" in path]


def test_a_kind_that_is_not_served_is_absent():
    api = ApiServer()
    api.further["/apis/resource.k8s.io/v1/deviceclasses"] = 404
    it = Followed(api, QUICK)
    it.log.stop()
    api.stop()

    assert {} == it.contents.missing
    assert len(FOLLOWED_RESOURCES) - 1 == len(it.log._threads)


@pytest.mark.parametrize("status", [401, 403])
def test_rights_that_are_taken_away_end_it_with_the_kind(status):
    with following(*OBJECTS) as it:
        it.all_watch()
        it.api.further["/api/v1/services"] = status
        it.api.cut()
        error = it.ends()

        assert not isinstance(error, LogInterrupted)
        assert f"services: /api/v1/services: {status} refused with {status}" == str(error)


def test_rights_that_come_back_soon_end_nothing():
    """As while an API server starts."""
    with following(*OBJECTS) as it:
        it.all_watch()
        it.api.refusals = [403] * (REFUSED_TRIES - 1)
        it.api.cut()
        it.api.put(service("after"))

        assert [("ADDED", "Service", "after")] == told(it.hears(1))


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({**service("odd"), "spec": 3}, "ValidationError: Expected `object | null`, got `int` - at `$.object.spec`"),
        ({**service("odd"), "status": "Failure"}, "ValidationError: Expected `object | null`, got `str`"),
    ],
)
def test_an_object_of_another_form_ends_it_with_the_kind(odd, reason):
    """An API server sends none; a list of it would fail, too."""
    with following(*OBJECTS) as it:
        it.api.put(odd)
        error = it.ends()

        assert str(error).startswith(f"services: {reason}")
        assert not isinstance(error, LogInterrupted)


def test_an_event_without_a_version_ends_it():
    with following(*OBJECTS) as it:
        with it.api.changed:
            it.api.version += 1
            it.api._say("Service", "ADDED", {**service("odd"), "metadata": {"name": "odd", "resourceVersion": "new"}})

        assert "services: ValueError: resourceVersion: found 'new', wanted a number" == str(it.ends())


def test_a_defect_in_a_thread_is_told(monkeypatch):
    monkeypatch.setattr("webhook.cluster.watching.WatchEvent", None)
    with following(*OBJECTS) as it:
        it.api.put(service("after"))

        assert str(it.ends()).startswith("services: TypeError: ")


def test_while_no_server_answers_it_waits_and_says_why():
    with following(*OBJECTS, pace=Pace(first=0.01, most=0.05, silence=0.2)) as it:
        it.all_watch()
        it.api.silent = True
        until(lambda: "Read timed out" in it.log.problem, "a problem")

        assert [] == it.log.events(0.1)
        it.api.silent = False
        it.api.put(service("after"))
        assert [("ADDED", "Service", "after")] == told(it.hears(1))


def test_a_list_without_a_version_is_an_error():
    api = ApiServer()
    api.further["/api/v1/nodes"] = {"metadata": {}, "items": []}
    log = Watching(Client(lambda: configured(api.url)))
    with pytest.raises(ClusterError, match=r"^/api/v1/nodes: resourceVersion: found '', wanted a number$"):
        list(log.begin().objects)
    log.stop()
    api.stop()
