"""What `evenkeel explain`, and lint, say of the examples of scenarios: what their documents promise."""

from __future__ import annotations

import json

import pytest

from tests.support import ROOT
from tests.support.scenarios import CLUSTER, EXAMPLES, FOLDER, INCOMING, ROWS, RULES, SPREAD, objects
from webhook.cli.main import main

UNEVEN = ROOT / "docs" / "examples" / "report" / "uneven.yaml"


@pytest.fixture
def evenkeel(capsys, monkeypatch):
    """Run a command where the examples are; what it prints, as JSON."""
    monkeypatch.chdir(FOLDER)

    def run(command):
        main(f"{command} -o json".split())
        printed = capsys.readouterr()
        assert "" == printed.err
        return json.loads(printed.out)

    return run


def explained(evenkeel, row):
    """What explain says of the Pod of a row; the Pods of a file are explained in their order."""
    found = evenkeel(f"explain -f {row.example}/{INCOMING} --cluster {row.example}/{CLUSTER}")
    names = [one["metadata"]["name"] for one in objects(row.example, INCOMING)]
    return found.get("items", [found])[names.index(row.incoming)]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_explain_says_which_nodes_fit_and_why_the_others_do_not(evenkeel, row):
    nodes = explained(evenkeel, row)["nodes"]

    assert sorted(row.fits) == [name for name, node in nodes.items() if node["feasible"]]
    reasons = {name: [row.because.get(name, SPREAD)] for name in nodes if name not in row.fits}
    assert reasons == {name: node["reasons"] for name, node in nodes.items() if node["reasons"]}


@pytest.mark.parametrize("row", [row for row in ROWS if row.best], ids=str)
def test_explain_says_which_nodes_score_highest(evenkeel, row):
    scores = {name: node["score"] for name, node in explained(evenkeel, row)["nodes"].items() if node["feasible"]}

    assert sorted(row.best) == sorted(name for name, score in scores.items() if score == max(scores.values()))


def test_explain_says_the_skew_of_row_18(evenkeel):
    (constraint,) = evenkeel(f"explain -f 18-large-skew/{INCOMING} --cluster 18-large-skew/{CLUSTER}")["constraints"]

    # With the Pod itself, which is one more.
    assert [("a", 3 + 1), ("b", 1 + 1), ("c", 0 + 1)] == [(one["value"], one["skew"]) for one in constraint["domains"]]


def test_explain_says_that_a_running_pod_of_row_23_would_be_placed_elsewhere_today(evenkeel):
    found = evenkeel(f"explain pod/web-7d4b9c-8xw7m -n shop --cluster {UNEVEN}")

    assert ("a1", False) == (found["node"], found["nodes"]["a1"]["feasible"])
    assert ["c1"] == [name for name, node in found["nodes"].items() if node["feasible"]]


def test_explain_says_that_the_defaults_of_row_24_are_the_schedulers_own(evenkeel):
    files = f"-f 24-default-constraints/{INCOMING} --cluster 24-default-constraints/{CLUSTER}"
    found = evenkeel(f"explain {files} --policy 24-default-constraints/system.yaml")["constraints"]

    assert [("kubernetes.io/hostname", 3, False), ("topology.kubernetes.io/zone", 5, False)] == [
        (one["topologyKey"], one["maxSkew"], one["hard"]) for one in found
    ]
    assert {"scheduler"} == {one["source"] for one in found}


@pytest.mark.parametrize(
    ("example", "policy", "outcome"),
    [
        ("24-default-constraints", "list", "defaulted"),
        ("24-default-constraints", "system", "allowed"),
        ("24-default-constraints", "none", "allowed"),
        ("25-own-constraint", "policy", "allowed"),
    ],
)
def test_admit_says_who_gets_default_constraints(evenkeel, example, policy, outcome):
    files = f"-f {example}/{INCOMING} --cluster {example}/{CLUSTER} --policy {example}/{policy}.yaml"

    assert outcome == evenkeel(f"admit {files}")["outcome"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_lint_names_the_rule_of_an_example_and_warns_of_nothing_else(evenkeel, example):
    cluster = f" --cluster {example}/{CLUSTER}" if objects(example, CLUSTER) else ""
    found = evenkeel(f"lint {example}/{INCOMING}{cluster}")["findings"]

    named = {RULES[example]} if example in RULES else set()
    assert named <= {one["rule"] for one in found}
    assert {one["rule"] for one in found if one["severity"] != "info"} <= named


def test_lint_names_the_path_of_each_error_of_row_20(evenkeel):
    found = evenkeel(f"lint 20-invalid/{INCOMING}")["findings"]

    errors = [one["field"] for one in found if one["severity"] == "error"]
    assert [
        f"spec.topologySpreadConstraints[0].{name}" for name in ("minDomains", "minDomains", "maxSkew", "maxSkew")
    ] == errors


def test_every_folder_is_an_example():
    """Row 23 is the example SCALED_DOWN."""
    assert [*EXAMPLES] == sorted(folder.name for folder in FOLDER.iterdir())
    assert [f"{number:02}" for number in range(1, 27) if number != 23] == [name[:2] for name in EXAMPLES]
