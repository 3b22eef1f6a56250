"""Hypothesis strategies: objects of every kind that is judged, reviews, policies and dumps, whole and damaged."""

from __future__ import annotations

import gzip
import json
from reprlib import Repr

import yaml
from hypothesis import strategies as st

from tests.support import DATA
from tests.support.build import pod, term
from tests.support.claims import attachment, capacity, claim, csi_driver, csi_node, storage_class, using, volume
from webhook.kubernetes.fields import as_list, as_mapping
from webhook.kubernetes.kinds import EACH, KINDS
from webhook.kubernetes.names import NAMESPACE_NAME
from webhook.rules import RULES

ZONE, HOSTNAME, HASH = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "pod-template-hash"
SKIP, IGNORE = "evenkeel.dev/skip", "evenkeel.dev/ignore"
LABEL_KEYS = ("app", "tier", HASH, "controller-revision-hash", ZONE, "rack", "", "-bad-", "/a", "a/b/c", "A/b", SKIP)
LABEL_VALUES = ("web", "db", "true", "", "not valid", "x" * 64)
TOPOLOGY_KEYS = (ZONE, HOSTNAME, "rack", "topology.kubernetes.io/hostname", "failure-domain.beta.kubernetes.io/zone")
NAMESPACES = ("default", "default", "batch", "unknown", "skipped")
RULE_LISTS = ("empty-selector", "malformed-topology-key, invalid-constraint", ",".join(RULES), " , ,no-such-rule")


class Shown(dict):
    """A JSON object that can be printed however deep and wide it is."""

    def __repr__(self) -> str:
        short = Repr()
        short.maxlevel, short.maxdict, short.maxlist, short.maxstring = 15, 30, 10, 200
        return short.repr(dict(self))


def recorded(path=DATA / "admission-reviews.jsonl.gz"):
    """The requests of the recorded reviews, without what no decision looks at."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            request = json.loads(line)["review"]["request"]
            for one in filter(None, (request["object"], request["oldObject"])):
                one["metadata"].pop("managedFields", None)
            yield request


RECORDED = tuple(recorded())


def nested(levels, make=lambda inner: [inner]):
    """A value that many levels deep."""
    value = None
    for _ in range(levels):
        value = make(value)
    return value


def label_set(count):
    return {f"key{i}": "" for i in range(count)}


# Any JSON value, most of them where they do not belong; an int may have as many digits as the json module reads.
hostile = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.text(max_size=20),
    st.sampled_from((2**31, -(2**63), 10**4000, 1.0, 0.5, 1e308, float("nan"), float("inf"), -float("inf"))),
    st.sampled_from(("\ud800", "\x00", "a\nb", "\x1b[31m\u2028\x85", "\u202eabc", "x" * 300, "/" * 300, "é" * 70_000)),
    st.sampled_from(([], {}, [None], [[]], [{}], {"": None}, {"\n": "\ud800"}, {"a": 1}, ["a", 1], "true", "null")),
    st.builds(
        nested, st.sampled_from((60, 450, 5_000)), st.sampled_from((lambda one: [one], lambda one: {"spec": one}))
    ),
    st.sampled_from(([{}] * 20_000, [""] * 101, label_set(10_000))),
)


@st.composite
def damaged(draw, value):
    """`value` with one thing in it replaced, dropped or doubled; what lies beside the way there is shared."""
    if not value:
        return value
    at = draw(st.sampled_from(tuple(value) if isinstance(value, dict) else range(len(value))))
    changed = value.copy()
    match draw(st.sampled_from((*["deeper"] * 8, "replace", "drop", "double"))):
        case "deeper" if isinstance(value[at], dict | list):
            changed[at] = draw(damaged(value[at]))
        case "drop":
            del changed[at]
        case "double" if isinstance(value, list):
            changed.insert(at, value[at])
        case "double":
            changed[draw(st.sampled_from(tuple(value)) | st.text(max_size=5))] = value[at]
        case _:
            changed[at] = draw(hostile)
    return changed


@st.composite
def perhaps_damaged(draw, values):
    """One of `values`, a third of them whole, the others damaged in up to four places."""
    value = draw(values)
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2, 4)))):
        value = draw(damaged(value))
    return Shown(value) if value else value


def some_of(**fields):
    """A JSON object with some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


labels = st.dictionaries(st.sampled_from(LABEL_KEYS), st.sampled_from(LABEL_VALUES), max_size=4)
web_labels = st.one_of(labels, labels.map(lambda found: {**found, "app": "web"}))
expressions = st.fixed_dictionaries(
    {
        "key": st.sampled_from(LABEL_KEYS),
        "operator": st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "")),
    },
    optional={"values": st.lists(st.sampled_from(LABEL_VALUES), max_size=3)},
)
selectors = st.one_of(
    st.none(),
    st.just({"matchLabels": {"app": "web"}}),
    some_of(matchLabels=labels, matchExpressions=st.lists(expressions, max_size=3)),
)
constraints = st.fixed_dictionaries(
    {
        "maxSkew": st.sampled_from((1, 1, 9, 0, -1)),
        "topologyKey": st.sampled_from((ZONE, *TOPOLOGY_KEYS, *LABEL_KEYS)),
        "whenUnsatisfiable": st.sampled_from(("DoNotSchedule", "ScheduleAnyway", "DoNotSchedule", "Never")),
    },
    optional={
        "labelSelector": selectors,
        "matchLabelKeys": st.lists(st.sampled_from((HASH, *LABEL_KEYS)), max_size=3),
        "minDomains": st.integers(0, 3),
        "nodeAffinityPolicy": st.sampled_from(("Honor", "Ignore", "Bogus")),
        "nodeTaintsPolicy": st.sampled_from(("Honor", "Ignore", "")),
    },
)
constraint_lists = st.lists(constraints, max_size=3) | st.lists(constraints, min_size=1, max_size=3)
annotations = st.dictionaries(
    st.sampled_from((IGNORE, IGNORE, "kubernetes.io/config.mirror")), st.sampled_from(RULE_LISTS)
)
owners = st.lists(
    st.builds(
        lambda owner, **fields: {**owner, **fields},
        st.sampled_from(
            (
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-74d759446f"},
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
                {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent"},
                {"apiVersion": "v1", "kind": "ReplicationController", "name": "legacy"},
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "web"},
            )
        ),
        controller=st.booleans(),
        uid=st.sampled_from(("", "u1")),
    ),
    max_size=2,
)
users = st.sampled_from(("admin", "system:kube-controller-manager", "system:serviceaccount:kube-system:job-controller"))
pod_templates = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"labels": web_labels}, optional={"annotations": annotations}),
        "spec": st.fixed_dictionaries(
            {"topologySpreadConstraints": constraint_lists},
            optional={
                "schedulerName": st.sampled_from(("default-scheduler", "gpu-scheduler")),
                "nodeName": st.sampled_from(("", "node-1")),
            },
        ),
    }
)


def planted(value, path, leaf, missing=()):
    """`value` with what `leaf()` makes at every place that `path` leads to; `missing` stands in for a list."""
    if not path:
        return leaf()
    if path[0] == EACH:
        return [planted(item, path[1:], leaf, missing) for item in value or missing]
    value = value or {}
    return {**value, path[0]: planted(value.get(path[0]), path[1:], leaf, missing)}


def all_at(value, path):
    """What stands at every place that `path` leads to."""
    if not path:
        return [value]
    below = as_list(value) if path[0] == EACH else [as_mapping(value).get(path[0])]
    return [found for item in below for found in all_at(item, path[1:])]


def kind_of(obj, kinds):
    """The first of `kinds` that fits, None if there is none."""
    of = obj.get("apiVersion"), obj.get("kind")
    return next((kind for kind in kinds if (kind.api_version, kind.kind) == of), None)


@st.composite
def objects(draw, kinds=KINDS):
    """An object of one of `kinds`, valid at first sight."""
    kind = draw(st.sampled_from(kinds))
    spec = draw(some_of(selector=selectors, strategy=st.just({"type": "Recreate"})))
    found = {"spec": spec, "metadata": {}}
    for path, values in (
        (kind.template, pod_templates),
        (kind.constraints, constraint_lists),
        (kind.labels, labels),
        (kind.replicas, st.integers(0, 3)),
    ):
        if path is not None:
            found = planted(found, path, lambda values=values: draw(values), ({}, {}))
    metadata = draw(
        some_of(
            name=st.just("web"),
            generateName=st.just("web-"),
            uid=st.just("u1"),
            namespace=st.sampled_from(NAMESPACES),
            annotations=annotations,
            ownerReferences=owners,
        )
    )
    return {"apiVersion": kind.api_version, "kind": kind.kind, **found, "metadata": {**found["metadata"], **metadata}}


@st.composite
def requests(draw, kinds=KINDS):
    """The request of a review: a recorded one, perhaps with other constraints, or one of our own; then damaged."""
    if draw(st.booleans()):
        request = draw(st.sampled_from(RECORDED))
        obj, before = request["object"], request["oldObject"]
        kind = kind_of(obj or {}, KINDS)
        if kind is not None and draw(st.booleans()):
            path = (*kind.template, "spec", "topologySpreadConstraints")
            obj = planted(obj, path, lambda: draw(constraint_lists))
    else:
        request = {"uid": "1", "userInfo": {"username": draw(users)}, "namespace": draw(st.sampled_from(NAMESPACES))}
        obj, before = draw(objects(kinds)), None
    obj = draw(perhaps_damaged(st.just(obj)))
    if draw(st.booleans()):
        before = draw(st.one_of(st.just(obj), perhaps_damaged(st.just(obj)), perhaps_damaged(objects(kinds))))
    operation = "CREATE" if before is None else "UPDATE"
    request = {**request, "operation": operation, "object": obj, "oldObject": before}
    return Shown(draw(st.one_of(st.just(request), st.just(request), st.just(request), damaged(request))))


SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
PLAIN = {"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy"}
STRICT = PLAIN | {
    "rules": {rule: {"severity": "warning" if one.advice else "error", **one.example} for rule, one in RULES.items()},
    "defaulting": {
        "defaultingType": "List",
        "defaultConstraints": [
            SPREAD | {"matchLabelKeys": [HASH, "app"], "minDomains": 2},
            SPREAD | {"topologyKey": "rack", "nodeTaintsPolicy": "Honor"},
        ],
    },
    "workloads": [
        {"apiVersion": "a.io/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.sets[*].template"},
        {
            "apiVersion": "a.io/v1",
            "kind": "Grid",
            "resource": "grids",
            "podTemplate": "spec.rows[*].cells[*]",
            "replicas": "spec.rows[*].replicas",
            "addedLabels": ["grid-hash"],
        },
        {
            "apiVersion": "a.io/v1",
            "kind": "Database",
            "resource": "databases",
            "constraints": "spec.groups[*].constraints",
            "labels": "spec.groups[*].labels",
        },
        {"apiVersion": "a.io/v1", "kind": "Bare", "resource": "bares", "constraints": "spec.constraints"},
    ],
}
ENFORCED = STRICT | {
    "rules": {rule: {**setting, "enforced": not RULES[rule].advice} for rule, setting in STRICT["rules"].items()}
}
LAYERED = STRICT | {
    "rules": {},
    "overrides": [
        {"name": "gpu", "schedulerName": "gpu-scheduler", "defaulting": {"defaultingType": "System"}},
        {"name": "databases", "podSelector": {"matchLabels": {"app": "db"}}, "rules": STRICT["rules"]},
        {
            "name": "batch\n",
            "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["batch"]}]},
            "podSelector": {"matchExpressions": [{"key": HASH, "operator": "Exists"}]},
            "rules": dict.fromkeys(RULES, "ignore"),
        },
    ],
}
SCHEDULER = {
    "apiVersion": "kubescheduler.config.k8s.io/v1beta3",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {"schedulerName": "gpu-scheduler", "plugins": {"multiPoint": {"disabled": [{"name": "*"}]}}},
        {
            "plugins": {"score": {"disabled": [{"name": "PodTopologySpread"}], "enabled": [{"name": "ImageLocality"}]}},
            "pluginConfig": [{"name": "PodTopologySpread", "args": STRICT["defaulting"]}],
        },
    ],
}
RAW_POLICIES = (PLAIN, STRICT, ENFORCED, LAYERED, SCHEDULER)

CLUSTER_OBJECTS = (
    *(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"{app}\n", "namespace": "default"},
            "spec": {"selector": {"app": app}},
        }
        for app in LABEL_VALUES
    ),
    *({"apiVersion": "v1", "kind": "Node", "metadata": {"name": zone, "labels": {ZONE: zone}}} for zone in "abc"),
    *(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": name, SKIP: skip}}}
        for name, skip in (("default", "false"), ("batch", "false"), ("skipped", "true"))
    ),
    *(request["object"] for request in RECORDED if request["operation"] == "CREATE"),
    *(pod(name=name, namespace="shop", spec=using(name, "data")) for name in ("web", "data")),
    *(
        claim("data"),
        claim("web", "pv-1"),
        volume("pv-1", "a", of="web"),
        volume("pv-2", "b"),
        volume("pv-3", key="x y"),
    ),
    *(storage_class(), storage_class("slow", mode="Immediate", allowedTopologies=[{"matchLabelExpressions": []}])),
    *(csi_node("a", 1), csi_driver(storageCapacity=True), capacity("c-1", "5Gi", "a"), attachment("at-1", "a", "pv-1")),
)
cluster_objects = st.one_of(objects(), st.sampled_from(CLUSTER_OBJECTS))

TOKENS = (
    *("\n", "\n  ", "\n- ", ": ", ", ", "[", "]", "{", "}", "? ", "a", "b", "'", '"', "#", "---\n", "\t", "=", "~"),
    *("&a ", "*a", "- &a ", "[&a ", "<<: ", "!x ", "!!set ", "!!omap ", "!!bool ", "!!int ", "!!float ", "!!binary "),
    *("on", ".nan", "1:30", "2001-01-01", "1" * 5_000, f"0x{'f' * 5_000}", "\ufeff", "\x00", "\ud800", "%YAML 1.1\n"),
    *("apiVersion: v1\n", "kind: Pod\n", "kind: List\n", "items: ", "[" * 600, "- " * 600, "{a: " * 400),
)


@st.composite
def spliced(draw, texts):
    """A text with up to two tokens put in somewhere."""
    text = draw(texts)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(TOKENS)) + text[at:]
    return text


def as_yaml(value):
    """With an alias wherever a thing stands twice; a comment where the library cannot write it."""
    try:
        return yaml.dump(dict(value), Dumper=yaml.CSafeDumper)
    except (RecursionError, UnicodeEncodeError):
        return "# too deep, or no text"


yaml_texts = st.one_of(
    st.lists(st.one_of(st.sampled_from(TOKENS), st.text(max_size=5)), max_size=12).map("".join),
    spliced(perhaps_damaged(cluster_objects).map(as_yaml)),
)


# Policies that give defaults in some namespaces and to some Pods; a selector may contradict itself.
SYSTEM = {"defaultingType": "System"}
LIST = {
    "defaultingType": "List",
    "defaultConstraints": [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}],
}
two_labels = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), min_size=1)
terms = st.builds(
    lambda key, operator, values: term(key, operator, *(values if operator in ("In", "NotIn") else ())),
    st.sampled_from("ab"),
    st.sampled_from(("In", "In", "NotIn", "Exists", "DoesNotExist")),
    st.lists(st.sampled_from("xy"), min_size=1, max_size=2),
)
valid_selectors = st.one_of(
    st.builds(lambda found: {"matchLabels": found}, two_labels),
    some_of(matchLabels=two_labels, matchExpressions=st.lists(terms, max_size=2)),
)
of_defaults = some_of(
    defaulting=st.sampled_from((LIST, LIST, SYSTEM, {"defaultingType": "List"})),
    defaultingMode=st.sampled_from(("Apply", "Audit")),
)
of_pods = some_of(podSelector=valid_selectors, schedulerName=st.just("default-scheduler"))
of_namespaces = st.fixed_dictionaries(
    {"namespaceSelector": valid_selectors | st.just({"matchLabels": {NAMESPACE_NAME: "shop"}})}
)
both = st.builds(lambda pods, namespaces: pods | namespaces, of_pods, of_namespaces)
selecting = st.one_of(of_namespaces, of_namespaces, both, of_pods.filter(bool))
overrides_of_defaults = st.lists(
    st.builds(lambda selectors, given: selectors | given, selecting, of_defaults), min_size=1, max_size=3
)
policies_of_defaults = st.builds(
    lambda base, overrides: base | {"overrides": [{"name": f"o{i}", **each} for i, each in enumerate(overrides)]},
    st.sampled_from(({"defaulting": SYSTEM},) * 4 + ({}, {"defaulting": LIST})),
    overrides_of_defaults,
)
