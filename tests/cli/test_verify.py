"""evenkeel verify: what it says of a log, its exit codes, and the files of what differs."""

from __future__ import annotations

import json
import signal
from argparse import Namespace
from pathlib import Path

import pytest

from tests.support.apiserver import ApiServer
from tests.support.decisions import NODES, events, recorded, right, wrong
from tests.support.logs import waiting
from webhook.cli import verify
from webhook.cluster.dump import contents
from webhook.loading import inputs, observing

TABLE = """\
3 of 3 decisions of kube-scheduler v1.37.1 agree with what evenkeel computes, in 2 s.

                   compared  agree  differ  power
all                       3      3       0   0.50
a node was chosen         2      2       0   0.50
no node was found         1      1       0

power: how much agreement proves. It is the mean share of the passing nodes that evenkeel would have called wrong.
"""


@pytest.fixture
def replay(run, tmp_path):
    def ask(*logs, options="", **fields):
        recorded(tmp_path / "day.jsonl.gz", *logs, **fields)
        return run(f"verify --replay day.jsonl.gz {options}")

    return ask


def test_a_log_in_which_all_agree(replay):
    assert (0, TABLE, "") == replay(right())


def test_a_decision_that_differs_is_told_with_a_file_and_the_command_that_shows_it(replay, run):
    code, out, _ = replay(wrong())

    assert 1 == code
    assert [
        "differs: pod/tiny -n shop: kube-scheduler chose a1",
        "  computed: a1 passes, but a2 has a higher score",
        "  evenkeel explain pod/tiny -n shop --cluster verify-out/0001.jsonl.gz",
        "3 of 4 decisions of kube-scheduler v1.37.1 agree with what evenkeel computes, in 2 s.",
    ] == out.splitlines()[:4]

    explained = run(out.splitlines()[2].split()[1:])
    assert 0 == explained.code
    assert "Nodes that pass, the best scores first: a2 (" in explained.out


def test_the_file_of_a_case_has_the_time_of_the_decision(replay):
    replay(wrong(3600))

    case = contents(Path("verify-out/0001.jsonl.gz"))
    assert [*case.objects]
    assert "2026-01-31T11:00:00Z" == case.time


def test_the_file_of_a_case_replaces_none(replay):
    replay(wrong())
    out = replay(wrong(), options="--cases verify-out").out

    assert "verify-out/0002.jsonl.gz" in out
    assert ["0001.jsonl.gz", "0002.jsonl.gz"] == sorted(file.name for file in Path("verify-out").iterdir())


def test_at_most_so_many_files_are_written(replay, monkeypatch):
    monkeypatch.setattr(verify, "MOST_CASES", 1)
    code, out, _ = replay(wrong(), wrong())

    assert (1, 2, 1) == (code, out.count("differs: pod/tiny"), out.count("verify-out"))

    out = json.loads(replay(wrong(), wrong(), options="-o json").out)

    assert (2, ["verify-out/0002.jsonl.gz"]) == (out["differ"], [each["file"] for each in out["differences"]])


def test_the_options_by_which_it_was_computed_are_in_the_command(replay):
    out = replay(wrong(), options="--kubernetes-version 1.36").out

    assert "--cluster verify-out/0001.jsonl.gz --kubernetes-version 1.36" in out


def test_decisions_of_one_namespace(replay):
    log = wrong()
    log.place(waiting("elsewhere", "1", namespace="bank"), "a2")

    assert [4, 1, 5] == [
        json.loads(replay(log, options=f"-o json {of}").out)["compared"] for of in ("-n shop", "-n bank", "-A")
    ]
    assert (
        "1 of 1 decision of kube-scheduler v1.37.1 in the namespace bank agrees" in replay(log, options="-n bank").out
    )


def test_nothing_could_be_compared(replay):
    code, out, _ = replay(events())

    assert (3, "No decision of kube-scheduler v1.37.1 could be compared in 0 s.\n") == (code, out)


def test_what_is_not_compared_is_told_by_its_reason(replay):
    log = events().put(waiting("static", nodeName="a1"))
    log.place(waiting("other", schedulerName="volcano"), "a1")
    code, out, _ = replay(log)

    assert (3, "Not compared: 1 another scheduler, 1 created with a nodeName.") == (code, out.splitlines()[1])


def test_a_log_with_a_gap_is_judged_on_both_sides(replay):
    _, out, err = replay(right(), right())

    assert out.startswith("6 of 6 decisions")
    assert "note: The watch was interrupted once; decisions in between were not seen.\n" == err


@pytest.mark.parametrize("resource", ["nodes", "pods"])
def test_nodes_and_pods_are_needed(replay, resource):
    code, out, err = replay(right(), missing={resource: "403 forbidden"})

    assert (2, "") == (code, out)
    assert err.startswith(f"evenkeel: {resource} cannot be listed: 403 forbidden; ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--for 1x", '--for: found "1x", wanted a time such as 90s, 15m or 1h'),
        ("--for 0s", '--for: found "0s", wanted a time such as 90s, 15m or 1h'),
        ("--replay gone.gz", "gone.gz: No such file or directory"),
        ("--replay day --for 1h", "--for: found --replay, which asks no cluster; leave out one of the two"),
        ("--replay day --record b", "--record: found --replay, which asks no cluster; leave out one of the two"),
        (
            "--replay day",
            'day: line 1: found "apiVersion: v1", wanted what evenkeel verify --record writes; record first',
        ),
        ("--kubernetes-version x --kubeconfig gone", '--kubernetes-version: found "x", wanted a version such as 1.37'),
    ],
)
def test_bad_input_is_one_line(run, options, said):
    code, out, err = run(f"verify {options}", day="apiVersion: v1\n")

    assert (2, "", f"evenkeel: {said}\n") == (code, out, err)


@pytest.fixture
def live(run, monkeypatch):
    """The command, beside an API server with nodes; it is over once that has told everything."""
    api = ApiServer()
    api.put(*NODES)
    monkeypatch.setattr(observing, "JUDGING_DELAY", 0.1)
    monkeypatch.setattr(inputs, "client", lambda *_, **__: connected(api))
    yield run, api
    api.stop()


def connected(api):
    from tests.support.watching import configured
    from webhook.cluster.client import Client

    return Client(lambda: configured(api.url))


def telling(api, log):
    """Let the API server tell a log while the command shows its progress, once it has listed everything."""
    events = iter(log.events)

    def show(_):
        for event in events:
            api.put(event.raw)

    return show


def test_a_live_cluster_is_watched_and_recorded_and_judged_alike_again(live, monkeypatch):
    run, api = live
    told = telling(api, wrong())
    monkeypatch.setattr(verify, "line", lambda: shown(told))
    code, out, err = run("verify --for 1s --record day.gz")
    again = run("verify --replay day.gz --cases again")

    assert (1, "") == (code, err)
    assert out.splitlines()[4:] == again.out.splitlines()[4:]
    assert "all                       4      3       1   0.50" in out


def once_compared(told, happens):
    """What lets the API server tell a log, and something happen once its decisions are judged."""

    def show(text):
        told(text)
        if text.startswith("3 decisions"):
            happens()

    return show


def test_what_was_compared_is_printed_also_if_the_log_cannot_be_heard_any_longer(live, replay, monkeypatch):
    run, api = live

    def refuse():
        api.forbidden = {"pods"}
        api.error(410)

    monkeypatch.setattr(observing, "RELIST_SECONDS", 0)
    monkeypatch.setattr(verify, "line", lambda: shown(once_compared(telling(api, right()), refuse)))
    code, out, err = run("verify --for 60s")

    assert (0, "3 of 3 decisions") == (code, out[:16])
    assert err.splitlines()[-1].startswith("note: Ended early: pods cannot be listed: ")


@pytest.fixture
def ctrl_c():
    """A shell without job control lets what it starts in the background ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_print_what_was_seen(live, monkeypatch, number):
    run, api = live
    sent = []

    def interrupt():
        sent.append(number)
        signal.raise_signal(number)

    monkeypatch.setattr(verify, "line", lambda: shown(once_compared(telling(api, right()), interrupt)))
    code, out, _ = run("verify --for 60s")

    assert (0, "3 of 3 decisions", [number]) == (code, out[:16], sent)
    assert signal.SIG_DFL == signal.getsignal(signal.SIGTERM)


def test_a_replay_that_is_interrupted_says_so(replay, monkeypatch):
    def interrupt(text):
        if text.startswith("3 decisions"):
            raise KeyboardInterrupt

    monkeypatch.setattr(verify, "line", lambda: shown(interrupt))
    code, out, err = replay(right(), wrong())

    assert (0, "3 of 3 decisions") == (code, out[:16])
    assert "note: Interrupted: the rest of the recording was not judged." in err.splitlines()


class shown:
    def __init__(self, show):
        self.show = show

    def __enter__(self):
        return self.show

    def __exit__(self, *_):
        pass


def test_a_file_that_cannot_be_written_is_one_line(live, tmp_path):
    run, _ = live
    for path, problem in ((tmp_path, "Is a directory"), (Path("/dev/full"), "No space left on device")):
        code, _, err = run(f"verify --for 1s --record {path}")

        assert (2, f"evenkeel: {path}: {problem}\n") == (code, err)


@pytest.mark.usefixtures("live")
def test_what_is_wrong_elsewhere_does_not_name_the_recording(tmp_path):
    args = Namespace(replay=None, record=tmp_path / "day.gz")
    with pytest.raises(BrokenPipeError), verify._sections(args, inputs.Source(), 1.0):
        raise BrokenPipeError


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_case_that_is_written_in_part_is_taken_away(replay, monkeypatch, error):
    def fail(file, *_):
        file.write(b"x")
        raise error

    monkeypatch.setattr(verify, "write", fail)
    code, _, err = replay(wrong())

    assert code in (1, 2)
    assert "Traceback" not in err
    assert [] == [*Path("verify-out").iterdir()]
