"""What kube-apiserver adds to a Pod that it creates; tests/e2e/test_created_pods.py holds it against a real one."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.objects.quantities import parse_quantity
from evenkeel.placement.created_pods import created, heeded_classes, read_creation
from tests.support.build import ZONE, limit_range, pod, priority_class, runtime_class
from webhook.kubernetes.features import LATEST, features
from webhook.kubernetes.fields import value_at
from webhook.kubernetes.references import ObjectRef
from webhook.spread.validation import in_one_line

GPU = {"key": "example.com/gpu", "operator": "Exists"}
LOST = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]
CLASSES = (
    priority_class("high", 1000),
    priority_class("polite", 500, preemptionPolicy="Never"),
    runtime_class("sandboxed", {"cpu": "250m"}, {"sandbox": "yes"}, [GPU]),
    runtime_class("bare"),
    limit_range("limits", "shop", {"defaultRequest": {"cpu": "100m", "memory": "128Mi"}}),
)
STANDARD, LOWER = (priority_class(name, value, globalDefault=True) for name, value in (("standard", 20), ("lower", 10)))


def creation(*objects, of=LATEST):
    return read_creation({ObjectRef.of(one).key: one for one in objects}, of)


def completed(spec, *objects, of=LATEST, **metadata):
    return created(pod(spec=spec, **metadata), creation(*objects, of=of))


def holding(*resources, **spec):
    return {"containers": [{"name": f"c{i}", "resources": of} for i, of in enumerate(resources)], **spec}


def test_without_classes_a_pod_tolerates_lost_nodes_for_a_while():
    found = completed({})

    assert (pod(spec={"tolerations": LOST}), (), ()) == found


class Toleration(NamedTuple):
    """What a Pod says of lost nodes, and the keys that it does not say anything of."""

    written: dict
    added: tuple[str, ...]


@pytest.mark.parametrize(
    "case",
    [
        Toleration({"operator": "Exists"}, ()),
        Toleration({"operator": "Exists", "effect": "NoSchedule"}, ("not-ready", "unreachable")),
        Toleration({"key": LOST[0]["key"], "effect": "NoExecute"}, ("unreachable",)),
        Toleration({"key": LOST[1]["key"], "operator": "Exists"}, ("not-ready",)),
    ],
    ids=str,
)
def test_what_a_pod_says_of_lost_nodes_stays(case):
    first, *more = completed({"tolerations": [case.written]}).raw["spec"]["tolerations"]

    assert case.written == first
    assert [f"node.kubernetes.io/{key}" for key in case.added] == [one["key"] for one in more]


def test_on_the_host_s_network_a_port_is_one_of_the_host():
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 82}, {"containerPort": 83, "hostPort": 0}, {}, 5]
    spec = {"containers": [{"ports": ports}, {}], "initContainers": [{"ports": ports[:1]}]}
    on_host = completed({**spec, "hostNetwork": True}).raw["spec"]
    elsewhere = completed(spec).raw["spec"]

    assert [80, 82, 83, None, None] == [value_at(port, ("hostPort",)) for port in on_host["containers"][0]["ports"]]
    assert 80 == on_host["initContainers"][0]["ports"][0]["hostPort"]
    assert spec["containers"] == elsewhere["containers"]


class Limited(NamedTuple):
    """What LimitRanges make of a container."""

    name: str
    limits: tuple[dict, ...]
    resources: dict
    expected: dict
    said: str


@pytest.mark.parametrize(
    "case",
    [
        Limited(
            "requests",
            ({"defaultRequest": {"cpu": "100m", "memory": "1Gi"}},),
            {"requests": {"cpu": "1"}},
            {"requests": {"cpu": "1", "memory": "1Gi"}},
            "1Gi memory",
        ),
        Limited(
            "limits are requested, too",
            ({"default": {"cpu": "1", "memory": "1Gi"}},),
            {},
            {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
            "1 cpu and 1Gi memory",
        ),
        Limited(
            "its own limits are requested first",
            ({"defaultRequest": {"cpu": "100m"}},),
            {"limits": {"cpu": "2"}},
            {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}},
            "",
        ),
        Limited(
            "the most and the least",
            ({"max": {"cpu": "2"}, "min": {"cpu": "1m", "memory": "1Mi"}},),
            {},
            {"requests": {"cpu": "2", "memory": "1Mi"}, "limits": {"cpu": "2"}},
            "2 cpu and 1Mi memory",
        ),
        Limited("of Pods", ({"type": "Pod", "max": {"cpu": "2"}},), {}, {}, ""),
        Limited("malformed", ({"default": 5}, {"min": []}), {}, {}, ""),
    ],
    ids=lambda case: case.name,
)
def test_a_container_is_given_what_a_limit_range_says(case):
    found = completed(holding(case.resources), limit_range("limits", "shop", *case.limits))

    assert case.expected == found.raw["spec"]["containers"][0]["resources"]
    assert (f"a request of {case.said} (LimitRange shop/limits)",) * bool(case.said) == found.added


def test_limit_ranges_of_the_namespace_one_after_the_other():
    requests = {"defaultRequest": {"cpu": "1"}}
    ranges = (limit_range("a", "shop", requests), limit_range("b", "shop", {"defaultRequest": {"cpu": "2", "x": "3"}}))
    found = completed(holding({}, {"requests": {"x": "1"}}), *ranges, limit_range("c", "bank", {"max": {"y": "1"}}))

    assert [{"cpu": "1", "x": "3"}, {"cpu": "1", "x": "1"}] == [
        one["resources"]["requests"] for one in found.raw["spec"]["containers"]
    ]
    each = "for each container that does not request it"
    added = f"a request of 1 cpu {each} (LimitRange shop/a)", f"a request of 3 x {each} (LimitRange shop/b)"
    assert added == found.added


@pytest.mark.parametrize(("minor", "cpu"), [(36, "4"), (37, "100m")])
def test_a_limit_of_the_whole_pod_is_requested_before_or_after_containers_are_completed(minor, cpu):
    """PodLevelResourcesFixDefaulting; where containers request it there, the sum of them is."""
    found = completed(holding({}, resources={"limits": {"cpu": "4"}}), CLASSES[-1], of=features(minor))

    requested = value_at(found.raw, ("spec", "resources", "requests", "cpu"))
    assert parse_quantity(cpu) == parse_quantity(requested)
    assert "100m" == value_at(found.raw, ("spec", "containers", 0, "resources", "requests", "cpu"))


class Prioritized(NamedTuple):
    """The priority of a Pod, whether it preempts, and what is said of it."""

    name: str
    spec: dict
    objects: tuple[dict, ...]
    expected: tuple[int | None, str | None]
    said: str = ""


PREEMPTS = "PreemptLowerPriority"


@pytest.mark.parametrize(
    "case",
    [
        Prioritized(
            "named", {"priorityClassName": "high"}, CLASSES, (1000, PREEMPTS), "priority 1000 (PriorityClass high)"
        ),
        Prioritized(
            "polite", {"priorityClassName": "polite"}, CLASSES, (500, "Never"), "priority 500 (PriorityClass polite)"
        ),
        Prioritized("no default", {}, CLASSES, (0, PREEMPTS)),
        Prioritized("the lower default", {}, (STANDARD, LOWER), (10, PREEMPTS), "priority 10 (PriorityClass lower)"),
        Prioritized(
            "of the system",
            {"priorityClassName": "system-node-critical"},
            (),
            (2_000_001_000, PREEMPTS),
            "priority 2000001000 (PriorityClass system-node-critical)",
        ),
        Prioritized("not known", {"priorityClassName": "high"}, (), (None, None)),
        Prioritized("nothing known", {}, (), (None, None)),
        Prioritized("stated", {"priorityClassName": "high", "priority": 1000}, CLASSES, (1000, PREEMPTS)),
    ],
    ids=lambda case: case.name,
)
def test_a_pod_has_the_priority_of_its_class(case):
    found = completed(case.spec, *case.objects)
    spec = found.raw["spec"]

    assert case.expected == (spec.get("priority"), spec.get("preemptionPolicy"))
    assert (case.said,) * bool(case.said) == tuple(one for one in found.added if "Priority" in one)


def test_a_runtime_class_gives_overhead_node_selector_and_tolerations():
    found = completed({"runtimeClassName": "sandboxed", "nodeSelector": {"disk": "ssd"}}, *CLASSES)
    spec = found.raw["spec"]

    assert {"cpu": "250m"} == spec["overhead"]
    assert {"disk": "ssd", "sandbox": "yes"} == spec["nodeSelector"]
    assert [*LOST, GPU] == spec["tolerations"]
    assert ("overhead, nodeSelector and tolerations of RuntimeClass sandboxed",) == found.added


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"runtimeClassName": "bare"}, ()),
        ({"runtimeClassName": "sandboxed", "overhead": {"cpu": "250m"}, "nodeSelector": {"sandbox": "yes"}}, ("tol",)),
        ({"runtimeClassName": "sandboxed", "tolerations": [{"operator": "Exists"}]}, ("overhead and nodeSelector",)),
    ],
    ids=str,
)
def test_only_what_a_runtime_class_has_added_is_said(spec, said):
    found = completed(spec, *CLASSES).added

    assert len(said) == len(found)
    assert all(text.startswith(start) for text, start in zip(found, said, strict=True))


class Merged(NamedTuple):
    """Tolerations of a Pod and of its RuntimeClass, and which of them remain."""

    name: str
    own: tuple[dict, ...]
    of_class: tuple[dict, ...]
    remaining: tuple[dict, ...]


EQUAL = {**GPU, "operator": "Equal", "value": "a"}
ONCE, LATER = ({**GPU, "effect": "NoExecute", "tolerationSeconds": seconds} for seconds in (10, 20))


@pytest.mark.parametrize(
    "case",
    [
        Merged("equal ones", (GPU,), (GPU,), (GPU,)),
        Merged("all effects", ({**GPU, "effect": "NoSchedule"},), (GPU,), (GPU,)),
        Merged("all values", (GPU,), (EQUAL,), (GPU,)),
        Merged("all keys", (EQUAL,), ({"operator": "Exists"},), ({"operator": "Exists"},)),
        Merged("another value", (EQUAL,), ({**EQUAL, "value": "b"},), (EQUAL, {**EQUAL, "value": "b"})),
        Merged("no operator", ({"key": "a"},), ({"key": "a", "operator": "Equal"},), ({"key": "a"},)),
        Merged("for a while", (ONCE,), (LATER,), (LATER,)),
        Merged("for ever", ({**GPU, "effect": "NoExecute"},), (LATER,), ({**GPU, "effect": "NoExecute"},)),
        Merged("another operator", ({**GPU, "operator": "Gt"},), (EQUAL,), ({**GPU, "operator": "Gt"}, EQUAL)),
    ],
    ids=lambda case: case.name,
)
def test_tolerations_that_others_cover_are_left_out(case):
    spec = {"runtimeClassName": "a", "tolerations": [*case.own, *LOST]}
    found = completed(spec, runtime_class("a", None, {}, case.of_class)).raw["spec"]["tolerations"]

    assert [*case.remaining] == [one for one in found if one not in LOST]


class Refused(NamedTuple):
    """What kube-apiserver refuses."""

    spec: dict
    error: str


REFUSES = "kube-apiserver would refuse the Pod"


@pytest.mark.parametrize(
    "case",
    [
        Refused(
            {"priorityClassName": "x"}, f'spec.priorityClassName: found "x", no PriorityClass has this name; {REFUSES}'
        ),
        Refused(
            {"runtimeClassName": "x"}, f'spec.runtimeClassName: found "x", no RuntimeClass has this name; {REFUSES}'
        ),
        Refused({"priority": 7}, f"spec.priority: found 7, wanted 0, that of its PriorityClass, or none; {REFUSES}"),
        Refused(
            {"runtimeClassName": "sandboxed", "nodeSelector": {"sandbox": "no"}},
            f'spec.nodeSelector.sandbox: found "no", its RuntimeClass sandboxed has "yes"; {REFUSES}',
        ),
    ],
    ids=str,
)
def test_what_kube_apiserver_refuses_is_an_error(case):
    assert [case.error] == [in_one_line(error) for error in completed(case.spec, *CLASSES).errors]


def test_a_file_without_classes_refuses_no_pod():
    """What kubectl wrote may have none of them."""
    assert () == completed({"priorityClassName": "x", "runtimeClassName": "x"}).errors


LABELS = {"app": "web", "track": "canary"}
TERM = {
    "topologyKey": ZONE,
    "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    "matchLabelKeys": ["track", "lacking"],
    "mismatchLabelKeys": ["app"],
}
KEYED = [
    {"key": "track", "operator": "In", "values": ["canary"]},
    {"key": "app", "operator": "NotIn", "values": ["web"]},
]


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize("minor", [30, 31, 37])
def test_label_keys_of_affinity_are_merged_into_selectors(kind, minor):
    terms = {
        "requiredDuringSchedulingIgnoredDuringExecution": [TERM, {**TERM, "labelSelector": None}],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": TERM}, 5],
    }
    found = completed({"affinity": {kind: terms}}, of=features(minor), labels=LABELS).raw["spec"]["affinity"][kind]
    required, preferred = found.values()
    merged = [*TERM["labelSelector"]["matchExpressions"], *(KEYED if minor > 30 else ())]

    assert {**TERM, "labelSelector": {"matchExpressions": merged}} == required[0] == preferred[0]["podAffinityTerm"]
    assert (required[1]["labelSelector"], preferred[1]) == (None, 5)


def test_those_of_a_pod_that_was_stored_are_merged_already():
    spec = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}}

    assert spec["affinity"] == completed(spec, labels=LABELS, uid="u").raw["spec"]["affinity"]


@pytest.mark.parametrize(
    "spec",
    [
        5,
        {"containers": 5, "tolerations": 5, "nodeSelector": {}, "hostNetwork": True, "priority": "x"},
        {"containers": [5, {"resources": 5, "ports": 5}, {"resources": {"limits": [], "requests": 5}}]},
        {"affinity": {"podAffinity": 5, "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
    ],
    ids=str,
)
def test_what_has_the_wrong_type_stays_as_it_is(spec):
    """Whoever reads it says so."""
    found = created({**pod(), "spec": spec}, creation(CLASSES[0], CLASSES[-1])).raw["spec"]

    assert not isinstance(spec, dict) or all(found[name] == value for name, value in spec.items() if name != "priority")


def test_classes_of_the_wrong_type_give_nothing():
    odd = (
        {**priority_class("a", "x"), "globalDefault": "yes"},
        {**runtime_class("a"), "overhead": 5, "scheduling": {"nodeSelector": 5, "tolerations": 5}},
        {**limit_range("a"), "spec": 5},
    )
    found = completed(holding({}, priorityClassName="a", runtimeClassName="a"), *odd)

    assert (("priority 0 (PriorityClass a)",), 0) == (found.added, found.raw["spec"]["priority"])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ["priorityclasses"]),
        ({"priority": 0}, []),
        ({"priorityClassName": "system-node-critical", "runtimeClassName": "a"}, ["runtimeclasses"]),
        (holding({"requests": {"cpu": "1", "memory": "1"}}, priority=0), []),
        (holding({"requests": {"cpu": "1"}}, priority=0), ["limitranges"]),
        (5, ["priorityclasses"]),
    ],
    ids=str,
)
def test_what_a_pod_says_itself_needs_no_class(spec, expected):
    assert expected == list(heeded_classes({**pod(), "spec": spec}))


def test_mount_options_are_dropped_as_by_an_api_server_without_their_gate():
    mounts = [{"name": "data", "mountPath": "/data", "bindMountOptions": ["noexec"]}, {"name": "tmp"}]
    spec = {"containers": [{"name": "c", "volumeMounts": mounts}, {"name": "d", "volumeMounts": [{"name": "tmp"}]}]}
    found = created({**pod(), "spec": spec}, creation()).raw["spec"]["containers"]

    assert [{"name": "data", "mountPath": "/data"}, {"name": "tmp"}] == found[0]["volumeMounts"]
    assert [{"name": "tmp"}] == found[1]["volumeMounts"]
