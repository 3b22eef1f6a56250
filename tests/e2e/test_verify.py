"""
What `evenkeel verify` says of a real kube-scheduler in a cluster with churn, and whether it sees what is wrong.

`CHURN=3000 pytest -s tests/e2e/test_verify.py` asks for as many Pods; without it there are fewer.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.churn import DECLARED_SINCE
from tests.e2e.programs import version
from tests.e2e.verifying import (
    ALONE,
    REFUSED,
    Churned,
    Drawn,
    changed,
    churned,
    delayed,
    drawn,
    judged,
    on_another_node,
)
from tests.support.commands import script
from webhook.scheduler.profile import (
    FILTERS,
    NODE_AFFINITY,
    NODE_DECLARED_FEATURES,
    NODE_NAME,
    NODE_PORTS,
    NODE_UNSCHEDULABLE,
    USUAL_PROFILE,
    VOLUME_BINDING,
    WEIGHTS,
    Profile,
)
from webhook.verification.computation import NODE_AFFINITY_PART, PARTS, PORTS_PART
from webhook.verification.decision import TOO_MANY_ORDERS
from webhook.verification.judgement import AGREES, DIFFERS, Judged

PODS = int(os.environ.get("CHURN") or 850)
FEW = 200  # Of so many decisions at least one shows what is wrong; of some plugins those in which they take part.
PARTS_OF = {NODE_AFFINITY: NODE_AFFINITY_PART, NODE_PORTS: PORTS_PART}
# NodeUnschedulable refuses what TaintToleration would refuse next, so that messages alone tell. kube-scheduler does not
# look at a Pod with a nodeName, and no Pod asks for a feature of which the API server has not heard.
FEW_PODS = (*REFUSED, NODE_UNSCHEDULABLE)
NOT_ASKED = (NODE_NAME, *((NODE_DECLARED_FEATURES,) if version().minor < DECLARED_SINCE else ()))
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
    """
    All but one decision in 1,000 that is compared, one of a short run; few are not, since there are too many orders.

    Most decisions would have been called wrong on most of the other nodes.
    """
    said = run.said
    undecided = said["notCompared"].get(TOO_MANY_ORDERS, 0)

    assert said["differ"] <= max(1, said["compared"] // 1000), said["differences"]
    assert undecided <= max(3, said["compared"] // 200)
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
    assert "in the namespace default agrees with what evenkeel computes" in first
    assert ["compared", "agree", "differ", "power"] == table[0].split()
    assert ["all", "1", "1", "0"] == table[1].split()[:4]


@pytest.fixture(scope="module")
def agreeing(run) -> set[tuple[tuple[str, str], float]]:
    """The decisions that agree, each by its Pod and time."""
    return {place(of) for of in judged(run.recording) if of.verdict == AGREES}


def place(of: Judged) -> tuple[tuple[str, str], float]:
    return of.decision.key, of.seconds


def rate(recording: Path, agreeing: set, profile: Profile = USUAL_PROFILE, part: str = "") -> tuple[int, int]:
    """
    Return how many decisions with a part differ that agree otherwise, and of how many.

    It ends where these are few enough for one that differs.
    """
    differ = number = 0
    for of in judged(recording, profile):
        if place(of) in agreeing and (not part or part in of.parts):
            number += 1
            differ += of.verdict == DIFFERS
            if differ and number <= FEW * differ:
                break
    return differ, number


@pytest.mark.parametrize(
    "plugin", [name for name in WEIGHTS if name != VOLUME_BINDING]
)  # It scores nothing by default.
def test_a_wrong_weight_is_found(run, agreeing, plugin):
    weights = {**WEIGHTS, plugin: 2 * WEIGHTS[plugin]}
    differ, number = rate(run.recording, agreeing, Profile(weights=weights), PARTS_OF.get(plugin, ""))

    assert differ and number <= FEW * differ


@pytest.mark.parametrize("plugin", [name for name in FILTERS if name not in (*FEW_PODS, *NOT_ASKED)])
def test_a_filter_that_is_left_out_is_found(run, agreeing, plugin):
    differ, number = rate(run.recording, agreeing, without(plugin), PARTS_OF.get(plugin, ""))

    assert differ and number <= FEW * differ


@pytest.mark.parametrize("plugin", FEW_PODS)
def test_a_filter_that_decides_of_few_pods_is_found_where_it_is_left_out(run, agreeing, plugin):
    refused = {("default", name) for name in REFUSED.values()}
    since = min(seconds for key, seconds in agreeing if key in refused)
    last = [of for of in judged(run.recording, without(plugin), since) if place(of) in agreeing]

    assert len(last) <= FEW
    assert refused & {of.decision.key for of in last if of.verdict == DIFFERS}


def without(plugin: str) -> Profile:
    return Profile(filters=tuple(name for name in FILTERS if name != plugin), pre_filters=frozenset(FILTERS) - {plugin})


def test_a_stale_snapshot_is_found(run, agreeing, tmp_path):
    recording = changed(run.recording, tmp_path / "delayed.jsonl.gz", partial(delayed, seconds=0.5))
    differ, number = rate(recording, {(key, time) for key, time in agreeing})

    assert differ and number <= FEW * differ


@pytest.fixture(scope="module")
def draws(run) -> list[Drawn]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return drawn(run.recording, monkeypatch)


def test_a_wrong_node_is_called_wrong_about_as_often_as_the_power_says(draws):
    """Some are excused by a state that was not tried for the real node, and of some there are too many states."""
    power = sum(of.right.power for of in draws) / len(draws)
    verdicts = Counter(of.other.verdict for of in draws)
    print(f"\n{len(draws)} nodes drawn, power {power:.3f}: {dict(verdicts)}")

    assert power - 0.15 <= verdicts[DIFFERS] / len(draws) <= power + 0.05
    assert power - 0.1 <= (verdicts[DIFFERS] + verdicts[TOO_MANY_ORDERS]) / len(draws)


def test_one_wrong_decision_is_reported(run, draws, tmp_path):
    """With a file for `evenkeel explain`, which shows the same scores."""
    before = run.said["differ"]
    (alone,) = [of for of in draws if of.right.decision.key == ("default", ALONE)]
    scores = alone.scores
    chosen, *_, wrong = sorted(scores, key=scores.__getitem__, reverse=True)
    assert alone.right.power == pytest.approx(1 - 1 / len(scores))
    recording = changed(run.recording, tmp_path / "wrong.jsonl.gz", partial(on_another_node, name=ALONE, node=wrong))
    done = script("verify", "--replay", recording, "-o", "json", "--cases", tmp_path / "cases")
    assert (1, "") == (done.returncode, done.stderr)

    said = json.loads(done.stdout)
    assert (before + 1, run.said["compared"]) == (said["differ"], said["compared"])
    (difference,) = [of for of in said["differences"] if of["pod"] == ALONE]
    assert difference["node"] == wrong
    assert difference["computed"] == f"{wrong} passes, but {chosen} has a higher score"
    explained = script(*difference["command"][1:], "-o", "json")
    assert (0, "") == (explained.returncode, explained.stderr)
    assert scores == shown_scores(json.loads(explained.stdout))


def shown_scores(explained: dict) -> dict[str, int]:
    """The score of each node that passes, in the JSON of `evenkeel explain`."""
    return {name: node["score"] for name, node in explained["nodes"].items() if node["feasible"]}
