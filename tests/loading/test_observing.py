"""The log of a live cluster or a recording is judged as far as it is known, part by part."""

from __future__ import annotations

import time

import pytest

from tests.support.apiserver import ApiServer
from tests.support.decisions import NODES, events, recorded, right, wrong
from tests.support.logs import waiting
from tests.support.placing import node
from tests.support.watching import configured
from webhook.cluster.client import Client
from webhook.cluster.cluster import Contents
from webhook.cluster.recording import Recording
from webhook.cluster.recording import read as read_recording
from webhook.cluster.watching import LogInterrupted
from webhook.loading import observing
from webhook.loading.observing import Observer, half_a_cpu, live, over_after
from webhook.loading.observing import recorded as observed
from webhook.loading.usage import UsageError
from webhook.scheduler.profile import USUAL_PROFILES


def observe(path, **options):
    observer = Observer(USUAL_PROFILES, None, **options)
    for section in observed(path):
        for _ in observer.take(section):
            pass
    return observer


def test_a_decision_is_judged_once_enough_is_known_after_it(tmp_path):
    log = right()
    log.put(NODES[0], after=observing.JUDGING_DELAY + 0.05)
    path = recorded(tmp_path / "log", log)
    observer = Observer(USUAL_PROFILES, None)
    numbers = [observer.tally.every.compared for section in observed(path) for _ in observer.take(section)]

    assert (0, 0, 3) == (numbers[0], numbers[-3], numbers[-2])


def test_the_rest_of_a_recording_is_judged_in_the_end_and_each_section_by_itself(tmp_path):
    observer = observe(recorded(tmp_path / "log", right(), wrong()))

    assert (2, 7, 6, 1) == (
        observer.sections,
        observer.tally.every.compared,
        observer.tally.every.agree,
        observer.tally.every.differ,
    )
    assert "v1.37.1" == observer.kubernetes_version


def test_each_judgement_is_told_while_the_verifier_is_there(tmp_path):
    told = []
    observe(
        recorded(tmp_path / "log", wrong()),
        on_judged=lambda judged, verifier: told.append((judged.decision.key[1], len(list(verifier.objects(judged))))),
    )

    assert [("web-0", 4), ("web-1", 5), ("large", 6), ("tiny", 7)] == told


def test_a_decision_is_judged_within_the_seconds_that_are_observed(tmp_path):
    asked, told, observer = (
        [],
        [],
        Observer(
            USUAL_PROFILES,
            None,
            may_judge=lambda: asked.append(observer.seconds) or True,
            on_judged=lambda judged, _: told.append(judged.seconds),
        ),
    )
    for section in observed(recorded(tmp_path / "log", wrong())):
        for _ in observer.take(section):
            pass

    assert 4 == len(told) and all(seconds <= until for seconds, until in zip(told, asked, strict=True))


def test_what_there_is_no_time_for_is_counted(tmp_path):
    times = iter([True, False, True, False])
    tally = observe(recorded(tmp_path / "log", wrong()), may_judge=lambda: next(times)).tally

    assert (2, 2) == (tally.every.compared, tally.skipped)


def test_decisions_of_other_namespaces_take_room_and_no_time_and_are_not_counted(tmp_path):
    log = events().place(waiting("other", "3", namespace="bank"), "b1").place(waiting("web", "3"), "a1")
    times = iter([True])
    tally = observe(recorded(tmp_path / "log", log), namespace="shop", may_judge=lambda: next(times)).tally

    assert (1, 1) == (tally.every.compared, tally.every.agree)


def test_without_nodes_nothing_can_be_judged(tmp_path):
    with pytest.raises(UsageError, match="nodes cannot be listed: no; name with -n a namespace"):
        observe(recorded(tmp_path / "log", right(), missing={"nodes": "no"}))


def test_a_live_log_with_a_gap_is_two_sections_also_in_the_recording(tmp_path, monkeypatch):
    monkeypatch.setattr(observing, "RELIST_SECONDS", 0)
    api = ApiServer()
    api.put(*NODES)
    observer = Observer(USUAL_PROFILES, None)
    with Recording(tmp_path / "log") as out:
        for section in live(Client(lambda: configured(api.url)), lambda: observer.sections == 2, out):
            for _ in observer.take(section):
                api.error(410)
    api.stop()

    assert 2 == observer.sections == sum(1 for _ in read_recording(tmp_path / "log"))


class Told:
    """A log that has begun, of which these events are heard, part by part; `problems` are there meanwhile."""

    def __init__(self, parts, problems=()):
        self.begun, self.version, self.stopped = time.monotonic(), 100, False
        self._parts, self._problems, self.problem = iter(parts), iter(problems), ""

    def begin(self):
        return Contents(iter(NODES), {}, "", "v1.37.1")

    def events(self, seconds):
        time.sleep(0.01)
        self.problem = next(self._problems, "")
        return next(self._parts, [])

    def stop(self):
        self.stopped = True


@pytest.fixture
def tells(monkeypatch):
    """What is observed of a cluster of which so much is told, within so many seconds."""

    def observe(told, seconds, out=None):
        monkeypatch.setattr(observing, "Watching", lambda _: told)
        observer = Observer(USUAL_PROFILES, None)
        for section in live(None, over_after(seconds), out):
            for _ in observer.take(section):
                pass
        assert told.stopped
        return observer

    return observe


def test_the_last_decisions_of_a_live_log_are_not_judged_since_nobody_knows_what_follows(tells, monkeypatch):
    monkeypatch.setattr(observing, "JUDGING_DELAY", 0.2)
    first, second = right(-0.5).events, wrong(0.1).events[-2:]
    observer = tells(Told([first, second]), 0.2)

    assert 3 == observer.tally.every.compared
    assert 0.15 < observer.seconds < 0.3, "those of the whole time are judged"


def test_a_live_log_is_over_so_long_after_it_was_first_asked(monkeypatch):
    clock = {"now": 1_000.0}
    monkeypatch.setattr(observing, "monotonic", lambda: clock["now"])
    is_over, answers = over_after(60), []
    for clock["now"] in (5_000.0, 5_060.0 + observing.JUDGING_DELAY - 0.1, 5_060.0 + observing.JUDGING_DELAY):
        answers.append(is_over())

    assert [False, False, True] == answers


def test_while_a_kind_is_not_heard_of_nothing_is_judged(tells, tmp_path, monkeypatch):
    """A node comes, and a Pod is placed there; of the node is heard later."""
    monkeypatch.setattr(observing, "JUDGING_DELAY", 0.05)
    log = events().put(node("c1", "c", cpu="64")).place(waiting("web", "1"), "c1")
    node_event, *later = [event._replace(seconds=0.01) for event in log.events]
    told = Told([later, *[[]] * 20, [node_event]], ["cut off"] * 19)
    with Recording(tmp_path / "log") as out:
        observer = tells(told, 0.5, out)
    again = observe(tmp_path / "log")

    assert (1, 1) == (observer.tally.every.agree, observer.tally.every.compared)
    assert observer.tally == again.tally


def test_a_cluster_is_listed_now_and_then_only(tells, monkeypatch):
    monkeypatch.setattr(observing, "RELIST_SECONDS", 0.4)
    monkeypatch.setattr(observing, "JUDGING_DELAY", 0.0)
    monkeypatch.setattr(Told, "events", interrupted)
    begun = []
    told = Told([])
    monkeypatch.setattr(told, "begin", lambda: begun.append(time.monotonic()) or Told.begin(told))
    told.begun = time.monotonic()
    tells(told, 0.1)

    assert 1 == len(begun)


def interrupted(*_):
    raise LogInterrupted("too old")


def test_a_tally_that_is_given_counts_on(tmp_path):
    path = recorded(tmp_path / "log", wrong())
    tally = observe(path).tally
    observe(path, tally=tally)

    assert (8, 2) == (tally.every.compared, tally.every.differ)


def test_judging_takes_half_a_cpu_and_saves_no_more_than_some_seconds_of_it(monkeypatch):
    clock = {"now": 1_000.0, "used": 70.0}
    monkeypatch.setattr(observing, "monotonic", lambda: clock["now"])
    may_judge = half_a_cpu(lambda: clock["used"])

    def after(seconds, used):
        clock["now"] += seconds
        clock["used"] += used
        return may_judge()

    assert after(0, 0), "what was used before does not count"
    assert after(10, 10), "5 s are left of the half, and 5 s in advance"
    assert not after(1, 1)
    assert after(1, 0)
    assert after(3_600, 0)
    assert not after(0, 5.1), "an hour of rest saves 5 s"
    assert after(60, 29.8)
