"""evenkeel pending: which Pods it lists, and its exit codes."""

from __future__ import annotations

import json
import re

import pytest

from evenkeel.clusters import known_cluster
from evenkeel.clusters.contents import Contents
from tests.support.build import namespace, pod
from tests.support.placing import INFRA, node, requesting, running

NOT_HELPFUL = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
SAID = f"0/1 nodes are available: 1 node(s) had untolerated taint(s). {NOT_HELPFUL}"


def waiting(name, *, reason="Unschedulable", message=SAID, spec=None, **metadata):
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    raw = pod(name=name, spec={"containers": requesting(), **(spec or {})}, **metadata)
    return raw | {"status": {"phase": "Pending", "conditions": [condition]}}


CLUSTER = [
    node("n1", taints=[INFRA]),
    waiting("web-1"),
    waiting("web-2", labels={"app": "db"}),
    waiting("gated", reason="SchedulingGated"),
    waiting("other", spec={"schedulerName": "volcano"}),
    waiting("going", deletionTimestamp="2026-01-01T00:00:00Z"),
    waiting("elsewhere", namespace="other"),
    pod(name="new"),
    running("n1"),
]


@pytest.fixture
def pending(run):
    def ask(options="", cluster=CLUSTER):
        items = {"apiVersion": "v1", "kind": "List", "items": cluster}
        return run(f"pending --cluster dump {options}", dump=items)

    return ask


def test_what_kube_scheduler_refused_is_listed_and_what_else_waits_is_counted(pending):
    code, out, err = pending("-n shop")

    assert (0, "") == (code, err)
    assert "2 Pods could not be placed." == out.splitlines()[0]
    assert "Pod shop/web-1 in shop, 1 Pod: web-1" in out
    assert "1 more Pod waits: SchedulingGated." in out
    assert "1 more Pod waits: not tried yet." in out
    assert "1 more Pod waits: placed by the scheduler volcano." in out
    assert "kube-scheduler said" not in out, "of all Pods, the same is computed"


def test_the_next_command_reads_the_same_cluster(pending):
    """Only a change in the template helps."""
    nowhere = waiting("web-1", spec={"nodeSelector": {"no": "node"}}, owner="ReplicaSet/web")
    out = pending("-n shop --kubernetes-version 1.36", [node("n1"), nowhere]).out
    (command,) = re.findall("to simulate it: evenkeel (.*)$", out, re.MULTILINE)

    assert "explain pod/web-1 -n shop --cluster dump --kubernetes-version 1.36" == command


def test_where_a_pod_waits_it_says_who_makes_nodes(pending):
    by_karpenter = node("n1", labels={"karpenter.sh/nodepool": "general"})
    full = [by_karpenter, running("n1", cpu="8"), waiting("web-1")]
    out = pending("-n shop", full).out.splitlines()
    as_json = json.loads(pending("-n shop -o json", full).out)

    assert "  Karpenter may add it by itself" in out
    assert any(line.startswith("Karpenter makes nodes here;") for line in out)
    assert any(note.startswith("Karpenter makes nodes here;") for note in as_json["notes"])
    assert ["Karpenter may add it by itself"] == [group["remedy"]["byItself"] for group in as_json["groups"]]
    assert "Karpenter" not in pending("-n shop", [by_karpenter]).out


def pods(found):
    return sorted(name for group in json.loads(found.out)["groups"] for name in group["pods"])


def test_namespaces_and_labels(pending):
    assert ["elsewhere", "web-1", "web-2"] == pods(pending("-A -o json")) == pods(pending("-o json"))
    assert ["web-2"] == pods(pending("-n shop -l app=db -o json"))
    assert [] == pods(pending("-l app=nobody -o json"))


def test_exit_codes(pending):
    assert 1 == pending("-A --fail-on pending").code
    assert 0 == pending("-A --fail-on pending", [node("n1")]).code
    assert 0 == pending("-n shop -l app=nobody --fail-on pending").code
    assert 2 == pending("-l ===").code


QUIET = namespace(name="quiet")
RUNNING = [node("n1"), QUIET, running("n1"), running("n1"), running("n1", namespace="other")]
OF_NO_NODE = "o Pod that waits for lack of a node"


@pytest.mark.parametrize(
    ("options", "cluster", "said"),
    [
        ("", RUNNING, "No Pod waits for lack of a node; looked at 3 Pods."),
        ("-n shop", RUNNING, "No Pod waits for lack of a node; looked at 2 Pods in namespace shop."),
        ("-n quiet", RUNNING, "Found no Pod that runs or waits in namespace quiet; 2 in shop, 1 in other: name one "),
        ("", [node("n1")], "Found no Pod that runs or waits; dump shows none; kubectl get nodes,pods,"),
        ("-n quiet", [*CLUSTER, QUIET], f"Found n{OF_NO_NODE} in namespace quiet; 2 in shop, 1 in other: name one "),
        ("-n other -l app=db", CLUSTER, f"Found n{OF_NO_NODE} in namespace other with the labels app=db; 1 in shop: "),
        ("-l app=x", CLUSTER, f"Found n{OF_NO_NODE} with the labels app=x; 3 there have other labels: change -l, "),
        (
            "-n shop",
            [*RUNNING, pod(name="new")],
            "No Pod waits for lack of a node; looked at 3 Pods in namespace shop.",
        ),
    ],
)
def test_where_none_is_listed_it_says_what_was_looked_at_and_where_others_wait(pending, options, cluster, said):
    found = pending(options, cluster)
    notes = json.loads(pending(f"{options} -o json", cluster).out)["notes"]

    assert (0, "") == (found.code, found.err)
    assert found.out.startswith(said)
    assert any(note.startswith(said) for note in notes)


def test_how_many_wait_elsewhere_is_in_the_json(pending):
    assert {"shop": 2, "other": 1} == json.loads(pending("-n quiet -o json", [*CLUSTER, QUIET]).out)["elsewhere"]
    assert {} == json.loads(pending("-A -o json").out)["elsewhere"]


def test_a_namespace_that_is_not_there_is_an_error(pending):
    assert (2, "", "evenkeel: namespace shpo: not in dump; did you mean shop?\n") == pending("-n shpo")


@pytest.mark.parametrize("options", ["-n shop -l app=db", "-n shop", "-A"])
def test_pods_that_were_not_asked_for_take_room_too(pending, options):
    """Once n1 is open it has room for two Pods; a higher priority takes it first."""
    high = waiting("high", spec={"priority": 5}, namespace="other")
    web, db = waiting("web-1", spec={"priority": 1}), waiting("db-1", labels={"app": "db"})
    out = pending(options, [node("n1", taints=[INFRA], pods="2"), high, web, db]).out

    assert ("-l" in options) == ("taint dedicated" not in out)
    assert ("1 of 2 waiting Pods then runs" in out) == (options == "-n shop")


def test_where_pods_of_other_namespaces_cannot_be_listed_it_says_that_they_may_take_room(run, monkeypatch):
    def contents(_, namespace="", *__, **___):
        return Contents(iter([node("n1"), waiting("web-1")]), {} if namespace else {"pods": "is forbidden"}, namespace)

    monkeypatch.setattr("evenkeel.clusters.reading.contents", contents)

    assert "Pods of other namespaces cannot be listed, so a node may have less room than shown: they may use " in (
        run("pending -n shop --cluster dump").err
    )


def test_pods_of_each_scheduler_of_the_configuration_are_compared(run):
    volcano = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "volcano"}],
    }
    items = {"apiVersion": "v1", "kind": "List", "items": CLUSTER}
    done = run("pending --cluster dump -n shop --scheduler-config file -o json", dump=items, file=volcano)

    assert ["other"] == [pod for group in json.loads(done.out)["groups"] for pod in group["pods"]]


def test_a_version_that_is_assumed_is_said_where_the_schedulers_words_differ(pending):
    of_1_33 = f"0/1 nodes are available: 1 node(s) had untolerated taint {{dedicated: infra}}. {NOT_HELPFUL}"
    cluster = [node("n1", taints=[INFRA]), waiting("web-1", message=of_1_33)]
    assumed = known_cluster.ASSUMED.format("1.37")

    assert [
        assumed,
        "evenkeel's arithmetic agrees with what kube-scheduler said for 0 of 1 Pod; evenkeel explain shows both.",
    ] == (pending("-n shop", cluster=cluster).out.splitlines()[-2:])
    assert assumed in json.loads(pending("-n shop -o json", cluster=cluster).out)["notes"]
    assert assumed not in pending("-n shop --kubernetes-version 1.33", cluster=cluster)[1]
    assert assumed not in pending("-n shop")[1]


def test_where_no_pod_may_be_listed_it_does_not_say_that_none_waits(run, monkeypatch):
    contents = Contents(iter([node("n1")]), {"pods": "is forbidden"})
    monkeypatch.setattr("evenkeel.clusters.reading.contents", lambda *_, **__: contents)
    code, out, err = run("pending -A --fail-on pending --cluster dump")

    assert (2, "") == (code, out)
    assert err.startswith("evenkeel: pods: is forbidden; without Pods, those that wait cannot be listed; ")


def test_what_cannot_be_judged_is_in_the_json(run, monkeypatch):
    contents = Contents(iter([node("n1")]), {"services": "is forbidden"})
    monkeypatch.setattr("evenkeel.clusters.reading.contents", lambda *_, **__: contents)

    assert "services cannot be listed: is forbidden" in json.loads(run("pending -o json --cluster dump").out)["notes"]


def test_what_is_not_judged_is_named_and_fails_only_where_that_is_asked_for(pending):
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    asking = waiting("db-0", spec={"volumes": [claim]})
    cluster = [node("n1", taints=[INFRA]), asking]
    code, out, _ = pending("-A --fail-on not-judged", cluster)

    assert (1, True) == (code, "  volumes are not judged" in out.splitlines())
    assert ["volumes"] == json.loads(pending("-A -o json", cluster).out)["groups"][0]["notJudged"]
    assert 0 == pending("-A --fail-on not-judged").code


@pytest.mark.parametrize("message", ["0/1 nodes are available", "0/1 nodes are available: .", ""])
def test_a_message_that_gives_no_reason_is_not_compared(pending, message):
    out = pending("-n shop", cluster=[node("n1", taints=[INFRA]), waiting("web-1", message=message)]).out

    assert "agree" not in out
    assert "is assumed" not in out
