"""What a controller reads of an object that makes Pods."""

from __future__ import annotations

import pytest

from tests.support.build import workload
from webhook.objects.names import REVISION_ANNOTATION
from webhook.objects.update_strategies import DeploymentStrategy, StatefulSetUpdate
from webhook.objects.workload_object import read_workload_object


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
