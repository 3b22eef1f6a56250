"""Kinds of the policy in force that the cluster does not serve are counted and told; they keep no replica from work."""

from __future__ import annotations

import json
from functools import partial

import pytest

from tests.support.apiserver import ApiServer, kubeconfig
from tests.support.build import FEATURES, policy
from webhook.cluster.client import Client, access
from webhook.cluster.cluster import Unchanging
from webhook.server.metrics import Metrics
from webhook.server.reviewer import Reviewer
from webhook.server.served_kinds import ServedKinds

SOFT = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
FLEET = {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.template"}


@pytest.fixture
def api():
    running = ApiServer()
    yield running
    running.stop()


@pytest.fixture
def kinds(api, tmp_path):
    client = Client(partial(access, str(kubeconfig(api.url, tmp_path))))
    return ServedKinds(client, Reviewer(policy(workloads=[FLEET]), Unchanging(None), FEATURES, Metrics()))


def counted(kinds):
    text = kinds.reviewer.metrics.text().decode()
    return [float(line.split()[1]) for line in text.splitlines() if line.startswith("evenkeel_kinds_not_served ")]


def test_a_kind_that_is_not_served_is_told_once_and_counted(kinds, api, lines):
    kinds.look()
    kinds.look()

    assert [1] == counted(kinds)
    assert kinds.check().ok
    assert kinds.check().detail.startswith("workloads: the cluster does not serve example.com/v1 Fleet (fleets)")
    assert 1 == sum("does not serve kinds of the policy" in line for line in lines())

    api.serve("example.com/v1", fleets="Fleet")
    kinds.look()

    assert ([0], "all that the policy names") == (counted(kinds), kinds.check().detail)

    api.further["/apis"] = {"groups": []}
    kinds.look()

    assert 2 == sum("does not serve kinds of the policy" in line for line in lines())


def test_an_api_server_that_does_not_answer_changes_nothing(kinds, api, lines):
    api.serve("example.com/v1", fleets="Fleet")
    answers = dict(api.further)
    api.further["/apis"] = 503
    kinds.look()
    assert ([], None, True) == (counted(kinds), kinds.unserved, kinds.check().ok)
    assert kinds.check().detail.startswith("not known: /apis: 503")

    api.further |= answers
    kinds.look()
    for path, answer in (("/apis", 403), ("/apis", {}), ("/apis/example.com/v1", 404)):
        api.further |= {**answers, path: answer}
        kinds.look()
        assert ([0], ()) == (counted(kinds), kinds.unserved)
    api.stop()
    kinds.look()

    assert [0] == counted(kinds)
    assert 2 == sum("cannot find out which kinds the cluster serves" in line for line in lines())
    assert not any("does not serve kinds" in line for line in lines())


def test_of_a_new_policy_nothing_is_said_before_the_next_look(kinds):
    kinds.look()
    kinds.reviewer.policy = policy(workloads=[FLEET | {"apiVersion": "example.com/v2"}])

    assert ([], "not known yet") == (counted(kinds), kinds.check().detail)

    kinds.look()
    assert [1] == counted(kinds)


class Told(Unchanging):
    """A cluster that remembers what it is told of Karpenter."""

    told = ()

    def note_node_pools(self, served):
        Told.told = (*Told.told, served)


def test_karpenter_is_as_it_was_last_known(kinds, api, lines):
    Told.told, kinds.reviewer.cluster = (), Told(None)
    kinds.reviewer.policy = policy(defaulting={"defaultingType": "List", "defaultConstraints": [SOFT]})
    api.further["/apis"], answer = 503, api.further["/apis"]
    kinds.look()
    assert () == Told.told

    api.further["/apis"] = answer
    kinds.look()
    api.serve("karpenter.sh/v1", nodepools="NodePool")
    kinds.look()
    api.further["/apis"], answer = 503, api.further["/apis"]
    kinds.look()
    assert (False, True) == Told.told

    api.further["/apis"] = {"groups": []}
    kinds.look()
    assert (False, True, False) == Told.told


def test_what_karpenter_does_with_the_policy_is_logged_once(kinds, api, lines):
    kinds.look()
    api.serve("karpenter.sh/v1", nodepools="NodePool")
    for _ in range(2):
        kinds.look()
    kinds.reviewer.policy = policy(defaulting={"defaultingType": "List", "defaultConstraints": [SOFT]})
    for _ in range(2):
        kinds.look()
    with_karpenter, api.further["/apis"] = api.further["/apis"], {"groups": []}
    kinds.look()
    api.further["/apis"] = with_karpenter
    kinds.look()

    said = [json.loads(line) for line in lines() if "Karpenter makes nodes here" in line]
    assert ["info", "warning", "warning"] == [each["level"] for each in said]
    assert [None, 1, 1] == [each.get("notes") and len(each["notes"]) for each in said]
