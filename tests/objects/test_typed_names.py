"""TYPE/NAME and TYPE NAME name one object, as kubectl reads them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.objects.typed_names import TypedNameError, parse_typed_name
from webhook.kubernetes.kinds import KINDS, Kind, Kinds

FLEET = Kind("games.example.com/v1", "Fleet", "fleets", constraints=("spec", "constraints"), built_in=False)
OTHER = Kind("ships.example.com/v1", "Fleet", "fleets", constraints=("spec", "constraints"), built_in=False)


class Case(NamedTuple):
    words: str
    found: str


CASES = [
    Case("po/web", "v1 Pod pods"),
    Case("pod/web", "v1 Pod pods"),
    Case("pods web", "v1 Pod pods"),
    Case("pods.v1/web", "v1 Pod pods"),
    Case("deploy/web", "apps/v1 Deployment deployments"),
    Case("deploy web", "apps/v1 Deployment deployments"),
    Case("Deployment/web", "apps/v1 Deployment deployments"),
    Case("deployments.apps/web", "apps/v1 Deployment deployments"),
    Case("deployment.v1.apps/web", "apps/v1 Deployment deployments"),
    Case("sts/web", "apps/v1 StatefulSet statefulsets"),
    Case("ds/web", "apps/v1 DaemonSet daemonsets"),
    Case("rs/web", "apps/v1 ReplicaSet replicasets"),
    Case("rc/web", "v1 ReplicationController replicationcontrollers"),
    Case("job/web", "batch/v1 Job jobs"),
    Case("jobs.batch/web", "batch/v1 Job jobs"),
    Case("cj/web", "batch/v1 CronJob cronjobs"),
    Case("podtemplate/web", "v1 PodTemplate podtemplates"),
    Case("rollout/web", "argoproj.io/v1alpha1 Rollout rollouts"),
    Case("statefulset/web", "apps/v1 StatefulSet statefulsets"),
    Case("statefulset.apps.kruise.io/web", "apps.kruise.io/v1beta1 StatefulSet statefulsets"),
    Case("statefulset.v1alpha1.apps.kruise.io/web", "apps.kruise.io/v1alpha1 StatefulSet statefulsets"),
    Case("fleet/web", "games.example.com/v1 Fleet fleets"),
    Case("Fleets.games.example.com web", "games.example.com/v1 Fleet fleets"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_a_type_is_known_by_all_its_names(case):
    found = parse_typed_name(case.words.split(), Kinds((*KINDS, FLEET)))

    assert (*case.found.split(), "web") == found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.api_version} {kind.kind}")
def test_every_kind_can_be_named_in_full(kind):
    version = kind.api_version.rpartition("/")[2]
    for name in (kind.kind, kind.kind.lower(), kind.resource):
        found = parse_typed_name([f"{name}.{version}.{kind.api_group}".rstrip("."), "a.b-1"])

        assert (kind.api_version, kind.kind, kind.resource, "a.b-1") == found


def test_the_object_is_that_of_the_namespace():
    assert "Deployment shop/web" == str(parse_typed_name(["deploy/web"]).in_namespace("shop"))


class Wrong(NamedTuple):
    words: str
    message: str


TYPES = (
    "pod (po), podtemplate, replicationcontroller (rc), deployment (deploy), replicaset (rs), statefulset (sts), "
    "daemonset (ds), job, cronjob (cj), rollout (ro), cloneset (clone), fleet"
)
WRONG = [
    Wrong("", 'found "", wanted TYPE/NAME or TYPE NAME; name one object, and its namespace with -n'),
    Wrong("deploy", 'found "deploy" without a name, wanted TYPE/NAME or TYPE NAME; write deploy/NAME'),
    Wrong("pod a b", 'found "pod a b", wanted TYPE/NAME or TYPE NAME; name one object, and its namespace with -n'),
    Wrong("po/a po/b", 'found "po/a po/b", wanted TYPE/NAME or TYPE NAME; name one object, and its namespace with -n'),
    Wrong("po/shop/a", 'found "po/shop/a", wanted TYPE/NAME or TYPE NAME; name one object, and its namespace with -n'),
    Wrong("deplyo/web", f'found type "deplyo", wanted one of {TYPES}; did you mean deploy/web?'),
    Wrong("/web", f'found type "", wanted one of {TYPES}; name a Pod or a workload that creates Pods'),
    Wrong("shop/web", f'found type "shop", wanted one of {TYPES}; name a Pod or a workload that creates Pods'),
    Wrong("deploy.extensions/a", f'found type "deploy.extensions", wanted one of {TYPES}; did you mean deploy/a?'),
    Wrong("fleet/a", 'found type "fleet", which may mean fleet.games.example.com or fleet.ships.example.com; write o…'),
    Wrong("po/", 'found "po/", wanted TYPE/NAME or TYPE NAME with a name of lower case letters, digits, …'),
    Wrong("po Web", 'found "po Web", wanted TYPE/NAME or TYPE NAME with a name of lower case letters, digits, …'),
    Wrong("po/..", 'found "po/..", wanted TYPE/NAME or TYPE NAME with a name of lower case letters, digits, …'),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.words)
def test_what_names_no_object_is_said_with_the_fix(case):
    with pytest.raises(TypedNameError) as caught:
        parse_typed_name(case.words.split(), Kinds((*KINDS, FLEET, OTHER)))

    wanted, cut, _ = case.message.partition("…")
    assert wanted == (str(caught.value)[: len(wanted)] if cut else str(caught.value))


def test_a_resource_is_shown_where_a_name_is_wrong():
    with pytest.raises(TypedNameError, match=r"; see kubectl get deployments$"):
        parse_typed_name(["deploy/Web"])
