"""What a JSON schema does not allow, in words."""

from __future__ import annotations

import pytest

from webhook.kubernetes.json_schema import complaints, object_schema

COLOURS = ["red", "green", "blue", "yellow", "black", "white"]
ADDRESS = "^[a-z]+$"
FIELDS = {
    "name": {"type": "string", "minLength": 1, "maxLength": 3},
    "colour": {"enum": COLOURS},
    "size": {"type": "integer", "minimum": 1, "maximum": 9},
    "street": {"type": "string", "pattern": ADDRESS},
    "parts": {"type": "array", "minItems": 1, "items": {"type": ["string", "null"]}},
    "few": {"enum": ["One", "Two"]},
    "never": {"const": False, "description": "it is for later"},
    "odd": {"multipleOf": 3},
}


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ({"size": 1}, "at: must have name"),
        ({"name": ""}, 'at.name: found "", wanted a string that is not empty'),
        ({"name": "long"}, "at.name: found 4 characters, wanted at most 3"),
        (
            {"name": "a", "colour": "gren"},
            f'at.colour: found "gren", wanted {" or ".join(COLOURS)}; did you mean green?',
        ),
        ({"name": "a", "colour": "x"}, f'at.colour: found "x", wanted {" or ".join(COLOURS)}; ask'),
        ({"name": "a", "few": "one"}, 'at.few: found "one", wanted One or Two; did you mean One?'),
        ({"name": "a", "size": 0}, "at.size: found 0, wanted 1 or more"),
        ({"name": "a", "size": "1"}, 'at.size: found "1", wanted an integer'),
        ({"name": "a", "street": "1"}, 'at.street: found "1", wanted letters'),
        ({"name": "a", "parts": []}, "at.parts: found [], wanted at least one item"),
        ({"name": "a", "parts": [1]}, "at.parts[0]: found 1, wanted a string or a null"),
        ({"name": "a", "never": True}, "at.never: found true, wanted false: it is for later"),
        ({"name": "a", "size": 10}, "at.size: found 10, wanted 9 or less"),
        ({"name": "a", "odd": 4}, "at.odd: found 4, wanted multipleOf 3"),
        ({"name": "a", "sise": 1}, "at.sise: unknown field; did you mean size?"),
    ],
)
def test_each_complaint_names_what_was_found_and_what_is_wanted(raw, line):
    def ask(value, allowed):
        return "; ask" if value == "x" and "red" in allowed else ""

    assert [line] == [
        *complaints(raw, object_schema(("name",), **FIELDS), ("at",), forms={ADDRESS: "letters"}, hint=ask)
    ]


def test_what_is_allowed_gives_no_complaint():
    assert [] == [*complaints({"name": "a", "never": False}, object_schema(("name",), **FIELDS))]
