"""What a check of a policy prints: notes on it and on a copy, differences, and `ok` where there is none of these."""

from __future__ import annotations

import json

from evenkeel.policy.check_text import ComparedCopy, as_json, text
from evenkeel.policy.export import KARPENTER, KUBE_SCHEDULER

SAME = ComparedCopy("s", KUBE_SCHEDULER, ["old"], [])
OTHER = ComparedCopy("s", KUBE_SCHEDULER, [], ["profiles: found none"])


def test_notes_come_first_and_ok_last():
    assert "p: note: a\np: note: b\np: ok" == text("p", [], ["a", "b"])
    assert "p: note: a\ns: note: old\np: ok" == text("p", [], ["a"], SAME)


def test_what_differs_is_not_ok():
    assert ["s: profiles: found none", "s: run evenkeel policy export --for kube-scheduler, merge"] == [
        line[:57] for line in text("p", [], [], OTHER).splitlines()
    ]
    assert "s: run evenkeel policy export --for karpenter, replace" == text(
        "p", [], [], OTHER._replace(program=KARPENTER)
    ).splitlines()[-1].removesuffix(" this file by what it prints, and restart Karpenter")


def test_what_has_errors_is_not_ok():
    assert "p: error: b\np: note: a" == text("p", ["b"], ["a"])
    assert ["b"] == json.loads(as_json("p", ["b"], []))["errors"]


def test_a_name_controls_no_terminal():
    assert "p: note: \\u001b[31m\np: ok" == text("p", [], ["\x1b[31m"])


def test_for_programs():
    fields = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "PolicyCheck", "file": "p", "errors": [], "notes": ["a"]}

    assert {**fields, "against": None} == json.loads(as_json("p", [], ["a"]))
    against = {"file": "s", "program": "kube-scheduler", "notes": [], "differences": ["profiles: found none"]}
    assert {**fields, "against": against} == json.loads(as_json("p", [], ["a"], OTHER))
