"""Comments and annotations suppress findings; those that suppress none are findings."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import yaml

from tests.support.build import ZONE, constraint, honoring, node, policy, snapshot, workload
from tests.support.lint import KEYS, MISSPELT, WEB, judged, shown, terms
from webhook.findings.finding import Severity


class Case(NamedTuple):
    name: str
    text: str
    finds: list[str]


COMMENTS = [
    Case("the rule on its line", " # evenkeel: ignore[misspelt-topology-key]", []),
    Case(
        "more than one rule", "  # why #evenkeel:ignore[ x-y , misspelt-topology-key ]", ["13:48-95 unused-suppression"]
    ),
    Case(
        "another rule",
        " # evenkeel: ignore[pinned-pod]",
        ["13:9-40 misspelt-topology-key", "13:41-71 unused-suppression"],
    ),
    Case("no rule", " # evenkeel: ignore", ["13:9-40 misspelt-topology-key", "13:41-59 unused-suppression"]),
    Case(
        "another line",
        "\n        # evenkeel: ignore[misspelt-topology-key]",
        ["13:9-40 misspelt-topology-key", "14:9-50 unused-suppression"],
    ),
    Case("a comment for people", " # evenkeel is right", ["13:9-40 misspelt-topology-key"]),
]


@pytest.mark.parametrize("case", COMMENTS, ids=lambda case: case.name)
def test_a_comment_silences(case):
    assert case.finds == shown(WEB + MISSPELT.format(case.text))


def test_the_rule_that_was_meant_is_named():
    found = judged(WEB + MISSPELT.format(" # evenkeel: ignore[misspelt-topology-kye, x-y]")).found
    told = {one.finding.found: (one.finding.message, one.finding.fix) for one in found}
    meant = "there is no rule misspelt-topology-kye: did you mean misspelt-topology-key?"

    assert (meant, "write misspelt-topology-key") == told["misspelt-topology-kye"]
    assert ("there is no rule x-y", "remove it; evenkeel rules lists all rules") == told["x-y"]


HERE, UNUSED = "        # evenkeel: ignore[empty-selector]\n", "unused-suppression"
ABOVE = [
    Case("on the line above", HERE, []),
    Case("above another comment", f"{HERE}\n        # why\n", []),
    Case("two of them", f"{HERE}{HERE.replace('empty-selector', 'pinned-pod')}", [UNUSED]),
    Case("of a rule that is off", HERE.replace("empty-selector", "soft-constraint"), ["empty-selector"]),
    Case("two lines above", f"{HERE}        nodeTaintsPolicy: Honor\n", [UNUSED, "empty-selector"]),
]


@pytest.mark.parametrize("case", ABOVE, ids=lambda case: case.name)
def test_a_comment_above_a_line_suppresses_what_is_found_there(case):
    text = f"{WEB}{KEYS}{case.text}        labelSelector: {{}}\n"

    assert case.finds == [one.partition(" ")[2] for one in shown(text)]


@pytest.mark.slow
def test_many_comments_take_time_in_proportion():
    text = f"{WEB}{KEYS}{HERE * 20_000}        labelSelector: {{}}\n"

    assert 1 == len(judged(text, terms(unused=Severity.IGNORE)).found) + judged(text).suppressed  # else it takes hours


def test_a_comment_at_the_end_of_a_file_is_about_nothing():
    assert [UNUSED] == [one.partition(" ")[2] for one in shown(f"a: 1\n{HERE}")]


def test_a_comment_in_text_is_none():
    text = f"{WEB}{KEYS}".replace("image: nginx", "image: 'x # evenkeel: ignore[a-rule]'")

    assert ["12:7-19 empty-selector"] == shown(text)


def annotated(rules, *constraints):
    return yaml.safe_dump(workload("StatefulSet", *constraints, annotations={"evenkeel.dev/ignore": rules}))


ANNOTATIONS = [
    Case("what it names", annotated("empty-selector", constraint(labelSelector={})), []),
    Case("a rule that finds nothing", annotated("pinned-pod", honoring()), ["unused-suppression"]),
    Case("a rule that there is not", annotated("empty-selektor", honoring()), ["idle-switch"]),
    Case("such a finding, too", annotated("empty-selektor, idle-switch", honoring()), []),
    Case("a rule that is off", annotated("soft-constraint", honoring()), []),
]


@pytest.mark.parametrize("case", ANNOTATIONS, ids=lambda case: case.name)
def test_an_annotation_silences(case):
    assert case.finds == [line.split()[1] for line in shown(case.text)]


def test_what_is_enforced_nothing_silences():
    enforced = terms(policy=policy("rules: {empty-selector: {enforced: true}}"))
    text = annotated("empty-selector", constraint(labelSelector={}))
    commented = f"{WEB}{KEYS}        labelSelector: {{}} # evenkeel: ignore[empty-selector]\n"

    assert 0 == judged(text, enforced).suppressed
    assert {"empty-selector", "idle-switch"} == {line.split()[1] for line in shown(text, enforced)}
    assert {"empty-selector", "unused-suppression"} == {line.split()[1] for line in shown(commented, enforced)}


def test_suppressions_are_counted_and_their_report_may_be_switched_off():
    text = annotated("empty-selector,pinned-pod", constraint(labelSelector={}))

    assert 1 == judged(text).suppressed
    assert [] == shown(text, terms(unused=Severity.IGNORE))
    empty = constraint(labelSelector={})
    assert 2 == judged(annotated("empty-selector", empty, empty | {"topologyKey": "rack"})).suppressed


def test_what_an_annotation_suppresses_is_counted_once_whichever_override_applies():
    """The labels of the namespace are not known."""
    rules = "{overrides: [{name: a, namespaceSelector: {matchLabels: {a: b}}, rules: {pinned-pod: warning}}]}"
    text = annotated("empty-selector", constraint(labelSelector={}))

    assert 1 == judged(text, terms(policy=policy(rules))).suppressed


def test_an_annotation_may_be_of_use_in_one_of_several_templates():
    sets = [
        {"template": workload("Deployment", each)["spec"]["template"]}
        for each in (constraint(labelSelector={}), honoring())
    ]
    fleet = {
        "apiVersion": "e.com/v1",
        "kind": "Fleet",
        "metadata": {"name": "f", "namespace": "shop", "annotations": {"evenkeel.dev/ignore": "empty-selector"}},
        "spec": {"sets": sets},
    }
    kinds = "{workloads: [{apiVersion: e.com/v1, kind: Fleet, resource: fleets, podTemplate: 'spec.sets[*].template'}]}"

    found = judged(yaml.safe_dump(fleet), terms(policy=policy(kinds)))
    assert (1, []) == (found.suppressed, [one.finding.rule for one in found.found if "unused" in one.finding.rule])


def test_of_a_rule_that_could_not_be_run_nobody_knows_that_it_finds_nothing():
    """Without nodes."""
    text = annotated("unknown-topology-key", honoring())

    assert [] == shown(text)
    assert ["unused-suppression"] == [
        line.split()[1] for line in shown(text, terms(snapshot=snapshot(node(), node("n2", **{ZONE: "b"}))))
    ]
