"""The rights that a live view of a cluster needs."""

from __future__ import annotations

import json

import pytest

from webhook.cluster.listed import LISTED
from webhook.cluster.watched import watched
from webhook.manifests.rbac import rbac, viewer
from webhook.policy import parsing as policies
from webhook.policy.schema import API_VERSION, KIND


@pytest.mark.parametrize("watch_pods", [False, True])
def test_the_rights_are_those_of_the_kinds_that_are_watched(watch_pods):
    policy = policies.parse_policy(json.dumps({"apiVersion": API_VERSION, "kind": KIND, "watchPods": watch_pods}))
    account, role, binding = rbac(policy, "guard", "keel")
    granted = {(group, name) for rule in role["rules"] for group in rule["apiGroups"] for name in rule["resources"]}

    assert {(one.api_group, one.resource) for one in watched(watch_pods)} == granted
    assert watch_pods == (("", "pods") in granted)
    assert all(["get", "list", "watch"] == rule["verbs"] for rule in role["rules"])
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert {"kind": "ServiceAccount", "namespace": "guard", "name": "keel"} == binding["subjects"][0]
    assert ("guard", "keel") == (account["metadata"]["namespace"], account["metadata"]["name"])


def test_people_may_get_and_list_exactly_what_commands_list():
    role = viewer()
    granted = {(group, name) for rule in role["rules"] for group in rule["apiGroups"] for name in rule["resources"]}

    assert ("ClusterRole", "evenkeel-viewer") == (role["kind"], role["metadata"]["name"])
    assert {(one.api_group, one.resource) for one in LISTED} == granted
    assert all(["get", "list"] == rule["verbs"] for rule in role["rules"])
    assert len(LISTED) == sum(len(rule["resources"]) for rule in role["rules"]), "none of them twice"
