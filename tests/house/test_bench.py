"""What `make bench` needs and writes: where Go is missing it says so, and each of its tables has its marks."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.bench import creation, programs
from tests.support import ROOT
from tests.support.kubernetes_source import MissingError


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

    assert ["Not measured: there is none", "", "| a row |", ""] == list(creation.rows(tmp_path))


def test_the_programs_use_nothing_but_the_standard_library():
    """They are built where nothing can be downloaded."""
    assert "require" not in (programs.SOURCE / "go.mod").read_text("utf-8")


@pytest.mark.parametrize("marker", ["bench", "bench calls", "bench-cluster", "bench dump", "bench lint"])
def test_a_table_has_its_marks(marker):
    text = (ROOT / "docs" / "performance.md").read_text("utf-8")

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
