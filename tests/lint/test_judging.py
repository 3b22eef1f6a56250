"""A file judged: where findings are placed, what is passed over, what silences a finding, what context tells."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import NamedTuple

import pytest
import yaml

from tests.support.build import constraint, namespace, owned_by, pod, workload
from webhook.findings.finding import Severity
from webhook.lint.chunks import chunks
from webhook.lint.context import Context, context_objects, may_hold_context, patches_in
from webhook.lint.judging import judge
from webhook.lint.results import PATCH, SYSTEM, TEMPLATE
from webhook.lint.terms import Terms
from webhook.manifests.configurations import SYSTEM_NAMESPACES
from webhook.policy.parsing import built_in, parse_policy
from webhook.scheduler.features import LATEST

TERMS = Terms(built_in(), LATEST)
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx}]
      topologySpreadConstraints:
"""


def judged(text, terms=TERMS, file="a.yaml"):
    return judge(file, text, terms)


def shown(text, terms=TERMS, file="a.yaml"):
    """Each finding as `line:column-end rule`."""
    found = judged(text, terms, file).found
    return [f"{one.line}:{one.column}-{one.end_column} {one.finding.rule}" for one in found]


class Case(NamedTuple):
    name: str
    text: str
    finds: list[str]


KEYS = "      - maxSkew: 1\n        topologyKey: zone\n        whenUnsatisfiable: DoNotSchedule\n"
IN_LIST = "apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n  apiVersion: v1\n-\n"
PLACED = [
    Case("the field, with its value", f"{WEB}{KEYS}        labelSelector: {{}}  # none\n", ["15:9-26 empty-selector"]),
    Case("the parent, where the field is absent", f"{WEB}{KEYS}", ["12:9-19 empty-selector"]),
    Case(
        "the key only, where the value goes on",
        f"{WEB}{KEYS}        labelSelector:\n          matchLabels:\n            app: x\n",
        ["15:9-22 selector-misses-own-pod"],
    ),
    Case(
        "an item of a list",
        f"{WEB}{KEYS}        labelSelector: {{matchLabels: {{app: web}}}}\n        matchLabelKeys: [app, x]\n",
        ["16:26-29 invalid-constraint", "16:31-32 absent-match-label-key"],
    ),
    Case(
        "in a flow",
        f"{WEB}      - {{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}}",
        ["12:9-74 empty-selector"],
    ),
    Case("in a document that is not the first", f"a: 1\n---\n{WEB}{KEYS}", ["14:9-19 empty-selector"]),
    Case("after a byte order mark", f"\ufeff---\n{WEB}{KEYS}", ["13:9-19 empty-selector"]),
    Case("after a directive", f"%YAML 1.1\n---\n{WEB}{KEYS}", ["14:9-19 empty-selector"]),
    Case("in lines that end as on Windows", f"{WEB}{KEYS}".replace("\n", "\r\n"), ["12:9-19 empty-selector"]),
    Case(
        "in an item of a List",
        IN_LIST + "".join(f"  {line}\n" for line in f"{WEB}{KEYS}".splitlines()),
        ["18:11-21 empty-selector"],
    ),
    Case(
        "where an anchor stands, for what is merged in",
        WEB.replace("spec:\n  strategy", "x: &x\n  topologyKey: a b\nspec:\n  strategy")
        + "      - {<<: *x, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}",
        ["5:3-19 malformed-topology-key"],
    ),
    Case(
        "where an alias stands",
        WEB.replace("spec:\n  strategy", "x: &x {}\nspec:\n  strategy") + f"{KEYS}        labelSelector: *x",
        ["16:9-26 empty-selector"],
    ),
    Case("in JSON", json.dumps(pod(constraint(maxSkew=0)), indent=1), ["14:5-17 invalid-constraint"]),
    Case(
        "after letters of more than one byte",
        f"{WEB}      - {{topologyKey: 'é ü', maxSkew: 1, "
        "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}",
        ["12:10-28 malformed-topology-key"],
    ),
]


@pytest.mark.parametrize("case", PLACED, ids=lambda case: case.name)
def test_a_finding_stands_at(case):
    assert case.finds == shown(case.text)


def test_each_finding_tells_its_object_and_its_line():
    (one,) = judged(f"{WEB}{KEYS}").found

    assert "Deployment shop/web" == str(one.object)
    assert "      - maxSkew: 1" == one.quoted


def test_a_mistake_in_one_document_says_nothing_of_the_others():
    found = judged(f"{WEB}{KEYS}---\nkind: [\n---\n{WEB}{KEYS}")

    assert [12, 29] == [one.line for one in found.found]
    assert [(17, 1)] == [(one.line, one.column) for one in found.problems]


def test_text_may_hold_what_looks_like_the_end_of_a_document():
    assert ["a: |\n  ---\n", "---\nb: 1"] == [one.text for one in chunks("a: |\n  ---\n---\nb: 1")]


DUPLICATE = f"{WEB}{KEYS}        maxSkew: 2\n"
UNREADABLE = [
    Case("YAML that is none", "a: [1\nb: 2", ["2:2 did not find"]),
    Case("a key twice", DUPLICATE, ['15:9 key "maxSkew" stands twice']),
    Case("a tab in a manifest", "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: x", ["4:1 found character"]),
]
SILENT = [
    Case("nothing", "", []),
    Case("a list", "- a\n- b\n", []),
    Case("a word", "hello", []),
    Case("an object of no kind", "apiVersion: v1\nspec: {topologySpreadConstraints: [{}]}", []),
    Case("a kind that is no string", "apiVersion: 1\nkind: [x]", []),
    Case("a key twice in some tool's file", "a: 1\na: 2", []),
    Case("a tag of some tool's", "x: !!python/name:emoji.y\n", []),
    Case(
        "a manifest in a ConfigMap",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  x.yaml: |\n"
        + "".join(f"    {x}\n" for x in f"{WEB}{KEYS}".splitlines()),
        [],
    ),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: case.name)
def test_what_should_parse_and_does_not_is_a_problem_at_its_line(case):
    (problem,) = judged(case.text).problems

    assert f"{problem.line}:{problem.column} {problem.message.removeprefix('cannot be read: ')}".startswith(
        case.finds[0]
    )


@pytest.mark.parametrize("case", SILENT, ids=lambda case: case.name)
def test_what_is_no_manifest_is_passed_over_in_silence(case):
    found = judged(case.text)

    assert ([], []) == (found.problems, found.found)


def test_json_with_comments_is_no_business_of_kubernetes():
    assert [] == judged('{"a": 1, // x\n}', file="tsconfig.json").problems
    assert 1 == len(judged('{"apiVersion": "v1", "x": [}', file="pod.json").problems)


TEMPLATES = [
    Case("one that is no YAML", "{{- if .Values.on }}\napiVersion: v1\n{{- end }}", []),
    Case("a value that YAML takes for an object", f"{WEB}{KEYS}        labelSelector: {{{{ .x }}}}\n", []),
    Case("a value in quotes", f"{WEB}{KEYS}        labelSelector: {{matchLabels: {{app: '{{{{ .x }}}}'}}}}\n", []),
    Case("a variable", f"{WEB}      - maxSkew: ${{SKEW}}\n        topologyKey: ${{KEY}}\n", []),
]


@pytest.mark.parametrize("case", TEMPLATES, ids=lambda case: case.name)
def test_a_template_is_passed_over_and_counted(case):
    found = judged(case.text)

    assert ([], [], 1) == (found.problems, found.found, found.passed_over[TEMPLATE])


def test_what_is_no_template_where_it_matters_is_judged():
    text = f"{WEB}{KEYS}".replace("image: nginx", "image: '{{ .Values.image }}'")

    assert ["12:9-19 empty-selector"] == shown(text)


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
]


@pytest.mark.parametrize("case", PATCHES, ids=lambda case: case.name)
def test_of_a_patch_only_what_stands_in_it_is_judged(case):
    assert case.finds == shown(case.text)
    assert 1 == judged(case.text).passed_over[PATCH]


def test_what_a_kustomization_names_is_a_patch():
    text = f"{WEB}{KEYS}        labelSelector: {{matchLabels: {{a: b}}}}\n"
    named = {*patches_in("patches: [{path: a.yaml}, {patch: 'x: 1\ny'}]\npatchesStrategicMerge: [b.yaml]")}

    assert {"a.yaml", "b.yaml"} == named
    assert [] == shown(text, replace(TERMS, patches=frozenset(named)))
    assert ["15:9-45 selector-misses-own-pod"] == shown(text)


def test_what_a_policy_describes_is_no_patch():
    """Its operator fills in labels and containers; the webhook judges what is there."""
    kinds = "{apiVersion: example.com/v1, kind: Thing, resource: things, podTemplate: spec.template}"
    policy = parse_policy(f"{{apiVersion: config.evenkeel.dev/v1alpha1, kind: SpreadPolicy, workloads: [{kinds}]}}")
    text = PATCHED.replace("apps/v1", "example.com/v1").replace("Deployment", "Thing") + KEYS

    assert ["8:9-19 empty-selector"] == shown(text, replace(TERMS, policy=policy))


def test_what_a_cluster_made_of_an_object_is_passed_over():
    """In what comes from a cluster; a manifest that names an owner is a person's."""
    owned = workload("ReplicaSet", constraint(labelSelector={}), owner="Deployment/web")

    assert 1 == len(judged(json.dumps(owned)).found)
    owned["metadata"]["uid"] = "u"
    assert [] == judged(json.dumps(owned)).found


@pytest.mark.parametrize("name", SYSTEM_NAMESPACES)
def test_what_is_never_sent_to_the_webhook_is_passed_over_and_counted(name):
    there = json.dumps(workload("Deployment", constraint(labelSelector={}), namespace=name))
    by_default = replace(TERMS, namespace=name)
    unnamed = json.dumps(workload("Deployment", constraint(labelSelector={}), namespace=None))

    assert ([], 1) == (shown(there), judged(there).passed_over[SYSTEM])
    assert ([], 1) == (shown(unnamed, by_default), judged(unnamed, by_default).passed_over[SYSTEM])
    assert (1, 0) == (len(shown(unnamed)), judged(unnamed).passed_over.total())
    assert 0 == judged(json.dumps(namespace(name))).passed_over.total()


def test_of_what_is_never_sent_that_is_counted_which_rules_would_have_looked_at():
    bare = json.dumps(workload("Deployment", namespace="kube-system"))
    required = parse_policy(
        "{apiVersion: config.evenkeel.dev/v1alpha1, kind: SpreadPolicy, "
        "rules: {missing-constraints: {severity: warning, minReplicas: 2}}}"
    )

    assert [0, 1] == [judged(bare, replace(TERMS, policy=one)).passed_over[SYSTEM] for one in (TERMS.policy, required)]


def test_kinds_that_nobody_described_are_counted():
    prometheus = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus"}
    has = prometheus | {"spec": {"topologySpreadConstraints": [{}]}}
    schema = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"} | {
        "spec": {"properties": {"topologySpreadConstraints": {"type": "array"}}}
    }
    found = judged("\n---\n".join(map(json.dumps, (prometheus, has, schema))))

    assert {("monitoring.coreos.com/v1", "Prometheus"): 1} == found.unjudged


def test_what_is_too_large_to_judge_is_a_problem():
    (problem,) = judged(json.dumps(pod(*[constraint()] * 101))).problems

    assert "Pod shop/web-1: found 101 constraints, at most 100 can be judged" == problem.message


MISSPELT = (
    KEYS.replace("topologyKey: zone", "topologyKey: kubernetes.io/zone{}")
    + "        labelSelector: {{matchLabels: {{app: web}}}}\n"
)
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


def test_a_comment_in_text_is_none():
    text = f"{WEB}{KEYS}".replace("image: nginx", "image: 'x # evenkeel: ignore[a-rule]'")

    assert ["12:9-19 empty-selector"] == shown(text)


ENFORCED = parse_policy(
    "{apiVersion: config.evenkeel.dev/v1alpha1, kind: SpreadPolicy, rules: {empty-selector: {enforced: true}}}"
)


def annotated(rules, *constraints):
    return yaml.safe_dump(workload("StatefulSet", *constraints, annotations={"evenkeel.dev/ignore": rules}))


ANNOTATIONS = [
    Case("what it names", annotated("empty-selector", constraint(labelSelector={})), []),
    Case("a rule that finds nothing", annotated("pinned-pod", constraint()), ["unused-suppression"]),
    Case("a rule that there is not", annotated("empty-selektor", constraint()), ["unused-suppression"]),
    Case("a rule that is off", annotated("soft-constraint", constraint()), []),
]


@pytest.mark.parametrize("case", ANNOTATIONS, ids=lambda case: case.name)
def test_an_annotation_silences(case):
    assert case.finds == [line.split()[1] for line in shown(case.text)]


def test_what_is_enforced_nothing_silences():
    terms = replace(TERMS, policy=ENFORCED)
    text = annotated("empty-selector", constraint(labelSelector={}))
    commented = f"{WEB}{KEYS}        labelSelector: {{}} # evenkeel: ignore[empty-selector]\n"

    assert {"empty-selector", "unused-suppression"} == {line.split()[1] for line in shown(text, terms)}
    assert {"empty-selector", "unused-suppression"} == {line.split()[1] for line in shown(commented, terms)}


def test_suppressions_are_counted_and_their_report_may_be_switched_off():
    text = annotated("empty-selector,pinned-pod", constraint(labelSelector={}))

    assert 1 == judged(text).suppressed
    assert [] == shown(text, replace(TERMS, unused=Severity.IGNORE))


def context(*objects):
    return Context([one for obj in objects for one in context_objects(json.dumps(obj))])


def test_a_namespace_among_the_manifests_opts_out():
    skipping = namespace("shop", **{"evenkeel.dev/skip": "true"})
    found = context(skipping, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": 1}})

    assert [] == shown(f"{WEB}{KEYS}", replace(TERMS, snapshot=found.snapshot(None)))
    assert 1 == len(shown(f"{WEB}{KEYS}", replace(TERMS, snapshot=context(namespace("shop")).snapshot(None))))


def test_nodes_among_the_manifests_carry_their_keys():
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/zone": "a"}}}
    text = WEB + MISSPELT.format("")

    assert [] == shown(text, replace(TERMS, snapshot=context(node).snapshot(None)))


@pytest.mark.parametrize(
    "text", ["kind: Namespace", '{"kind":"Node"}', "kind: 'NamespaceList'", '  "kind" : "Namespace"']
)
def test_a_cheap_look_misses_nothing_that_tells(text):
    assert may_hold_context(text.encode())


def test_an_owner_in_a_manifest_is_the_writer_s_to_claim():
    assert 1 == len(judged(json.dumps(workload("Deployment", constraint(labelSelector={}), **owned_by("X/y")))).found)
