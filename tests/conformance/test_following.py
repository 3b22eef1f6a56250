"""A framework that follows Pods as they come and go says what one says that sees them all at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.pod_counts import UNUSED, BoundPod
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import read_object
from evenkeel.scheduler.volumes import PodVolume
from tests.conformance.cases import read
from tests.conformance.defaults import in_force
from tests.conformance.placement import read_pod, read_snapshot, system_defaults
from tests.support import DATA
from webhook.kubernetes.features import parse_version

EVERY = 4  # Of the recorded cases one in so many.


def cases(version, recorded):
    return list(islice(read(DATA / version / recorded), 0, None, EVERY))


def bound_pods(case, features):
    """Each Pod that takes up room, with its namespace."""
    for raw in case["pods"]:
        namespace, _, pod = read_object(raw, "v1", "Pod", features)
        if isinstance(pod, BoundPod):
            yield namespace, pod


def follow(framework, usage, namespace, pod, number):
    """Let a Pod come, or go if the number is negative."""
    usage[pod.node] = usage.get(pod.node, UNUSED).plus(pod.requests, number)
    framework.add_pods(pod.info(namespace), pod.node, number)
    framework.set_usage(pod.node, usage[pod.node])


def said(framework):
    """All that it says of the Pod; the order of its refusals says nothing."""
    feasibility = framework.feasibility()
    refusals, feasible = sorted(feasibility.refusals), feasibility.feasible
    return framework.feasible(), feasible, refusals, framework.best(feasible), framework.prioritize(feasible)


@pytest.mark.parametrize("recorded", ["profile.jsonl.gz", "whole_profile.jsonl.gz", "volume_profile.jsonl.gz"])
@pytest.mark.parametrize("version", ["1.33", "1.37"])
def test_pods_that_come_and_go_one_by_one_are_counted_as_all_at_once(version, recorded):
    features, differing, compared = parse_version(version), [], 0
    for case in cases(version, recorded):
        whole, constraints = read_snapshot(case, features), in_force(case, features)[1]
        cycle = Cycle(read_pod(case, features), constraints, whole, features, system_defaults(case))
        none = {name: {} for name in ("pods", "usage", "terminating", "affine", "ports", "mounts")}
        empty = replace(cycle, snapshot=replace(whole, **none))
        expected, expected_empty = said(Framework(cycle)), said(Framework(empty))
        framework, usage = Framework(empty), {}
        said(framework)  # so that all that is kept is there before the first Pod comes
        pods = list(bound_pods(case, features))
        for namespace, pod in pods:
            follow(framework, usage, namespace, pod, 1)
        copied = framework.copy()
        if said(framework) != expected or said(copied) != expected:
            differing.append(case["id"])
        for namespace, pod in reversed(pods):
            follow(copied, usage, namespace, pod, -1)
        if said(copied) != expected_empty or said(framework) != expected:
            differing.append(case["id"])
        compared += len(pods)

    assert [] == differing
    assert compared > 1_000


@pytest.mark.parametrize("version", ["1.33", "1.37"])
def test_a_framework_for_other_volumes_says_what_a_new_one_does(version):
    features, differing = parse_version(version), []
    for case in cases(version, "volume_profile.jsonl.gz"):
        whole, constraints = read_snapshot(case, features), in_force(case, features)[1]
        cycle = Cycle(read_pod(case, features), constraints, whole, features, system_defaults(case))
        own = cycle.pod.mounts
        disks = [volume for volume in own.volumes if volume.disk is not None]
        mounts = own._replace(namespace=cycle.pod.namespace, volumes=(PodVolume("another"), *disks))
        framework = Framework(replace(cycle, pod=replace(cycle.pod, mounts=mounts)))
        said(framework)
        if said(framework.for_volumes(own, cycle.storage)) != said(Framework(cycle)):
            differing.append(case["id"])

    assert [] == differing
