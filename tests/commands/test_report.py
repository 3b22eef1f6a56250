"""evenkeel report: what it reads and chooses, and its exit codes."""

from __future__ import annotations

import json
import re

import pytest

from evenkeel.clusters.dump_format import DUMP_KIND, VERSION
from evenkeel.clusters.known_cluster import ASSUMED
from tests.report.test_impact import EMPTY
from tests.support import simulated
from tests.support.build import ZONE, constraint, namespace, service, workload
from tests.support.claims import claim, using, volume
from tests.support.commands import POLICY
from tests.support.placing import INFRA, node
from tests.support.reporting import ZONES, deployment, pods

WEB = [*deployment(constraint()), *pods("a1", "b1")]
BAD = deployment(EMPTY, name="bad")
BAD[0]["metadata"]["labels"] = {"team": "x"}
ELSEWHERE = workload("Deployment", constraint(), name="far", namespace="bank")
CLUSTER = [*ZONES, *WEB, *BAD, ELSEWHERE]


@pytest.fixture
def report(run):
    def ask(options="", cluster=CLUSTER, **files):
        items = {"apiVersion": "v1", "kind": "List", "items": cluster}
        return run(f"report --cluster dump {options}", dump=items, **files)

    return ask


def names(found):
    assert (0, "") == (found.code, found.err), found
    return sorted(one["workload"] for one in json.loads(found.out)["workloads"])


def test_namespaces_labels_and_one_object(report):
    assert (
        ["Deployment/bad", "Deployment/far", "Deployment/web"]
        == names(report("-A -o json"))
        == names(report("-o json"))
    )
    assert ["Deployment/web"] == names(report("deploy/web -o json"))
    assert ["Deployment/bad", "Deployment/web"] == names(report("-n shop -o json"))
    assert ["Deployment/bad"] == names(report("-n shop -l team=x -o json"))
    assert ["Deployment/web"] == names(report("deploy/web -n shop -o json"))
    assert ["Deployment/web"] == names(report("rs web-5d -n shop -o json")), "what has made it"


UNEVEN = [*ZONES, *simulated.deployment(constraint(), replicas=3, on=["a1", "a2", "b1"])]


def test_moves_are_those_of_the_workloads_beyond_max_skew(report, monkeypatch):
    far = simulated.application("even", ["a1", "b1"], constraint(labelSelector={"matchLabels": {"app": "even"}}))
    found = report("-A --moves -o json", [*UNEVEN, *far])

    by_name = {one["workload"]: one["moves"] for one in json.loads(found.out)["workloads"]}
    assert (True, 1, None) == (
        by_name["Deployment/web"]["even"],
        len(by_name["Deployment/web"]["steps"]),
        by_name["Deployment/even"],
    )
    printed = report("deploy/web -n shop --moves", UNEVEN).out
    assert "  shop/deployment/web: 1 deletion\n      kubectl wait " in printed
    assert 1 == printed.count("      kubectl delete pod web-1-")
    assert "kubectl delete" not in report("deploy/web -n shop", UNEVEN).out
    monkeypatch.setattr("evenkeel.simulate.moves.SimulatedRun", None)
    assert "kubectl delete" not in report("-A --moves", [*ZONES, *far]).out, "nothing is simulated"


@pytest.mark.parametrize("options", ["-A", "deploy web -n shop", "-l team!=x --policy p --kubernetes-version 1.34"])
def test_where_workloads_are_uneven_the_command_that_names_the_pods_is_said(report, run, options):
    out = report(options, UNEVEN, p=POLICY).out
    (command,) = re.findall("^For the Pods to delete .*: evenkeel (report .*)$", out, re.MULTILINE)

    assert "kubectl delete pod web-1-" in run(command.replace("'", "")).out
    assert "evenkeel report" not in report(f"{options} --moves", UNEVEN, p=POLICY).out
    assert "evenkeel report" not in report(options, p=POLICY).out, "they are even"


def test_moves_are_said_not_to_heed_budgets_that_are_not_known(report):
    budget = simulated.budget(maxUnavailable=0)

    assert "may violate one" in report("-A --moves", UNEVEN).err
    known = report("-A --moves", [*UNEVEN, budget])
    assert "may violate one" not in known.err and "kubectl delete" not in known.out


def test_moves_count_the_defaults_that_are_in_force(report):
    bare = [*ZONES, *simulated.application("web", ["a1", "a2"] * 4)]
    default = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    strict = POLICY | {"defaulting": {"defaultingType": "List", "defaultConstraints": [default]}}
    by_policy = json.loads(report("-A --moves -o json --policy p", bare, p=strict).out)["workloads"][0]["moves"]
    by_scheduler = json.loads(report("-A --moves -o json", bare).out)["workloads"][0]["moves"]

    assert (True, 5, True) == (by_policy["even"], len(by_policy["steps"]), by_scheduler["even"])
    assert 0 < len(by_scheduler["steps"]) < 5, "maxSkew is 5 over zones"


def test_a_policy_and_one_to_compare_with(report):
    old = POLICY | {"enforcement": "Warn"}
    code, out, err = report("-A --policy new --compare old", new=POLICY, old=old)

    assert (0, "") == (code, err)
    assert out.startswith("What new would do, compared with old:")
    assert "1 workload has a different outcome under old." in out


@pytest.mark.parametrize(
    ("fail_on", "enforcement", "code"),
    [
        ("denied", "Deny", 1),
        ("denied", "Warn", 0),
        ("denied-updates", "Deny", 0),
        ("warned", "Warn", 1),
        ("warned", "Audit", 1),
    ],
)
def test_exit_codes(report, fail_on, enforcement, code):
    """Audit would deny if it denied: that is worth a 1, too."""
    assert code == report(f"-A --policy p --fail-on {fail_on}", p=POLICY | {"enforcement": enforcement}).code
    assert 0 == report(f"deploy/web -n shop --policy p --fail-on {fail_on}", p=POLICY).code


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--compare p", "--compare: found no --policy, wanted the new policy file"),
        ("--fail-on denied", "--fail-on denied: found no --policy, wanted the policy file that answers"),
        ("deploy/none -n shop", "Deployment shop/none: not found in the cluster; the names there are bad, web\n"),
        ("deploy/wbe", "Deployment wbe: not found in the cluster; did you mean deployment/web?\n"),
        ("-n shpo", "namespace shpo: not in dump; did you mean shop?\n"),
        ("deploy/web -n shpo -o html", "namespace shpo: not in dump; did you mean shop?\n"),
        ("pod/web-5d-0 -n shop", "Pod shop/web-5d-0: found no Pod of this name that has no owner; name what owns it"),
        ("-A --by namespace -o html", "--by namespace: found -o html, wanted -o text or -o json"),
        (
            "-A --by team --metrics-bind :0",
            "--by team: found --metrics-bind, which prints nothing; leave out one of the two",
        ),
        ("-A --by team=x", '--by: found "team=x", wanted namespace, or the key of a label such as team'),
        ("-A --summary -o html", "--summary: found -o html, wanted -o text or -o json"),
        ("-A --changed --policy p", "--changed: found no --compare, wanted the policy in force now"),
        (
            "-A --changed --policy p --compare p --summary",
            "--changed: found --summary, which lists no workload; leave out one of the two",
        ),
        (
            "-A --changed --policy p --compare p --by team",
            "--changed: found --by team, which lists no workload; leave out one of the two",
        ),
        ("-l ===", "--selector: "),
    ],
)
def test_bad_input(report, options, said):
    code, out, err = report(options, p=POLICY)

    assert (2, "") == (code, out)
    assert err.startswith(f"evenkeel: {said}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "-n quiet",
            "Found no workload in namespace quiet; 2 in shop, 1 in bank: name one of these with -n, or add -A.",
        ),
        (
            "-l team=y",
            "Found no workload with the labels team=y; 3 there have other labels: change -l, or leave it out.",
        ),
        (
            "-n bank -l team=x",
            "Found no workload in namespace bank with the labels team=x; 1 in shop: add -n shop, or -A.",
        ),
    ],
)
@pytest.mark.parametrize("form", ["", "--policy p --by namespace", "--summary", "-o html", "-o json"])
def test_where_no_workload_is_chosen_it_says_what_was_looked_at_and_what_there_is(report, options, said, form):
    found = report(f"{options} {form}", [*CLUSTER, namespace(name="quiet")], p=POLICY)

    assert (0, "") == (found.code, found.err)
    assert said in (json.loads(found.out)["notes"] if "json" in form else found.out)
    assert "0 workloads" not in found.out


def test_a_file_without_workloads_is_told_how_to_write_one(report):
    assert report("", [node("n1")]).out.startswith("Found no workload; dump shows none; kubectl get nodes,pods,")


def test_without_nodes_a_policy_can_be_asked_all_the_same(report):
    code, out, err = report("-A --policy p", cluster=BAD, p=POLICY)

    assert 0 == code
    assert "The file has no Node, so no placement can be judged" in err
    assert "shop/deployment/bad   denied" in out


@pytest.mark.parametrize("options", ["", "-o json", "-o html", "--policy p --fail-on denied"])
def test_where_nodes_may_not_be_listed_it_says_so_and_exits_as_explain_does(run, options):
    """A person with the ClusterRole edit in one namespace may list everything there, and no node."""
    header = {"kind": DUMP_KIND, "version": VERSION, "missing": {"nodes": "nodes is forbidden"}}
    dump = "\n".join(map(json.dumps, [header, *WEB]))
    code, out, err = run(f"report -n shop --cluster dump {options}", dump=dump, p=POLICY)
    said = (
        "nodes: nodes is forbidden; without nodes, no placement can be judged; ask for the ClusterRole evenkeel-viewer"
    )

    assert (2, f"evenkeel: {said}") == (code, err.splitlines()[-1])
    assert (code, err.splitlines()[-1:]) == (
        (explained := run("explain deploy/web -n shop --cluster dump")).code,
        explained.err.splitlines(),
    )
    assert 1 == (out if "json" in options else err).count(said)
    assert "not known" in out or "json" in options


def test_pods_that_are_denied_are_denied_at_the_next_update(report):
    owned = POLICY | {"ownedObjects": "Deny"}

    assert 1 == report("-A --policy p --fail-on denied-updates", p=owned).code


def test_the_numbers_by_namespace(report):
    out = report("-A --by namespace").out

    assert ["NAMESPACE", "shop", "bank"] == [line.split()[0] for line in out.splitlines()[:3]]


def test_the_numbers_by_a_label(report):
    found = json.loads(report("-A --by team -o json").out)

    assert ("team", [("x", 1), (None, 2)]) == (
        found["by"],
        [(one["value"], one["summary"]["workloads"]) for one in found["groups"]],
    )


def test_only_the_sums_or_only_what_changes(report):
    new = {"new": POLICY, "old": POLICY | {"enforcement": "Warn"}}

    assert ["Deployment/bad"] == names(report("-A -o json --policy new --compare old --changed", **new))
    assert report("-A --summary").out.startswith("3 workloads with 2 Pods on 6 nodes in 3 zones.")


def test_a_page_explains_the_pods_that_wait_of_what_is_chosen(report):
    waiting = pods("", name="bad")
    code, out, err = report("-n shop -o html", [*CLUSTER, *waiting])

    assert (0, "") == (code, err)
    assert out.startswith("<!DOCTYPE html>")
    assert "Pod shop/bad-5d-0 (Deployment/bad) is Pending" in out
    assert "bad-5d-0" not in report("-n bank -o html", [*CLUSTER, *waiting]).out
    assert ASSUMED.format("1.37") in out


def test_a_version_that_is_assumed_is_no_word_worth(report):
    assert ASSUMED not in report("-A").out


def scheduled(**profile):
    """A KubeSchedulerConfiguration with one profile."""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**head, "profiles": [profile]}


def test_the_configuration_of_the_scheduler_counts(report):
    default = {"maxSkew": 4, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [default]}
    file = scheduled(pluginConfig=[{"name": "PodTopologySpread", "args": args}])
    bare = [*ZONES, *deployment(), service(), *pods("a1")]
    found = json.loads(report("-A -o json --scheduler-config file", bare, file=file).out)
    (one,) = found["workloads"]
    (constraint_,) = one["constraints"]

    assert (4, True, "scheduler") == (constraint_["maxSkew"], constraint_["hard"], constraint_["source"])
    assert one["foreignScheduler"] is None


@pytest.mark.parametrize("command", ["report", "pending", "simulate deployment/web -n shop rollout"])
def test_a_configuration_of_a_version_that_the_cluster_does_not_serve_is_refused(run, command):
    file = scheduled() | {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}
    items = {"apiVersion": "v1", "kind": "List", "items": [*ZONES, *deployment(constraint()), *pods("a1")]}
    code, out, err = run(f"{command} --cluster dump --scheduler-config file", dump=items, file=file)

    assert (2, "") == (code, out)
    assert "evenkeel: file: apiVersion: found" in err
    assert 0 == run(f"{command} --cluster dump --scheduler-config file --kubernetes-version 1.28").code


def test_a_pod_that_waits_is_explained_by_the_profile_of_its_scheduler(report):
    tainted = [node("n1", "a", taints=[INFRA]), *deployment(), *pods("")]
    file = scheduled(plugins={"filter": {"disabled": [{"name": "TaintToleration"}]}})

    assert "1 node(s) had untolerated taint(s)" in report("-A -o html", tainted).out
    assert "untolerated" not in report("-A -o html --scheduler-config file", tainted, file=file).out


def test_a_scheduler_that_no_profile_is_known_of_is_named(report):
    batch = deployment(constraint())
    batch[0]["spec"]["template"]["spec"]["schedulerName"] = "batch"
    cluster = [*ZONES, *batch]

    assert "placed by the scheduler batch, whose profile is not known" in report("-A", cluster).out
    assert "batch" == json.loads(report("-A -o json", cluster).out)["workloads"][0]["foreignScheduler"]
    assert "no profile" not in report("-A --scheduler-config f", cluster, f=scheduled(schedulerName="batch")).out


def test_a_configuration_of_the_scheduler_that_cannot_be_used_is_bad_input(report):
    file = scheduled(pluginConfig=[{"name": "NodeResourcesFit", "args": {"ignoredResources": "gpu"}}])
    code, out, err = report("-A --scheduler-config file", file=file)

    assert (2, "") == (code, out)
    assert err == 'evenkeel: file: profiles[0].pluginConfig[0].args.ignoredResources: found "gpu", wanted an array\n'


REPORTED = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [*ZONES, *deployment(EMPTY, constraint(topologyKey="rack"), uid="u1")],
}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--metrics-bind :1x", '--metrics-bind: found ":1x", wanted HOST:PORT with a port up to 65535'),
        (
            "--metrics-bind :0 --metrics-interval 1",
            "--metrics-interval: found 1, wanted 5 to 3600 seconds: each time it reads all Pods",
        ),
        (
            f"--metrics-bind :0 --metrics-interval {10**20}",
            f"--metrics-interval: found {10**20}, wanted 5 to 3600 seconds: each time it reads all Pods",
        ),
    ],
)
def test_metrics_options_that_cannot_be_used(run, options, said):
    assert (2, "", f"evenkeel: {said}\n") == run(f"report -A --cluster dump {options}", dump=REPORTED)


def with_claims(*names):
    """A workload whose Pods have claims, and the cluster that it is in."""
    running = pods("a1", "b1")
    for one, name in zip(running, names, strict=True):
        one["spec"].update(using(name))
    return [*ZONES, *deployment(constraint()), *running]


def test_where_claims_pin_pods(report):
    bound = [claim(name, f"pv-{name}") for name in ("x", "y")]
    volumes = [volume(f"pv-{name}", "a", of=name) for name in ("x", "y")]

    assert (
        "its PersistentVolumeClaims restrict Pods to zone a (2 claims)"
        in report("-A", [*with_claims("x", "y"), *bound, *volumes]).out
    )


def test_where_that_is_not_known(report):
    said = (
        "The nodes to which claims tie Pods are not known: persistentvolumeclaims and persistentvolumes cannot "
        "be listed"
    )

    assert said in report("-A", with_claims("x", "y")).err
    assert said not in report("-A").err  # No Pod has a claim.
