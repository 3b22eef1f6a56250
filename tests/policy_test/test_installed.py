"""Which policies are in a cluster, and where they are not those that the policy file asks for."""

from __future__ import annotations

import copy
from functools import cache

import pytest

from tests.support.apiserver import ApiServer
from tests.support.build import FEATURES, policy
from tests.support.watching import configured
from webhook.cluster.client import Client, ClusterError
from webhook.loading.usage import UsageError
from webhook.manifests.acting import Export
from webhook.manifests.admission_policies import admission_policies
from webhook.manifests.policy_objects import CEL_BINDING
from webhook.policy_test.installed import CEL_RESOURCES, difference, not_in_force, read_installed

CEL_POLICY = "ValidatingAdmissionPolicy"
STRICT, LAX = "Deny", "Warn"
PRINT = "print | kubectl apply -f -"


@cache
def export(enforcement):
    return Export(policy(enforcement=enforcement), FEATURES)


def installed(enforcement):
    """The policies, with what the API server adds to them."""
    made = {
        (each["kind"], each["metadata"]["name"]): copy.deepcopy(each)
        for each in admission_policies(export(enforcement))
    }
    for (kind, _), manifest in made.items():
        manifest["metadata"]["uid"] = "u"
        if kind == CEL_POLICY:
            manifest["spec"]["matchConstraints"] |= {"matchPolicy": "Equivalent", "objectSelector": {}}
        else:
            manifest["spec"]["matchResources"] |= {"matchPolicy": "Equivalent", "objectSelector": {}}
    return made


def said(enforcement, there):
    return list(not_in_force(export(enforcement), there, "print"))


def test_what_the_api_server_adds_is_no_difference():
    assert [] == said(STRICT, installed(STRICT))
    assert [] == said(LAX, installed(LAX))


@pytest.mark.parametrize(
    ("kind", "path", "value", "at"),
    [
        (CEL_POLICY, ("variables", 0, "expression"), "true", "spec.variables[0].expression"),
        (CEL_POLICY, ("validations", 1, "message"), "", "spec.validations[1].message"),
        (CEL_POLICY, ("validations",), [], "spec.validations"),
        (CEL_POLICY, ("failurePolicy",), "Fail", "spec.failurePolicy"),
        (CEL_POLICY, ("validations", 0, "reason"), "Invalid", "spec.validations[0].reason"),
        (
            CEL_POLICY,
            ("matchConstraints", "resourceRules", 0, "resourceNames"),
            ["web"],
            "spec.matchConstraints.resourceRules[0].resourceNames",
        ),
        (CEL_BINDING, ("validationActions", 0), "Audit", "spec.validationActions[0]"),
    ],
)
def test_where_a_policy_is_another_it_is_said_with_what_to_do(kind, path, value, at):
    line = f"{kind} evenkeel: {at} differs from what evenkeel prints for the policy; apply it again: {PRINT}"
    assert [line] == said(STRICT, changed(kind, path, value))


def changed(kind, path, value):
    there = installed(STRICT)
    place = there[kind, "evenkeel"]["spec"]
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return there


@pytest.mark.parametrize(
    ("kind", "path", "value", "at"),
    [
        (CEL_POLICY, ("paramKind",), {"kind": "A", "apiVersion": "b/v1"}, "spec.paramKind"),
        (CEL_POLICY, ("matchConstraints", "matchPolicy"), "Exact", "spec.matchConstraints.matchPolicy"),
        (
            CEL_POLICY,
            ("matchConstraints", "objectSelector"),
            {"matchLabels": {"a": ""}},
            "spec.matchConstraints.objectSelector",
        ),
        (
            CEL_POLICY,
            ("matchConstraints", "excludeResourceRules"),
            [{"apiGroups": ["apps"]}],
            "spec.matchConstraints.excludeResourceRules",
        ),
        (CEL_BINDING, ("paramRef",), {"name": "a"}, "spec.paramRef"),
        (
            CEL_BINDING,
            ("matchResources", "objectSelector"),
            {"matchLabels": {"a": "b"}},
            "spec.matchResources.objectSelector",
        ),
        (
            CEL_BINDING,
            ("matchResources", "excludeResourceRules"),
            [{"apiGroups": ["apps"]}],
            "spec.matchResources.excludeResourceRules",
        ),
    ],
)
def test_what_somebody_has_added_is_said_and_that_kubectl_apply_keeps_it(kind, path, value, at):
    line = (
        f"{kind} evenkeel: {at} was added by another client, and kubectl apply keeps it; remove it: kubectl edit "
        f"{kind.lower()} evenkeel"
    )
    assert [line] == said(STRICT, changed(kind, path, value))


def test_in_which_namespaces_a_binding_holds_is_the_clusters_own_affair():
    there = installed(STRICT)
    for resources in ({}, {"namespaceSelector": {"matchLabels": {"a": "b"}}}):
        there[CEL_BINDING, "evenkeel"]["spec"]["matchResources"] = resources
        assert [] == said(STRICT, there)


def test_what_is_not_there_is_said_and_what_is_there_without_need():
    """kubectl apply deletes nothing."""
    lacking = said(STRICT, {})
    assert f"found no {CEL_POLICY} evenkeel in the cluster; apply it: {PRINT}" == lacking[0]
    assert 4 == len(lacking)
    strict_there = installed(STRICT) | installed(LAX)
    assert [
        f"{CEL_BINDING} evenkeel: is in the cluster, but the policy does not need it; remove it: "
        "kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy evenkeel --ignore-not-found"
    ] == said(LAX, strict_there)


def test_what_is_empty_and_what_is_absent_are_no_difference():
    assert () == difference({"a": [], "b": {"c": ""}}, {}, ())
    assert ("b", "c") == difference({"b": {"c": 0}}, {"b": {"c": 1}}, ())
    assert ("a", 1) == difference({"a": [1, 2]}, {"a": [1, 3]}, ())
    assert () == difference({"a": 1}, {"a": 1, "b": {}, "matchPolicy": "Equivalent"}, ())
    assert ("b",) == difference({"a": 1}, {"a": 1, "b": {"c": ""}}, ())
    assert ("a", "b") == difference({"a": {}}, {"a": {"b": 1}}, ())


@pytest.fixture
def api():
    running = ApiServer()
    yield running
    running.stop()


def test_policies_are_read_by_their_names(api):
    made = installed(STRICT)
    for (kind, name), manifest in made.items():
        api.further[f"{CEL_RESOURCES[kind]}/{name}"] = manifest

    assert made == read_installed(Client(lambda: configured(api.url)))


def test_who_may_not_read_them_is_told_the_right(api):
    path = f"{CEL_RESOURCES[CEL_POLICY]}/evenkeel"
    api.further[path] = 403
    with pytest.raises(UsageError, match=f"{path}: 403 .*; ask for the right to get validatingadmissionpolicies and"):
        read_installed(Client(lambda: configured(api.url)))
    api.further[path] = 500
    with pytest.raises(ClusterError, match="500"):
        read_installed(Client(lambda: configured(api.url)))
