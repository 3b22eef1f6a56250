"""
What `evenkeel verify` says of a real kube-scheduler in a cluster with churn, and whether it sees what is wrong.

`CHURN=3000 pytest -s tests/e2e/test_verify.py` asks for as many Pods; without it there are fewer.
"""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.e2e.verifying import Churned, churned, judged
from tests.support.commands import script
from webhook.verification.computation import PARTS
from webhook.verification.decision import TOO_MANY_ORDERS

PODS = int(os.environ.get("CHURN") or 850)
LEAST_POWER, LEAST_RATE = 0.5, 10  # decisions in a second


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Churned:
    """What one run has left, which takes a minute."""
    began = time.monotonic()
    made = churned(tmp_path_factory.mktemp("churn"), PODS)
    said = {name: value for name, value in made.said.items() if name not in ("parts", "notes")}
    print(f"\n{json.dumps(said, indent=1)}\n{made.attempts}; {time.monotonic() - began:.0f} s")
    return made


def test_what_is_computed_is_what_a_real_scheduler_decides(run):
    """All but one decision in 1,000; and most would have been called wrong on most of the other nodes."""
    said = run.said
    disagree = said["differ"] + said["notCompared"].get(TOO_MANY_ORDERS, 0)

    assert disagree <= max(1, (said["compared"] + disagree) // 1000), said["differences"]
    assert said["power"] >= LEAST_POWER
    assert said["compared"] >= LEAST_RATE * said["seconds"]
    assert [*PARTS] == [*said["parts"]]
    assert [] == said["notes"]
    assert run.code == (said["differ"] > 0)


def test_no_decision_is_missed(run):
    """Those by which Pods got their nodes are as many as the scheduler counts; preparing a volume may fail later."""
    placed = [of.decision for of in judged(run.recording) if of.decision.node and not of.decision.is_of_others]
    scheduled = run.attempts["scheduled"]

    assert scheduled <= len(placed) <= scheduled + run.attempts.get("error", 0)
    created_with_it = run.said["notCompared"]["created with a nodeName"]
    assert len(run.bound - {decision.key for decision in placed}) <= created_with_it
    assert 0 == run.said["skipped"]


def test_a_recording_is_judged_as_the_cluster_was(run, tmp_path):
    done = script("verify", "--replay", run.recording, "-o", "json", "--cases", tmp_path)
    assert (run.code, "") == (done.returncode, done.stderr)

    assert counts(run.said) == counts(json.loads(done.stdout))


def counts(said: dict) -> dict:
    """All that is said but when, and where the cases are."""
    differences = [{**of, "file": "", "command": []} for of in said["differences"]]
    return {**said, "seconds": 0, "differences": differences}


def test_ctrl_c_prints_the_table(run):
    first, _, *table = run.text.splitlines()

    assert first.startswith("1 of 1 decision of kube-scheduler v1.")
    assert "in the namespace default agrees with what is computed" in first
    assert ["compared", "agree", "differ", "power"] == table[0].split()
    assert ["all", "1", "1", "0"] == table[1].split()[:4]
