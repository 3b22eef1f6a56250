"""What commands say where a cloud, and not only kube-scheduler, decides where Pods run."""

from __future__ import annotations

import json

import pytest

from tests.support.build import HOSTNAME, ZONE, pod, service, workload
from tests.support.placing import node, requesting, spread

OF_AKS = {"labels": {"kubernetes.azure.com/cluster": "MC_a"}}
ON_AKS = [node("a1", "a", **OF_AKS), node("b1", "b", **OF_AKS)]
BARE = workload("Deployment", name="web", namespace="shop")
SELECTED = (BARE, service())
ASSUMED = "Assumed, because nodes have labels of AKS"
# A command, and the member of its JSON that has its notes.
COMMANDS = {
    "explain deployment/web": "remarks",
    "report": "notes",
    "simulate scale deployment/web --replicas 2": "notes",
}


@pytest.fixture
def ask(run):
    def ask(command, *objects, options="", **files):
        cluster = {"apiVersion": "v1", "kind": "List", "items": objects}
        return run(f"{command} -n shop --cluster dump {options}", dump=cluster, **files)

    return ask


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_assumed_of_aks_is_said_first(ask, command):
    version = "--kubernetes-version 1.33"
    in_text = ask(command, *ON_AKS, *SELECTED, options=version)
    for_programs = json.loads(ask(command, *ON_AKS, *SELECTED, options=f"{version} -o json").out)

    said = in_text.out if command.startswith("explain") else in_text.err.removeprefix("note: ")
    assert said.startswith(ASSUMED)
    assert for_programs[COMMANDS[command]][0].startswith(ASSUMED)


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_assumed_of_aks_where_it_does_not_matter(ask, command):
    own = workload("Deployment", spread(), name="web", namespace="shop")
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    answers = [
        ask(command, *ON_AKS, own, options="--kubernetes-version 1.33 -o json"),
        ask(command, *ON_AKS, *SELECTED, options="--kubernetes-version 1.32 -o json"),
        ask(command, node("a1", "a"), *SELECTED, options="--kubernetes-version 1.33 -o json"),
        ask(command, *ON_AKS, *SELECTED, options="--scheduler-config f -o json", f=config),
    ]

    assert [False] * 4 == [ASSUMED in answer.out for answer in answers]


def test_defaults_on_aks_spread_more_evenly_over_zones(ask):
    options = "--kubernetes-version {} -o json"
    by_version = {
        version: json.loads(ask("explain deployment/web", *ON_AKS, *SELECTED, options=options.format(version)).out)
        for version in ("1.32", "1.33")
    }

    assert {"1.32": {HOSTNAME: 3, ZONE: 5}, "1.33": {HOSTNAME: 3, ZONE: 1}} == {
        version: {constraint["topologyKey"]: constraint["maxSkew"] for constraint in answer["constraints"]}
        for version, answer in by_version.items()
    }


def test_pending_assumes_the_same_of_aks(ask):
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}
    status = {"phase": "Pending", "conditions": [said]}
    large, version = {"containers": requesting("100")}, "--kubernetes-version 1.33 -o json"
    own = pod(spread(), name="web-1", namespace="shop", spec=large) | {"status": status}
    bare = pod(name="web-1", namespace="shop", spec=large) | {"status": status}

    noted = [json.loads(ask("pending", *ON_AKS, waiting, options=version).out)["notes"] for waiting in (bare, own)]
    assert [True, False] == [any(note.startswith(ASSUMED) for note in notes) for notes in noted]
