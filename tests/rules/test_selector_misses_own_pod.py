"""The rule selector-misses-own-pod."""

from __future__ import annotations

import pytest

from tests.rules.judged import SERVER_WRITES, findings, shown
from tests.support.build import constraint, workload
from webhook.rules import RULES

ADDED = {
    "Deployment": "pod-template-hash",
    "StatefulSet": "statefulset.kubernetes.io/pod-name",
}


@pytest.mark.parametrize(("kind", "key"), ADDED.items())
def test_a_label_that_every_pod_gets_cannot_be_asked_not_to_exist(kind, key):
    """Its value is not known, so that nothing else that is asked of it is judged."""
    asked = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}
    found = {
        operator: [
            f.rule for f in findings(workload(kind, constraint(labelSelector=asked | {"matchExpressions": [one]})))
        ]
        for operator, one in (
            ("DoesNotExist", {"key": key, "operator": "DoesNotExist"}),
            ("Exists", {"key": key, "operator": "Exists"}),
            ("In", {"key": key, "operator": "In", "values": ["nope"]}),
        )
    }

    assert "selector-misses-own-pod" in found["DoesNotExist"]
    assert "selector-misses-own-pod" not in found["Exists"] + found["In"]


@pytest.mark.parametrize("key", ["job-name", "controller-uid"])
def test_a_job_with_a_selector_of_its_own_does_not_get_its_labels(key):
    asked = constraint(labelSelector={"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]})

    assert [] == misses_own_pod(workload("Job", asked, spec={"manualSelector": True}))
    assert misses_own_pod(workload("Job", asked))


def misses_own_pod(obj, **given):
    """The fields at which a selector misses the Pod's own labels."""
    return [one for one in shown(obj, **given) if one.startswith("selector-misses-own-pod")]


@pytest.mark.parametrize("key", ["job-name", "batch.kubernetes.io/job-name"])
@pytest.mark.parametrize(("name", "misses"), [("web", False), ("other", True)])
def test_a_job_is_judged_as_after_the_api_server_has_written_its_name(key, name, misses):
    asked = constraint(labelSelector={"matchLabels": {key: name}})
    before, after = workload("Job", asked, labels={}), workload("Job", asked, labels=SERVER_WRITES)

    assert misses == bool(misses_own_pod(before))
    assert shown(after) == shown(before)


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
@pytest.mark.parametrize("name", ["web", "web-1"])
def test_no_author_knows_a_name_that_is_generated(kind, name):
    """The API server has generated it before /validate, where a selector that names another is found."""
    asked = constraint(labelSelector={"matchLabels": {"job-name": name}})

    assert misses_own_pod(workload(kind, asked, name=None, generateName="web-"))


@pytest.mark.parametrize(
    "given",
    [
        {"spec": {"manualSelector": True}, "labels": {"job-name": "other"}},
        {"labels": {"job-name": "other"}},
        {"name": "{{ .Release.Name }}"},
    ],
    ids=["a selector of its own", "a label that is written", "a name that is rendered"],
)
def test_the_name_of_a_job_is_not_known(given):
    asked = constraint(labelSelector={"matchLabels": {"job-name": "other"}})

    assert [] == misses_own_pod(workload("Job", asked, **given))


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
@pytest.mark.parametrize("key", ["controller-uid", "batch.kubernetes.io/controller-uid"])
def test_nobody_knows_the_uid_of_a_job_before(key, kind):
    assert misses_own_pod(workload(kind, constraint(labelSelector={"matchLabels": {key: "8a3f"}})))
    assert [] == misses_own_pod(workload(kind, constraint(labelSelector={}, matchLabelKeys=[key])))


@pytest.mark.parametrize("name", ["web", "web-1", "other"])
def test_a_cron_job_never_has_a_job_of_a_name_that_stands_in_it(name):
    """Its Jobs are named after the time at which each is due."""
    asked = {
        operator: {"matchExpressions": [{"key": "job-name", **one}]}
        for operator, one in (
            ("In", {"operator": "In", "values": [name]}),
            ("NotIn", {"operator": "NotIn", "values": [name]}),
            ("Exists", {"operator": "Exists"}),
        )
    }
    found = {name: misses_own_pod(workload("CronJob", constraint(labelSelector=one))) for name, one in asked.items()}

    assert {"In": ["selector-misses-own-pod [0].labelSelector"], "NotIn": [], "Exists": []} == found
    assert [] == shown(workload("CronJob", constraint(labelSelector={}, matchLabelKeys=["job-name"])))


def test_a_selector_of_expressions_that_misses_its_own_pod_has_no_single_repair():
    expression = {"key": "app", "operator": "In", "values": ["db", "api"]}
    selectors = [
        {"matchExpressions": [expression]},
        {"matchLabels": {"app": "web"}, "matchExpressions": [expression]},
        {"matchLabels": {"app": "db"}, "matchExpressions": []},
    ]
    found = [one for obj in selectors for one in findings(workload("StatefulSet", constraint(labelSelector=obj)))]

    assert ["selector-misses-own-pod"] * 3 == [one.rule for one in found]
    assert [True, True, False] == [one.edit is None for one in found]
    assert [True, True, False] == [one.fix == RULES["selector-misses-own-pod"].fix for one in found]


@pytest.mark.parametrize(
    ("minor", "key", "found"),
    [
        (26, "batch.kubernetes.io/job-name", ["selector-misses-own-pod"]),
        (27, "batch.kubernetes.io/job-name", []),
        (26, "job-name", []),
    ],
)
def test_the_prefixed_labels_of_a_job_are_there_since_1_27(minor, key, found):
    job = workload("Job", constraint(labelSelector={"matchLabels": {key: "web"}}))

    assert found == [f.rule for f in findings(job, minor=minor)]


@pytest.mark.parametrize(("key", "of_jobs"), [("app", False), ("job-name", True)])
def test_only_a_label_of_jobs_is_to_be_a_match_label_key_of_a_cron_job(key, of_jobs):
    made = workload("CronJob", constraint(labelSelector={"matchLabels": {key: "db"}}))
    (fix,) = [one.fix for one in findings(made) if one.rule == "selector-misses-own-pod"]

    assert of_jobs == ("matchLabelKeys: [job-name]" in fix)


def test_only_the_uid_of_a_job_is_known_to_nobody():
    asked = constraint(labelSelector={"matchLabels": {"tenant-uid": "8"}})
    (found,) = [
        one
        for one in findings(workload("StatefulSet", asked, labels={"app": "web", "tenant-uid": "7"}))
        if one.rule == "selector-misses-own-pod"
    ]

    assert "tenant-uid=7" in found.message


@pytest.mark.parametrize(
    ("selector", "labels", "asked"),
    [
        ({"matchLabels": {"app": "web"}}, {"app": "api"}, "app=web"),
        ({"matchLabels": {"app": "web", "tier": "x"}}, {"app": "api", "tier": "x"}, "app=web"),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, {"app": "api"}, "app in (web)"),
        ({"matchLabels": {"app": "api"}}, {"app": "api"}, ""),
        ({"matchLabels": {"app": "api", "pod-template-hash": "1"}}, {"app": "api"}, ""),
    ],
    ids=["the same labels", "one of two", "an expression", "a selector that matches", "a label that is added"],
)
def test_the_template_is_named_where_its_own_selector_misses_it_too(selector, labels, asked):
    """The API server refuses such an object, so its constraint is not what to change."""
    obj = workload("Deployment", constraint(), labels=labels, spec={"selector": selector})
    (found,) = (one for one in findings(obj) if one.rule == "selector-misses-own-pod")

    if asked:
        fix = f"give the Pod template {asked}, as spec.selector asks: the API server requires it"
        assert (fix, None) == (found.fix, found.edit)
    else:
        assert "spec.selector" not in found.fix
