"""The conditions in the API server's own CEL: whatever an object lacks or gets wrong, they neither fail nor miss."""

from __future__ import annotations

import copy
import json
from itertools import product
from operator import attrgetter

import pytest

from tests.e2e.api import JSON, MERGE, ApiError
from tests.e2e.custom import define, path_of
from tests.e2e.webhook import containers, installed
from tests.support.build import constraint, pod, service, workload
from tests.support.serving import until
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.kinds import EACH, EACH_KEY, KINDS
from webhook.manifests.configurations import entry_name
from webhook.policy import parsing as policies
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND

BAD, GOOD = constraint(topologyKey="no/such/key"), constraint(topologyKey="rack")
CONSTRAINTS = ("spec", "topologySpreadConstraints")
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}


def shape(name, **places):
    return {"apiVersion": "a.io/v1", "kind": name, "resource": f"{name.lower()}s", **places}


SHAPES = [
    shape("Fleet", podTemplate="spec.template"),
    shape("Squad", podTemplate="spec.sets[*].racks[*].template"),
    shape("Ring", constraints="spec.spread", labels="spec.podLabels"),
    shape("Pair", podTemplate="spec.front.template"),
    shape("Pair", podTemplate="spec.back.template"),
    shape("Keyword", podTemplate="spec.pod-spec.namespace[*].in"),
    shape("Matrix", constraints="spec.rows[*]"),
    {"builtIn": "rook-cephcluster"},  # under keys that are names, and in a list
]
POLICY = {"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND, "earlyAnswer": True, "workloads": SHAPES}
BUILT_IN = [kind for kind in KINDS if kind.built_in]
CUSTOM = [kind for kind in policies.parse_policy(json.dumps(POLICY)).kinds if kind.from_policy]
POD, SQUAD, FRONT, BACK = KINDS[0], CUSTOM[1], CUSTOM[3], CUSTOM[4]
NAMES = attrgetter("kind")
SPREAD = [kind for kind in BUILT_IN if kind.kind != "DaemonSet"]


@pytest.fixture(scope="module")
def running(plane, tmp_path_factory):
    """Every entry and condition that there can be; under Fail, an error in CEL denies a built-in kind."""
    define(plane, *CUSTOM)
    with installed(plane, tmp_path_factory.mktemp("webhook"), policy=POLICY, failure_policy="Fail") as running:
        yield running


def send(plane, method, path, made, content_type=JSON):
    """Status and message of the answer to a dry run."""
    try:
        plane.api.call(method, f"{path}?dryRun=All", made, content_type)
    except ApiError as error:
        return error.status, error.message
    return 200, ""


def minimal(kind, namespace, *constraints):
    made = pod(*constraints) if kind is POD else workload(kind.kind, *constraints)
    made["metadata"] |= {"name": "web", "namespace": namespace}
    return containers(made)


def but(made, path, value):
    """A copy with another value at `path`; with `...`, without any."""
    parent = made = copy.deepcopy(made)
    for name in path[:-1]:
        parent = parent[name]
    if value is ...:
        parent.pop(path[-1], None)
    else:
        parent[path[-1]] = value
    return made


def variants(kind, made):
    """Each field on the way of a condition absent, null and empty, and owners that say little of themselves."""
    template = kind.template
    fields = {("metadata", "labels"): {}, ("metadata", "annotations"): {}, ("metadata", "ownerReferences"): []}
    fields |= {template[:depth]: {} for depth in range(1, len(template) + 1)}
    fields |= {(*template, "metadata"): {}, (*template, "metadata", "labels"): {}} if template else {}
    fields |= {(*template, "spec"): {}, (*template, "spec", "nodeName"): "", (*template, *CONSTRAINTS): []}
    yield from (but(made, path, value) for path, empty in fields.items() for value in (..., None, empty))
    for more in ({}, {"controller": None}, {"controller": False}, {"controller": True}, {"kind": None}):
        yield but(made, ("metadata", "ownerReferences"), [{**OWNER, "uid": "u1", **more}])


@pytest.mark.parametrize("kind", BUILT_IN, ids=NAMES)
def test_nothing_that_is_absent_keeps_a_built_in_kind_out(plane, running, namespace, kind):
    """Some of these the API server itself refuses, as Invalid, after the conditions of /mutate."""
    path = path_of(kind, namespace)
    plane.api.call("POST", path, minimal(kind, namespace, GOOD))

    for one in (*variants(kind, minimal(kind, namespace, GOOD)), *variants(kind, minimal(kind, namespace))):
        created = send(plane, "POST", path, but(one, ("metadata", "name"), "other"))
        updated = send(plane, "PUT", f"{path}/web", one)
        assert {created[0], updated[0]} <= {200, 422}, (created, updated, one)


def test_a_condition_that_fails_would_show(plane, running, namespace):
    """Without `.?` the same condition fails on the first Pod without a nodeName, and Fail denies."""
    name = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/zz-evenkeel"
    webhooks = plane.api.call("GET", name)["webhooks"]
    broken = copy.deepcopy(webhooks)
    broken[0]["matchConditions"][1]["expression"] = "object.spec.nodeName == ''"
    path, made = path_of(POD, namespace), minimal(POD, namespace)
    try:
        plane.api.call("PATCH", name, {"webhooks": broken}, MERGE)
        until(lambda: send(plane, "POST", path, made)[0] != 200, "a Pod that is refused")
        status, message = send(plane, "POST", path, made)
    finally:
        plane.api.call("PATCH", name, {"webhooks": webhooks}, MERGE)
    until(lambda: send(plane, "POST", path, made)[0] == 200, "a Pod that is let in again")

    assert (403, "no such key: nodeName") == (status, message[-len("no such key: nodeName") :])


def refused(answer, kind, where):
    """Whether a kind's entry denied what is at `where`."""
    status, message = answer
    begins = f'admission webhook "{entry_name(kind)}" denied the request: {kind.kind} '
    said = f": {where}[0].topologyKey: no node can have such a key"
    return status == 403 and message.startswith(begins) and said in message


@pytest.mark.parametrize("kind", SPREAD, ids=lambda kind: kind.kind)
def test_every_built_in_kind_is_judged(plane, running, namespace, kind):
    """But DaemonSets, which tests/e2e/test_admission.py has: they are only warned that constraints do nothing there."""
    answer = send(plane, "POST", path_of(kind, namespace), minimal(kind, namespace, BAD))

    assert refused(answer, kind, path_text((*kind.template, *CONSTRAINTS))), answer


def test_a_pod_of_many_owners_is_still_given_defaults(plane, running, namespace):
    selecting = service(namespace=namespace)
    selecting["spec"]["ports"] = [{"port": 80}]
    plane.api.call("POST", f"/api/v1/namespaces/{namespace}/services", selecting)
    made = minimal(POD, namespace)
    made["metadata"]["ownerReferences"] = [{**OWNER, "uid": f"u{i}"} for i in range(1_000)]

    created = plane.api.call("POST", f"{path_of(POD, namespace)}?dryRun=All", made)

    assert 2 == len(created["spec"]["topologySpreadConstraints"])


def custom(kind, path, value, name="one"):
    """An object with `value` at the end of a path; a list on the way has one item."""
    for part in reversed(path):
        value = [value] if part == EACH else {"one" if part == EACH_KEY else part: value}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, **value}


def place(kind):
    """The path to a kind's constraints."""
    return (*kind.anchor, *CONSTRAINTS) if kind.template is not None else kind.anchor


def first(path):
    """What evenkeel calls the first of the places that a path leads to."""
    return path_text(tuple({EACH: 0, EACH_KEY: "one"}.get(part, part) for part in path))


@pytest.mark.parametrize("kind", CUSTOM, ids=NAMES)
def test_every_shape_is_judged_when_it_is_made_and_when_it_changes(plane, running, namespace, kind):
    path, where = path_of(kind, namespace), place(kind)
    good, bad = custom(kind, where, [GOOD]), custom(kind, where, [BAD])

    created = send(plane, "POST", path, bad)
    plane.api.call("POST", path, good)
    updated = send(plane, "PATCH", f"{path}/one", bad, MERGE)

    assert refused(created, kind, first(where)), created
    assert created == updated


WRONG = [5, True, "", "x", None, [], {}, {"x": 5}, [5], [None], ["x"], [{}], [[]]]


@pytest.mark.parametrize("kind", CUSTOM, ids=NAMES)
def test_wrong_types_in_what_has_no_schema_pass_or_are_told(plane, running, namespace, kind):
    """CEL that fails on the way to the constraints lets pass; what stands in their place is evenkeel's to judge."""
    path, where = path_of(kind, namespace), place(kind)
    plane.api.call("POST", path, custom(kind, where, [GOOD]))
    told = f'admission webhook "{entry_name(kind)}" denied the request: {kind.kind} {namespace}/'

    for depth, wrong in product(range(1, len(where) + 1), WRONG):
        one = custom(kind, where[:depth], wrong)
        created = send(plane, "POST", path, one | {"metadata": {"name": "other"}})
        updated = send(plane, "PATCH", f"{path}/one", one, MERGE)
        in_their_place = depth == len(where) or where[depth:] == (EACH,)
        for status, message in (created, updated):
            assert status == 200 or (in_their_place and message.startswith(told) and f": {first(where)}" in message), (
                one,
                status,
                message,
            )


@pytest.mark.parametrize(
    ("kind", "beside"),
    [
        (SQUAD, {"sets": [5, None, {"racks": 5}, {"racks": [None]}]}),
        (CUSTOM[3], {"back": 5}),
        (CUSTOM[4], {"front": 5}),
    ],
    ids=["in a list", "in the other place", "in the first place"],
)
def test_what_is_wrong_in_one_place_does_not_hide_another(plane, running, namespace, kind, beside):
    one = custom(kind, place(kind), [BAD])
    one["spec"] |= {name: [*wrong, *one["spec"][name]] if name == "sets" else wrong for name, wrong in beside.items()}

    answer = send(plane, "POST", path_of(kind, namespace), one)

    assert refused(answer, kind, first(place(kind)).replace("sets[0]", "sets[4]")), answer


def test_a_list_too_long_to_look_through_hides_nothing(plane, running, namespace):
    """Nor is it looked through: that would keep the API server busy for longer than the test waits."""
    one = custom(SQUAD, place(SQUAD), [BAD])
    one["spec"]["sets"][:0] = [{}] * 150_000

    answer = send(plane, "POST", path_of(SQUAD, namespace), one)

    assert refused(answer, SQUAD, first(place(SQUAD)).replace("sets[0]", "sets[150000]")), answer
