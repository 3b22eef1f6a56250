"""Every rule tests itself: its bad example raises its own id and nothing else, its good example nothing."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.scheduler.replica_room import room_for
from tests.rules.judged import (
    IN_BOTH,
    OBJECT,
    SOFT,
    THREE,
    deployment,
    findings,
    on,
    rolling,
    shown,
    stateful,
)
from tests.support.build import FEATURES, ZONE, constraint, honoring, node, owned_by, pod, snapshot, workload
from webhook.findings import wording
from webhook.findings.evaluation import evaluate
from webhook.findings.finding import Severity
from webhook.findings.neighbours import Neighbours
from webhook.findings.rule import Need
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.kinds import KINDS, Kind, Kinds
from webhook.kubernetes.references import Scaling
from webhook.kubernetes.workload import parse_workloads
from webhook.rules import DEFAULT_SETTINGS, RULES


@pytest.mark.parametrize("one", RULES.values(), ids=lambda one: one.id)
class TestEveryRule:
    def found(self, one, example):
        setting = one.setting(Severity.WARNING if one.severity is Severity.IGNORE else None, False, one.example)
        (obj,) = read_documents(example)
        beside = read_documents(one.context)
        others = Neighbours.of(other for each in beside for other in parse_workloads(each))
        return findings(obj, snapshot=snapshot(*beside, features=LATEST), others=others, **{one.id: setting})

    def test_the_bad_example_raises_its_own_id_only(self, one):
        assert {one.id} == {finding.rule for finding in self.found(one, one.bad)}

    def test_the_good_example_raises_nothing(self, one):
        assert () == self.found(one, one.good)

    def test_a_warning_has_room_for_the_object_and_the_fix(self, one):
        for finding in self.found(one, one.bad):
            assert f"; {finding.fix} (evenkeel {one.id})" in wording.warning(finding, OBJECT)

    def test_the_file_is_named_after_the_rule(self, one):
        assert one.check.__module__ == f"webhook.rules.{one.id.replace('-', '_')}"

    def test_what_it_yields_to_is_a_rule(self, one):
        assert set(one.yields_to) <= RULES.keys() - {one.id}

    def test_it_says_what_was_found_what_is_wanted_and_the_fix(self, one):
        assert all(f.found and f.wanted and f.fix and f.message for f in self.found(one, one.bad))


class Case(NamedTuple):
    name: str
    obj: dict
    finds: list[str]
    minor: int | None = None
    nodes: tuple = ()


HASHED = constraint(matchLabelKeys=["pod-template-hash"])
MERGED = constraint(
    labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, matchLabelKeys=["app"]
)
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/zone": "a"}}}
CASES = [
    Case("a null selector is empty", pod(constraint(labelSelector=None)), ["empty-selector [0].labelSelector"]),
    Case("{} counts no Pod", pod(constraint(labelSelector={})), ["empty-selector [0].labelSelector"]),
    Case("{} that matchLabelKeys fill is not empty", pod(constraint(labelSelector={}, matchLabelKeys=["app"])), []),
    Case(
        "{} that a controller's label fills is not empty",
        deployment(constraint(labelSelector={}, matchLabelKeys=["pod-template-hash"])),
        [],
    ),
    Case(
        "before 1.27 matchLabelKeys fill nothing",
        pod(constraint(labelSelector={}, matchLabelKeys=["app"])),
        ["empty-selector [0].labelSelector"],
        minor=26,
    ),
    Case(
        "an absent key fills nothing",
        pod(constraint(labelSelector={}, matchLabelKeys=["x"])),
        ["empty-selector [0].labelSelector", "absent-match-label-key [0].matchLabelKeys[0]"],
    ),
    Case(
        "every cause of an invalid constraint",
        pod(constraint(maxSkew=0, minDomains=0, whenUnsatisfiable="ScheduleAnyway")),
        [
            "invalid-constraint [0].maxSkew",
            "invalid-constraint [0].minDomains",
            "invalid-constraint [0].minDomains",
        ],
    ),
    Case(
        "what is invalid silences the rest on its field only",
        pod(constraint(labelSelector={"matchExpressions": [{"key": "a b", "operator": "Exists"}]}, topologyKey="a b")),
        [
            "invalid-constraint [0].labelSelector.matchExpressions[0].key",
            "malformed-topology-key [0].topologyKey",
        ],
    ),
    Case(
        "a repeated constraint is named at the constraint",
        pod(constraint(), constraint()),
        ["invalid-constraint [0]"],
    ),
    Case(
        "a Pod with a key in both is invalid",
        pod(IN_BOTH),
        ["invalid-constraint [0].matchLabelKeys[0]"],
    ),
    Case("a stored Pod with a merged key is valid", pod(MERGED, uid="u"), []),
    Case("which is refused of a Pod that is not merged yet", pod(MERGED), ["invalid-constraint [0].matchLabelKeys[0]"]),
    Case(
        "a stored Pod may hold merged keys whatever version is told",
        pod(IN_BOTH, uid="u"),
        [],
        minor=33,
    ),
    Case(
        "a template with a key in both makes Pods that are refused",
        deployment(IN_BOTH),
        ["invalid-constraint [0].matchLabelKeys[0]"],
    ),
    Case(
        "and so does one whose key only its controller adds",
        deployment(
            constraint(
                labelSelector={"matchLabels": {"app": "web", "pod-template-hash": "x"}},
                matchLabelKeys=["pod-template-hash"],
            )
        ),
        ["invalid-constraint [0].matchLabelKeys[0]"],
    ),
    Case(
        "a key that the Pods will not have is merged into none",
        deployment(
            constraint(
                labelSelector={"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}, matchLabelKeys=["x"]
            )
        ),
        ["absent-match-label-key [0].matchLabelKeys[0]"],
    ),
    Case(
        "before 1.34 the template itself is refused",
        deployment(IN_BOTH),
        ["invalid-constraint [0].matchLabelKeys[0]"],
        minor=33,
    ),
    Case(
        "a key twice in matchLabelKeys is twice in the merged selector",
        pod(constraint(labelSelector={}, matchLabelKeys=["app", "app"])),
        ["invalid-constraint [0].matchLabelKeys[1]"],
    ),
    Case(
        "the wrong label",
        pod(constraint(labelSelector={"matchLabels": {"app": "db"}})),
        ["selector-misses-own-pod [0].labelSelector"],
    ),
    Case(
        "a label that a controller may still add is no mistake",
        workload(
            "StatefulSet", constraint(labelSelector={"matchLabels": {"statefulset.kubernetes.io/pod-name": "web-0"}})
        ),
        [],
    ),
    Case(
        "yet a known label decides against it",
        workload(
            "StatefulSet",
            constraint(labelSelector={"matchLabels": {"app": "db", "statefulset.kubernetes.io/pod-name": "web-0"}}),
        ),
        ["selector-misses-own-pod [0].labelSelector"],
    ),
    Case(
        "since 1.35 a zone label is added at binding",
        pod(constraint(labelSelector={"matchLabels": {ZONE: "a"}})),
        [],
        minor=35,
    ),
    Case(
        "yet for matchLabelKeys it comes too late",
        pod(constraint(labelSelector={}, matchLabelKeys=[ZONE])),
        ["empty-selector [0].labelSelector", "absent-match-label-key [0].matchLabelKeys[0]"],
        minor=35,
    ),
    Case(
        "before 1.35 it is not",
        pod(constraint(labelSelector={"matchLabels": {ZONE: "a"}})),
        ["selector-misses-own-pod [0].labelSelector"],
        minor=34,
    ),
    Case(
        "malformed before misspelt", pod(constraint(topologyKey=f"{ZONE} ")), ["malformed-topology-key [0].topologyKey"]
    ),
    Case(
        "a near miss",
        pod(constraint(topologyKey="topology.kubernetes.io/zne")),
        ["misspelt-topology-key [0].topologyKey"],
    ),
    Case(
        "the wrong prefix", pod(constraint(topologyKey="kubernetes.io/zone")), ["misspelt-topology-key [0].topologyKey"]
    ),
    Case(
        "which a node carries",
        pod(constraint(topologyKey="kubernetes.io/zone")),
        ["single-domain [0].topologyKey"],
        nodes=(NODE,),
    ),
    Case(
        "the key of old",
        pod(constraint(topologyKey="failure-domain.beta.kubernetes.io/zone")),
        ["deprecated-topology-key [0].topologyKey"],
    ),
    Case("wrong before absent", workload("Job", HASHED), ["wrong-revision-key [0].matchLabelKeys[0]"]),
    Case("in a bare ReplicaSet", workload("ReplicaSet", HASHED), ["wrong-revision-key [0].matchLabelKeys[0]"]),
    Case("in a CronJob", workload("CronJob", HASHED), ["wrong-revision-key [0].matchLabelKeys[0]"]),
    Case(
        "in a ReplicationController",
        workload("ReplicationController", HASHED),
        ["wrong-revision-key [0].matchLabelKeys[0]"],
    ),
    Case(
        "in a Rollout",
        workload("Rollout", HASHED) | {"apiVersion": "argoproj.io/v1alpha1"},
        ["wrong-revision-key [0].matchLabelKeys[0]"],
    ),
    Case("a CloneSet's Pods carry it", workload("CloneSet", HASHED) | {"apiVersion": "apps.kruise.io/v1alpha1"}, []),
    Case(
        "a Deployment's ReplicaSet carries it in its template",
        workload("ReplicaSet", HASHED, labels={"app": "web", "pod-template-hash": "7"}),
        [],
    ),
    Case("on a Pod it is only absent", pod(HASHED), ["absent-match-label-key [0].matchLabelKeys[0]"]),
    Case("a rollout", rolling(constraint()), ["rollout-skew [0].matchLabelKeys"]),
    Case("with a revision key", rolling(HASHED), []),
    Case(
        "is told once an object",
        rolling(constraint(), constraint(topologyKey="r")),
        ["rollout-skew [0].matchLabelKeys"],
    ),
    Case(
        "at the first that counts old Pods",
        rolling(HASHED, constraint(topologyKey="r")),
        ["rollout-skew [1].matchLabelKeys"],
    ),
    Case("matters for a hard constraint", rolling(SOFT), []),
    Case("without surge keeps a hard one", rolling(constraint(), strategy={"rollingUpdate": {"maxSurge": 0}}), []),
    Case("a percentage, too", rolling(constraint(), strategy={"rollingUpdate": {"maxSurge": "0%"}}), []),
    Case(
        "with a surge does not",
        rolling(constraint(), strategy={"rollingUpdate": {"maxSurge": 1}}),
        ["rollout-skew [0].matchLabelKeys"],
    ),
    Case("of one replica", rolling(constraint(), replicas=1), []),
    Case("with strategy Recreate", rolling(constraint(), strategy={"type": "Recreate"}), []),
    Case("before 1.27 there is no fix", rolling(constraint()), [], minor=26),
    Case(
        "a selector that misses the Pod counts neither old nor new",
        rolling(constraint(labelSelector={"matchLabels": {"app": "db"}})),
        ["selector-misses-own-pod [0].labelSelector"],
    ),
    Case(
        "a name that is nearly a field's",
        pod(constraint(nodeTaintPolicy="Honor")),
        ["unknown-field [0].nodeTaintPolicy"],
    ),
    Case(
        "in a selector and its expressions",
        pod(
            constraint(
                labelSelector={
                    "matchLabel": {},
                    "matchLabels": {"app": "web"},
                    "matchExpressions": [{"key": "app", "operator": "Exists", "vals": []}],
                }
            )
        ),
        [
            "unknown-field [0].labelSelector.matchExpressions[0].vals",
            "unknown-field [0].labelSelector.matchLabel",
        ],
    ),
    Case("a name that is no field's, beside fields", pod(constraint(weight=1)), ["unknown-field [0].weight"]),
    Case("what kustomize means", pod(constraint(**{"$patch": "replace"})), []),
    Case("one constraint of a Pod", pod(spec={"topologySpreadConstraint": [constraint()]}), ["unknown-field"]),
    Case("in another case", pod(spec={"TopologySpreadConstraints": [constraint()]}), ["unknown-field"]),
    Case("two letters off", pod(spec={"topologySpredConstraint": [constraint()]}), ["unknown-field"]),
    Case("three letters off", pod(spec={"topolgySpredConstraint": [constraint()]}), []),
    Case("which hold nothing", pod(spec={"topologySpreadConstraint": []}), []),
    Case("beside right ones", pod(constraint(), spec={"topologySpreadConstraint": [constraint()]}), []),
    Case(
        "in the template of a CronJob",
        workload("CronJob", spec={"template": {"spec": {"topologySpreadConstraint": [constraint()]}}}),
        ["unknown-field"],
    ),
    Case(
        "in that of a Rollout",
        workload("Rollout", spec={"template": {"spec": {"topologySpreadConstraint": [constraint()]}}})
        | {"apiVersion": "argoproj.io/v1alpha1"},
        ["unknown-field"],
    ),
    Case("in what is no Pod's spec", deployment(spec={"topologySpreadConstraint": [constraint()]}), []),
    Case(
        "constraints of a Deployment that stand beside its template",
        deployment(spec={"strategy": {"type": "Recreate"}, "topologySpreadConstraints": [constraint()]}),
        ["unknown-field"],
    ),
    Case("none there", deployment(spec={"strategy": {"type": "Recreate"}, "topologySpreadConstraints": []}), []),
    Case("a Pod with nodeName", pod(constraint(), spec={"nodeName": "n1"}), ["pinned-pod"]),
    Case(
        "a Pod that was bound by the scheduler",
        pod(constraint(), spec={"nodeName": "n1"}) | {"status": {"conditions": [{"type": "PodScheduled"}]}},
        [],
    ),
    Case(
        "pinned and invalid, too",
        pod(constraint(maxSkew=0), spec={"nodeName": "n1"}),
        ["pinned-pod", "invalid-constraint [0].maxSkew"],
    ),
    Case(
        "constraints that are no list",
        pod(spec={"topologySpreadConstraints": "x"}),
        ["invalid-constraint"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_found(case):
    """That taints are to be honoured is test_counts_tainted_nodes.py's."""
    there, off = snapshot(*case.nodes) if case.nodes else None, RULES["counts-tainted-nodes"].setting(Severity.IGNORE)

    assert case.finds == shown(case.obj, minor=case.minor, snapshot=there, counts_tainted_nodes=off)


class TestOutsideAPodTemplate:
    """Constraints of custom resources whose operator fills the rest in (fact 14)."""

    BARE = (Kind("m/v1", "Prometheus", "prometheuses", template=None, constraints=("spec", "spread"), built_in=False),)
    LABELLED = (
        Kind("m/v1", "Prometheus", "p", template=None, constraints=("spec", "spread"), labels=("spec", "labels")),
    )

    def obj(self, *constraints, labels=None):
        return {"apiVersion": "m/v1", "kind": "Prometheus", "spec": {"spread": list(constraints), "labels": labels}}

    def test_only_what_is_wrong_with_any_labels_is_found(self):
        given = constraint(labelSelector=None, maxSkew=0, topologyKey="kubernetes.io/zone", matchLabelKeys=["x"])
        found = findings(self.obj(given), kinds=self.BARE)

        assert ["invalid-constraint", "misspelt-topology-key"] == [f.rule for f in found]

    def test_the_rest_is_reported_as_skipped(self):
        (one,) = parse_workloads(self.obj(constraint()), Kinds(self.BARE))
        skipped = {s.rule for s in evaluate(one, DEFAULT_SETTINGS, None, FEATURES).skipped}

        assert {"empty-selector", "selector-misses-own-pod"} < skipped
        assert skipped.isdisjoint({"invalid-constraint", "malformed-topology-key", "misspelt-topology-key"})

    def test_with_a_path_to_the_labels_every_rule_runs(self):
        found = findings(self.obj(constraint(), labels={"app": "db"}), kinds=self.LABELLED)

        assert ["selector-misses-own-pod"] == [f.rule for f in found]

    def test_whether_nodes_carry_a_key_needs_no_labels_of_pods(self):
        found = on(self.obj(constraint(topologyKey="rack")), *THREE, kinds=self.BARE)

        assert ["unknown-topology-key"] == [one.partition(" ")[0] for one in found]


ADVICE = [rule for rule in RULES.values() if rule.advice]


class TestAdvice:
    def test_what_needs_nodes_or_may_be_meant_is_advice(self):
        """The table of rules that need nodes: these, those that hold of the object alone, and that on switches."""
        assert {
            *(
                "contradicting-constraints",
                "counts-tainted-nodes",
                "idle-switch",
                "pinned-domain",
                "selector-matches-others",
                "skew-never-binds",
            ),
            *(
                "single-domain",
                "stuck-rollout",
                "tainted-domain",
                "too-few-domains",
                "unknown-topology-key",
                "unlabelled-nodes",
                "unschedulable",
            ),
        } == {rule.id for rule in ADVICE}
        of_pods = {Need.LABELS, Need.SELECTORS, Need.GIVEN_LABELS, Need.REPLICAS}
        assert all(rule.advice for rule in RULES.values() if not of_pods.issuperset(rule.needs))

    @pytest.mark.parametrize("one", ADVICE, ids=lambda one: one.id)
    def test_it_warns_at_most(self, one):
        assert (Severity.WARNING, Severity.INFO, Severity.IGNORE) == one.severities
        assert one.severity in one.severities

    @pytest.mark.parametrize("one", ADVICE, ids=lambda one: one.id)
    def test_it_does_not_judge_what_a_controller_creates(self, one):
        (obj,), beside = read_documents(one.bad), read_documents(one.context)
        owned = {**obj, "metadata": {**obj["metadata"], **owned_by("ReplicaSet/web")}}
        others = Neighbours.of(other for each in beside for other in parse_workloads(each))

        assert [] == [
            f for f in findings(owned, snapshot=snapshot(*beside, features=LATEST), others=others) if f.rule == one.id
        ]


class TestWhatIsNotKnown:
    def skipped(self, obj, *nodes, kinds=KINDS):
        (one,) = parse_workloads(obj, Kinds(kinds))
        return {
            s.rule: s.reason
            for s in evaluate(one, DEFAULT_SETTINGS, snapshot(*nodes), FEATURES, room_for=room_for).skipped
        }

    def test_without_nodes_what_needs_them_is_skipped(self):
        found = self.skipped(stateful(constraint(minDomains=2)))

        assert {"tainted-domain", "too-few-domains", "unknown-topology-key", "unlabelled-nodes"} < found.keys()
        assert "no node is known: give a cluster, or manifests of its nodes" == found["tainted-domain"]

    def test_what_a_constraint_gives_no_cause_for_is_not_skipped(self):
        assert "too-few-domains" not in self.skipped(stateful(constraint()))
        assert {"selector-matches-others", "unknown-topology-key"} == set(
            self.skipped(stateful(constraint(whenUnsatisfiable="ScheduleAnyway")))
        )

    def test_with_nodes_it_is_not(self):
        assert {"selector-matches-others", "unschedulable"} == set(
            self.skipped(stateful(constraint(minDomains=2)), *THREE)
        )

    def test_where_tolerations_stand_is_not_known_outside_a_pod_template(self):
        labelled = TestOutsideAPodTemplate()
        obj = labelled.obj(constraint(), labels={"app": "web"})

        assert self.skipped(obj, *THREE, kinds=labelled.LABELLED)["tainted-domain"].startswith(
            "the tolerations and the"
        )

    def test_more_tolerations_than_can_be_held_against_all_nodes(self):
        many = {"tolerations": [{"key": f"k{i}", "operator": "Exists"} for i in range(200)]}
        few = {"tolerations": many["tolerations"][:50]}

        assert "tainted-domain" in self.skipped(stateful(constraint(), pod_spec=many), *THREE)
        assert "tainted-domain" not in self.skipped(stateful(constraint(), pod_spec=few), *THREE)

    @pytest.mark.parametrize("wrong", [None, 1, "x", [], [1], {}, {"a": 1}], ids=repr)
    @pytest.mark.parametrize("field", ["tolerations", "nodeSelector", "affinity"])
    def test_fields_of_a_wrong_type_read_as_if_they_were_absent(self, field, wrong):
        assert ["tainted-domain [0].nodeTaintsPolicy"] == on(
            stateful(constraint(), pod_spec={field: wrong}), *THREE
        ) or (field == "nodeSelector" and wrong == {"a": 1})


def by_autoscaler(least, most, obj, *nodes, **settings):
    """The rules that find something where an autoscaler is known."""
    (one,) = parse_workloads(obj)
    known = snapshot(*nodes, features=LATEST) if nodes else None
    chosen = {**DEFAULT_SETTINGS, **{name.replace("_", "-"): setting for name, setting in settings.items()}}
    return [
        f.rule for f in evaluate(one.scaled(Scaling(least, most)), chosen, known, FEATURES, room_for=room_for).findings
    ]


class TestAutoscaled:
    """What must be certain counts the minimum, and what may or may never be the maximum."""

    def unscaled(self, *constraints, kind="Deployment", **spec):
        return workload(kind, *constraints, spec={"replicas": None, **spec})

    @pytest.mark.parametrize(
        ("least", "most", "found"), [(0, 1, []), (1, 2, ["rollout-skew"]), (2, 2, ["rollout-skew"]), (1, None, [])]
    )
    def test_a_rollout_of_what_may_have_several_pods(self, least, most, found):
        assert found == by_autoscaler(least, most, self.unscaled(constraint(nodeTaintsPolicy="Honor")))

    @pytest.mark.parametrize(("least", "most", "found"), [(1, 9, False), (2, 9, True), (2, None, True)])
    def test_what_always_has_several_pods_must_have_constraints(self, least, most, found):
        setting = RULES["missing-constraints"].setting(Severity.WARNING)

        assert ["missing-constraints"] * found == by_autoscaler(
            least, most, self.unscaled(), missing_constraints=setting
        )

    @pytest.mark.parametrize(("least", "most", "found"), [(1, 3, True), (1, 4, False), (3, 3, True), (1, None, False)])
    def test_a_skew_that_the_most_pods_never_reach(self, least, most, found):
        obj = self.unscaled(honoring(maxSkew=3), kind="StatefulSet")

        assert ["skew-never-binds"] * found == by_autoscaler(least, most, obj)

    @pytest.mark.parametrize(
        ("least", "most", "found"), [(1, 1, False), (1, 9, True), (2, None, True), (1, None, False)]
    )
    def test_a_zone_that_may_be_lost(self, least, most, found):
        obj = self.unscaled(constraint(), kind="StatefulSet")

        assert ["counts-tainted-nodes"] * found == [
            rule for rule in by_autoscaler(least, most, obj) if rule != "skew-never-binds"
        ]

    def test_a_skew_that_is_written_for_fewer_replicas_may_bind(self):
        obj = workload("StatefulSet", honoring(maxSkew=3))

        assert (["skew-never-binds"], []) == (by_autoscaler(1, 3, obj), by_autoscaler(1, 9, obj))

    @pytest.mark.parametrize(("least", "found"), [(1, False), (3, True)])
    def test_domains_that_are_too_few_for_the_fewest_pods(self, least, found):
        nodes = node("n1", **{ZONE: "a"}), node("n2", **{ZONE: "b"})
        obj = self.unscaled(constraint(minDomains=3, nodeTaintsPolicy="Honor"), kind="StatefulSet")

        assert ["too-few-domains"] * found == by_autoscaler(least, 9, obj, *nodes)
        tainted = node("n1", **{ZONE: "a"}), node("n2", taints=["a=b:NoSchedule"], **{ZONE: "b"})
        obj = self.unscaled(constraint(), kind="StatefulSet")
        assert found == ("tainted-domain" in by_autoscaler(least, 9, obj, *tainted))
