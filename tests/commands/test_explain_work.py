"""How much work an explanation is, counted in calls of functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.bench.cluster import ZONES
from tests.bench.growth import ASKED, NAMESPACE, Size, cluster
from tests.support.dump_file import write_dump
from webhook.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "docs/examples/waiting/cluster.yaml"


def calls(*argv):
    """How many functions of Python and of C a command calls, once all that it imports is there."""
    main(argv)
    counted = 0

    def count(_frame, event, _argument):
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        main(argv)
    finally:
        sys.setprofile(before)
    return counted


def test_an_explanation_of_a_pod_in_a_small_cluster_is_little_work(capsys):
    """Once it simulated 100 rollouts, in 600,000 calls."""
    made = calls("explain", "pod/web-7d4b9c-x2x5p", "-n", "shop", "--cluster", str(EXAMPLE))

    assert "3 Pods wait" in capsys.readouterr().out
    assert made < 60_000


@pytest.mark.slow
def test_the_work_grows_no_faster_than_the_replicas(tmp_path, capsys):
    size = Size(nodes=30, pods=100, workloads=5)

    def explaining(factor):
        dump = write_dump(tmp_path / f"{factor}.jsonl.gz", cluster(size.times("replicas", factor), ZONES[2]))
        return calls("explain", ASKED, "-n", NAMESPACE, "--cluster", str(dump))

    assert explaining(16) < 16 * explaining(1)
    assert "all 320 Pods run in the end" in capsys.readouterr().out
