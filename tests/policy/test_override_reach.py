"""`policy check` names overrides that never apply, selectors that leave nothing out, and days that come to an end."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import pytest

from tests.support.build import policy
from webhook.policy.override_reach import ends
from webhook.policy.policy import ENDED, ENDS_SOON, Override, covered_by

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


TEAMS = [by_namespace({"env": "prod", "team": f"t{i}"}, {"key": "tier", "operator": "Exists"}) for i in range(1_000)]
MANY = {
    "a team each": TEAMS,
    "an application each": [{**PODS, **team, "podSelector": team["namespaceSelector"]} for team in TEAMS],
    "a scheduler each": [by_namespace(TEAM, schedulerName=f"s{i}") for i in range(1_000)],
    "the same for all": [by_namespace(TEAM)] * 1_000,
    "all but one each": [by_namespace({"env": "prod"}, term("NotIn", f"t{i}")) for i in range(1_000)],
    "some values each": [by_namespace(None, term("In", f"t{i}", f"t{i + 1}")) for i in range(1_000)],
}


@pytest.mark.parametrize("conditions", MANY.values(), ids=MANY)
def test_the_work_grows_with_the_number_of_overrides_and_not_with_that_of_pairs(conditions, monkeypatch):
    compared, covers = [], Override.covers
    monkeypatch.setattr(Override, "covers", lambda self, later: compared.append(later) or covers(self, later))
    policy(overrides=[{"name": f"o{i}", **each} for i, each in enumerate(conditions)])

    assert len(compared) <= 2 * len(conditions)


def test_what_covers_an_override_is_found_as_by_comparing_each_pair():
    chance = Random(1)
    terms = [("team", operator) for operator in ("In", "NotIn", "Exists", "DoesNotExist")] + [("env", "In")]

    def selector():
        chosen = chance.sample(terms, chance.choice((0, 1, 1, 2)))
        valued = [(key, operator, chance.sample("abc", chance.choice((1, 2)))) for key, operator in chosen]
        return {
            "matchExpressions": [
                {"key": key, "operator": operator, **({"values": values} if "In" in operator else {})}
                for key, operator, values in valued
            ]
        }

    def conditions():
        given = {"namespaceSelector": selector(), "podSelector": selector(), "schedulerName": chance.choice("xy")}
        return {name: given[name] for name in chance.sample([*given], chance.choice((1, 2)))}

    found = 0
    for _ in range(200):
        overrides = policy(overrides=[{"name": f"o{i}", **conditions()} for i in range(8)]).overrides
        first = {
            i: next((j for j, other in enumerate(overrides[:i]) if other.covers(override)), None)
            for i, override in enumerate(overrides)
        }
        covered = covered_by(overrides)
        found += len(covered)

        assert {i: j for i, j in first.items() if j is not None} == covered
    assert found > 100
