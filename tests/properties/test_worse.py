"""
What an update may not make worse, for each rule that can be enforced, told from denials of new objects alone.

An offending constraint is one with which a new object is denied that has no other.
"""

from __future__ import annotations

import copy
import json
from functools import cache

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint, workload
from tests.support.review import review
from webhook.admission.request import VALIDATE
from webhook.kubernetes.fields import value_at
from webhook.policy.parsing import parse_policy
from webhook.rules import RULES

HARD, SOFT, KEY = "DoNotSchedule", "ScheduleAnyway", "topologySpreadConstraints"
few = settings(max_examples=int(EXAMPLES or 8), suppress_health_check=list(HealthCheck))
ENFORCEABLE = [rule.id for rule in RULES.values() if not rule.advice]
OF_CONSTRAINTS = [rule for rule in ENFORCEABLE if RULES[rule].needs_constraints]
# Pods of an invalid constraint are refused anyway, a hard one with a large maxSkew spreads better than a soft one, and
# one rule asks for hard ones.
AS_BAD_IF_HARD = {"invalid-constraint", "excessive-max-skew", "soft-constraint"}
each_rule = pytest.mark.parametrize("rule", ENFORCEABLE)
each_of_constraints = pytest.mark.parametrize("rule", OF_CONSTRAINTS)
each_worse_if_hard = pytest.mark.parametrize("rule", [rule for rule in OF_CONSTRAINTS if rule not in AS_BAD_IF_HARD])
MALFORMED, MISSPELT, FORBIDDEN = "a key!", "topology.kubernetes.io/zon", "rack"
DEPRECATED = "failure-domain.beta.kubernetes.io/zone"

DESCRIBED = {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets", "replicas": "spec.replicas"}
POOLS = {"apiVersion": "example.com/v1", "kind": "Pool", "resource": "pools"}
WORKLOADS = [
    {"builtIn": "cnpg-cluster"},
    {**DESCRIBED, "constraints": f"spec.{KEY}"},
    {**POOLS, "podTemplate": "spec.sets[*].template", "replicas": "spec.sets[*].replicas"},
]
BUILT_IN = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob")
ROLLOUT = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
CLUSTER = {"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster"}
PATHS = {  # of the constraints
    **dict.fromkeys((*BUILT_IN, "Rollout"), ("spec", "template", "spec", KEY)),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec", KEY),
    "Fleet": ("spec", KEY),
    "Cluster": ("spec", KEY),
    "Pool": ("spec", "sets", 0, "template", "spec", KEY),
}
kinds = st.sampled_from(tuple(PATHS))

constraints = st.builds(
    constraint,
    maxSkew=st.sampled_from((1, 1, 0, 6, 9)),
    topologyKey=st.sampled_from((ZONE, HOSTNAME, FORBIDDEN, MALFORMED, MISSPELT, DEPRECATED)),
    whenUnsatisfiable=st.sampled_from((HARD, SOFT)),
    labelSelector=st.sampled_from(({"matchLabels": {"app": "web"}}, {}, None, {"matchLabels": {"app": "other"}})),
    minDomains=st.sampled_from((None, None, None, 0, 3)),
    nodeTaintsPolicy=st.sampled_from((None, "Honor", "honor")),
    matchLabelKeys=st.sampled_from((None, None, ["pod-template-hash"], ["absent"], ["absent", "pod-template-hash"])),
    matchLabelKey=st.sampled_from((None, None, ["app"])),
)
lists = st.lists(constraints, max_size=4)


def made(kind, listed):
    """An object of a kind with these constraints and three replicas."""
    name, spec = {"name": "web", "namespace": "shop"}, {"replicas": 3, KEY: listed}
    if kind == "Cluster":
        return {**CLUSTER, "metadata": name, "spec": {"instances": 3, KEY: listed}}
    if kind == "Fleet":
        return {"apiVersion": DESCRIBED["apiVersion"], "kind": kind, "metadata": name, "spec": spec}
    built_in = workload("Deployment" if kind in ("Rollout", "Pool") else kind, *listed, spec={"parallelism": 3})
    if kind == "Pool":
        of_set = {"replicas": 3, "template": built_in["spec"]["template"]}
        return {"apiVersion": POOLS["apiVersion"], "kind": kind, "metadata": name, "spec": {"sets": [of_set]}}
    return built_in | ROLLOUT if kind == "Rollout" else built_in


@cache
def enforcing(rule):
    """The policy that enforces one rule and has no other."""
    ignored = dict.fromkeys((each for each in RULES if each != rule), "ignore")
    parameters = {**RULES[rule].example, **({"soft": True} if "soft" in RULES[rule].parameters else {})}
    asked = {"severity": "error", "enforced": True, **parameters}
    kind = {"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy"}
    return parse_policy(json.dumps({**kind, "rules": {**ignored, rule: asked}, "workloads": WORKLOADS}))


def passes(rule, new, old=None):
    request = {"uid": "1", "operation": "CREATE" if old is None else "UPDATE", "namespace": "shop", "object": new}
    request |= {} if old is None else {"oldObject": old}
    return review(request, VALIDATE, enforcing(rule), None, FEATURES).allowed


def offends(rule, kind, *listed):
    return not passes(rule, made(kind, [*listed]))


@few
@each_rule
@given(old=lists, new=lists, kind=kinds)
def test_an_update_to_what_may_be_created_passes_and_one_from_it_to_what_may_not_does_not(rule, old, new, kind):
    creatable, was_creatable = not offends(rule, kind, *new), not offends(rule, kind, *old)
    assume(creatable or was_creatable)

    assert creatable == passes(rule, made(kind, new), made(kind, old))


@few
@each_of_constraints
@given(old=lists, added=constraints, kind=kinds, data=st.data())
def test_an_offending_constraint_beside_others_is_denied(rule, old, added, kind, data):
    assume(offends(rule, kind, added))
    at = data.draw(st.integers(0, len(old)), label="at")

    assert not passes(rule, made(kind, [*old[:at], added, *old[at:]]), made(kind, old))


@few
@each_worse_if_hard
@given(old=lists, soft=constraints, kind=kinds, data=st.data())
def test_an_offending_constraint_that_becomes_hard_is_denied(rule, old, soft, kind, data):
    soft = soft | {"whenUnsatisfiable": SOFT}
    hard = soft | {"whenUnsatisfiable": HARD}
    assume(offends(rule, kind, hard))
    at = data.draw(st.integers(0, len(old)), label="at")
    before, now = ([*old[:at], one, *old[at:]] for one in (soft, hard))

    assert not passes(rule, made(kind, now), made(kind, before))


@few
@each_rule
@given(old=lists, kind=kinds, data=st.data())
def test_what_is_reordered_removed_or_relaxed_and_changed_elsewhere_passes(rule, old, kind, data):
    """Where a rule asks for constraints, or for hard ones, these are kept."""
    new = data.draw(st.permutations(old), label="in this order")
    keeps = [offends(rule, kind), offends(rule, kind, constraint(whenUnsatisfiable=SOFT))]
    if not keeps[0]:
        new = new[: data.draw(st.integers(0, len(new)), label="left")]
    relaxed = [one | {"whenUnsatisfiable": SOFT, "minDomains": None} for one in new]
    relaxed = [{name: value for name, value in one.items() if value is not None} for one in relaxed]
    if rule != "invalid-constraint" and not any(keeps):
        new = data.draw(st.sampled_from([new, relaxed]), label="relaxed")
    obj = elsewhere_changed(made(kind, new), kind, data)

    assert passes(rule, obj, made(kind, old))


def elsewhere_changed(obj, kind, data):
    """The object with more labels, annotations that ignore all rules, fewer replicas, or another container."""
    obj, path = copy.deepcopy(obj), PATHS[kind][:-2]
    labels, annotations = {"tier": "web"}, {"evenkeel.dev/ignore": ",".join(RULES)}
    template = value_at(obj, path) if len(path) > 1 else None
    for change in data.draw(
        st.sets(st.sampled_from(("labels", "annotations", "replicas", "containers"))), label="also"
    ):
        if change == "replicas":
            for place in (obj["spec"], *obj["spec"].get("sets", ())):
                place |= {name: 2 for name in ("replicas", "instances", "parallelism") if name in place}
        elif template is None:
            obj["metadata"] |= {"annotations": annotations} if change == "annotations" else {}
        elif change == "containers":
            template["spec"]["containers"] = [{"name": "renamed", "image": "web"}]
        else:
            metadata = template["metadata"]
            metadata[change] = metadata.get(change, {}) | (labels if change == "labels" else annotations)
    return obj


@few
@each_of_constraints
@given(bad=constraints, fine=constraints, data=st.data())
def test_an_offence_may_move_among_items_of_a_list_and_none_may_be_added(rule, bad, fine, data):
    if not offends(rule, "Pool", bad) or offends(rule, "Pool", fine):
        return  # Some rules judge other kinds only.
    first, second = (made("Pool", [one])["spec"]["sets"][0] for one in (bad, fine))
    pools = ([first, second], [second, first], [first, first])
    old, moved, more = (made("Pool", []) | {"spec": {"sets": sets}} for sets in pools)

    assert passes(rule, moved, old)
    assert not passes(rule, more, old)
