"""Every rule tests itself: its bad example raises its own id and nothing else, its good example nothing."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support import placing
from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint, honoring, node, owned_by, pod, snapshot, workload
from webhook.documents.reading import read_documents
from webhook.documents.scalars import _WORDS
from webhook.findings import wording
from webhook.findings.evaluation import evaluate
from webhook.findings.finding import Severity
from webhook.findings.neighbours import Neighbours
from webhook.findings.rule import Need
from webhook.objects.fields import with_value
from webhook.objects.kinds import KINDS, Kind, Kinds
from webhook.objects.references import Scaling
from webhook.objects.workload import parse_workloads
from webhook.rules import DEFAULT_SETTINGS, RULES
from webhook.scheduler.features import LATEST, features

OBJECT = "Deployment payments-team/checkout-api"


def findings(obj, minor=None, snapshot=None, kinds=None, others=None, **settings):
    """What the rules find, with the default settings save for those given as rule_id=Setting."""
    chosen = {**DEFAULT_SETTINGS, **{name.replace("_", "-"): setting for name, setting in settings.items()}}
    (one,) = parse_workloads(obj, Kinds(kinds or KINDS))
    version = FEATURES if minor is None else features(minor)
    return evaluate(one, chosen, snapshot, version, others).findings


def shown(obj, **given):
    """The findings as `rule field`, the field without the path of the list."""
    (one,) = parse_workloads(obj, Kinds(given.get("kinds") or KINDS))
    return [f"{f.rule} {wording.short_path(f.path[len(one.path) - 1 :])[25:]}".strip() for f in findings(obj, **given)]


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
    """That taints are to be honoured is TestCountsTaintedNodes'."""
    there, off = snapshot(*case.nodes) if case.nodes else None, RULES["counts-tainted-nodes"].setting(Severity.IGNORE)

    assert case.finds == shown(case.obj, minor=case.minor, snapshot=there, counts_tainted_nodes=off)


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
    assert () == findings(pod(constraint(topologyKey=key, nodeTaintsPolicy="Honor")))


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


def test_the_selector_of_a_replication_controller_can_be_copied():
    """It is a map of labels, and no LabelSelector."""
    spec = {"selector": {"app": "web"}}
    (found,) = findings(workload("ReplicationController", constraint(labelSelector={}), spec=spec))

    assert "write labelSelector: {matchLabels: {app: web}}" == found.fix
    assert {"matchLabels": {"app": "web"}} == found.edit.value


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


@pytest.mark.parametrize("key", ["job-name", "controller-uid"])
def test_a_job_with_a_selector_of_its_own_does_not_get_its_labels(key):
    asked = constraint(labelSelector={"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]})

    assert [] == misses_own_pod(workload("Job", asked, spec={"manualSelector": True}))
    assert misses_own_pod(workload("Job", asked))


def misses_own_pod(obj, **given):
    """The fields at which a selector misses the Pod's own labels."""
    return [one for one in shown(obj, **given) if one.startswith("selector-misses-own-pod")]


SERVER_WRITES = {"job-name": "web", "batch.kubernetes.io/job-name": "web", "controller-uid": "u"}


@pytest.mark.parametrize("key", ["job-name", "batch.kubernetes.io/job-name"])
@pytest.mark.parametrize(("name", "misses"), [("web", False), ("other", True)])
def test_a_job_is_judged_as_after_the_api_server_has_written_its_name(key, name, misses):
    asked = constraint(labelSelector={"matchLabels": {key: name}})
    before, after = workload("Job", asked, labels={}), workload("Job", asked, labels=SERVER_WRITES)

    assert misses == bool(misses_own_pod(before))
    assert shown(after) == shown(before)


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
@pytest.mark.parametrize("name", ["web", "web-1"])
def test_no_author_knows_a_name_that_is_generated(kind, name):
    """The API server has generated it before /validate, where a selector that names another is found."""
    asked = constraint(labelSelector={"matchLabels": {"job-name": name}})

    assert misses_own_pod(workload(kind, asked, name=None, generateName="web-"))


@pytest.mark.parametrize(
    "given",
    [
        {"spec": {"manualSelector": True}, "labels": {"job-name": "other"}},
        {"labels": {"job-name": "other"}},
        {"name": "{{ .Release.Name }}"},
    ],
    ids=["a selector of its own", "a label that is written", "a name that is rendered"],
)
def test_the_name_of_a_job_is_not_known(given):
    asked = constraint(labelSelector={"matchLabels": {"job-name": "other"}})

    assert [] == misses_own_pod(workload("Job", asked, **given))


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
@pytest.mark.parametrize("key", ["controller-uid", "batch.kubernetes.io/controller-uid"])
def test_nobody_knows_the_uid_of_a_job_before(key, kind):
    assert misses_own_pod(workload(kind, constraint(labelSelector={"matchLabels": {key: "8a3f"}})))
    assert [] == misses_own_pod(workload(kind, constraint(labelSelector={}, matchLabelKeys=[key])))


@pytest.mark.parametrize("name", ["web", "web-1", "other"])
def test_a_cron_job_never_has_a_job_of_a_name_that_stands_in_it(name):
    """Its Jobs are named after the time at which each is due."""
    asked = {
        operator: {"matchExpressions": [{"key": "job-name", **one}]}
        for operator, one in (
            ("In", {"operator": "In", "values": [name]}),
            ("NotIn", {"operator": "NotIn", "values": [name]}),
            ("Exists", {"operator": "Exists"}),
        )
    }
    found = {name: misses_own_pod(workload("CronJob", constraint(labelSelector=one))) for name, one in asked.items()}

    assert {"In": ["selector-misses-own-pod [0].labelSelector"], "NotIn": [], "Exists": []} == found
    assert [] == shown(workload("CronJob", constraint(labelSelector={}, matchLabelKeys=["job-name"])))


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
    job = workload("Job", constraint(labelSelector={"matchLabels": {key: "web"}}))

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
    (found,) = findings(deployment({**IN_BOTH, "nodeTaintsPolicy": "Honor"}), minor)

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

        assert (f"{found}, but none", "no constraint") == (one.message, one.found)

    @pytest.mark.parametrize("value", ["web", "1", "true", "No", "1e3", "2026-11-23", ""])
    def test_what_it_offers_can_be_pasted(self, value, every):
        obj = workload("Deployment", labels={"app": value, "x.io/y": "z"}, spec={"replicas": 3, "selector": {}})
        (found,) = findings(obj, missing_constraints=every)
        (offered,) = read_documents(found.fix.removeprefix("add "))
        repaired = with_value(obj, found.path, [offered])

        assert {"matchLabels": obj["spec"]["template"]["metadata"]["labels"]} == offered["labelSelector"]
        assert () == findings(repaired, missing_constraints=every)

    @pytest.mark.parametrize(
        ("rule", "parameters"),
        [
            ("soft-constraint", {}),
            ("forbidden-topology-key", {"topologyKeys": [ZONE]}),
            ("rollout-skew", {"soft": True}),
        ],
    )
    def test_it_offers_nothing_with_which_another_rule_finds_fault(self, rule, parameters, every):
        deployment, other = workload("Deployment", spec={"replicas": 3}), RULES[rule]
        strict = other.setting(Severity.ERROR, False, parameters)
        found = findings(deployment, missing_constraints=every, **{rule: strict})

        assert [f"add a constraint for {ZONE}"] == [finding.fix for finding in found]

    def test_where_no_node_has_the_key_it_offers_nothing(self, every):
        (found,) = findings(workload("Deployment"), snapshot=snapshot(node(rack="1")), missing_constraints=every)

        assert f"add a constraint for {ZONE}" == found.fix

    @pytest.mark.parametrize("word", sorted(filter(str.isalpha, _WORDS)))
    def test_a_label_that_yaml_may_read_otherwise_is_quoted(self, word, every):
        labels = {word: word, "app": "web"}
        (found,) = findings(workload("Deployment", labels=labels, spec={"selector": {}}), missing_constraints=every)
        (offered,) = read_documents(found.fix.removeprefix("add "))

        assert {"matchLabels": labels} == offered["labelSelector"]

    @pytest.mark.parametrize(
        "obj", [pod(owner="DaemonSet/x"), workload("Deployment", owner="DaemonSet/x")], ids=["Pod", "Deployment"]
    )
    def test_a_made_up_daemonset_is_no_excuse(self, obj, every):
        assert ["missing-constraints"] == [f.rule for f in findings(obj, missing_constraints=every)]


class TestUnknownField:
    @pytest.mark.parametrize("name", ["topologySpreadConstraint", "TopologySpreadConstraints"])
    def test_a_misspelt_field_is_repaired_by_its_name(self, name):
        spec = {"hostNetwork": True, name: [constraint()], "containers": []}
        (found,) = findings(pod(spec=spec))

        assert ("spec", name) == found.path
        assert "is not a field, so it is ignored" == found.message
        assert "write topologySpreadConstraints" == found.fix
        assert (("spec",), {**spec, "topologySpreadConstraints": [constraint()]}) == (
            found.edit.path,
            {**found.edit.value, name: [constraint()]},
        )
        assert ["hostNetwork", "topologySpreadConstraints", "containers"] == [*found.edit.value]

    def test_a_name_that_is_there_already_is_written_by_no_repair(self):
        off = RULES["absent-match-label-key"].setting(Severity.IGNORE)
        (found,) = findings(pod(constraint(matchLabelKey=["app"], matchLabelKeys=["tier"])), absent_match_label_key=off)

        assert ("unknown-field", None) == (found.rule, found.edit)

    def test_among_very_many_fields_none_is_renamed(self):
        """Each would be a copy of all."""
        many = {f"field{i}": 0 for i in range(300)}
        found = [f.edit for f in findings(pod(constraint(nodeTaintPolicy="Honor", **many))) if "write" in f.fix]

        assert [None] == found


@pytest.mark.parametrize(
    ("when", "nodes", "message"),
    [
        ("DoNotSchedule", [], "unless nodes have this label, no Pod can be placed"),
        ("ScheduleAnyway", [], "unless nodes have this label, it spreads nothing"),
        ("DoNotSchedule", [node("n1")], "no node has this label: no Pod can be placed"),
    ],
)
@pytest.mark.parametrize("key", ["hostname", "kubernetes.io/host", "kubernetes.io/hostnam"])
def test_a_misspelt_key_is_told_what_it_means_for_the_pods(key, when, nodes, message):
    (found,) = findings(pod(constraint(topologyKey=key, whenUnsatisfiable=when)), snapshot=snapshot(*nodes))

    assert (message, f"write topologyKey: {HOSTNAME}") == (found.message, found.fix)


DEPRECATED = "failure-domain.beta.kubernetes.io"


@pytest.mark.parametrize(("name", "key"), [("zone", ZONE), ("region", "topology.kubernetes.io/region")])
def test_a_deprecated_key_is_not_called_misspelt(name, key):
    (found,) = findings(pod(constraint(topologyKey=f"{DEPRECATED}/{name}")))

    assert (f"is deprecated: {key} has replaced it", f"write topologyKey: {key}") == (found.message, found.fix)
    assert (key, True) == (found.edit.value, found.said_by_api_server)
    assert found.fix in wording.warning(found, OBJECT)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        (f"{HOSTNAME} ", HOSTNAME),
        ("\track", "rack"),
        ("kubernetes.io/zone ", ZONE),
        ("topology/kubernetes.io/zone", ZONE),
        ("a b", None),
        (" ", None),
    ],
)
def test_a_malformed_key_gets_advice_for_the_key_that_was_meant(key, meant):
    (found,) = findings(pod(constraint(topologyKey=key)))

    assert "malformed-topology-key" == found.rule
    assert (f"write topologyKey: {meant}" if meant else f"use {found.wanted}") == found.fix
    assert meant == (found.edit and found.edit.value)


IGNORE, SKIP = "evenkeel.dev/ignore", "evenkeel.dev/skip"
IN_TEMPLATE = "spec.template.metadata.labels"


class Switch(NamedTuple):
    """What is said of a label or an annotation: nothing, or a message that begins so, and a fix with these words."""

    name: str
    obj: dict
    message: str = ""
    fix: str = ""


def labelled(kind, *constraints, **labels):
    return workload(kind, *constraints, labels={"app": "web", **labels})


SWITCHED = [
    Switch("a rule", pod(constraint(), annotations={IGNORE: "pinned-pod, rollout-skew"})),
    Switch("what lint reports", pod(constraint(), annotations={IGNORE: "unused-suppression"})),
    Switch(
        "a rule that is none",
        pod(constraint(), annotations={IGNORE: "pinned-pod,empty-selectr"}),
        "there is no rule empty-selectr",
        "write empty-selector",
    ),
    Switch("like none", pod(annotations={IGNORE: "all"}), "there is no rule all", 'remove "all"'),
    Switch(
        "in a template",
        workload("Deployment", template={"annotations": {IGNORE: "rollout-skw"}}),
        "there is no rule rollout-skw",
        "write rollout-skew",
    ),
    Switch(
        "as a label",
        pod(labels={"app": "web", IGNORE: "pinned-pod"}),
        "does nothing as a label: it must be an annotation",
        "move it to metadata.annotations",
    ),
    Switch("which is no text", pod(annotations={IGNORE: ["pinned-pod"]})),
    Switch("a Pod that opts out", pod(labels={"app": "web", SKIP: "true"})),
    Switch("one that does not", pod(labels={"app": "web", SKIP: "false"})),
    Switch("a template", labelled("Deployment", **{SKIP: "true"})),
    Switch(
        "another value",
        labelled("Deployment", **{SKIP: "yes"}),
        'does nothing: only the value "true" works',
        'write "true"',
    ),
    Switch(
        "without quotes",
        labelled("StatefulSet", **{SKIP: True}),
        'does nothing: only the value "true" works',
        "the quotes",
    ),
    Switch(
        "on a Deployment",
        workload("Deployment") | {"metadata": {"labels": {SKIP: "true"}}},
        "does nothing on a Deployment: it must be a label of its Pods",
        f"move it to {IN_TEMPLATE}",
    ),
    Switch(
        "on a CronJob",
        workload("CronJob") | {"metadata": {"labels": {SKIP: "true"}}},
        "does nothing on a CronJob",
        f"move it to spec.jobTemplate.{IN_TEMPLATE}",
    ),
    Switch("on both", labelled("Deployment", **{SKIP: "true"}) | {"metadata": {"labels": {SKIP: "true"}}}),
    Switch("copied from the template", labelled("Job", **{SKIP: "false"}) | {"metadata": {"labels": {SKIP: "false"}}}),
    Switch(
        "of another value, copied from the template",
        labelled("ReplicationController", **{SKIP: "yes"}) | {"metadata": {"labels": {SKIP: "yes"}}},
        'does nothing: only the value "true" works',
        'write "true"',
    ),
    Switch(
        "under another name, copied from the template",
        labelled("Job", **{"evenkeel.dev/skp": "true"}) | {"metadata": {"labels": {"evenkeel.dev/skp": "true"}}},
        "does nothing under this name",
        f"write {SKIP}",
    ),
    Switch(
        "which the template contradicts",
        labelled("Job", **{SKIP: "false"}) | {"metadata": {"labels": {SKIP: "true"}}},
        "does nothing on a Job",
        f"move it to {IN_TEMPLATE}",
    ),
    Switch(
        "on a custom resource, which may hand it on",
        workload("Rollout") | {"apiVersion": "argoproj.io/v1alpha1", "metadata": {"labels": {SKIP: "true"}}},
    ),
    Switch(
        "as an annotation",
        workload("Deployment", annotations={SKIP: "true"}),
        "does nothing as an annotation: it must be a label",
        f"move it to {IN_TEMPLATE}",
    ),
    Switch(
        "of a Pod",
        pod(annotations={SKIP: "true"}),
        "does nothing as an annotation: it must be a label",
        "move it to metadata.labels",
    ),
    Switch(
        "a name that is nearly one",
        pod(annotations={"evenkeel.dev/Ignored": "pinned-pod"}),
        "does nothing",
        f"write {IGNORE}",
    ),
    Switch("a name of its own", pod(annotations={"evenkeel.dev/owner": "us", "evenkeel.dev/defaulted-by": "policy"})),
]


@pytest.mark.parametrize("case", SWITCHED, ids=lambda case: case.name)
def test_a_switch_that_does_nothing_is_said_once(case):
    found = findings(case.obj, rollout_skew=RULES["rollout-skew"].setting(Severity.IGNORE))

    assert ["idle-switch"] * bool(case.message) == [f.rule for f in found]
    assert all(f.message.startswith(case.message) and case.fix in f.fix for f in found)
    assert all(f.fix in wording.warning(f, OBJECT) for f in found)


def test_an_annotation_that_would_silence_an_enforced_rule_is_said():
    made = workload("Deployment", constraint(labelSelector={}), annotations={IGNORE: "empty-selector,pinned-pod"})
    found = findings(made, empty_selector=RULES["empty-selector"].setting(enforced=True))
    (idle,) = [finding for finding in found if finding.rule == "idle-switch"]

    assert "cannot switch off empty-selector: the policy enforces it" == idle.message
    assert "remove empty-selector, and fix what the rule finds" == idle.fix
    assert "empty-selector" in [finding.rule for finding in found]


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


ZONES = (node("n1"), node("n2", **{ZONE: "b"}))
INFRA = node("n3", ["dedicated=infra:NoSchedule"], **{ZONE: "c"})
THREE = (*ZONES, INFRA)
TOLERANT = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
HARD_HOST = constraint(topologyKey=HOSTNAME)


def stateful(*constraints, replicas=6, pod_spec=None, **fields):
    """A StatefulSet: it has no rollout that adds Pods."""
    made = workload("StatefulSet", *constraints, spec={"replicas": replicas}, **fields)
    made["spec"]["template"]["spec"] |= pod_spec or {}
    return made


def on(obj, *nodes, **given):
    """The findings of `obj` in a cluster with these nodes, as `rule field`."""
    return shown(obj, snapshot=snapshot(*nodes), **given)


def said(obj, *nodes, rule, **given):
    """The message and the fix of the only finding of a rule."""
    ((message, fix),) = [
        (f.message, f.fix) for f in findings(obj, snapshot=snapshot(*nodes), **given) if f.rule == rule
    ]
    return message, fix


ADVICE = [rule for rule in RULES.values() if rule.advice]


class TestAdvice:
    def test_what_needs_nodes_or_may_be_meant_is_advice(self):
        """The table of rules that need nodes: these, those that hold of the object alone, and that on switches."""
        assert {
            *("counts-tainted-nodes", "idle-switch", "pinned-domain", "selector-matches-others", "skew-never-binds"),
            *("tainted-domain", "too-few-domains", "unknown-topology-key", "unlabelled-nodes", "unschedulable"),
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


class TestUnknownTopologyKey:
    def test_a_key_that_no_node_carries(self):
        message, fix = said(pod(constraint(topologyKey="rack")), *THREE, rule="unknown-topology-key")

        assert 'no node has the label "rack": no Pod can be placed' == message
        assert f'label nodes with "rack", or use one of {HOSTNAME}, {ZONE}' == fix

    def test_a_soft_constraint_spreads_nothing(self):
        soft = constraint(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway")

        assert said(pod(soft), *THREE, rule="unknown-topology-key")[0].endswith("it spreads nothing")

    def test_a_key_that_one_node_carries_is_known(self):
        obj = pod(constraint(topologyKey="rack", whenUnsatisfiable="ScheduleAnyway"))

        assert [] == on(obj, *THREE, node("n4", rack="r1"))

    @pytest.mark.parametrize(
        ("key", "rule"),
        [
            ("a b", "malformed-topology-key"),
            ("kubernetes.io/zone", "misspelt-topology-key"),
            ("failure-domain.beta.kubernetes.io/zone", "misspelt-topology-key"),
            ("", "invalid-constraint"),
            ("rack", "unknown-topology-key"),
        ],
    )
    def test_one_rule_speaks_for_a_key(self, key, rule):
        assert [f"{rule} [0].topologyKey"] == on(pod(constraint(topologyKey=key)), *THREE)

    def test_it_needs_no_labels_of_pods(self):
        bare = TestOutsideAPodTemplate()
        found = on(bare.obj(constraint(topologyKey="rack")), *THREE, kinds=bare.BARE)

        assert ["unknown-topology-key"] == [one.partition(" ")[0] for one in found]


class TestUnlabelledNodes:
    NOWHERE = node("n4", rack="r1")

    def test_they_are_counted_among_those_that_it_may_use(self):
        obj = pod(constraint(nodeTaintsPolicy="Honor"))
        message, fix = said(obj, *THREE, self.NOWHERE, rule="unlabelled-nodes")

        assert "1 of 3 nodes that would take the Pod lacks this label, so no such Pod runs on it" == message
        assert f"label n4 with {ZONE}" == fix

    @pytest.mark.parametrize(
        ("spec", "nodes"),
        [
            ({}, [node("n4", ["a=b:NoExecute"], rack="r")]),
            ({}, [node("n4", cordoned=True, rack="r")]),
            ({}, [node("n4", ["node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"], rack="r")]),
            ({"nodeSelector": {ZONE: "a"}}, [NOWHERE]),
            ({"nodeName": "n1"}, [NOWHERE]),
        ],
        ids=["a taint", "cordoned", "it has only just joined", "a node selector", "a Pod that is bound"],
    )
    def test_a_node_that_it_would_not_run_on_anyway_lacks_nothing(self, spec, nodes):
        assert [] == [f for f in on(pod(constraint(), spec=spec), *ZONES, *nodes) if "unlabelled" in f]

    def test_a_soft_constraint_keeps_no_pod_off(self):
        assert [] == on(pod(constraint(whenUnsatisfiable="ScheduleAnyway")), *ZONES, self.NOWHERE)

    def test_a_key_that_no_node_carries_is_said_once(self):
        assert ["unknown-topology-key [0].topologyKey"] == on(pod(constraint(topologyKey="rack")), *ZONES)


def in_zones(*zones, operator="In", key=ZONE):
    """The spec of a Pod whose node affinity requires one of these zones."""
    terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": [*zones]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


IN_A, ON_A, IN_AB = {"nodeSelector": {ZONE: "a"}}, {"nodeSelector": {HOSTNAME: "a"}}, in_zones("a", "b")
ANYWAY, IGNORING = {"whenUnsatisfiable": "ScheduleAnyway"}, {"nodeAffinityPolicy": "Ignore"}


class TestPinnedDomain:
    def found(self, obj, *nodes, **given):
        there = findings(obj, snapshot=snapshot(*nodes) if nodes else None, **given)
        return [(f.path[-1], f.message, f.fix) for f in there if f.rule == "pinned-domain"]

    @pytest.mark.parametrize(
        ("fields", "pod_spec", "message"),
        [
            ({}, IN_A, "spreads nothing: nodeSelector allows only a"),
            (ANYWAY, IN_A, "spreads nothing: nodeSelector allows only a"),
            (ANYWAY, in_zones("a"), "spreads nothing: node affinity allows only a"),
            ({}, IN_AB | IN_A, "spreads nothing: nodeSelector allows only a"),
            (ANYWAY | IGNORING, IN_A, "spreads nothing: nodeSelector allows only a"),
            ({"topologyKey": HOSTNAME}, ON_A, "spreads nothing: nodeSelector allows only a"),
        ],
    )
    def test_one_domain_spreads_nothing(self, fields, pod_spec, message):
        obj = stateful(constraint(**fields), pod_spec=pod_spec)

        assert [("topologyKey", message, RULES["pinned-domain"].fix)] == self.found(obj)
        assert self.found(obj) == self.found(obj, *ZONES), "whatever nodes there are"

    def test_only_the_constraint_on_that_key(self):
        obj = stateful(constraint(), HARD_HOST, constraint(topologyKey="rack"), pod_spec=IN_A)

        assert ["pinned-domain [0].topologyKey"] == [f for f in shown(obj) if "pinned" in f]

    @pytest.mark.parametrize(
        ("fields", "pod_spec", "replicas", "message"),
        [
            ({"minDomains": 3}, IN_A, 6, "only 1 of 6 Pods can ever run: nodeSelector allows 1 domain"),
            (
                {"minDomains": 3, "maxSkew": 2},
                IN_AB,
                6,
                "only 4 of 6 Pods can ever run: node affinity allows 2 domains",
            ),
            (IGNORING | {"minDomains": 2}, IN_A, 6, None),
            ({"minDomains": 3, "maxSkew": 3}, IN_AB, 6, None),
            ({"minDomains": 2}, IN_AB, 6, None),
            ({"minDomains": 3}, IN_A, 1, None),
            ({"minDomains": 3}, {}, 6, None),
        ],
        ids=["one", "two", "others count, and may have Pods", "they take all", "enough", "one replica", "any"],
    )
    def test_fewer_domains_than_min_domains(self, fields, pod_spec, replicas, message):
        obj = stateful(constraint(**fields), pod_spec=pod_spec, replicas=replicas)

        of_min_domains = [[f[:2] for f in self.found(obj, *nodes) if f[0] == "minDomains"] for nodes in ((), ZONES)]
        assert [[("minDomains", message)] * bool(message)] * 2 == of_min_domains, "whatever nodes there are"

    @pytest.mark.parametrize(
        ("fields", "pod_spec", "options", "nodes", "message"),
        [
            ({}, IN_A, {}, ZONES, "5 of 6 new Pods would wait: b counts, but the nodeSelector excludes it"),
            ({}, IN_AB, {}, THREE, "4 of 6 new Pods would wait: c counts, but the node affinity excludes it"),
            (
                {"minDomains": 2},
                IN_A,
                {},
                ZONES,
                "5 of 6 new Pods would wait: b counts, but the nodeSelector excludes it",
            ),
            ({}, IN_A, {}, (), None),
            ({}, IN_A, {}, ZONES[:1], None),
            ({}, IN_A, {"replicas": 1}, ZONES, None),
            ({"maxSkew": 6}, IN_A, {}, ZONES, None),
            ({"nodeTaintsPolicy": "Honor"}, IN_A, {}, (ZONES[0], INFRA), None),
        ],
        ids=[
            "one",
            "two",
            "minDomains",
            "no node is known",
            "none is elsewhere",
            "one replica",
            "it takes all",
            "it does not count",
        ],
    )
    def test_a_domain_that_is_not_left_but_counts(self, fields, pod_spec, options, nodes, message):
        obj = stateful(constraint(**IGNORING, **fields), pod_spec=pod_spec, **options)
        fix = "remove the constraint, or allow more domains in the nodeSelector"  # Honored, one domain is left.
        wanted = [("nodeAffinityPolicy", message, fix if pod_spec is IN_A else "set nodeAffinityPolicy: Honor")]

        assert wanted * bool(message) == self.found(obj, *nodes)

    @pytest.mark.parametrize(
        "obj",
        [
            stateful(constraint(), pod_spec=IN_A, replicas=1),
            stateful(constraint(), pod_spec=in_zones("a", operator="NotIn")),
            stateful(constraint(), pod_spec=in_zones(operator="Exists")),
            stateful(constraint(), pod_spec=in_zones("1", operator="Gt")),
            stateful(constraint(), pod_spec=IN_AB),
            stateful(constraint(), pod_spec=in_zones("b") | IN_A),
            stateful(constraint(), pod_spec={"nodeSelector": {"topology.kubernetes.io/region": "r"}}),
            stateful(constraint(labelSelector={"matchLabels": {"app": "db"}}), pod_spec=IN_A),
            workload("DaemonSet", constraint()),
            pod(constraint(), spec=pinned(["n1"]) | IN_A),
            pod(constraint(), spec=IN_A, annotations={"evenkeel.dev/defaulted-by": "policy"}),
            workload("Job", constraint(minDomains=3), spec={"parallelism": 6, **templated(IN_A)}),
        ],
        ids=[
            "one replica",
            "any but one",
            "any",
            "any above",
            "two",
            "none, so that nothing runs",
            "the region is none of its keys",
            "it counts others",
            "a DaemonSet",
            "a Pod for one node",
            "what evenkeel wrote",
            "the Pods of a Job make room",
        ],
    )
    def test_nothing_is_wrong_with_the_domains(self, obj):
        assert [] == self.found(obj, *ZONES)

    def test_a_pod_may_be_one_of_many(self):
        assert self.found(pod(constraint(), spec=IN_A))
        assert [] == self.found(pod(constraint(minDomains=3), spec=IN_A))

    @pytest.mark.parametrize(
        ("fields", "nodes", "finds"),
        [
            ({"topologyKey": "rack"}, ZONES, "unknown-topology-key [0].topologyKey"),
            ({"topologyKey": "kubernetes.io/zone"}, (), "misspelt-topology-key [0].topologyKey"),
            ({"minDomains": 3}, ZONES, "pinned-domain [0].minDomains"),
        ],
    )
    def test_which_rule_speaks_for_a_field(self, fields, nodes, finds):
        left = {"nodeSelector": {ZONE: "a", "rack": "r", "kubernetes.io/zone": "z"}}
        obj = stateful(constraint(nodeTaintsPolicy="Honor", **fields), pod_spec=left)

        assert [finds] == shown(obj, snapshot=snapshot(*nodes))


class TestTooFewDomains:
    def test_a_domain_takes_max_skew_pods(self):
        message, fix = said(stateful(constraint(minDomains=4, maxSkew=2)), *ZONES, rule="too-few-domains")

        assert "2 domains: only 4 of 6 Pods can run; the others wait for nodes in other domains" == message
        assert "lower minDomains to 2, or add nodes in other domains" == fix

    @pytest.mark.parametrize(
        ("fields", "options"),
        [
            ({"minDomains": 2}, {}),
            ({"minDomains": 3, "maxSkew": 3}, {}),
            ({}, {}),
            ({"minDomains": 3}, {"replicas": 2}),
            ({"minDomains": 3}, {"replicas": 0}),
            ({"minDomains": 3}, {"replicas": None}),
            ({"minDomains": 3}, {"pod_spec": {"nodeSelector": {"pool": "empty"}}}),
            ({"minDomains": 3, "labelSelector": {"matchLabels": {"app": "db"}}}, {}),
        ],
        ids=[
            "there are enough",
            "they take them all",
            "none is asked for",
            "few replicas",
            "no replica",
            "an autoscaler says how many",
            "a pool that is scaled to zero",
            "it counts others",
        ],
    )
    def test_nobody_waits(self, fields, options):
        assert [] == [f for f in on(stateful(constraint(**fields), **options), *ZONES) if "too-few" in f]

    @pytest.mark.parametrize("allowed", [["a"], ["a", "b"]])
    def test_nodes_that_join_are_no_help_where_affinity_leaves_no_further_domain(self, allowed):
        obj = stateful(constraint(minDomains=3), pod_spec=in_zones(*allowed))
        off = {"pinned_domain": RULES["pinned-domain"].setting(Severity.IGNORE)}
        message, fix = said(obj, *ZONES, rule="too-few-domains", **off)

        assert (
            f"only {len(allowed)} of 6 Pods can ever run: node affinity allows no other domain"
            == message.partition(": ")[2]
        )
        assert f"lower minDomains to {len(allowed)}, or allow more domains in node affinity" == fix

    @pytest.mark.parametrize("allowed", [["a", "c"], ["a", "b", "c"]])
    def test_nodes_that_join_are_some_help_where_affinity_leaves_a_further_domain(self, allowed):
        obj = stateful(constraint(minDomains=4), pod_spec=in_zones(*allowed))
        off = {"pinned_domain": RULES["pinned-domain"].setting(Severity.IGNORE)}

        assert said(obj, *ZONES, rule="too-few-domains", **off)[0].endswith(
            "; the others wait for nodes in other domains"
        )

    def test_a_domain_whose_nodes_do_not_count_is_none(self):
        honoring = stateful(constraint(minDomains=3, nodeTaintsPolicy="Honor"))

        assert ["too-few-domains [0].minDomains"] == on(honoring, *THREE)

    def test_the_pods_of_a_job_make_room(self):
        assert [] == on(workload("Job", constraint(minDomains=3), spec={"parallelism": 6}), *ZONES)

    def test_a_domain_that_is_closed_takes_no_pod(self):
        closed = node("n3", cordoned=True, **{ZONE: "b"})
        message, fix = said(stateful(constraint(minDomains=3)), ZONES[0], closed, rule="too-few-domains")

        assert "2 domains, and 1 of them can take Pods: only 1 of 6 Pods can run" == message
        assert "uncordon the nodes" == fix
        rules = [f.rule for f in findings(stateful(constraint(minDomains=3)), snapshot=snapshot(ZONES[0], closed))]
        assert ["too-few-domains"] == rules, "a cordon is a taint, too: honoured, it would leave one domain"


class TestTaintedDomain:
    def test_each_domain_is_said_to_be_closed_by_what_closes_it(self):
        mixed = [node("n3", cordoned=True, **{ZONE: "c"}), node("n4", ["gpu:NoSchedule"], **{ZONE: "d"})]
        message, fix = said(stateful(constraint()), *ZONES, *mixed, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: c is cordoned and d is tainted, but count" == message
        assert (
            "set nodeTaintsPolicy: Honor, or uncordon the nodes, and tolerate gpu:NoSchedule, or remove the taint"
            == fix
        )

    def test_no_two_rules_contradict_each_other_on_how_many_wait(self):
        """Of the two constraints the one on hostnames lets fewer Pods run."""
        nodes = [*ZONES, node("n3", ["gpu:NoSchedule"], **{ZONE: "c"})]
        obj = stateful(constraint(maxSkew=2), HARD_HOST, replicas=5)
        waiting = [f.message for f in findings(obj, snapshot=snapshot(*nodes)) if f.rule == "tainted-domain"]

        assert ["at least 3 of 5 new Pods would wait"] * 2 == [message.partition(":")[0] for message in waiting]

    def test_taints_are_not_honoured_where_one_domain_would_be_left(self):
        closed = [node("n2", ["gpu:NoSchedule"], **{ZONE: "b"}), node("n3", ["gpu:NoSchedule"], **{ZONE: "c"})]
        found = findings(stateful(constraint(), replicas=3), snapshot=snapshot(ZONES[0], *closed))

        assert [("tainted-domain", "tolerate gpu:NoSchedule, or remove the taint")] == [(f.rule, f.fix) for f in found]

    def test_it_bars_the_others(self):
        message, fix = said(stateful(constraint()), *THREE, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: c is tainted, but counts" == message
        assert "set nodeTaintsPolicy: Honor, or tolerate dedicated=infra:NoSchedule, or remove the taint" == fix

    @pytest.mark.parametrize(
        "closed",
        [
            node("n3", cordoned=True, **{ZONE: "c"}),
            node("n3", ["node.kubernetes.io/unschedulable:NoSchedule"], cordoned=True, **{ZONE: "c"}),
        ],
        ids=["by its spec", "by the taint, too"],
    )
    def test_a_cordoned_node_closes_its_domain(self, closed):
        message, fix = said(stateful(constraint()), *ZONES, closed, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: c is cordoned, but counts" == message
        assert "set nodeTaintsPolicy: Honor, or uncordon the nodes" == fix

    def test_many_domains_are_summed_up(self):
        closed = [node(f"m{i}", ["node-role.kubernetes.io/control-plane:NoSchedule"]) for i in range(3)]
        message, _ = said(stateful(HARD_HOST), *ZONES, *closed, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: m0 and 2 more are tainted, but count" == message

    @pytest.mark.parametrize(
        ("fields", "options", "nodes"),
        [
            ({"nodeTaintsPolicy": "Honor"}, {}, THREE),
            ({"whenUnsatisfiable": "ScheduleAnyway"}, {}, THREE),
            ({"maxSkew": 3}, {}, THREE),
            ({}, {"replicas": 2}, THREE),
            ({}, {"replicas": 0}, THREE),
            ({}, {"replicas": None}, THREE),
            ({}, {"pod_spec": TOLERANT}, THREE),
            ({}, {"pod_spec": {"nodeSelector": {ZONE: "a"}}}, THREE),
            ({}, {"pod_spec": {"nodeSelector": {"pool": "empty"}}}, THREE),
            ({}, {}, (*THREE, node("n4", **{ZONE: "c"}))),
            ({}, {}, (*ZONES, node("n3", ["busy:PreferNoSchedule"], **{ZONE: "c"}))),
            ({}, {}, (INFRA,)),
            ({}, {}, (*ZONES, node("n3", ["a:NoSchedule"], rack="r"))),
            ({"minDomains": 4}, {}, THREE),
            ({"labelSelector": {"matchLabels": {"app": "db"}}}, {}, THREE),
        ],
        ids=[
            "taints are honoured",
            "a soft constraint",
            "the others take all",
            "few replicas",
            "no replica",
            "an autoscaler says how many",
            "it is tolerated",
            "it is not asked for",
            "a pool that is scaled to zero",
            "one node takes it",
            "only preferred",
            "nothing takes it",
            "no domain at all",
            "minDomains holds the minimum at 0",
            "it counts others",
        ],
    )
    def test_nobody_waits_for_it(self, fields, options, nodes):
        assert [] == [f for f in on(stateful(constraint(**fields), **options), *nodes) if "tainted-domain" in f]

    def test_to_honor_taints_is_no_help_where_too_few_domains_are_left(self):
        message, fix = said(stateful(constraint(minDomains=3)), *THREE, rule="tainted-domain")

        assert "4 of 6 new Pods would wait: c is tainted, but counts" == message
        assert "tolerate dedicated=infra:NoSchedule, or remove the taint" == fix

    def test_before_1_26_nothing_honors_taints(self):
        assert (
            "4 of 6 new Pods would wait: c is tainted, but counts"
            == said(stateful(constraint()), *THREE, rule="tainted-domain", minor=25)[0]
        )

    def test_a_domain_that_counts_for_no_other_constraint_does_not_count(self):
        """A node counts only if it carries the key of each hard constraint."""
        both = stateful(constraint(), constraint(topologyKey="rack"))

        assert [] == [f for f in on(both, *THREE) if "tainted-domain" in f]

    @pytest.mark.parametrize("kind", ["DaemonSet", "Job", "CronJob"])
    def test_a_kind_whose_pods_do_not_wait_for_it(self, kind):
        made = workload(kind, constraint(), spec={"parallelism": 6})

        assert [] == [f for f in on(made, *THREE) if "tainted" in f]


class TestCountsTaintedNodes:
    FOUND = "counts-tainted-nodes [0].nodeTaintsPolicy"

    def test_it_needs_no_nodes(self):
        assert [self.FOUND] == shown(stateful(HARD_HOST))

    def test_what_the_nodes_say_is_worse(self):
        assert ["tainted-domain [0].nodeTaintsPolicy"] == on(stateful(HARD_HOST), *THREE)
        assert ["tainted-domain [0].nodeTaintsPolicy"] == on(stateful(constraint()), *THREE)

    @pytest.mark.parametrize(
        ("key", "message"),
        [
            (HOSTNAME, "should be Honor: without it, tainted nodes count as empty domains"),
            (ZONE, "should be Honor: without it, a lost zone counts as an empty domain"),
            ("topology.kubernetes.io/region", "should be Honor: without it, a lost region counts as an empty domain"),
        ],
    )
    def test_it_says_what_will_count_as_empty(self, key, message):
        assert (message, "set nodeTaintsPolicy: Honor") == said(
            stateful(constraint(topologyKey=key)), rule="counts-tainted-nodes"
        )

    def test_a_lost_zone_bars_the_others_in_the_cluster_that_it_warns_of(self):
        """Its Node objects stay, tainted as unreachable: as tainted-domain then says."""
        lost = node("n2", ["node.kubernetes.io/unreachable:NoSchedule"], **{ZONE: "b"})
        pair = stateful(constraint(), replicas=2)

        assert [self.FOUND] == on(pair, *ZONES)
        assert ["tainted-domain [0].nodeTaintsPolicy"] == on(pair, ZONES[0], lost)
        assert [] == on(stateful(constraint(nodeTaintsPolicy="Honor"), replicas=2), ZONES[0], lost)

    @pytest.mark.parametrize(
        ("obj", "minor"),
        [
            (stateful(constraint(topologyKey="rack")), None),
            (stateful(constraint(), replicas=1), None),
            (stateful(constraint(maxSkew=0)), None),
            (pod(constraint()), None),
            (workload("Job", constraint(), spec={"parallelism": 3}), None),
            (stateful(constraint(), pod_spec={"nodeSelector": {ZONE: "a"}}), None),
            (stateful(HARD_HOST | {"nodeTaintsPolicy": "Honor"}), None),
            (stateful(HARD_HOST | {"whenUnsatisfiable": "ScheduleAnyway"}), None),
            (stateful(HARD_HOST, pod_spec={"tolerations": [{"operator": "Exists"}]}), None),
            (stateful(HARD_HOST), 25),
            (workload("DaemonSet", HARD_HOST), None),
            (pod(HARD_HOST, spec={"nodeName": "n1"}), None),
            (stateful(HARD_HOST | {"maxSkew": 6}), None),
            (stateful(HARD_HOST | {"labelSelector": {"matchLabels": {"app": "db"}}}), None),
            (stateful(HARD_HOST | {"labelSelector": {}}), None),
        ],
        ids=[
            "a key of ones own",
            "one replica",
            "an invalid constraint",
            "a Pod, which nothing replaces",
            "the Pods of a Job make room",
            "a zone that is the only one",
            "taints are honoured",
            "a soft constraint",
            "every taint is tolerated",
            "no policy before 1.26",
            "a DaemonSet",
            "a Pod that is bound",
            "the skew never refuses",
            "it counts others",
            "it counts nothing",
        ],
    )
    def test_no_node_counts_in_vain(self, obj, minor):
        assert [] == [f for f in shown(obj, minor=minor) if "counts-tainted" in f]

    def test_a_pod_that_counts_no_other_among_the_manifests_is_alone(self):
        other = Neighbours.of(parse_workloads(workload("Deployment", name="other")))

        assert [] == shown(pod(HARD_HOST), others=Neighbours())
        assert self.FOUND in shown(pod(HARD_HOST), others=other)
        assert [self.FOUND] == shown(pod(HARD_HOST))

    def test_what_runs_beside_a_pod_in_a_cluster_is_not_asked_for(self):
        there = snapshot(pod(name="other", labels={"app": "web"}, spec={"nodeName": "n1"}, uid="u1"), features=LATEST)

        assert [self.FOUND] == shown(pod(HARD_HOST), snapshot=there, others=Neighbours())

    def test_a_toleration_of_one_effect_is_not_all(self):
        obj = stateful(HARD_HOST, pod_spec={"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]})

        assert [self.FOUND] == shown(obj)


class TestSkewNeverBinds:
    FOUND = "skew-never-binds [0].maxSkew"

    def found(self, obj):
        return [f for f in shown(obj) if "skew-never-binds" in f]

    @pytest.mark.parametrize(
        ("max_skew", "spec", "found"),
        [
            (4, {"replicas": 3}, True),
            (3, {"replicas": 3}, False),
            (3, {"replicas": 3, "strategy": {"type": "Recreate"}}, True),
            (3, {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 0}}}, True),
            (5, {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": "50%"}}}, True),
            (4, {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": "50%"}}}, False),
            (9, {"replicas": 0}, False),
            (9, {"replicas": None}, False),
            (9, {"replicas": 1}, False),
        ],
        ids=[
            "with its surge",
            "without",
            "at once",
            "none",
            "half, rounded up",
            "or down",
            "scaled to 0",
            "autoscaled",
            "autoscaled, as the API server stores it",
        ],
    )
    def test_the_pods_of_a_rollout_count(self, max_skew, spec, found):
        assert [self.FOUND] * found == self.found(workload("Deployment", constraint(maxSkew=max_skew), spec=spec))

    @pytest.mark.parametrize(
        ("selector", "found"),
        [
            ({"matchLabels": {"app": "web"}}, True),
            ({"matchLabels": {"app": "web", "tier": "front"}}, True),
            ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
            ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}, False),
            ({"matchLabels": {"tier": "front"}}, False),
            ({"matchLabels": {"app": "db"}}, False),
            ({}, False),
        ],
        ids=["its own", "and more", "as an expression", "of two", "another label", "that misses it", "none"],
    )
    def test_only_its_own_pods_are_known_to_be_counted(self, selector, found):
        obj = stateful(constraint(maxSkew=6, labelSelector=selector), labels={"app": "web", "tier": "front"})

        assert [self.FOUND] * found == self.found(obj)

    @pytest.mark.parametrize("kind", ["Job", "CronJob", "DaemonSet", "PodTemplate"])
    def test_other_kinds_keep_to_no_number(self, kind):
        assert [] == self.found(workload(kind, constraint(maxSkew=9)))

    def test_a_soft_constraint_refuses_nothing_anyway(self):
        assert [] == self.found(stateful(constraint(maxSkew=6, whenUnsatisfiable="ScheduleAnyway")))

    def test_one_pod_is_enough_where_the_manifest_says_so(self):
        """And no other is counted: then each of the three rules says nothing."""
        obj = stateful(HARD_HOST, replicas=1)
        beside = Neighbours.of(parse_workloads(workload("Deployment", name="other")))
        message, fix = said(obj, rule="skew-never-binds", others=Neighbours())

        assert ("the skew never refuses a node: the constraint counts at most 1 Pod", "remove the constraint") == (
            message,
            fix,
        )
        assert [self.FOUND] == shown(obj, others=Neighbours())
        assert [TestCountsTaintedNodes.FOUND] == shown(obj) == shown(obj | {"metadata": obj["metadata"] | {"uid": "u"}})
        assert not [f for f in shown(obj, others=beside) if "skew-never-binds" in f]
        assert all("less than 1" not in f.wanted for f in findings(obj, others=Neighbours()))

    def test_the_single_pod_of_a_deployment_is_two_in_a_rollout(self):
        """The skew keeps them apart; a tainted node that counts as empty bars none of them."""
        obj = workload("Deployment", HARD_HOST, spec={"replicas": 1})

        assert [] == shown(obj, others=Neighbours())

    def test_the_numbers_are_named(self):
        message, fix = said(stateful(constraint(maxSkew=6)), rule="skew-never-binds")

        assert "the skew never refuses a node: the constraint counts at most 6 Pods" == message
        assert "lower maxSkew below 6, or remove the constraint" == fix


STABLE, CANARY = ({"app": "web", "track": track} for track in ("stable", "canary"))


class TestSelectorMatchesOthers:
    FOUND = "selector-matches-others [0].labelSelector"

    def stable(self, **fields):
        spec = {"selector": {"matchLabels": STABLE}, "strategy": {"type": "Recreate"}}
        return workload("Deployment", constraint(**fields), labels=STABLE, spec=spec)

    def beside(self, *objects):
        return Neighbours.of(one for obj in objects for one in parse_workloads(obj))

    def test_the_other_is_named_with_a_selector_that_leaves_it_out(self):
        other = self.beside(workload("Deployment", labels=CANARY, name="canary"))
        message, fix = said(self.stable(), rule="selector-matches-others", others=other)

        assert "also counts the Pods of Deployment canary" == message
        assert "write labelSelector: {matchLabels: {app: web, track: stable}}" == fix

    @pytest.mark.parametrize(
        ("fields", "other"),
        [
            ({}, workload("Deployment", labels={"app": "db"}, name="db")),
            ({}, workload("Deployment", labels=CANARY, name="canary", namespace="other")),
            ({}, workload("ReplicaSet", labels=STABLE, name="web-1", owner="Deployment/web")),
            ({}, workload("Deployment", labels=CANARY)),
            ({"matchLabelKeys": ["track"]}, workload("Deployment", labels=CANARY, name="canary")),
            ({"matchLabelKeys": ["pod-template-hash"]}, workload("Deployment", labels=CANARY, name="canary")),
            ({"labelSelector": {}}, workload("Deployment", labels=CANARY, name="canary")),
            (
                {"labelSelector": {"matchLabels": {"app": "db"}}},
                workload("Deployment", labels={"app": "db"}, name="db"),
            ),
        ],
        ids=[
            "other labels",
            "another namespace",
            "its own ReplicaSet",
            "itself",
            "a key that tells them apart",
            "a revision of its own",
            "a selector that counts nothing",
            "a selector that misses its own",
        ],
    )
    def test_it_counts_no_other(self, fields, other):
        assert [] == [f for f in shown(self.stable(**fields), others=self.beside(other)) if "matches-others" in f]

    @pytest.mark.parametrize(
        ("labels", "found"),
        [
            (CANARY | {"pod-template-hash": "x"}, True),
            (STABLE, True),
            (STABLE | {"pod-template-hash": "x"}, False),
            ({"app": "db"}, False),
        ],
        ids=["of the other", "which no ReplicaSet made", "its own", "of other labels"],
    )
    def test_a_pod_in_the_cluster(self, labels, found):
        there = pod(labels=labels, spec={"nodeName": "n1"})

        assert [self.FOUND] * found == [f for f in on(self.stable(), node(), there) if "matches-others" in f]

    def test_the_selector_of_a_job_is_made_up_when_it_is_created(self):
        there, made_up = pod(labels=CANARY, spec={"nodeName": "n1"}), {"batch.kubernetes.io/controller-uid": "u1"}
        before = workload("Job", constraint(), spec={"selector": None})
        after = workload("Job", constraint(), labels=SERVER_WRITES | {"app": "web"} | made_up)
        after["spec"]["selector"] = {"matchLabels": made_up}

        assert [] == on(before, node(), there) == on(after, node(), there)

    @pytest.mark.parametrize(
        ("replicas", "scaling", "fields", "found"),
        [
            (1, None, {}, False),
            (None, None, {}, False),
            (1, None, {"whenUnsatisfiable": "ScheduleAnyway"}, False),
            (3, None, {"maxSkew": 3}, False),
            (None, Scaling(1, 1), {}, False),
            (3, None, {}, True),
            (3, None, {"maxSkew": 2}, True),
            (None, Scaling(1, 4), {}, True),
            (None, Scaling(1, None), {}, True),
        ],
    )
    def test_what_would_spread_nothing_of_its_own_shares_a_label_on_purpose(self, replicas, scaling, fields, found):
        """To select its own Pods alone would lead to skew-never-binds."""
        obj, other = self.stable(**fields), self.beside(workload("Deployment", labels=CANARY, name="canary"))
        obj["spec"]["replicas"] = replicas
        (parsed,) = parse_workloads(obj)
        scaled = parsed if scaling is None else parsed.scaled(scaling)
        rules = {f.rule for f in evaluate(scaled, DEFAULT_SETTINGS, None, FEATURES, other).findings}

        assert found == ("selector-matches-others" in rules)
        assert "skew-never-binds" not in rules

    def test_how_many_pods_a_kind_without_replicas_makes_is_not_known(self):
        fleet = Kind("a.io/v1", "Fleet", "fleets", template=("spec", "template"), built_in=False)
        obj = {**self.stable(), "apiVersion": "a.io/v1", "kind": "Fleet"}
        other = self.beside(workload("Deployment", labels=CANARY, name="canary"))

        assert self.FOUND in shown(obj, kinds=(*KINDS, fleet), others=other)

    @pytest.mark.parametrize("annotation", ["helm.sh/hook", "argocd.argoproj.io/hook"])
    def test_a_hook_or_a_test_of_a_release_runs_before_or_after(self, annotation):
        """Neither is it counted, nor told that it counts what is released."""
        hook = workload("Job", constraint(), name="migrate", annotations={annotation: "pre-upgrade"})
        many = hook | {"spec": hook["spec"] | {"parallelism": 3}}
        plain = workload("Job", name="migrate")
        stable, released = self.stable(), self.beside(workload("Deployment"))

        for obj, beside, found in (
            (stable, self.beside(hook), False),
            (stable, self.beside(plain), True),
            (many, released, False),
            (many | {"metadata": {"name": "x", "namespace": "shop"}}, released, True),
        ):
            assert found == any("matches-others" in f for f in shown(obj, others=beside))

    def test_a_pod_in_another_namespace_is_not_counted(self):
        there = pod(labels=CANARY, spec={"nodeName": "n1"}, namespace="other")

        assert [] == [f for f in on(self.stable(), node(), there) if "matches-others" in f]

    def test_a_pod_without_a_workload_is_not_told_from_others_like_it(self):
        there = pod(labels=CANARY, spec={"nodeName": "n1"})

        assert [] == on(pod(constraint()), node(), there)

    def test_without_others_it_is_skipped(self):
        (one,) = parse_workloads(self.stable())
        skipped = {s.rule: s.reason for s in evaluate(one, DEFAULT_SETTINGS, None, FEATURES).skipped}

        assert skipped["selector-matches-others"].startswith("no other workload and no Pod is known")


class TestWhatIsNotKnown:
    def skipped(self, obj, *nodes, kinds=KINDS):
        (one,) = parse_workloads(obj, Kinds(kinds))
        return {s.rule: s.reason for s in evaluate(one, DEFAULT_SETTINGS, snapshot(*nodes), FEATURES).skipped}

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


def room(zone, pods="110", **spec):
    """A node that says what it has."""
    return placing.node(f"n-{zone}", zone, pods=pods, **spec)


SHUT = room("c", taints=[{"key": "x", "effect": "NoSchedule"}])
OTHER_POD = pod(name="agent", labels={"app": "agent"}, spec={"nodeName": "n-a"}, uid="u1")


class TestUnschedulable:
    """The bound is tests/scheduler/test_capacity.py's; what is reported, and what others report, is here."""

    def found(self, obj, *nodes, pods=(OTHER_POD,)):
        there = snapshot(*nodes, *pods, features=LATEST)
        return [one for one in findings(obj, snapshot=there) if one.rule == "unschedulable"]

    def test_a_zone_with_room_for_few_holds_the_others_back(self):
        (found,) = self.found(stateful(constraint(), replicas=9), room("a"), room("b"), room("c", pods="1"))

        assert "at most 5 of 9 replicas fit now: zone c has room for only 1 more, so maxSkew" in found.message

    def test_a_zone_that_counts_although_affinity_leaves_it_out_is_named_with_what_does_which(self):
        terms = [{"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["c"]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        left_out = {"affinity": {"nodeAffinity": required}}
        nodes = room("a"), room("b"), room("c")
        ignoring = stateful(constraint(nodeAffinityPolicy="Ignore"), replicas=3, pod_spec=left_out)
        (found,) = self.found(ignoring, *nodes)

        assert "nodeAffinityPolicy" == found.path[-1]
        assert (
            "at most 2 of 3 replicas fit now: zone c counts as a domain, but affinity or nodeSelector excludes it"
        ) in found.message
        assert "set nodeAffinityPolicy: Honor" == found.fix
        assert [] == self.found(stateful(constraint(), replicas=3, pod_spec=left_out), *nodes)

    def test_with_room_for_all_nothing_is_found(self):
        assert [] == self.found(stateful(constraint(), replicas=9), room("a"), room("b"), room("c"))

    def test_what_runs_already_needs_no_place(self):
        there = [pod(name=f"web-{i}", spec={"nodeName": f"n-{zone}"}, uid=f"u{i}") for i, zone in enumerate("abc")]
        nodes = room("a"), room("b"), room("c", pods="1")

        assert [] == self.found(stateful(constraint(), replicas=5), *nodes, pods=there)
        (found,) = self.found(stateful(constraint(), replicas=6), *nodes, pods=there)
        assert "at most 5 of 6" in found.message

    def test_no_room_at_all(self):
        (found,) = self.found(stateful(constraint(), replicas=3), room("a", pods="1"))

        assert "none of 3 replicas fits now" in found.message

    @pytest.mark.parametrize(
        ("fields", "nodes", "pod_spec", "above", "field"),
        [
            ({}, [room("a"), room("b"), SHUT], {}, "tainted-domain", "nodeTaintsPolicy"),
            ({"topologyKey": "rack"}, [room("a")], {}, "unknown-topology-key", "topologyKey"),
            ({"minDomains": 3}, [room("a")], IN_A, "pinned-domain", "minDomains"),
            ({"nodeAffinityPolicy": "Ignore"}, [room("a"), room("b")], IN_A, "pinned-domain", "nodeAffinityPolicy"),
        ],
    )
    def test_it_yields_to_what_is_reported_as_gravely_on_the_field(self, fields, nodes, pod_spec, above, field):
        obj = stateful(constraint(**fields), pod_spec=pod_spec)
        there = snapshot(*nodes, OTHER_POD, features=LATEST)

        def reported(severity):
            given = {above.replace("-", "_"): RULES[above].setting(severity)}
            return [f.rule for f in findings(obj, snapshot=there, **given) if f.path[-1] == field]

        assert [above] == reported(Severity.WARNING)
        assert ["unschedulable"] == reported(Severity.INFO) == reported(Severity.IGNORE)

    @pytest.mark.parametrize("severity", [Severity.WARNING, Severity.INFO])
    def test_that_domains_are_too_few_is_left_to_that_rule_while_nodes_may_join(self, severity):
        obj, there = stateful(constraint(minDomains=3)), snapshot(room("a"), room("b"), OTHER_POD, features=LATEST)

        def reported(severity):
            given = findings(obj, snapshot=there, too_few_domains=RULES["too-few-domains"].setting(severity))
            return [(f.rule, f.severity) for f in given if f.path[-1] == "minDomains"]

        assert [("too-few-domains", severity)] == reported(severity)
        assert [("unschedulable", Severity.INFO)] == reported(Severity.IGNORE)

    def test_the_three_rules_on_min_domains_yield_in_this_order(self):
        obj, rules = stateful(constraint(minDomains=3), pod_spec=IN_A), ["pinned-domain", "too-few-domains"]
        there, given = snapshot(room("a"), OTHER_POD, features=LATEST), {}
        for above in (*rules, "unschedulable"):
            rest = {rule.replace("-", "_"): RULES[rule].setting(Severity.WARNING) for rule in rules} | given

            assert [above] == [f.rule for f in findings(obj, snapshot=there, **rest) if f.path[-1] == "minDomains"]
            given[above.replace("-", "_")] = RULES[above].setting(Severity.IGNORE)

    def test_what_an_annotation_silences_silences_nothing(self):
        obj = stateful(constraint(minDomains=3), pod_spec=IN_A, annotations={"evenkeel.dev/ignore": "pinned-domain"})
        (found,) = self.found(obj, room("a"))

        assert "at most 1 of 6 replicas fit now: fewer domains than minDomains" == found.message
        assert Severity.WARNING is found.severity

    def test_without_what_nodes_have_only_the_spread_is_judged(self):
        assert [] == self.found(stateful(constraint(), replicas=9), *THREE)

    def test_a_pod_that_is_there_and_many_replicas_are_not_judged(self):
        assert [] == self.found(pod(constraint(), uid="u", name="x"), room("a", pods="1"))
        assert [] == self.found(stateful(constraint(), replicas=201), room("a", pods="1"))

    def test_the_next_revision_counts_by_itself_and_is_not_known(self):
        running = pod(name="web-0", labels={"app": "web", "pod-template-hash": "1"}, spec={"nodeName": "n-a"}, uid="u2")
        keyed = workload("Deployment", constraint(matchLabelKeys=["pod-template-hash"]), spec={"replicas": 9})
        nodes = room("a"), room("b", pods="0")

        assert [] == self.found(keyed, *nodes, pods=[running])
        assert self.found(keyed, *nodes)

    def test_pods_that_recreate_would_take_away_first_may_hold_the_room(self):
        running = pod(name="web-0", labels={"app": "web"}, spec={"nodeName": "n-a"}, uid="u2")
        spec = {"replicas": 9, "selector": {"matchLabels": {"app": "web"}}}
        recreated = workload("Deployment", constraint(), spec={**spec, "strategy": {"type": "Recreate"}})
        nodes = room("a"), room("b", pods="0")

        assert [] == self.found(recreated, *nodes, pods=[running])
        assert self.found(recreated, *nodes)
        assert self.found(workload("Deployment", constraint(), spec=spec), *nodes, pods=[running])


def by_autoscaler(least, most, obj, *nodes, **settings):
    """The rules that find something where an autoscaler is known."""
    (one,) = parse_workloads(obj)
    known = snapshot(*nodes, features=LATEST) if nodes else None
    chosen = {**DEFAULT_SETTINGS, **{name.replace("_", "-"): setting for name, setting in settings.items()}}
    return [f.rule for f in evaluate(one.scaled(Scaling(least, most)), chosen, known, FEATURES).findings]


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
