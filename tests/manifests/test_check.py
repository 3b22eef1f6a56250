"""What a check names in the object and in the old one."""

from __future__ import annotations

import pytest

from webhook.manifests.check import CelObject, concerns, copying_own_selector
from webhook.scheduler.features import LATEST


def named(suffix="", parts=1):
    return CelObject("hard-constraint", suffix, [{"topologyKeys": []}] * parts, (), LATEST)


@pytest.mark.parametrize("suffix", ["", "_before"])
def test_variables_of_the_object_and_of_the_old_one(suffix):
    obj = named(suffix)

    assert (f"variables.labels{suffix}", f"variables.added{suffix}") == (obj.labels, obj.added)
    assert f"variables.constraints{suffix}.filter(c, true)" == obj.constraints_where("true")
    assert ("dyn(oldObject)" if suffix else "dyn(object)") == obj.root


def test_a_parameter_is_that_of_the_part_in_force():
    variable = "variables.hard_constraint_topologyKeys"

    assert variable == named().parameter("topologyKeys")
    assert f"{variable}[variables.part_before]" == named("_before", parts=2).parameter("topologyKeys")


def test_a_rule_without_keys_concerns_all():
    keys = "variables.hard_constraint_topologyKeys"

    assert f"({keys}.size() == 0 || c.topologyKey in {keys})" == concerns(named())


def test_the_own_selector_is_copied_unless_it_has_a_key_of_match_label_keys():
    text = copying_own_selector("select labels")

    assert text.startswith("variables.own_selector.size() > 0 && !c.?matchLabelKeys.orValue([]).exists(")
    assert text.endswith(" : 'select labels'")
