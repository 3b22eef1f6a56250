"""evenkeel explain: what it prints of a Pod, a workload and a file; exit codes; JSON."""

from __future__ import annotations

import json
import re

import pytest

from evenkeel.clusters import known_cluster
from evenkeel.clusters.dump_format import DUMP_KIND, VERSION
from tests.support.build import (
    HOSTNAME,
    ZONE,
    limit_range,
    owned_by,
    pod,
    priority_class,
    runtime_class,
    service,
    workload,
)
from tests.support.commands import POLICY
from tests.support.placing import INFRA, node, requesting, running, spread
from tests.support.simulated import deployment

SAID = (
    "0/3 nodes are available: 1 node(s) had untolerated taint(s), "
    "2 node(s) didn't match pod topology spread constraints. preemption: 0/3 nodes are available: "
    "1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
)
CONDITION = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": SAID,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def listed(*objects):
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


NODES = [node("a1", "a"), node("b1", "b"), node("c1", "c", taints=[INFRA])]
WAITING = pod(spread(), name="web-9", spec={"containers": requesting()}) | {
    "status": {"phase": "Pending", "conditions": [CONDITION]}
}
DEPLOYMENT = workload("Deployment", spread(), name="web")
CLUSTER = listed(*NODES, running("a1"), running("b1"), WAITING, DEPLOYMENT, service())


def explain(run, command, cluster=CLUSTER, **files):
    return run(f"explain -n shop {command} --cluster dump", dump=cluster, **files)


def test_a_pod_that_waits(run):
    code, out, err = explain(run, "pod/web-9")

    assert (1, "") == (code, err)
    assert "Pod shop/web-9 is Pending: no node passes." == out.splitlines()[0]
    assert "a         1   1 + 1 - 0 = 2 > 1         1   refused" in out
    assert "c         0   0 + 1 - 0 = 1             1   no node: c1 taint dedicated=infra:NoSchedule" in out
    assert f"at least): {CONDITION['message']}" in out
    assert "evenkeel computes the same." in out
    assert re.search(r"remove the taint dedicated=infra:NoSchedule from c1 \(zone c\) +-> c1\n", out)
    assert "maxSkew: 2 on constraint 0" in out


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("2026-01-01T00:03:00Z", "kube-scheduler said (it has waited for 3 min at least): "),
        ("2025-12-31T00:00:00Z", "kube-scheduler said (it has waited for 0 s at least): "),
        ("9999-99-99T00:00:00Z", "kube-scheduler said: "),
    ],
)
def test_a_pod_in_a_dump_has_waited_until_it_was_read(run, read, said):
    header = {"kind": DUMP_KIND, "version": VERSION, "time": read}
    since = CONDITION | {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    waiting = WAITING | {"status": {"phase": "Pending", "conditions": [since]}}

    assert said in explain(run, "pod/web-9", "\n".join(map(json.dumps, [header, *NODES, waiting]))).out


POOLED = {"labels": {"karpenter.sh/nodepool": "general"}}
POOLS = [node("a1", "a", **POOLED), node("b1", "b", unschedulable=True, **POOLED)]


def test_where_a_pod_has_no_node_it_says_who_makes_nodes(run):
    cluster = listed(*POOLS, running("a1"), running("b1"), running("a1"), WAITING)
    out = explain(run, "pod/web-9", cluster).out
    (as_json,) = [json.loads(explain(run, "pod/web-9 -o json", cluster).out)]

    assert out.splitlines()[-1].startswith("  Karpenter makes nodes here;")
    assert re.search(r"add a node .*-> a new node; Karpenter may add it by itself\n", out)
    assert as_json["remarks"][-1].startswith("Karpenter makes nodes here;")
    assert {("add" in remedy["change"], bool(remedy["byItself"])) for remedy in as_json["remedies"]} == {
        (True, True),
        (False, False),
    }
    assert "Karpenter" not in explain(run, "pod/web-9", listed(*POOLS, WAITING)).out


def test_a_live_cluster_that_serves_node_pools_has_karpenter_in_every_command(run, api):
    """There is no node of Karpenter yet."""
    there = deployment(spread(), replicas=2, on=["a1", "b1"], nodeSelector={"no": "node"})
    api.put(node("a1", "a"), node("b1", "b"), *there, WAITING)
    said = "Karpenter makes nodes here;"
    commands = ["explain deployment/web", "pending", "simulate rollout deployment/web"]

    assert not any(said in run(f"{command} -n shop --cluster live").out for command in commands)
    api.serve("karpenter.sh/v1", nodepools="NodePool")
    assert [True] * 3 == [said in run(f"{command} -n shop --cluster live").out for command in commands]


def test_the_control_plane_is_opened_last_of_all(run):
    in_control = node("c1", "c", taints=[{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}])
    kept = [running(on, owner="ReplicaSet/web-1") for on in ("a1", "b1")]
    cluster = listed(node("a1", "a"), node("b1", "b"), in_control, *kept, WAITING, DEPLOYMENT)
    _, out, _ = explain(run, "pod/web-9 -o json", cluster)
    remedies = json.loads(out)["remedies"]

    assert sorted(remedy["lastResort"] for remedy in remedies) == [remedy["lastResort"] for remedy in remedies]
    assert {
        "add a toleration of node-role.kubernetes.io/control-plane:NoSchedule",
        "remove the taint node-role.kubernetes.io/control-plane:NoSchedule from c1 (zone c)",
    } == {remedy["change"] for remedy in remedies if remedy["lastResort"]}
    assert "add a node (such as a1) to zone c" == remedies[0]["change"]


def test_what_the_scheduler_said_of_another_cluster_than_there_is_now(run):
    more = listed(*NODES, node("d1", "d"), running("a1"), running("b1"), WAITING)
    code, out, _ = explain(run, "pod web-9", more)

    assert 0 == code
    assert "Pod shop/web-9 is Pending: 1 of 4 nodes passes." in out
    assert "evenkeel computes now: a node passes" in out
    assert "Any one of these" not in out


def test_the_next_pod_of_a_workload(run):
    code, out, _ = explain(run, "deploy/web")

    assert 1 == code
    assert out.startswith("The next Pod of Deployment shop/web: no node passes.")
    assert "evenkeel computes: 0/3 nodes are available" in out
    assert SAID == json.loads(explain(run, "deploy/web -o json").out)["message"]


def test_a_pod_that_runs(run):
    placed = running("a1")
    code, out, _ = explain(run, f"pod/{placed['metadata']['name']}", listed(*NODES, placed))

    assert (0, True) == (
        code,
        "is on node a1. If it were placed again, without counting itself: 2 of 3 nodes pass" in out,
    )
    assert "Nodes that pass, the best scores first: " in out


def test_each_template_of_a_file(run):
    several = [workload("StatefulSet", spread(), name="db"), pod(name="one"), service(name="other")]
    code, out, _ = explain(run, "-f new", new=several)

    assert 1 == code
    assert [
        "The next Pod of StatefulSet shop/db: no node passes.",
        "Pod shop/one as it would be placed now: 2 of 3 nodes pass.",
    ] == [line for line in out.splitlines() if line and not line.startswith(" ")]


def test_what_is_wrong_with_one_object_of_a_file_keeps_none_of_the_others_back(run):
    bad = pod(spread(maxSkew=0), name="bad")
    code, out, err = explain(run, "-f new", new=listed(bad, pod(name="good")))

    assert (2, 1) == (code, len(err.splitlines()))
    assert "spec.topologySpreadConstraints[0].maxSkew" in err
    assert "shop/good as it would be placed now" in out
    code, out, _ = explain(run, "-f new -o json", new=listed(bad, pod(name="good")))
    assert (2, "Explanation") == (code, json.loads(out)["kind"])
    assert "" == explain(run, "-f new -o json", new=bad).out


def scheduler(name="default-scheduler", **fields):
    """A KubeSchedulerConfiguration with one profile."""
    profiles = [{"schedulerName": name, **fields}]
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles}


def test_a_plugin_that_the_configuration_of_the_scheduler_disables_bars_nothing(run):
    """Node c1 has a taint."""
    file = scheduler(plugins={"filter": {"disabled": [{"name": "TaintToleration"}]}})

    assert 1 == explain(run, "pod/web-9").code
    assert (0, "c1") == explained_to_pass(explain(run, "pod/web-9 --scheduler-config file", file=file))
    affinity = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]}
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}}
    added = scheduler(pluginConfig=[{"name": "NodeAffinity", "args": args}])
    code, out, _ = explain(run, "pod/web-9 --scheduler-config file", file=added)
    assert 1 == code
    assert "2 node(s) didn't match scheduler-enforced node affinity" in out


def explained_to_pass(done):
    (passing,) = (line for line in done.out.splitlines() if "Nodes that pass" in line)
    return done.code, passing.rpartition(": ")[2].strip(" .")


def test_an_object_of_a_file_is_in_the_namespace_that_has_it(run):
    for name in ("pod/web-9", "deploy/web"):
        found, named = (run(f"explain {name} {of} --cluster dump -o json", dump=CLUSTER) for of in ("", "-n shop"))
        assert (found.code, found.err, json.loads(found.out)) == (named.code, named.err, json.loads(named.out))
    missed = run("explain pod/wbe-9 --cluster dump", dump=CLUSTER)

    assert (2, "evenkeel: Pod wbe-9: not found in the cluster; did you mean pod/web-9?\n") == (missed.code, missed.err)


@pytest.mark.parametrize("option", ["", "-n trial", "-n shop"])
def test_a_namespace_that_is_yet_to_be_made_is_noted(run, option):
    """`helm install --create-namespace` makes it."""
    found = run(f"explain {option} -f new --cluster dump", dump=CLUSTER, new=pod(name="new", namespace="trial"))

    assert 0 == found.code
    assert "note: namespace trial: not in dump; the namespaces there are shop" in found.err.splitlines()


def test_the_defaults_are_those_of_the_configuration_of_the_scheduler(run):
    default = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [default]}
    file = scheduler(pluginConfig=[{"name": "PodTopologySpread", "args": args}])
    done = explain(run, "-f new --scheduler-config file -o json", new=pod(name="new"), file=file)
    (constraint,) = json.loads(done.out)["constraints"]

    assert (1, True, "scheduler") == (constraint["maxSkew"], constraint["hard"], constraint["source"])


SOFT = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
LISTED = {"defaultingType": "List", "defaultConstraints": [SOFT]}


@pytest.mark.parametrize(
    ("version", "name", "args", "refused"),
    [
        ("v1", None, LISTED, ""),
        ("v1", None, {"defaultConstraints": [SOFT]}, "profiles[0].pluginConfig[0].args.defaultingType: found"),
        (
            "v1",
            None,
            {**LISTED, "defaultConstraints": [{**SOFT, "labelSelector": {}}]},
            "].labelSelector: found",
        ),
        ("v1beta3", None, LISTED, "apiVersion: found"),
        ("v1beta2", "default-scheduler", LISTED, "apiVersion: found"),
    ],
    ids=["no name", "of type System", "with a selector", "an old version", "an older version"],
)
def test_a_configuration_with_which_kube_scheduler_does_not_start_is_refused(run, version, name, args, refused):
    configs = [{"name": "PodTopologySpread", "args": args}]
    file = scheduler(name, pluginConfig=configs) | {"apiVersion": f"kubescheduler.config.k8s.io/{version}"}
    done = explain(run, "-f new --scheduler-config file -o json", new=pod(name="new"), file=file)

    assert (2 if refused else 0, refused in done.err) == (done.code, bool(refused) or done.err == "")
    if refused.startswith("apiVersion"):
        old = explain(run, "-f new --scheduler-config file --kubernetes-version 1.27", new=pod(name="new"), file=file)
        assert 0 == old.code


def test_a_pod_of_another_scheduler_is_said_to_be_one(run):
    foreign = pod(name="new", spec={"schedulerName": "batch", "containers": requesting()})
    said = 'The scheduler "batch" places it'

    assert said in explain(run, "-f new", new=foreign).out
    assert said in explain(run, "-f new --scheduler-config file", new=foreign, file=scheduler()).out
    assert said not in explain(run, "-f new --scheduler-config file", new=foreign, file=scheduler("batch")).out


def test_a_configuration_that_cannot_be_used_is_told_with_its_file_and_path(run):
    file = scheduler(pluginConfig=[{"name": "NodeResourcesFit", "args": {"ignoredResources": "gpu"}}])
    code, _, err = explain(run, "pod/web-9 --scheduler-config file", file=file)

    assert 2 == code
    assert err == 'evenkeel: file: profiles[0].pluginConfig[0].args.ignoredResources: found "gpu", wanted an array\n'


def test_json(run):
    code, out, _ = explain(run, "pod/web-9 -o json")
    found = json.loads(out)

    assert (1, "evenkeel.dev/v1alpha1", "Explanation") == (code, found["apiVersion"], found["kind"])
    assert ("shop/web-9", "Pending", SAID, True) == (found["pod"], found["phase"], found["message"], found["agrees"])
    (constraint,) = found["constraints"]
    assert {"value": "a", "matchNum": 1, "skew": 2, "nodes": 1, "eligible": True, "passes": False} == (
        constraint["domains"][0]
    )
    assert ("pod", 0, 1, True) == tuple(constraint[name] for name in ("source", "minMatchNum", "selfMatchNum", "hard"))
    assert {
        "feasible": False,
        "plugin": "TaintToleration",
        "reasons": ["node(s) had untolerated taint(s)"],
        "score": None,
    } == found["nodes"]["c1"]
    assert {"now", "template"} == {one["where"] for one in found["remedies"]}
    assert [] == found["notJudged"]


@pytest.mark.parametrize(
    ("named", "group", "taken"),
    [("statefulset/web", "apps", "b"), ("statefulset.apps.kruise.io/web", "apps.kruise.io", "a")],
)
@pytest.mark.parametrize("order", [1, -1])
def test_workloads_of_one_name_and_two_groups_are_told_apart(run, named, group, taken, order):
    hard = {"containers": requesting(), "nodeSelector": {ZONE: "b"}}
    mine = workload("StatefulSet", spec={"template": {"metadata": {}, "spec": hard}})
    kruise = workload("StatefulSet") | {"apiVersion": "apps.kruise.io/v1beta1"}
    kruise["spec"]["template"]["spec"] = hard | {"nodeSelector": {ZONE: "a"}}
    cluster = listed(node("a1", "a"), node("b1", "b"), *[mine, kruise][::order])
    found = json.loads(explain(run, f"{named} -o json", cluster).out)

    assert (group, "StatefulSet/web") == (found["apiGroup"], found["workload"])
    assert [f"{taken}1"] == [name for name, one in found["nodes"].items() if one["feasible"]]


def test_several_are_a_list_in_json(run):
    found = json.loads(explain(run, "-f new -o json", new=[pod(name="a"), pod(name="b")]).out)

    assert ("ExplanationList", 2) == (found["kind"], len(found["items"]))


def test_each_of_several_files_is_explained_and_each_says_of_what_it_is(run):
    """The Pods of templates have no names."""
    new = [workload("Deployment", spread(), name="new"), workload("Job", spread(), name="job")]
    found = json.loads(explain(run, "-f new -f pod -o json", new=new, pod=pod(name="a")).out)["items"]

    assert [("Deployment", "new"), ("Job", "job"), ("Pod", "a")] == [
        (one["object"]["kind"], one["object"]["name"]) for one in found
    ]
    assert {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "new"} == found[0]["object"]
    assert ["", "", ""] == [one["pod"] for one in found]


def test_a_cluster_without_nodes(run):
    """A dump has all nodes that there are; what kubectl wrote may lack them."""
    dump = "\n".join(
        map(json.dumps, [{"kind": DUMP_KIND, "version": VERSION, "time": "2026-01-31T10:00:00Z"}, WAITING])
    )
    code, out, err = explain(run, "pod/web-9", dump)

    assert (1, 1) == (code, len(err.splitlines()))
    assert err.startswith("note: The file has no Node, so no placement can be judged")
    assert "no nodes available to schedule pods" in out
    assert "tried lets it run" in out
    code, out, err = explain(run, "pod/web-9", listed(WAITING))
    assert (2, "") == (code, out)
    assert err.startswith("evenkeel: dump: holds no Node; kubectl get nodes,pods,… -A -o yaml, or evenkeel dump, ")


def test_the_policys_defaults_for_a_pod_without_constraints(run):
    zone = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    policy = POLICY | {"defaulting": {"defaultingType": "List", "defaultConstraints": [zone]}}
    code, out, err = explain(run, "-f new --policy policy", new=pod(name="new"), policy=policy)

    assert (1, "") == (code, err)
    assert "In force: the default constraints of the policy" in out
    assert "In force: kube-scheduler's own defaults" in explain(run, "-f new", new=pod(name="new")).out


@pytest.mark.parametrize(
    ("options", "source"), [("--policy policy", "policy"), ("", "scheduler")], ids=["of a policy", "of kube-scheduler"]
)
@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_a_workload_of_a_file_gets_defaults_though_no_service_selects_it(run, kind, options, source):
    """Those of a Deployment are for the ReplicaSet that it is yet to get."""
    new = workload(kind, name="fresh", labels={"app": "fresh"}, spec={"selector": {"matchLabels": {"app": "fresh"}}})
    found = explain(run, f"-f new {options} -o json", listed(*NODES), new=new, policy=POLICY)
    constraints = json.loads(found.out)["constraints"]

    assert ("", {source}) == (found.err, {constraint["source"] for constraint in constraints})
    assert {"topology.kubernetes.io/zone", HOSTNAME} == {constraint["topologyKey"] for constraint in constraints}
    assert all("app=fresh" in constraint["selector"] for constraint in constraints)


def test_a_deployment_of_a_file_that_changes_nothing_keeps_its_replica_set(run):
    template = {"labels": {"app": "web", "pod-template-hash": "1"}}
    made = workload("Deployment", name="web")
    replica_set = workload("ReplicaSet", name="web-1", owner="Deployment/web", template=template)
    constraints = json.loads(explain(run, "-f new -o json", listed(*NODES, replica_set, made), new=made).out)

    assert {"app=web"} == {constraint["selector"] for constraint in constraints["constraints"]}


def test_a_deployment_that_is_changed_while_it_is_paused_gets_defaults(run):
    """Not one whose ReplicaSets are perhaps not in the dump."""
    made = workload("ReplicaSet", name="web-1", owner="Deployment/web", template={"labels": {"app": "web", "v": "1"}})
    paused = workload("Deployment", name="web", spec={"paused": True})

    def selectors(*objects):
        found = json.loads(explain(run, "deployment/web -o json", listed(*NODES, *objects)).out)
        return [constraint["selector"] for constraint in found["constraints"]]

    assert (["app=web,pod-template-hash=new"] * 2, []) == (selectors(made, paused), selectors(paused))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "wanted either TYPE/NAME, such as pod/web-0, or -f FILE"),
        ("pod/a -f new", "wanted either TYPE/NAME"),
        ("pod/gone", "Pod shop/gone: not found in the cluster; the names there are running-"),
        ("pod/web-8", "Pod shop/web-8: not found in the cluster; did you mean pod/web-9?"),
        ("pod/web-9 -n bank", "namespace bank: not in dump; the namespaces there are shop"),
        ("deploy/gone", "Deployment shop/gone: not found in the cluster; the names there are web"),
        ("-f new", "new: holds no Pod, and no object that is known to have a Pod template"),
        ("-f new -f new", "new, new: holds no Pod, and no object that is known to have a Pod template"),
        ("-f - -f -", "-f: standard input can be read only once"),
        ("service/web", "service"),
    ],
)
def test_bad_input_is_one_line(run, command, says):
    code, out, err = explain(run, command, new=service())

    assert (2, "", 1) == (code, out, err.count("\n"))
    assert says in err


EMPTY = workload("ReplicaSet", name="empty", namespace="shop") | {"spec": None}


def test_a_workload_without_a_template_is_said_to_have_none(run):
    assert (
        2,
        "",
        "evenkeel: ReplicaSet shop/empty: spec.template: found none, wanted a Pod template\n",
    ) == explain(run, "rs/empty", listed(*NODES, EMPTY))
    one, other = explain(run, "-f new", new=EMPTY), explain(run, "-f new", new=[EMPTY, pod(name="fine")])
    assert "evenkeel: ReplicaSet shop/empty: spec.template: found none, wanted a Pod template\n" == one.err == other.err
    assert ("", True) == (one.out, other.out.startswith("Pod shop/fine as it would be placed now: "))


def test_a_rollout_of_another_workload_has_no_template_of_its_own(run):
    referring = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "r", "namespace": "shop"},
    }

    assert (2, "", "evenkeel: Rollout shop/r: has no Pod template\n") == explain(run, "ro/r", listed(*NODES, referring))


@pytest.mark.parametrize("field", ["metadata", "spec"])
def test_a_pod_of_another_form_is_an_error_with_its_path(run, field):
    code, out, err = explain(run, "-f new", new=pod(name="new") | {field: "x"})

    assert (2, "", True) == (code, out, err.endswith(f': {field}: found "x", must be an object\n'))


def test_names_cannot_control_the_terminal(run):
    red = pod(spread(labelSelector={"matchLabels": {"app": "\x1b[31m"}}), name="web-9")
    _, out, _ = explain(run, "pod/web-9", listed(*NODES, red))

    assert "\x1b" not in out


RED = "\x1b[31m\x9b"
HOSTILE = [
    node(f"a1{RED}", f"a{RED}", taints=[{"key": RED, "value": RED, "effect": "NoSchedule"}]),
    node(f"b1{RED}", "b", cpu="0"),
    pod(
        spread(f"zone{RED}"),
        spread(),
        name="web-9",
        owner=f"ReplicaSet/{RED}",
        spec={"containers": requesting(), "schedulerName": RED, "schedulingGates": [{"name": RED}]},
    )
    | {"status": {"phase": RED, "nominatedNodeName": RED}},
]


@pytest.mark.parametrize("objects", [HOSTILE, [*HOSTILE[:2], WAITING]], ids=["in the Pod", "in nodes"])
@pytest.mark.parametrize("options", ["", " -o json", " --kubernetes-version 1.33"])
def test_nothing_that_is_printed_can_control_the_terminal(run, objects, options):
    _, out, err = explain(run, f"pod/web-9{options}", listed(*objects))

    assert out.replace("\n", "").isprintable()
    assert "" == err


def given(name, day, *constraints):
    """A Pod of the ReplicaSet web, with these constraints of evenkeel's."""
    annotations = {"evenkeel.dev/defaulted-by": "policy"} if constraints else {}
    time = f"2026-01-0{day}T00:00:00Z"
    spec = {"nodeName": "a1", "containers": requesting()}
    owner = "ReplicaSet/web"
    return pod(*constraints, name=name, owner=owner, spec=spec, annotations=annotations, creationTimestamp=time)


@pytest.mark.parametrize(
    ("pods", "source", "shown"),
    [
        ([given("web-1", 1, spread())], "policy", "the constraints that evenkeel gave its newest Pod"),
        ([given("web-1", 1, spread()), given("web-2", 2)], "scheduler", "kube-scheduler's own defaults"),
        (
            [given("web-1", 1), given("web-2", 2, spread())],
            "policy",
            "the constraints that evenkeel gave its newest Pod",
        ),
        ([], "scheduler", "kube-scheduler's own defaults"),
    ],
    ids=["given", "no more", "since then", "no Pod"],
)
def test_what_evenkeel_gave_the_newest_pod_of_a_workload_is_in_force_for_the_next(run, pods, source, shown):
    """As `evenkeel report` has it; the policy of the webhook is not known."""
    replica_set = workload("ReplicaSet", name="web", owner="Deployment/web")
    cluster = listed(*NODES, service(), workload("Deployment", name="web"), replica_set, *pods)
    _, out, err = explain(run, "deployment/web", cluster)
    found = json.loads(explain(run, "deployment/web -o json", cluster)[1])

    assert ("", True) == (err, f"It has no constraints of its own. In force: {shown}." in out)
    assert {source} == {one["source"] for one in found["constraints"]}


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({}, "One of the built-in defaults is left out: no node that it could run on has"),
        ({ZONE: "a"}, ""),
    ],
)
def test_it_says_which_built_in_defaults_are_left_out(run, labels, said):
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {HOSTNAME: "n1", **labels}}}
    made |= {"status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}}
    files = {"new": pod(name="new"), "policy": POLICY, "nodes": [made]}
    code, out, _ = run("explain -f new --policy policy --cluster nodes", **files)

    assert 0 == code and said in out and bool(said) == ("left out" in out)


def test_a_pod_of_another_api_has_no_defaults_of_the_policy(run):
    zone = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    policy = POLICY | {"defaulting": {"defaultingType": "List", "defaultConstraints": [zone]}}
    strange = pod(name="new") | {"apiVersion": "example.com/v1"}

    assert (0, "") == explain(run, "-f new --policy policy", new=strange, policy=policy)[::2]


def test_many_domains_are_summed_up(run):
    hostname = spread("kubernetes.io/hostname")
    nodes = [node(f"n{i:03}", "a", taints=[INFRA] if i % 2 else []) for i in range(60)]
    waiting = {**WAITING, "spec": {**WAITING["spec"], "topologySpreadConstraints": [hostname]}}
    code, out, _ = explain(run, "pod/web-9", listed(*nodes, *(running(f"n{i:03}") for i in range(0, 60, 2)), waiting))

    assert 1 == code
    assert "n000, n002 and 28 more" in out
    assert len(out.splitlines()) < 40


def test_a_version_that_is_assumed_is_said_where_the_schedulers_words_differ(run):
    of_1_33 = SAID.replace("taint(s)", "taint {dedicated: infra}")
    waiting = WAITING | {"status": {"phase": "Pending", "conditions": [CONDITION | {"message": of_1_33}]}}
    cluster = listed(*NODES, running("a1"), running("b1"), waiting)

    assumed = known_cluster.ASSUMED.format("1.37")
    assert f"  {assumed}" == explain(run, "pod/web-9", cluster).out.splitlines()[-1]
    assert assumed in json.loads(explain(run, "pod/web-9 -o json", cluster).out)["remarks"]
    assert assumed not in explain(run, "pod/web-9 --kubernetes-version 1.33", cluster)[1]
    assert assumed not in explain(run, "pod/web-9")[1]


CLASSES = (
    priority_class("high", 1000),
    runtime_class("sandboxed", None, {"sandbox": "yes"}),
    limit_range("limits", "shop", {"defaultRequest": {"cpu": "100m"}}),
)
CLASSED = pod(name="new", spec={"containers": [{"name": "c"}], "priorityClassName": "high"})


def test_a_new_pod_has_what_kube_apiserver_adds(run):
    """Where it has the node selector of its RuntimeClass, no node is for it."""
    added = "  Added as kube-apiserver would: a request of 100m cpu (LimitRange shop/limits), priority 1000"
    found = explain(run, "-f new", listed(*NODES, *CLASSES), new=CLASSED)
    sandboxed = CLASSED | {"spec": {**CLASSED["spec"], "runtimeClassName": "sandboxed"}}

    assert (0, True) == (found.code, f"{added} (PriorityClass high)." in found.out.splitlines())
    assert 1 == explain(run, "-f new", listed(*NODES, *CLASSES), new=sandboxed).code
    assert 0 == explain(run, "-f new", listed(*NODES), new=sandboxed).code
    assert "Added" not in explain(run, "-f new", listed(*NODES), new=sandboxed).out


def test_classes_of_the_file_itself_are_there_too(run):
    found = explain(run, "-f new", listed(*NODES), new=[CLASSED, *CLASSES])

    assert "priority 1000 (PriorityClass high)." in found.out


def test_a_pod_that_kube_apiserver_would_refuse_is_an_error(run):
    found = explain(run, "-f new", listed(*NODES, priority_class("low", 1)), new=CLASSED)
    said = 'spec.priorityClassName: found "high", no PriorityClass has this name; kube-apiserver would refuse the Pod'

    assert (2, f"evenkeel: Pod shop/new: {said}\n") == (found.code, found.err)


@pytest.mark.parametrize("command", ["explain -f new", "explain deploy/web", "simulate deploy/web scale=4"])
def test_classes_that_may_not_be_listed_are_named_where_they_matter(run, command):
    missing = dict.fromkeys(("deviceclasses", "limitranges", "priorityclasses", "runtimeclasses"), "is forbidden")
    made = workload("Deployment", spec={"template": {"spec": CLASSED["spec"]}})
    header = {"kind": DUMP_KIND, "version": VERSION, "kubernetesVersion": "v1.37.1", "missing": missing}
    dump = "\n".join(map(json.dumps, [header, *NODES, WAITING, made]))
    found = run(f"{command} -n shop --cluster dump", dump=dump, new=CLASSED)
    noted = [line.split()[0] for line in found.out.splitlines() if "cannot be listed: is forbidden" in line]

    assert ["priorityclasses", "limitranges"] == noted
    assert "cannot be listed" not in run("explain pod/web-9 -n shop --cluster dump", dump=dump).out


CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


def test_where_a_node_passes_and_not_all_is_judged_the_heading_says_so_first(run):
    asking = pod(name="web-9", spec={"containers": requesting(), "volumes": [CLAIM]})
    code, out, err = explain(run, "pod/web-9", listed(*NODES, asking))

    assert (3, "") == (code, err)
    assert (
        "Pod shop/web-9 is Pending: 2 of 3 nodes pass what evenkeel judges; volumes are not judged."
        == out.splitlines()[0]
    )


def test_where_no_node_passes_the_exit_code_says_that(run):
    asking = pod(name="web-9", spec={"containers": requesting("64"), "volumes": [CLAIM]})
    code, out, _ = explain(run, "pod/web-9", listed(*NODES, asking))

    assert 1 == code
    assert out.startswith("Pod shop/web-9 is Pending: no node passes; volumes are not judged.")


def test_pods_in_the_way_are_named_in_whatever_namespace_they_are(run):
    term = {"topologyKey": ZONE, "namespaceSelector": {}, "labelSelector": {"matchLabels": {"app": "web"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    ledger = pod(name="ledger-0", uid="l", spec={"nodeName": "a1", "affinity": apart})
    ledger["metadata"]["namespace"] = "pay"
    asking = pod(name="web-9", spec={"containers": requesting()})
    code, out, _ = explain(run, "pod/web-9", listed(*NODES, ledger, asking))

    assert 0 == code
    line = f"podAntiAffinity of other Pods app=web per {ZONE}: because of pay/ledger-0; refuses a1"
    assert f"  {line}" in out.splitlines()
    (obstacle,) = json.loads(explain(run, "pod/web-9 -o json", listed(*NODES, ledger, asking)).out)["obstacles"]
    assert ["pay/ledger-0"] == obstacle["pods"]
    assert ["a1"] == obstacle["nodes"]


def test_changes_are_ranked_by_how_many_pods_run_then(run):
    """Uncordoned, a2 has room for one of the three that wait; untainted, c1 for all of them."""
    waiting = [{**WAITING, "metadata": {**WAITING["metadata"], "name": f"web-{i}"}} for i in (7, 8, 9)]
    waiting = [one | {"spec": {"containers": requesting()}} for one in waiting]
    nodes = [node("a2", "a", unschedulable=True, pods="1"), node("c1", "c", taints=[INFRA])]
    _, out, _ = explain(run, "pod/web-9", listed(*nodes, *waiting))
    changes = [line.strip() for line in out.splitlines() if "   -> " in line]

    assert "c1; all 3 waiting Pods then run" in changes[0]
    assert "uncordon a2" in changes[1] and "a2; 1 of 3 waiting Pods then runs" in changes[1]
    assert "    kubectl taint node c1 dedicated=infra:NoSchedule-" in out.splitlines()


def test_a_change_of_a_template_is_a_line_of_yaml_and_with_patch_a_command_except_of_a_file(run):
    deployment_file = workload("Deployment", spread(), name="web")
    deployment_file["spec"]["template"]["spec"]["containers"] = requesting()
    in_cluster = listed(*NODES, running("a1"), running("b1"), deployment_file)

    change = "+ nodeTaintsPolicy: Honor"

    def shown(command):
        out = explain(run, command, in_cluster, new=deployment_file).out
        return "kubectl patch deployment.apps/web -n shop --type=json" in out, change in out, "--patch" in out

    assert [(False, True, True), (True, False, False)] == [shown("deployment/web"), shown("deployment/web --patch")]
    assert [(False, True, False)] * 2 == [shown("-f new"), shown("-f new --patch")]
    of_file = json.loads(explain(run, "-f new -o json", in_cluster, new=deployment_file).out)["remedies"]
    assert not any("patch" in command["shell"] for remedy in of_file for command in remedy["commands"])


BY_HAND = "for the next Pod: no rollout starts, so delete the old Pods to have them replaced"


def test_the_pod_that_an_ordered_stateful_set_waits_for_is_deleted_after_the_change(run):
    made = workload("StatefulSet", spread(), spec={"replicas": 3})
    made["spec"]["template"]["spec"]["containers"] = requesting()
    there = [running(on, owner="StatefulSet/web") for on in ("a1", "b1")]
    for i, one in enumerate(there):
        one["metadata"]["name"] = f"web-{i}"
    for names in ("web-2",), ("web-2", "web-3"):
        made["spec"]["replicas"] = 2 + len(names)
        waits = [
            pod(spread(maxSkew=1), name=name, owner="StatefulSet/web", spec=WAITING["spec"])
            | {"status": WAITING["status"]}
            for name in names
        ]
        for asked in ("pod/web-2", "statefulset/web"):
            _, out, _ = explain(run, f"{asked} -o json", listed(*NODES, *there, *waits, made))
            by_change = {one["change"]: one for one in json.loads(out)["remedies"]}

            first, second = by_change["remove constraint 0"]["commands"]
            assert first["shell"].startswith("kubectl patch statefulset.apps/web -n shop ")
            assert f"kubectl delete pod {' '.join(names)} -n shop" == second["shell"]


@pytest.mark.parametrize(
    ("kind", "spec", "price"),
    [
        ("Deployment", {"paused": True}, "it is paused: no rollout starts"),
        ("StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, BY_HAND),
        ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, BY_HAND),
    ],
)
def test_a_change_of_a_template_that_starts_no_rollout(run, kind, spec, price):
    made = workload(kind, spread(), spec=spec)
    made["spec"]["template"]["spec"]["containers"] = requesting()
    out = explain(run, f"{kind.lower()}/web", listed(*NODES, running("a1"), running("b1"), made)).out

    assert f"  in the template of {kind}/web ({price})" in out.splitlines()


def test_a_pod_of_an_old_template_is_to_be_deleted_first(run):
    made_by = workload("StatefulSet", spread(maxSkew=2))
    made_by["spec"]["template"]["spec"]["containers"] = requesting()
    waits = {**WAITING, "metadata": {**WAITING["metadata"], "name": "web-2", **owned_by("StatefulSet/web")}}
    out = explain(run, "pod/web-2", listed(*NODES, running("a1"), running("b1"), waits, made_by)).out
    first, *others = [line for line in out.splitlines() if "   -> " in line]

    assert "delete Pod web-2: its controller creates it again from the new template" == first.split("   ->")[0].strip()
    assert not any("maxSkew" in change for change in others)
    assert "    kubectl delete pod web-2 -n shop" in out.splitlines()


def test_the_template_of_a_pod_that_is_not_made_again_has_changed(run):
    made_by = workload("StatefulSet", spread(maxSkew=2), spec={"podManagementPolicy": "Parallel"})
    made_by = {**made_by, "status": {"updateRevision": "2"}}
    waits = {**WAITING, "metadata": {**WAITING["metadata"], **owned_by("StatefulSet/web")}}
    waits["metadata"]["labels"] = {"app": "web", "controller-revision-hash": "1"}
    out = explain(run, "pod/web-9", listed(*NODES, running("a1"), running("b1"), waits, made_by)).out

    assert "  The template of StatefulSet/web has changed since this Pod was created." in out.splitlines()
    assert "in the template" not in out


def test_a_message_that_gives_no_reason_is_not_compared(run):
    unsaid = {
        **WAITING,
        "status": {"phase": "Pending", "conditions": [CONDITION | {"message": "0/3 nodes are available"}]},
    }
    cluster = listed(*NODES, running("a1"), running("b1"), unsaid)
    out = explain(run, "pod/web-9", cluster).out

    assert f"  evenkeel computes: {SAID}" in out.splitlines()
    assert "is assumed" not in out
    assert json.loads(explain(run, "pod/web-9 -o json", cluster).out)["agrees"] is None


def test_of_a_workload_it_says_first_which_pods_wait(run):
    made_by = workload("StatefulSet", spread())
    waits = {**WAITING, "metadata": {**WAITING["metadata"], **owned_by("StatefulSet/web")}}
    cluster = listed(*NODES, running("a1", owner="StatefulSet/web"), waits, made_by)
    first, second, *_ = explain(run, "statefulset/web", cluster).out.splitlines()

    assert "1 of 3 Pods waits: web-9; evenkeel explain pod/web-9 -n shop --cluster dump says why" == first
    assert second.startswith("The next Pod of StatefulSet shop/web: ")
    assert ["web-9"] == json.loads(explain(run, "statefulset/web -o json", cluster).out)["waiting"]
    assert [] == json.loads(explain(run, "pod/web-9 -o json", cluster).out)["waiting"]
    assert explain(run, "-f new", cluster, new=made_by).out.startswith("The next Pod of StatefulSet shop/web: ")


@pytest.mark.parametrize(
    "asked", ["deployment/web -n shop --policy policy", "deployment web --kubernetes-version 1.36", "-f new -f more"]
)
def test_the_command_that_prints_the_other_commands_is_whole(run, asked):
    made = workload("Deployment", spread(), name="web")
    made["spec"]["template"]["spec"]["containers"] = requesting()
    files = {"policy": POLICY, "new": made, "more": workload("Deployment", name="more")}
    cluster = listed(*NODES, running("a1"), running("b1"), *([] if "-f" in asked else [made]))
    out = explain(run, asked, cluster, **files).out
    found = re.findall("(?:kubectl|changes): evenkeel (explain .*?)(?: --patch| -o json)$", out, re.MULTILINE)

    assert found or "-f" in asked
    for command in found:
        assert command.endswith(asked.partition("--")[2]) and "--cluster dump" in command
        assert run(command, dump=cluster, **files).out == out


def test_the_next_command_explains_the_pod_in_the_same_cluster_with_the_same_options(run):
    made_by = workload("StatefulSet", spread())
    waits = {**WAITING, "metadata": {**WAITING["metadata"], **owned_by("StatefulSet/web")}}
    cluster = listed(*NODES, running("a1", owner="StatefulSet/web"), waits, made_by)
    asked = "statefulset/web --kubernetes-version 1.36 --scheduler-config config --policy policy"
    files = {"config": scheduler(), "policy": POLICY}
    first = explain(run, asked, cluster, **files).out.splitlines()[0]
    command = re.search("; evenkeel (explain .*) says why", first)[1]

    assert (
        "explain pod/web-9 -n shop --cluster dump --scheduler-config config --kubernetes-version 1.36 --policy policy"
        == (command)
    )
    assert run(command, dump=cluster, **files).out.startswith("Pod shop/web-9 (StatefulSet/web) is Pending: ")


def test_the_pods_of_a_deployment_are_those_of_its_replica_sets(run):
    names = [f"web-{i}" for i in range(7)]
    of_set = workload("ReplicaSet", owner="Deployment/web", name="web-1")
    waits = [
        {**WAITING, "metadata": {**WAITING["metadata"], "name": name, **owned_by("ReplicaSet/web-1")}} for name in names
    ]
    going = {
        **waits[0],
        "metadata": {**waits[0]["metadata"], "name": "going", "deletionTimestamp": "2026-01-01T00:00:00Z"},
    }
    cluster = listed(*NODES, DEPLOYMENT, of_set, *waits, going)

    for named in ("deployment/web", "replicaset/web-1"):
        out = explain(run, named, cluster).out
        assert out.startswith(
            "7 of 7 Pods wait: web-0, web-1, web-2, web-3, web-4 and 2 more; evenkeel explain pod/web-0 "
        )
        assert names == json.loads(explain(run, f"{named} -o json", cluster).out)["waiting"]


def test_pods_of_other_workloads_that_a_constraint_counts_are_named(run):
    both = {"app": "web"}
    other = workload("StatefulSet", name="db", labels=both)
    its_pods = [running("a1", labels=both), running("b1", labels=both), running("b1", labels={"app": "db"})]
    for one in its_pods:
        one["metadata"] |= owned_by("StatefulSet/db")
    counted = "  Constraint 0 also counts 2 Pods of StatefulSet/db: its selector matches them, too."

    assert counted in explain(run, "deployment/web", listed(*NODES, *its_pods, DEPLOYMENT, other))[1].splitlines()
    assert "also counts" not in explain(run, "deployment/web", listed(*NODES, *its_pods, DEPLOYMENT))[1], (
        "unknown owners"
    )
    assert "also counts" not in explain(run, "statefulset/db", listed(*NODES, *its_pods, other))[1]


def test_a_constraint_that_counts_none_of_the_pods_of_its_workload_is_named(run):
    missing = spread(HOSTNAME, labelSelector={"matchLabels": {"app": "wep"}})
    made_by = workload("StatefulSet", spread(), missing)
    its_pods = [running(on) for on in ("a1", "b1")]
    for one in its_pods:
        one["metadata"] |= owned_by("StatefulSet/web")
    said = "2 Pods run, and constraint 1 counts none: its selector matches none."
    out = explain(run, "statefulset/web", listed(*NODES, *its_pods, made_by)).out

    assert [said] == [line.strip() for line in out.splitlines() if "counts none" in line]
    assert "counts none" not in explain(run, "statefulset/web", listed(*NODES, made_by)).out  # no Pod runs yet


def test_constraints_of_a_workload_that_contradict_each_other(run):
    nodes = [node("a1", "a"), node("a2", "a"), node("b1", "b")]
    of = workload("StatefulSet", spread(), spread(HOSTNAME), name="db", spec={"replicas": 7})
    never = "2 of 7 Pods never fit on these nodes, in whatever order they come"

    assert never in explain(run, "statefulset/db", listed(*nodes, of))[1]
    assert never in explain(run, "-f sts", listed(*nodes, running("a1", labels={})), sts=of)[1]
