"""Random clusters are new each time, and what differs is kept as small as it can be."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from tests.conformance import main as conformance
from tests.conformance.cases import IllFormed
from tests.oracle import live
from tests.oracle.live import differing_cases, keep, main, mixed, smallest, whole_profiles, without_parts
from tests.oracle.recording import inputs
from tests.support import DATA
from webhook.kubernetes.features import LATEST

ALWAYS = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}


def cluster(nodes, pods, *constraints):
    pod = {"metadata": {"namespace": "n", "labels": {}}, "spec": {"topologySpreadConstraints": [*constraints]}}
    placed = [{"metadata": {"name": f"p{i}"}, "spec": {"nodeName": node}} for i, node in enumerate(pods)]
    named = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}} for node in nodes]
    return {"id": "c", "config": {"defaultingType": "List"}, "pod": pod, "nodes": named, "pods": placed}


def test_a_seed_makes_the_same_clusters_and_another_makes_others():
    recorded = inputs(DATA, "placement")
    first, again, other = (list(islice(mixed(recorded, seed), 50)) for seed in (1, 1, 2))

    assert first == again
    assert not {json.dumps(case["pod"]) for case in first} & {json.dumps(case) for case in other}
    assert [case["id"] for case in islice(whole_profiles(3), 9)] == [
        case["id"] for case in islice(whole_profiles(3), 9)
    ]


def test_a_cluster_has_pods_on_its_nodes_and_constraints_that_a_pod_may_have():
    for case in islice(mixed(inputs(DATA, "placement"), 1), 300):
        constraints = case["pod"]["spec"].get("topologySpreadConstraints") or []
        assert {pod["spec"]["nodeName"] for pod in case["pods"]} <= {node["metadata"]["name"] for node in case["nodes"]}
        if len(constraints) <= 3:
            assert len(constraints) == len({(one["topologyKey"], one["whenUnsatisfiable"]) for one in constraints})


def test_what_is_left_out_of_a_cluster_leaves_out_the_pods_on_it():
    smaller = list(without_parts(cluster(["a", "b"], ["a", "b", "b"], ALWAYS)))

    assert [1, 1] == [len(one["nodes"]) for one in smaller[:2]]
    assert [2, 1] == [len(one["pods"]) for one in smaller[:2]]
    assert [0] == [len(one["pod"]["spec"]["topologySpreadConstraints"]) for one in smaller[-1:]]
    assert all(one["nodes"] for one in without_parts(cluster(["a"], ["a"])))


def no_filter(cases):
    """Kubernetes that refuses no node, and says nothing else."""
    return [{"filter": {node["metadata"]["name"]: "Success" for node in case["nodes"]}} for case in cases]


def test_only_what_makes_the_difference_is_kept(monkeypatch, tmp_path, capsys):
    """Here that is a node without the label, and the hard constraint."""
    monkeypatch.setattr(live, "MODES", {"placement": FilterAlone})
    soft = ALWAYS | {"topologyKey": "x", "whenUnsatisfiable": "ScheduleAnyway"}
    case = cluster(["a", "b", "c"], ["a", "a", "b"], soft, ALWAYS)
    (differing,) = differing_cases("placement", [case], no_filter([case]), LATEST)
    found = smallest("placement", differing, no_filter, LATEST)

    assert (1, 0, [ALWAYS]) == (
        len(found["nodes"]),
        len(found["pods"]),
        found["pod"]["spec"]["topologySpreadConstraints"],
    )
    path = keep(found, "placement", "1.37", tmp_path)
    assert 1 == conformance(["placement", str(path)])
    assert "filter: ours" in capsys.readouterr().out


def test_a_case_that_cannot_be_read_differs(monkeypatch):
    monkeypatch.setattr(live, "MODES", {"placement": Unreadable})

    assert "no nodes" == live.difference("placement", cluster([], []), LATEST)


class Unreadable:
    @staticmethod
    def differences(case, known):
        raise IllFormed("no nodes")


class FilterAlone:
    @staticmethod
    def differences(case, known):
        return (found for found in live_differences(case, known) if found.what == "filter")


live_differences = live.MODES["placement"].differences


@pytest.mark.parametrize(("agreeing", "status"), [(True, 0), (False, 1)])
def test_the_status_says_whether_anything_differs(agreeing, status, monkeypatch, capsys):
    monkeypatch.setattr(live, "program", lambda version: "oracle")
    monkeypatch.setattr(live, "ask", lambda oracle, mode, cases: [{} for _ in cases])
    monkeypatch.setattr(live, "BATCHES", {"placement": 3, "profile": 3})
    monkeypatch.setattr(live, "difference", lambda mode, case, known: "" if agreeing else "filter")
    monkeypatch.setattr(live, "smallest", lambda mode, case, asked, known: case)
    monkeypatch.setattr(live, "keep", lambda case, mode, version: "FILE")

    assert status == main({"SECONDS": "1", "SEED": "4"})
    printed = capsys.readouterr().out
    assert "seed 4" in printed
    assert agreeing is ("FILE" not in printed)


@pytest.mark.parametrize("environment", [{"SECONDS": "soon"}, {"KUBERNETES": "1.37"}])
def test_a_wrong_setting_is_told_in_a_line(environment, capsys):
    assert 2 == main(environment)
    assert 1 == len(capsys.readouterr().err.splitlines())
