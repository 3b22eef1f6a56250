"""The rights that a live view of a cluster needs."""

from __future__ import annotations

from tests.support.build import policy
from webhook.cluster.listed_resources import LISTED_RESOURCES
from webhook.cluster.watched_resources import WATCHED
from webhook.manifests.rbac import rbac, viewer


def test_the_rights_are_those_of_the_kinds_that_are_watched():
    account, role, binding = rbac("guard", "keel")
    rules = [rule for rule in role["rules"] if "resourceNames" not in rule]
    granted = {(group, name) for rule in rules for group in rule["apiGroups"] for name in rule["resources"]}

    assert {(one.api_group, one.resource) for one in WATCHED} == granted
    assert all(["get", "list", "watch"] == rule["verbs"] for rule in rules)
    assert [
        (["mutatingwebhookconfigurations"], ["zz-evenkeel"], ["get"]),
        (["validatingwebhookconfigurations"], ["evenkeel"], ["get"]),
    ] == named(role)
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert {"kind": "ServiceAccount", "namespace": "guard", "name": "keel"} == binding["subjects"][0]
    assert ("guard", "keel") == (account["metadata"]["namespace"], account["metadata"]["name"])


def test_with_a_secret_it_may_be_renewed_and_its_ca_written_into_both_configurations():
    _, role, _, secret, local, binding = rbac("guard", "keel", secret=("other", "cert"))

    assert rbac("guard", "keel")[1]["rules"][:-2] == role["rules"][:-2]
    assert [
        (["mutatingwebhookconfigurations"], ["zz-evenkeel"], ["get", "update"]),
        (["validatingwebhookconfigurations"], ["evenkeel"], ["get", "update"]),
    ] == named(role)
    assert ("other", "cert", None) == (*(secret["metadata"][at] for at in ("namespace", "name")), secret.get("data"))
    assert [(["cert"], ["get", "update"]), (None, ["create"])] == [
        (rule.get("resourceNames"), rule["verbs"]) for rule in local["rules"]
    ]
    assert {"other"} == {one["metadata"]["namespace"] for one in (local, binding)}
    assert [{"kind": "ServiceAccount", "namespace": "guard", "name": "keel"}] == binding["subjects"]


def named(role):
    """What it may do with single objects."""
    rules = [rule for rule in role["rules"] if "resourceNames" in rule]
    return [(rule["resources"], rule["resourceNames"], rule["verbs"]) for rule in rules]


def test_people_may_get_and_list_what_commands_list():
    kinds = {"apiVersion": "example.com/v1", "kind": "Web", "resource": "webs", "podTemplate": "spec.template"}
    role = viewer(policy(workloads=[kinds]))
    rules = role["rules"]
    granted = {(*rule["apiGroups"], name): rule["verbs"] for rule in rules for name in rule["resources"]}

    assert ("ClusterRole", "evenkeel-viewer") == (role["kind"], role["metadata"]["name"])
    custom = {("argoproj.io", "rollouts"), ("apps.kruise.io", "clonesets"), ("apps.kruise.io", "statefulsets")}
    listed = {(one.api_group, one.resource) for one in LISTED_RESOURCES}
    assert listed | custom | {("example.com", "webs")} == granted.keys()
    assert all(verbs == ["get", "list"] for verbs in granted.values())
    assert len(granted) == sum(len(rule["resources"]) for rule in rules), "none of them twice"
