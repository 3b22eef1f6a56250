"""What lets a rollout finish that does not, and what explains the Pod that waits first."""

from __future__ import annotations

import pytest

from evenkeel.placement.kubectl_commands import commands
from evenkeel.simulate.cures import closed, cures, explained, wanted_runs
from evenkeel.simulate.outcomes import run
from evenkeel.simulate.planning import planned_workloads
from evenkeel.simulate.run import at_end
from evenkeel.simulate.step import parse_step
from tests.support.build import HOSTNAME, ZONE, constraint
from tests.support.placing import INFRA, node
from tests.support.simulated import application, cluster, deployment, nodes, owned, plan, pod, stateful, updating
from webhook.kubernetes.references import ObjectRef

REF = ObjectRef("apps/v1", "Deployment", "shop", "web")
OF_SET = ObjectRef("apps/v1", "StatefulSet", "shop", "web")
ROLLING = "maxSurge: 0 and maxUnavailable: 1 in spec.strategy (one Pod fewer runs meanwhile)"
ROLLING_DAEMONS = ROLLING.replace("strategy", "updateStrategy")
RECREATE = "type: Recreate in spec.strategy (no Pod runs meanwhile)"
UNDO = "roll back to the old template"
ONE_PER_NODE = constraint(topologyKey=HOSTNAME, minDomains=4)
ZONES = ["a1", "b1", "c1"]
EACH_OTHER = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [EACH_OTHER]}}


def outcomes(made, runs=5):
    return [run(made, 1, i) for i in range(runs)]


def changes(objects, steps, ref=REF, **fields):
    made = plan(objects, steps, **fields)
    found = cures(made, 1, outcomes(made), applied=fields.get("applied", False))
    return {cure.change: [*map(str, commands(cure.edits, None))] for cure in found.get(ref, ())}


@pytest.mark.parametrize(
    "objects",
    [
        [*nodes("a=1 b=1 c=1"), *deployment(ONE_PER_NODE, replicas=3, on=ZONES)],
        [*nodes("a=1 b=1 c=1", pods="1"), *deployment(replicas=3, on=ZONES)],
        [*nodes("a=1 b=1 c=1"), *deployment(replicas=3, on=ZONES, affinity=APART)],
    ],
)
def test_where_each_node_takes_one_pod_the_old_one_goes_first(objects):
    """open-bank-oss#3544, DataDog/helm-charts#2887"""
    assert [ROLLING, RECREATE, UNDO] == [*changes(objects, "rollout")]


def test_each_change_has_its_command():
    objects = [*nodes("a=1 b=1 c=1", pods="1"), *deployment(replicas=3, on=ZONES)]
    rolling, recreate, undo = changes(objects, "rollout").values()

    patch = "kubectl patch deployment.apps/web -n shop --type=json -p "
    strategy = '{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}'
    assert [patch + f"""'[{{"op":"add","path":"/spec/strategy","value":{strategy}}}]'"""] == rolling
    assert [patch + """'[{"op":"add","path":"/spec/strategy","value":{"type":"Recreate"}}]'"""] == recreate
    assert ["kubectl rollout undo deployment.apps/web -n shop"] == undo


@pytest.mark.parametrize(
    ("surge", "helping"), [(1, [ROLLING.replace("strategy", "updateStrategy"), UNDO]), (0, [UNDO])]
)
def test_a_daemon_set_deletes_the_old_pod_first(surge, helping):
    """Where it does so already, and a node cannot be reached, only a rollback helps."""
    made, *pods = application("agent", ["a1", "b1"], kind="DaemonSet")
    made["spec"]["updateStrategy"] = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1 - surge}}
    objects = [made, *pods, *nodes("a=1 b=1", **({"pods": "1"} if surge else {}))]
    steps = "rollout" if surge else "lose=a1 rollout"
    ref = ObjectRef("apps/v1", "DaemonSet", "shop", "agent")

    assert helping == [*changes(objects, steps, ref, raw=made)]


def test_of_one_replica_no_pod_runs_meanwhile():
    objects = [*nodes("a=1", pods="1"), *deployment(replicas=1, on=["a1"])]

    assert [ROLLING.replace("one Pod fewer runs", "no Pod runs"), RECREATE, UNDO] == [*changes(objects, "rollout")]


def test_one_replica_without_room_for_a_second():
    used = {"a1": "3300m", "b1": "3600m", "c1": "3600m"}
    others = [pod("Node/x", i, on, spec=asking(cpu), ownerReferences=[]) for i, (on, cpu) in enumerate(used.items())]
    objects = [*nodes("a=1 b=1 c=1", cpu="4"), *others, *deployment(replicas=1, on=["a1"], **asking("500m"))]

    assert [ROLLING.replace("one Pod fewer runs", "no Pod runs"), RECREATE, UNDO] == [*changes(objects, "rollout")]
    assert {} == changes([*objects, *nodes("d=1")], "rollout")


def test_a_rollout_that_finishes_needs_no_change():
    assert {} == changes([*nodes("a=2"), *deployment(replicas=1, on=["a1"])], "rollout")


def test_a_strategy_that_does_not_help_is_not_named():
    """The new Pods fit on no node, whichever Pods run."""
    objects = [*nodes("a=1 b=1 c=1"), *deployment(replicas=3, on=ZONES)]
    new = deployment(replicas=3, nodeSelector={"no": "node"})[0]

    assert {} == changes(objects, "", applied=True, raw=new)


def test_only_recreate_helps_where_the_new_pods_keep_away_from_the_old_ones():
    objects = [*nodes("a=2"), *deployment(replicas=2, on=["a1", "a2"])]
    old = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"pod-template-hash": "1"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [old]}}

    assert [RECREATE] == [*changes(objects, "", applied=True, raw=deployment(replicas=2, affinity=apart)[0])]


def test_what_is_in_files_is_changed_there_and_not_rolled_back():
    objects = [*nodes("a=1 b=1 c=1", pods="1"), *deployment(replicas=3, on=ZONES)]
    new = deployment(replicas=3, priority=0)[0]

    assert {ROLLING: [], RECREATE: []} == changes(objects, "", applied=True, raw=new)


def asking(cpu):
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}


def amid_a_rollout(**fields):
    """The Deployment web, whose new Pod waits for a node with a label that none has."""
    new, made = deployment(replicas=2, nodeSelector={"no": "node"})[0], deployment(replicas=2, on=["a1", "b1"])[1:]
    new["spec"].update(fields)
    labels = {"app": "web", "pod-template-hash": "2"}
    of_set = {**new["spec"], "replicas": 1, "selector": {"matchLabels": labels}}
    of_set["template"] = {**new["spec"]["template"], "metadata": {"labels": labels}}
    waiting = pod("ReplicaSet/web-2", 0, "", spec={"nodeSelector": {"no": "node"}})
    newest = owned("ReplicaSet", "web-2", of_set, "Deployment/web")
    for number, replica_set in enumerate((made[0], newest), 4):
        replica_set["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": f"{number}"}
    return [*nodes("a=1 b=1"), new, *made, newest, waiting]


def test_a_rollout_that_the_cluster_has_begun_is_rolled_back_to_the_revision_that_runs():
    found = changes(amid_a_rollout(), "scale=3")

    assert {UNDO: ["kubectl rollout undo deployment.apps/web -n shop --to-revision=4"]} == found


def test_what_is_paused_is_not_rolled_back():
    assert {} == changes(amid_a_rollout(paused=True), "scale=3")


def test_the_old_pods_of_a_statefulset_are_deleted():
    """A StatefulSet that makes its Pods in their order leaves one that waits as it is."""
    there = updating(constraint(), on=[("a1", "old"), ("", "old")])
    for made in there[1:]:
        made["spec"]["topologySpreadConstraints"] = [constraint()]
    objects = [*nodes("a=2"), node("b1", "b", taints=[INFRA]), *there]
    soft = stateful(constraint(whenUnsatisfiable="ScheduleAnyway"), replicas=2)[0]
    found = changes(objects, "", OF_SET, applied=True, raw=soft | {"status": there[0]["status"]})

    assert {"delete Pod web-1": ["kubectl delete pod web-1 -n shop"]} == found


def test_a_statefulset_is_rolled_back_and_its_pod_that_waits_is_deleted():
    """kubernetes#67250"""
    there = updating(on=[("a1", "old"), ("", "new")])
    for new in (there[0]["spec"]["template"], there[2]):
        new["spec"]["nodeSelector"] = {"no": "node"}
    found = changes([*nodes("a=1 b=1"), *there], "scale=2", OF_SET)

    undo = ["kubectl rollout undo statefulset.apps/web -n shop", "kubectl delete pod web-1 -n shop"]
    assert {f"{UNDO}, then delete Pod web-1": undo} == found


@pytest.mark.parametrize(("partition", "deleted"), [(0, ["web-1", "web-2"]), (2, ["web-2"]), (3, [])])
def test_no_pod_below_the_partition_is_deleted(partition, deleted):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    on = [("a1", "old"), ("", "old"), ("", "old")]
    objects = [*nodes("a=1"), node("b1", "b", taints=[INFRA]), *updating(on=on, updateStrategy=strategy)]
    end = at_end(plan(objects, "cordon=b1"), 1, 0)
    workload = end.workloads[str(OF_SET)]

    assert deleted == [f"web-{pod.ordinal}" for pod in end.state.waiting if workload.is_outdated(pod)]


def two(pods):
    """The Deployments web and api, each with a Pod on two nodes that take so many."""
    return [*nodes("a=1 b=1", pods=pods), *application("web", ["a1", "b1"]), *application("api", ["a1", "b1"])]


def test_a_change_is_tried_for_all_workloads_that_are_stuck():
    objects = two("2")
    raws = [one for one in objects if one["kind"] == "Deployment"]
    made = planned_workloads(raws, cluster(*objects), [parse_step("rollout")]).plan
    refs = [ObjectRef.of(raw) for raw in raws]
    found = cures(made, 1, outcomes(made), applied=False)

    assert [ROLLING, RECREATE, UNDO] == [cure.change for cure in found[refs[0]]]
    assert refs == [*found]


@pytest.mark.parametrize(("share", "runs"), [(1.0, 3), (0.5, 5), (0.2, 14), (0.1, 29), (0.01, 30)])
def test_what_seldom_happens_is_tried_more_often(share, runs):
    """A change that changes nothing finishes in all runs with at most 5 %, or 30 runs are enough."""
    assert runs == wanted_runs(share)


def explaining(objects, steps, **fields):
    made = plan(objects, steps, **fields)
    return explained(made, 1, outcomes(made))


def test_the_pod_of_the_cluster_that_waits_first_is_explained():
    assert ObjectRef("v1", "Pod", "shop", "web-2-0") == explaining(amid_a_rollout(), "scale=3")


def test_of_a_rollout_the_next_pod_of_the_workload_is_explained():
    assert REF == explaining([*nodes("a=1 b=1 c=1", pods="1"), *deployment(replicas=3, on=ZONES)], "rollout")


def test_a_pod_that_has_a_node_in_the_cluster_as_it_is_is_not_explained():
    objects = [*nodes("a=1 b=1"), node("c1", "c", pods="1"), *deployment(replicas=1, on=["a1"])]

    assert explaining(objects, "scale=9") is None


@pytest.mark.parametrize(("room", "known"), [("0", [("node.cilium.io/agent-not-ready", ("c1",))]), ("9", [])])
def test_what_is_known_of_taints_that_refuse_pods_that_wait(room, known):
    starting = node("c1", "c", taints=[{"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}])
    made = plan([node("a1", "a", pods=room), starting, *deployment(constraint(maxSkew=9))], "scale=4")

    assert known == [nodes[:2] for nodes in closed(made, 1, outcomes(made))]


def test_where_no_pod_waits_none_is_explained():
    assert explaining([*nodes("a=1"), *deployment(replicas=1, on=["a1"])], "scale=2") is None
