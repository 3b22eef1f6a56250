"""How Pods are spread, by each constraint in force."""

from __future__ import annotations

from fractions import Fraction

import pytest

from evenkeel.scheduler.configured_profiles import parse_profiles
from tests.policy.test_translation import configuration
from tests.report.test_impact import DEFAULTS, NO_DEFAULTS
from tests.support.build import HOSTNAME, ZONE, constraint, pod, policy, runtime_class, service, workload
from tests.support.placing import INFRA, node
from tests.support.reporting import ZONES, deployment, made_by, only, pods, report

SOFT = constraint(whenUnsatisfiable="ScheduleAnyway")


def domains(spread):
    return {value: spread.counted.match_num(value) for value in sorted(spread.counted.eligible)}


def test_pods_are_counted_by_domain():
    (spread,) = only(*ZONES, *deployment(constraint()), *pods("a1", "a1", "a2", "b1", "")).spreads

    assert {"a": 3, "b": 1, "c": 0} == domains(spread)
    assert (3, 2, "pod") == (spread.skew, spread.excess, spread.source)


def test_fewer_domains_than_min_domains_make_the_fewest_zero():
    (spread,) = only(*ZONES, *deployment(constraint(minDomains=4)), *pods("a1", "b1", "c1")).spreads

    assert (1, 0) == (spread.skew, spread.excess)


def test_nodes_that_do_not_count():
    bare, tainted = node("bare"), node("c3", "c", taints=[INFRA])
    honest = constraint(nodeTaintsPolicy="Honor")
    (spread,) = only(*ZONES, bare, tainted, *deployment(honest), *pods("a1")).spreads

    assert (1, 1, ()) == (spread.unlabelled, spread.excluded, spread.closed)


def test_nodes_that_a_runtime_class_leaves_out_do_not_count():
    made = deployment(constraint())
    made[0]["spec"]["template"]["spec"]["runtimeClassName"] = "sandboxed"
    selected = runtime_class("sandboxed", None, {ZONE: "a"})
    (spread,) = only(*ZONES, *made, *pods("a1"), selected).spreads

    assert {"a": 1} == domains(spread)


def test_a_domain_that_counts_and_that_no_pod_may_enter():
    closed = [one for one in ZONES if "c" not in one["metadata"]["name"]] + [node("c1", "c", unschedulable=True)]
    first, second = only(*closed, *deployment(constraint(), SOFT), *pods("a1")).spreads

    assert ("c",) == first.closed == second.closed
    assert {"a": 1, "b": 0, "c": 0} == domains(first)


def test_what_another_workload_has_is_counted_and_named():
    both = {"app": "web"}
    canary = deployment(constraint(), name="canary", labels=both, hash_="6e")
    its_pods = pods("b1", "b1", name="canary", hash_="6e")
    for one in its_pods:
        one["metadata"]["labels"] |= both
    found = {
        one.live.ref.name: one.spreads[0]
        for one in report(*ZONES, *deployment(constraint()), *canary, *pods("a1"), *its_pods).workloads
    }

    assert {"Deployment/canary": 2} == found["web"].shared
    assert {"Deployment/web": 1} == found["canary"].shared
    assert {"a": 1, "b": 2, "c": 0} == domains(found["web"]) == domains(found["canary"])


def test_match_label_keys_count_the_newest_revision_alone():
    keyed = constraint(matchLabelKeys=["pod-template-hash"])
    old = [
        made_by("ReplicaSet/web-4c", f"web-4c-{i}", "b1", labels={"app": "web", "pod-template-hash": "4c"})
        for i in range(3)
    ]
    before = workload("ReplicaSet", name="web-4c", owner="Deployment/web")
    one = only(*ZONES, *deployment(keyed), before, *pods("a1"), *old)

    assert {"a": 1, "b": 0, "c": 0} == domains(one.spreads[0])
    assert 4 == one.live.running


def test_without_constraints_the_schedulers_defaults_are_in_force():
    first, second = only(*ZONES, *deployment(), service(), *pods("a1", "b1"), named=False).spreads

    assert ["scheduler"] * 2 == [first.source, second.source]
    assert {HOSTNAME: 3, ZONE: 5} == {one.constraint.topology_key: one.constraint.max_skew for one in (first, second)}
    assert {"a": 1, "b": 1, "c": 0} == domains(second)


def test_or_those_of_the_policy_in_force():
    objects, old = [*ZONES, *deployment(), service(), *pods("a1")], policy(DEFAULTS)

    assert [("policy", 1)] == [(one.source, one.constraint.max_skew) for one in only(*objects, of=old).spreads]
    compared = only(*objects, of=policy(), compare=old)
    assert ["policy"] == [one.source for one in compared.spreads], "the other policy is not in force yet"


def test_or_those_that_evenkeel_has_given_its_newest_pod():
    given = {"annotations": {"evenkeel.dev/defaulted-by": "policy"}}
    (one,) = pods("a1", **given)
    one["spec"]["topologySpreadConstraints"] = [constraint(maxSkew=7)]
    objects = [*ZONES, *deployment(), service(), one]

    assert [("policy", 7)] == [(s.source, s.constraint.max_skew) for s in only(*objects, named=False).spreads]
    assert {"scheduler"} == {s.source for s in only(*objects, of=policy(NO_DEFAULTS)).spreads}, (
        "the policy that is named gives none"
    )


def test_a_daemon_sets_pods_are_scored_on_no_node():
    assert () == only(*ZONES, workload("DaemonSet"), service(), made_by("DaemonSet/web", "web-1", "a1")).spreads
    (own,) = only(*ZONES, workload("DaemonSet", constraint()), made_by("DaemonSet/web", "web-1", "a1")).spreads
    assert {"a": 1, "b": 0, "c": 0} == domains(own)


def test_each_template_of_an_object_has_its_constraints():
    described = {
        "apiVersion": "example.com/v1",
        "kind": "Pool",
        "resource": "pools",
        "podTemplate": "spec.sets[*].template",
    }
    template = workload("Deployment", constraint())["spec"]["template"]
    pool = {"apiVersion": "example.com/v1", "kind": "Pool", "metadata": {"name": "p", "namespace": "shop"}}
    one = only(*ZONES, pool | {"spec": {"sets": [{"template": template}] * 2}}, of=policy(workloads=[described]))

    assert [0, 1] == [spread.template for spread in one.spreads]


@pytest.mark.parametrize(
    ("nodes", "zone", "share"),
    [
        (("a1", "a2", "b1"), "a", Fraction(2, 3)),
        (("b1", "a1"), "a", Fraction(1, 2)),
        (("a1", "bare", "bare"), "a", Fraction(1, 3)),
        (("bare",), "", None),
        ((), "", None),
    ],
)
def test_what_the_loss_of_a_zone_takes(nodes, zone, share):
    loss = only(*ZONES, node("bare"), *deployment(), *pods(*nodes)).loss

    assert (zone, share if share is None else float(share)) == (loss.largest, loss.share)


def test_pods_of_other_namespaces_do_not_count():
    elsewhere = pod(name="other", namespace="bank", uid="o", spec={"nodeName": "b1"})
    found = report(*ZONES, *deployment(constraint()), *pods("a1"), elsewhere).workloads

    assert [{"a": 1, "b": 0, "c": 0}] == [domains(spread) for one in found[:2] for spread in one.spreads]


def test_pods_that_a_selector_with_any_operator_matches():
    chosen = constraint(labelSelector={"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x", "y"]}]})
    (spread,) = only(*ZONES, *deployment(chosen), *pods("a1", "b1")).spreads

    assert {"a": 1, "b": 1, "c": 0} == domains(spread)


def default(**fields):
    """A default constraint of a scheduler's configuration."""
    return {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **fields}


def placed_by(*defaults, name=None, plugins=None, **added):
    """The profile of a scheduler's configuration, with these default constraints, if any, and addedAffinity."""
    args = {"PodTopologySpread": {"defaultingType": "List", "defaultConstraints": defaults}} if defaults else {}
    args |= {"NodeAffinity": {"addedAffinity": added}} if added else {}
    config = [{"name": plugin, "args": those} for plugin, those in args.items()]
    found, causes = parse_profiles(
        configuration({"schedulerName": name, "pluginConfig": config, "plugins": plugins or {}})
    )
    assert not causes
    return found


def without(*names):
    """The plugins of a profile that does not filter by these."""
    return {"filter": {"disabled": [{"name": name} for name in names]}}


def test_the_defaults_are_those_of_the_schedulers_configuration():
    web = [*ZONES, service(), *deployment(), *pods("a1", "a1")]
    (spread,) = only(*web, profiles=placed_by(default()), named=False).spreads

    assert (2, 1, True, "scheduler") == (
        spread.skew,
        spread.constraint.max_skew,
        spread.constraint.hard,
        spread.source,
    )
    assert [HOSTNAME, ZONE] == [one.constraint.topology_key for one in only(*web, named=False).spreads]


def test_the_profile_is_that_of_the_pods_scheduler():
    """One that no profile is known of is named, and is taken for a usual one."""
    batch = [*ZONES, service(), *deployment(), *pods("a1")]
    batch[len(ZONES) + 1]["spec"]["template"]["spec"]["schedulerName"] = "batch"
    both = {**placed_by(), **placed_by(default(), name="batch")}
    known, unknown = only(*batch, profiles=both, named=False), only(*batch, named=False)

    assert ([1], "") == ([one.constraint.max_skew for one in known.spreads], known.foreign)
    assert ([3, 5], "batch") == ([one.constraint.max_skew for one in unknown.spreads], unknown.foreign)


def test_a_domain_is_closed_only_by_what_the_profile_runs():
    cordoned = [one for one in ZONES if "c" not in one["metadata"]["name"]] + [node("c1", "c", unschedulable=True)]
    web = [*cordoned, *deployment(constraint()), *pods("a1")]
    heedless = placed_by(plugins=without("NodeUnschedulable"))
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
    elsewhere = placed_by(requiredDuringSchedulingIgnoredDuringExecution={"nodeSelectorTerms": [term]})

    assert [("c",), (), ("b", "c")] == [
        only(*web, profiles=one).spreads[0].closed for one in (placed_by(), heedless, elsewhere)
    ]


def test_the_same_domain_is_closed_to_one_workload_and_open_to_another():
    tainted = [one for one in ZONES if "c" not in one["metadata"]["name"]] + [node("c1", "c", taints=[INFRA])]
    web, infra = deployment(constraint()), deployment(constraint(), name="infra")
    infra[0]["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    found = report(*tainted, *web, *pods("a1"), *infra, *pods("a1", name="infra")).workloads

    assert {"web": ("c",), "infra": ()} == {one.live.ref.name: one.spreads[0].closed for one in found}


def test_a_hard_default_holds_for_a_daemon_set_too():
    """A soft one scores nothing where one node takes the Pod."""
    agent = workload("DaemonSet", name="agent", labels={"app": "agent"})
    there = [*ZONES, agent, service(selector={"app": "agent"})]
    both = placed_by(default(), default(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway"))

    assert [ZONE] == [one.constraint.topology_key for one in only(*there, profiles=both).spreads]


def test_without_the_plugin_no_constraint_is_in_force():
    web = [*ZONES, *deployment(constraint(), SOFT), *pods("a1")]
    scores_only = placed_by(plugins=without("PodTopologySpread"))

    assert [1] == [one.constraint.index for one in only(*web, profiles=scores_only).spreads]
