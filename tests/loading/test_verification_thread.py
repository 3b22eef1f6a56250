"""Decisions are judged for as long as the process runs, through whatever happens to the API server."""

from __future__ import annotations

import pytest

from tests.support.apiserver import ApiServer
from tests.support.decisions import NODES, right, wrong
from tests.support.logs import waiting
from tests.support.serving import until
from tests.support.watching import configured
from webhook.cluster.client import Client, ClusterError
from webhook.cluster.listed_resources import FOLLOWED_RESOURCES
from webhook.loading import observing, verification_thread
from webhook.loading.verification_thread import VerificationThread
from webhook.scheduler.profile import USUAL_PROFILES

DIFFERS = "evenkeel: differs: pod/tiny -n shop: kube-scheduler chose a1; computed: a1 passes, but a2 has a higher score"


@pytest.fixture
def api(monkeypatch):
    monkeypatch.setattr(observing, "JUDGING_DELAY", 0.1)
    monkeypatch.setattr(observing, "RELIST_SECONDS", 0)
    monkeypatch.setattr(verification_thread, "FIRST_PAUSE", 0.01)
    server = ApiServer()
    server.put(*NODES)
    yield server
    server.stop()


@pytest.fixture
def begin(api):
    """Begins a thread that judges what this API server tells, and ends it."""
    begun = []

    def begin(client=lambda: Client(lambda: configured(api.url)), namespace=""):
        begun.append(VerificationThread(client, USUAL_PROFILES, None, namespace))
        begun[-1].start()
        return begun[-1]

    yield begin
    for thread in begun:
        thread.stop()
        thread.join(5)
    assert not any(thread.is_alive() for thread in begun)


def tell(api, log):
    """Let the API server tell a log, once nodes and what is listed after them are watched."""

    def watched():
        names = [path.partition("?")[0].rpartition("/")[2] for path in api.asked if "watch=1" in path]
        return "nodes" in names and FOLLOWED_RESOURCES[-1].resource in names[names.index("nodes") :]

    until(watched, "all to be watched")
    for event in log.events:
        api.put(event.raw)


def test_decisions_are_counted_and_those_that_differ_printed_in_a_line_each(api, begin, capsys):
    thread = begin()
    tell(api, wrong())
    until(lambda: thread.tally.every.compared == 4, "four decisions")

    assert (3, 1, 0) == (thread.tally.every.agree, thread.tally.every.differ, thread.failures)
    assert ("", f"{DIFFERS}\n") == capsys.readouterr()


def test_of_decisions_that_differ_only_some_are_printed_in_a_minute(api, begin, capsys, monkeypatch):
    monkeypatch.setattr(verification_thread, "MOST_DIFFERENCES", 1)
    thread, log = begin(), wrong()
    log.place(waiting("tiny-2", "250m"), "a1")
    tell(api, log)
    until(lambda: thread.tally.every.compared == 5, "five decisions")

    assert 2 == thread.tally.every.differ
    assert f"{DIFFERS}\n" == capsys.readouterr().err


def test_only_the_decisions_of_a_namespace_are_counted(api, begin):
    thread, log = begin(namespace="bank"), right()
    log.place(waiting("elsewhere", "1", namespace="bank"), "a1")
    tell(api, log)
    until(lambda: thread.tally.every.compared, "a decision")

    assert 1 == thread.tally.every.compared


def test_after_an_error_it_counts_on_and_says_once_why(api, begin, capsys):
    thread = begin()
    tell(api, right())
    until(lambda: thread.tally.every.compared == 3, "three decisions")
    api.forbidden = {"nodes"}
    api.asked.clear()
    api.error(410)
    until(lambda: thread.failures > 2, "some tries")
    api.forbidden = set()
    for name in ("web-0", "web-1", "large"):
        api.delete({"kind": "Pod", "metadata": {"name": name, "namespace": "shop"}})
    tell(api, right())
    until(lambda: thread.tally.every.compared == 6, "three more decisions")

    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("evenkeel: --verify: nodes cannot be listed: /api/v1/nodes: 403 ")


def test_a_defect_is_said_in_a_line_and_does_not_end_it(begin, api, capsys):
    problems = [ClusterError("no answer"), ZeroDivisionError("a\nb"), ZeroDivisionError("a\nb")]

    def client():
        if problems:
            raise problems.pop(0)
        return Client(lambda: configured(api.url))

    thread = begin(client)
    tell(api, right())
    until(lambda: thread.tally.every.compared == 3, "three decisions")

    assert 3 == thread.failures
    assert [
        "evenkeel: --verify: --cluster live: no answer",
        r"evenkeel: --verify: ZeroDivisionError: a\u000ab",
    ] == capsys.readouterr().err.splitlines()


def test_it_waits_longer_after_each_error_that_comes_soon(monkeypatch, capsys):
    """Each time it lists all Pods."""
    clock, pauses = [0.0], []
    lasted = iter([1, 1, 1, 400, 1, 1])

    def client():
        clock[0] += next(lasted)
        raise ClusterError("no answer")

    def wait(seconds):
        pauses.append(seconds)
        if len(pauses) == 6:
            thread.stop()

    monkeypatch.setattr(verification_thread, "monotonic", lambda: clock[0])
    monkeypatch.setattr(verification_thread, "MOST_PAUSE", 15.0)
    thread = VerificationThread(client, USUAL_PROFILES, None)
    monkeypatch.setattr(thread._stopped, "wait", wait)
    thread.run()

    assert [5.0, 10.0, 15.0, 5.0, 10.0, 15.0] == pauses
    assert 2 == len(capsys.readouterr().err.splitlines()), "again once it has gone well for a while"
