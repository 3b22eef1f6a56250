"""What `make bench` needs and writes: where Go is missing it says so, and each of its tables has its marks."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys

import pytest

from tests.bench import creation, page, programs, repository
from tests.bench.creation import ONE, Taken, Target
from tests.bench.reviews import Server
from tests.support import ROOT
from tests.support.kubernetes_source import MissingError
from webhook.cli.main import main


def test_without_go_the_rows_say_so(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda name: None)

    with pytest.raises(MissingError, match=r"needs Go.*https://go\.dev/dl/"):
        programs.built()


def test_without_a_control_plane_the_other_rows_stay(tmp_path, monkeypatch):
    def missing(folder):
        raise MissingError("there is none")
        yield

    monkeypatch.setattr(creation, "through_apiserver", missing)
    monkeypatch.setattr(creation, "direct", lambda folder: iter(["| a row |"]))

    assert ["Not measured: there is none", "", "| a row |"] == list(creation.rows(tmp_path))


def test_the_programs_use_nothing_but_the_standard_library():
    """They are built where nothing can be downloaded."""
    assert "require" not in (programs.SOURCE / "go.mod").read_text("utf-8")


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
@pytest.mark.parametrize(("options", "spoken"), [((), "http/1.1"), (("--http2",), "h2")])
def test_the_go_webhook_speaks_http_2_where_it_is_told_to(tmp_path, options, spoken):
    server = Server(tmp_path, (str(programs.built() / "null"),), *options, pinned=False)
    try:
        server.context.set_alpn_protocols(["h2", "http/1.1"])
        plain = socket.create_connection(("127.0.0.1", server.port))
        with server.context.wrap_socket(plain, server_hostname="localhost") as connection:
            assert connection.selected_alpn_protocol() == spoken
    finally:
        server.process.terminate()
        server.process.wait()


def test_targets_are_asked_by_turns_in_changing_order(tmp_path, monkeypatch):
    targets = [Target(name, tmp_path, tmp_path, ()) for name in "abc"]
    asked = []

    def take(target, way, duration="1s"):
        asked.append(target.url)
        return Taken(len(asked), 0.0, 0.0)

    monkeypatch.setattr(creation, "await_rest", lambda: None)
    monkeypatch.setattr(creation, "take", take)
    found = creation.by_turns(targets, ONE)
    rounds = ["".join(asked[i : i + 3]) for i in range(0, len(asked), 3)]

    assert creation.ROUNDS + 1 == len(rounds)
    assert {"abc"} == {"".join(sorted(one)) for one in rounds}
    assert len(set(rounds)) > 3
    assert [[target.url for _ in range(creation.ROUNDS)] for target in targets] == [
        [asked[int(one.rate) - 1] for one in taken] for taken in found
    ]


@pytest.mark.parametrize(("others", "wanted"), [([0.3, 0.01, 0.0], 0.01), ([0.3, 0.2, 0.4, 0.5, 0.0], 0.2)])
def test_a_second_is_tried_again_if_others_disturb_it(tmp_path, monkeypatch, others, wanted):
    found = iter(others)
    monkeypatch.setattr(creation, "await_rest", lambda: None)
    monkeypatch.setattr(creation, "take", lambda target, way: Taken(1.0, 0.0, 0.0, next(found)))

    taken = creation.undisturbed(Target("a", tmp_path, tmp_path, ()), ONE, lambda: None)

    assert taken.others == wanted


def test_what_other_programs_take_is_seen(tmp_path, monkeypatch):
    busy, mine = iter([10.0, 13.0]), iter([1.0, 0.0, 2.5, 0.0])
    monkeypatch.setattr(creation, "busy", lambda: next(busy))
    monkeypatch.setattr(creation, "cpu", lambda processes: next(mine))
    monkeypatch.setattr(creation.programs, "built", lambda: tmp_path)
    monkeypatch.setattr(creation.os, "cpu_count", lambda: 2)
    clock = iter([0.0, 2.0])
    monkeypatch.setattr(creation, "monotonic", lambda: next(clock))
    (tmp_path / "load").write_text('#!/bin/sh\necho \'{"calls": 100, "seconds": 2, "cpu": 0.5}\'\n')
    (tmp_path / "load").chmod(0o700)

    taken = creation.take(Target("a", tmp_path, tmp_path, ()), ONE)

    assert Taken(50.0, 15_000.0, 20_000.0, 0.25) == taken


def test_a_repository_like_real_ones_has_what_those_have(tmp_path, monkeypatch, capsys):
    """Workloads that an autoscaler of the file scales, templates and patches; and each file can be read."""
    for name in ("CRDS", "DASHBOARDS", "RELEASES", "CHARTS", "TEAMS", "PANELS"):
        monkeypatch.setattr(repository, name, 1)
    files, size = repository.generate(tmp_path)
    code = main(["lint", "-o", "json", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)

    assert (0, files, []) == (code, found["summary"]["files"], found["problems"])
    assert {"counts-tainted-nodes", "rollout-skew"} == {one["rule"] for one in found["findings"]}
    assert {"kustomization", "template"} == {one["reason"] for one in found["notes"]}
    assert size > 500_000


BENCHES = "".join(file.read_text("utf-8") for file in (ROOT / "tests" / "bench").rglob("*.py"))
MARKERS = sorted(re.findall(r'\bfill\("(.+?)"', BENCHES))


def test_every_bench_fills_a_table_of_its_own():
    assert ["bench", "bench calls", "bench dump", "bench lint", "bench lost zone", "bench peers creation"] == MARKERS[
        :6
    ]
    assert ["bench peers lint", "bench peers reviews", "bench placement", "bench policies"] == MARKERS[6:10]
    assert ["bench report", "bench simulation", "bench volumes", "bench-cluster"] == MARKERS[10:]


def test_a_table_is_written_between_its_marks_alone(tmp_path, monkeypatch, capsys):
    (file := tmp_path / "page.md").write_text("a\n<!-- x -->\nold\n<!-- /x -->\nb\n<!-- x y -->\nkept\n<!-- /x y -->\n")
    monkeypatch.setattr(page, "PAGES", (file,))

    def lines():
        yield "| 1 |"
        raise MissingError("no Go")

    page.fill("x", page.as_far_as_possible(lines()), ["head", ""])

    block = "head\n\n| 1 |\nNot measured: no Go\n"
    kept = "b\n<!-- x y -->\nkept\n<!-- /x y -->\n"
    assert f"a\n<!-- x -->\n{block}<!-- /x -->\n{kept}" == file.read_text()
    assert "| 1 |\nNot measured: no Go\n" == capsys.readouterr().out


@pytest.mark.parametrize("marker", MARKERS)
def test_a_table_has_its_marks(marker):
    text = "".join(file.read_text("utf-8") for file in page.PAGES)

    assert 1 == len(re.findall(rf"<!-- {marker} -->\n(?:.*\n)*?<!-- /{marker} -->", text))


def test_the_cpu_time_of_children_counts():
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        found = creation.cpu([process.pid])
        process.stdin.close()

    assert 0.25 < found < 5


BUSY = """
import os, sys, time
if not os.fork():
    while time.process_time() < 0.3:
        pass
    print(flush=True)
sys.stdin.read()
"""
