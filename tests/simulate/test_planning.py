"""The plan of a simulation, and which steps it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.objects.autoscalers import Autoscaler
from evenkeel.simulate.outcomes import run
from evenkeel.simulate.planning import is_simulated, planned, unknown_fields, wanted
from evenkeel.simulate.results import results
from evenkeel.simulate.step import StepError, parse_step
from tests.support.build import HOSTNAME, constraint
from tests.support.claims import claim, storage_class
from tests.support.simulated import (
    HOUR_AGO,
    NOW,
    application,
    budget,
    cluster,
    deployment,
    likely,
    nodes,
    owned,
    plan,
    pod,
    stateful,
    template,
    updating,
    workload,
)
from webhook.kubernetes.features import features
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.references import ObjectRef


def paused():
    held, *rest = deployment()
    return [{**held, "spec": {**held["spec"], "paused": True}}, *rest]


def test_pods_that_wait_come_in_the_order_in_which_they_were_made():
    late, early = (
        pod("ReplicaSet/web-1", i, "", creationTimestamp=time)
        for i, time in enumerate(("2026-01-02T00:00:00Z", HOUR_AGO))
    )
    waiting = plan([*nodes(), *deployment(), late, early], "scale=9").start.waiting

    assert [early["metadata"]["creationTimestamp"], late["metadata"]["creationTimestamp"]] == [
        HOUR_AGO,
        "2026-01-02T00:00:00Z",
    ]
    assert sorted(one.created for one in waiting) == [one.created for one in waiting]


def test_only_pods_that_may_move_are_kept():
    there = [pod("ReplicaSet/api", i, name) for i, name in enumerate(("a1", "b1", ""))]
    leaving = pod("ReplicaSet/api", 9, "c1", deletionTimestamp=HOUR_AGO)
    start = plan([*nodes(), *deployment(on=["a2"]), *there, leaving], "drain=b1").start

    assert ({"a2", "b1", "c1"}, 1) == ({*start.by_node}, len(start.waiting))


def daemon_set(**fields):
    made, *pods = application("web", ["a1", "b1"], kind="DaemonSet")
    return [{**made, "spec": {**made["spec"], **fields}}, *pods]


@pytest.mark.parametrize(
    ("steps", "objects", "said"),
    [
        (
            "rollout",
            stateful(updateStrategy={"type": "OnDelete"}),
            "rollout: does nothing: updateStrategy of StatefulSet shop/web is OnDelete, so it replaces no Pods "
            "by itself; simulate drain=NODES or delete=NODES instead",
        ),
        (
            "rollout",
            daemon_set(updateStrategy={"type": "OnDelete"}),
            "rollout: does nothing: updateStrategy of DaemonSet shop/web is OnDelete, so it replaces no Pods by itself",
        ),
        (
            "rollout",
            stateful(updateStrategy={"type": "Recreate"}),
            'rollout: StatefulSet shop/web: spec.updateStrategy.type: found "Recreate", wanted RollingUpdate or '
            "OnDelete in Kubernetes 1.33; change it",
        ),
        ("rollout", stateful(updateStrategy={"type": "Surge"}), 'spec.updateStrategy.type: found "Surge", wanted Roll'),
        ("rollout", daemon_set(updateStrategy={"type": 5}), "spec.updateStrategy.type: found 5, wanted Rolling"),
        ("rollout", deployment(strategy={"type": "OnDelete"}), 'spec.strategy.type: found "OnDelete", wanted Rolling'),
        ("scale=5", daemon_set(), "scale=5: does nothing: a DaemonSet has a Pod on each of its nodes; leave it out"),
        ("rollout", paused(), "rollout: does nothing: Deployment shop/web is paused; kubectl rollout resume"),
        (
            "scale=5",
            deployment(nodeName="a1"),
            'Deployment shop/web: spec.template.spec.nodeName: found "a1"; evenkeel does not simulate Pods that bypass',
        ),
        (
            "rollout",
            deployment()[1:],
            "rollout: does nothing: ReplicaSet shop/web-1 keeps its Pods when its template changes; wanted a",
        ),
        ("drain=x", deployment(), 'drain=x: no node is called "x"; the nodes are a1, a2, a3'),
        (
            "scale=5",
            deployment(constraint(maxSkew=0)),
            "Deployment shop/web: spec.template.spec.topologySpreadConstraints[0].maxSkew: found 0, must be greater",
        ),
    ],
)
def test_what_would_do_nothing_or_cannot_be_is_an_error(steps, objects, said):
    with pytest.raises(StepError) as error:
        plan([*nodes(), *objects], steps, raw=objects[0])

    assert said in str(error.value)


@pytest.mark.parametrize(
    ("kind", "spec", "unknown"),
    [
        ("StatefulSet", {"updateStrategy": {"type": "OnDelete"}, "serviceName": "web", "ordinals": {"start": 1}}, []),
        ("StatefulSet", {"updateStrategy": {"type": "Recreate"}}, []),
        ("StatefulSet", {"updateStrategy": {"type": "Surge"}}, ["updateStrategy.type"]),
        (
            "StatefulSet",
            {"updateStrategy": {"rollingUpdate": {"partition": 1, "maxSurge": 2}, "canary": {}}},
            ["updateStrategy.rollingUpdate.maxSurge", "updateStrategy.canary"],
        ),
        ("StatefulSet", {"podManagementPolicy": "Batched"}, ["podManagementPolicy"]),
        ("StatefulSet", {"ordinals": {"end": 4}, "other": None}, ["ordinals.end"]),
        ("Deployment", {"strategy": {"type": "Recreate"}, "progressDeadlineSeconds": 1, "paused": True}, []),
        ("Deployment", {"strategy": {"type": "Canary"}}, ["strategy.type"]),
        ("Deployment", {"podReplacementPolicy": "TerminationComplete"}, ["podReplacementPolicy"]),
        ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, []),
        ("DaemonSet", {"updateStrategy": {"type": "Recreate"}}, ["updateStrategy.type"]),
        ("ReplicaSet", {"minReadySeconds": 5, "updateStrategy": {}}, ["updateStrategy"]),
        ("Job", {"backoffLimitPerIndex": 1, "ttlSecondsAfterFinished": 1}, ["backoffLimitPerIndex"]),
        ("Job", {"managedBy": "example.com/other", "suspend": False}, ["managedBy"]),
    ],
)
def test_fields_that_are_not_simulated_are_named(kind, spec, unknown):
    made = application("web", [], kind=kind)[0]
    made = {**made, "spec": {**made["spec"], **spec}}

    assert [f"{kind} shop/web: spec.{field}" for field in unknown] == list(unknown_fields(made, features(38)))


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_strategy_that_is_not_known_replaces_no_pods(kind):
    """Neither those of another revision, nor those of a template that a file changes."""
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    stored = application("web", ["a1", "b1"], constraint(), kind=kind)
    made = application("web", ["a1", "b1"], constraint(maxSkew=2), kind=kind)[0]
    made = {**made, "spec": {**made["spec"], field: {"type": "Surge"}}}
    found = planned(made, cluster(*nodes(), *stored), [], KINDS, applied=True, stored=stored[0])
    (named,) = found.plan.named
    update = named.update or named.daemon

    assert (f"{kind} shop/web: spec.{field}.type",) == found.not_judged
    assert [f"{kind} shop/web: spec.{field}.type: found"] == [note[: note.index('found "') + 5] for note in found.notes]
    assert (False, True) == (named.applied, named.paused or update.on_delete)


def test_a_deployment_that_is_paused_is_said_to_be():
    objects = paused()
    notes = planned(objects[0], cluster(*nodes(), *objects), [parse_step("scale=4")]).notes

    assert ("Deployment shop/web is paused: no change of its template is rolled out.",) == notes


def autoscaler(**spec):
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "hpa", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, **spec},
    }


def test_an_autoscaler_is_named():
    objects = [*nodes(), *deployment(hostNetwork=True, resourceClaims=[{"name": "gpu"}]), autoscaler()]
    found = planned(workload(objects), cluster(*objects), [parse_step("rollout")], KINDS)

    assert (
        "HorizontalPodAutoscaler hpa also scales Deployment shop/web: its bounds are simulated, its metrics are not.",
    ) == found.notes
    assert ("dynamic resources",) == found.not_judged


@pytest.mark.parametrize(
    ("bounds", "steps", "said"),
    [
        (
            {"minReplicas": 2, "maxReplicas": 6},
            "scale=12",
            "scale=12: HorizontalPodAutoscaler hpa keeps Deployment shop/web between 2 and 6, and scales it to 6.",
        ),
        (
            {"minReplicas": 4, "maxReplicas": 6},
            "rollout scale=2",
            "scale=2: HorizontalPodAutoscaler hpa keeps Deployment shop/web between 4 and 6, and scales it to 4.",
        ),
        (
            {"maxReplicas": 6},
            "scale=9",
            "scale=9: HorizontalPodAutoscaler hpa keeps Deployment shop/web between 1 and 6, and scales it to 6.",
        ),
        ({"minReplicas": 2, "maxReplicas": 6}, "scale=6 scale=2", ""),
        ({"minReplicas": 2, "maxReplicas": 6}, "scale=0", ""),  # Then it is off.
        ({"minReplicas": 2}, "scale=9", ""),
    ],
)
def test_a_scale_beyond_the_bounds_of_an_autoscaler_does_not_last(bounds, steps, said):
    objects = [*nodes(), *deployment(), autoscaler(**bounds)]
    taken = [parse_step(step) for step in steps.split()]
    _, *notes = planned(workload(objects), cluster(*objects), taken, KINDS).notes

    assert said == "".join(notes)


def test_a_file_with_replicas_beyond_the_bounds_of_an_autoscaler():
    objects = [*nodes(), *deployment(replicas=9), autoscaler(maxReplicas=6)]
    *_, note = planned(workload(objects), cluster(*objects), [], KINDS, applied=True).notes

    assert note.startswith(
        "apply: HorizontalPodAutoscaler hpa keeps Deployment shop/web between 1 and 6, and scales it to 6."
    )


def test_each_workload_is_not_compared_with_each_autoscaler(monkeypatch):
    asked = []
    monkeypatch.setattr(Autoscaler, "scales", lambda of, ref: asked.append(ref))
    scalers = [{**autoscaler(), "metadata": {"name": f"hpa{i}", "namespace": "shop"}} for i in range(4)]
    sets = [owned("ReplicaSet", f"api{i}", {"replicas": 2, "template": template()}) for i in range(4)]
    pods = [pod(f"ReplicaSet/api{i}", 0, "a1") for i in range(4)]
    plan([*nodes(), *deployment(), *scalers, *sets, *pods, budget(minAvailable=1)], "drain=a1")

    assert ["Deployment shop/web"] * 4 == [*map(str, asked)]  # for the notes


@pytest.mark.parametrize(("preempting", "named"), [(10, ("PodDisruptionBudgets",)), (0, ())])
def test_budgets_that_may_not_be_read_matter_where_any_pod_that_waits_may_preempt(preempting, named):
    waiting = {**pod("ReplicaSet/db", 0, "", spec={"priority": preempting}), "status": {"phase": "Pending"}}
    objects = [*nodes(), *deployment(), pod("ReplicaSet/low", 0, "a1", spec={"priority": 0}), waiting]
    known = cluster(*objects)
    unread = known._replace(snapshot=replace(known.snapshot, budgets=None))

    assert named == planned(workload(objects), unread, [parse_step("scale=9")], KINDS).not_judged
    assert () == planned(workload(objects), known, [parse_step("scale=9")], KINDS).not_judged


@pytest.mark.parametrize(("step", "named"), [("drain=a1", ("PodDisruptionBudgets",)), ("cordon=a1", ())])
def test_budgets_that_may_not_be_read_matter_for_a_drain(step, named):
    objects = [*nodes(), *deployment(on=["a1"])]
    known = cluster(*objects)
    unread = known._replace(snapshot=replace(known.snapshot, budgets=None))

    assert named == planned(workload(objects), unread, [parse_step(step)], KINDS).not_judged


@pytest.mark.parametrize(
    ("there", "named"),
    [
        ((storage_class("fast", mode="Immediate"),), ("volumes",)),
        ((storage_class(),), ()),
        ((storage_class("slow"),), ()),  # None of its Pods ever runs.
    ],
)
def test_claims_that_are_bound_before_their_pods_are_placed_are_not_judged(there, named):
    of_claim = {"metadata": {"name": "data"}, "spec": claim("data")["spec"]}
    objects = [*nodes(), *stateful(replicas=0, volumeClaimTemplates=[of_claim]), *there]

    assert named == planned(workload(objects), cluster(*objects), [parse_step("scale=2")], KINDS).not_judged


@pytest.mark.parametrize("status", [{}, {"updateRevision": "old", "currentRevision": "old"}])
def test_an_applied_stateful_set_replaces_its_pods_and_says_so(status):
    """What is below its partition is made anew like them.  The second file was read from the cluster."""
    made, old = updating(on=[("a1", "old")])
    old["spec"]["priority"] = 7
    objects = [*nodes(), {**made, "status": status}, old]
    found = planned(workload(objects), cluster(*objects), [], KINDS, applied=True)
    before, now = (one.maker.of_class for one in found.plan.named[0].sets)

    assert ({}, 0) == (found.plan.named[0].makers, found.plan.start.by_node["a1"][0].revision)
    assert [(7, "old"), (0, "new")] == [
        (one.pod.priority, one.pod.labels["controller-revision-hash"]) for one in (before, now)
    ]
    assert (
        "The old template of StatefulSet shop/web is not known, so the simulation assumes that the file changes it, "
        "and replaces its Pods.",
    ) == found.notes


def spec_of(kind, **spec):
    return owned(kind, "web", {"selector": {"matchLabels": {"app": "web"}}, "template": template(), **spec})


TIER = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}]}


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        (
            "Deployment",
            {"selector": {"matchLabels": {"app": "web", "tier": "front"}}},
            'spec.selector: found {"matchLabels": {"app": "web", "tier": "front"}}, '
            'wanted {"matchLabels": {"app": "web"}} as it is in the cluster: field is immutable; '
            "keep it, or give the workload another name",
        ),
        ("ReplicaSet", {"selector": TIER}, 'spec.selector: found {"matchExpressions": [{"key": "tier"'),
        ("StatefulSet", {"selector": TIER}, 'spec.selector: found {"matchExpressions": [{"key": "tier"'),
        (
            "StatefulSet",
            {"podManagementPolicy": "Parallel"},
            'spec.podManagementPolicy: found "Parallel", wanted "OrderedReady" as it is in the cluster: field is immut',
        ),
        ("StatefulSet", {"serviceName": "db"}, 'spec.serviceName: found "db", wanted "web" as'),
    ],
)
def test_what_the_api_server_lets_nobody_change_is_an_error(kind, fields, said):
    stored, applied = spec_of(kind, serviceName="web"), spec_of(kind, **{"serviceName": "web", **fields})
    with pytest.raises(StepError) as error:
        planned(applied, cluster(*nodes(), applied), [], KINDS, applied=True, stored=stored)

    assert f"{kind} shop/web: {said}" in str(error.value)


@pytest.mark.parametrize(
    ("kind", "stored", "applied"),
    [
        ("Deployment", {}, {"selector": {"matchLabels": {"app": "web"}, "matchExpressions": []}, "replicas": 9}),
        ("StatefulSet", {}, {"podManagementPolicy": "OrderedReady"}),
        ("StatefulSet", {}, {"serviceName": "a dump lacks it"}),
    ],
)
def test_what_is_as_the_cluster_has_it_or_may_be_changed_is_none(kind, stored, applied):
    raw = spec_of(kind, **applied)

    assert planned(raw, cluster(*nodes(), raw), [], KINDS, applied=True, stored=spec_of(kind, **stored))


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_before_a_file_is_applied_the_constraints_are_those_of_the_cluster(kind):
    stored, *others = (deployment if kind == "Deployment" else stateful)(constraint(), on=["a1", "b1", "c1"])
    applied, *_ = (deployment if kind == "Deployment" else stateful)(
        constraint(maxSkew=2), constraint(topologyKey=HOSTNAME)
    )
    made = planned(applied, cluster(*nodes(), stored, *others), [], KINDS, applied=True, stored=stored).plan
    before, after = (step.workloads[0] for step in results(made, [run(made, 1, 0)], {made.named[0].name}))

    assert [(1, {"a": 1, "b": 1, "c": 1})] == [(of.max_skew, likely(before)) for of in before.constraints]
    assert [2, 1] == [of.max_skew for of in after.constraints]


def test_an_applied_stateful_set_that_is_new_replaces_nothing():
    objects = [*nodes(), *updating(on=[])]
    found = planned(workload(objects), cluster(*objects), [], KINDS, applied=True)

    assert (1, ()) == (len(found.plan.named[0].sets), found.notes)


def test_an_applied_daemon_set_replaces_its_pods_and_says_so():
    made, *pods = daemon_set()
    for pod_of_old in pods:
        pod_of_old["metadata"]["labels"]["controller-revision-hash"] = "old"
    found = planned(made, cluster(*nodes("a=1 b=1"), made, *pods), [], KINDS, applied=True)

    assert (2, [0, 0]) == (
        found.plan.named[0].replicas,
        [pod.revision for there in found.plan.start.by_node.values() for pod in there],
    )
    assert "The old template of DaemonSet shop/web is not known" in found.notes[0]


def test_without_the_time_of_the_cluster_the_latest_that_is_known_is_now():
    objects = [*nodes(), *deployment(on=["a1", "b1"])]
    found = planned(workload(objects), cluster(*objects, time=None), [parse_step("rollout")], KINDS)

    assert NOW - 3_600 == found.plan.start.now


@pytest.mark.parametrize(
    ("kind", "simulated"),
    [("Deployment", True), ("StatefulSet", True), ("DaemonSet", True), ("Job", True), ("CronJob", False)],
)
def test_which_workloads_are_simulated(kind, simulated):
    assert is_simulated(application("web", [], kind=kind)[0]) is simulated


@pytest.mark.parametrize(
    ("spec", "status", "notes", "gaps"),
    [
        ({}, {}, (), ()),
        ({"suspend": True}, {}, ("Job shop/web is suspended, and makes no Pods.",), ()),
        (
            {},
            {"conditions": [{"type": "Complete", "status": "True"}]},
            ("Job shop/web has finished, and makes no Pods.",),
            (),
        ),
        ({"backoffLimitPerIndex": 1}, {}, (), ("Job shop/web: spec.backoffLimitPerIndex",)),
    ],
)
def test_what_is_said_of_a_job(spec, status, notes, gaps):
    job = application("web", [], kind="Job")[0]
    job = {**job, "spec": {**job["spec"], **spec}, "status": status}
    made = planned(job, cluster(*nodes(), job), [parse_step("drain=a1")], KINDS)

    assert (notes, gaps) == (made.notes, made.not_judged)


def test_a_job_does_not_roll_out():
    job = application("web", [], kind="Job")[0]
    with pytest.raises(StepError, match="template of Job shop/web cannot be changed"):
        planned(job, cluster(*nodes(), job), [parse_step("rollout")], KINDS)


def test_a_job_of_a_file_is_as_far_as_that_of_the_cluster():
    job = application("web", [], kind="Job")[0]
    job = {**job, "spec": {**job["spec"], "completions": 9, "parallelism": 9}}
    made = planned(job, cluster(*nodes(), job), [], KINDS, applied=True, stored={**job, "status": {"succeeded": 4}})

    assert 5 == made.plan.named[0].replicas


def test_pods_of_other_namespaces_are_read_where_nodes_change():
    ref = ObjectRef("apps/v1", "Deployment", "shop", "web")
    other = pod("ReplicaSet/web-1", 0, "a1", namespace="other")
    asked = {text: wanted(ref, [parse_step(text)])(other) for text in ("scale=3", "rollout", "drain=a1", "add=1")}

    assert {"scale=3": False, "rollout": False, "drain=a1": True, "add=1": True} == asked
    assert wanted(ref, [])(pod("ReplicaSet/web-1", 0, "", namespace="other"))


@pytest.mark.parametrize(
    ("revision", "said"), [("old", ()), ("new", ("No Pod of StatefulSet shop/web has the revision old",))]
)
def test_a_template_that_is_not_known_is_told(revision, said):
    objects = [*nodes(), *updating(on=[("a1", revision), ("b1", "new")])]
    notes = planned(objects[-3], cluster(*objects), [parse_step("scale=3")]).notes

    assert said == tuple(note.partition(",")[0] for note in notes)
