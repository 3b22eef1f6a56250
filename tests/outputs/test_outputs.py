"""The commands print, byte for byte, what was recorded; `python -m tests.outputs` records anew."""

from __future__ import annotations

import pytest

from tests.outputs.clusters import cluster
from tests.outputs.commands import ROOT, groups, outputs
from tests.outputs.recorded import read


@pytest.mark.parametrize("group", list(groups()))
def test_every_command_prints_what_was_recorded(group, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)

    printed, recorded = outputs(group, tmp_path), read(group)

    assert list(recorded) == list(printed)
    for line, output in printed.items():
        assert recorded[line] == output, f"evenkeel {line}"


def test_a_seed_always_makes_the_same_cluster_and_another_seed_another():
    assert cluster(1) == cluster(1) != cluster(2)
