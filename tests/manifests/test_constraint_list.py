"""What CEL reads of constraints, in custom resources of any type; what it does is shown by an API server."""

from __future__ import annotations

from webhook.manifests.constraint_list import as_read, values_in_expressions, values_outside_expressions, with_objects
from webhook.scheduler.constraint import WrittenConstraint

FIELDS = {
    *("maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector", "minDomains", "nodeAffinityPolicy"),
    *("nodeTaintsPolicy", "matchLabelKeys"),
}


def test_every_field_of_a_constraint_is_read():
    assert len(WrittenConstraint._fields) == len(FIELDS)
    assert {field for field in FIELDS if f"'{field}': " in as_read()} == FIELDS


def test_a_null_selector_stays_null():
    assert "?'labelSelector': m.?labelSelector.orValue(null) == null ? optional.none() : " in as_read()


def test_values_are_counted_at_each_level():
    assert values_outside_expressions().startswith("1 + c.size() + ")
    assert "e.size() + e.?values.orValue([]).size()" in values_in_expressions()


def test_what_is_counted_of_a_custom_resource_has_objects_and_lists_only():
    assert all(f"'{field}': " in with_objects() for field in ("labelSelector", "matchLabelKeys", "matchExpressions"))
