"""The table of fields, and the types that are made of it."""

from __future__ import annotations

from typing import get_type_hints

import msgspec
import pytest

from webhook.cluster.fields import BY_COMMANDS, BY_EVERYBODY, BY_SERVER, USED, Field, FieldReader, form

TABLE = {
    "kind": Field(BY_COMMANDS),
    "spec": Field(
        BY_EVERYBODY, {"a": Field(BY_SERVER), "b": Field(BY_COMMANDS, USED), "c": Field(BY_EVERYBODY, {}, of_each=True)}
    ),
}


@pytest.mark.parametrize(
    ("reader", "names"), [(FieldReader.WEBHOOK, {"spec"}), (FieldReader.COMMANDS, {"kind", "spec"})]
)
def test_a_type_has_the_fields_of_its_reader(reader, names):
    assert names == set(get_type_hints(form(TABLE, reader)))


def test_what_no_reader_reads_is_passed_over():
    raw = {"kind": "A", "spec": {"a": 1, "b": {"secret": 1}, "c": [{"x": 1}, {}], "d": 2}}

    assert {"kind": "A", "spec": {"b": {}, "c": [{}, {}]}} == msgspec.convert(raw, form(TABLE, FieldReader.COMMANDS))
    assert {"spec": {"a": 1, "c": [{}, {}]}} == msgspec.convert(raw, form(TABLE, FieldReader.WEBHOOK))


def test_an_object_and_a_list_may_be_null_but_not_what_is_only_used():
    of = form(TABLE, FieldReader.COMMANDS)

    assert {"spec": None} == msgspec.convert({"spec": None}, of)
    assert {"spec": {"c": None}} == msgspec.convert({"spec": {"c": None}}, of)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"spec": {"b": None}}, of)
