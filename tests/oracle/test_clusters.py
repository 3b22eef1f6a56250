"""Clusters are made as they were when they were first recorded, and as kube-apiserver stores them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.oracle.clusters import CONFIGURED, NUMBER, configured, whole_profile
from tests.oracle.recording import inputs
from tests.support import DATA


@pytest.fixture(scope="module")
def clusters():
    return whole_profile()


def test_all_of_them_are_recorded_as_they_are_made(clusters):
    recorded = {case["id"]: case for case in (*inputs(DATA, "whole_profile"), *inputs(DATA, "configured"))}
    made = {case["id"]: case for case in (*clusters, *configured())}

    assert NUMBER + CONFIGURED == len(made)
    assert made.items() <= recorded.items()


def test_no_two_pods_of_a_cluster_started_at_once(clusters):
    for case in clusters:
        started = [pod["status"]["startTime"] for pod in case["pods"]]
        assert len(started) == len(set(started))


def test_what_is_a_list_sorted_by_name_is_sorted(clusters):
    for case in clusters:
        names = [node["metadata"]["name"] for node in case["nodes"]]
        declared = [node["status"].get("declaredFeatures", []) for node in case["nodes"]]
        assert all(a < b for names in (names, *declared) for a, b in pairwise(names))


def test_a_pod_in_the_network_of_its_node_has_the_ports_of_its_containers(clusters):
    for case in clusters:
        for pod in (case["pod"], *case["pods"]):
            if pod["spec"].get("hostNetwork"):
                for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])):
                    assert all(port["containerPort"] == port.get("hostPort") for port in container.get("ports", []))
