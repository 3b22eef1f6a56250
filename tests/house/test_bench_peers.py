"""`make bench-peers`: the arithmetic of its tables, what it asks, and what it says of a program that is not there."""

from __future__ import annotations

import json
import os

import pytest
import yaml

from tests.bench.peers import __main__ as tables
from tests.bench.peers import figures, programs
from tests.bench.peers.judged import BROKEN, GOOD, RULES, Verdict, review, verdict
from tests.bench.peers.measuring import asking
from tests.bench.peers.webhooks import POLICIES
from tests.support.build import FEATURES, snapshot
from tests.support.kubernetes_source import MissingError
from tests.support.processes import pss_megabytes, with_descendants
from tests.support.review import review as decide
from webhook.admission.request import VALIDATE
from webhook.policy.parsing import parse_policy


def test_a_figure_is_the_median_with_the_least_and_the_most():
    assert "2,000 (9–3,000)" == figures.span([3_000, 9, 2_000])
    assert "1.50 (1.00–2.00)" == figures.span([1, 2], 2)


def test_ratios_are_those_of_the_same_rounds():
    assert "2.00 (0.50–3.00)" == figures.ratios([1, 20, 6], [2, 10, 2])


def test_all_have_a_turn_in_each_round_in_changing_order():
    rounds = [[name for i, name in figures.by_turns(6, "abcd") if i == number] for number in range(6)]

    assert {"abcd"} == {"".join(sorted(names)) for names in rounds}
    assert len({tuple(names) for names in rounds}) > 3


def test_memory_is_that_of_a_process_and_its_children():
    assert os.getpid() in with_descendants(os.getppid())
    assert 1 < pss_megabytes(os.getpid()) < 10_000


def test_a_verdict_names_the_rules_of_the_message():
    denied = {"uid": "1", "allowed": False, "status": {"message": "spread: excessive-max-skew: 6 > 5 (empty-selector)"}}

    assert Verdict(False, frozenset({"empty-selector", "excessive-max-skew"})) == verdict({"response": denied})
    assert Verdict(True, frozenset()) == verdict({"response": {"uid": "1", "allowed": True}})


def test_each_rule_is_broken_and_each_policy_names_it():
    assert set(RULES) == {rule for rule, _ in BROKEN}
    for file in POLICIES.iterdir():
        text = file.read_text("utf-8")
        assert [] == [rule for rule in RULES if rule not in text], file
        assert list(yaml.safe_load_all(text))


@pytest.mark.parametrize(("rule", "made"), [*BROKEN, (None, GOOD)])
def test_evenkeel_judges_as_the_others_shall(rule, made):
    policy = parse_policy((POLICIES / "evenkeel.yaml").read_text("utf-8"))
    decision = decide(json.loads(review(made))["request"], VALIDATE, policy, snapshot(), FEATURES)

    assert (rule is None, [rule] if rule else []) == (decision.allowed, [one for one in RULES if one in str(decision)])


def test_the_api_server_asks_for_pods_of_one_namespace():
    (entry,) = asking("/v1/admit")["webhooks"]

    assert "https://localhost/v1/admit" == entry["clientConfig"]["url"]
    assert {"kubernetes.io/metadata.name": "bench-peers"} == entry["namespaceSelector"]["matchLabels"]


def test_what_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBE_LINTER", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)

    with pytest.raises(MissingError, match=r"^Kyverno v\S+ is built with Go: install it from https://go\.dev/dl/"):
        programs.built(programs.KYVERNO)
    assert ["Not measured: kube-linter is not on the PATH: install it, or set KUBE_LINTER to it"] == list(
        tables.as_far_as_possible(tables.linted(tmp_path, 1))
    )
