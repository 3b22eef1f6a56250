"""What is enforced on kinds whose Pods' labels are not known: of operators, and described without `labels`."""

from __future__ import annotations

import pytest

from tests.support.build import HOSTNAME, ZONE, constraint, policy
from tests.support.review import validate

CNPG = {"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster"}
KEY = "topologySpreadConstraints"
OWN = {**CNPG, "resource": "clusters", "constraints": f"spec.{KEY}"}
COUNTED = OWN | {"replicas": "spec.instances"}
RULES = {
    "missing-constraints": {"topologyKeys": [ZONE]},
    "hard-constraint": {},
    "soft-constraint": {},
    "excessive-max-skew": {"maxSkew": 2},
    "missing-min-domains": {"minDomains": 3},
    "forbidden-topology-key": {"allowedTopologyKeys": [ZONE, HOSTNAME]},
}
SOFT = constraint(whenUnsatisfiable="ScheduleAnyway")
OFFENDING = {
    "missing-constraints": constraint(topologyKey=HOSTNAME),
    "hard-constraint": constraint(),
    "soft-constraint": SOFT,
    "excessive-max-skew": constraint(maxSkew=100),
    "missing-min-domains": constraint(),
    "forbidden-topology-key": constraint(topologyKey="rack"),
}
ENTRIES = {"built in": {"builtIn": "cnpg-cluster"}, "described": COUNTED}
MANY_REPLICAS = {"missing-constraints": {"topologyKeys": [ZONE], "minReplicas": 1}}


def asked(rules, *entries):
    enforced = {rule: {"severity": "error", "enforced": True, **fields} for rule, fields in rules.items()}
    return repr({"rules": enforced, "workloads": [*entries]})


def cluster(*constraints, kind=CNPG, **spec):
    return {**kind, "metadata": {"name": "pg"}, "spec": {"instances": 3, KEY: [*constraints], **spec}}


def denied(obj, rules, *entries):
    decision = validate(obj, rules=asked(rules, *entries))
    return [] if decision.allowed else [cause["reason"] for cause in decision.status["details"]["causes"]]


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
@pytest.mark.parametrize("rule", RULES)
def test_what_reads_no_label_is_enforced(rule, entry):
    assert [rule] == denied(cluster(OFFENDING[rule]), {rule: RULES[rule]}, entry)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_replicas_that_are_not_written_are_not_counted(entry):
    """An operator's own default is not known; and of several places of an object one may be unused."""
    one, none = cluster(instances=1), cluster(instances=None)

    assert ["missing-constraints"] == denied(one, MANY_REPLICAS, entry)
    assert [] == denied(one, {"missing-constraints": {}}, entry)
    assert [] == denied(none, MANY_REPLICAS, entry)


@pytest.mark.parametrize("entry", [OWN, {"builtIn": "crunchy-postgrescluster"}], ids=["described", "built in"])
def test_a_kind_is_not_asked_for_constraints_where_its_replicas_are_not_known(entry):
    """PGO, for one, adds constraints of its own where an object has none."""
    crunchy = {"apiVersion": "postgres-operator.crunchydata.com/v1", "kind": "PostgresCluster"}
    obj = cluster(kind=crunchy if "builtIn" in entry else CNPG, instances=[{"replicas": 3}])

    assert [] == denied(obj, MANY_REPLICAS, entry)


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("hard-constraint", {"whenUnsatisfiable": "DoNotSchedule"}),
        ("soft-constraint", {"whenUnsatisfiable": "ScheduleAnyway"}),
        ("excessive-max-skew", {"maxSkew": 100}),
    ],
)
def test_what_an_operator_sets_itself_is_not_judged(rule, fields):
    tidb = {"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster", "metadata": {"name": "db"}}
    obj = {**tidb, "spec": {"tikv": {KEY: [constraint(**fields)]}}}

    assert [] == denied(obj, {rule: RULES[rule]}, {"builtIn": "tidb-cluster"})


def test_what_an_operator_fills_in_is_not_judged_where_it_is_absent():
    mongo = {"apiVersion": "psmdb.percona.com/v1", "kind": "PerconaServerMongoDB", "metadata": {"name": "db"}}
    named = {"builtIn": "percona-servermongodb"}
    rules = {"forbidden-topology-key": {"allowedTopologyKeys": [ZONE]}}
    absent, rack = ({**mongo, "spec": {"replsets": [{KEY: [constraint(topologyKey=key)]}]}} for key in (None, "rack"))

    assert [] == denied(absent, rules, named)
    assert ["forbidden-topology-key"] == denied(rack, rules, named)


def notes(rules, *entries):
    return [note for note in policy(asked(rules, *entries)).notes if note.startswith("workloads")]


def test_policy_check_says_which_rules_cannot_judge_a_kind():
    rules = {**RULES, "rollout-skew": {}, "empty-selector": {}}

    assert [
        "workloads: rollout-skew cannot judge cnpg-cluster: the labels of the Pods that an operator makes are not known"
    ] == notes(rules, ENTRIES["built in"])
    first, second = notes(rules, OWN)
    assert first.startswith("workloads: empty-selector, rollout-skew cannot judge Cluster: the labels of the Pods")
    assert second.startswith("workloads: missing-constraints, missing-min-domains cannot judge Cluster: the number of")
    assert [] == notes(rules, COUNTED | {"labels": "spec.labels"})
    assert [] == notes({"hard-constraint": {}}, OWN)


def test_policy_check_names_the_places_that_a_rule_cannot_judge_where_it_can_judge_others():
    (note,) = notes({"missing-constraints": {}}, {"builtIn": "strimzi-kafkaconnect"})

    assert note.startswith("workloads: missing-constraints cannot judge spec.template.buildPod.topologySpread")
