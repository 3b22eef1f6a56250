"""What a Pod requests, by what its containers, its spec and its status say, and by the version that counts."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.pod_counts import Requests
from evenkeel.scheduler.resources import is_extended, is_scalar, read_allocatable, read_requests, with_default_requests
from evenkeel.scheduler.scheduler_nodes import Allocatable
from webhook.kubernetes.features import LATEST, features
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.reader import Reader

MI = 1 << 20


def container(cpu=None, memory=None, name="c", **fields):
    """A container that states these requests."""
    stated = {"cpu": cpu, "memory": memory, **fields.pop("more", {})}
    requests = {key: value for key, value in stated.items() if value is not None}
    return {"name": name, **({"resources": {"requests": requests}} if requests else {}), **fields}


def sidecar(*requests, **fields):
    return container(*requests, restartPolicy="Always", **fields)


def requests(*containers, init=(), bound=False, status=None, minor=None, **spec):
    reader = Reader()
    raw = {"spec": {"containers": list(containers), "initContainers": list(init), **spec}, "status": status}
    found = read_requests(reader, raw, features(minor) if minor else LATEST, bound=bound)
    assert [] == reader.errors
    return found


class Case(NamedTuple):
    name: str
    containers: list
    init: list
    milli_cpu: int
    memory: int = 0


CONTAINERS = [
    Case("containers add up", [container("1", "1Mi"), container("500m", "2Mi")], [], 1500, 3 * MI),
    Case("one that states nothing adds nothing", [container("1"), container()], [], 1000),
    Case("rounded up once for the Pod", [container("0.1m"), container("0.1m")], [], 1),
    Case("an init container that needs more", [container("1", "5Mi")], [container("3", "1Mi")], 3000, 5 * MI),
    Case("of several init containers the largest", [container("1")], [container("2"), container("3")], 3000),
    Case("a sidecar runs beside the containers", [container("1")], [sidecar("2")], 3000),
    Case("and beside init containers after it", [container("1")], [sidecar("2"), container("4")], 6000),
    Case("not beside those before it", [container("1")], [container("4"), sidecar("2")], 4000),
    Case("sidecars add up", [container("1")], [sidecar("2"), sidecar("3"), container("1")], 6000),
    Case("no container at all", [], [], 0),
]


@pytest.mark.parametrize("case", CONTAINERS, ids=lambda case: case.name)
def test_what_containers_need(case):
    found = requests(*case.containers, init=case.init)

    assert (case.milli_cpu, case.memory) == (found.milli_cpu, found.memory)


def test_overhead_is_added_last():
    found = requests(container("1"), init=[container("3")], overhead={"cpu": "250m", "memory": "120Mi"})

    assert (3250, 120 * MI) == (found.milli_cpu, found.memory)


def test_other_resources_count_by_their_names():
    more = {
        "example.com/gpu": "1",
        "hugepages-2Mi": "4Mi",
        "ephemeral-storage": "1k",
        "example.com/none": "0",
        "x": "1",
    }
    found = requests(container(more=more), container(more={"example.com/gpu": 1}))

    assert (("example.com/gpu", 2), ("hugepages-2Mi", 4 * MI)) == found.scalars
    assert 1000 == found.ephemeral_storage


NON_ZERO = [
    Case("stated requests count as they are", [container("1m", "1")], [], 1, 1),
    Case("nothing stated counts as 100m and 200 MiB", [container()], [], 100, 200 * MI),
    Case("each resource for itself", [container("1")], [], 1000, 200 * MI),
    Case("for each container", [container("1", "1Mi"), container(), container()], [], 1200, 401 * MI),
    Case("0 is stated", [container("0", 0)], [], 0, 0),
    Case("for init containers, too", [container("1m", "1")], [container()], 100, 200 * MI),
    Case("for sidecars, too", [container("1m", "1Mi")], [sidecar(), container()], 200, 400 * MI),
]


@pytest.mark.parametrize("bound", [False, True], ids=["incoming", "bound"])
@pytest.mark.parametrize("case", NON_ZERO, ids=lambda case: case.name)
def test_what_containers_count_for_where_nodes_are_scored(case, bound):
    found = requests(*case.containers, init=case.init, bound=bound)

    assert (case.milli_cpu, case.memory) == (found.non_zero_milli_cpu, found.non_zero_memory)


POD_LEVEL = {"requests": {"cpu": "2", "hugepages-2Mi": "2Mi", "ephemeral-storage": "9", "example.com/gpu": "9"}}


def test_requests_of_the_pod_as_a_whole_stand_in_place_of_sums_since_34():
    pod = [container("1", "1Mi"), container("3")]
    new = requests(*pod, resources=POD_LEVEL, overhead={"cpu": "1"}, minor=34)
    old = requests(*pod, resources=POD_LEVEL, overhead={"cpu": "1"}, minor=33)

    assert Requests(3000, MI, 0, (("hugepages-2Mi", 2 * MI),), 5000, 201 * MI) == new
    assert Requests(5000, MI, 0, (), 5000, 201 * MI) == old


@pytest.mark.parametrize(
    ("bound", "minor", "non_zero"), [(False, 37, 100), (False, 38, 2000), (True, 37, 2000), (True, 38, 2000)]
)
def test_requests_of_the_pod_as_a_whole_count_for_a_score_once_it_is_bound_and_since_1_38_before(
    bound, minor, non_zero
):
    found = requests(container(), resources={"requests": {"cpu": "2"}}, bound=bound, minor=minor)

    assert (2000, non_zero, 200 * MI) == (found.milli_cpu, found.non_zero_milli_cpu, found.non_zero_memory)


def test_a_container_counts_for_nothing_beside_what_another_or_the_pod_states():
    """Only where the Pod as a whole has requests: then what is missing is missing in all of its containers."""
    found = requests(container(memory="1Mi"), container(), bound=True, resources={"requests": {"cpu": "1"}})

    assert (1000, MI) == (found.non_zero_milli_cpu, found.non_zero_memory)


def reported(allocated=None, actuated=None, name="c", **fields):
    """The status of a container."""
    return {
        "name": name,
        **({"allocatedResources": {"cpu": allocated}} if allocated else {}),
        **({"resources": {"requests": {"cpu": actuated}} if actuated else {}} if actuated is not None else {}),
        **fields,
    }


INFEASIBLE = [{"type": "Ready"}, {"type": "PodResizePending", "reason": "Infeasible"}]
DEFERRED = [{"type": "PodResizePending", "reason": "Deferred"}, *INFEASIBLE]


def whole(case):
    """The requests of the Pod as a whole."""
    return {"resources": {"requests": {"cpu": case.whole}}} if case.whole else {}


class Bound(NamedTuple):
    name: str
    found: str  # CPUs in 1.32, 1.34, 1.36, and 1.37
    status: dict
    containers: tuple = (container("2"),)
    init: tuple = ()
    whole: str = ""  # CPUs


def of(*statuses, **fields):
    return {"containerStatuses": list(statuses), **fields}


BOUND = [
    Bound("no status", "2 2 2 2", {}),
    Bound("as requested", "2 2 2 2", of(reported("2", "2"))),
    Bound("more is allocated", "2 3 3 3", of(reported("3", "1"))),
    Bound("more is in use", "2 4 4 4", of(reported("3", "4"))),
    Bound("more is requested", "2 2 2 2", of(reported("1", "1"))),
    Bound("more is allocated, nothing said of what is in use", "2 2 2 3", of(reported("3"))),
    Bound("more is allocated, nothing is said to be in use", "2 3 3 3", of(reported("3", ""))),
    Bound("an empty status", "2 2 2 2", of({"name": "c", "allocatedResources": {}, "resources": {"requests": {}}})),
    Bound("that of another container", "2 2 2 2", of(reported("3", "4", name="other"))),
    Bound("a resize that cannot be done", "2 1 1 1", of(reported("1", "1"), conditions=INFEASIBLE)),
    Bound("one that must wait", "2 2 2 2", of(reported("1", "1"), conditions=DEFERRED)),
    Bound("one that cannot be done, and no status of the container", "2 2 2 0", of(conditions=INFEASIBLE)),
    Bound(
        "two containers, one is to grow and one to shrink",
        "4 5 5 4",
        of(reported("1", "1", name="a"), reported("3", "3", name="b")),
        (container("2", name="a"), container("2", name="b")),
    ),
    Bound(
        "a sidecar",
        "3 5 5 5",
        {"initContainerStatuses": [reported("3", "3", name="s")]},
        init=(sidecar("1", name="s"),),
    ),
    Bound(
        "an init container",
        "2 2 2 3",
        {"initContainerStatuses": [reported("3", "3", name="i")]},
        init=(container("1", name="i"),),
    ),
    Bound("the Pod as a whole", "2 5 5 5", {}, whole="5"),
    Bound("more is allocated to the Pod", "2 5 7 7", {"allocatedResources": {"cpu": "7"}, "resources": {}}, whole="5"),
    Bound("more of the Pod is in use", "2 5 8 8", {"resources": {"requests": {"cpu": "8"}}}, whole="5"),
    Bound(
        "less of the Pod, and more cannot be had",
        "2 5 4 4",
        {"resources": {"requests": {"cpu": "4"}}, "conditions": INFEASIBLE},
        whole="5",
    ),
    Bound(
        "the Pod as a whole, which requests nothing as such",
        "2 2 2 7",
        {"allocatedResources": {"cpu": "7"}, "resources": {"requests": {"cpu": "6"}}},
    ),
]


@pytest.mark.parametrize("case", BOUND, ids=lambda case: case.name)
def test_of_a_bound_pod_what_its_node_has_allocated_counts_by_version(case):
    found = [
        requests(*case.containers, init=case.init, bound=True, status=case.status, minor=minor, **whole(case)).milli_cpu
        for minor in (32, 34, 36, 37)
    ]

    assert case.found == " ".join(f"{cpu // 1000}" for cpu in found)


@pytest.mark.parametrize("case", BOUND, ids=lambda case: case.name)
def test_of_a_pod_that_is_to_be_placed_only_the_spec_counts(case):
    spec = {"init": case.init, **whole(case)}

    assert requests(*case.containers, **spec) == requests(*case.containers, status=case.status, **spec)


def test_what_a_node_has():
    reader = Reader()
    raw = {"cpu": "7890m", "memory": "1Ki", "pods": 110, "ephemeral-storage": "5k", "example.com/gpu": "2", "x": 1}

    assert Allocatable(7890, 1024, 5000, (("example.com/gpu", 2),), 110) == read_allocatable(reader, raw, ())
    assert Allocatable() == read_allocatable(reader, None, ())
    assert [] == reader.errors


NAMES = {
    "cpu": "",
    "gpu": "",
    "example.com/gpu": "extended",
    "requests.example.com/gpu": "",
    "-bad/gpu": "",
    "kubernetes.io/x": "native",
    "node.kubernetes.io/x": "native",
    "hugepages-1Gi": "native",
    "attachable-volumes-csi": "native",
}


@pytest.mark.parametrize("name", NAMES)
def test_which_resources_count_by_their_names(name):
    assert ("extended" == NAMES[name], "" != NAMES[name]) == (is_extended(name), is_scalar(name))


def test_a_name_that_no_api_server_takes_is_passed_over():
    """Whoever may create objects could otherwise fill the caches with a few megabytes of each."""
    long = f"example.com/{'a' * 400}"
    assert requests(container("1")) == requests(container("1", more={long: "1", f"hugepages-{long}": "1"}))


def test_what_another_pod_says_alike_is_read_once_and_wrong_in_each():
    """But 1 is not true, which is no quantity."""
    readers = [Reader() for _ in range(3)]
    for reader, amount in zip(readers, (True, True, 1), strict=True):
        raw = {"spec": {"containers": [container(more={"example.com/x": amount})]}}
        read_requests(reader, raw, LATEST, bound=True)

    assert [1, 1, 0] == [len(reader.errors) for reader in readers]


def test_a_bad_quantity_is_named_by_its_path():
    reader = Reader()
    raw = {
        "spec": {
            "containers": [
                container("1"),
                container("lots", more={"x/y": []}),
                "none",
                {"resources": []},
                {"name": []},
            ],
            "initContainers": [container(memory="1GB")],
            "overhead": {"cpu": True},
            "resources": {"requests": "1"},
        },
        "status": {
            "containerStatuses": [{"name": 5, "resources": {"requests": {"cpu": "?"}}}, {"allocatedResources": 7}]
        },
    }
    found = read_requests(reader, raw, LATEST, bound=True)

    assert 1000 == found.milli_cpu
    assert {
        "spec.containers[1].resources.requests.cpu",
        "spec.containers[1].resources.requests.x/y",
        "spec.containers[2]",
        "spec.containers[3].resources",
        "spec.initContainers[0].resources.requests.memory",
        "spec.overhead.cpu",
        "spec.resources.requests",
        "status.containerStatuses[0].name",
        "status.containerStatuses[0].resources.requests.cpu",
        "spec.containers[4].name",
    } == {path_text(error.path) for error in reader.errors}


AMOUNTS = st.dictionaries(
    st.sampled_from(("cpu", "memory", "example.com/gpu")), st.sampled_from(("0", "1", "250m", "1.5Gi", 2)), max_size=3
)
CONTAINER_LISTS = st.lists(
    st.builds(
        lambda requests, always: {
            "resources": {"requests": requests},
            **({"restartPolicy": "Always"} if always else {}),
        },
        AMOUNTS,
        st.booleans(),
    ),
    max_size=3,
)


@given(CONTAINER_LISTS, CONTAINER_LISTS, AMOUNTS, st.randoms())
def test_the_order_of_containers_does_not_matter_and_more_never_needs_less(containers, init, overhead, random):
    found = requests(*containers, init=init, overhead=overhead)
    shuffled = random.sample(containers, len(containers))

    assert found == requests(*shuffled, init=init, overhead=overhead)
    assert all(one >= less for one, less in zip(found[:3], requests(*containers, overhead=overhead)[:3], strict=True))
    assert all(one >= less for one, less in zip(found[:3], requests(*containers[1:], init=init)[:3], strict=True))
    assert found.non_zero_milli_cpu >= requests(*containers, init=init).milli_cpu


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("name", "requests", "cpu")), inner),
    max_leaves=8,
)


@given(JSON, JSON, JSON, st.sampled_from(range(32, 38)), st.booleans())
def test_whatever_stands_there_it_is_read_or_named(containers, resources, statuses, minor, bound):
    reader = Reader()
    spec = {"containers": containers, "initContainers": [{"resources": resources}], "overhead": resources}
    status = {"containerStatuses": statuses, "resources": resources, "conditions": containers}
    found = read_requests(
        reader, {"spec": {**spec, "resources": resources}, "status": status}, features(minor), bound=bound
    )

    assert hash(found) == hash(Requests(*found))
    assert all(isinstance(path_text(error.path), str) for error in reader.errors)
    assert json.dumps(found)


def limited(requests=None, **limits):
    return {"resources": {"limits": limits, **({"requests": requests} if requests is not None else {})}}


def test_a_container_requests_its_limits_where_it_states_no_request():
    spec = {
        "containers": [limited(cpu="1", memory="1Mi"), limited({"cpu": "250m"}, cpu="2", memory="2Mi"), {"name": "c"}],
        "initContainers": [limited({"cpu": "0"}, cpu="9", memory="3Mi")],
    }
    found = read_requests(Reader(), {"spec": with_default_requests(spec)}, LATEST, bound=False)

    assert (1250, 3 * MI) == (found.milli_cpu, found.memory)
    assert 0 == read_requests(Reader(), {"spec": spec}, LATEST, bound=False).memory


def test_a_pod_requests_its_own_limit_where_no_container_states_a_request():
    whole_pod = limited(cpu="3", memory="9Mi", **{"hugepages-2Mi": "4Mi", "example.com/gpu": "1"})
    spec = {"containers": [limited({"memory": "1Mi"}), limited({"hugepages-2Mi": "2Mi"})], **whole_pod}
    found = read_requests(Reader(), {"spec": with_default_requests(spec)}, LATEST, bound=False)

    assert (3000, MI, (("hugepages-2Mi", 4 * MI),)) == (found.milli_cpu, found.memory, found.scalars)


def test_a_pod_with_limits_of_its_own_requests_what_its_containers_do():
    """So since 1.38, a container that states no request adds nothing where nodes are scored."""
    sidecar = {**limited({"cpu": "100m"}), "restartPolicy": "Always"}
    containers = {"containers": [limited({"cpu": "500m", "memory": "1.5Mi"}), {"name": "c"}]}
    spec = {**containers, "initContainers": [sidecar, limited({"cpu": "0.7"})], **limited(memory="9Mi")}
    found = read_requests(Reader(), {"spec": with_default_requests(spec)}, features(38), bound=False)

    assert (800, 1.5 * MI) == (found.milli_cpu, found.memory)
    assert (800, 1.5 * MI) == (found.non_zero_milli_cpu, found.non_zero_memory)
    without_limits = with_default_requests({**spec, "resources": {"requests": {"hugepages-2Mi": "2Mi"}}})
    found = read_requests(Reader(), {"spec": without_limits}, features(38), bound=False)
    assert (800, 401.5 * MI) == (found.non_zero_milli_cpu, found.non_zero_memory)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"containers": None, "resources": None},
        {"containers": "x", "resources": []},
        {"containers": ["x", {"resources": 5}, {"resources": {"limits": []}}, limited([], cpu="1")]},
        {"containers": [limited({"cpu": "1"})], "resources": {"requests": {"cpu": "2"}}},
    ],
    ids=str,
)
def test_what_states_its_requests_or_has_another_form_stays(spec):
    assert spec == with_default_requests(spec)
