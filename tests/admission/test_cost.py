"""What is too large to judge, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest

from tests.support.build import (
    constraint,
    pod,
)
from tests.support.review import Case, at_validate, deployment, validate
from tests.support.said import NOT_JUDGED
from webhook.admission.cost import TooLarge, weigh
from webhook.kubernetes.workload import MOST_TEMPLATES, parse_workloads

LARGE = constraint(labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"] * 801}]})
HARD = "{rules: {hard-constraint: {severity: error, enforced: true}}}"
CASES = [
    Case("size is no way around an enforced rule", at_validate(pod(LARGE), rules=HARD), refused=True, audited=False),
    Case(
        "where it was so before",
        at_validate(deployment(LARGE, template={"a": "b"}), deployment(LARGE), rules=HARD),
        warned=(NOT_JUDGED,),
        audited=False,
    ),
    Case(
        "where it was so before, and errors deny",
        at_validate(deployment(LARGE, template={"a": "b"}), deployment(LARGE), rules="{onError: Deny}"),
        warned=(NOT_JUDGED,),
        audited=False,
    ),
    Case(
        "scaling what is too large to judge",
        at_validate(
            deployment(LARGE, spec={"replicas": 9, "template": deployment(LARGE)["spec"]["template"]}),
            deployment(LARGE),
            rules="{onError: Deny}",
        ),
        audited=False,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_too_large(case):
    case.check()


@pytest.mark.parametrize(("on_error", "allowed"), [("Allow", True), ("Deny", False)])
def test_what_is_too_large_to_judge_is_answered_as_the_policy_says(on_error, allowed):
    decision = validate(pod(*[constraint(topologyKey=f"k{i}") for i in range(101)]), rules=f"{{onError: {on_error}}}")

    assert allowed == decision.allowed
    assert "found 101 constraints, at most 100 can be judged" in (*decision.warnings, str(decision.status))[0]


class Weight(NamedTuple):
    """Workloads, by the lists of their constraints, and what is said where they are too many."""

    name: str
    lists: Sequence[object]
    said: str = ""


def values(count):
    """A list of one constraint that holds so many values, itself among them."""
    return [{"matchLabelKeys": ["a"] * (count - 2)}]


WEIGHTS = [
    Weight("as many constraints as can be judged", [[{}] * 100]),
    Weight("one more", [[{}] * 101], "found 101 constraints, at most 100 can be judged"),
    Weight("one more in another list", [[{}] * 100, [{}]], "found 101 constraints, at most 100 can be judged"),
    Weight("as many values as can be judged", [values(700)]),
    Weight("a value more", [values(701)], "found more than 700 values in constraints, no more can be judged"),
    Weight("a value more in two lists", [values(350), values(351)], "found more than 700 values in constraints, …"),
    Weight("what is no list", [None, "x" * 1_000, {"a": "b"}]),
    Weight("as many templates as can be judged", [[]] * MOST_TEMPLATES),
    Weight("a template more", [[]] * (MOST_TEMPLATES + 1), "found more than 50 Pod templates, no more can be judged"),
]


@pytest.mark.parametrize("case", WEIGHTS, ids=lambda case: case.name)
def test_how_much_can_be_judged(case):
    (one,) = parse_workloads(deployment())
    workloads = [replace(one, raw_constraints=raw) for raw in case.lists]

    if not case.said:
        weigh(workloads)
        return
    with pytest.raises(TooLarge, match=f"^{case.said.rstrip('…')}"):
        weigh(workloads)
