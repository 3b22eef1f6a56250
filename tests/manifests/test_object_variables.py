"""The variables of what is known of an object: each asks only for those before it, and bounds come first."""

from __future__ import annotations

import re

from tests.manifests.exports import export
from webhook.manifests.object_variables import ignored, of_messages, of_object, of_request


def variables(name="parts"):
    given = export(name)
    kinds, overrides = given.kinds, given.policy.overrides
    return [
        *of_request(kinds),
        *of_object(kinds, overrides, ""),
        *of_object(kinds, overrides, "_before"),
        *ignored(),
        *of_messages(kinds),
    ]


def test_each_asks_only_for_those_before_it():
    seen = set()
    for name, expression in variables():
        assert {*re.findall(r"variables\.(\w+)", expression)} <= seen, name
        seen.add(name)


def test_those_of_the_old_object_are_named_after_the_others():
    names = [name for name, _ in variables()]

    assert len(names) == len(set(names))
    assert {name for name in names if name.endswith("_before")} == {f"{name}_before" for name in names} & set(names)


def test_an_object_is_measured_before_it_is_read():
    expressions = dict(variables())

    assert "variables.listed.size() <= 100 && " in expressions["fits"]
    assert expressions["constraints"].startswith("!variables.fits ? [] : ")
    assert expressions["owner"].startswith("object.?metadata.?ownerReferences.orValue([]).size() <= 50 ? ")
    assert ".substring(0, 4096)" in expressions["ignored"]


def test_the_first_override_that_matches_is_in_force():
    assert (
        "variables.template.?spec.?schedulerName.orValue('') in [\"other\"] ? 1 : "
        '("tier" in variables.labels && variables.labels["tier"] in ["a"]) ? 2 : '
        '("team" in variables.namespace_labels && variables.namespace_labels["team"] in ["a"]) ? 3 : 0'
    ) == dict(variables())["part"]


def test_a_policy_without_overrides_has_one_part():
    assert "0" == dict(variables("built in"))["part"]


def test_the_old_object_may_be_absent():
    expressions = dict(variables())

    assert expressions["template_before"].startswith("oldObject == null ? {} : ")
    assert expressions["added_before"].startswith("oldObject == null ? [] : ")
