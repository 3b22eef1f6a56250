"""The JSON Schema of a policy, and its complaints in words."""

from __future__ import annotations

import jsonschema
import pytest

from webhook.policy.parsing import parse_policy
from webhook.policy.policy import PolicyError
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND, complaints, schema
from webhook.rules import RULES


def test_the_schema_names_every_rule_and_every_parameter():
    jsonschema.Draft202012Validator.check_schema(schema())
    overrides = schema()["properties"]["overrides"]["items"]["properties"]["rules"]["properties"]
    found = {rule_id: set(one["then"]["properties"]) for rule_id, one in overrides.items()}

    assert {
        rule_id: {"severity", "enforced", "help", "notice", *rule.parameters} for rule_id, rule in RULES.items()
    } == found
    assert overrides == schema()["properties"]["rules"]["properties"]


EVIL = "a\x1b[31m\nb"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ({EVIL: 1}, r"a\u001b[31m\nb: unknown field; "),
        ({"overrides": [{"name": "a", "podSelector": {"matchLabels": {EVIL: 1}}}]}, r"a\u001b[31m\nb: found 1, "),
        ({"x" * 1000: 1}, f"{'x' * 58}…: unknown field; "),
    ],
    ids=["a field", "a label", "a long one"],
)
def test_a_name_is_cut_and_escaped_as_a_value_is(raw, shown):
    (line,) = complaints({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND, **raw}, schema())

    assert shown in line
    assert line.isprintable() and len(line) < 500


def test_no_cause_holds_what_a_terminal_would_obey():
    """What `brief` leaves raw is a terminal's business, too: C1 controls, DEL."""
    with pytest.raises(PolicyError) as caught:
        parse_policy(f'apiVersion: {POLICY_API_VERSION}\nkind: "\\x9b31m\\x7f"\n"\\x9b": 1\n')

    assert all(cause.isprintable() for cause in caught.value.causes) and caught.value.causes
