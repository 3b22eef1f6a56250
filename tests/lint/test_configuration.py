"""The file in a repository sets what options set, and what is wrong with it is said in one line each."""

from __future__ import annotations

import pytest

from evenkeel.lint.configuration import ConfigurationError, LintConfiguration, parse_configuration
from webhook.findings.finding import Severity

WHOLE = """\
excludes: [charts/, "!charts/ours/"]
rules: {selector-misses-own-pod: warning, unused-suppression: ignore}
policy: platform/policy.yaml
namespaces: {shop: {team: a}, "*": {env: prod}}
"""


def test_all_that_it_may_say():
    assert parse_configuration(WHOLE) == LintConfiguration(
        excludes=("charts/", "!charts/ours/"),
        rules={"selector-misses-own-pod": Severity.WARNING, "unused-suppression": Severity.IGNORE},
        policy="platform/policy.yaml",
        namespaces={"shop": {"team": "a"}, "": {"env": "prod"}},
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_it_may_say_nothing(text):
    assert LintConfiguration() == parse_configuration(text)


WRONG = [
    ("a: [", "line 1, column 5: "),
    ("- a", 'found ["a"], wanted one object'),
    ("{}\n---\n{}", "found 2 documents, wanted one object"),
    ("exclude: [a]", "exclude: unknown field; did you mean excludes?"),
    ("excludes: a", 'excludes: found "a", wanted an array'),
    ("excludes: [1]", "excludes[0]: found 1, wanted a string"),
    ("rules: {selector-misses: error}", "rules.selector-misses: unknown field; did you mean selector-misses-own-pod?"),
    ("rules: {soft-constraint: bad}", 'rules.soft-constraint: found "bad", wanted error or warning or info or ignore'),
    ("rules: {tainted-domain: error}", 'rules.tainted-domain: found "error", wanted warning or info or ignore: it is'),
    ("policy: 1", "policy: found 1, wanted a string"),
    ("namespaces: [shop]", 'namespaces: found ["shop"], wanted an object'),
    ("namespaces: {shop: {a: true}}", "namespaces.shop.a: found true, wanted a string"),
    ("namespaces: {Shop: {}}", 'namespaces: found "Shop", wanted the name of a namespace, or "*" for all others'),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_is_wrong_is_said_with_the_field_the_value_and_what_is_wanted(text, said):
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text)

    (cause,) = caught.value.causes
    assert cause.startswith(said)
