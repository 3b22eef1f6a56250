"""What commands say where a cloud, and not only kube-scheduler, decides where Pods run."""

from __future__ import annotations

import json

import pytest

from tests.support.build import HOSTNAME, ZONE, owned_by, pod, service, workload
from tests.support.placing import node, requesting, spread

OF_AKS = {"labels": {"kubernetes.azure.com/cluster": "MC_a"}}
ON_AKS = [node("a1", "a", **OF_AKS), node("b1", "b", **OF_AKS)]
BARE = workload("Deployment", name="web", namespace="shop")
SELECTED = (BARE, service())
ASSUMED = "Assumed, because most nodes have labels of AKS"
# A command, and the member of its JSON that has its notes.
COMMANDS = {
    "explain deployment/web": "remarks",
    "report": "notes",
    "simulate scale deployment/web --replicas 2": "notes",
}


@pytest.fixture
def ask(run):
    def ask(command, *objects, options="", **files):
        cluster = {"apiVersion": "v1", "kind": "List", "items": objects}
        return run(f"{command} -n shop --cluster dump {options}", dump=cluster, **files)

    return ask


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_assumed_of_aks_is_said_first(ask, command):
    version = "--kubernetes-version 1.33"
    in_text = ask(command, *ON_AKS, *SELECTED, options=version)
    for_programs = json.loads(ask(command, *ON_AKS, *SELECTED, options=f"{version} -o json").out)

    said = in_text.out if command.startswith("explain") else in_text.err.removeprefix("note: ")
    assert said.startswith(ASSUMED)
    assert for_programs[COMMANDS[command]][0].startswith(ASSUMED)


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_assumed_of_aks_where_it_does_not_matter(ask, command):
    own = workload("Deployment", spread(), name="web", namespace="shop")
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    answers = [
        ask(command, *ON_AKS, own, options="--kubernetes-version 1.33 -o json"),
        ask(command, *ON_AKS, *SELECTED, options="--kubernetes-version 1.32 -o json"),
        ask(command, node("a1", "a"), *SELECTED, options="--kubernetes-version 1.33 -o json"),
        ask(command, *ON_AKS, *SELECTED, options="--scheduler-config f -o json", f=config),
    ]

    assert [False] * 4 == [ASSUMED in answer.out for answer in answers]


def test_defaults_on_aks_spread_more_evenly_over_zones(ask):
    options = "--kubernetes-version {} -o json"
    by_version = {
        version: json.loads(ask("explain deployment/web", *ON_AKS, *SELECTED, options=options.format(version)).out)
        for version in ("1.32", "1.33")
    }

    assert {"1.32": {HOSTNAME: 3, ZONE: 5}, "1.33": {HOSTNAME: 3, ZONE: 1}} == {
        version: {constraint["topologyKey"]: constraint["maxSkew"] for constraint in answer["constraints"]}
        for version, answer in by_version.items()
    }


def test_only_max_skew_differs_on_aks_for_a_node_without_a_zone(ask):
    unzoned = node("n2", **OF_AKS)
    bound = pod(name="web-1", namespace="shop", spec={"nodeName": "n2", "containers": requesting()})
    cluster = [*ON_AKS, unzoned, *SELECTED, bound]
    answers = [
        json.loads(ask("explain deployment/web", *cluster, options=f"--kubernetes-version {version} -o json").out)
        for version in ("1.32", "1.34")
    ]
    in_text = ask("explain deployment/web", *cluster, options="--kubernetes-version 1.34").out

    pods = [{c["topologyKey"]: c["domains"] for c in answer["constraints"]}[HOSTNAME] for answer in answers]
    assert pods[0] == pods[1]
    assert ZONE not in unzoned["metadata"]["labels"]
    assert "least preferred" not in in_text


def test_one_node_of_aks_is_no_cluster_of_aks(ask):
    cluster = [ON_AKS[0], node("b1", "b"), node("c1", "c"), *SELECTED]

    assert ASSUMED not in ask("explain deployment/web", *cluster, options="--kubernetes-version 1.34").out


def test_pending_assumes_the_same_of_aks(ask):
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}
    status = {"phase": "Pending", "conditions": [said]}
    large, version = {"containers": requesting("100")}, "--kubernetes-version 1.33 -o json"
    own = pod(spread(), name="web-1", namespace="shop", spec=large) | {"status": status}
    bare = pod(name="web-1", namespace="shop", spec=large) | {"status": status}

    noted = [json.loads(ask("pending", *ON_AKS, waiting, options=version).out)["notes"] for waiting in (bare, own)]
    assert [True, False] == [any(note.startswith(ASSUMED) for note in notes) for notes in noted]


FARGATE = "eks.amazonaws.com/compute-type"
ON_FARGATE = [
    node(
        f"f{i}", "a", labels={FARGATE: "fargate"}, taints=[{"key": FARGATE, "value": "fargate", "effect": "NoSchedule"}]
    )
    for i in (1, 2)
]
TOPOLOGY = {"kueue.x-k8s.io/podset-required-topology": "rack"}
GATED = {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
EKS, KUEUE = "EKS Fargate", "the choice of nodes by Kueue"
QUEUE = {"kueue.x-k8s.io/queue-name": "team-a"}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes: none"}


def of_web(name="web-1", node_name=None, conditions=(), spec=None, day=2, owner="Deployment/web", **metadata):
    """A Pod of the Deployment web, which owns it by itself, made on a day."""
    on = {"nodeName": node_name} if node_name else {}
    whole = {"containers": requesting(), **on, **(spec or {})}
    metadata |= {"uid": name, "creationTimestamp": f"2026-01-0{day}T00:00:00Z", **owned_by(owner)}
    raw = pod(spread(), name=name, namespace="shop", spec=whole, **metadata)
    return raw | {"status": {"phase": "Running" if node_name else "Pending", "conditions": list(conditions)}}


def web(spec=None, **template):
    """The Deployment web, with a hard constraint."""
    made = workload("Deployment", spread(), template=template, name="web", namespace="shop")
    made["spec"]["template"]["spec"] |= {"containers": requesting(), **(spec or {})}
    return made


def in_queue(made):
    made["metadata"]["labels"] = QUEUE
    return made


BY_KUEUE = {
    "a template in a queue": ("deployment/web", [in_queue(web(annotations=TOPOLOGY))]),
    "a template with the label of the queue": (
        "deployment/web",
        [web(annotations=TOPOLOGY, labels={"app": "web", **QUEUE})],
    ),
    "a template with Kueue's gate": ("deployment/web", [web(GATED)]),
    "a Pod that waits for Kueue": ("pod/web-1", [of_web(spec=GATED)]),
}
CASES = {
    "a template for Fargate": ("deployment/web", EKS, [web({"schedulerName": "fargate-scheduler"})]),
    "a template that EKS sends to Fargate": (
        "deployment/web",
        EKS,
        [web(), of_web("web-0", "other"), of_web(spec={"schedulerName": "fargate-scheduler"})],
    ),
    "a template whose newest Pod is on Fargate": ("deployment/web", EKS, [web(), of_web(node_name="f1")]),
    "a Pod for Fargate": ("pod/web-1", EKS, [of_web(spec={"schedulerName": "fargate-scheduler"})]),
    "a Pod on Fargate": ("pod/web-1", EKS, [of_web(node_name="f1")]),
}
HEEDED = {
    "a Pod that kube-scheduler refuses where Kueue wants it": (
        "pod/web-1",
        [of_web(annotations=TOPOLOGY, conditions=[UNSCHEDULABLE])],
    ),
    "a Pod without Kueue's gate": ("pod/web-1", [of_web(annotations=TOPOLOGY, labels={"app": "web", **QUEUE})]),
    "a template in no queue of Kueue": ("deployment/web", [web(annotations=TOPOLOGY)]),
    "a template in a queue, whose Pods may run anywhere": ("deployment/web", [in_queue(web())]),
    "a Pod of another gate": ("pod/web-1", [of_web(spec={"schedulingGates": [{"name": "example.com/quota"}]})]),
    "a Pod beside Fargate": ("pod/web-1", [of_web(node_name="a1")]),
    "a template whose newest Pod is not on Fargate": (
        "deployment/web",
        [web(), of_web("web-0", "f1", day=1), of_web("web-1", "a1")],
    ),
    "a template with another annotation": ("deployment/web", [web(annotations={"kueue.x-k8s.io/workload": "a"})]),
}
OF_EKS = [*ON_FARGATE, node("a1", "a"), node("b1", "b")]


@pytest.mark.parametrize(("name", "placer", "objects"), CASES.values(), ids=CASES)
def test_no_placement_is_computed_where_constraints_are_ignored(ask, name, placer, objects):
    in_text, done = (ask(f"explain {name}", *OF_EKS, *objects, options=option) for option in ("", "-o json"))
    answer = json.loads(done.out)

    assert (3, 3) == (in_text.code, done.code)
    assert ([], {}, "", None, []) == tuple(
        answer[member] for member in ("constraints", "nodes", "message", "agrees", "remedies")
    )
    assert [f"placement by {placer}"] == answer["notJudged"]
    assert f"not judged, because {placer} places it, and ignores constraints." in in_text.out.splitlines()[0]
    assert "passes" not in in_text.out


@pytest.mark.parametrize(("name", "objects"), HEEDED.values(), ids=HEEDED)
def test_a_placement_is_computed_where_kube_scheduler_decides(ask, name, objects):
    answer = json.loads(ask(f"explain {name} -o json", *OF_EKS, *objects).out)

    assert (1, len(OF_EKS), []) == (len(answer["constraints"]), len(answer["nodes"]), answer["notJudged"])


@pytest.mark.parametrize(("name", "objects"), BY_KUEUE.values(), ids=BY_KUEUE)
def test_a_placement_is_computed_without_the_choice_of_kueue(ask, name, objects):
    done = ask(f"explain {name} -o json", *OF_EKS, *objects)
    answer = json.loads(done.out)

    assert (3, 1, len(OF_EKS), [KUEUE]) == (
        done.code,
        len(answer["constraints"]),
        len(answer["nodes"]),
        answer["notJudged"],
    )


KUEUE_FIRST = "Kueue may choose the nodes of its Pods first; kube-scheduler then applies constraints on these nodes"


@pytest.mark.parametrize(
    ("made", "by_kueue"),
    [
        (web(annotations=TOPOLOGY), False),
        (in_queue(web(annotations=TOPOLOGY)), True),
        (in_queue(web(annotations={"kueue.x-k8s.io/podset-preferred-topology": "rack"})), True),
        (web(GATED), True),
    ],
)
def test_kueue_hides_no_hard_constraint(ask, made, by_kueue):
    cluster = [node("a1", "a"), node("b1", "b"), made, *[of_web(f"old-{i}", "a1") for i in range(4)]]
    report, rollout = (ask(command, *cluster).out for command in ("report", "simulate rollout"))
    (found,) = json.loads(ask("report -o json", *cluster).out)["workloads"]
    simulated = json.loads(ask("simulate rollout -o json", *cluster).out)

    assert ([4], None) == ([constraint["skew"] for constraint in found["constraints"]], found["constraintsIgnoredBy"])
    assert ["Deployment/web"] == [workload["workload"] for workload in simulated["steps"][0]["workloads"]]
    assert [by_kueue] * 3 == [KUEUE_FIRST in report, KUEUE in simulated["notJudged"], KUEUE in rollout]


def test_report_judges_no_spread_that_is_ignored(ask):
    _, placer, objects = CASES["a template whose newest Pod is on Fargate"]
    uneven = [of_web(f"old-{i}", "a1", day=1) for i in range(3)]
    in_text, done = (ask("report", *OF_EKS, *objects, *uneven, options=option) for option in ("", "-o json"))
    (found,) = json.loads(done.out)["workloads"]

    assert ([], placer) == (found["constraints"], found["constraintsIgnoredBy"])
    assert "single-domain" not in {finding["rule"] for finding in found["findings"]}
    assert f"      {placer} places its Pods, and ignores constraints" in in_text.out.splitlines()
    assert "no constraints of its own" not in in_text.out
    (heeded,) = json.loads(ask("report -o json", *OF_EKS, web(), *uneven).out)["workloads"]
    assert (1, None) == (len(heeded["constraints"]), heeded["constraintsIgnoredBy"])


def test_the_page_of_a_report_does_not_say_why_such_a_pod_waits(ask):
    page = ask("report -o html", *OF_EKS, web(), of_web(spec={"schedulerName": "fargate-scheduler"})).out

    assert "EKS Fargate places it, and ignores constraints." in page
    assert "untolerated" not in page


@pytest.mark.parametrize("case", ["a template for Fargate", "a template that EKS sends to Fargate"])
def test_simulate_rolls_out_no_such_workload(ask, case):
    _, placer, objects = CASES[case]
    alone = json.loads(ask("simulate rollout deployment/web -o json", *OF_EKS, *objects).out)
    other = workload("Deployment", spread(), name="other", namespace="shop")
    other["spec"]["template"]["spec"] |= {"containers": requesting()}
    both = json.loads(ask("simulate rollout -o json", *OF_EKS, *objects, other).out)

    not_judged = [f"Deployment shop/web ({placer} places its Pods, and ignores constraints)"]
    assert ([], not_judged) == (alone["steps"], alone["notJudged"])
    assert not_judged[0] in both["notJudged"]
    assert ["Deployment/other"] == [found["workload"] for step in both["steps"] for found in step["workloads"]]
    assert 1 == ask("simulate rollout deployment/web --fail-on not-judged", *OF_EKS, *objects).code


def test_simulate_says_of_evicted_pods_who_places_them(ask):
    made = workload("ReplicaSet", spread(), spec={"replicas": 1}, uid="u1")
    evicted = of_web(node_name="f1", owner="ReplicaSet/web")
    done = json.loads(ask("simulate drain f1 -o json", *OF_EKS, made, evicted).out)
    (found,) = done["steps"][0]["workloads"]

    assert ["EKS Fargate places such Pods, and ignores constraints; not simulated"] == [*found["reasons"]]
    assert [] == found["constraints"]
    assert "placement by EKS Fargate" in done["notJudged"]


def test_pending_says_who_places_pods_that_it_does_not_judge(ask):
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": ""}
    waiting = [
        of_web("web-1", spec={"schedulerName": "fargate-scheduler"}),
        of_web("web-2", spec=GATED, conditions=[gated]),
    ]
    answer = json.loads(ask("pending -o json", *OF_EKS, *waiting).out)

    assert [] == answer["groups"]
    assert {f"{EKS} places such Pods, and ignores constraints": 1, "SchedulingGated": 1} == answer["others"]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (web({"schedulerName": "fargate-scheduler"}), f"{EKS} places its Pods, and ignores constraints"),
        (in_queue(web(annotations=TOPOLOGY)), KUEUE_FIRST),
        (web(GATED), KUEUE_FIRST),
    ],
)
@pytest.mark.parametrize("options", ["", "--cluster dump"])
def test_lint_runs_no_rule_of_nodes_where_kube_scheduler_does_not_choose_them(run, options, made, reason):
    cluster = {"apiVersion": "v1", "kind": "List", "items": OF_EKS}
    found = json.loads(run(f"lint m.yaml -o json {options}", **{"m.yaml": made, "dump": cluster}).out)

    reasons = {skipped["rule"]: skipped["reason"] for skipped in found["skipped"]}
    assert reason == reasons["unschedulable"]
    assert not reasons.keys() & {finding["rule"] for finding in found["findings"]}


def test_what_tells_of_kueue_and_fargate_is_in_a_dump(run, api):
    made = [in_queue(web(annotations=TOPOLOGY)), *ON_FARGATE, of_web(node_name="f1"), of_web("web-2", spec=GATED)]
    api.put(*made)
    assert 0 == run("dump -o d.jsonl.gz").code

    answers = [run(f"explain {name} -n shop --cluster d.jsonl.gz -o json").out for name in ("pod/web-2", "pod/web-1")]
    assert [[KUEUE], [f"placement by {EKS}"]] == [json.loads(out)["notJudged"] for out in answers]


@pytest.mark.parametrize("strategy", ["recreate", "Canary", 5])
def test_a_file_with_a_strategy_that_is_not_known_is_not_simulated(run, strategy):
    made = web()
    made["spec"]["strategy"] = {"type": strategy}
    cluster = {"apiVersion": "v1", "kind": "List", "items": OF_EKS}
    done = run("simulate -f m.yaml --cluster dump -o json", **{"m.yaml": made, "dump": cluster})
    answer = json.loads(done.out)

    assert ([], 1) == (answer["steps"], len(answer["notJudged"]))
    assert answer["notJudged"][0].startswith("Deployment shop/web (spec.strategy.type: found ")
