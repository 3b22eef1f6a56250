"""The Pods that a controller would make next."""

from __future__ import annotations

import pytest

from evenkeel.report.next_pods import anew, made_pods
from tests.support.build import constraint, owned_by, pod, workload
from tests.support.reporting import deployment, inventory, made_by, pods
from webhook.kubernetes.features import LATEST, features
from webhook.kubernetes.kinds import KINDS
from webhook.spread.constraint import as_stored

KEYED = constraint(matchLabelKeys=["v"])


def made(*objects):
    """The Pods of the only workload."""
    (one,) = inventory(*objects).workloads()
    return made_pods(one, KINDS, LATEST)


def owner(one):
    (found,) = one.sent["metadata"]["ownerReferences"]
    return f"{found['kind']}/{found['name']}"


def labels(one):
    return one.sent["metadata"]["labels"]


def test_a_deployments_pod_is_made_by_the_replica_set_of_its_template():
    (found,) = made(*deployment(constraint()), *pods("a1"))

    assert ("ReplicaSet/web-5d", {"app": "web", "pod-template-hash": "5d"}) == (owner(found), labels(found))
    assert [constraint()] == found.sent["spec"]["topologySpreadConstraints"]
    assert found.raw is found.sent


def test_and_by_one_that_is_yet_to_be_where_there_is_none():
    (found,) = made(workload("Deployment"))

    assert "ReplicaSet/web-new" == owner(found)


def test_labels_that_only_the_controller_knows_are_those_of_the_newest_pod():
    of_set = {"app": "web", "controller-revision-hash": "7f", "statefulset.kubernetes.io/pod-name": "web-0"}
    (found,) = made(workload("StatefulSet"), made_by("StatefulSet/web", "web-0", "a1", labels=of_set))

    assert of_set == labels(found)
    assert "StatefulSet/web" == owner(found)


@pytest.mark.parametrize(
    ("kind", "of_newest", "wanted"),
    [("CronJob", None, "Job/web-new"), ("CronJob", "Job/web-1", "Job/web-1"), ("Job", "Job/web", "Job/web")],
)
def test_who_makes_the_pods_of_a_job(kind, of_newest, wanted):
    objects = [workload(kind)]
    if kind == "CronJob" and of_newest:
        objects.append(workload("Job", name="web-1", owner="CronJob/web"))
    (found,) = made(*objects, *([made_by(of_newest, "web-1-a", "a1", api_version="batch/v1")] if of_newest else []))

    assert wanted == owner(found)


def test_the_pods_of_a_custom_resource_are_made_by_what_made_the_newest():
    rollout = workload("Rollout") | {"apiVersion": "argoproj.io/v1alpha1"}
    between = workload("ReplicaSet", name="web-1")
    between["metadata"] |= owned_by("Rollout/web")
    between["metadata"]["ownerReferences"][0]["apiVersion"] = "argoproj.io/v1alpha1"
    (found,) = made(rollout, between, made_by("ReplicaSet/web-1", "web-1-a", "a1"))

    assert "ReplicaSet/web-1" == owner(found)


def test_a_daemon_sets_pod_is_tied_to_a_node():
    (found,) = made(workload("DaemonSet", constraint()))
    terms = found.sent["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]

    assert "metadata.name" == terms["nodeSelectorTerms"][0]["matchFields"][0]["key"]
    assert "affinity" not in found.raw["spec"]


def test_where_no_template_is_known_the_newest_pod_is_made_anew():
    (found,) = made(made_by("Cluster/db", "db-1", "a1", api_version="postgresql.cnpg.io/v1"))

    assert ("Cluster/db", {}) == (owner(found), found.sent["spec"])
    assert not {"uid"} & found.sent["metadata"].keys()
    assert () == made(workload("Rollout", spec={"template": None}) | {"apiVersion": "argoproj.io/v1alpha1"})


@pytest.mark.parametrize("written", [KEYED, constraint(matchLabelKeys=["v"], labelSelector={"matchExpressions": []})])
@pytest.mark.parametrize("minor", [33, 34])
def test_a_pod_anew_has_its_keys_unmerged(minor, written):
    of_minor = features(minor)
    new = pod(written, labels={"app": "web", "v": "1"})
    merged = as_stored([written], new["metadata"]["labels"], of_minor)
    stored = new | {"spec": {"topologySpreadConstraints": merged, "nodeName": "a1"}}
    again = anew(stored, of_minor)

    assert merged == as_stored(again["spec"]["topologySpreadConstraints"], new["metadata"]["labels"], of_minor)


def test_what_was_not_merged_stays():
    written = constraint(matchLabelKeys=["v"], labelSelector={"matchExpressions": [{"key": "v", "operator": "Exists"}]})
    again = anew(pod(written, labels={"v": "1"}), LATEST)

    assert [written] == again["spec"]["topologySpreadConstraints"]


def test_a_pod_anew_has_neither_node_nor_status_nor_what_evenkeel_gave_it():
    zone = {"app": "web", "topology.kubernetes.io/zone": "a"}
    annotations = {"evenkeel.dev/defaulted-by": "policy", "evenkeel.dev/ignore": "x"}
    stored = pod(constraint(), labels=zone, uid="u", annotations=annotations, spec={"nodeName": "a1"})
    found = anew(stored | {"status": {"phase": "Running"}}, LATEST)

    assert {"apiVersion", "kind", "metadata", "spec"} == found.keys()
    assert {} == found["spec"]
    assert ({"app": "web"}, {"evenkeel.dev/ignore": "x"}) == (
        found["metadata"]["labels"],
        found["metadata"]["annotations"],
    )
    assert zone == anew(stored, features(34))["metadata"]["labels"], "the user's own"


def test_an_older_replica_set_makes_no_more_pods_though_the_newest_pod_is_its():
    """As after a rollout that has not begun yet."""
    labels = {"app": "web", "pod-template-hash": "old"}
    old = workload("ReplicaSet", constraint(maxSkew=9), name="web-old", labels=labels, owner="Deployment/web")
    of_old = made_by("ReplicaSet/web-old", "web-old-1", "a1", labels=labels)
    (found,) = made(*deployment(constraint()), old, of_old)

    assert ("ReplicaSet/web-5d", "5d") == (owner(found), found.sent["metadata"]["labels"]["pod-template-hash"])


@pytest.mark.parametrize(("minor", "left"), [(33, 1), (34, 0)])
def test_before_keys_were_merged_an_expression_of_one_is_the_users_own(minor, left):
    own = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}]}
    again = anew(pod(constraint(matchLabelKeys=["v"], labelSelector=own), labels={"v": "1"}), features(minor))
    (found,) = again["spec"]["topologySpreadConstraints"]

    assert left == len(found["labelSelector"]["matchExpressions"])
