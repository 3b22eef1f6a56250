"""What a kustomization says is read from its text, and from the patches that it names."""

from __future__ import annotations

import json

import pytest

from evenkeel.lint.kustomization import Change, Kustomization, Kustomized, read_kustomization
from tests.support.lint import KEYS, WEB, judged, terms

FIELD = "topologySpreadConstraints"
AT = f"/spec/template/spec/{FIELD}"
FILES = {
    "scale.yaml": "kind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}",
    "label.json": '[{"op": "add", "path": "/spec/template/metadata/labels/a", "value": "b"}]',
    "spread.yaml": f"kind: Job\nspec: {{template: {{spec: {{{FIELD}: []}}}}}}",
    "two.yaml": "kind: Deployment\nspec: {replicas: 3}\n---\nkind: Pod\n$patch: delete",
    "broken.yaml": "a: [",
}


@pytest.mark.parametrize(
    "text",
    [
        "resources: [a.yaml]\nimages: [{name: a}]\nnamePrefix: ''",
        "namespace: shop\nconfigMapGenerator: [{name: a}]\nhelmCharts: [{name: a}]",
        "labels: []\ncommonLabels: {}\npatches:",
        "commonAnnotations: {a: b}",
    ],
)
def test_it_changes_nothing_that_rules_read(text):
    assert Change.NOTHING is read_kustomization(text, FILES.get).change


@pytest.mark.parametrize(
    "text",
    [
        "commonLabels: {tier: x}",
        "labels: [{pairs: {tier: x}, includeTemplates: true}]",
        "namePrefix: a-",
        "nameSuffix: -a",
        "replicas: [{name: web, count: 3}]",
        "vars: [{name: A}]",
        "patches: [{path: scale.yaml}]",
        "patchesStrategicMerge: [scale.yaml]",
        'patchesStrategicMerge: ["kind: Job\\nspec: {parallelism: 1}"]',
        "patchesJson6902: [{path: label.json, target: {kind: Job}}]",
        "patches: [{patch: 'spec: {replicas: 1}', target: {kind: Deployment}}]",
        "patches: [{patch: '[{op: replace, path: /spec/replicas, value: 1}]'}]",
        "patches: [{patch: '[{op: remove, path: /spec/template/spec/containers/0/env}]'}]",
        "patches: [{patch: '[{op: test, path: /spec/template/spec}]'}]",
        "patches: [{patch: '{kind: Job, spec: {template: {spec: {tolerations: [{operator: Exists}]}}}}'}]",
    ],
)
def test_it_changes_what_stands_around_constraints(text):
    assert Change.AROUND is read_kustomization(text, FILES.get).change


@pytest.mark.parametrize(
    "text",
    [
        "transformers: [a.yaml]",
        "configurations: [a.yaml]",
        "replacements: [{targets: [{fieldPaths: [spec.replicas]}]}]",
        "aFieldOfLater: 1",
        "commonAnnotations: {evenkeel.dev/ignore: x}",
        "labels: [{pairs: {tier: x}, fields: [{path: spec/x/labels}]}]",
        "patches: [{path: spread.yaml}]",
        "patches: [{path: two.yaml}]",
        "patches: [{path: nowhere.yaml}]",
        "patches: [{path: broken.yaml}]",
        "patches: [{path: scale.yaml, options: {allowKindChange: true}}]",
        f"patches: [{{patch: '[{{op: remove, path: {AT}/0}}]'}}]",
        "patches: [{patch: '[{op: remove, path: /spec/template/spec}]'}]",
        "patches: [{patch: '[{op: replace, path: \"\", value: {}}]'}]",
        "patches: [{patch: '[{op: move, path: /metadata/x, from: /spec/template}]'}]",
        "patches: [{patch: '[{op: add, path: /metadata/annotations/evenkeel.dev~1ignore, value: x}]'}]",
        "patches: [{patch: '{kind: Job, metadata: {annotations: {evenkeel.dev/ignore: x}}}'}]",
        "patches: [{patch: '{kind: Job, spec: {template: null}}'}]",
        "patches: [{patch: '{kind: Job, spec: {template: {$retainKeys: [a]}}}'}]",
        "patches: [{patch: '{kind: Cluster, spec: {pools: [{name: a}]}}'}]",
    ],
)
def test_it_may_change_constraints(text):
    assert Change.CONSTRAINTS is read_kustomization(text, FILES.get).change


def test_it_names_what_it_builds_from():
    text = "resources: [a.yaml, ../b]\nbases: [c]\ncomponents: [d]\nnamespace: shop\npatches: [{path: scale.yaml}]"
    wanted = Kustomization(("a.yaml", "../b", "c"), ("d",), ("scale.yaml",), Change.AROUND, "shop")

    assert wanted == read_kustomization(text, FILES.get)


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "resources: {a: b}"])
def test_what_is_none_says_nothing(text):
    assert Kustomization() == read_kustomization(text, FILES.get)


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
        by = terms(kustomized={"kustomization.yaml": Kustomized(read.change, read.namespace)})

        assert [] == judged(f"{WEB}{KEYS}", by, "kustomization.yaml").problems
        assert [] == judged(found, by, "kustomization.yaml").problems
    for patch in map(json.dumps, odd_patches(odd)):
        assert [] == judged(patch).problems
