"""What a controller reads of an object that makes Pods."""

from __future__ import annotations

import pytest

from evenkeel.objects.workload_object import (
    IF_DELETED,
    IF_RESUMED,
    IN_PART,
    OF_NEXT_JOB,
    ROLLS_OUT,
    UNCHANGEABLE,
    reach_of_template,
    read_workload_object,
)
from tests.support.build import workload
from webhook.kubernetes.names import REVISION_ANNOTATION
from webhook.kubernetes.update_strategies import DeploymentStrategy, StatefulSetUpdate


@pytest.mark.parametrize(("written", "replicas"), [(3, 3), (0, 0), (None, None), (-1, None), (True, None), ("3", None)])
def test_replicas_are_a_number_of_0_or_more(written, replicas):
    assert replicas == read_workload_object({"spec": {"replicas": written}}).replicas


@pytest.mark.parametrize(("written", "seconds"), [(None, 0), (30, 30), (-1, 0), (True, 0), ("30", 0)])
def test_how_long_a_pod_is_ready_before_it_is_available(written, seconds):
    assert seconds == read_workload_object({"spec": {"minReadySeconds": written}}).min_ready_seconds


@pytest.mark.parametrize(("written", "revision"), [("7", 7), (7, 0), ("seven", 0), ("9" * 20, 0), (None, 0)])
def test_the_revision_is_the_number_of_the_annotation(written, revision):
    raw = {"metadata": {"annotations": {REVISION_ANNOTATION: written}}}

    assert revision == read_workload_object(raw).revision


def test_an_empty_object_has_nothing():
    empty = read_workload_object({"spec": 5})

    assert (None, None, 0, {}, {}, []) == (
        empty.owner,
        empty.replicas,
        empty.revision,
        empty.template,
        empty.selector,
        empty.volume_claim_templates,
    )
    assert ("", "", False) == (empty.update_revision, empty.current_revision, empty.paused)
    assert (DeploymentStrategy(), StatefulSetUpdate()) == (empty.deployment_strategy, empty.stateful_set_update)


def test_a_deployment_that_is_paused():
    assert read_workload_object(workload("Deployment", spec={"paused": True})).paused


@pytest.mark.parametrize(
    ("kind", "spec", "reach"),
    [
        ("apps/v1 Deployment", {}, ROLLS_OUT),
        ("apps/v1 Deployment", {"paused": True}, IF_RESUMED),
        ("apps/v1 StatefulSet", {}, ROLLS_OUT),
        ("apps/v1 StatefulSet", {"updateStrategy": {"rollingUpdate": {"partition": 1}}}, IN_PART),
        ("apps/v1 StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, IF_DELETED),
        ("apps/v1 DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, IF_DELETED),
        ("apps/v1 DaemonSet", None, ROLLS_OUT),
        ("apps/v1 ReplicaSet", {}, IF_DELETED),
        ("v1 ReplicationController", {}, IF_DELETED),
        ("batch/v1 CronJob", {}, OF_NEXT_JOB),
        ("batch/v1 Job", {}, UNCHANGEABLE),
        ("example.com/v1 Job", {}, ROLLS_OUT),
        ("example.com/v1 ReplicaSet", {}, ROLLS_OUT),
    ],
)
def test_the_pods_to_which_a_change_of_the_template_comes(kind, spec, reach):
    api_version, name = kind.split()

    assert reach == reach_of_template({"apiVersion": api_version, "kind": name, "spec": spec})
