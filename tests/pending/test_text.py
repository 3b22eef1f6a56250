"""The Pods that wait, as text and JSON."""

from __future__ import annotations

import json

import pytest

from evenkeel.explain.changes_text import run_then
from evenkeel.explain.text import TRIED_AGAIN
from evenkeel.pending.groups import PASSES, Group, PendingList, Runs
from evenkeel.pending.text import Surroundings, as_json, text
from evenkeel.placement.closed_nodes import ClosedNodes
from evenkeel.placement.remedies import IN_TEMPLATE, NOW, Remedy
from tests.support.placing import attempted

CAUSE = "0/1 nodes are available: 1 node(s) were unschedulable."


def listed():
    remedy = Remedy("uncordon n1", NOW, ("n1",), attempted())
    return PendingList(
        (
            Group("shop", "apps", "Deployment/web", CAUSE, ("a", "b", "c", "d"), remedy, Runs(4, 4), stuck=5),
            Group("shop", "batch", "Job/\x1b[31m", CAUSE, ("e",), None, tried=False),
        ),
        4,
        5,
    )


def test_as_text():
    around = Surroundings(notes=["Services cannot be listed."], assumed=["1.37 is assumed."])

    assert [
        "5 Pods could not be placed.",
        "Services cannot be listed.",
        "Deployment/web in shop, 4 Pods: a, b, c, d",
        f"  {CAUSE}",
        "  now: uncordon n1: 4 of 5 waiting Pods then run",
        "  for each node, and what else helps: evenkeel explain pod/a -n shop",
        "Job/\\u001b[31m in shop, 1 Pod: e",
        f"  {CAUSE}",
        "  no change was tried; to try changes: evenkeel explain pod/e -n shop",
        "1 more Pod waits: SchedulingGated.",
        "1.37 is assumed.",
        "evenkeel's arithmetic agrees with what kube-scheduler said for 4 of 5 Pods; evenkeel explain shows both.",
    ] == [line for line in text(listed(), {"SchedulingGated": 1}, around).splitlines() if line]


def test_what_is_known_of_taints_stands_before_the_change():
    remedy = Remedy("add a node", NOW, ("new",), attempted())
    closed = (ClosedNodes("a/b", ("n1",), "wait"),)
    group = Group("shop", "apps", "Deployment/web", CAUSE, ("a",), remedy, Runs(1, 1), stuck=1, closed=closed)
    listed = PendingList((group,), 0, 0)

    assert ["  n1 has the taint a/b: wait", "  now: add a node: it then runs"] == text(listed, {}).splitlines()[-3:-1]
    (shown,) = json.loads(as_json(listed, {}))["groups"]
    assert [{"taint": "a/b", "nodes": ["n1"], "advice": "wait"}] == shown["closed"]


def test_a_pod_of_its_own_has_no_template():
    softer = Remedy("softer", IN_TEMPLATE, ("n1",), attempted())
    groups = (
        Group("shop", "", "Pod shop/a", CAUSE, ("a",), softer, Runs(1, 1), stuck=2),
        Group("shop", "batch", "Job/b", CAUSE, ("b",), softer, Runs(1, 1), stuck=2),
    )
    found = text(PendingList(groups, 0, 0), {}).splitlines()

    assert "  in the Pod, created again: softer: 1 of 2 waiting Pods then runs" in found
    assert "  template: softer: 1 of 2 waiting Pods then runs" in found
    assert 1 == sum("the rollout was not simulated" in line for line in found)


def test_a_change_of_a_template_starts_a_rollout_that_was_not_simulated():
    softer = Remedy("softer", IN_TEMPLATE, ("n1",), attempted())
    group = Group("shop", "apps", "Deployment/web", CAUSE, ("a", "b"), softer, Runs(1, 1), stuck=2)
    found = text(PendingList((group,), 0, 0), {}).splitlines()

    assert "  the rollout was not simulated; to simulate it: evenkeel explain pod/a -n shop" == found[-1]


@pytest.mark.parametrize(
    ("runs", "stuck", "said"),
    [
        ((1, 1), 1, "it then runs"),
        ((0, 1), 1, "it then runs if kube-scheduler tries it before other Pods"),
        ((2, 2), 2, "both waiting Pods then run"),
        ((1, 2), 2, "1–2 of 2 waiting Pods then run"),
        ((3, 3), 4, "3 of 4 waiting Pods then run"),
    ],
)
def test_how_many_run_as_far_as_it_is_known(runs, stuck, said):
    assert said == run_then(Runs(*runs), stuck)


def test_why_none_is_listed_comes_first():
    out = text(PendingList((), 0, 0), {"b": 1, "a": 2}, Surroundings("No Pod waits.")).splitlines()

    assert ["No Pod waits.", "2 Pods wait: a.", "1 Pod waits: b."] == [line for line in out if line]


@pytest.mark.parametrize(
    ("stuck", "together", "said"),
    [
        (1, True, "3 Pods could not be placed. 1 of them needs a change."),
        (3, True, "3 Pods could not be placed."),
        (1, False, "3 Pods could not be placed."),
    ],
)
def test_how_many_of_those_listed_need_a_change(stuck, together, said):
    """Changes are said to help so many of these, not of all that are listed."""
    groups = (
        Group("shop", "apps", "Deployment/web", CAUSE, ("a",), Remedy("add", NOW, (), attempted()), stuck=stuck),
        Group("shop", "apps", "Deployment/web", PASSES, ("b", "c"), None, run_now=2),
    )

    assert said == text(PendingList(groups, 0, 0, together), {}).splitlines()[0]


@pytest.mark.parametrize(("run_now", "said"), [(1, "1 of the 2 gets a node; "), (2, "")])
def test_how_many_get_a_node_that_passes_now(run_now, said):
    group = Group("shop", "apps", "Deployment/web", f"{PASSES} (n1)", ("a", "b"), None, run_now=run_now)
    line = text(PendingList((group,), 0, 0), {}).splitlines()[4]

    assert f"  {f'one after the other, {said}' if said else ''}{TRIED_AGAIN}" == line


def test_what_is_not_judged_is_said():
    group = Group("shop", "apps", "Deployment/web", CAUSE, ("a",), None, gaps=("volumes",))
    group_list = PendingList((group,), 0, 0)

    assert "  volumes are not judged" in text(group_list, {}).splitlines()
    assert ["volumes"] == json.loads(as_json(group_list, {}))["groups"][0]["notJudged"]


def test_as_json():
    around = Surroundings(notes=["Services cannot be listed."], assumed=["1.37 is assumed."], elsewhere={"b": 1})
    found = json.loads(as_json(listed(), {"SchedulingGated": 1}, around))

    assert (["Services cannot be listed.", "1.37 is assumed."], {"b": 1}) == (found["notes"], found["elsewhere"])

    assert ("PendingList", 4, 5, {"SchedulingGated": 1}) == tuple(
        found[name] for name in ("kind", "agree", "compared", "others")
    )
    numbers = {"frees": 4, "freesAtMost": 4, "stuck": 5}
    remedy = {"change": "uncordon n1", "where": "now", "lastResort": False, **numbers, "byItself": "", "commands": []}
    assert [remedy, None] == [one["remedy"] for one in found["groups"]]
    assert ("batch", ["e"]) == (found["groups"][1]["apiGroup"], found["groups"][1]["pods"])
