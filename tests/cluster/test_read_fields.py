"""The types that are made of tables of fields."""

from __future__ import annotations

import msgspec
import pytest

from webhook.cluster.read_fields import USED, form

TABLE = {"kind": None, "spec": {"a": None, "b": USED, "c": [{"x": None}]}}


def test_what_no_table_names_is_passed_over():
    raw = {"kind": "A", "spec": {"a": {"y": 1}, "b": {"secret": 1}, "c": [{"x": 1, "y": 2}, {}], "d": 2}, "status": {}}

    assert {"kind": "A", "spec": {"a": {"y": 1}, "b": {}, "c": [{"x": 1}, {}]}} == msgspec.convert(raw, form(TABLE))


def test_an_object_and_a_list_may_be_null_but_not_what_is_only_used():
    of = form(TABLE)

    assert {"spec": None} == msgspec.convert({"spec": None}, of)
    assert {"spec": {"c": None}} == msgspec.convert({"spec": {"c": None}}, of)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"spec": {"b": None}}, of)
