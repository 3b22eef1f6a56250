"""The profiles that a cluster is assumed to have where no file gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenkeel.clusters.profiles import AKS_PROFILE, notes_on_clouds, profiles_in
from evenkeel.scheduler.profile import USUAL_PROFILES, Profile
from tests.support.build import HOSTNAME, ZONE
from webhook.kubernetes.features import features
from webhook.spread.nodes import Node, Nodes

OF_AKS = {"default-scheduler": AKS_PROFILE}


def nodes(*labels):
    return Nodes(Node(f"n{i}", {label: "a"}) for i, label in enumerate(labels))


@pytest.mark.parametrize(
    ("labels", "minor", "profiles"),
    [
        (["kubernetes.azure.com/cluster"], 33, OF_AKS),
        (["karpenter.sh/nodepool", "kubernetes.azure.com/agentpool", "kubernetes.azure.com/cluster"], 37, OF_AKS),
        (["type", HOSTNAME, "kubernetes.azure.com/cluster"], 37, USUAL_PROFILES),
        (["kubernetes.azure.com/cluster"], 32, USUAL_PROFILES),
        (["cloud.google.com/gke-nodepool"], 37, USUAL_PROFILES),
        ([], 37, USUAL_PROFILES),
    ],
)
def test_aks_has_defaults_of_its_own_from_1_33_on(labels, minor, profiles):
    assert profiles == profiles_in(nodes(*labels), None, USUAL_PROFILES, features(minor))


def test_a_file_is_believed():
    given = {"default-scheduler": Profile()}

    assert given == profiles_in(nodes("kubernetes.azure.com/cluster"), Path("f"), given, features(37))


def test_only_the_skew_of_zones_is_another_on_aks():
    assert {HOSTNAME: 3, ZONE: 1} == {item["topologyKey"]: item["maxSkew"] for item in AKS_PROFILE.defaults}
    assert AKS_PROFILE.assumed.startswith("Assumed, because most nodes have labels of AKS: kube-scheduler's default")


@pytest.mark.parametrize(
    ("labels", "begins"),
    [
        ({"kubernetes.azure.com/agentpool": "a"}, ["nodes are of AKS: from 1.33 on"]),
        ({"eks.amazonaws.com/compute-type": "fargate"}, ["1 node is of EKS Fargate"]),
        ({"eks.amazonaws.com/compute-type": "auto"}, []),
        ({"node.openshift.io/os_id": "rhcos"}, ["nodes are of OpenShift"]),
        ({HOSTNAME: "n1"}, []),
    ],
)
def test_what_clouds_do_besides_a_policy_is_noted_as_far_as_nodes_tell(labels, begins):
    notes = list(notes_on_clouds(Nodes([Node("n1", labels)])))

    assert [True] * len(begins) == [note.startswith(begin) for note, begin in zip(notes, begins, strict=True)]
