"""The kinds of operators: the form of their table, how a policy names them, and how lint judges what they fill in."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
import yaml

from evenkeel.lint.kustomization import Change, Kustomized
from evenkeel.terminal.inputs import with_operators as with_operators_of_files
from tests.generate import chart
from tests.support import ROOT
from tests.support.build import constraint
from tests.support.lint import judged, terms
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.kinds import EACH, EACH_KEY, FIELD, KINDS, Kind, Kinds, find_kinds
from webhook.kubernetes.operators import TABLE, UNKNOWN, Row, kinds_named, kinds_of, names, places, with_operators
from webhook.kubernetes.workload import parse_workloads
from webhook.policy.parsing import built_in

KAFKA = "kafka.strimzi.io/v1beta2"
NODE_PATH = ("spec", "kafka", "template", "pod", "topologySpreadConstraints")


HEAD, *LINES = (ROOT / "webhook" / "kubernetes" / TABLE).read_text("utf-8").splitlines()
VERSION, FIELDS, STEP = "v[0-9]+((alpha|beta)[0-9]+)?", "[A-Za-z]+(,[A-Za-z]+)*", r"[A-Za-z0-9_]+(\[\*\]|\{\*\})?"
LABEL = r"([a-z]+:)?[!+]?[a-z0-9./-]+(\?[A-Za-z]*)?(=[A-Za-z-]+)?"
FORMS = Row(
    name="[a-z][a-z0-9-]*",
    group=r"[a-z0-9.-]+\.[a-z0-9.-]+",
    versions=f"{VERSION}(,{VERSION})*",
    kind="[A-Za-z][A-Za-z0-9]*",
    resource="[a-z0-9-]+",
    path=rf"{STEP}(\.{STEP})*",
    fills=rf"(\{UNKNOWN}|{FIELDS})?",
    sets=f"({FIELDS})?",
    own=f"({FIELDS})?",
    replicas=rf"({STEP}(\.{STEP})*)?",
    labels=f"({LABEL}(,{LABEL})*)?",
    source=r"[A-Za-z0-9.-]+/[A-Za-z0-9.-]+ ([0-9a-f]{12}|-) [A-Za-z0-9._/-]+",
)


def test_the_table_is_well_formed():
    rows = [Row(*line.split("\t")) for line in LINES]

    assert "\t".join(Row._fields) == HEAD
    assert [] == [
        (row.name, column)
        for row in rows
        for column, form in FORMS._asdict().items()
        if not re.fullmatch(form, getattr(row, column))
    ]
    assert sorted(names()) == [*names()] and [row.name for row in rows] == sorted(row.name for row in rows)
    kinds = {(row.name, row.group, row.kind, row.resource) for row in rows}
    assert len(names()) == len(kinds) == len({(row.group, row.kind) for row in rows})
    assert [] == [place for place, times in Counter((row.name, row.path) for row in rows).items() if times > 1]
    # What is filled in and what is set exclude each other; what operators do besides is known where they keep the rest.
    assert [] == [row for row in rows if (row.fills and row.sets) or (row.own + row.replicas and row.fills + row.sets)]
    assert [place.path for place in places()] == [_parsed(row.path) for row in rows]


def _parsed(path):
    return tuple(part for part in re.split(r"\.|\[(?=\*)|(?=\{)|\]", path) if part)


def test_a_name_stands_for_each_place_in_each_version():
    found = list(kinds_named("strimzi-kafka"))

    assert {"kafka.strimzi.io/v1beta2", "kafka.strimzi.io/v1"} == {kind.api_version for kind in found}
    assert NODE_PATH in {kind.constraints for kind in found}
    assert {(True, False, "kafkas")} == {(kind.from_policy, kind.built_in, kind.resource) for kind in found}
    assert [] == list(kinds_named("strimzi"))


def test_the_chart_has_all_versions_of_a_kind_sent():
    sent = yaml.safe_load(chart.operators())
    described = {name: {kind.api_version.rpartition("/")[2] for kind in kinds_named(name)} for name in names()}

    assert described == {name: {*kind["versions"]} for name, kind in sent.items()}
    assert {"v1alpha1", "v1beta1"} == described["cockroachdb-crdbcluster"]


def test_a_place_is_a_pod_template_or_a_list_of_constraints():
    (template,) = {kind.template for kind in kinds_named("elastic-elasticsearch")}

    assert ("spec", "nodeSets", "*", "podTemplate") == template
    assert {None} == {kind.template for kind in kinds_named("strimzi-kafka")}


def test_the_kinds_of_operators_are_found_beside_those_that_are_there():
    found = with_operators(KINDS)

    assert tuple(KINDS) == found
    assert [*KINDS.named("apps/v1", "Deployment")] == [*found.named("apps/v1", "Deployment")]
    assert [*found.named(KAFKA, "Kafka")] == [*kinds_of(KAFKA, "Kafka")] != []
    assert (
        () == KINDS.named(KAFKA, "Kafka") == found.named("v1", "Kafka") == found.named("kafka.strimzi.io/v9", "Kafka")
    )


def test_the_table_is_read_for_custom_resources_alone(monkeypatch):
    monkeypatch.setattr("webhook.kubernetes.operators._rows_by_kind", None)

    assert () == kinds_of("v1", "ConfigMap") == kinds_of("apps/v1", "Deployment")
    with pytest.raises(TypeError):
        kinds_of("a.io/v1", "Fleet")


@pytest.mark.parametrize("from_policy", [True, False])
def test_a_place_that_is_described_already_stays_as_described_and_the_others_are_added(from_policy):
    own = Kind(KAFKA, "Kafka", "kafkas", template=None, constraints=NODE_PATH, built_in=False, from_policy=from_policy)
    own = replace(own, labels=("spec", "labels"))
    found = find_kinds({"apiVersion": KAFKA, "kind": "Kafka"}, with_operators(Kinds([*KINDS, own])))

    assert [own] == [kind for kind in found if kind.constraints == NODE_PATH]
    assert len([place for place in places() if place.name == "strimzi-kafka"]) == len(found)


def test_the_pods_of_an_operator_have_labels_that_are_not_known():
    (raycluster, *_) = kinds_named("ray-raycluster")
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {}}
    spec = {"headGroupSpec": {"template": template}}
    obj = {"apiVersion": raycluster.api_version, "kind": "RayCluster", "spec": spec}
    (found,) = parse_workloads(obj, with_operators(KINDS))

    assert ({"app": "web"}, False) == (found.labels, found.labels_known)


def test_an_object_whose_keys_are_names_has_a_place_for_each():
    placement = {"mon": {"topologySpreadConstraints": [{}]}, "osd": {}, "mgr": []}
    obj = {"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster", "spec": {"placement": placement}}
    found = parse_workloads(obj, with_operators(KINDS))

    assert [("spec", "placement", name, "topologySpreadConstraints") for name in placement] == [
        one.path for one in found
    ]
    assert [[{}], None, None] == [one.raw_constraints for one in found]


@pytest.mark.parametrize("placement", [None, [], "mon", {}, [{"topologySpreadConstraints": []}]])
def test_what_is_no_object_has_no_place(placement):
    obj = {"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster", "spec": {"placement": placement}}

    assert () == parse_workloads(obj, with_operators(KINDS))


# One place of each sort.
PLACES = {
    sort: next(place for place in places() if (place.name, path_text(place.path)) == where)
    for sort, where in {
        "keeps": ("strimzi-kafka", "spec.kafka.template.pod.topologySpreadConstraints"),
        "keeps, in templates": ("elastic-elasticsearch", "spec.nodeSets[*].podTemplate"),
        "keeps, by key": ("druid", "spec.nodes{*}.topologySpreadConstraints"),
        "fills one": ("victoriametrics-vmagent", "spec.topologySpreadConstraints"),
        "fills several": ("percona-servermongodb", "spec.replsets[*].topologySpreadConstraints"),
        "sets": ("tidb-cluster", "spec.pd.topologySpreadConstraints"),
        "own": ("prometheus", "spec.topologySpreadConstraints"),
        "not known": ("zalando-postgresql", "spec.topologySpreadConstraints"),
    }.items()
}
DEFAULTED = {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": ""}
every_sort = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)


@cache
def _terms():
    return terms(policy=with_operators_of_files(built_in()))


def planted(place, *constraints):
    """The smallest object that has these constraints in a place, in each of its versions, and their path."""
    path = (*place.path, "spec", FIELD) if place.in_template else place.path
    value: object = [*constraints]
    for step in reversed(path):
        value = [value] if step == EACH else {"one" if step == EACH_KEY else step: value}
    named = {"kind": place.kind, "metadata": {"name": "web"}}
    objects = [{"apiVersion": f"{place.group}/{version}", **named, **value} for version in place.versions]
    return objects, path_text(tuple({EACH: 0, EACH_KEY: "one"}.get(step, step) for step in path))


def found(place, *constraints):
    """For each version, each finding as its rule and its path behind the place; a note would be one, too."""
    objects, path = planted(place, *constraints)
    for obj in objects:
        result = judged(json.dumps(obj), _terms())
        assert ([], []) == (result.notes, result.problems)
        yield [(one.finding.rule, path_text(one.finding.path).removeprefix(path)) for one in result.found]


def test_every_place_is_one_of_its_objects():
    kinds = with_operators(KINDS)
    for place in places():
        for obj in planted(place, constraint())[0]:
            assert [[constraint()]] == [
                one.raw_constraints for one in parse_workloads(obj, kinds) if one.raw_constraints
            ]


@every_sort
def test_a_defect_is_found_at_its_path(place):
    for each in found(place, constraint(), constraint(topologyKey="kubernetes.io/zone", maxSkew=-1)):
        assert [("invalid-constraint", "[1].maxSkew"), ("misspelt-topology-key", "[1].topologyKey")] == each


@every_sort
def test_what_is_right_has_no_finding(place):
    """Most labels are the operator's: what selects them is not known to be wrong."""
    for each in found(place, constraint(labelSelector={"matchLabels": {"made-by": "an-operator"}})):
        assert [] == each


@every_sort
def test_what_the_operator_fills_in_may_be_absent_and_nothing_else(place):
    filled = {*DEFAULTED, "labelSelector"} if place.fills is None else place.fills | place.sets
    for name, empty in DEFAULTED.items():
        wanted = [] if name in filled else [("invalid-constraint", f"[0].{name}")]
        for value in (None, empty):
            assert all(wanted == each for each in found(place, constraint(**{name: value})))
    wanted = [] if "labelSelector" in filled else [("empty-selector", "[0].labelSelector")]
    assert all(wanted == each for each in found(place, constraint(labelSelector=None)))


@every_sort
def test_an_empty_selector_is_found_where_it_is_known_that_the_operator_leaves_it(place):
    left = place.fills is not None and "labelSelector" not in place.sets
    wanted = [("empty-selector", "[0].labelSelector")] if left else []

    assert all(wanted == each for each in found(place, constraint(labelSelector={})))
    assert all([] == each for each in found(place, constraint(labelSelector={}, matchLabelKeys=["of-the-operator"])))


@every_sort
def test_a_selector_that_is_absent_beside_label_keys_is_found_where_nobody_fills_it_in(place):
    keeps = place.fills == place.sets == place.own_fields == frozenset()
    wanted = [("invalid-constraint", "[0].matchLabelKeys")] if keeps else []
    each = list(found(place, constraint(labelSelector=None, matchLabelKeys=["of-the-operator"])))

    assert all(wanted == [one for one in of_version if one[0] == "invalid-constraint"] for of_version in each)


def test_a_field_of_the_operators_own_is_known_and_fills_the_selector():
    place = PLACES["own"]
    (own,) = place.own_fields
    for selector in (None, {}):
        assert all([] == each for each in found(place, constraint(labelSelector=selector, **{own: "OnResource"})))
    wanted = [("empty-selector", "[0].labelSelector"), ("unknown-field", f"[1].labelSelector.{own}")]
    second = constraint(topologyKey="rack", labelSelector={"matchLabels": {"a": "b"}, own: "x"})
    assert all(wanted == each for each in found(place, constraint(labelSelector={}), second))


# Labels whose value is the name of the object, is one that it may itself set otherwise, and is always the same.
GIVEN = {
    (name, key): next(place for place in places() if place.name == name)
    for name, key in {
        ("dragonfly", "app"),
        ("cnpg-cluster", "cnpg.io/cluster"),
        ("cockroachdb-crdbcluster", "app.kubernetes.io/component"),
        ("mongodb-community", "app"),
        ("elastic-elasticsearch", "elasticsearch.k8s.elastic.co/cluster-name"),
        ("elastic-kibana", "kibana.k8s.elastic.co/name"),
    }
}


def selecting(place, metadata, **labels):
    """The rules that are broken by constraints in a place that select these labels, in each version."""
    for obj in planted(place, constraint(labelSelector={"matchLabels": labels}))[0]:
        found = judged(json.dumps({**obj, "metadata": metadata}), _terms()).found
        yield [one.finding.rule for one in found]


@pytest.mark.parametrize("name, key", sorted(GIVEN))
def test_a_selector_of_another_value_than_the_operator_gives_misses_the_pods(name, key):
    place = GIVEN[name, key]
    (label,) = (label for label in place.gives if label.key == key)
    own, named, misses = label.value.replace("NAME", "prod"), {"name": "prod"}, ["selector-misses-own-pod"]

    assert all([] == each for each in selecting(place, named, **{key: own, "other": "x"}))
    assert all(misses == each for each in selecting(place, named, **{key: "my-cluster", "other": "x"}))
    # The name is not known, or is no value of a label.
    for metadata in ({}, {"generateName": "prod-"}, {"name": "a." * 32 + "a"}, {"name": "{{ .Release.Name }}"}):
        unknown = [] if "NAME" in label.value else misses
        assert all(unknown == each for each in selecting(place, metadata, **{key: "my-cluster"}))
    written = {**named, "labels": {key: "my-cluster"}}
    wanted = [] if label.yields else misses
    assert all(wanted == each for each in selecting(place, written, **{key: "my-cluster"}))


def test_the_value_that_the_operator_gives_is_written():
    expression = {"key": "other", "operator": "Exists"}

    def mended(**selector):
        ((dragonfly,), _) = planted(GIVEN["dragonfly", "app"], constraint(labelSelector=selector))
        named = json.dumps({**dragonfly, "metadata": {"name": "prod"}})
        return [(one.finding.fix, one.finding.edit and one.finding.edit.value) for one in judged(named, _terms()).found]

    right = {"matchLabels": {"app": "prod", "other": "x"}}
    assert [("write labelSelector: {matchLabels: {app: prod, other: x}}", right)] == mended(
        matchLabels={"app": "cache", "other": "x"}
    )
    assert [("select labels that the Pod itself carries", None)] == mended(
        matchLabels={"app": "cache"}, matchExpressions=[expression]
    )


def test_the_name_is_not_known_of_what_a_kustomization_renames_or_patches():
    ((dragonfly,), _) = planted(GIVEN["dragonfly", "app"], constraint(labelSelector={"matchLabels": {"app": "cache"}}))
    renamed = replace(_terms(), kustomized={"a.yaml": Kustomized(Change.AROUND)})
    patched = replace(_terms(), patches=frozenset({"a.yaml"}))

    for by, wanted in ((_terms(), ["selector-misses-own-pod"]), (renamed, []), (patched, [])):
        assert wanted == [one.finding.rule for one in judged(json.dumps(dragonfly), by).found]


KNATIVE = {"apiVersion": "operator.knative.dev/v1beta1", "kind": "KnativeServing", "metadata": {"name": "ks"}}
CEPH = {"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster", "metadata": {"name": "rook-ceph"}}
CRDB = {"apiVersion": "crdb.cockroachlabs.com/v1beta1", "kind": "CrdbCluster", "metadata": {"name": "db"}}
MONGO = {"apiVersion": "mongodbcommunity.mongodb.com/v1", "kind": "MongoDBCommunity", "metadata": {"name": "db"}}
OSD, PREPARE = "rook-ceph-osd", "rook-ceph-osd-prepare"


def spread_by(*values, key="app"):
    """The constraints of a place that count the Pods with any of these values of a label."""
    expressions = [{"key": key, "operator": "In", "values": [*values]}]
    return {"topologySpreadConstraints": [constraint(labelSelector={"matchExpressions": expressions})]}


def device_set(**places):
    return {"storage": {"storageClassDeviceSets": [{"name": "set1", **places}]}}


def mongo(**stateful):
    template = {"metadata": stateful.pop("metadata", {}), "spec": spread_by("db-svc")}
    return {"statefulSet": {"spec": {**stateful, "template": template}}}


OTHERS, MISSES = ["selector-matches-others"], ["selector-misses-own-pod"]


@pytest.mark.parametrize(
    ("obj", "spec", "rules"),
    [
        (KNATIVE, {"deployments": [{"name": "webhook", **spread_by("webhook")}]}, []),
        (KNATIVE, {"deployments": [{"name": "webhook", **spread_by("controller")}]}, MISSES),
        (KNATIVE, {"workloads": [{"name": "activator", **spread_by("autoscaler")}]}, MISSES),
        (KNATIVE, {"deployments": [{"name": "x", "labels": {"app": "y"}, **spread_by("y")}]}, []),
        (KNATIVE, {"deployments": [spread_by("webhook")]}, []),
        (CEPH, device_set(placement=spread_by(OSD)), []),
        (CEPH, device_set(placement=spread_by(OSD, PREPARE)), OTHERS),
        (CEPH, device_set(placement=spread_by(PREPARE)), MISSES),
        (CEPH, device_set(preparePlacement=spread_by(OSD, PREPARE)), OTHERS),
        (CEPH, device_set(placement=spread_by("set1", key="ceph.rook.io/DeviceSet")), []),
        (CEPH, {"placement": {"osd": spread_by(OSD, PREPARE)}}, OTHERS),
        (CEPH, {"placement": {"mon": spread_by(OSD)}}, MISSES),
        (CEPH, {"placement": {"mon": spread_by("rook-ceph-mon", OSD)}}, []),
        (CEPH, {"placement": {"all": spread_by(OSD, PREPARE)}}, []),
        (CRDB, {"template": {"spec": spread_by("db", key="crdb.cockroachlabs.com/cluster")}}, []),
        (CRDB, {"template": {"spec": spread_by("x", key="crdb.cockroachlabs.com/cluster")}}, MISSES),
        (
            CRDB,
            {"template": {"spec": {"podTemplate": {"spec": spread_by("x", key="crdb.cockroachlabs.com/cluster")}}}},
            MISSES,
        ),
        (MONGO, mongo(), []),
        (MONGO | {"metadata": {"name": "other"}}, mongo(), MISSES),
        (MONGO | {"metadata": {"name": "other"}}, mongo(serviceName="db-svc"), []),
        (MONGO | {"metadata": {"name": "other"}}, mongo(metadata={"labels": {"app": "db-svc"}}), []),
    ],
    ids=str,
)
def test_what_the_labels_of_an_operators_source_say(obj, spec, rules):
    found = judged(json.dumps({**obj, "spec": spec}), _terms()).found

    assert rules == [one.finding.rule for one in found]


def test_the_others_of_an_operator_are_named_beside_its_own():
    (one,) = judged(json.dumps({**CEPH, "spec": device_set(placement=spread_by(OSD, PREPARE))}), _terms()).found

    assert f"also counts other Pods of its operator, with app={PREPARE}" == one.finding.message
    assert f"write labelSelector: {{matchLabels: {{app: {OSD}}}}}" == one.finding.fix
