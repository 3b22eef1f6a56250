"""Every rule tests itself: its bad example raises its own id and nothing else, its good example nothing."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint, pod, snapshot, workload
from webhook.documents.reading import read_documents
from webhook.findings import wording
from webhook.findings.evaluation import evaluate
from webhook.findings.finding import Severity
from webhook.objects.kinds import KINDS, Kind, Kinds
from webhook.objects.workload import parse_workloads
from webhook.rules import DEFAULT_SETTINGS, RULES
from webhook.rules.misspelt_topology_key import within
from webhook.scheduler.features import features


def findings(obj, minor=None, snapshot=None, kinds=None, **settings):
    """What the rules find, with the default settings save for those given as rule_id=Setting."""
    chosen = {**DEFAULT_SETTINGS, **{name.replace("_", "-"): setting for name, setting in settings.items()}}
    (one,) = parse_workloads(obj, Kinds(kinds or KINDS))
    version = FEATURES if minor is None else features(minor)
    return evaluate(one, chosen, snapshot, version).findings


def shown(obj, **given):
    """The findings as `rule field`, the field without the path of the list."""
    (one,) = parse_workloads(obj, Kinds(given.get("kinds") or KINDS))
    return [f"{f.rule} {wording.short_path(f.path[len(one.path) - 1 :])[25:]}".strip() for f in findings(obj, **given)]


@pytest.mark.parametrize("one", RULES.values(), ids=lambda one: one.id)
class TestEveryRule:
    def found(self, one, example):
        setting = one.setting(Severity.WARNING if one.severity is Severity.IGNORE else None, False, one.example)
        (obj,) = read_documents(example)
        return findings(obj, **{one.id: setting})

    def test_the_bad_example_raises_its_own_id_only(self, one):
        assert {one.id} == {finding.rule for finding in self.found(one, one.bad)}

    def test_the_good_example_raises_nothing(self, one):
        assert () == self.found(one, one.good)

    def test_a_warning_fits_a_line(self, one):
        assert all(len(wording.warning(finding)) <= 120 for finding in self.found(one, one.bad))

    def test_the_file_is_named_after_the_rule(self, one):
        assert one.check.__module__ == f"webhook.rules.{one.id.replace('-', '_')}"

    def test_what_it_yields_to_is_a_rule(self, one):
        assert one.yields_to is None or one.yields_to in RULES

    def test_it_says_what_was_found_what_is_wanted_and_the_fix(self, one):
        assert all(f.found and f.wanted and f.fix and f.message for f in self.found(one, one.bad))


class Case(NamedTuple):
    name: str
    obj: dict
    finds: list[str]
    minor: int | None = None
    nodes: tuple = ()


def deployment(*constraints, **fields):
    return workload("Deployment", *constraints, **{"spec": {"strategy": {"type": "Recreate"}}, **fields})


def rolling(*constraints, **spec):
    return workload("Deployment", *constraints, spec=spec)


SOFT = constraint(whenUnsatisfiable="ScheduleAnyway")
TWO_KEYS = constraint(), constraint(topologyKey="rack")
HASHED = constraint(matchLabelKeys=["pod-template-hash"])
MERGED = constraint(
    labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, matchLabelKeys=["app"]
)
IN_BOTH = constraint(matchLabelKeys=["app"])
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
    Case("which a node carries", pod(constraint(topologyKey="kubernetes.io/zone")), [], nodes=(NODE,)),
    Case(
        "the key of old",
        pod(constraint(topologyKey="failure-domain.beta.kubernetes.io/zone")),
        ["misspelt-topology-key [0].topologyKey"],
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
    assert case.finds == shown(case.obj, minor=case.minor, snapshot=snapshot(*case.nodes) if case.nodes else None)


def test_a_policy_may_ask_for_rollout_skew_of_soft_constraints():
    setting = RULES["rollout-skew"].setting(parameters={"soft": True})

    assert ["rollout-skew"] == [f.rule for f in findings(rolling(SOFT), rollout_skew=setting)]


def test_one_finding_says_how_many_constraints_it_is_about():
    one, several = (findings(rolling(*TWO_KEYS[:count]))[0].fix for count in (1, 2))

    assert (RULES["rollout-skew"].fix, "add pod-template-hash to the matchLabelKeys of 2 constraints") == (one, several)


def test_a_min_domains_of_0_is_to_be_1_or_more():
    (found,) = findings(pod(constraint(minDomains=0)))

    assert ("1 or more", "remove minDomains, or set it to 1 or more") == (found.wanted, found.fix)


KEYS = [
    "zone",
    "node",
    "rack",
    "example.com/zone",
    "topology.ebs.csi.aws.com/zone",
    "topology.gke.io/zone",
    ZONE,
    HOSTNAME,
]
KEYS += ["topology.kubernetes.io/region", "node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os"]
KEYS += [
    "topology.kubernetes.io/rack",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/zone",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_ones_own_is_no_mistake(key):
    assert () == findings(pod(constraint(topologyKey=key)))


def test_the_empty_selector_is_worth_a_remark_where_it_counts():
    """kubernetes#141340, in 1.38: `{}` counts every Pod of the namespace."""
    severities = {
        minor: [f.severity for f in findings(pod(constraint(labelSelector={})), minor=minor)] for minor in (37, 38)
    }

    assert {37: [Severity.ERROR], 38: [Severity.INFO]} == severities


def test_nobody_is_told_to_copy_the_selector_that_the_api_server_makes_up_for_a_job():
    made_up = {"batch.kubernetes.io/controller-uid": "u1"}
    spec = {"selector": {"matchLabels": made_up}}
    (job,), (replica_set,) = (
        findings(workload(kind, constraint(labelSelector={}), labels={"app": "web", **made_up}, spec=own))
        for kind, own in (("Job", spec), ("ReplicaSet", {}))
    )

    assert (RULES["empty-selector"].fix, None) == (job.fix, job.edit)
    assert "write labelSelector: {matchLabels: {app: web}}" == replica_set.fix


ADDED = {
    "Deployment": "pod-template-hash",
    "StatefulSet": "statefulset.kubernetes.io/pod-name",
}


@pytest.mark.parametrize(("kind", "key"), ADDED.items())
def test_a_label_that_every_pod_gets_cannot_be_asked_not_to_exist(kind, key):
    """Its value is not known, so that nothing else that is asked of it is judged."""
    asked = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}
    found = {
        operator: [
            f.rule for f in findings(workload(kind, constraint(labelSelector=asked | {"matchExpressions": [one]})))
        ]
        for operator, one in (
            ("DoesNotExist", {"key": key, "operator": "DoesNotExist"}),
            ("Exists", {"key": key, "operator": "Exists"}),
            ("In", {"key": key, "operator": "In", "values": ["nope"]}),
        )
    }

    assert "selector-misses-own-pod" in found["DoesNotExist"]
    assert "selector-misses-own-pod" not in found["Exists"] + found["In"]


def test_a_job_with_a_selector_of_its_own_does_not_get_its_labels():
    asked = {"matchExpressions": [{"key": "job-name", "operator": "DoesNotExist"}]}

    assert () == findings(workload("Job", constraint(labelSelector=asked)))


def test_a_selector_of_expressions_that_misses_its_own_pod_has_no_single_repair():
    expression = {"key": "app", "operator": "In", "values": ["db", "api"]}
    selectors = [
        {"matchExpressions": [expression]},
        {"matchLabels": {"app": "web"}, "matchExpressions": [expression]},
        {"matchLabels": {"app": "db"}, "matchExpressions": []},
    ]
    found = [one for obj in selectors for one in findings(workload("StatefulSet", constraint(labelSelector=obj)))]

    assert ["selector-misses-own-pod"] * 3 == [one.rule for one in found]
    assert [True, True, False] == [one.edit is None for one in found]
    assert [True, True, False] == [one.fix == RULES["selector-misses-own-pod"].fix for one in found]


@pytest.mark.parametrize(("minor", "severity"), [(26, "info"), (27, "error"), (37, "error"), (38, "info")])
def test_whether_an_empty_selector_counts_every_pod_is_a_matter_of_the_version(minor, severity):
    assert [severity] == [f.severity for f in findings(pod(constraint(labelSelector={})), minor=minor)]


@pytest.mark.parametrize(("minor", "said"), [(27, False), (28, True)])
def test_the_api_server_warns_of_a_null_selector_since_1_28(minor, said):
    found = findings(pod(constraint(labelSelector=None)), minor=minor)

    assert [said] == [f.said_by_api_server for f in found]


@pytest.mark.parametrize(
    ("minor", "key", "found"),
    [
        (26, "batch.kubernetes.io/job-name", ["selector-misses-own-pod"]),
        (27, "batch.kubernetes.io/job-name", []),
        (26, "job-name", []),
    ],
)
def test_the_prefixed_labels_of_a_job_are_there_since_1_27(minor, key, found):
    job = workload("Job", constraint(labelSelector={"matchLabels": {key: "x"}}))

    assert found == [f.rule for f in findings(job, minor=minor)]


def test_a_null_selector_counts_nothing_anywhere():
    assert [Severity.ERROR] == [f.severity for f in findings(pod(constraint(labelSelector=None)), minor=38)]


def pinned(*terms):
    """The spec of a Pod with node affinity to nodes by their names: a term's fields are ANDed, terms are ORed."""
    fields = [[{"key": "metadata.name", "operator": "In", "values": [name]} for name in names] for names in terms]
    affinity = {"nodeSelectorTerms": [{"matchFields": those} for those in fields]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}}}


def templated(pod_spec):
    return {"template": {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec}}


@pytest.mark.parametrize(
    ("minor", "wanted"),
    [
        (33, "each key once: the API server rejects the Pod"),
        (34, "each key once: the API server merges the two, then rejects the Pod"),
    ],
)
def test_a_key_in_both_is_refused_for_the_reason_of_the_version(minor, wanted):
    (found,) = findings(deployment(IN_BOTH), minor)

    assert wanted == found.wanted


class TestMissingConstraints:
    @pytest.fixture
    def every(self):
        return RULES["missing-constraints"].setting(Severity.ERROR, True, {"minReplicas": 1})

    def test_a_pod_that_is_pinned_as_the_daemonset_controller_does_is_left_alone(self, every):
        assert () == findings(pod(spec=pinned(["n1"])), missing_constraints=every)

    @pytest.mark.parametrize(
        ("terms", "reported"),
        [
            ([["n1"]] * 50, False),
            ([["n1", "n1"]], False),
            ([], True),
            ([["n1"], ["n2"]], True),
            ([["n1"], []], True),
            ([["n1"]] * 50 + [["n2"]], True),
            ([["n1"]] * 51, True),
            ([["n1", "n2"]], True),
        ],
        ids=[
            "always the same node",
            "twice in one term",
            "no term",
            "one of two nodes",
            "or any node",
            "a second node in the last of many terms",
            "more terms than are looked at",
            "two nodes at once",
        ],
    )
    def test_pinned_is_what_can_run_on_one_node_only(self, terms, reported, every):
        found = findings(pod(spec=pinned(*terms)), missing_constraints=every)

        assert ["missing-constraints"] * reported == [f.rule for f in found]

    def test_a_template_that_is_pinned_makes_pods_that_are_spread_by_nobody(self, every):
        for spec in (pinned(["n1"]), {"nodeName": "n1"}):
            (found,) = findings(workload("Deployment", spec=templated(spec)), missing_constraints=every)
            assert "missing-constraints" == found.rule

    def test_no_replica_counts_as_one(self, every):
        """It is scaled later, and that is not judged."""
        none = workload("Deployment", spec={"replicas": 0})

        assert ["missing-constraints"] == [f.rule for f in findings(none, missing_constraints=every)]

    @pytest.mark.parametrize(("count", "found"), [(0, "0 replicas"), (1, "1 replica"), (2, "2 replicas")])
    def test_it_says_how_many_replicas_it_found(self, count, found, every):
        (one,) = findings(workload("Deployment", spec={"replicas": count}), missing_constraints=every)

        assert f"none, {found}" == one.found

    @pytest.mark.parametrize(
        "obj", [pod(owner="DaemonSet/x"), workload("Deployment", owner="DaemonSet/x")], ids=["Pod", "Deployment"]
    )
    def test_a_made_up_daemonset_is_no_excuse(self, obj, every):
        assert ["missing-constraints"] == [f.rule for f in findings(obj, missing_constraints=every)]


@given(st.text("ab", max_size=6), st.text("ab", max_size=6), st.integers(0, 2))
def test_a_text_within_so_many_edits_is_one_that_as_many_steps_reach(text, other, edits):
    reached = {text}
    for _ in range(edits):
        reached |= {changed for each in reached for changed in edited(each)}

    assert within(edits, text, other) == (other in reached)


def edited(text):
    """The text with any one letter of two put in, taken away or replaced."""
    for i in range(len(text) + 1):
        yield from (text[:i] + new + text[rest:] for new in ("", "a", "b") for rest in (i, i + 1))


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
