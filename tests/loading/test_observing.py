"""The log of a live cluster or a recording is judged as far as it is known, part by part."""

from __future__ import annotations

import pytest

from tests.support.apiserver import ApiServer
from tests.support.decisions import NODES, Log, recorded, right, wrong
from tests.support.watching import configured
from webhook.cluster.client import Client
from webhook.cluster.recording import Recording
from webhook.cluster.recording import read as read_recording
from webhook.loading import observing
from webhook.loading.observing import Observer, half_a_cpu, live
from webhook.loading.observing import recorded as observed
from webhook.loading.usage import UsageError
from webhook.scheduler.profile import USUAL_PROFILES


def observe(path, **options):
    observer = Observer(USUAL_PROFILES, None, **options)
    for section in observed(path):
        for _ in observer.take(section):
            pass
    observer.finish()
    return observer


def test_a_decision_is_judged_once_enough_is_known_after_it(tmp_path):
    log = right()
    log.say("MODIFIED", NODES[0], seconds=observing.JUDGING_DELAY + 0.05)
    path = recorded(tmp_path / "log", log)
    observer = Observer(USUAL_PROFILES, None)
    numbers = [observer.tally.every.compared for section in observed(path) for _ in observer.take(section)]

    assert (0, 0, 3) == (numbers[0], numbers[-2], numbers[-1])


def test_the_rest_is_judged_in_the_end_and_each_section_by_itself(tmp_path):
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


def test_what_there_is_no_time_for_is_counted(tmp_path):
    times = iter([True, False, True, False])
    tally = observe(recorded(tmp_path / "log", wrong()), may_judge=lambda: next(times)).tally

    assert (2, 2) == (tally.every.compared, tally.skipped)


def test_decisions_of_other_namespaces_take_room_and_no_time_and_are_not_counted(tmp_path):
    log = Log()
    log.create("other", cpu="3", namespace="bank")
    log.bind("other", "b1")
    log.create("web", cpu="3")
    log.bind("web", "a1")
    times = iter([True])
    tally = observe(recorded(tmp_path / "log", log), namespace="shop", may_judge=lambda: next(times)).tally

    assert (1, 1) == (tally.every.compared, tally.every.agree)


def test_without_nodes_nothing_can_be_judged(tmp_path):
    with pytest.raises(UsageError, match="nodes cannot be listed: no; name a namespace"):
        observe(recorded(tmp_path / "log", right(), missing={"nodes": "no"}))


def test_a_live_log_with_a_gap_is_two_sections_also_in_the_recording(tmp_path):
    api = ApiServer()
    api.put(*NODES)
    observer = Observer(USUAL_PROFILES, None)
    with Recording(tmp_path / "log") as out:
        for section in live(Client(lambda: configured(api.url)), lambda: observer.sections == 2, out):
            for _ in observer.take(section):
                api.error(410)
    api.stop()

    assert 2 == observer.sections == sum(1 for _ in read_recording(tmp_path / "log"))


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
