"""evenkeel simulate: what it asks for, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from evenkeel.commands.simulate import COMES_ABOUT
from tests.support import ROOT
from tests.support.build import ZONE, constraint, service, workload
from tests.support.build import node as unroomy
from tests.support.commands import POLICY
from tests.support.placing import node
from tests.support.simulated import SOFT, application, budget, deployment, nodes, owned, pod, stateful

CLUSTER = [*nodes("a=1 b=1 c=1"), *deployment(replicas=3, on=["a1", "b1", "c1"])]

EMPTY = workload("Deployment", name="empty", namespace="bank") | {"spec": None}
TEXT = workload("Deployment", spec={"replicas": "3"})


@pytest.fixture
def simulate(run):
    def ask(options, cluster=CLUSTER, **files):
        items = {"apiVersion": "v1", "kind": "List", "items": cluster}
        return run(f"simulate --cluster dump --runs 10 {options}", dump=items, **files)

    return ask


def test_a_workload_and_steps(simulate):
    code, out, err = simulate("deployment/web -n shop --kubernetes-version 1.33 scale=4")

    assert (0, "") == (code, err)
    assert ["Deployment shop/web: now", "scale=4"] == [line for line in out.splitlines()[:-3] if line[:1].strip()]
    assert "10 runs with seed 1, Kubernetes 1.33." in out.splitlines()


def test_a_file_that_the_api_server_refuses(simulate):
    made, *_ = deployment()
    made["spec"]["selector"] = {"matchLabels": {"app": "api"}}
    code, out, err = simulate("-f web.yaml", **{"web.yaml": made})

    assert (2, "") == (code, out)
    assert 'Deployment shop/web: spec.selector: found {"matchLabels": {"app": "api"}}, wanted ' in err


@pytest.mark.parametrize(
    "words",
    ["deploy web scale=4 -n shop", "-n shop deploy/web scale=4", "deploy/web -n shop", "rollout deploy web -n shop"],
)
def test_options_stand_anywhere_and_kubectls_names_do(simulate, words):
    assert simulate(f"{words} rollout").code == 0


def test_as_json(simulate):
    found = json.loads(simulate("deployment/web -n shop --seed 7 -o json scale=4").out)

    assert ("evenkeel.dev/v1alpha1", "Simulation", 7, 10) == tuple(
        found[name] for name in ("apiVersion", "kind", "seed", "runs")
    )
    assert ["scale=4"] == [step["step"] for step in found["steps"]]
    assert {"least": 4, "mostLikely": 4, "most": 4} == found["steps"][0]["workloads"][0]["after"]


def test_report_moves_brings_a_workload_back_after_a_scale_down_but_not_onto_a_drained_node(simulate):
    cheap = {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}
    web = deployment(replicas=6, on=["a1", "a1", "b1", "b1", "c1", "c1"])
    for one in web[4:]:
        one["metadata"] |= cheap
    cluster = [*nodes("a=1 b=1 c=1"), *web]
    found = json.loads(simulate("deployment/web -n shop scale=3 -o json", cluster).out)

    (way,) = found["waysBack"]
    assert ("Deployment/web", {"least": 1, "mostLikely": 1, "most": 1}) == (way["workload"], way["deletions"])
    command = "evenkeel report deployment.apps/web -n shop --moves"
    where = "Where Deployment shop/web is then beyond maxSkew, 1 deletion brings it back."
    printed = simulate("deployment/web -n shop scale=3", cluster).out
    assert f"{where} After the steps, to name the Pods: {command}" in printed.splitlines()
    options = "--policy p --kubernetes-version 1.34"
    in_cluster = simulate(f"deployment/web -n shop scale=3 {options}", cluster, p=POLICY).out
    assert f"{command} --policy p\n" in in_cluster, "which has the version of the cluster itself"
    assert [] == json.loads(simulate("deployment/web -n shop drain=a1 -o json", cluster).out)["waysBack"]
    assert [] == json.loads(simulate("deployment/web -n shop scale=9 -o json", cluster).out)["waysBack"]


def test_what_evenkeel_gave_the_newest_pod_is_in_force(simulate):
    """As `evenkeel explain` and `report` have it; without, kube-scheduler's own defaults would be."""
    made = [without_constraints(one) for one in deployment(on=["a1", "b1", "c1"])]
    for raw in made:
        if raw["kind"] == "Pod":
            raw["spec"]["topologySpreadConstraints"] = [constraint(whenUnsatisfiable="ScheduleAnyway", maxSkew=2)]
    asked, there = "deployment/web -n shop -o json scale=4", [*nodes("a=1 b=1 c=1"), service()]
    ungiven = json.loads(simulate(asked, cluster=[*there, *made]).out)
    own = "It has no constraints of its own. In force: kube-scheduler's own defaults."
    assert own in simulate("deployment/web -n shop scale=4", cluster=[*there, *made]).out.splitlines()
    for raw in made:
        if raw["kind"] == "Pod":
            raw["metadata"]["annotations"] = {"evenkeel.dev/defaulted-by": "policy"}
    given = json.loads(simulate(asked, cluster=[*there, *made]).out)

    assert [[(3, "scheduler"), (5, "scheduler")], [(2, "policy")]] == [
        [(one["maxSkew"], workload["source"]) for one in workload["constraints"]]
        for found in (ungiven, given)
        for workload in found["now"]["workloads"]
    ]
    of_newest = "It has no constraints of its own. In force: the constraints that evenkeel gave its newest Pod."
    assert of_newest in simulate("deployment/web -n shop scale=4", cluster=[*there, *made]).out.splitlines()
    assert "no constraints" not in simulate("deployment/web -n shop scale=4").out
    rolled_out = json.loads(simulate("deployment/web -n shop -o json rollout", cluster=[*there, *made]).out)
    assert [2] == [one["maxSkew"] for one in rolled_out["steps"][0]["workloads"][0]["constraints"]]


ZONED = {"defaultingType": "List", "defaultConstraints": [{"topologyKey": ZONE, "maxSkew": 1}]}
ZONED["defaultConstraints"][0]["whenUnsatisfiable"] = "DoNotSchedule"


@pytest.mark.parametrize(
    ("labels", "policy", "source"),
    [
        ({}, {"defaulting": ZONED}, "policy"),
        ({"evenkeel.dev/skip": "true"}, {"defaulting": ZONED}, "scheduler"),
        ({}, {"defaulting": ZONED, "defaultingMode": "Audit"}, "scheduler"),
    ],
)
def test_new_pods_get_the_defaults_of_a_policy_as_the_webhook_would_give_them(simulate, labels, policy, source):
    raw = without_constraints(deployment(replicas=2)[0])
    raw["spec"]["template"]["metadata"]["labels"] |= labels
    asked = "-f web.yaml --policy policy.yaml -o json"
    files = {"web.yaml": raw, "policy.yaml": POLICY | policy}
    (workload,) = json.loads(simulate(asked, [*nodes("a=1 b=1"), service()], **files).out)["steps"][0]["workloads"]

    assert (source, source == "policy") == (workload["source"], any(one["hard"] for one in workload["constraints"]))


def without_constraints(raw):
    template = raw["spec"].get("template", raw)
    template["spec"].pop("topologySpreadConstraints", None)
    return raw


def test_it_says_where_the_defaults_of_new_pods_come_from(simulate):
    files = {"web.yaml": without_constraints(deployment(replicas=2)[0]), "policy.yaml": POLICY | {"defaulting": ZONED}}
    printed = simulate("-f web.yaml --policy policy.yaml", nodes("a=1 b=1"), **files).out

    assert "In force: the default constraints of the policy." in printed


def test_a_workload_that_is_named_is_rolled_out_though_the_file_is_as_in_the_cluster(simulate):
    """The file may change what a dump leaves out, such as the environment."""
    same = deployment()[0]
    for named in ("deployment/web", "rollout deployment/web", "rollout rollout deployment/web"):
        found = json.loads(simulate(f"{named} -f web.yaml -n shop -o json", **{"web.yaml": same}).out)
        assert ["rollout"] * max(1, named.count("rollout")) == [step["step"] for step in found["steps"]]
    scaled = json.loads(simulate("deployment/web scale=4 -f web.yaml -n shop -o json", **{"web.yaml": same}).out)
    assert ["scale=4"] == [step["step"] for step in scaled["steps"]]
    paused = {**same, "spec": {**same["spec"], "paused": True}}
    assert "Nothing is rolled out." in simulate("deployment/web -f w -n shop", [*nodes("a=1"), paused], w=paused).out


def test_a_file_is_applied_first(simulate):
    raw = deployment(replicas=6)[0]
    found = json.loads(simulate("-f web.yaml -o json", cluster=nodes("a=1 b=1"), **{"web.yaml": raw}).out)

    assert ["apply"] == [step["step"] for step in found["steps"]]
    (constrained,) = found["steps"][0]["workloads"][0]["constraints"]
    assert [3, 3] == [domain["pods"]["least"] for domain in constrained["domains"]]


def test_it_fails_on_pods_that_wait_only_where_that_is_asked_for(simulate):
    full = [unroomy("a1", **{ZONE: "a"}), *deployment(replicas=1)]

    assert 0 == simulate("deployment/web -n shop scale=2", cluster=full).code
    assert 1 == simulate("deployment/web -n shop scale=2 --fail-on pending", cluster=full).code
    assert 0 == simulate("deployment/web -n shop scale=6 --fail-on pending").code
    lost = [*nodes("a=1 b=1"), *stateful(replicas=2, on=["a1", "b1"])]
    assert 1 == simulate("statefulset/web -n shop lose=a1 --fail-on pending", cluster=lost).code


def test_a_whole_cluster(simulate):
    code, out, err = simulate(f"lose={ZONE}=a -n shop --kubernetes-version 1.33")

    assert (0, "") == (code, err)
    assert f"lose={ZONE}=a" == out.splitlines()[0]
    assert "  Deployment shop/web     3      1      2         1" in out.splitlines()


def test_of_a_whole_cluster_some_are_shown_and_all_are_simulated(simulate):
    """Only together do they lack room."""
    full = [*nodes("a=1 b=1", cpu="1"), *application("api", ["a1"] * 4), *application("db", ["b1"] * 8)]
    printed = json.loads(simulate(f"delete={ZONE}=a -n shop -l app=api -o json", full).out)

    (step,) = printed["steps"]
    assert [("Deployment/api", 2)] == [(of["workload"], of["more"]["most"]) for of in step["workloads"]]
    assert ("shop", 1) == (step["sums"][0]["name"], len(step["sums"]))


def test_what_may_not_be_known_of_the_next_pods_of_all_workloads_is_noted_once(simulate):
    those = [
        *application("api", ["a1"], priorityClassName="high"),
        *application("db", ["a1"], priorityClassName="high"),
    ]
    out = simulate("drain=a1 -n shop", [*nodes("a=1 b=1"), *those]).out

    assert 1 == out.count("The file has no PriorityClass: assuming the value 0 for high; if it is another, dump again.")


def test_of_a_file_without_pods_it_is_said_that_nothing_can_be_lost(simulate):
    out = simulate("drain=a1 -A", nodes("a=1")).out

    assert "No workload has Pods, so no Pod can be lost." in out.splitlines()


def test_a_workload_of_a_file_is_in_the_namespace_that_has_it(simulate):
    """Pods of others are as if it were named: those on nodes are counted, not moved."""
    cluster = [*CLUSTER, pod("Node/x", 0, "a1", namespace="bank", ownerReferences=[])]
    found, named = (json.loads(simulate(f"deployment/web {of} scale=4 -o json", cluster).out) for of in ("", "-n shop"))

    assert found == named
    assert "shop" == found["steps"][0]["workloads"][0]["namespace"]
    twice = [*CLUSTER, workload("Deployment", name="web", namespace="bank")]
    assert "Deployment web: is in the namespaces bank, shop; name one of them" in simulate("deployment/web", twice).err
    assert 0 == simulate("deployment/web -n shop", twice).code


@pytest.mark.parametrize("words", ["-A", "deployment/web -n shop"])
def test_runs_end_when_nothing_changes(run, words):
    items = {"apiVersion": "v1", "kind": "List", "items": CLUSTER}
    asked = f"simulate --cluster dump {words} --kubernetes-version 1.33"
    out = run(f"{asked} lose=a1", dump=items).out.splitlines()

    assert "100 runs with seed 1 (more would change no number), Kubernetes 1.33." in out
    printed = json.loads(run(f"{asked} lose=a1 -o json --runs 120", dump=items).out)
    assert (120, False) == (printed["runs"], printed["early"])


BARE = pod("Node/x", 0, "a1", ownerReferences=[])
FULL = [*nodes("a=1 b=1 c=1", pods="1"), *CLUSTER[3:]]
LOST = [*nodes("a=1 b=1"), *stateful(replicas=2, on=["a1", "b1"])]


@pytest.mark.parametrize(
    ("cluster", "steps", "fails"),
    [
        (CLUSTER, "deployment/web -n shop scale=4", ""),
        (FULL, "deployment/web -n shop rollout", "pending stuck"),
        ([*CLUSTER, budget(minAvailable=3)], "deployment/web -n shop drain=a1 scale=3", "stuck"),
        (CLUSTER, f"deployment/web -n shop scale=6 add=1,{ZONE}=d", "skew"),
        (CLUSTER, f"deployment/web -n shop scale=6 add=1,{ZONE}=d scale=9", ""),
        ([*CLUSTER, BARE], "deployment/web -n shop add=1 delete=a1 add=1", "lost"),
        (LOST, "statefulset/web -n shop lose=a1", "pending lost"),
        (CLUSTER, "cordon=a1 -A", ""),
        (CLUSTER, "lose=a1 -A", "pending"),
        (CLUSTER, "lose=a1 delete=a1 -A", ""),
        ([*CLUSTER, budget(minAvailable=3)], "drain=a1 -A", "stuck"),
        ([*CLUSTER, BARE], "add=1 delete=a1 add=1 -A", "lost"),
        (LOST, "lose=a1 -A", "pending lost"),
        ([*nodes("a=1 b=1"), *application("web", ["a1", "b1"], constraint(**SOFT))], "lose=a1 -A", "skew"),
    ],
)
def test_it_fails_on_what_it_is_told_to(simulate, cluster, steps, fails):
    failing = [word for word in COMES_ABOUT if simulate(f"{steps} --fail-on {word}", cluster=cluster).code]

    assert sorted(fails.split()) == sorted(failing)
    assert bool(failing) == bool(simulate(f"{steps} --fail-on {','.join(COMES_ABOUT)}", cluster=cluster).code)


def test_the_namespace_of_a_file_that_is_not_in_the_cluster_is_noted(simulate):
    new = {**deployment()[0], "metadata": {"name": "web", "namespace": "shpo"}}

    assert "namespace shpo: not in dump; did you mean shop?" in simulate("-f new", new=new).err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "",
            "found no workload and no step; wanted a step and TYPE/NAME, such as rollout deployment/web, or -f FILE, ",
        ),
        ("scal=3", 'step: found "scal=3", wanted scale --replicas N\n'),
        ("nothing=3", 'step: found "nothing=3", wanted one of rollout, scale --replicas N'),
        ("scale=3 -n other", "namespace other: not in dump; the namespaces there are bank, shop"),
        ("drain=a1 -n bank", "found no workload that has Pods in namespace bank; 1 in shop: add -n shop, or -A"),
        (
            "drain=a1 -l app",
            "found no workload that has Pods with the labels app; 1 there have other labels: change -l, ",
        ),
        ("drain=x -A", 'drain=x: no node is called "x"; the nodes are a1, b1, c1'),
        ("drain=pool=* -A", 'step: found "drain=pool=*", wanted drain NODE or drain KEY=VALUE'),
        (
            "deployment/web scale=4 -A",
            "-A: leave out TYPE/NAME to choose workloads by namespace or labels",
        ),
        ("deployment/web -A -l app", "-A and -l: leave out TYPE/NAME to choose workloads by namespace or labels"),
        ("-f empty.yaml -l app=other", "empty.yaml: found no workload with the labels that -l wants, wanted one of"),
        (
            "deployment/web -n shop --fail-on stuck,lost,x",
            'found "x", wanted pending, stuck, skew, lost, not-judged',
        ),
        ("deployment/web scal=3", 'step: found "scal=3", wanted scale --replicas N\n'),
        ("deployment web restart rollout", 'step: found "restart", wanted one of rollout, scale --replicas N'),
        ("deployment/web scale=x", 'step: found "scale=x"'),
        ("deployment/web cordon=x -n shop", 'cordon=x: no node is called "x"; the nodes are a1, b1, c1'),
        ("deployment/api scale=2 -n shop", "Deployment shop/api: not found in the cluster; the names there are web"),
        (
            "cronjob/web scale=2",
            "its controller cannot be simulated, wanted one of Deployment, StatefulSet",
        ),
        ("deployment/web --runs 0 scale=2", "--runs: found 0, wanted 1 to 100,000"),
        ("deployment/empty scale=3 -n bank", "Deployment bank/empty: spec.template: found none, wanted a Pod template"),
        ("-f empty.yaml scale=3", "Deployment bank/empty: spec.template: found none, wanted a Pod template"),
        ("-f text.yaml scale=3", 'Deployment shop/web: spec.replicas: found "3", must be a 32-bit integer'),
        ("-f spec.yaml scale=3", "Deployment shop/web: spec: found 3, must be an object"),
        ("-f web.yaml", "web.yaml: found no workload, wanted one of the kinds Deployment"),
        (
            "-f nowhere.yaml",
            "Deployment default/web: has no namespace in the file, and is in shop in the cluster; add -n",
        ),
        ("-f empty.yaml -f empty.yaml", "found Deployment bank/empty twice, wanted each workload once"),
    ],
)
def test_bad_input(simulate, options, said):
    files = {
        "web.yaml": owned("CronJob", "web", {}),
        "empty.yaml": EMPTY,
        "text.yaml": TEXT,
        "spec.yaml": TEXT | {"spec": 3},
        "nowhere.yaml": TEXT | {"metadata": {"name": "web"}},
    }
    code, out, err = simulate(options, [*CLUSTER, EMPTY], **files)

    assert (2, "") == (code, out)
    assert said in err


def test_the_same_dump_seed_and_version_give_the_same_bytes_in_any_process(tmp_path):
    """Hashes of strings differ between processes, and runs are shared out among them."""
    (tmp_path / "dump.yaml").write_text("".join(f"---\n{json.dumps(one)}\n" for one in CLUSTER))
    options = [
        "simulate",
        "deployment/web",
        "-n",
        "shop",
        "--runs",
        "40",
        "--cluster",
        "dump.yaml",
        "-o",
        "json",
        "rollout",
        "scale=2",
    ]
    found = {
        subprocess.run(
            [sys.executable, "-m", "webhook", *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }

    assert len(found) == 1
    assert b'"runs": 40' in found.pop()


def test_what_is_not_simulated_fails_only_where_that_is_asked_for(simulate):
    cluster = [*nodes("a=1 b=1"), *deployment(replicas=1, on=["b1"], resourceClaims=[{"name": "gpu"}])]

    assert 0 == simulate("deployment/web -n shop scale=2", cluster=cluster).code
    code, out, _ = simulate("deployment/web -n shop scale=2 --fail-on not-judged", cluster=cluster)
    assert (1, True) == (code, "Not simulated: dynamic resources." in out)


def test_a_pod_of_another_namespace_is_preempted(simulate):
    """Two Pods fit: the placeholder, of which nothing makes another, makes way for the second of the workload."""
    low = pod("ReplicaSet/other-1", 0, "a1", spec={"priority": -10}, namespace="pay")
    there = [node("a1", "a", pods="2"), *deployment(replicas=1, on=["a1"]), low]
    over = budget(minAvailable=0)
    code, out, _ = simulate("deployment/web -n shop scale=2 --fail-on pending", cluster=[*there, over])

    assert (0, True) == (code, "Not simulated" not in out)
    _, without_budgets, _ = simulate("deployment/web -n shop scale=2", cluster=there)
    assert "Not simulated: PodDisruptionBudgets." in without_budgets
    code, out, _ = simulate("deployment/web -n shop scale=3 --fail-on pending", cluster=[*there, over])
    assert (1, True) == (code, "1 Pod waits" in out)


def api(name, replicas=3, **spec):
    made, *rest = application(name, ["a1", "b1", "c1"][:replicas], **spec)
    return [made, *rest]


def test_all_changed_workloads_of_files_are_rolled_out_together(simulate):
    """Each has a node to surge to by itself, and both together do not: one Pod of each waits, or all of one do."""
    there = [*nodes("a=1 b=1 c=1", pods="3"), *api("web"), *api("api"), *api("same")]
    changed = [api(name, priority=0)[0] for name in ("web", "api")]
    files = {"web.yaml": changed[0], "api.yaml": changed[1], "same.yaml": api("same")[0]}
    asked = "rollout -f web.yaml -f api.yaml -f same.yaml -n shop"
    printed = simulate(f"{asked} -o json --fail-on stuck", there, **files)
    found = json.loads(printed.out)
    (step,) = found["steps"]

    assert (1, "Simulation") == (printed.code, found["kind"])
    assert {"Deployment/web", "Deployment/api"} == {workload["workload"] for workload in step["workloads"]}
    assert all(workload["rollout"]["stuck"] for workload in step["workloads"])
    assert any(note.startswith("1 workload of the files is as in") for note in found["notes"])
    assert "0 of 2 rollouts finish in every run." in simulate(asked, there, **files).out


@pytest.mark.parametrize(
    ("words", "pod_name", "explaining"),
    [
        ("rollout deployment/web", "", "deployment.apps/web"),
        ("rollout -f web.yaml --kubernetes-version 1.33 --policy policy.yaml", "", "-f web.yaml"),
        ("scale deployment/web --replicas 4", "web-1-9", "pod/web-1-9"),
    ],
)
def test_the_command_that_explains_the_first_pod_that_waits_is_named(simulate, run, words, pod_name, explaining):
    """It is for the same cluster, and explain refuses there the Pod on every node."""
    there = [*nodes("a=1 b=1 c=1", pods="1"), *deployment(replicas=3, on=["a1", "b1", "c1"])]
    there += [pod("ReplicaSet/web-1", 9, "")] if pod_name else []
    files = {"web.yaml": deployment(replicas=3, priority=0)[0], "policy.yaml": POLICY} if "web.yaml" in words else {}
    out = simulate(f"{words} -n shop", there, **files).out
    (command,) = (line.partition(": evenkeel ")[2] for line in out.splitlines() if ": evenkeel explain" in line)

    of_new = " --kubernetes-version 1.33 --policy policy.yaml" if files else ""
    assert f"explain {explaining} -n shop --cluster dump{of_new}" == command
    assert 1 == run(command, dump={"apiVersion": "v1", "kind": "List", "items": there}, **files).code


@pytest.mark.parametrize(
    ("labels", "said"), [({"karpenter.sh/nodepool": "a"}, 1), ({"eks.amazonaws.com/nodegroup": "a"}, 1), ({}, 0)]
)
def test_where_a_pod_waits_it_says_who_makes_nodes(simulate, labels, said):
    there = [*nodes("a=1 b=1", pods="1", labels=labels), *deployment(replicas=2, on=["a1", "b1"])]
    out = simulate("rollout deployment/web -n shop", there).out
    notes = json.loads(simulate("rollout deployment/web -n shop -o json", there).out)["notes"]

    assert [said, said] == [
        sum(line.endswith("; evenkeel does not simulate it.") or "makes nodes here;" in line for line in lines)
        for lines in (out.splitlines(), notes)
    ]
    roomy = [*nodes("a=1 b=1", labels=labels), *deployment(replicas=2, on=["a1", "b1"])]
    assert "does not simulate" not in simulate("rollout deployment/web -n shop", roomy).out


def test_files_that_change_nothing_are_not_simulated(simulate):
    same = deployment(replicas=3)[0]
    printed = simulate("rollout -f web.yaml --fail-on stuck", **{"web.yaml": same})

    assert (0, True) == (printed.code, "Nothing is rolled out." in printed.out)
    nightly = workload("CronJob", namespace="shop")
    printed = simulate("rollout -f web.yaml -f cj.yaml --fail-on not-judged", **{"web.yaml": same, "cj.yaml": nightly})
    assert (1, True) == (printed.code, "Not simulated: CronJob shop/web" in printed.out)
    changed = {**same, "spec": {**same["spec"], "replicas": 4}}
    assert "  Deployment shop/web     3     1      4" in simulate("rollout -f web.yaml", **{"web.yaml": changed}).out
    nothing = json.loads(simulate("rollout -f web.yaml -o json", **{"web.yaml": same}).out)
    assert ("Simulation", []) == (nothing["kind"], nothing["steps"])


def test_several_workloads_are_named(simulate):
    there = [*nodes("a=1 b=1 c=1"), *api("web"), *api("api")]
    found = json.loads(simulate("scale deployment/web deployment/api --replicas 5 -n shop -o json", there).out)

    assert {"Deployment/web": 5, "Deployment/api": 5} == {
        workload["workload"]: workload["after"]["most"] for workload in found["steps"][0]["workloads"]
    }


@pytest.mark.parametrize(
    ("options", "workloads"),
    [
        ("rollout -n shop", {"Deployment/web", "Deployment/api"}),
        ("scale --replicas 5 -A -l app=api", {"Deployment/api"}),
        ("-f web.yaml -f api.yaml -l app=api -n shop", {"Deployment/api"}),
    ],
)
def test_workloads_are_chosen_by_namespace_and_labels(simulate, options, workloads):
    there = [*nodes("a=1 b=1 c=1"), *api("web"), *api("api")]
    changed = {f"{name}.yaml": api(name, priority=0)[0] for name in ("web", "api")}
    found = json.loads(simulate(f"{options} -o json", there, **changed).out)

    assert workloads == {workload["workload"] for workload in found["steps"][0]["workloads"]}


def test_what_makes_pods_in_a_file_and_is_not_simulated_is_said(simulate):
    nightly = workload("CronJob", name="nightly", namespace="shop")
    printed = simulate(
        "rollout -f web.yaml -f nightly.yaml --fail-on not-judged",
        **{"web.yaml": deployment(replicas=4)[0], "nightly.yaml": nightly},
    )

    assert (1, True) == (printed.code, "CronJob shop/nightly" in printed.out)


def test_a_field_of_a_workload_that_is_not_known_is_named_before_all_else(simulate):
    there = [*nodes("a=1 b=1 c=1"), *api("web"), *api("api")]
    there[3]["spec"]["podReplacementPolicy"] = "Failed"
    printed = simulate("scale=4 deployment/web -n shop --fail-on not-judged", there)

    assert (1, 1) == (printed.code, printed.out.count("Deployment shop/web: spec.podReplacementPolicy"))
    assert "Deployment shop/web: spec.podReplacementPolicy" in printed.out.splitlines()[0]
    there[3]["spec"]["strategy"] = {"type": "Canary"}
    found = json.loads(simulate("rollout -n shop -o json", there).out)
    assert ["api"] == [workload["workload"].partition("/")[2] for workload in found["steps"][0]["workloads"]]
    assert "Deployment shop/web: spec.strategy.type" in found["notJudged"]


def test_a_daemon_set_whose_second_pods_have_no_room(simulate):
    made, *pods = application("agent", ["a1", "b1"], constraint(), kind="DaemonSet", cpu="6")
    made["spec"]["updateStrategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    words = "rollout daemonset/agent -n shop --fail-on stuck"
    printed = simulate(words, [*nodes("a=1 b=1"), made, *pods])

    assert (1, True) == (printed.code, "Insufficient cpu" in printed.out)
    made["spec"]["updateStrategy"] = {}
    assert 0 == simulate(words, [*nodes("a=1 b=1"), made, *pods]).code


JOB = application("closing", [], constraint(), kind="Job")[0]
GIVEN = {"batch.kubernetes.io/controller-uid": "u1", "job-name": "closing"}


def stored_job(**template):
    """The Job as the API server has it."""
    spec, labels = JOB["spec"], JOB["spec"]["template"]["metadata"]["labels"]
    made = {**spec["template"], "metadata": {"labels": {**labels, **GIVEN}}, **template}
    return {**JOB, "spec": {**spec, "parallelism": 1, "selector": {"matchLabels": GIVEN}, "template": made}}


@pytest.mark.parametrize(("parallelism", "changed"), [(1, False), (3, True)])
def test_a_job_of_a_file_is_applied_if_its_parallelism_differs(simulate, parallelism, changed):
    job = {**JOB, "spec": {**JOB["spec"], "parallelism": parallelism, "completions": 9}}
    printed = simulate("rollout -f job.yaml", [*nodes(), stored_job()], **{"job.yaml": job})

    assert (0, changed) == (printed.code, "Job shop/closing" in printed.out)


@pytest.mark.parametrize("hook", ["helm.sh/hook", "argocd.argoproj.io/hook"])
def test_a_job_that_is_a_hook_is_not_applied(simulate, hook):
    job = {**JOB, "metadata": {**JOB["metadata"], "annotations": {hook: "pre-upgrade"}}}
    there = [*nodes(), stored_job(spec={}), deployment()[0]]
    printed = simulate(
        "rollout -f web.yaml -f job.yaml --fail-on not-judged",
        there,
        **{"web.yaml": deployment(replicas=4)[0], "job.yaml": job},
    )

    assert (1, True) == (printed.code, "Job shop/closing" in printed.out)


def test_a_job_of_a_file_whose_template_differs_is_refused_as_the_api_server_does(simulate):
    printed = simulate("rollout -f job.yaml", [*nodes(), stored_job(spec={})], **{"job.yaml": JOB})

    assert (2, True) == (printed.code, "Job shop/closing: spec.template: " in printed.err)


@pytest.mark.parametrize(
    ("step", "named"), [("rollout", {"DaemonSet", "Deployment"}), ("scale=1", {"Deployment", "Job"})]
)
def test_of_the_workloads_that_are_chosen_those_are_named_that_take_the_step(simulate, step, named):
    there = [*nodes(), *deployment(replicas=1, on=["a1"]), *application("agent", ["b1"], kind="DaemonSet")]
    there += application("closing", ["c1"], kind="Job")
    found = json.loads(simulate(f"{step} -A -o json", there).out)

    assert named == {of["workload"].partition("/")[0] for of in found["steps"][0]["workloads"]}


def autoscaler(least, most):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    bounds = {"minReplicas": least, "maxReplicas": most, "scaleTargetRef": target}
    return owned("HorizontalPodAutoscaler", "web", bounds) | {"apiVersion": "autoscaling/v2"}


@pytest.mark.parametrize(
    ("words", "files", "code"),
    [
        ("rollout deployment/web", {}, 1),
        ("rollout deployment/web -f other.yaml", {"other.yaml": budget(minAvailable=1)}, 1),  # It has no workload.
        ("-f web.yaml -f hpa.yaml", {"web.yaml": deployment()[0], "hpa.yaml": autoscaler(4, 9)}, 1),
        ("-f web.yaml -f hpa.yaml", {"web.yaml": deployment()[0], "hpa.yaml": autoscaler(1, 9)}, 0),
    ],
)
def test_what_files_change_beside_workloads_is_not_left_out(simulate, words, files, code):
    assert code == simulate(f"{words} -n shop --fail-on stuck,pending", FULL, **files).code


def test_where_an_autoscaler_owns_the_replicas_they_are_no_change(simulate):
    fewer = {"web.yaml": deployment(replicas=1)[0]}

    assert "Nothing is rolled out." in simulate("-f web.yaml", [*CLUSTER, autoscaler(1, 9)], **fewer).out
    assert "Nothing is rolled out." not in simulate("-f web.yaml", CLUSTER, **fewer).out


def test_a_workload_that_is_unchanged_takes_further_steps_and_no_rollout(simulate):
    """A StatefulSet of a file is assumed to be changed, unless it is as the cluster has it."""
    there = [*nodes("a=2 b=2"), *stateful(constraint(**SOFT), on=["a1", "b1", "a2"])]
    files = {"web.yaml": there[4]}
    (scaled,) = json.loads(simulate("-f web.yaml scale=4 -n shop -o json", there, **files).out)["steps"]

    assert (None, 4) == (scaled["workloads"][0]["rollout"], scaled["workloads"][0]["after"]["most"])


def test_those_that_make_way_for_a_change_fail_the_gate_unless_they_are_there_for_that(simulate):
    for priority, code in ((-1, 0), (0, 1)):
        low = application("low", ["a1"], priority=priority)
        there = [node("a1", "a", pods="2"), *application("high", ["a1"], priority=10), *low, budget(minAvailable=0)]
        assert code == simulate("scale deployment/high --replicas 2 -n shop --fail-on pending", there).code


def test_a_skew_of_an_earlier_step_is_there_in_the_end(simulate):
    there = [*nodes("a=1 b=2"), *application("web", ["a1", "b1"], constraint(**SOFT))]

    assert 1 == simulate("lose=a1 cordon=b2 -A --fail-on skew", there).code


def test_a_rollout_of_all_leaves_out_what_does_not_roll_out(simulate):
    """A Job, a ReplicaSet, what is paused, and what is OnDelete; kinds that are not simulated are said."""
    paused = application("paused", ["a1"])
    paused[0]["spec"]["paused"] = True
    by_hand = [*stateful(constraint(**SOFT), on=["a1"], updateStrategy={"type": "OnDelete"})]
    others = [
        *application("job", ["a1"], kind="Job"),
        *application("bare", ["a1"], kind="ReplicaSet"),
        *paused,
        *by_hand,
    ]
    ring = {"apiVersion": "example.com/v1", "kind": "Ring", "metadata": {"name": "ring", "namespace": "shop"}}
    there = [*nodes("a=1 b=1"), *application("web", ["a1"]), *others]
    found = json.loads(simulate("rollout -A -o json", there).out)

    assert (["Deployment/web"], []) == ([of["workload"] for of in found["steps"][0]["workloads"]], found["notJudged"])
    owned_by_ring = pod("Ring/ring", 0, "a1")
    owned_by_ring["metadata"]["ownerReferences"][0]["apiVersion"] = "example.com/v1"
    code, out, _ = simulate("rollout -A --fail-on not-judged", [*there, ring, owned_by_ring])
    assert (1, True) == (code, "Not simulated: rollouts of the kind Ring." in out)


def test_what_is_applied_and_replaces_no_pods_does_not_roll_out(simulate):
    by_hand = stateful(constraint(**SOFT), on=["a1"], updateStrategy={"type": "OnDelete"})
    new = {**by_hand[0], "spec": {**by_hand[0]["spec"], "replicas": 2}}
    out = simulate("-f web.yaml", [*nodes("a=1 b=1"), *by_hand], **{"web.yaml": new}).out

    assert ("Successfully rolled out" in out, "updateStrategy OnDelete" in out) == (False, True)
