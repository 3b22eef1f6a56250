"""What a person writes into a template for a change: as little as it takes, and nothing where it has no place."""

from __future__ import annotations

import pytest

from evenkeel.placement import template_edits as edits
from evenkeel.scheduler.resource_fit import Lack
from tests.support.placement import parsed
from tests.support.placing import HOSTNAME, ZONE, requesting, spread
from webhook.spread.taints import Toleration

NOTHING = Lack(0, 0, 0, 0, ())
CONSTRAINTS = "topologySpreadConstraints"


def on_zones():
    return parsed(spread())[0]


def test_a_field_of_a_constraint_is_set_and_the_others_stay():
    spec = {CONSTRAINTS: [spread(matchLabelKeys=["pod-template-hash"]), spread(HOSTNAME)], "hostNetwork": True}
    changed = edits.with_constraint(spec, constraint=on_zones(), fields={"maxSkew": 3})

    wanted = [spread(matchLabelKeys=["pod-template-hash"], maxSkew=3), spread(HOSTNAME)]
    assert {CONSTRAINTS: wanted, "hostNetwork": True} == changed


def test_a_soft_constraint_has_no_min_domains():
    soft = {"whenUnsatisfiable": "ScheduleAnyway"}
    changed = edits.with_constraint({CONSTRAINTS: [spread(minDomains=2)]}, constraint=on_zones(), fields=soft)

    assert {CONSTRAINTS: [spread(**soft)]} == changed


def test_with_the_last_constraint_the_list_goes():
    assert {"a": 1} == edits.with_constraint({"a": 1, CONSTRAINTS: [spread()]}, constraint=on_zones(), fields=None)


@pytest.mark.parametrize("written", [None, [], "no list", [1], [spread(HOSTNAME)], [spread(maxSkew=2)]])
def test_a_template_of_another_revision_stays_as_it_is(written):
    spec = {CONSTRAINTS: written}

    assert spec == edits.with_constraint(spec, constraint=on_zones(), fields={"maxSkew": 3})


def test_a_toleration_is_added_to_those_there_are():
    one = {"key": "a", "operator": "Exists"}
    added = {"key": "dedicated", "operator": "Equal", "value": "infra", "effect": "NoSchedule"}

    toleration = Toleration("dedicated", "Equal", "infra", "NoSchedule")
    assert {"tolerations": [one, added]} == edits.tolerating({"tolerations": [one]}, toleration=toleration)
    assert {"tolerations": [added]} == edits.tolerating({}, toleration=toleration)


def test_what_a_pod_only_prefers_of_nodes_stays():
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    spec = {"nodeSelector": {"disk": "ssd"}, "affinity": {"nodeAffinity": {**required, **preferred}}}

    assert {"affinity": {"nodeAffinity": preferred}} == edits.without_node_affinity(spec)
    assert {} == edits.without_node_affinity({"affinity": {"nodeAffinity": required}})


def test_a_required_term_is_preferred():
    one, other = {"topologyKey": ZONE}, {"topologyKey": HOSTNAME}
    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    spec = {"affinity": {"podAntiAffinity": {required: [one, other]}, "nodeAffinity": {"a": 1}}}
    changed = edits.preferring(spec, kind="podAntiAffinity", index=1, number=2)

    softer = {"weight": 100, "podAffinityTerm": other}
    wanted = {"podAntiAffinity": {required: [one], preferred: [softer]}, "nodeAffinity": {"a": 1}}
    assert {"affinity": wanted} == changed
    assert spec == edits.preferring(spec, kind="podAntiAffinity", index=1, number=3)


def test_requests_of_a_single_container_are_lowered():
    changed = edits.requesting_less({"containers": requesting("1200m", "1Gi")}, lack=NOTHING._replace(milli_cpu=200))
    assert {"containers": requesting("1", "1Gi")} == changed

    changed = edits.requesting_less({"containers": requesting("1", "1Gi")}, lack=NOTHING._replace(memory=24 << 20))
    assert {"containers": requesting("1", "1000Mi")} == changed


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [*requesting(), *requesting()]},
        {"containers": requesting(), "initContainers": requesting()},
        {"containers": requesting("100m")},
        {"containers": [{"name": "c"}]},
        {},
    ],
)
def test_of_other_requests_a_person_chooses(spec):
    assert spec == edits.requesting_less(spec, lack=NOTHING._replace(milli_cpu=200))
