"""What an object had before never denies an update, and is known again wherever it moved to."""

from __future__ import annotations

import pytest

from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint, namespace, policy, request, workload
from tests.support.review import Case, at_validate, deployment, review, validate
from tests.support.said import rule_in
from tests.support.strategies import nested
from webhook.admission.request import VALIDATE
from webhook.kubernetes.features import features

EMPTY = constraint(labelSelector={})
SCALED = deployment(EMPTY, spec={"replicas": 9, "template": deployment(EMPTY)["spec"]["template"]})
RESTARTED = deployment(EMPTY, template={"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}})
MOVED = deployment(constraint(topologyKey="rack", matchLabelKeys=["pod-template-hash"]), EMPTY)
TWO_RULES = (
    "{rules: {misspelt-topology-key: error, forbidden-topology-key:"
    " {severity: error, topologyKeys: [topology.kubernetes.io/hostname]}}}"
)
HIDDEN = constraint(topologyKey="topology.kubernetes.io/hostname")
IGNORES_ONE = {"annotations": {"evenkeel.dev/ignore": "misspelt-topology-key"}}
IGNORED = {"evenkeel.dev/ignore": "empty-selector"}
WARNED_OVERRIDE = """
rules: {empty-selector: {severity: error, enforced: true}, misspelt-topology-key: error}
overrides:
- {name: lax, podSelector: {matchLabels: {tier: lax}}, enforcement: Warn}
"""
STRICT, LAX, AS_STRICT, SILENCEABLE = ({"app": "web", "tier": tier} for tier in ("base", "lax", "same", "loose"))
SCHEDULED_BY_OTHER = {
    "template": {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"schedulerName": "other", "topologySpreadConstraints": [EMPTY]},
    }
}
LAX_OVERRIDE = """
rules: {empty-selector: {severity: error, enforced: true}}
overrides:
- {name: lax, podSelector: {matchLabels: {tier: lax}}, rules: {empty-selector: warning}}
- {name: same, podSelector: {matchLabels: {tier: same}}, rules: {soft-constraint: warning}}
- {name: loose, podSelector: {matchLabels: {tier: loose}}, rules: {empty-selector: {enforced: false}}}
- {name: other, schedulerName: other, rules: {empty-selector: ignore}}
"""
SOFTLY = {"whenUnsatisfiable": "ScheduleAnyway"}
ONE_SURGES, RACK = constraint(), constraint(topologyKey="rack")
PER_REVISION = constraint(matchLabelKeys=["pod-template-hash"])
ROLLOUTS = "{rules: {rollout-skew: error}}"
MOST_SKEW = "{rules: {excessive-max-skew: {severity: error, maxSkew: 5}}}"
PINNED = "{rules: {pinned-pod: {severity: error, enforced: true}}}"
KAFKA = (
    "{rules: {forbidden-topology-key: {severity: error, enforced: true, topologyKeys: [rack]}},"
    " workloads: [{builtIn: strimzi-kafka}]}"
)
ONLY_SKEW = "{rules: {excessive-max-skew: {severity: error, maxSkew: 5}, invalid-constraint: ignore}}"


ASKS_FOR_BOTH = f"{{rules: {{missing-constraints: {{severity: error, topologyKeys: [{ZONE}, {HOSTNAME}]}}}}}}"
ENFORCED_FOR_ONE = """
overrides: [{name: a, namespaceSelector: {matchLabels: {team: a}}, rules: {empty-selector: {enforced: true}}}]
"""
MILDER_FOR_ONE = """
rules: {empty-selector: {enforced: true}}
overrides: [{name: a, namespaceSelector: {matchLabels: {team: a}}, enforcement: Warn}]
"""
ENFORCED_FOR_LABEL = """
workloads: [{apiVersion: e.com/v1, kind: Fleet, resource: fleets, podTemplate: 'spec.sets[*].template'}]
overrides: [{name: a, podSelector: {matchLabels: {team: a}}, rules: {empty-selector: {enforced: true}}}]
"""
SITES = """
workloads: [{apiVersion: e.com/v1, kind: Site, resource: sites, constraints: spec.spread, labels: spec.labels}]
"""


def fleet(*teams, **metadata):
    """Templates of these teams, each with a constraint that selects nothing."""
    judged = {"spec": {"topologySpreadConstraints": [EMPTY]}}
    sets = [{"template": {**judged, "metadata": {"labels": {"team": team}, **metadata}}} for team in teams]
    return {"apiVersion": "e.com/v1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": {"sets": sets}}


def site(**labels):
    """A custom resource whose constraints are not in a Pod template."""
    spec = {"spread": [constraint()], "labels": labels}
    return {"apiVersion": "e.com/v1", "kind": "Site", "metadata": {"name": "s"}, "spec": spec}


def skews(*most):
    """Constraints on one topology, which no API server accepts together, so that only maxSkew tells them apart."""
    return [constraint(maxSkew=one) for one in most]


def daemon_set(*constraints):
    return workload("DaemonSet", *constraints)


def kafka(place):
    spec = {place: {"template": {"pod": {"topologySpreadConstraints": [RACK]}}}}
    return {"apiVersion": "kafka.strimzi.io/v1", "kind": "Kafka", "metadata": {"name": "web"}, "spec": spec}


CASES = [
    Case("scaling leaves the template as it was", at_validate(SCALED, deployment(EMPTY)), audited=False),
    Case(
        "a label on the object, too",
        at_validate(deployment(EMPTY, labels=None, x="y"), deployment(EMPTY)),
        audited=False,
    ),
    Case(
        "what was enforced where it denied nothing is new where it does",
        at_validate(deployment(EMPTY, labels=STRICT), deployment(EMPTY, labels=LAX), rules=WARNED_OVERRIDE),
        denied=("empty-selector",),
    ),
    Case(
        "what is not enforced is old",
        at_validate(deployment(HIDDEN, labels=STRICT), deployment(HIDDEN, labels=LAX), rules=WARNED_OVERRIDE),
        warned=("misspelt-topology-key",),
    ),
    Case(
        "a restart keeps its old error as a warning",
        at_validate(RESTARTED, deployment(EMPTY)),
        warned=("empty-selector",),
    ),
    Case(
        "an old error is known again where it moved to",
        at_validate(MOVED, deployment(EMPTY)),
        warned=("empty-selector",),
    ),
    Case("a new error denies an update", at_validate(deployment(EMPTY), deployment()), denied=("empty-selector",)),
    Case(
        "a second error beside an old one denies, the old one warns",
        at_validate(deployment(EMPTY, EMPTY | {"topologyKey": "rack"}), deployment(EMPTY)),
        denied=("empty-selector",),
        warned=("empty-selector",),
    ),
    Case(
        "an old error stays when the topology key is repaired or changed",
        at_validate(deployment(EMPTY | {"topologyKey": HOSTNAME}), deployment(EMPTY | {"topologyKey": "zon"})),
        warned=("empty-selector",),
    ),
    Case(
        "an old error stays when its constraint is relaxed",
        at_validate(deployment(EMPTY | SOFTLY), deployment(EMPTY)),
        warned=("empty-selector",),
    ),
    Case(
        "an old error of a soft constraint is worse in a hard one",
        at_validate(deployment(EMPTY), deployment(EMPTY | SOFTLY)),
        denied=("empty-selector",),
    ),
    Case(
        "the repair of one of two errors is no error, whichever is repaired",
        at_validate(
            deployment(constraint(topologyKey="rack"), EMPTY), deployment(EMPTY | {"topologyKey": "rack"}, EMPTY)
        ),
        warned=("empty-selector",),
    ),
    Case(
        "rollouts that count old Pods are an old error in another order",
        at_validate(deployment(RACK, ONE_SURGES), deployment(ONE_SURGES, RACK), rules=ROLLOUTS),
        warned=("rollout-skew",),
    ),
    Case(
        "and where one of two constraints is repaired",
        at_validate(deployment(PER_REVISION, RACK), deployment(ONE_SURGES, RACK), rules=ROLLOUTS),
        warned=("rollout-skew",),
    ),
    Case(
        "but not where a second constraint counts them, too, although it is reported once an object",
        at_validate(deployment(ONE_SURGES, RACK), deployment(ONE_SURGES), rules=ROLLOUTS),
        denied=("rollout-skew",),
    ),
    Case(
        "constraints that cannot spread are worse where they are hard",
        at_validate(daemon_set(ONE_SURGES), daemon_set(ONE_SURGES | SOFTLY), rules=PINNED),
        denied=("pinned-pod",),
    ),
    Case(
        "and where there are more of them",
        at_validate(daemon_set(RACK | SOFTLY, ONE_SURGES), daemon_set(ONE_SURGES), rules=PINNED),
        denied=("pinned-pod",),
    ),
    Case(
        "and old where there are fewer",
        at_validate(daemon_set(RACK), daemon_set(ONE_SURGES, RACK | SOFTLY), rules=PINNED),
        warned=("pinned-pod",),
    ),
    Case(
        "an error that moves to another place of a custom resource is new there",
        at_validate(kafka("kafka"), kafka("zookeeper"), rules=KAFKA),
        denied=("forbidden-topology-key",),
    ),
    Case(
        "a rollout that newly counts old Pods is denied",
        at_validate(deployment(ONE_SURGES), deployment(PER_REVISION), rules=ROLLOUTS),
        denied=("rollout-skew",),
    ),
    Case(
        "the added error is denied, not the old one behind it",
        at_validate(deployment(EMPTY | {"topologyKey": "rack"}, EMPTY), deployment(EMPTY)),
        denied=("empty-selector",),
        warned=("empty-selector",),
    ),
    Case(
        "an old error that another finding on its field hid is old",
        at_validate(
            deployment(HIDDEN, template={"x": "y", **IGNORES_ONE}),
            deployment(HIDDEN, template=IGNORES_ONE),
            rules=TWO_RULES,
        ),
        warned=("forbidden-topology-key",),
    ),
    Case(
        "an error that an annotation silenced is no new one when the annotation goes",
        at_validate(
            deployment(EMPTY, template={"annotations": {}}), deployment(EMPTY, template={"annotations": IGNORED})
        ),
        warned=("empty-selector",),
    ),
    Case(
        "each missing topology is a finding of its own",
        at_validate(
            deployment(constraint(topologyKey="rack")),
            deployment(constraint(topologyKey="kubernetes.io/hostname")),
            rules=ASKS_FOR_BOTH,
        ),
        denied=("missing-constraints",),
        warned=("missing-constraints",),
    ),
    Case(
        "and one is not excused by another that is there now",
        at_validate(deployment(constraint()), deployment(constraint(topologyKey=HOSTNAME)), rules=ASKS_FOR_BOTH),
        denied=("missing-constraints",),
    ),
    Case(
        "what is enforced for one team is old there",
        at_validate(RESTARTED, deployment(EMPTY), rules=ENFORCED_FOR_ONE, objects=[namespace(team="a")]),
        warned=("empty-selector",),
    ),
    Case(
        "what is enforced is old, also where an override might not deny it",
        at_validate(RESTARTED, deployment(EMPTY), rules=MILDER_FOR_ONE),
        warned=("empty-selector",),
    ),
    Case(
        "what is enforced is old beside a template for which it is not",
        at_validate(fleet("b", "a", annotations={"x": "y"}), fleet("b", "a"), rules=ENFORCED_FOR_LABEL),
        warned=("empty-selector",) * 2,
    ),
    Case(
        "labels that change below no Pod template",
        at_validate(site(app="db"), site(app="web"), rules=SITES),
        warned=("selector-misses-own-pod",),
    ),
    Case("which stay as they are", at_validate(site(x="y"), site(x="y"), rules=SITES), audited=False),
    Case(
        "what no override looked at is new where the label that chose it goes",
        at_validate(deployment(EMPTY, labels=STRICT), deployment(EMPTY, labels=LAX), rules=LAX_OVERRIDE),
        denied=("empty-selector",),
    ),
    Case(
        "or where another scheduler chose it",
        at_validate(deployment(EMPTY), deployment(EMPTY, spec=SCHEDULED_BY_OTHER), rules=LAX_OVERRIDE),
        denied=("empty-selector",),
    ),
    Case(
        "what an override looked at as gravely is old",
        at_validate(deployment(EMPTY, labels=STRICT), deployment(EMPTY, labels=AS_STRICT), rules=LAX_OVERRIDE),
        warned=("empty-selector",),
    ),
    Case(
        "what could be silenced is new where it is enforced",
        at_validate(deployment(EMPTY, labels=STRICT), deployment(EMPTY, labels=SILENCEABLE), rules=LAX_OVERRIDE),
        denied=("empty-selector",),
    ),
    Case(
        "what was enforced is old where it is not",
        at_validate(deployment(EMPTY, labels=SILENCEABLE), deployment(EMPTY, labels=STRICT), rules=LAX_OVERRIDE),
        warned=("empty-selector",),
    ),
    Case(
        "an old maxSkew that grows is new",
        at_validate(deployment(constraint(maxSkew=2147483647)), deployment(constraint(maxSkew=6)), rules=MOST_SKEW),
        denied=("excessive-max-skew",),
    ),
    Case(
        "one that shrinks is old",
        at_validate(deployment(constraint(maxSkew=6)), deployment(constraint(maxSkew=7)), rules=MOST_SKEW),
        warned=("excessive-max-skew",),
    ),
    Case(
        "of several each is held against one that was as bad",
        at_validate(deployment(*skews(6, 9, 8)), deployment(*skews(9, 6, 7)), rules=ONLY_SKEW),
        denied=("excessive-max-skew",),
        warned=("excessive-max-skew",) * 2,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_an_update_is_denied_for(case):
    case.check()


def test_a_denial_names_the_error_that_was_added_and_not_the_old_one():
    """Not the first in order: whoever reads it repairs what the update brought in."""
    added = EMPTY | {"topologyKey": "rack"}
    decision = validate(deployment(added, EMPTY), deployment(EMPTY))

    assert ["spec.template.spec.topologySpreadConstraints[0].labelSelector"] == [
        cause["field"] for cause in decision.status["details"]["causes"]
    ]


def test_a_template_nested_too_deep_to_compare_is_judged_again():
    obj, old = (deployment(EMPTY) for _ in range(2))
    for one in (obj, old):
        deepest = one["spec"]["template"]
        for _ in range(5_000):
            deepest["x"] = {}
            deepest = deepest["x"]

    assert ("empty-selector",) == tuple(map(rule_in, validate(obj, old).warnings))


def test_only_what_is_enforced_is_new_where_the_old_object_was_too_large_to_judge():
    large = deployment(*[constraint()] * 101)
    found = validate(deployment(EMPTY), large)

    assert not validate(deployment(EMPTY), large, rules="{rules: {empty-selector: {enforced: true}}}").allowed
    assert found.allowed and ("empty-selector",) == tuple(map(rule_in, found.warnings))


@pytest.mark.parametrize(("enforcement", "allowed"), [("Warn", False), ("Deny", True)])
def test_an_object_too_large_to_judge_is_not_brought_under_an_enforced_rule_as_it_is(enforcement, allowed):
    """Its constraints are the same, but where they come from no rule denied them."""
    large, lax = (deployment(*[constraint()] * 101) for _ in range(2))
    lax["spec"]["template"]["spec"]["schedulerName"] = "lax"
    overrides = f"[{{name: lax, schedulerName: lax, enforcement: {enforcement}}}]"

    found = validate(large, lax, rules=f"{{rules: {{empty-selector: {{enforced: true}}}}, overrides: {overrides}}}")
    assert allowed == found.allowed


@pytest.mark.parametrize("levels", [5, 5_000])
def test_constraints_too_deep_to_compare_are_not_known_to_be_kept(levels):
    obj, old = (deployment(nested(levels), *[constraint()] * 100) for _ in range(2))
    obj["spec"]["template"]["spec"]["x"] = old["spec"]["x"] = "y"

    assert (levels < 1_000) == validate(obj, old, rules="{onError: Deny}").allowed


@pytest.mark.parametrize("minor", [26, 38])
def test_what_is_only_an_info_uses_up_no_old_error(minor):
    """A selector of {} counts every Pod there, which is no error; that of null is one."""
    listed = EMPTY, constraint(labelSelector=None)
    restarted = request(deployment(*listed, template={"annotations": {"note": "x"}}), deployment(*listed))

    decision = review(restarted, VALIDATE, policy("{rules: {invalid-constraint: ignore}}"), None, features(minor))

    assert ["info", "error"] == [each.severity for each in decision.findings if each.rule == "empty-selector"]
    assert decision.allowed


@pytest.mark.parametrize("enforced", [False, True])
def test_an_old_error_hides_no_new_one_on_its_field(enforced):
    """A deprecated key is replaced by a deprecated one that is forbidden, too: of the two rules one would be shown."""
    setting = {"severity": "error", "enforced": enforced}
    forbidden = {**setting, "topologyKeys": ["failure-domain.beta.kubernetes.io/region"]}
    rules = {"misspelt-topology-key": setting, "forbidden-topology-key": forbidden}
    old, new = (constraint(topologyKey=f"failure-domain.beta.kubernetes.io/{name}") for name in ("zone", "region"))
    update = request(deployment(new), deployment(old))

    decision = review(update, VALIDATE, policy(rules=rules), None, FEATURES)

    assert ["forbidden-topology-key"] == [cause["reason"] for cause in decision.status["details"]["causes"]]
