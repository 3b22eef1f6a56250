"""All rules run over one workload; what a rule says of itself is carried on what it finds."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.replica_room import room_for
from tests.support.build import FEATURES, constraint, node, pod, snapshot, workload
from tests.support.build import ZONE as ZONE_KEY
from webhook.findings.evaluation import evaluate, unknown_of
from webhook.findings.finding import Severity
from webhook.findings.neighbours import Neighbours
from webhook.findings.rule import Need
from webhook.kubernetes.features import features
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.operators import kinds_named
from webhook.kubernetes.workload import parse_workloads
from webhook.rules import DEFAULT_SETTINGS, RULES

ROLLOUT = workload("Deployment") | {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}


def findings(obj, **settings):
    (found,) = parse_workloads(obj, KINDS)
    chosen = {**DEFAULT_SETTINGS, **{name.replace("_", "-"): setting for name, setting in settings.items()}}
    return evaluate(found, chosen, None, FEATURES).findings


def with_constraint(obj, **fields):
    spec = {**obj["spec"]["template"]["spec"], "topologySpreadConstraints": [constraint(**fields)]}
    return {**obj, "spec": {**obj["spec"], "template": {**obj["spec"]["template"], "spec": spec}}}


MISSES = "selector-misses-own-pod"
ZONE, REGION = (f"failure-domain.beta.kubernetes.io/{name}" for name in ("zone", "region"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"labelSelector": None}, True),
        ({"labelSelector": {}}, False),
        ({"topologyKey": ZONE}, True),
        ({"topologyKey": REGION}, True),
        ({"topologyKey": ZONE.upper()}, False),
        ({"topologyKey": "failure-domain.beta.kubernetes.io/hostname"}, False),
        ({"topologyKey": "topology.kubernetes.io/hostname"}, False),
        ({"maxSkew": 0}, False),
    ],
    ids=str,
)
def test_what_the_api_server_warns_of_is_marked_for_built_in_kinds(fields, said):
    of_pod, of_rollout = findings(pod(constraint(**fields))), findings(with_constraint(ROLLOUT, **fields))

    assert [said] == [one.said_by_api_server for one in of_pod]
    assert [False] == [one.said_by_api_server for one in of_rollout if one.rule == of_pod[0].rule]


@pytest.mark.parametrize(
    ("api_version", "kind", "controller", "is_named"),
    [
        ("elasticsearch.k8s.elastic.co/v1", "Elasticsearch", True, True),
        ("example.com/v1alpha1", "Fleet", True, True),
        ("example.com/v1alpha1", "Fleet", False, False),
        ("v1", "ConfigMap", True, False),
        ("apps/v1", "Deployment", True, False),
    ],
)
@pytest.mark.parametrize("of", ["StatefulSet", "Deployment"])
def test_what_a_custom_resource_owns_is_mended_there(of, api_version, kind, controller, is_named):
    obj = workload(of, constraint(topologyKey="kubernetes.io/zone", labelSelector={"matchLabels": {"app": "x"}}))
    owner = {"apiVersion": api_version, "kind": kind, "name": "logs", "uid": "u", "controller": controller}
    owned = findings({**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}})
    fixes = [one.fix.removeprefix(f"in {kind} logs, which owns this object, ") for one in owned]

    assert [one.fix for one in findings(obj) if one.rule in {found.rule for found in owned}] == fixes
    assert {is_named} == {one.fix not in fixes for one in owned} == {one.edit is None for one in owned}


def test_only_what_the_api_server_rejects_is_marked_as_that():
    found = findings(pod(constraint(maxSkew=0, labelSelector={})))

    assert {"invalid-constraint": True, "empty-selector": False} == {f.rule: f.rejected_by_api_server for f in found}


def test_what_the_api_server_rejects_silences_nothing_that_the_policy_takes_for_graver():
    obj = pod(constraint(labelSelector={"matchLabels": {"app": "x y"}}))
    info, error = RULES["invalid-constraint"].setting(Severity.INFO), RULES[MISSES].setting(Severity.ERROR)

    assert ["invalid-constraint"] == [f.rule for f in findings(obj)]
    assert [MISSES, "invalid-constraint"] == [
        f.rule for f in findings(obj, invalid_constraint=info, selector_misses_own_pod=error)
    ]


def test_what_a_finding_in_a_hard_constraint_extends_to():
    """Each of several hard ones, and no soft one."""
    hard = constraint(labelSelector={})
    soft = constraint(labelSelector={}, whenUnsatisfiable="ScheduleAnyway")
    given = [hard | {"topologyKey": key} for key in ("rack", "row")] + [soft]
    extents = [found.extents for found in findings(workload("Deployment", *given)) if found.rule == "empty-selector"]

    assert [(1,), (1,), (0,)] == extents


def test_rules_say_of_themselves_what_defaults_keep():
    keep = {rule.id for rule in RULES.values() if rule.kept_by_defaults}

    assert {"invalid-constraint", "malformed-topology-key", "empty-selector"} == keep


def test_what_is_enforced_is_not_silenced_by_what_is_not():
    enforced = RULES["forbidden-topology-key"].setting(Severity.WARNING, True, {"topologyKeys": ["a b"]})
    obj = pod(constraint(topologyKey="a b"))

    found = [f.rule for f in findings(obj, forbidden_topology_key=enforced)]

    assert ["malformed-topology-key", "forbidden-topology-key"] == found


def test_what_stands_alone_leaves_what_the_api_server_rejects_and_what_is_enforced():
    obj = workload("DaemonSet", constraint(maxSkew=0, topologyKey="a b", labelSelector={}))
    enforced = RULES["empty-selector"].setting(Severity.WARNING, True)
    off = RULES["pinned-pod"].setting(Severity.IGNORE)

    assert ["pinned-pod", "invalid-constraint"] == [f.rule for f in findings(obj)]
    assert "empty-selector" in [f.rule for f in findings(obj, empty_selector=enforced)]
    assert ["empty-selector", "invalid-constraint", "malformed-topology-key"] == [
        f.rule for f in findings(obj, pinned_pod=off)
    ]


def test_an_annotation_silences_what_is_not_enforced():
    obj = pod(constraint(labelSelector={}), annotations={"evenkeel.dev/ignore": "pinned-pod, empty-selector"})
    enforced = RULES["empty-selector"].setting(None, True)

    assert () == findings(obj)
    assert ["idle-switch", "empty-selector"] == [f.rule for f in findings(obj, empty_selector=enforced)]


ADVISED = [node("n1", taints=["a=b:NoSchedule"]), node("n2", **{ZONE_KEY: "b"})]


@pytest.mark.parametrize("owner", [None, "App/web"])
def test_advice_is_for_who_reads_it(owner):
    """And nobody applies what another object owns."""
    (found,) = parse_workloads(workload("StatefulSet", constraint(), owner=owner), KINDS)
    rules = {
        one.rule for one in evaluate(found, DEFAULT_SETTINGS, snapshot(*ADVISED), FEATURES, room_for=room_for).findings
    }

    assert (owner is None) == any(RULES[rule].advice for rule in rules)


@pytest.mark.parametrize(("there", "skipped"), [((), True), ((pod(spec={"nodeName": "n1"}, uid="u"),), False)])
def test_what_needs_pods_is_not_run_without_any(there, skipped):
    """The webhook watches none, and none that runs is none that is known."""
    (found,) = parse_workloads(workload("StatefulSet", constraint()), KINDS)
    evaluation = evaluate(found, DEFAULT_SETTINGS, snapshot(node(), *there), FEATURES, room_for=room_for)

    assert skipped == ("unschedulable" in {one.rule for one in evaluation.skipped})
    assert "unknown-topology-key" not in {one.rule for one in evaluation.skipped}
    beside = evaluate(found, DEFAULT_SETTINGS, snapshot(node(), *there), FEATURES, Neighbours(()), room_for)
    assert skipped == ("unschedulable" in {one.rule for one in beside.skipped})


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("alertmanager", [Need.POD_SPEC, Need.LABELS, Need.GIVEN_LABELS, Need.OTHERS]),
        ("cnpg-cluster", [Need.POD_SPEC, Need.LABELS, Need.OTHERS]),
        ("cockroachdb-crdbcluster", [Need.POD_SPEC, Need.LABELS, Need.OTHERS, Need.REPLICAS]),
        ("rook-cephcluster", [Need.POD_SPEC, Need.LABELS, Need.REPLICAS]),
        ("actions-runnerset", [Need.LABELS, Need.SELECTORS, Need.GIVEN_LABELS, Need.OTHERS, Need.REPLICAS]),
    ],
)
def test_what_is_not_known_of_the_pods_of_an_operators_objects(name, lacking):
    assert lacking == [*unknown_of(next(kinds_named(name)))]


@pytest.mark.parametrize(("minor", "misses"), [(26, True), (27, False)])
def test_a_job_is_judged_by_the_labels_that_its_pods_get(minor, misses):
    """And its own label stands, where it writes another value than the API server would."""
    asked = constraint(labelSelector={"matchLabels": {"batch.kubernetes.io/job-name": "web"}})
    own = constraint(labelSelector={"matchLabels": {"job-name": "own"}})
    (found,) = parse_workloads(workload("Job", asked), KINDS)
    (written,) = parse_workloads(workload("Job", own, labels={"job-name": "own"}), KINDS)

    assert misses == (MISSES in {one.rule for one in evaluate(found, DEFAULT_SETTINGS, None, features(minor)).findings})
    assert MISSES not in {one.rule for one in evaluate(written, DEFAULT_SETTINGS, None, FEATURES).findings}
