"""`policy check` names overrides that never apply, selectors that leave nothing out, and days that come to an end."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.build import policy
from webhook.policy.policy import ENDED, ENDS_SOON
from webhook.policy.reach import ends

TEAM, ENV = {"team": "a"}, {"env": "prod"}


def by_namespace(labels=None, *expressions, **fields):
    selector = {"matchLabels": labels or {}, "matchExpressions": [*expressions]}
    return {"namespaceSelector": {name: value for name, value in selector.items() if value}, **fields}


def term(operator, *values):
    return {"key": "team", "operator": operator, **({"values": [*values]} if values else {})}


class Case(NamedTuple):
    """The conditions of each override; `notes` begin so, in their order."""

    name: str
    overrides: tuple
    notes: tuple = ()


PODS, OTHER = {"podSelector": {"matchLabels": {"app": "web"}}}, {"schedulerName": "gpu"}
SAME, PART = (
    "overrides[1]: never applies: overrides[0] matches the same",
    "overrides[1]: never applies: overrides[0] ma…",
)
CASES = [
    Case("two that differ", (by_namespace(TEAM), by_namespace(ENV))),
    Case("the narrow one first", (by_namespace(TEAM | ENV), by_namespace(TEAM))),
    Case("the narrow one last", (by_namespace(TEAM), by_namespace(TEAM | ENV)), (PART,)),
    Case("one of some values", (by_namespace(None, term("In", "a", "b")), by_namespace(TEAM)), (PART,)),
    Case("more values than that", (by_namespace(TEAM), by_namespace(None, term("In", "a", "b")))),
    Case("any value", (by_namespace(None, term("Exists")), by_namespace(TEAM)), (PART,)),
    Case(
        "not some values",
        (by_namespace(None, term("NotIn", "b")), by_namespace(None, term("NotIn", "b", "c"))),
        (PART,),
    ),
    Case("not another value", (by_namespace(None, term("NotIn", "b")), by_namespace(TEAM)), (PART,)),
    Case("no such label", (by_namespace(None, term("NotIn", "b")), by_namespace(None, term("DoesNotExist"))), (PART,)),
    Case("the same twice", (by_namespace(TEAM), by_namespace(TEAM)), (SAME,)),
    Case("the same in other words", (by_namespace(TEAM), by_namespace(None, term("In", "a"))), (SAME,)),
    Case("one condition less", (by_namespace(TEAM), by_namespace(TEAM, **PODS)), (PART,)),
    Case("one condition more", (by_namespace(TEAM, **PODS), by_namespace(TEAM))),
    Case("of Pods, and of namespaces", (PODS, by_namespace(TEAM))),
    Case("of Pods in any namespace", (PODS, by_namespace(TEAM, **PODS)), (PART,)),
    Case("for one scheduler", (by_namespace(TEAM, **OTHER), by_namespace(TEAM))),
    Case("for one scheduler, after all", (by_namespace(TEAM), by_namespace(TEAM, **OTHER)), (PART,)),
    Case("until a day", (by_namespace(TEAM, until="2027-01-31"), by_namespace(TEAM))),
    Case("until a later day", (by_namespace(TEAM, until="2027-01-31"), by_namespace(TEAM, until="2027-02-01"))),
    Case(
        "until the same day", (by_namespace(TEAM, until="2027-01-31"), by_namespace(TEAM, until="2027-01-31")), (SAME,)
    ),
    Case("always, and until a day", (by_namespace(TEAM), by_namespace(TEAM, until="2027-01-31")), (PART,)),
    Case(
        "everything first",
        (by_namespace(), by_namespace(TEAM)),
        ("overrides[0].namespaceSelector: {} matches every namespace, so no later override applies; put it last", PART),
    ),
    Case(
        "everything last",
        (by_namespace(TEAM), {"podSelector": {}}),
        ("overrides[1].podSelector: {} matches every Pod; move its settings to the top of the policy",),
    ),
    Case(
        "one of two is empty",
        (by_namespace(TEAM, podSelector={}),),
        ("overrides[0].podSelector: {} matches every Pod; delete it, or give it labels",),
    ),
    Case(
        "everything of one scheduler",
        ({"podSelector": {}, **OTHER}, by_namespace(TEAM)),
        ("overrides[0].podSelector: {} matches every Pod; delete it",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_overrides_reach(case):
    notes = policy(overrides=[{"name": f"o{i}", **each} for i, each in enumerate(case.overrides)]).notes

    assert len(case.notes) == len(notes), notes
    for wanted, note in zip(case.notes, notes, strict=True):
        assert note.startswith(wanted.removesuffix("…"))


TODAY = "2027-01-31"
DAYS = {
    "2027-01-30": (
        ENDED,
        "overrides[0].until: 2027-01-30 has passed: a no longer applies; delete it, or write a later day",
    ),
    "2027-01-31": (ENDS_SOON, "overrides[0].until: 2027-01-31 is today: a does not apply after that day"),
    "2027-02-01": (ENDS_SOON, "overrides[0].until: 2027-02-01 is tomorrow: a does not apply after that day"),
    "2027-03-02": (ENDS_SOON, "overrides[0].until: 2027-03-02 is in 30 days: a does not apply after that day"),
    "2027-03-03": (None, ""),
}


@pytest.mark.parametrize("until", DAYS)
def test_what_ends_is_told_a_month_before(until):
    found = ends(policy(overrides=[{"name": "a", **OTHER, "until": until}]), TODAY)
    state, line = DAYS[until]

    assert {name: [line] if name == state else [] for name in (ENDED, ENDS_SOON)} == found


def test_what_has_no_end_does_not_end():
    assert {ENDED: [], ENDS_SOON: []} == ends(policy(overrides=[{"name": "a", **OTHER}]), "9999-12-31")
