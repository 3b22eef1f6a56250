"""The conditions under which the API server calls, as CEL."""

from __future__ import annotations

import pytest

from webhook.kubernetes.kinds import Kind
from webhook.manifests.conditions import NOT_OWNED, TO_DEFAULT, changed, has_constraints


@pytest.mark.parametrize("condition", [NOT_OWNED, TO_DEFAULT[-1]], ids=lambda condition: condition["name"])
def test_no_long_list_is_looked_through_by_the_api_server(condition):
    """It would take seconds of its time for each such Pod, and anybody may write one."""
    assert condition["expression"].startswith("object.?metadata.?ownerReferences.orValue([]).size() > 50 || !")


def kind(**places):
    paths = {name: tuple(path.split(".")) for name, path in places.items()}
    return Kind("a.io/v1", "Fleet", "fleets", **{"template": None, **paths})


@pytest.mark.parametrize(
    ("kinds", "has", "change"),
    [
        (
            [kind(template="spec.template")],
            "object.?spec.?template.?spec.?topologySpreadConstraints.orValue([]).size() > 0",
            "object.?spec.?template != oldObject.?spec.?template",
        ),
        (
            [kind(template="spec.sets.*.racks.*.template")],
            "object.?spec.?sets.orValue([]).size() > 50 || object.?spec.?sets.orValue([]).exists(e0, "
            "e0.?racks.orValue([]).size() > 50 || e0.?racks.orValue([]).exists(e1, "
            "e1.?template.?spec.?topologySpreadConstraints.orValue([]).size() > 0))",
            "object.?spec.?sets != oldObject.?spec.?sets",
        ),
        (
            [kind(constraints="spec.spread", labels="spec.podLabels")],
            "object.?spec.?spread.orValue([]).size() > 0",
            "object.?spec.?spread != oldObject.?spec.?spread || object.?spec.?podLabels != oldObject.?spec.?podLabels",
        ),
        (
            [kind(constraints="spec.*")],
            "object.?spec.orValue([]).size() > 50 || "
            "object.?spec.orValue([]).exists(e0, optional.of(e0).orValue([]).size() > 0)",
            "object.?spec != oldObject.?spec",
        ),
        (
            [kind(constraints="spec.a"), kind(constraints="spec.b")],
            "object.?spec.?a.orValue([]).size() > 0 || object.?spec.?b.orValue([]).size() > 0",
            "object.?spec.?a != oldObject.?spec.?a || object.?spec.?b != oldObject.?spec.?b",
        ),
        (
            [kind(constraints="spec.pod-spread.namespace")],
            'object.?spec[?"pod-spread"][?"namespace"].orValue([]).size() > 0',
            'object.?spec[?"pod-spread"][?"namespace"] != oldObject.?spec[?"pod-spread"][?"namespace"]',
        ),
    ],
    ids=["template", "lists", "constraints and labels", "a list of lists", "two places", "no names to CEL"],
)
def test_conditions_follow_the_paths_of_a_kind(kinds, has, change):
    assert has == has_constraints(kinds)["expression"]
    assert f"oldObject == null || {change}" == changed(kinds)["expression"]
