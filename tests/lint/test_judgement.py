"""Each finding is located at its line; what is no manifest is passed over, and what cannot be judged is a problem."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import NamedTuple

import pytest

from evenkeel.lint.builds import Build
from evenkeel.lint.judgement import judge
from evenkeel.lint.kustomization import Change, Kustomized
from evenkeel.lint.notes import (
    BUILT,
    KIND_NOT_JUDGED,
    PATCH,
    REPEATED_KEY,
    SYSTEM_NAMESPACE,
    UNREAD,
    UNRENDERED_TEMPLATE,
)
from evenkeel.lint.notes import VALUES as VALUES_NOTE
from evenkeel.terminal import inputs
from tests.support.build import constraint, honoring, hpa, namespace, owned_by, pod, policy, workload
from tests.support.lint import KEYS, WEB, judged, shown, terms
from webhook.kubernetes.json_values import DEEPEST
from webhook.kubernetes.kinds import FIELD
from webhook.kubernetes.names import SKIP_LABEL, SYSTEM_NAMESPACES
from webhook.policy.parsing import built_in


class Case(NamedTuple):
    name: str
    text: str
    finds: list[str]


IN_LIST = "apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n  apiVersion: v1\n-\n"


PLACED = [
    Case("the field, with its value", f"{WEB}{KEYS}        labelSelector: {{}}  # none\n", ["15:9-26 empty-selector"]),
    Case("the parent, where the field is absent", f"{WEB}{KEYS}", ["12:7-19 empty-selector"]),
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
        ["12:7-74 empty-selector"],
    ),
    Case("in a document that is not the first", f"a: 1\n---\n{WEB}{KEYS}", ["14:7-19 empty-selector"]),
    Case("after a byte order mark", f"\ufeff---\n{WEB}{KEYS}", ["13:7-19 empty-selector"]),
    Case("after a directive", f"%YAML 1.1\n---\n{WEB}{KEYS}", ["14:7-19 empty-selector"]),
    Case("in lines that end as on Windows", f"{WEB}{KEYS}".replace("\n", "\r\n"), ["12:7-19 empty-selector"]),
    Case(
        "in an item of a List",
        IN_LIST + "".join(f"  {line}\n" for line in f"{WEB}{KEYS}".splitlines()),
        ["18:9-21 empty-selector"],
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
    Case(
        "the parent, where a field of a field is absent",
        f"{WEB}{KEYS}        labelSelector: {{matchExpressions: [{{key: app}}]}}\n",
        ["15:44-54 invalid-constraint"],
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
    assert [(16, 8)] == [(one.line, one.column) for one in found.problems]


DUPLICATE = f"{WEB}{KEYS}        maxSkew: 2\n"


UNREADABLE = [
    Case("YAML that is none", "apiVersion: v1\nkind: Pod\na: [1\nb: 2", ["4:2 did not find"]),
    Case("a document beside a manifest", "a: [1\nb: 2\n---\napiVersion: v1\nkind: Pod\n", ["2:2 did not find"]),
    Case("a key twice", DUPLICATE, ['15:9 duplicate key "maxSkew"']),
    Case("a tab in a manifest", "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: x", ["4:1 found character"]),
    Case("old line ends of a Mac", "apiVersion: v1\nkind: Pod\na: b\rc: [f\r", ["3:9 did not find"]),
    Case("line ends of YAML alone", "# \u2028\u2028\x85\napiVersion: v1\nkind: Pod\na: [", ["4:5 did not find"]),
    Case("such in the document before", "a: \u2028\n---\napiVersion: v1\nkind: Pod\na: [", ["5:5 did not find"]),
    Case("a key twice after them", f"# \u2028\r\n{DUPLICATE}", ['16:9 duplicate key "maxSkew"']),
]


SILENT = [
    Case("nothing", "", []),
    Case("a list", "- a\n- b\n", []),
    Case("a word", "hello", []),
    Case("YAML that is none", "a: [1\nb: 2", []),
    Case("YAML of some tool's that is none", "kind: pipeline\nsteps: [1\nb: 2", []),
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


def test_what_a_cluster_made_of_an_object_is_passed_over():
    """In what comes from a cluster; a manifest that names an owner is a person's."""
    owned = workload("ReplicaSet", constraint(labelSelector={}), owner="Deployment/web")

    assert 1 == len(judged(json.dumps(owned)).found)
    owned["metadata"]["uid"] = "u"
    assert [] == judged(json.dumps(owned)).found


@pytest.mark.parametrize("name", SYSTEM_NAMESPACES)
def test_what_is_never_sent_to_the_webhook_is_passed_over_and_counted(name):
    there = json.dumps(workload("Deployment", constraint(labelSelector={}), namespace=name))
    by_default = terms(namespace=name)
    unnamed = json.dumps(workload("Deployment", constraint(labelSelector={}), namespace=None))

    assert ([], [SYSTEM_NAMESPACE]) == (shown(there), [note.why for note in judged(there).notes])
    assert ([], [SYSTEM_NAMESPACE]) == (
        shown(unnamed, by_default),
        [note.why for note in judged(unnamed, by_default).notes],
    )
    assert (1, []) == (len(shown(unnamed)), judged(unnamed).notes)
    assert [] == judged(json.dumps(namespace(name))).notes


def test_what_is_never_sent_is_judged_where_that_is_asked_for():
    there = json.dumps(workload("Deployment", constraint(labelSelector={}), namespace="kube-system"))

    assert 1 == len(judged(there, terms(never_sent=frozenset())).found)


def test_of_what_is_never_sent_that_is_counted_which_rules_would_have_looked_at():
    bare = json.dumps(workload("Deployment", namespace="kube-system"))
    required = policy("rules: {missing-constraints: {severity: warning, minReplicas: 2}}")

    assert [0, 1] == [len(judged(bare, terms(policy=one)).notes) for one in (terms().policy, required)]


def test_kinds_that_nobody_described_are_counted():
    prometheus = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus"}
    has = prometheus | {"spec": {"topologySpreadConstraints": [{}]}}
    schema = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"} | {
        "spec": {"properties": {"topologySpreadConstraints": {"type": "array"}}}
    }
    found = judged("\n---\n".join(map(json.dumps, (prometheus, has, schema))))

    assert ["monitoring.coreos.com/v1 Prometheus with constraints"] == [note.what for note in found.notes]


def test_a_kind_that_is_described_at_one_path_has_a_note_for_its_others():
    kinds = "{apiVersion: example.com/v1, kind: Thing, resource: things, constraints: spec.web}"
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"web": [], "topologySpreadConstraints": [{}]}}
    (note,) = judged(json.dumps(thing), terms(policy=policy(f"workloads: [{kinds}]"))).notes

    assert (KIND_NOT_JUDGED, "example.com/v1 Thing with constraints at another path") == (note.why, note.what)


def test_a_kind_without_anything_at_its_path_has_a_note_for_its_others():
    kinds = "{apiVersion: example.com/v1, kind: Thing, resource: things, constraints: 'spec.sets[*].spread'}"
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"topologySpreadConstraints": [{}]}}
    (note,) = judged(json.dumps(thing), terms(policy=policy(f"workloads: [{kinds}]"))).notes

    assert (KIND_NOT_JUDGED, "example.com/v1 Thing with constraints at another path") == (note.why, note.what)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [("HelmRelease", "render the objects from it, and lint these"), ("Thing", "describe the kind under")],
)
def test_the_advice_fits_the_kind(kind, advice):
    thing = {"apiVersion": "example.com/v1", "kind": kind, "spec": {"topologySpreadConstraints": [{}]}}

    assert judged(json.dumps(thing)).notes[0].advice.startswith(advice)


SERVICE = "apiVersion: v1\nkind: Service\nspec:\n  ports: []\n  ports: []\n  type: a\n  type: b\n"


def test_a_key_that_stands_twice_where_no_workload_is_concerned_is_one_note_a_file():
    found = judged(f"{SERVICE}---\n{SERVICE}")

    assert ([], 2) == (found.problems, found.objects)
    assert [(5, 3, REPEATED_KEY, 'duplicate key "ports"')] == [
        (note.line, note.column, note.why, note.what) for note in found.notes
    ]


THING, LIST = "apiVersion: v1\nkind: Thing\n", "apiVersion: v1\nkind: List\nitems:\n"
TWICE = [
    ("a workload", f"{WEB}{KEYS}        maxSkew: 2\n", [(15, 9)]),
    ("labels", f"{WEB}{KEYS}".replace("labels: {app: web}", "labels: {app: web, app: db}"), [(8, 35)]),
    ("a name", f"{WEB}{KEYS}".replace("{name: web, n", "{name: web, name: db, n"), [(3, 23)]),
    ("tolerations", f"{WEB}{KEYS}      tolerations: [{{key: a, key: b}}]\n", [(15, 30)]),
    ("a field above the constraints", f"{WEB}{KEYS}  template: {{spec: {{containers: []}}}}\n", [(15, 3)]),
    ("constraints of another kind", f"{THING}topologySpreadConstraints: [1]\ntopologySpreadConstraints: []", [(4, 1)]),
    ("in constraints of another kind", f"{THING}a: {{topologySpreadConstraints: [{{a: 1, a: 2}}]}}", [(3, 40)]),
    ("the second item of a list", f"{LIST}- {{}}\n- {{apiVersion: v1, kind: Pod, kind: Pod}}", [(5, 31)]),
    ("a list of workloads itself", "apiVersion: v1\nkind: PodList\na: 1\na: 2\nitems: [{metadata: {}}]", [(4, 1)]),
    ("JSON", '{"apiVersion": "v1", "kind": "Pod", "kind": "Pod"}', [(1, 37)]),
]


@pytest.mark.parametrize(("text", "where"), [case[1:] for case in TWICE], ids=[case[0] for case in TWICE])
def test_a_key_that_stands_twice_where_a_workload_is_concerned_is_a_problem(text, where):
    found = judged(text)

    assert (where, []) == ([(one.line, one.column) for one in found.problems], found.found)
    assert all(one.message.startswith("cannot be read: duplicate key") for one in found.problems)


OF_NO_CONCERN = [
    ("an image", f"{WEB}{KEYS}".replace("image: nginx", "image: nginx, image: redis"), (10, 46), ["empty-selector"]),
    ("containers", f"{WEB}{KEYS}      containers: []\n", (15, 7), ["empty-selector"]),
    ("the status", f"{WEB}{KEYS}status: {{a: 1, a: 2}}\n", (15, 16), ["empty-selector"]),
    ("what an earlier value has", f"{WEB}{KEYS}status: {{a: {{b: 1, b: 2}}, a: []}}\n", (15, 20), ["empty-selector"]),
    ("a workload without constraints", "apiVersion: v1\nkind: Pod\nspec: {a: 1, a: 2}\n", (3, 14), []),
    ("another kind with constraints", f"{THING}a: {{topologySpreadConstraints: [1], a: 1, a: 2}}", (3, 43), []),
]


@pytest.mark.parametrize(
    ("text", "where", "rules"), [case[1:] for case in OF_NO_CONCERN], ids=[c[0] for c in OF_NO_CONCERN]
)
def test_a_key_that_stands_twice_where_no_rule_reads_is_noted_and_the_object_judged(text, where, rules):
    found = judged(text)

    assert ([], rules) == (found.problems, [located.finding.rule for located in found.found])
    assert [where] == [(note.line, note.column) for note in found.notes if note.why == REPEATED_KEY]


def test_a_workload_beside_an_object_with_a_key_that_stands_twice_is_judged():
    items = json.dumps(workload("StatefulSet", constraint(labelSelector={})))
    text = f"{LIST}- {{apiVersion: v1, kind: Service, a: 1, a: 2}}\n- {items}"

    assert ["empty-selector"] == [one.finding.rule for one in judged(text).found]


def test_json_that_is_cut_off_is_a_problem_where_it_is_named():
    text, commented = '{"items": [{"kind": ', '{"a": "b" // c\n}'
    named = terms(named=frozenset({"a.json"}))

    assert 1 == len(judged(text, named, "a.json").problems)
    assert [([], []), ([], [UNREAD]), ([], [])] == [
        (found.problems, [note.why for note in found.notes])
        for found in (judged(text, file="a.json"), judged(commented, named, "a.json"), judged(commented, file="b.json"))
    ]


def test_what_cannot_be_read_and_is_no_manifest_is_noted_where_it_has_constraints():
    found = judged("web:\n  topologySpreadConstraints: [\n", file="values.yaml")

    assert ([], [UNREAD]) == (found.problems, [note.why for note in found.notes])


def test_what_is_too_large_to_judge_is_a_problem():
    (problem,) = judged(json.dumps(pod(*[constraint()] * 101))).problems

    said = "Pod shop/web-1: spec.topologySpreadConstraints: found 101 constraints, at most 100 can be judged"
    assert said == problem.message


@pytest.mark.parametrize("begin, end", [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_what_is_as_deep_as_is_read_is_judged(begin, end):
    """Where the finding stands is looked for in the text, one level after the other."""
    levels = DEEPEST - 5  # of what it stands in
    deep = begin * levels + "1" + end * levels
    text = f'{{"apiVersion":"v1","kind":"Pod","spec":{{"topologySpreadConstraints":[{{"maxSkew":0,"x":{deep}}}]}}}}'

    assert "invalid-constraint" in {found.finding.rule for found in judge("a.json", text, terms()).found}


@pytest.mark.parametrize(
    ("kind", "owner", "judged_itself"),
    [
        ("StatefulSet", "Kafka/web", True),
        ("Deployment", "Dragonfly/web", True),
        ("ReplicaSet", "Rollout/web", True),
        ("Job", "ScaledJob/web", True),
        ("ReplicaSet", "Deployment/web", False),
        ("Job", "CronJob/web", False),
    ],
)
def test_what_an_operator_made_is_judged_and_what_a_built_in_controller_made_is_not(kind, owner, judged_itself):
    made = workload(kind, constraint(labelSelector={}), owner=owner, uid="u")
    wanted = ["empty-selector"] if judged_itself else []

    assert wanted == [one.finding.rule for one in judged(json.dumps(made)).found]


def test_an_owner_in_a_manifest_is_the_writer_s_to_claim():
    assert 1 == len(judged(json.dumps(workload("Deployment", constraint(labelSelector={}), **owned_by("X/y")))).found)


OPERATIONS = """\
- op: replace
  path: /spec/template/spec/topologySpreadConstraints/0/maxSkew
  value: 0
"""
MERGED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      topologySpreadConstraints:
      - topologyKey: a b
"""
VALUES = """\
web:
  topologySpreadConstraints:
  - maxSkew: 0
    labelSelector: {matchLabels: {app: web}}
"""


def indented(text, by):
    return "".join(f"{' ' * by}{line}" for line in text.splitlines(keepends=True))


def kustomization(patch):
    return f"resources: [a.yaml]\npatches:\n- target: {{kind: Deployment}}\n  patch: |-\n{indented(patch, 4)}"


APPLICATION = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source:\n    helm:\n      values: |\n"
RELEASE = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  values:\n"
FLUX = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec:\n  patches:\n  - patch: |\n"


class Carried(NamedTuple):
    name: str
    file: str
    text: str
    finds: list[str]
    why: str


CARRIED = [
    Carried("a JSON patch", "a.yaml", OPERATIONS, ["3:3-11 invalid-constraint"], PATCH),
    Carried(
        "JSON",
        "a.json",
        json.dumps([{"op": "add", "path": "/a/topologySpreadConstraints/0/maxSkew", "value": 0}]),
        ["1:66-76 invalid-constraint"],
        PATCH,
    ),
    Carried(
        "one in a kustomization",
        "x/kustomization.yaml",
        kustomization(OPERATIONS),
        ["7:7-15 invalid-constraint"],
        PATCH,
    ),
    Carried(
        "another form there", "kustomization.yml", kustomization(MERGED), ["12:13-29 malformed-topology-key"], PATCH
    ),
    Carried(
        "one beside an entry that is no patch",
        "kustomization.yaml",
        kustomization(OPERATIONS).replace("patches:", "labels: [1]\npatches:\n- 1"),
        ["9:7-15 invalid-constraint"],
        PATCH,
    ),
    Carried("one of Flux", "a.yaml", FLUX + indented(MERGED, 6), ["13:15-31 malformed-topology-key"], PATCH),
    Carried("values", "values.yaml", VALUES, ["3:5-15 invalid-constraint"], VALUES_NOTE),
    Carried(
        "values of Argo CD", "a.yaml", APPLICATION + indented(VALUES, 8), ["9:13-23 invalid-constraint"], VALUES_NOTE
    ),
    Carried("values of Flux", "a.yaml", RELEASE + indented(VALUES, 4), ["8:9-19 invalid-constraint"], VALUES_NOTE),
    Carried(
        "values that are a text",
        "values.yaml",
        "a:\n  topologySpreadConstraints: |\n    - maxSkew: 0\n",
        ["3:7-17 invalid-constraint"],
        VALUES_NOTE,
    ),
    Carried(
        "a text in quotes",
        "kustomization.yaml",
        f"patches:\n- patch: {json.dumps(MERGED)}\n",
        ["2:3-8 malformed-topology-key"],
        PATCH,
    ),
]


@pytest.mark.parametrize("case", CARRIED, ids=lambda case: case.name)
def test_what_is_merged_into_something_is_judged_at_its_line(case):
    found = judged(case.text, file=case.file)

    assert case.finds == shown(case.text, file=case.file)
    assert [] == found.problems
    assert [(case.why, "judged in part")] == [(note.why, note.done) for note in found.notes]


def test_what_is_merged_is_not_repaired():
    text = kustomization(MERGED.replace("a b", "kubernetes.io/zone"))

    assert [None] == [one.finding.edit for one in judged(text, file="kustomization.yaml").found]


@pytest.mark.parametrize(
    ("patched", "finds"),
    [
        ("{topologySpreadConstraint: [{maxSkew: 1}]}", ["4:26-66 unknown-field"]),
        ("{topologySpreadConstraint: []}", []),
        ("{topologySpreadConstraints: [{maxSkew: 1}]}", []),
        ("{tolerations: [{key: a}]}", []),
    ],
)
def test_a_misspelt_list_in_a_patch_is_found_and_not_repaired(patched, finds):
    patch = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {{spec: {patched}}}}}\n"

    assert finds == shown(patch) == shown(patch, terms(patches=frozenset({"a.yaml"})))
    assert all(located.finding.edit is None for located in judged(patch).found)


KEPT = """\
master:
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
"""


def test_values_are_left_open_where_a_kustomization_changes_constraints():
    text = APPLICATION.replace("Application\n", "Application\nmetadata: {name: web}\n") + indented(VALUES, 8)

    assert [10] == [one.line for one in judged(text, built(Change.AROUND)).found]
    assert [] == judged(text, built(Change.CONSTRAINTS)).found
    assert ["Application"] == [one.object.kind for one in judged(text).found]


def test_a_comment_within_a_text_suppresses_there():
    text = kustomization(MERGED.replace("a b", "a b  # evenkeel: ignore[malformed-topology-key]"))
    found = judged(text, file="kustomization.yaml")

    assert ([], 1) == (found.found, found.suppressed)


@pytest.mark.parametrize(
    ("text", "file", "why"),
    [
        (kustomization("topologySpreadConstraints: [a: b"), "kustomization.yaml", UNREAD),
        (kustomization("topologySpreadConstraints: [{{ .a }}: b]]"), "kustomization.yaml", UNRENDERED_TEMPLATE),
        ("run: |\n  echo topologySpreadConstraints: [a: b", "a.yaml", UNREAD),
        ("topologySpreadConstraints: []", "a.yaml", None),
    ],
)
def test_a_text_that_cannot_be_read_is_no_problem(text, file, why):
    found = judged(text, file=file)

    assert ([], []) == (found.found, found.problems)
    assert [why] * (why is not None) == [note.why for note in found.notes]


def test_beside_a_document_that_cannot_be_read_the_others_are_judged():
    """In a text within a kustomization, as in a file of its own."""
    text = kustomization(f"a: [\n---\n{MERGED}\n---\n{{{{ .a }}}}: b]]\n")
    found = judged(text, file="kustomization.yaml")

    assert ["14:13-29 malformed-topology-key"] == shown(text, file="kustomization.yaml")
    assert [UNREAD, PATCH, UNRENDERED_TEMPLATE] == [note.why for note in found.notes]


def built(change, namespace="", file="a.yaml"):
    return terms(kustomized={file: Kustomized(change, namespace)})


APP = "        labelSelector: {matchLabels: {app: web}}\n"
GOOD = f"{WEB}{KEYS}{APP}"
MISSES = GOOD.replace("labels: {app: web}", "labels: {app: db}")
SKEWED = GOOD.replace("Recreate}", "RollingUpdate}\n  replicas: 3")


@pytest.mark.parametrize(
    ("text", "change", "finds"),
    [
        (MISSES, Change.NOTHING, ["15:9-49 selector-misses-own-pod"]),
        (MISSES, Change.AROUND, []),
        (MISSES.replace("zone", "a b"), Change.AROUND, ["13:9-25 malformed-topology-key"]),
        (MISSES.replace("zone", "a b"), Change.CONSTRAINTS, []),
        (SKEWED, Change.NOTHING, ["13:7-19 rollout-skew"]),
        (SKEWED, Change.AROUND, []),
        (f"{WEB}{KEYS}", Change.AROUND, []),
        (f"{WEB}{KEYS}        labelSelector: {{matchLabels: {{}}}}\n", Change.AROUND, []),
        (f"{GOOD}        matchLabelKeys: [tier]\n", Change.AROUND, []),
    ],
)
def test_what_a_kustomization_changes_is_left_open(text, change, finds):
    """It is noted, and counts as judged without labels."""
    found, changed = judged(text, built(change)), change is not Change.NOTHING

    assert finds == shown(text, built(change))
    assert [BUILT] * changed == [note.why for note in found.notes]
    assert (1, int(not changed), int(changed)) == found.places


@pytest.mark.parametrize("builds", [{}, {"b/kustomization.yaml": Build("b/kustomization.yaml", ())}])
def test_a_build_is_advised_unless_builds_were_asked_for(builds):
    by = replace(built(Change.AROUND), builds=builds)
    notes = [*judged(MISSES, by).notes, *judged(OPERATIONS, by).notes]

    assert [BUILT, PATCH] == [note.why for note in notes]
    assert {"the kustomization was not built" if builds else "judge the built objects: --build auto"} == {
        note.advice for note in notes
    }


def test_other_workloads_do_not_count_pods_whose_labels_a_build_may_change():
    (workload,) = judged(GOOD, built(Change.AROUND)).states.workloads

    assert ({}, False) == (workload.labels, workload.makes_pods)


def test_an_object_is_judged_in_the_namespace_that_a_kustomization_gives_it():
    text = f"{WEB}{KEYS}".replace(", namespace: shop", "")

    assert [] == shown(text, built(Change.NOTHING, "kube-system"))
    assert ["12:7-19 empty-selector"] == shown(text, built(Change.NOTHING, "shop"))


def test_what_others_know_is_in_the_namespace_that_a_kustomization_gives():
    """Also an autoscaler; a finding names the object as it is written."""
    scaler = json.dumps(hpa())
    for text in (f"{WEB}{KEYS}---\n{scaler}", f"{WEB}{KEYS}---\n{scaler}".replace("shop", "")):
        found = judged(text, built(Change.NOTHING, "team-a"))
        (stated,), (autoscaler,) = found.states

        assert (True, "team-a", stated.target) == (stated.named, stated.namespace, autoscaler.target)
        assert "team-a" not in {located.object.namespace for located in found.found}


CLUSTER = {"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "metadata": {"name": "db"}} | {
    "spec": {FIELD: [constraint(labelSelector={"matchLabels": {"a": "b"}})]}
}
HARMLESS = json.dumps(workload("StatefulSet", honoring()))
PATCH_OF_WEB = json.dumps(
    {**workload("Deployment", constraint()), "spec": {"template": {"spec": {FIELD: [constraint()]}}}}
)
MADE = workload("ReplicaSet", constraint(), owner="Deployment/web", uid="u2")
HELM_RELEASE = {
    "apiVersion": "helm.toolkit.fluxcd.io/v2",
    "kind": "HelmRelease",
    "metadata": {"name": "a"},
    "spec": {"values": {"a": f"b: |\n  {FIELD}:\n  - maxSkew: 1"}},
}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": f"{FIELD}: [1]"}}
IN_BASE64 = base64.b64encode(f"{FIELD}:\n- maxSkew: 0".encode()).decode()
PARAMETER = {"name": f"{FIELD}[0].maxSkew", "value": "0"}
PARAMETERS_OF_ARGO = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "a"},
    "spec": {"source": {"helm": {"parameters": [PARAMETER]}}},
}
KYVERNO = {
    "apiVersion": "kyverno.io/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "a"},
    "spec": {"rules": [{"mutate": {"patchStrategicMerge": {"spec": {f"+({FIELD})": [constraint(maxSkew=0)]}}}}]},
}
COMMENTS = f"{{{{ if x }}}}\n# with {FIELD}\na: b # {FIELD}: [1]\n{{{{- /* {FIELD}:\n{{{{ a }}}} */ -}}}}\n"
COUNTED = [
    ("none", json.dumps(workload("Deployment")), (0, 0, 0)),
    ("two", f"{HARMLESS}\n---\n{WEB}{KEYS}", (2, 2, 0)),
    ("a patch", PATCH_OF_WEB, (1, 0, 1)),
    ("a placeholder", f"{WEB}{KEYS}".replace("maxSkew: 1", "maxSkew: ${SKEW}"), (1, 0, 0)),
    ("a template that is no YAML", f"{{{{ if x }}}}\n{WEB}{KEYS}", (1, 0, 0)),
    ("a template without constraints", "{{ if x }}\nkind: Pod", (0, 0, 0)),
    ("another kind", json.dumps({"apiVersion": "a/v1", "kind": "Thing", FIELD: [constraint()]}), (1, 0, 0)),
    ("values", f"web:\n  {FIELD}: [{json.dumps(constraint())}]", (1, 0, 1)),
    ("a custom resource", json.dumps(CLUSTER), (1, 0, 1)),
    ("a system namespace", HARMLESS.replace('"shop"', '"kube-system"'), (1, 0, 0)),
    ("an object of a controller", json.dumps(MADE), (1, 0, 0)),
    ("a namespace with the label skip", f"{json.dumps(namespace(**{SKIP_LABEL: 'true'}))}\n---\n{HARMLESS}", (1, 0, 0)),
    ("a text of another kind", json.dumps(CONFIG_MAP), (1, 0, 0)),
    ("a word in a text", json.dumps(CONFIG_MAP | {"data": {"a": f"see {FIELD}"}}), (1, 0, 0)),
    ("a comment", json.dumps(CONFIG_MAP | {"data": {"a": f"a: 1 # {FIELD}: [1]\n# {FIELD}: [1]"}}), (0, 0, 0)),
    ("behind a # in quotes", json.dumps(CONFIG_MAP | {"data": {"a": f'{{"a": " # ", "{FIELD}": [1]}}'}}), (1, 0, 0)),
    ("a text in braces", json.dumps(CONFIG_MAP | {"data": {"a": f"web: {{{FIELD}: [1]}}"}}), (1, 0, 0)),
    ("a key in quotes", json.dumps(CONFIG_MAP | {"data": {"a": f'web:\n  "{FIELD}":\n  - 1'}}), (1, 0, 0)),
    ("a key of data", json.dumps(CONFIG_MAP | {"data": {FIELD: "- maxSkew: 0"}}), (1, 0, 0)),
    ("an empty key of data", json.dumps(CONFIG_MAP | {"data": {FIELD: ""}}), (0, 0, 0)),
    ("another word", json.dumps(CONFIG_MAP | {"data": {f"{FIELD}Enabled": "1"}}), (0, 0, 0)),
    ("a path of a JSON patch", json.dumps(CONFIG_MAP | {"data": {"a": f"- op: add\n  path: /a/{FIELD}/-"}}), (1, 0, 0)),
    ("base64", json.dumps(CONFIG_MAP | {"kind": "Secret", "data": {"a": IN_BASE64, "b": 1, "c": "!"}}), (1, 0, 0)),
    ("binary data", json.dumps(CONFIG_MAP | {"data": {}, "binaryData": {"a": IN_BASE64}}), (1, 0, 0)),
    ("no base64", json.dumps(CONFIG_MAP | {"data": {}, "binaryData": {"a": "a", "b": {}}}), (0, 0, 0)),
    ("a parameter of Helm", json.dumps(PARAMETERS_OF_ARGO), (1, 0, 0)),
    ("a text in braces in values", f"extra: |\n  spec: {{{FIELD}: [{{maxSkew: 0}}]}}", (1, 0, 1)),
    ("a word in a document", f"extra: 'see {FIELD}[0].maxSkew: 1'", (0, 0, 0)),
    ("a comment in values", f"extra: |\n  # {FIELD}: [1]\n  a: 1 # {FIELD}", (0, 0, 0)),
    ("a key in values", f"web: {{'{FIELD}[0].maxSkew': 0}}", (1, 0, 0)),
    ("a word in place of a list", f"{FIELD}: x", (1, 0, 0)),
    ("a schema", f"properties: {{{FIELD}: {{type: array, description: the {FIELD}}}}}", (0, 0, 0)),
    ("a patch that removes", f"[{{op: remove, path: /spec/{FIELD}}}]", (0, 0, 0)),
    ("a patch of a text", f"[{{op: add, path: /data/a, value: '{FIELD}: [1]'}}]", (1, 0, 0)),
    (
        "a text in metadata",
        json.dumps({"apiVersion": "v1", "kind": "Thing", "metadata": {"a": f"{FIELD}: [1]"}}),
        (0, 0, 0),
    ),
    (
        "an object in place of a list",
        json.dumps({"apiVersion": "a/v1", "kind": "Thing", FIELD: constraint()}),
        (1, 0, 0),
    ),
    ("objects by name", json.dumps({"apiVersion": "a/v1", "kind": "Thing", FIELD: {"a": constraint()}}), (1, 0, 0)),
    ("a text in values", f"extra: |\n  a:\n    {FIELD}:\n    - maxSkew: 1", (1, 0, 1)),
    ("a text in a text", json.dumps(HELM_RELEASE), (1, 0, 0)),
    ("a JSON text", json.dumps(CONFIG_MAP | {"data": {"a": json.dumps({"x": {FIELD: [1]}})}}), (1, 0, 0)),
    ("an empty list in a text", json.dumps(CONFIG_MAP | {"data": {"a": f"{FIELD}: []"}}), (0, 0, 0)),
    ("what cannot be read", f"{FIELD}: [", (1, 0, 0)),
    ("a policy of Kyverno", json.dumps(KYVERNO), (1, 0, 0)),
    ("comments of a template", COMMENTS, (0, 0, 0)),
    ("a field behind comments of a template", f'{COMMENTS}{{{{/* a */}}}}{{"a": " # ", "{FIELD}": [1]}}', (1, 0, 0)),
    ("a comment of a template without an end", f"{{{{/* a\n{FIELD}: [1]", (1, 0, 0)),
    ("a path of helm-unittest", f"set:\n  web.{FIELD}: [{{maxSkew: 1}}]", (1, 0, 1)),
    ("a text at a path of helm-unittest", f"set:\n  web.{FIELD}: |\n    - maxSkew: 1", (1, 0, 1)),
    (
        "deep in a patch",
        f"[{{op: add, path: /spec/{FIELD}/0/labelSelector/matchExpressions/0/key, value: a}}]",
        (1, 0, 1),
    ),
]


@pytest.mark.parametrize(("text", "places"), [case[1:] for case in COUNTED], ids=[case[0] for case in COUNTED])
def test_places_with_constraints_are_counted_by_how_much_of_them_is_judged(text, places):
    labels = {"shop": {SKIP_LABEL: "true"}} if SKIP_LABEL in text else {}
    found = judged(text, terms(policy=inputs.with_operators(built_in()), labels=labels), "values.yaml")

    assert places == found.places
    assert found.notes or places[0] == places[1] + places[2]


SKIP, IGNORE = "evenkeel.dev/skip", "evenkeel.dev/ignore"


@pytest.mark.parametrize(
    ("metadata", "fix"),
    [
        ({"labels": {SKIP: "true"}}, ""),
        ({"labels": {SKIP: "false"}}, ""),
        ({"labels": {"evenkeel.dev/skp": "true"}}, f"write {SKIP}"),
        ({"labels": {SKIP: "True"}}, 'write "true"'),
        ({"labels": {SKIP: True}}, 'write "true", with the quotes'),
        ({"annotations": {SKIP: "true"}}, "move it to metadata.labels, so that evenkeel passes over the namespace"),
        ({"annotations": {IGNORE: "hard-constraint"}}, "remove it; to exempt the namespace"),
        ({"labels": {SKIP: "{{ .Values.skip }}"}}, ""),
    ],
    ids=["on", "off", "misspelt", "another value", "no text", "an annotation", "ignore", "a template"],
)
def test_a_switch_of_a_namespace_that_does_nothing_is_found(metadata, fix):
    found = judged(json.dumps(namespace() | {"metadata": {"name": "shop", **metadata}})).found

    assert ["idle-switch"] * bool(fix) == [located.finding.rule for located in found]
    assert all(located.finding.fix.startswith(fix) and "Namespace" == located.object.kind for located in found)


@pytest.mark.parametrize(
    "metadata", [{"labels": {"app": "web", SKIP: "{{ .Values.skip }}"}}, {"annotations": {IGNORE: "{{ .Values.off }}"}}]
)
def test_a_switch_with_a_placeholder_may_become_any(metadata):
    assert [] == shown(json.dumps(workload("Deployment", template=metadata)))


def test_a_switch_of_a_namespace_is_judged_as_the_rule_is_set():
    text = json.dumps(namespace(**{"evenkeel.dev/skp": "true"}))

    assert [] == shown(text, terms(policy=policy("rules: {idle-switch: ignore}")))
    assert [] == shown(f"{text} # evenkeel: ignore[idle-switch]")


def test_of_a_kind_with_constraints_where_they_are_described_and_elsewhere_both_are_known():
    kinds = "{apiVersion: example.com/v1, kind: Thing, resource: things, constraints: spec.web}"
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    spec = {"web": [constraint(maxSkew=0)], "topologySpreadConstraints": [{}]}
    found = judged(json.dumps({**thing, "spec": spec}), terms(policy=policy(f"workloads: [{kinds}]")))

    assert ["invalid-constraint"] == [one.finding.rule for one in found.found if one.finding.rejected_by_api_server]
    assert ["example.com/v1 Thing with constraints at another path"] == [note.what for note in found.notes]
