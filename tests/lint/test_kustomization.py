"""What a kustomization says is read from its text, and from the patches that it names."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from tests.support.lint import KEYS, WEB, judged, terms
from webhook.lint.kustomization import BuildChange, Kustomization, Kustomized, read_kustomization
from webhook.lint.patched_fields import ALL_PATCHED, NO_PATCH, RENAMED, PatchedFields
from webhook.objects.operators import labelled_by_name

FILES = {
    "scale.yaml": "kind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}",
    "label.json": '[{"op": "add", "path": "/spec/template/metadata/labels/a", "value": "b"}]',
    "two.yaml": "kind: Job\nspec: {parallelism: 3}\n---\nkind: Pod\nmetadata: {labels: {a: b}}",
    "replacement.yaml": "[{targets: [{select: {kind: Job}, fieldPaths: [spec.parallelism]}]}]",
    "broken.yaml": "a: [",
}
LABEL, REPLICAS = PatchedFields(labels=frozenset("a")), PatchedFields(fields=frozenset({"replicas"}))
PARALLEL = PatchedFields(fields=frozenset({"parallelism"}))


FIELD = "topologySpreadConstraints"
AT = f"/spec/template/spec/{FIELD}"


class Case(NamedTuple):
    name: str
    text: str
    changes: list[BuildChange]


CASES = [
    Case("nothing", "resources: [a.yaml]\nimages: [{name: a}]\nnamePrefix: ''", []),
    Case("no name", "namePrefix: ''\nnameSuffix: ''", []),
    Case("replicas", "replicas: [{name: web, count: 3}]", [BuildChange(REPLICAS, "", "web")]),
    Case("a patch in a file", "patches: [{path: scale.yaml}]", [BuildChange(REPLICAS, "Deployment", "web")]),
    Case("in the old form", "patchesStrategicMerge: [scale.yaml]", [BuildChange(REPLICAS, "Deployment", "web")]),
    Case("inline", "patches: [{patch: 'spec: {replicas: 1}'}]", [BuildChange(REPLICAS)]),
    Case("inline, old", 'patchesStrategicMerge: ["kind: Job\\nspec: {replicas: 1}"]', [BuildChange(REPLICAS, "Job")]),
    Case("several", "patches: [{path: two.yaml}]", [BuildChange(PARALLEL, "Job"), BuildChange(LABEL, "Pod")]),
    Case("operations", "patchesJson6902: [{path: label.json, target: {kind: Job}}]", [BuildChange(LABEL, "Job")]),
    Case("a target", "patches: [{path: scale.yaml, target: {name: x}}]", [BuildChange(REPLICAS, "", "x")]),
    Case(
        "a target of many",
        "patches: [{path: scale.yaml, target: {kind: 'A|B', name: x.*}}]",
        [BuildChange(REPLICAS, "A|B")],
    ),
    Case(
        "another kind",
        "patches: [{path: scale.yaml, options: {allowKindChange: true}}]",
        [BuildChange(ALL_PATCHED, "Deployment", "web")],
    ),
    Case("a file that is not there", "patches: [{path: nowhere.yaml}]", []),
    Case("a file that cannot be read", "patches: [{path: broken.yaml}]\nreplacements: [{path: broken.yaml}]", []),
    Case("a replacement", "replacements: [{targets: [{fieldPaths: [spec.replicas]}]}]", [BuildChange(REPLICAS)]),
    Case("of the name", "replacements: [{targets: [{select: {kind: Job}}]}]", [BuildChange(RENAMED, "Job")]),
    Case(
        "of names with dots",
        r"replacements: [{targets: [{fieldPaths: [spec.selector.matchLabels.a\.b/c, 'metadata.labels.[d.e]', "
        r"'spec.containers.[name=a.b].image']}]}]",
        [BuildChange(PatchedFields(labels=frozenset({"a.b/c", "d.e"}), fields=frozenset({"containers"})))],
    ),
    Case("in a file", "replacements: [{path: replacement.yaml}]", [BuildChange(PARALLEL, "Job")]),
    Case("transformers", "transformers: [a.yaml]", [BuildChange(ALL_PATCHED)]),
    Case("what is ignored", "commonAnnotations: {evenkeel.dev/ignore: x}", [BuildChange(ALL_PATCHED)]),
    Case("wrong types", "labels: 1\npatches: [1, {path: [a]}]\nreplicas: {a: b}\nnamespace: [a]", []),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_changes(case):
    assert case.changes == [*read_kustomization(case.text, FILES.get).changes]


@pytest.mark.parametrize("text", ["namePrefix: a-", "nameSuffix: -a"])
def test_it_changes_what_is_labelled_by_its_name(text):
    named = ("CronJob", "Job", *labelled_by_name())

    assert [BuildChange(RENAMED, kind) for kind in named] == [*read_kustomization(text, FILES.get).changes]
    assert {"Kafka", "Dragonfly"} < set(named)


def test_it_names_what_it_builds_from():
    text = "resources: [a.yaml, ../b]\nbases: [c]\ncomponents: [d]\nnamespace: shop\npatches: [{path: e.yaml}]"

    assert Kustomization(("a.yaml", "../b", "c"), ("d",), ("e.yaml",), (), "shop") == read_kustomization(
        text, FILES.get
    )


TIER = PatchedFields(labels=frozenset({"tier"}))
AT_MATCH_LABELS = f"spec/template/spec/{FIELD}/labelSelector/matchLabels"
LABELLED = [
    Case("common ones", "commonLabels: {tier: x}", [BuildChange(TIER)]),
    Case("of the object alone", "labels: [{pairs: {tier: x}}]", [BuildChange(TIER, "Pod")]),
    Case("of templates", "labels: [{pairs: {tier: x}, includeTemplates: true}]", [BuildChange(TIER)]),
    Case("of selectors", "labels: [{pairs: {tier: '${X}'}, includeSelectors: true}]", [BuildChange(TIER)]),
    Case("places", "labels: [{pairs: {tier: x}, fields: [{path: spec/x/labels}]}]", [BuildChange(TIER)]),
    Case(
        "a place of constraints",
        f"labels: [{{pairs: {{tier: x}}, fields: [{{path: {AT_MATCH_LABELS}, kind: Job}}]}}]",
        [BuildChange(TIER)],
    ),
    Case(
        "one that is created",
        f"labels: [{{pairs: {{tier: x}}, fields: [{{path: '{AT_MATCH_LABELS}', create: true, kind: Job}}]}}]",
        [BuildChange(TIER), BuildChange(PatchedFields(constraints=None), "Job")],
    ),
    Case(
        "another field",
        "labels: [{pairs: {tier: x}, fields: [{path: 'spec/parallelism'}]}]",
        [BuildChange(TIER), BuildChange(PARALLEL)],
    ),
    Case("none", "labels: [{pairs: {}, fields: [{path: spec/replicas}]}, 1]\ncommonLabels: {}", []),
]


@pytest.mark.parametrize("case", LABELLED, ids=lambda case: case.name)
def test_it_writes_labels(case):
    assert case.changes == [*read_kustomization(case.text, FILES.get).labels]


CONFIGURED = [
    Case("names", "nameReference: [{kind: Secret, fieldSpecs: [{path: spec/volumes/secretName, kind: Pod}]}]", []),
    Case("more places of labels", "commonLabels: [{path: spec/x/labels, create: true, kind: Rollout}]", []),
    Case(
        "a selector that is created",
        f"commonLabels: [{{path: '{AT_MATCH_LABELS}', create: true, kind: Job}}]",
        [BuildChange(PatchedFields(constraints=None), "Job")],
    ),
    Case(
        "a prefix of a label",
        "namePrefix: [{path: metadata/labels/app}]",
        [BuildChange(PatchedFields(labels=frozenset({"app"})))],
    ),
    Case(
        "a name with a slash",
        r"namePrefix: [{path: /metadata/labels/a\/b}]",
        [BuildChange(PatchedFields(labels=frozenset({"a/b"})))],
    ),
    Case(
        "variables", f"varReference: [{{path: spec/{FIELD}/maxSkew}}]", [BuildChange(PatchedFields(constraints=None))]
    ),
    Case(
        "names in constraints",
        f"nameReference: [{{kind: A, fieldSpecs: [{{path: spec/{FIELD}, kind: B}}]}}]",
        [BuildChange(PatchedFields(constraints=None), "B")],
    ),
    Case("images and replicas", "images: [{path: spec/x/image}]\nreplicas: [{path: spec/replicas}]", []),
    Case("wrong types", "a: 1\nnameReference: [1, {fieldSpecs: [1, {path: [a]}]}]", []),
]


@pytest.mark.parametrize("case", CONFIGURED, ids=lambda case: case.name)
def test_what_configurations_add_is_changed(case):
    read_file = {"a.yaml": case.text}.get

    assert case.changes == [*read_kustomization("configurations: [a.yaml]", read_file).changes]


@pytest.mark.parametrize("path", ["nowhere.yaml", "https://example.com/x", 1])
def test_configurations_that_cannot_be_read_may_change_anything(path):
    text = json.dumps({"configurations": [path]})

    assert [BuildChange(ALL_PATCHED)] == [*read_kustomization(text, FILES.get).changes]


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "resources: {a: b}"])
def test_what_is_none_says_nothing(text):
    assert Kustomization() == read_kustomization(text, FILES.get)


def test_changes_concern_objects_by_kind_and_name():
    """A name may have got a prefix and a suffix before it is patched."""
    built = Kustomized((BuildChange(LABEL, "Deployment", "a-web-b"), BuildChange(REPLICAS, name="db")))

    assert LABEL == built.touched("Deployment", "web")
    assert NO_PATCH == built.touched("StatefulSet", "web") == built.touched("Deployment", "worker")
    assert REPLICAS == built.touched("StatefulSet", "db")
    assert LABEL | REPLICAS == built.touched("", "")


@pytest.mark.parametrize(
    ("expression", "kinds"),
    [
        ("Deployment", {"Deployment"}),
        ("Deploy", set()),
        ("Cluster(Role|RoleBinding)", set()),
        ("(Deployment|StatefulSet)", {"Deployment", "StatefulSet"}),
        ("DaemonSet|Stateful(Set|)", {"DaemonSet", "StatefulSet"}),
        (".*Set", {"DaemonSet", "StatefulSet"}),
        (".*ploy.*", {"Deployment"}),
        ("[D].*", {"Deployment", "StatefulSet", "DaemonSet"}),
        ("^Service$", {"Deployment", "StatefulSet", "DaemonSet"}),
        ("Role)(", {"Deployment", "StatefulSet", "DaemonSet"}),
        ("(|)" * 40, {"Deployment", "StatefulSet", "DaemonSet"}),
        (".*" * 40 + "x", {"Deployment", "StatefulSet", "DaemonSet"}),
    ],
)
@pytest.mark.parametrize(
    "changing",
    [
        "patches: [{{patch: 'spec: {{replicas: 1}}', target: {{kind: '{}'}}}}]",
        "replacements: [{{targets: [{{select: {{kind: '{}', name: w.b}}, fieldPaths: [spec.replicas]}}]}}]",
    ],
    ids=["patches", "replacements"],
)
def test_targets_match_kinds_by_expressions_that_take_no_long_time(changing, expression, kinds):
    """Any other may match each."""
    built = Kustomized(read_kustomization(changing.format(expression), FILES.get).changes)

    assert kinds == {
        kind for kind in ("Deployment", "StatefulSet", "DaemonSet") if built.touched(kind, "web") == REPLICAS
    }


NAMES = {
    "patches": ["path", "patch", "target", "options"],
    "labels": ["pairs", "fields", "includeSelectors"],
    "replicas": ["name"],
    "replacements": ["path", "targets"],
    "resources": [],
    "components": [],
    "commonLabels": [],
    "configurations": [],
    "commonAnnotations": [],
    "patchesStrategicMerge": [],
    "patchesJson6902": ["patch", "path", "target"],
    "namespace": [],
}
PARTS = ["kind", "metadata", "spec", "labels", "selector", "matchLabels", "topologySpreadConstraints", "topologyKey"]
PARTS += ["whenUnsatisfiable", "maxSkew", "labelSelector", "op", "path", "from", "value", "$patch", "replicas"]


def odd_patches(odd):
    for name in PARTS:
        constraint, operation = {"topologyKey": "a", name: odd}, {"op": "add", "path": AT, "value": [], name: odd}
        yield from ({name: odd}, [operation], [{**operation, "path": f"{AT}/0", "value": constraint}])
        yield {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {FIELD: [constraint]}}}}
        yield {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"metadata": {name: odd}}}}


def odd_kustomizations(odd):
    for name, parts in NAMES.items():
        yield from ({name: odd}, {name: [odd]}, *({name: [{part: odd}]} for part in parts))
    yield {"replacements": [{"targets": [{"select": odd, "fieldPaths": odd}]}], "labels": [{"fields": [{"path": odd}]}]}
    yield {"patches": [{"path": "a", "target": {"kind": odd, "name": odd}, "options": {"allowKindChange": odd}}]}
    yield from ({"patches": [{"patch": json.dumps(patch)}]} for patch in odd_patches(odd))


@pytest.mark.parametrize("odd", [[], [[]], [{}], {}, {"a": []}, 1, True, "text", None], ids=str)
def test_a_field_of_a_wrong_type_matters_to_nobody(odd):
    """Neither where it is read, nor where something is judged by it, nor where it is judged itself."""
    for found in map(json.dumps, odd_kustomizations(odd)):
        read = read_kustomization(found, lambda _: json.dumps(odd))
        by = terms(kustomized={"kustomization.yaml": Kustomized((*read.changes, *read.labels), read.namespace)})

        assert [] == judged(f"{WEB}{KEYS}", by, "kustomization.yaml").problems
        assert [] == judged(found, by, "kustomization.yaml").problems
    for patch in map(json.dumps, odd_patches(odd)):
        assert [] == judged(patch).problems
