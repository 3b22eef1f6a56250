"""Templates are passed over; of patches only what holds whatever they are merged into is judged."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.lint.helm_templates import advice_for_template, completed, has_placeholders, should_report
from evenkeel.lint.notes import PATCH, UNRENDERED_TEMPLATE
from tests.support.build import policy, workload
from tests.support.lint import KEYS, WEB, judged, shown, terms
from webhook.kubernetes.scalars import DocumentError, SyntaxFault
from webhook.kubernetes.workload import parse_workloads


class Case(NamedTuple):
    name: str
    text: str
    finds: list[str]


def test_json_with_comments_is_no_business_of_kubernetes():
    assert [] == judged('{"a": 1, // x\n}', file="tsconfig.json").problems
    assert 1 == len(judged('{"apiVersion": "v1", "kind": "Pod", "x": [}', file="pod.json").problems)


VARIABLES = "maxSkew: '${A}', topologyKey: '${B}', whenUnsatisfiable: '${C}', minDomains: 2"
TEMPLATES = [
    Case("one that is no YAML", "{{- if .Values.on }}\napiVersion: v1\n{{- end }}", []),
    Case("a value that YAML takes for an object", f"{WEB}{KEYS}        labelSelector: {{{{ .x }}}}\n", []),
    Case("a value in quotes", f"{WEB}{KEYS}        labelSelector: {{matchLabels: {{app: '{{{{ .x }}}}'}}}}\n", []),
    Case("variables", f"{WEB}      - {{{VARIABLES}, labelSelector: {{matchLabels: {{app: web}}}}}}\n", []),
]


@pytest.mark.parametrize("case", TEMPLATES, ids=lambda case: case.name)
def test_a_template_is_passed_over_and_counted(case):
    found = judged(case.text)

    assert ([], [], [UNRENDERED_TEMPLATE]) == (found.problems, found.found, [note.why for note in found.notes])


EMPTY, APP = "        labelSelector: {}\n", "        labelSelector: {matchLabels: {app: web}}\n"
LABELS = "labels: {app: web}"


def templated(selector, **replaced):
    """A Deployment with one constraint, and other text in place of the labels or the constraint's fields."""
    text = f"{WEB}{KEYS}{selector}".replace(LABELS, replaced.pop("labels", LABELS))
    for field, value in replaced.items():
        text = text.replace(f"{field}: {'1' if field == 'maxSkew' else 'zone'}", f"{field}: {value}")
    return text


IN_PART = [
    Case("a field beside", templated(APP, maxSkew="${A}", topologyKey="a b"), ["13:9-25 malformed-topology-key"]),
    Case("a selector", templated(APP.replace("web", "'${A}'"), topologyKey="a b"), ["13:9-25 malformed-topology-key"]),
    Case("the label that is asked for", templated(APP, labels="labels: {app: '${A}'}"), []),
    Case("another", templated(APP, labels="labels: {app: db, b: '${A}'}"), ["15:9-49 selector-misses-own-pod"]),
    Case("the key of a label", templated(APP, labels="labels: {'${A}': web}"), []),
    Case("the value in both", templated(APP.replace("web", "'${A}'"), labels="labels: {app: '${A}'}"), []),
    Case("a key that fills a selector", templated(f"{EMPTY}        matchLabelKeys: ['${{A}}']\n"), []),
    Case(
        "a label, beside an empty selector", templated(EMPTY, labels="labels: {a: '${A}'}"), ["15:9-26 empty-selector"]
    ),
]


@pytest.mark.parametrize("case", IN_PART, ids=lambda case: case.name)
def test_a_placeholder_hides_what_rests_on_it_and_nothing_else(case):
    found = judged(case.text)

    assert case.finds == shown(case.text)
    assert [(UNRENDERED_TEMPLATE, "judged in part")] == [(note.why, note.done) for note in found.notes]


def test_a_rolling_update_whose_strategy_is_not_known_is_left_alone():
    text = f"{WEB}{KEYS}{APP}".replace("app: web", "app: '${A}'").replace("Recreate", "'${B}'")

    assert [] == shown(text)


def test_what_is_no_template_where_it_matters_is_judged():
    text = f"{WEB}{KEYS}".replace("image: nginx", "image: '{{ .Values.image }}'")

    assert ["12:7-19 empty-selector"] == shown(text)


PATCHED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      topologySpreadConstraints:
"""


PATCHES = [
    Case("a part of a constraint", f"{PATCHED}      - topologyKey: zone\n        maxSkew: 5\n", []),
    Case(
        "a selector for labels that come from elsewhere",
        f"{PATCHED}{KEYS}        labelSelector: {{matchLabels: {{a: b}}}}",
        [],
    ),
    Case("a removal", f"{PATCHED}      - topologyKey: zone\n        $patch: delete\n", []),
    Case(
        "a key that is wrong whatever it is merged with",
        f"{PATCHED}      - topologyKey: a b\n",
        ["8:9-25 malformed-topology-key"],
    ),
    Case("no list at all", f"{PATCHED.rstrip()} {{a: b}}\n", []),
    Case("a word", f"{PATCHED.rstrip()} zone\n", []),
    Case("a value that is", f"{PATCHED}{KEYS}".replace("Skew: 1", "Skew: 0"), ["8:9-19 invalid-constraint"]),
    Case("in part of a constraint", f"{PATCHED}      - maxSkew: 0\n", ["8:9-19 invalid-constraint"]),
    Case("a number that needs another field", f"{PATCHED}      - minDomains: 2\n", []),
    Case("keys that need another field", f"{PATCHED}      - matchLabelKeys: [app]\n", []),
    Case(
        "labels, but no selector of the workload's own",
        f"{WEB}{KEYS}".replace("  selector: {matchLabels: {app: web}}\n", ""),
        [],
    ),
]


@pytest.mark.parametrize("case", PATCHES, ids=lambda case: case.name)
def test_of_a_patch_only_what_stands_in_it_is_judged(case):
    assert case.finds == shown(case.text)
    assert [PATCH] == [note.why for note in judged(case.text).notes]


JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: web}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: web, image: nginx}]
          topologySpreadConstraints:
          - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
"""


def test_a_cron_job_without_a_schedule_is_a_patch():
    without = JOB.replace('  schedule: "@daily"\n', "")

    assert (["13:11-79 empty-selector"], []) == (shown(JOB), shown(without))
    assert ([], [PATCH]) == tuple([note.why for note in judged(text).notes] for text in (JOB, without))


def test_an_argo_rollout_without_a_selector_is_a_patch():
    text = f"{WEB}{KEYS}".replace("apps/v1", "argoproj.io/v1alpha1").replace("Deployment", "Rollout")
    without = text.replace("  selector: {matchLabels: {app: web}}\n", "")

    assert (["12:7-19 empty-selector"], []) == (shown(text), shown(without))


def test_what_a_policy_describes_is_no_patch():
    """Its operator fills in labels and containers; the webhook judges what is there."""
    kinds = "{apiVersion: example.com/v1, kind: Thing, resource: things, podTemplate: spec.template}"
    text = PATCHED.replace("apps/v1", "example.com/v1").replace("Deployment", "Thing") + KEYS

    assert ["8:7-19 empty-selector"] == shown(text, terms(policy=policy(f"workloads: [{kinds}]")))


@pytest.mark.parametrize("text", ["{{ .Values.x }}", "{% if x %}", "<% x %>", "${X}", "%{ if x }"])
def test_placeholders_are_seen(text):
    assert has_placeholders(f"a: {text}")
    assert not has_placeholders("a: {b: $x}")


def test_the_advice_fits_the_placeholder():
    assert [
        "render it first: helm template CHART | evenkeel lint -",
        "substitute first: flux build kustomization NAME --path FOLDER | evenkeel lint -",
        "render it first, and lint the result",
    ] == [advice_for_template(text) for text in ("a: {{ .x }}\nb: ${y}", "a: ${y}", "{% if x %}")]


def test_a_syntax_error_matters_in_what_is_named_and_any_error_in_a_manifest():
    syntax, twice = SyntaxFault("x"), DocumentError("x")
    cases = ("a: [", "a.yaml", syntax), ("a: [", "a.json", syntax), ("a: 1", "a.yaml", twice)

    assert [True, True, False] == [should_report(*case, named=True) for case in cases]
    assert [False, False, False] == [should_report(*case) for case in cases]
    assert not should_report("a: [ // b", "a.json", syntax, named=True)
    assert should_report("apiVersion: v1\nkind: Pod\na: [", "a.json", twice)


MANIFESTS = [
    '{"kind": "Pod", "apiVersion": "v1", "spec": {',
    '{"metadata": {},"apiVersion":"v1","kind" :"Pod", "x": [}',
    '{\n\n  "kind": "Pod",\n\t"apiVersion": "v1",\n',
    'a: [\n---\nkind: Pod\n"apiVersion" : v1\n',
    "%{ if x }\r\napiVersion: v1\r\nkind: Pod\r\n",
]
NO_MANIFESTS = [
    "- kind: Pod\n  apiVersion: v1\n  a: [",
    "manifest: |\n  apiVersion: v1\n  kind: Pod\na: [",
    "a: [{apiVersion: v1, kind: Pod",
    "kind: pipeline\nsteps: [",
    "apiVersion: v2\nname: [",
    "# apiVersion: v1\n# kind: Pod\na: [",
]


@pytest.mark.parametrize("text", MANIFESTS)
def test_a_manifest_is_known_by_its_api_version_and_its_kind(text):
    assert should_report(text, "a.json", SyntaxFault("x"))
    assert not should_report(text.replace("apiVersion", "myapiVersion"), "a.json", SyntaxFault("x"))
    assert not should_report(text.replace("kind", "mankind"), "a.json", SyntaxFault("x"))


@pytest.mark.parametrize("text", NO_MANIFESTS)
def test_what_has_no_api_version_or_no_kind_at_its_top_is_no_manifest(text):
    assert not should_report(text, "a.yaml", SyntaxFault("x"))


@pytest.mark.parametrize("part", ["\n", " ", ", ", "- ", "\n- ", "{\n", "apiVersion "])
@pytest.mark.slow
def test_what_is_no_manifest_is_known_in_time_proportional_to_its_length(part):
    should_report(part * 500_000, "a.json", SyntaxFault("x"))  # quadratic time would take hours


def test_a_directive_in_a_patch_is_no_constraint():
    """Which the other constraints of it are, with good values for what they lack."""
    (patch,) = parse_workloads(workload("Deployment", {"$patch": "delete", "maxSkew": 0}, {"maxSkew": 0}))
    directive, other = completed(patch).raw_constraints

    assert (1, 0) == (directive["maxSkew"], other["maxSkew"])
    assert {"topologyKey", "whenUnsatisfiable", "labelSelector"} <= other.keys()
