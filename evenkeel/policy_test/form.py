"""
A test of a policy: the form of its file, and whether the answers are those that it expects.

    text ──parse_policy_test──> PolicyTest ──dry_run of each case──> Applied ──judge──> Result
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from evenkeel.admit.dry_run import Applied
from webhook.admission.decision import Outcome
from webhook.admission.defaulting import Defaults, Undefaulted
from webhook.kubernetes.documents import read_one
from webhook.kubernetes.fields import FieldPath, Raw, as_list, as_mapping
from webhook.kubernetes.json_schema import Schema, object_schema
from webhook.kubernetes.reader import brief
from webhook.kubernetes.scalars import DocumentError
from webhook.policy.parsing import parse_day
from webhook.policy.policy import PolicyError
from webhook.policy.schema import DAY, POLICY_API_VERSION, STRING, complaints
from webhook.rules import RULES

TEST_KIND = "PolicyTest"
COUNTED_AS = ("passed", "failed", "unusable")  # each case is one of them
Given = Raw | str  # an object, or the path of a file


class PolicyTestError(PolicyError):
    """A test that cannot be used; one printable line for each cause, which names its path."""


class Case(NamedTuple):
    """An object that is applied, and what is expected of the answer."""

    name: str
    obj: Given
    old: Given | None  # the object before an update
    user: str  # "" for a person
    today: str  # the day of the case, "" for that of the test
    expect: Raw


class PolicyTest(NamedTuple):
    """The cases of one file.  None or "" stands for the default of `evenkeel admit`, but for `today`."""

    policy: Given | None
    cluster: Given | Sequence[object] | None
    kubernetes_version: str
    today: str  # "": no override has ended, so that the test is the same each day
    cases: tuple[Case, ...]


class CaseResult(NamedTuple):
    """What was expected of a case and what was found, each limited to what is compared."""

    name: str
    expected: Raw
    found: Raw
    applied: Applied | None = None  # the answer
    problem: str = ""  # why there is no answer

    @property
    def passed(self) -> bool:
        return not self.problem and _in_order(self.expected) == _in_order(self.found)

    @property
    def counted_as(self) -> str:
        """The one of COUNTED_AS that the case is."""
        if self.problem:
            return "unusable"
        return "passed" if self.passed else "failed"


_GIVEN: Schema = {"type": ["string", "object"], "minLength": 1}


@cache
def schema() -> dict[str, object]:
    """Return the JSON Schema of a test, draft 2020-12."""
    ids: Schema = {"type": "array", "items": {"enum": list(RULES)}}
    expectation = object_schema(
        outcome={"enum": [str(outcome) for outcome in Outcome]},
        rules={**ids, "minItems": 1, "description": "at least one rule; exactly: [] expects none"},
        exactly=ids,
        warnings={"type": "array", "items": {"type": "string"}},
        defaults={"type": "array", "items": {"type": "object"}},
    )
    case = object_schema(
        ("name", "object", "expect"),
        name=STRING,
        object=_GIVEN,
        old=_GIVEN,
        user=STRING,
        today=DAY,
        expect={**expectation, "minProperties": 1},
    )
    return object_schema(
        ("kind", "cases"),
        apiVersion={"const": POLICY_API_VERSION},
        kind={"const": TEST_KIND},
        policy=_GIVEN,
        cluster={**_GIVEN, "type": ["string", "object", "array"], "items": {"type": "object"}},
        kubernetesVersion={"type": ["string", "number"], "minLength": 1},
        today=DAY,
        cases={"type": "array", "items": case, "minItems": 1},
    )


def parse_policy_test(text: str) -> PolicyTest:
    """PolicyTestError names every cause."""
    try:
        raw = read_one(text, "test of a policy", TEST_KIND)
    except DocumentError as error:
        raise PolicyTestError([str(error)]) from error
    if wrong := tuple(complaints(raw, schema())):
        raise PolicyTestError(wrong)
    causes: list[str] = []
    day = parse_day(raw.get("today"), ("today",), causes)
    cases = tuple(_case(as_mapping(item), ("cases", i), causes) for i, item in enumerate(as_list(raw["cases"])))
    if causes:
        raise PolicyTestError(causes)
    if twice := _twice([case.name for case in cases]):
        raise PolicyTestError(
            f"cases[{i}].name: found {brief(name)} twice, wanted a name of its own" for i, name in twice
        )
    policy, cluster = (_given(raw[key]) if key in raw else None for key in ("policy", "cluster"))
    listed = raw.get("cluster")
    return PolicyTest(
        policy,
        listed if isinstance(listed, list) else cluster,
        _version(raw.get("kubernetesVersion", "")),
        day,
        cases,
    )


def _case(raw: Raw, path: FieldPath, causes: list[str]) -> Case:
    return Case(
        str(raw["name"]),
        _given(raw["object"]),
        _given(raw["old"]) if "old" in raw else None,
        str(raw.get("user", "")),
        parse_day(raw.get("today"), (*path, "today"), causes),
        as_mapping(raw["expect"]),
    )


def _given(value: object) -> Given:
    return value if isinstance(value, str) else as_mapping(value)


def _twice(names: Sequence[str]) -> list[tuple[int, str]]:
    """Return the names that stood before, each with its index."""
    first: dict[str, int] = {}
    return [(i, name) for i, name in enumerate(names) if first.setdefault(name, i) != i]


def _version(value: object) -> str:
    """Return a version as text: YAML reads a bare 1.30 as 1.3, and minor versions have two digits."""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def judge(name: str, expect: Raw, applied: Applied) -> CaseResult:
    """Compare an answer with `expect`; only the keys that it has, and that its constraints have, are compared."""
    wanted, actual = {**expect}, answer(applied)
    actual["exactly"] = actual["rules"]
    for key in {"rules", "exactly", "warnings"} & wanted.keys():
        wanted[key] = _sorted(wanted[key])
    for key in ("rules", "warnings"):  # There may be more, so that a new rule of evenkeel breaks no test.
        if among := as_list(wanted.get(key)):
            actual[key] = [text for text in as_list(actual[key]) if text in among]
    if wanted.get("outcome") == Outcome.ALLOWED and actual["outcome"] == Outcome.WARNED:
        actual["outcome"] = wanted["outcome"]  # What is warned of is allowed; `exactly: []` expects no finding.
    actual["defaults"] = _limited(as_list(actual["defaults"]), as_list(wanted.get("defaults")))
    return CaseResult(name, wanted, {key: actual[key] for key in wanted}, applied)


def answer(applied: Applied) -> dict[str, object]:
    """Return all that can be expected of an answer: outcome, rules that found something, warnings and defaults."""
    defaulted = applied.mutate.defaulted
    return {
        "outcome": str(applied.outcome),
        "rules": _sorted([finding.rule for finding in applied.answer.findings]),
        "warnings": _sorted(applied.warnings),
        "defaults": list(defaulted.constraints) if isinstance(defaulted, Defaults) else [],
    }


def as_expectation(applied: Applied) -> dict[str, object]:
    """
    Return what a person would keep of the answer, in the form of `expect`.

    It has no `rules` if none found anything, and no `defaults` if defaulting did not look at the object.  Warnings are
    left out: their rules are there, and their words change with evenkeel.
    """
    expectation = answer(applied)
    del expectation["warnings"]
    if not expectation["rules"]:
        del expectation["rules"]
    if not isinstance(applied.mutate.defaulted, Defaults | Undefaulted):
        del expectation["defaults"]
    return expectation


def _sorted(texts: object) -> list[str]:
    """Return the texts in order, each once: a test compares neither their order nor how often each is there."""
    return sorted({str(text) for text in texts}) if isinstance(texts, Iterable) else []


def _limited(actual: Sequence[object], wanted: Sequence[object]) -> list[object]:
    """Return the constraints, each with only those fields that the wanted constraint at its index has."""
    limited = list(actual)
    for i, (constraint, wanted_constraint) in enumerate(zip(actual, wanted, strict=False)):
        limited[i] = {
            key: value for key, value in as_mapping(constraint).items() if key in as_mapping(wanted_constraint)
        }
    return limited


def _in_order(value: object) -> str:
    """Return JSON, to compare values: in Python, 1 equals True."""
    return json.dumps(value, sort_keys=True)
