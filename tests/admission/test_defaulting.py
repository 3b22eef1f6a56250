"""Which Pods are given default constraints, and from what (facts 5 to 7 of Kubernetes' scheduler)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import jsonpatch
import pytest

from evenkeel.admit.dry_run import patched
from tests.support.build import (
    FEATURES,
    HOSTNAME,
    ZONE,
    constraint,
    namespace,
    node,
    owned_by,
    pod,
    policy,
    request,
    service,
    snapshot,
    workload,
)
from tests.support.review import Case, review
from tests.support.said import rule_in
from webhook.admission import review as admission
from webhook.admission.decision import Outcome
from webhook.admission.defaulting import Defaults, Undefaulted
from webhook.admission.ownership import NEVER
from webhook.admission.request import MUTATE, VALIDATE
from webhook.kubernetes.features import features
from webhook.policy import parsing as policies
from webhook.policy.defaults import Defaulting
from webhook.policy.policy import Policy
from webhook.spread.constraint import as_stored
from webhook.spread.validation import validate

SOFT_ZONE = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
SELECTED = {"labelSelector": {"matchLabels": {"app": "web"}}}
SYSTEM = {"defaultingType": "System"}
HASH = "pod-template-hash"


def policy_with(*constraints, **more):
    text = {"defaultingType": "List", "defaultConstraints": list(constraints)}
    return policy(defaulting=text, **more)


def mutated(obj, *objects, policy=None, version=FEATURES):
    """The decision on `obj` in a cluster of `objects`."""
    return review(request(obj), MUTATE, policy or policies.built_in(), snapshot(*objects), version)


def defaults(obj, *objects, **given):
    """The constraints in the patch."""
    decision = mutated(obj, *objects, **given)
    return [dict(one) for one in decision.patch[0]["value"]] if decision.patch else []


class Left(NamedTuple):
    name: str
    obj: dict
    reason: str
    policy: Callable[[], Policy] = policies.built_in
    objects: tuple = (service(),)


BATCH = {"name": "batch", "namespaceSelector": {"matchLabels": {"team": "batch"}}}
LEFT_ALONE = [
    Left("a Pod that nothing selects", pod(), "nothing-selects-it", objects=()),
    Left("a Pod of another namespace than the Service", pod(), "nothing-selects-it", objects=(service(namespace="x"),)),
    Left("a Service without a selector", pod(), "nothing-selects-it", objects=(service(selector={}),)),
    Left("a Pod that opts out", pod(labels={"app": "web", "evenkeel.dev/skip": "true"}), "opted-out"),
    Left("a Pod with nodeName", pod(spec={"nodeName": "n1"}), "bound"),
    Left("a mirror Pod", pod(annotations={"kubernetes.io/config.mirror": "x"}), "mirror-pod"),
    Left("a DaemonSet's Pod, even behind a Service", pod(owner="DaemonSet/agent"), "daemonset"),
    Left("a policy of an empty list", pod(), "no-default-constraints", policy_with),
    Left(
        "a policy that leaves it to the scheduler",
        pod(),
        "system-defaulting",
        partial(policy, defaulting=SYSTEM),
    ),
    Left(
        "a namespace whose labels are not known yet, where they matter",
        pod(),
        "namespace-unknown",
        partial(policy_with, SOFT_ZONE, overrides=[BATCH | {"defaulting": SYSTEM}]),
    ),
    Left(
        "a namespace that the cluster does not have, and that may have opted out",
        pod(),
        "namespace-unknown",
        objects=(service(), namespace("another")),
    ),
    Left("annotations that are no object", pod(annotations="x"), "malformed"),
]


@pytest.mark.parametrize("case", LEFT_ALONE, ids=lambda case: case.name)
def test_who_is_left_alone(case):
    decision = mutated(case.obj, *case.objects, policy=case.policy())

    assert () == decision.patch
    assert Undefaulted(case.reason) == decision.defaulted


@pytest.mark.parametrize("constraints", [[constraint()], [{}], "x", {"a": 1}, 0], ids=str)
def test_a_pod_with_any_constraint_of_its_own_gets_none(constraints):
    decision = mutated(pod(spec={"topologySpreadConstraints": constraints}), service())

    assert () == decision.patch


@pytest.mark.parametrize("constraints", [None, []], ids=str)
def test_an_empty_list_is_no_constraint(constraints):
    assert defaults(pod(spec={"topologySpreadConstraints": constraints}), service())


def test_the_built_in_defaults_are_zone_and_hostname():
    selector = {"matchLabels": {"app": "web"}}
    assert [
        SOFT_ZONE | {"labelSelector": selector},
        SOFT_ZONE | {"topologyKey": HOSTNAME, "labelSelector": selector},
    ] == (defaults(pod(), service()))


class Derived(NamedTuple):
    name: str
    obj: dict
    objects: tuple
    selector: dict


def owner(kind, **spec):
    return workload(kind, spec=spec)


WEB = {"app": "web", HASH: "7"}
DERIVED = [
    Derived(
        "all Services that select the Pod, merged",
        pod(labels={"app": "web", "tier": "front"}),
        (service("a"), service("b", {"tier": "front"}), service("c", {"tier": "back"})),
        {"matchLabels": {"app": "web", "tier": "front"}},
    ),
    Derived(
        "a ReplicaSet's selector, without exact duplicates",
        pod(labels=WEB, owner="ReplicaSet/web"),
        (service(), owner("ReplicaSet", selector={"matchLabels": WEB})),
        {"matchLabels": WEB},
    ),
    Derived(
        "a ReplicaSet's matchExpressions are kept exactly",
        pod(owner="ReplicaSet/web"),
        (
            owner(
                "ReplicaSet",
                selector={
                    "matchExpressions": [
                        {"key": "app", "operator": "In", "values": ["web", "api"]},
                        {"key": "old", "operator": "DoesNotExist"},
                    ]
                },
            ),
        ),
        {
            "matchExpressions": [
                {"key": "app", "operator": "In", "values": ["web", "api"]},
                {"key": "old", "operator": "DoesNotExist"},
            ]
        },
    ),
    Derived(
        "a key that is needed twice goes to matchExpressions",
        pod(owner="ReplicaSet/web"),
        (
            service(),
            owner("ReplicaSet", selector={"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]}),
        ),
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}],
        },
    ),
    Derived(
        "two values of one key stay two, and match nothing, as in the scheduler",
        pod(owner="StatefulSet/web"),
        (service(), owner("StatefulSet", selector={"matchLabels": {"app": "db"}})),
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}],
        },
    ),
    Derived(
        "a ReplicationController's label map",
        pod(owner="ReplicationController/web"),
        (owner("ReplicationController", selector={"app": "web"}),),
        {"matchLabels": {"app": "web"}},
    ),
    Derived(
        "a Job's Pod behind a Service",
        pod(owner="Job/web"),
        (service(), owner("Job", selector={"matchLabels": {"job": "x"}})),
        {"matchLabels": {"app": "web"}},
    ),
    Derived(
        "an owner that has not been seen yet",
        pod(owner="ReplicaSet/web"),
        (service(),),
        {"matchLabels": {"app": "web"}},
    ),
]


@pytest.mark.parametrize("case", DERIVED, ids=lambda case: case.name)
def test_the_selector_is_the_schedulers_own(case):
    assert case.selector == defaults(case.obj, *case.objects)[0]["labelSelector"]


class Trap(NamedTuple):
    name: str
    default: dict
    minor: int
    patched: bool


KEYED = SOFT_ZONE | {"matchLabelKeys": [HASH, "tier"]}
TRAPS = [
    Trap("pod-template-hash that the ReplicaSet selects already, before the merge", KEYED, 33, True),
    Trap("the same since the merge", KEYED, 34, True),
    Trap("minDomains with ScheduleAnyway", SOFT_ZONE | {"minDomains": 2}, 34, False),
    Trap("a policy that the API does not know", SOFT_ZONE | {"nodeAffinityPolicy": "Bogus"}, 34, False),
    Trap("which 1.25 drops", SOFT_ZONE | {"nodeAffinityPolicy": "Bogus"}, 25, True),
]


@pytest.mark.parametrize("case", TRAPS, ids=lambda case: case.name)
def test_no_patch_that_the_api_would_refuse_ever_leaves(case):
    """Even under a policy that never went through the check that refuses such a list."""
    good = policies.built_in()
    policy = replace(good, defaulting=Defaulting("List", (case.default,)))
    obj = pod(labels=WEB, owner="ReplicaSet/web")
    version = features(case.minor)
    found = mutated(obj, owner("ReplicaSet", selector={"matchLabels": WEB}), policy=policy, version=version)

    assert case.patched == bool(found.patch)
    if case.patched:
        (written,) = found.patch[0]["value"]
        assert not validate([written], WEB, (), merged=False, features=version)
    else:
        assert "would-be-invalid" == found.defaulted.reason


def test_a_match_label_key_in_the_derived_selector_is_left_out():
    (given,) = defaults(
        pod(labels={**WEB, "tier": "x"}, owner="ReplicaSet/web"),
        owner("ReplicaSet", selector={"matchLabels": WEB}),
        policy=policy_with(KEYED),
    )

    assert ["tier"] == given["matchLabelKeys"]
    (given,) = defaults(pod(labels={**WEB, "tier": "x"}), service(), policy=policy_with(KEYED))
    assert [HASH, "tier"] == given["matchLabelKeys"]


def test_it_is_told_in_log_and_annotation():
    decision = mutated(
        pod(labels={**WEB, "tier": "x"}, owner="ReplicaSet/web"),
        owner("ReplicaSet", selector={"matchLabels": WEB}),
        policy=policy_with(KEYED),
    )

    assert (f"matchLabelKeys {HASH}: already in the selector",) == decision.defaulted.left_out
    assert decision.defaulted.note.endswith(f"; left out matchLabelKeys {HASH}: already in the selector")


def test_a_list_of_match_label_keys_that_ends_empty_is_left_out_whole():
    (given,) = defaults(pod(), service(), policy=policy_with(SOFT_ZONE | {"matchLabelKeys": ["app"]}))

    assert "matchLabelKeys" not in given


@pytest.mark.parametrize("annotations", [None, {}, {"a": "b"}], ids=str)
def test_the_patch_only_adds_and_a_second_review_changes_nothing(annotations):
    obj = pod(**({} if annotations is None else {"annotations": annotations}))
    decision = mutated(obj, service())
    patched = jsonpatch.apply_patch(obj, list(decision.patch))
    annotated = patched["metadata"].pop("annotations")
    del patched["spec"]["topologySpreadConstraints"]

    assert {"add"} == {operation["op"] for operation in decision.patch}
    assert {**(annotations or {}), "evenkeel.dev/defaulted-by": "policy; selector from Service/web"} == annotated
    assert {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "annotations"}} == patched
    assert () == mutated(jsonpatch.apply_patch(obj, list(decision.patch)), service()).patch


def bare(name):
    """A node without a zone."""
    return node(name, **{"os": "linux"})


TAINTED = node("n2", taints=["role=infra:NoSchedule"], os="linux")


ON_LINUX = {"nodeSelector": {"os": "linux"}}
TOLERANT = {"tolerations": [{"key": "role", "operator": "Exists"}]}


class Lacking(NamedTuple):
    name: str
    nodes: tuple
    given: list
    reason: str
    spec: Mapping = MappingProxyType({})


LACKING = [
    Lacking("every node has a zone", (node("n1"), node("n2")), [ZONE, HOSTNAME], ""),
    Lacking("no node is known", (), [ZONE, HOSTNAME], ""),
    Lacking(
        "no node has a zone",
        (bare("n1"), bare("n2")),
        [HOSTNAME],
        f"constraint: no node that it could run on has {ZONE}",
    ),
    Lacking(
        "one node has none",
        (node("n1"), node("n2"), bare("n3")),
        [],
        f"1 of 3 nodes that it could run on lacks {ZONE}",
    ),
    Lacking("a node without a zone that the Pod does not tolerate", (node("n1"), TAINTED), [ZONE, HOSTNAME], ""),
    Lacking(
        "one that it tolerates",
        (node("n1"), TAINTED),
        [],
        f"1 of 2 nodes that it could run on lacks {ZONE}",
        {"tolerations": [{"operator": "Exists"}]},
    ),
    Lacking(
        "one that is cordoned",
        (node("n1"), node("n2", cordoned=True, os="linux")),
        [ZONE, HOSTNAME],
        "",
    ),
    Lacking(
        "one that its node selector leaves out",
        (node("n1"), bare("n2")),
        [ZONE, HOSTNAME],
        "",
        {"nodeSelector": {ZONE: "a"}},
    ),
    Lacking(
        "only nodes without a zone are left by its node selector",
        (node("n1"), bare("n2")),
        [HOSTNAME],
        f"constraint: no node that it could run on has {ZONE}",
        {"nodeSelector": {"os": "linux"}},
    ),
    Lacking(
        "where no node takes it yet, every node counts",
        (node("n1"), bare("n2")),
        [],
        f"1 of 2 nodes that it could run on lacks {ZONE}",
        {"nodeSelector": {"pool": "new"}},
    ),
    Lacking(
        "where no node takes it yet, and none has a zone: it may come before the Pod is placed",
        (node("n1", taints=["uninitialized=:NoSchedule"], os="linux"),),
        [],
        f"no node that it could run on has {ZONE}",
    ),
    Lacking(
        "as where its affinity is too large to hold against them",
        (node("n1"), bare("n2")),
        [],
        f"1 of 2 nodes that it could run on lacks {ZONE}",
        {"nodeSelector": {ZONE: "a", **{f"k{i}": "" for i in range(300)}}},
    ),
]


@pytest.mark.parametrize("case", LACKING, ids=lambda case: case.name)
def test_the_built_in_defaults_never_spread_a_pod_worse_than_none(case):
    """With a constraint of its own a Pod avoids nodes that lack the key; under the scheduler's defaults it does not."""
    decision = mutated(pod(spec=dict(case.spec)), service(), *case.nodes)
    given = decision.defaulted

    assert case.given == [one["topologyKey"] for one in (decision.patch[0]["value"] if decision.patch else ())]
    if case.given:
        assert ((case.reason,) if case.reason else ()) == given.left_out
        assert (case.reason in given.note) and bool(given.lacking) == bool(case.reason)
    else:
        assert Undefaulted("nodes-lack-key", case.reason) == given


POOLED = {ZONE: "a", "karpenter.sh/nodepool": "general"}
NODE_POOL = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}}
FIXED = node("n2", taints=["role=infra:NoSchedule"], os="linux", **{ZONE: "a"})


class Making(NamedTuple):
    name: str
    objects: tuple
    max_skew: int
    spec: Mapping = MappingProxyType({})


MAKING = [
    Making("nothing says who makes nodes", (node("n1"),), 1),
    Making("the API server serves NodePools, and there is no node yet", (NODE_POOL,), 10),
    Making("it does, and another makes these nodes", (node("n1"), NODE_POOL), 10),
    Making("each node is of a NodePool", (node("n1", **POOLED),), 10),
    Making("a node that it could run on is", (node("n1", **POOLED), node("n2")), 10),
    Making("one that it does not tolerate is", (node("n1", taints=["a=b:NoSchedule"], **POOLED), FIXED), 1, TOLERANT),
    Making("one that its node selector leaves out is", (node("n1", **POOLED), FIXED), 1, TOLERANT | ON_LINUX),
    Making("where no node takes it yet, every node counts", (node("n1", **POOLED), node("n2")), 10, ON_LINUX),
]


@pytest.mark.parametrize("case", MAKING, ids=lambda case: case.name)
def test_where_karpenter_makes_nodes_the_built_in_defaults_start_few(case):
    """It puts at most maxSkew matching Pods on a node."""
    for objects in (case.objects, case.objects[::-1]):
        given = defaults(pod(spec=dict(case.spec)), service(), *objects)

        assert {ZONE: 1, HOSTNAME: case.max_skew} == {one["topologyKey"]: one["maxSkew"] for one in given}


def test_where_karpenter_makes_nodes_a_policy_that_names_its_defaults_insists_on_them():
    hosts = SOFT_ZONE | {"topologyKey": HOSTNAME}
    (given,) = defaults(pod(), service(), node("n1", **POOLED), NODE_POOL, policy=policy_with(hosts))

    assert 1 == given["maxSkew"]


@pytest.mark.parametrize("nodes", [(bare("n1"),), (node("n1"), bare("n2"))], ids=["none has it", "one has it"])
def test_a_policy_that_names_its_defaults_insists_on_them(nodes):
    explicit = policy_with(SOFT_ZONE, SOFT_ZONE | {"topologyKey": HOSTNAME})

    assert [ZONE, HOSTNAME] == [one["topologyKey"] for one in defaults(pod(), service(), *nodes, policy=explicit)]


def test_a_policy_that_does_not_name_defaults_has_the_built_in_ones():
    decision = mutated(pod(), service(), node("n1"), bare("n2"), policy=policy(enforcement="Warn"))

    assert "nodes-lack-key" == decision.defaulted.reason


LIMIT = 262_144
NOTE = "policy; selector from Service/web"


@pytest.mark.parametrize("lacking", [0, 1])
def test_the_annotation_is_left_out_where_the_api_server_would_refuse_it(lacking):
    """All annotations of an object may have 262,144 bytes, and not characters."""
    others = {"é": "x" * (LIMIT - len("evenkeel.dev/defaulted-by" + NOTE) + lacking - 2)}
    found = mutated(pod(annotations=others), service())
    patched = jsonpatch.apply_patch(pod(annotations=others), list(found.patch))
    size = sum(len((key + value).encode()) for key, value in patched["metadata"]["annotations"].items())

    assert 2 == len(patched["spec"]["topologySpreadConstraints"])
    assert size <= LIMIT
    assert (size == LIMIT) == (not lacking)
    left_out = f"annotation evenkeel.dev/defaulted-by: the Pod's annotations would exceed {LIMIT} bytes"
    assert (left_out,) * lacking == found.defaulted.left_out


AUDIT = {"defaultingMode": "Audit"}


def test_with_the_mode_audit_a_pod_is_not_patched_but_told_of():
    decision = mutated(pod(), service(), policy=policy_with(SOFT_ZONE, **AUDIT))

    assert ((), Outcome.WOULD_BE_DEFAULTED, True) == (decision.patch, decision.outcome, decision.allowed)
    assert [SOFT_ZONE | SELECTED] == [*decision.defaulted.constraints]
    told = f"{ZONE} (maxSkew 1, ScheduleAnyway); policy; selector from Service/web"
    assert {"would-be-defaulted": told} == decision.audit_annotations


@pytest.mark.parametrize(
    ("fields", "labels", "outcome"),
    [
        ({"overrides": [BATCH | AUDIT]}, {"team": "batch"}, Outcome.WOULD_BE_DEFAULTED),
        ({"overrides": [BATCH | AUDIT]}, {}, Outcome.DEFAULTED),
        (AUDIT | {"overrides": [BATCH | {"defaultingMode": "Apply"}]}, {"team": "batch"}, Outcome.DEFAULTED),
        (AUDIT | {"overrides": [BATCH]}, {"team": "batch"}, Outcome.WOULD_BE_DEFAULTED),
    ],
    ids=str,
)
def test_an_override_may_change_the_mode(fields, labels, outcome):
    assert outcome is mutated(pod(), service(), namespace(**labels), policy=policy(**fields)).outcome


def test_a_pod_gets_nothing_where_the_labels_that_decide_the_mode_are_not_known():
    decision = mutated(pod(), service(), policy=policy(overrides=[BATCH | AUDIT]))

    assert ((), Undefaulted("namespace-unknown")) == (decision.patch, decision.defaulted)


def test_a_pod_from_before_a_trial_still_counts_as_defaulted():
    by_rules = {"rules": {"soft-constraint": "warning"}}
    written = patched(pod(), mutated(pod(), service(), policy=policy_with(SOFT_ZONE, **by_rules)).patch)

    assert () == validated(written, service(), policy=policy_with(SOFT_ZONE, **by_rules, **AUDIT)).warnings


def test_an_override_replaces_the_defaults_whole():
    policy = policy_with(
        SOFT_ZONE,
        overrides=[
            BATCH | {"defaulting": {"defaultingType": "List", "defaultConstraints": [SOFT_ZONE | {"maxSkew": 4}]}}
        ],
    )
    decision = mutated(pod(), service(), namespace(team="batch"), policy=policy)

    assert [4] == [one["maxSkew"] for one in decision.patch[0]["value"]]
    assert decision.audit_annotations["defaulted"].startswith("override batch;")
    assert [1] == [one["maxSkew"] for one in defaults(pod(), service(), namespace(team="x"), policy=policy)]


def test_the_author_of_a_pod_is_warned_only_of_constraints_of_their_own():
    """No node has the zone of the defaults; an annotation that says whose they are does not make them evenkeel's."""
    names, cluster = policy_with(SOFT_ZONE), (service(), bare("n1"))
    written = jsonpatch.apply_patch(pod(), list(mutated(pod(), *cluster, policy=names).patch))
    own = pod(constraint(whenUnsatisfiable="DoNotSchedule"), annotations=written["metadata"]["annotations"])
    warnings = [review(request(obj), VALIDATE, names, snapshot(*cluster), FEATURES).warnings for obj in (written, own)]

    assert [0, 1] == [len(texts) for texts in warnings]


def test_an_annotation_alone_hides_no_missing_constraints():
    asks = policy(rules={"missing-constraints": {"severity": "warning", "minReplicas": 1}})
    claims = pod(annotations={"evenkeel.dev/defaulted-by": "policy"})

    assert 1 == len(review(request(claims), VALIDATE, asks, snapshot(), FEATURES).warnings)


def test_a_skipped_namespace_is_left_alone():
    decision = mutated(pod(), service(), namespace(**{"evenkeel.dev/skip": "true"}))

    assert (True, (), None) == (decision.allowed, decision.patch, decision.defaulted)


@pytest.mark.parametrize("value", ["false", "", "True"])
def test_only_true_opts_out(value):
    """Of a Pod, and of a namespace."""
    skip = {"evenkeel.dev/skip": value}

    assert defaults(pod(labels={"app": "web", **skip}), service())
    assert defaults(pod(), service(), namespace(**skip))


def test_templates_are_never_patched():
    assert () == mutated(workload("Deployment"), service()).patch


def test_where_the_pod_has_no_namespace_yet_the_request_tells_it():
    obj = pod()
    del obj["metadata"]["namespace"]
    decision = review(request(obj, namespace="shop"), MUTATE, policies.built_in(), snapshot(service()), FEATURES)

    assert isinstance(decision.defaulted, Defaults)


def test_no_patch_that_the_policy_itself_would_deny_ever_leaves():
    decision = mutated(pod(), service(), policy=policy_with(SOFT_ZONE, rules={"soft-constraint": "error"}))

    assert ((), "would-be-denied") == (decision.patch, decision.defaulted.reason)
    assert "must be DoNotSchedule by this cluster's policy (soft-constraint)" in decision.defaulted.detail


def test_nor_where_only_an_enforced_rule_is_sure_to_deny_it():
    milder = BATCH | {"enforcement": "Warn"}
    strict = policy_with(SOFT_ZONE, rules={"soft-constraint": ENFORCED}, overrides=[milder])

    assert "would-be-denied" == mutated(pod(), service(), policy=strict).defaulted.reason


def test_what_a_pod_lacks_with_defaults_too_is_told_like_without():
    asks = policy_with(
        SOFT_ZONE, rules={"missing-constraints": {**SOFTNESS["missing-constraints"], "topologyKeys": [HOSTNAME]}}
    )
    written = patched(pod(), mutated(pod(), service(), policy=asks).patch)

    assert ["missing-constraints"] == [*map(rule_in, validated(written, service(), policy=asks).warnings)]


@pytest.mark.parametrize("count", [500, 900], ids=["more than can be judged with two constraints", "in one"])
def test_no_patch_that_could_not_be_judged_ever_leaves(count):
    """Of many Services, for the selector of each is bounded."""
    keys = [f"key{i}" for i in range(count)]
    parts = [dict.fromkeys(keys[i : i + 50], "") for i in range(0, count, 50)]
    services = [service(f"web-{i}", selector=part) for i, part in enumerate(parts)]
    decision = mutated(pod(labels=dict.fromkeys(keys, "")), *services)

    assert ((), "too-large") == (decision.patch, decision.defaulted.reason)


@pytest.mark.parametrize(("count", "reason"), [(700, None), (701, "too-large")])
def test_no_pod_of_too_many_labels_is_compared_with_every_service(count, reason):
    labels = {"app": "web", **{f"key{i}": "" for i in range(count - 1)}}
    found = mutated(pod(labels=labels), service()).defaulted

    assert reason == (found.reason if isinstance(found, Undefaulted) else None)


@pytest.mark.parametrize("count", [10, 11])
def test_at_most_ten_sources_of_a_selector_are_named(count):
    found = mutated(pod(), *(service(f"web-{i}") for i in range(count))).defaulted

    assert (count, count > 10) == (len(found.source), found.note.endswith(", …"))
    assert 10 == found.note.count("Service/")


BY_EVENKEEL = {"evenkeel.dev/defaulted-by": "policy; selector from Service/web"}
WRITTEN = [SOFT_ZONE | {"labelSelector": {"matchLabels": {"app": "web"}}}]
SOFTNESS = {"soft-constraint": "warning", "missing-constraints": {"severity": "warning", "minReplicas": 1}}


class Silent(NamedTuple):
    name: str
    constraints: list
    warned: bool
    annotations: Mapping = MappingProxyType(BY_EVENKEEL)
    rules: Mapping = MappingProxyType(SOFTNESS)
    keys: tuple = ()
    first: Mapping | None = None


HARD_HOST = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
HARD_HOSTS = HARD_HOST | {"labelSelector": {"matchLabels": {"app": "web"}}}
SILENT = [
    Silent("what evenkeel wrote", WRITTEN, False),
    Silent("the same without the annotation", WRITTEN, True, {}),
    Silent("another selector", [SOFT_ZONE | {"labelSelector": {"matchLabels": {"app": "db"}}}], True),
    Silent("another maxSkew", [WRITTEN[0] | {"maxSkew": 2}], True),
    Silent("a constraint more", [*WRITTEN, WRITTEN[0] | {"topologyKey": HOSTNAME}], True),
    Silent("none", [], True),
    Silent("an enforced rule", WRITTEN, False, rules={"soft-constraint": {"severity": "warning", "enforced": True}}),
    Silent("which the first of the constraints does not break", [HARD_HOSTS, *WRITTEN], False, first=HARD_HOST),
    Silent(
        "what evenkeel wrote, with matchLabelKeys merged by the API server",
        [
            WRITTEN[0]
            | {
                "matchLabelKeys": ["tier"],
                "labelSelector": {
                    "matchLabels": {"app": "web"},
                    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["x"]}],
                },
            }
        ],
        False,
        keys=("tier",),
    ),
]


@pytest.mark.parametrize("case", SILENT, ids=lambda case: case.name)
def test_nobody_is_warned_of_what_evenkeel_wrote_and_of_nothing_else(case):
    """Anybody may write the annotation."""
    default = SOFT_ZONE | ({"matchLabelKeys": list(case.keys)} if case.keys else {})
    labels = {"app": "web", "tier": "x"}
    obj = pod(*case.constraints, labels=labels, annotations=dict(case.annotations))
    given = [case.first, default] if case.first else [default]
    decision = validated(obj, service(), policy=policy_with(*given, rules=dict(case.rules)))

    assert case.warned == bool(decision.warnings)
    assert decision.findings


def validated(obj, *objects, policy):
    return review(request(obj), VALIDATE, policy, snapshot(*objects), FEATURES)


INSTANCE = "statefulset.kubernetes.io/pod-name"
BY_TIER = {**SOFT_ZONE, "matchLabelKeys": ["tier"]}
TEMPLATE = {"spec": {"selector": {"matchLabels": {"app": "web", HASH: "abc"}}}}
SET = {"spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "cache"]}]}}}
CLUSTER = (
    service(),
    service("tier", {"app": "web", "tier": "front"}),
    service("cache", {"app": "cache"}),
    workload("ReplicaSet", name="web-0", spec={"selector": {"matchLabels": {"app": "web"}}}),
    workload("ReplicaSet", name="web-aaa", spec={"selector": {"matchLabels": {"app": "web", HASH: "abc", "a": "b"}}}),
    workload("ReplicaSet", name="web-abc", **TEMPLATE),
    workload("ReplicaSet", name="web-old", spec={"selector": {"matchLabels": {"app": "web", HASH: "old"}}}),
    workload("StatefulSet", name="db", **SET),
)
OF_RS = pod(labels={"app": "web", "tier": "front", "x": "y", HASH: "abc"}, owner="ReplicaSet/web-abc")
OF_ROLLOUT = pod(labels={"app": "web", HASH: "abc"}, owner="Rollout/web")
OF_CACHE = pod(labels={"app": "cache", INSTANCE: "db-0"}, owner="StatefulSet/db")
OF_SET = pod(labels={"app": "db", INSTANCE: "db-0"}, owner="StatefulSet/db")
BARE = pod()
ERROR, ENFORCED = {"severity": "error"}, {"severity": "error", "enforced": True}
MISSES, PINNED = "selector-misses-own-pod", "pinned-pod"
NODE = {"spec": {"nodeName": "n1"}}


def policy_of(severity=ERROR, default=SOFT_ZONE, **fields):
    defaulting = {"defaultingType": "List", "defaultConstraints": [default]}
    return policy(**{"defaulting": defaulting, "rules": dict.fromkeys((MISSES, PINNED), severity), **fields})


def stored(obj, policies):
    """A Pod as it is stored after evenkeel has given it constraints."""
    decision = review(request(obj), MUTATE, policies, snapshot(*CLUSTER), FEATURES)
    given = jsonpatch.apply_patch(obj, list(decision.patch))
    constraints = as_stored(given["spec"]["topologySpreadConstraints"], obj["metadata"]["labels"], FEATURES)
    return {**given, "spec": {**given["spec"], "topologySpreadConstraints": constraints}}


def copy(obj, *, labels=None, owners=(), annotations=(), constraints=None, spec=None):
    """A Pod as `kubectl debug --copy-to` makes it: without labels, annotations and owner."""
    found = constraints or obj["spec"]["topologySpreadConstraints"]
    return pod(*found, labels=labels or {}, annotations=dict(annotations), spec=spec, **dict(owners))


def sent(original, severity=ERROR, default=SOFT_ZONE, cluster=CLUSTER, change=None, **fields):
    """What is said of a copy of a Pod to which evenkeel gave constraints; `change` makes a copy of what is stored."""

    def review_it():
        policies = policy_of(severity, default, **fields)
        obj = (change or copy)(stored(original, policies))
        return review(request(obj), VALIDATE, policies, snapshot(*cluster), FEATURES)

    return review_it


def keeping(**labels):
    """A copy with these labels."""
    return lambda obj: copy(obj, labels=labels)


def keeping_all(obj):
    """`kubectl debug --copy-to --keep-labels --same-node`."""
    return copy(obj, labels=obj["metadata"]["labels"], **NODE)


def in_zone(obj):
    return copy(obj, labels={ZONE: "a"}, **NODE)


def changed(**fields):
    """A copy of which the constraint is another one."""
    return lambda obj: copy(obj, constraints=[one | fields for one in obj["spec"]["topologySpreadConstraints"]])


def saved(obj):
    """A Pod that ran, as `kubectl get -o yaml` shows it."""
    return {**obj, "spec": {**obj["spec"], **NODE["spec"]}}


def saved_with(**fields):
    """Likewise, with a constraint that its author wrote over the given one."""

    def save(obj):
        constraints = [one | fields for one in obj["spec"]["topologySpreadConstraints"]]
        return {**obj, "spec": {**obj["spec"], **NODE["spec"], "topologySpreadConstraints": constraints}}

    return save


def disowned(obj):
    """With labels of another workload, but the annotation and the owner of this one."""
    return copy(obj, labels={"app": "mine"}, owners=owned_by("ReplicaSet/web-abc"), annotations=BY_EVENKEEL)


EXEMPT = {"overrides": [{"name": "x", "podSelector": {"matchLabels": {"app": "web"}}, "rules": {MISSES: "ignore"}}]}
IGNORING = {"annotations": {"evenkeel.dev/ignore": "soft-constraint"}}
OTHER_SELECTOR = {"labelSelector": {"matchLabels": {"app": "web"}}}

AGAIN = [
    Case("a copy of a ReplicaSet's Pod", sent(OF_RS)),
    Case("under enforced rules", sent(OF_RS, ENFORCED)),
    Case("with merged matchLabelKeys", sent(pod(labels={"app": "web", "tier": "x"}), ENFORCED, BY_TIER)),
    Case("of a Rollout's Pod, which a Service selects", sent(OF_ROLLOUT, ENFORCED)),
    Case("of a StatefulSet's Pod", sent(OF_SET, ENFORCED)),
    Case("of one that a Service selects, too", sent(OF_CACHE, ENFORCED)),
    Case("of a Pod that a Service selects", sent(BARE, ENFORCED)),
    Case("on the same node, whose zone it is given", sent(OF_RS, ENFORCED, change=lambda obj: copy(obj, **NODE))),
    Case("which the API server has written into it", sent(OF_RS, ENFORCED, change=in_zone)),
    Case("with its labels, on the same node", sent(OF_RS, ENFORCED, change=keeping_all)),
    Case("with its labels, of a StatefulSet", sent(OF_SET, ENFORCED, change=keeping_all)),
    Case("with its annotations", sent(OF_RS, change=lambda obj: copy(obj, annotations=BY_EVENKEEL))),
    Case("with a label that another webhook adds", sent(OF_RS, change=keeping(mesh="on"))),
    Case(
        "which for an enforced rule may be a workload's own",
        sent(OF_RS, ENFORCED, change=keeping(mesh="on")),
        denied=(MISSES,),
    ),
    Case("with labels of another workload", sent(OF_RS, change=keeping(app="mine")), denied=(MISSES,)),
    Case("with another selector", sent(OF_RS, change=changed(labelSelector={"matchLabels": {"a": "b"}})), (MISSES,)),
    Case("with one of a revision that is gone", sent(OF_RS, cluster=CLUSTER[:2]), denied=(MISSES,)),
    Case("with one that nothing derives", sent(OF_SET, change=changed(**OTHER_SELECTOR), cluster=()), denied=(MISSES,)),
    Case("with another maxSkew", sent(OF_RS, ENFORCED, change=changed(maxSkew=2)), denied=(MISSES,)),
    Case("with a hard constraint", sent(OF_RS, change=changed(whenUnsatisfiable="DoNotSchedule")), denied=(MISSES,)),
    Case(
        "that had rules ignored",
        sent({**OF_RS, "metadata": {**OF_RS["metadata"], **IGNORING}}, rules={"soft-constraint": "error"}),
    ),
    Case(
        "that had rules ignored and no owner",
        sent({**BARE, "metadata": {**BARE["metadata"], **IGNORING}}, rules={"soft-constraint": "error"}),
    ),
    Case(
        "of a ReplicaSet's Pod with merged matchLabelKeys",
        sent(OF_RS, ENFORCED, {**SOFT_ZONE, "matchLabelKeys": ["x"]}),
    ),
    Case("of which the policy knows by its labels", sent(OF_RS, default=SOFT_ZONE, **EXEMPT)),
    Case("a saved Pod", sent(OF_RS, ENFORCED, change=saved)),
    Case("a saved Pod of a Service", sent(BARE, ENFORCED, change=saved)),
    Case("that is another's", sent(OF_RS, ENFORCED, change=saved_with(maxSkew=2)), denied=(PINNED,)),
    Case("an annotation over another selector", sent(OF_RS, ENFORCED, change=saved_with(**OTHER_SELECTOR)), (PINNED,)),
    Case("another's owner", sent(OF_RS, ENFORCED, change=disowned), denied=(MISSES,)),
]


@pytest.mark.parametrize("case", AGAIN, ids=lambda case: case.name)
def test_what_evenkeel_gave(case):
    case.check()


@pytest.mark.parametrize("change", [saved, keeping_all, copy], ids=["saved", "copied with labels", "copied without"])
@pytest.mark.parametrize("then", [(), (NODE_POOL,)], ids=["given without Karpenter", "given with it"])
@pytest.mark.parametrize("now", [(), (NODE_POOL,)], ids=["judged without Karpenter", "judged with it"])
def test_what_evenkeel_gave_stays_its_own_when_karpenter_comes_or_goes(change, then, now):
    policies = policy(rules=dict.fromkeys((PINNED, MISSES, "soft-constraint"), ENFORCED))
    policies = replace(policies, enforcement="Warn")  # Else the rules keep the defaults off.
    decision = review(request(OF_RS), MUTATE, policies, snapshot(*CLUSTER, *then), FEATURES)
    obj = change(jsonpatch.apply_patch(OF_RS, list(decision.patch)))
    decision = review(request(obj), VALIDATE, policies, snapshot(*CLUSTER, *now), FEATURES)

    assert () == decision.warnings and decision.findings


def test_no_enforced_rule_lets_through_what_evenkeel_never_gave():
    """maxSkew 10 is what it would have given with Karpenter, had the policy allowed it."""
    hosts = {"topologyKey": HOSTNAME, "maxSkew": 10}
    policies = policy(rules={"excessive-max-skew": ENFORCED | {"maxSkew": 5}})
    decision = review(request(OF_RS), MUTATE, policies, snapshot(*CLUSTER), FEATURES)
    obj = jsonpatch.apply_patch(OF_RS, list(decision.patch))
    zone, host = obj["spec"]["topologySpreadConstraints"]
    assert HOSTNAME == host["topologyKey"]
    obj = {**obj, "spec": {**obj["spec"], "topologySpreadConstraints": [zone, host | hosts]}}

    assert not review(request(obj), VALIDATE, policies, snapshot(*CLUSTER), FEATURES).allowed


def test_a_person_who_writes_the_same_by_hand_is_warned_of_it():
    """For a workload of their own, which shows nowhere that a controller made it."""
    rules = {"soft-constraint": "warning"}
    obj = pod(constraint(**SOFT_ZONE))
    decision = review(request(obj), VALIDATE, policy_of(rules=rules), snapshot(*CLUSTER), FEATURES)

    assert 1 == len(decision.warnings)


def test_what_is_only_an_info_is_not_compared_with_what_evenkeel_gives(monkeypatch):
    """It neither denies nor warns, and the comparison looks at every ReplicaSet of the namespace."""
    asked = []
    monkeypatch.setattr(admission, "audited_as_defaulted", lambda *_: asked.append(1) or NEVER)
    for rules in ({}, {"counts-tainted-nodes": "warning"}):
        policies, obj = policy(rules=rules), pod(constraint(topologyKey="kubernetes.io/hostname"))
        review(request(obj), VALIDATE, policies, snapshot(*CLUSTER), FEATURES)

    assert [1] == asked
