"""What evenkeel verify prints of its tally."""

from __future__ import annotations

import json

import pytest

from tests.support.build import pod
from webhook.render.verification import Difference, Observation, as_json, in_words, progress, text
from webhook.verification.computation import HARD_PART, VOLUMES_PART
from webhook.verification.decision import OTHER_SCHEDULER, TAKEN_OVER, TOO_MANY_ORDERS, PodDecision
from webhook.verification.judgement import AGREES, DIFFERS, Judged
from webhook.verification.tally import Tally

PLACED = PodDecision(pod(name="web-1"), "n1")
REFUSED = PodDecision(pod(name="web-2"), "", "Unschedulable", "0/3 nodes\nare available")
WRONG = Judged(PLACED, DIFFERS, states=4, parts=(HARD_PART,), computed="n1 passes; n2 would be taken")


def counted(*judged, skipped=0):
    tally = Tally(skipped=skipped)
    for each in judged:
        tally.add(each)
    return tally


@pytest.fixture
def many():
    return counted(
        *[Judged(PLACED, AGREES, states=1, power=0.75, parts=(HARD_PART,))] * 1200,
        *[Judged(PLACED, AGREES, states=2, power=0.0)] * 34,
        *[Judged(PLACED, AGREES, wins=True), Judged(PLACED, AGREES, wins=False)],
        *[Judged(REFUSED, AGREES, states=1, parts=(VOLUMES_PART,))] * 3,
        WRONG,
        *[Judged(PLACED, TAKEN_OVER)] * 2,
        *[Judged(PLACED, OTHER_SCHEDULER), Judged(REFUSED, TOO_MANY_ORDERS)],
        skipped=414,
    )


def test_the_table_and_what_is_to_be_known_of_it(many):
    assert """\
1,239 of 1,240 decisions of kube-scheduler v1.37.1 agree with what evenkeel computes, in 2 h 5 min.

                   compared  agree  differ  power
all                   1,240  1,239       1   0.73
a node was chosen     1,237  1,236       1   0.73
no node was found         3      3       0
hard constraints      1,201  1,200       1   0.75
volumes                   3      3       0

power: how much agreement proves. It is the mean share of the passing nodes that evenkeel would have called wrong.
34 decisions prove nothing: any node that passes would have agreed.
2 decisions had more passing nodes than kube-scheduler scores. For these, evenkeel compares only whether the chosen \
node passes. In 1 of them, the node is also the best of a set that kube-scheduler may have scored.
34 decisions agree, but only if events of the same moment came in another order than evenkeel tried first.
Not compared: 1 another scheduler, 2 by another replica of kube-scheduler, which took over, 1 with too many possible \
orders of events.
414 decisions were skipped, because evenkeel limits itself to half a CPU; 75% of all were judged.""" == text(
        many, Observation("v1.37.1", 7_500)
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "0 s"), (89.4, "89 s"), (90, "2 min"), (3_600, "1 h"), (3_660, "1 h 1 min"), (172_800, "48 h")],
)
def test_times_are_told_in_words(seconds, said):
    assert text(Tally(), Observation("", seconds)) == f"No decision could be compared in {said}."


def test_one_decision_in_a_namespace():
    said = text(counted(Judged(PLACED, AGREES, power=1.0)), Observation("", 5, "shop")).splitlines()[0]

    assert "1 of 1 decision in the namespace shop agrees with what evenkeel computes, in 5 s." == said


def test_what_differs_is_told_in_lines_that_no_name_breaks():
    refused = Judged(REFUSED, DIFFERS, computed="n1 and n2 pass")

    assert [
        "differs: pod/web-2 -n shop: kube-scheduler said: 0/3 nodes\\u000aare available",
        "  computed: n1 and n2 pass",
    ] == in_words(Difference(refused)).splitlines()
    assert [
        "differs: pod/web-1 -n shop: kube-scheduler chose n1",
        "  computed: n1 passes; n2 would be taken",
        "  evenkeel explain pod/web-1 -n shop --cluster 'my cases/0001.jsonl.gz' --kubernetes-version 1.36",
    ] == in_words(Difference(WRONG, "my cases/0001.jsonl.gz"), ["--kubernetes-version", "1.36"]).splitlines()


def test_progress_is_one_line(many):
    assert ("1,240 decisions, 1,239 agree, 1 differ", "0 decisions, 0 agree") == (progress(many), progress(Tally()))


def test_the_same_for_programs(many):
    said = json.loads(as_json(many, Observation("v1.37.1", 7_500.04, "shop", ["n"]), [Difference(WRONG, "f.gz")]))

    assert ("evenkeel.dev/v1alpha1", "Verification") == (said["apiVersion"], said["kind"])
    assert ("v1.37.1", "shop", 7500.0) == (said["kubernetesVersion"], said["namespace"], said["seconds"])
    assert (1240, 1239, 1, 0.729, 34) == tuple(
        said[name] for name in ("compared", "agree", "differ", "power", "powerless")
    )
    assert {"hard constraints": 1201, "volumes": 3} == {name: part["compared"] for name, part in said["parts"].items()}
    assert (3, None) == (said["refused"]["compared"], said["refused"]["power"])
    assert {"compared": 2, "agree": 1} == said["scoredInPart"]
    assert {"another scheduler": 1, "another replica took over": 2, "too many orders": 1} == said["notCompared"]
    assert (34, 414, ["n"]) == (said["inOtherStates"], said["skipped"], said["notes"])
    assert [
        {
            "namespace": "shop",
            "pod": "web-1",
            "node": "n1",
            "message": "",
            "computed": "n1 passes; n2 would be taken",
            "file": "f.gz",
            "command": ["evenkeel", "explain", "pod/web-1", "-n", "shop", "--cluster", "f.gz"],
        }
    ] == said["differences"]
