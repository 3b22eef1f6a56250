"""Labels are written where kustomize writes them; tests/e2e/test_kustomize.py holds that against kustomize itself."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from webhook.documents.reading import read_documents
from webhook.lint.labelling import conflict, labelled, read_labellings
from webhook.lint.patched_fields import NO_PATCH, PatchedFields

SPREAD = "topologySpreadConstraints"
SPREAD_BY_NOTHING = f"{{{SPREAD}: [{{labelSelector: {{matchLabels: {{}}}}}}]}}"
TEMPLATE = "{metadata: {labels: {a: b}}}"


def read(text):
    (found,) = read_documents(text)
    return found


def obj(kind, spec, api_version="apps/v1", labels="{a: b}"):
    return read(f"{{apiVersion: {api_version}, kind: {kind}, metadata: {{labels: {labels}}}, spec: {spec}}}")


def labellings(text):
    return read_labellings(read(text))[0]


class Case(NamedTuple):
    name: str
    written: str
    kind: str
    before: str
    after: str
    api_version: str = "apps/v1"


ALL, TEMPLATES, OBJECTS = (
    "commonLabels: {a: b}",
    *(f"labels: [{{pairs: {{a: b}}{how}}}]" for how in (", includeTemplates: true", "")),
)
FIELDS = "labels: [{{pairs: {{a: b}}, fields: [{{path: {}}}]}}]"
CASES = [
    Case(
        "selector and template are made",
        ALL,
        "Deployment",
        "{}",
        f"{{selector: {{matchLabels: {{a: b}}}}, template: {TEMPLATE}}}",
    ),
    Case("what is null, too", TEMPLATES, "DaemonSet", "{template: {metadata: null}}", f"{{template: {TEMPLATE}}}"),
    Case("templates alone", TEMPLATES, "StatefulSet", "{}", f"{{template: {TEMPLATE}}}"),
    Case("objects alone", OBJECTS, "Deployment", "{}", "{}"),
    Case("no StatefulSet of another group", ALL, "StatefulSet", "{}", "{}", "example.com/v1"),
    Case("no template of a custom resource", ALL, "Rollout", "{}", "{}", "argoproj.io/v1alpha1"),
    Case(
        "the selector of a Job is not made",
        ALL,
        "Job",
        "{}",
        f"{{template: {TEMPLATE}}}",
        "batch/v1",
    ),
    Case(
        "the template of a CronJob's Pods",
        TEMPLATES,
        "CronJob",
        "{}",
        f"{{jobTemplate: {{metadata: {{labels: {{a: b}}}}, spec: {{template: {TEMPLATE}}}}}}}",
        "batch/v1",
    ),
    Case(
        "a ReplicationController's selector",
        ALL,
        "ReplicationController",
        "{}",
        f"{{selector: {{a: b}}, template: {TEMPLATE}}}",
        "v1",
    ),
    Case(
        "matchLabels of constraints that are there",
        ALL,
        "Deployment",
        f"{{selector: {{}}, template: {{metadata: {{labels: {{a: x, c: d}}}}, spec: {{{SPREAD}: ["
        "{labelSelector: {matchLabels: {}}}, {labelSelector: {matchLabels: {c: d}}}, {labelSelector: {}},"
        "{labelSelector: null}, {labelSelector: {matchLabels: null}}, {}]}}}",
        f"{{selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b, c: d}}}}, spec: {{{SPREAD}: ["
        "{labelSelector: {matchLabels: {a: b}}}, {labelSelector: {matchLabels: {a: b, c: d}}}, {labelSelector: {}},"
        "{labelSelector: null}, {labelSelector: {matchLabels: null}}, {}]}}}",
    ),
    Case(
        "not those of a DaemonSet",
        TEMPLATES,
        "DaemonSet",
        f"{{template: {{spec: {SPREAD_BY_NOTHING}}}}}",
        f"{{template: {{metadata: {{labels: {{a: b}}}}, spec: {SPREAD_BY_NOTHING}}}}}",
    ),
    Case("further places", FIELDS.format("/spec/x\\/y, create: true"), "A", "{}", "{x/y: {a: b}}"),
    Case("only where they are", FIELDS.format("spec/x"), "A", "{y: {}}", "{y: {}}"),
    Case("of a kind", FIELDS.format("spec/x, create: true, kind: B"), "A", "{}", "{}"),
    Case("no list is made", FIELDS.format("'spec/x[]/z', create: true"), "A", "{}", "{}"),
    Case("in each item of one", FIELDS.format("'spec/x[]/z', create: true"), "A", "{x: [{}]}", "{x: [{z: {a: b}}]}"),
    Case("what is none stays", ALL, "Deployment", "{selector: 1, template: [1]}", "{selector: 1, template: [1]}"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_labels_are_written(case):
    before = obj(case.kind, case.before, case.api_version, "{}")
    kept = repr(before)

    assert obj(case.kind, case.after, case.api_version) == labelled(before, labellings(case.written))
    assert kept == repr(before)


def test_entries_come_in_their_order_and_common_labels_last():
    found = labellings("commonLabels: {a: x}\nlabels: [{pairs: {b: x}}, {pairs: {c: x}}]")

    assert ["b", "c", "a"] == [key for one in found for key, _ in one.pairs]
    assert [True, True, False] == [one.of_pods_alone for one in found]


@pytest.mark.parametrize("value", ["1", "'${A}'", "[x]", "null"])
def test_a_label_of_which_the_value_is_not_known_is_left_open(value):
    found, unknown = read_labellings(read(f"commonLabels: {{a: {value}, b: x}}"))

    assert ([(("b", "x"),)], PatchedFields(labels=frozenset("a"))) == ([one.pairs for one in found], unknown)


def test_what_is_none_writes_nothing():
    assert ((), NO_PATCH) == read_labellings(read("labels: [1, {pairs: [a]}, {fields: 1}]\ncommonLabels: x"))


def test_a_field_deeper_than_any_that_is_read_is_left_out():
    (found,) = labellings(FIELDS.format("/a" * 10_000 + ", create: true"))

    assert {"metadata": {"labels": {"a": "b"}}} == labelled({}, [found])


def test_an_entry_may_touch_more_than_labels():
    elsewhere, among = labellings(FIELDS.format("spec/replicas")), labellings(FIELDS.format("spec/x/labels"))

    assert PatchedFields(frozenset("a"), fields=frozenset({"replicas"})) == elsewhere[0].touched
    assert PatchedFields(frozenset("a")) == among[0].touched


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("commonLabels: {a: x}\nlabels: [{pairs: {a: z}}]", False),
        ("commonLabels: {a: x}\nlabels: [{pairs: {a: x}}]", False),
        ("labels: [{pairs: {a: x}, includeTemplates: true}, {pairs: {a: z}}]", True),
        ("labels: [{pairs: {a: x}, includeTemplates: true}, {pairs: {a: x}}]", False),
        ("labels: [{pairs: {a: x}, includeTemplates: true}, {pairs: {b: z}}]", False),
        ("commonLabels: {a: w}\nlabels: [{pairs: {a: x}, includeTemplates: true}, {pairs: {a: z}}]", False),
    ],
)
def test_values_conflict_where_the_last_is_not_written_wherever_others_were(written, found):
    assert found == conflict(obj("Deployment", "{}"), labellings(written))
