"""One review in, one Decision out: the table of who is denied, warned, audited, or not looked at."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from tests.support.build import (
    FEATURES,
    HOSTNAME,
    ZONE,
    constraint,
    namespace,
    pod,
    request,
    service,
    snapshot,
    workload,
)
from webhook.admission.review import MUTATE, VALIDATE, review
from webhook.documents.reading import read_documents
from webhook.policy import parsing as policies
from webhook.policy.schema import API_VERSION, KIND

EMPTY, MISSES = constraint(labelSelector={}), constraint(labelSelector={"matchLabels": {"app": "db"}})
INVALID = constraint(maxSkew=0)


def policy(text=""):
    extra = (read_documents(text) or [{}])[0]
    return policies.parse_policy(json.dumps({"apiVersion": API_VERSION, "kind": KIND, **extra}))


def validate(obj, old=None, rules="", objects=(), **fields):
    return review(request(obj, old, **fields), VALIDATE, policy(rules), snapshot(*objects), FEATURES)


def mutate(obj, old=None, rules="", objects=(), **fields):
    return review(request(obj, old, **fields), MUTATE, policy(rules), snapshot(*objects), FEATURES)


class Case(NamedTuple):
    name: str
    decision: object
    denied: tuple = ()
    warned: tuple = ()
    audited: bool = True


def deployment(*constraints, **fields):
    return workload("Deployment", *constraints, **fields)


SCALED = deployment(EMPTY, spec={"replicas": 9, "template": deployment(EMPTY)["spec"]["template"]})
RESTARTED = deployment(EMPTY, template={"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}})
MOVED = deployment(constraint(topologyKey="rack", matchLabelKeys=["pod-template-hash"]), EMPTY)
ENFORCED = "{rules: {empty-selector: {severity: error, enforced: true}}}"
PERHAPS = (
    "{overrides: [{name: a, namespaceSelector: {matchLabels: {a: b}}, rules: {empty-selector: {severity: warning}}}]}"
)
EARLY = "{earlyAnswer: true}"
LARGE = constraint(labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"] * 801}]})
HARD = "{rules: {hard-constraint: {severity: error, enforced: true}}}"
TWO_RULES = (
    "{rules: {misspelt-topology-key: error, forbidden-topology-key:"
    " {severity: error, topologyKeys: [topology.kubernetes.io/hostname]}}}"
)
HIDDEN = constraint(topologyKey="topology.kubernetes.io/hostname")
IGNORES_ONE = {"annotations": {"evenkeel.dev/ignore": "misspelt-topology-key"}}
IGNORED = {"evenkeel.dev/ignore": "empty-selector"}
RS = workload("ReplicaSet", EMPTY, uid="u1")
OF_RS, OF_FAKE = pod(EMPTY, owner="ReplicaSet/web"), pod(EMPTY, owner="ReplicaSet/made-up")
CONTROLLER = {"userInfo": {"username": "system:serviceaccount:kube-system:deployment-controller"}}

CASES = [
    Case("size is no way around an enforced rule", validate(pod(LARGE), rules=HARD), denied=("TooLarge",)),
    Case(
        "where it was so before",
        validate(deployment(LARGE, template={"a": "b"}), deployment(LARGE), rules=HARD),
        warned=("evenkeel could not judge this object",),
        audited=False,
    ),
    Case(
        "where it was so before, and errors deny",
        validate(deployment(LARGE, template={"a": "b"}), deployment(LARGE), rules="{onError: Deny}"),
        warned=("evenkeel could not judge this object",),
        audited=False,
    ),
    Case(
        "scaling what is too large to judge",
        validate(
            deployment(LARGE, spec={"replicas": 9, "template": deployment(LARGE)["spec"]["template"]}),
            deployment(LARGE),
            rules="{onError: Deny}",
        ),
        audited=False,
    ),
    Case(
        "an old error that another finding on its field hid is old",
        validate(
            deployment(HIDDEN, template={"x": "y", **IGNORES_ONE}),
            deployment(HIDDEN, template=IGNORES_ONE),
            rules=TWO_RULES,
        ),
        warned=("forbidden-topology-key",),
    ),
    Case(
        "an owner that exists must select the labels",
        validate(pod(EMPTY, owner="ReplicaSet/web", labels={"app": "db"}), rules=ENFORCED, objects=[RS]),
        denied=("empty-selector",),
    ),
    Case(
        "a key that the API server is silent about",
        validate(deployment(constraint(topologyKey="failure-domain.beta.kubernetes.io/hostname"))),
        warned=("misspelt-topology-key",),
    ),
    Case(
        "each missing topology is a finding of its own",
        validate(
            deployment(constraint(topologyKey="rack")),
            deployment(constraint(topologyKey="kubernetes.io/hostname")),
            rules=f"{{rules: {{missing-constraints: {{severity: error, topologyKeys: [{ZONE}, {HOSTNAME}]}}}}}}",
        ),
        denied=("missing-constraints",),
        warned=("missing-constraints",),
    ),
    Case("a good Deployment", validate(deployment(constraint(matchLabelKeys=["pod-template-hash"]))), audited=False),
    Case("an error denies", validate(deployment(EMPTY)), denied=("empty-selector",)),
    Case("a warning warns", validate(deployment(MISSES)), warned=("selector-misses-own-pod",)),
    Case("info is only noted", validate(deployment(constraint()))),
    Case("a Pod without an owner", validate(pod(EMPTY)), denied=("empty-selector",)),
    Case(
        "a denial carries the warnings, too",
        validate(pod(EMPTY, constraint(topologyKey="rack", labelSelector={"matchLabels": {"app": "db"}}))),
        denied=("empty-selector",),
        warned=("selector-misses-own-pod",),
    ),
    Case(
        "all errors at once",
        validate(pod(EMPTY, INVALID | {"topologyKey": "rack"})),
        denied=("empty-selector", "invalid-constraint"),
    ),
    Case("an object without constraints", validate(deployment()), audited=False),
    Case("of a kind that has no Pod template", validate({"kind": "ConfigMap", "metadata": {}}), audited=False),
    Case("a DELETE", validate(deployment(EMPTY), operation="DELETE"), audited=False),
    Case("a subresource", validate(deployment(EMPTY), subResource="scale"), audited=False),
    Case("an UPDATE of a Pod", validate(pod(EMPTY, labels={}), pod(EMPTY)), audited=False),
    Case("scaling leaves the template as it was", validate(SCALED, deployment(EMPTY)), audited=False),
    Case(
        "a label on the object, too", validate(deployment(EMPTY, labels=None, x="y"), deployment(EMPTY)), audited=False
    ),
    Case(
        "a restart keeps its old error as a warning", validate(RESTARTED, deployment(EMPTY)), warned=("empty-selector",)
    ),
    Case(
        "an old error is known again where it moved to", validate(MOVED, deployment(EMPTY)), warned=("empty-selector",)
    ),
    Case("a new error denies an update", validate(deployment(EMPTY), deployment()), denied=("empty-selector",)),
    Case(
        "a second error beside an old one denies, the old one warns",
        validate(deployment(EMPTY, EMPTY | {"topologyKey": "rack"}), deployment(EMPTY)),
        denied=("empty-selector",),
        warned=("empty-selector",),
    ),
    Case(
        "an old error on another topology is another",
        validate(deployment(EMPTY | {"topologyKey": "rack"}), deployment(EMPTY)),
        denied=("empty-selector",),
    ),
    Case(
        "an error that an annotation silenced is no new one when the annotation goes",
        validate(deployment(EMPTY, template={"annotations": {}}), deployment(EMPTY, template={"annotations": IGNORED})),
        warned=("empty-selector",),
    ),
    Case("an annotation silences", validate(deployment(EMPTY, annotations=IGNORED)), audited=False),
    Case("also one on the template", validate(deployment(EMPTY, template={"annotations": IGNORED})), audited=False),
    Case(
        "not what is enforced",
        validate(deployment(EMPTY, annotations=IGNORED), rules=ENFORCED),
        denied=("empty-selector",),
    ),
    Case(
        "the skip label on a Pod does not silence rules",
        validate(pod(EMPTY, labels={"app": "web", "evenkeel.dev/skip": "true"})),
        denied=("empty-selector",),
    ),
    Case(
        "the skip label on a namespace does",
        validate(pod(EMPTY), objects=[namespace(**{"evenkeel.dev/skip": "true"})]),
        audited=False,
    ),
    Case("what is owned is only audited", validate(OF_RS)),
    Case("even under an owner of any kind", validate(deployment(EMPTY, owner="ConfigMap/x"))),
    Case("unless the policy says so", validate(OF_RS, rules="{ownedObjects: Deny}"), denied=("empty-selector",)),
    Case("for an enforced rule the owner must exist", validate(OF_RS, rules=ENFORCED, objects=[RS])),
    Case("a made-up owner does not help", validate(OF_FAKE, rules=ENFORCED, objects=[RS]), denied=("empty-selector",)),
    Case(
        "nor does the name of a real one with another uid",
        validate(pod(EMPTY, owner="ReplicaSet/web"), rules=ENFORCED, objects=[workload("ReplicaSet", uid="u2")]),
        denied=("empty-selector",),
    ),
    Case(
        "nor an owner that no built-in chain has",
        validate(deployment(EMPTY, owner="ConfigMap/x"), rules=ENFORCED),
        denied=("empty-selector",),
    ),
    Case(
        "an owner that the snapshot cannot hold is believed to its controller",
        validate(workload("ReplicaSet", EMPTY, owner="Deployment/web"), rules=ENFORCED, **CONTROLLER),
    ),
    Case(
        "and to nobody else",
        validate(workload("ReplicaSet", EMPTY, owner="Deployment/web"), rules=ENFORCED),
        denied=("empty-selector",),
    ),
    Case("enforcement Warn", validate(pod(EMPTY), rules="{enforcement: Warn}"), warned=("empty-selector",)),
    Case(
        "enforcement Audit says nothing",
        validate(pod(EMPTY, MISSES | {"topologyKey": "rack"}), rules="{enforcement: Audit}"),
    ),
    Case("unless it would not change that rule", validate(pod(INVALID), rules=PERHAPS), denied=("invalid-constraint",)),
    Case(
        "where an override might change the rule nobody is denied",
        validate(pod(EMPTY), rules=PERHAPS),
        warned=("empty-selector",),
    ),
    Case(
        "save by an enforced rule",
        validate(
            pod(EMPTY),
            rules="{rules: {empty-selector: {enforced: true}}," + PERHAPS[1:],
        ),
        denied=("empty-selector",),
    ),
    Case(
        "what the API server itself warns of is not said twice",
        validate(
            deployment(
                constraint(labelSelector=None), constraint(topologyKey="failure-domain.beta.kubernetes.io/zone")
            ),
            rules="{rules: {empty-selector: warning}}",
        ),
    ),
    Case(
        "of a custom resource it does not warn",
        validate(
            deployment(constraint(labelSelector=None)) | {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"},
            rules="{rules: {empty-selector: warning}}",
        ),
        warned=("empty-selector",),
    ),
    Case("/mutate does not deny", mutate(deployment(INVALID)), audited=False),
    Case("nor warn", mutate(deployment(MISSES)), audited=False),
    Case(
        "save by an early answer, with all errors",
        mutate(deployment(INVALID, EMPTY | {"topologyKey": "rack"}), rules="{earlyAnswer: true}"),
        denied=("invalid-constraint", "empty-selector"),
    ),
    Case("which other errors do not bring about", mutate(deployment(EMPTY), rules="{earlyAnswer: true}")),
    Case(
        "nor old ones",
        mutate(deployment(INVALID, template={"a": "b"}), deployment(INVALID), rules="{earlyAnswer: true}"),
    ),
    Case("nor those of what is owned", mutate(pod(INVALID, owner="ReplicaSet/web"), rules=EARLY), audited=False),
    Case(
        "not even where owned objects are denied at /validate",
        mutate(pod(INVALID, owner="ReplicaSet/web"), rules=EARLY[:-1] + ", ownedObjects: Deny}"),
        audited=False,
    ),
    Case("nor where nothing is denied", mutate(pod(INVALID), rules="{earlyAnswer: true, enforcement: Warn}")),
    Case(
        "missing constraints, where the policy asks",
        validate(deployment(), rules="{rules: {missing-constraints: error}}"),
        denied=("missing-constraints",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_table(case):
    decision = case.decision
    details = (decision.status or {}).get("details", {"causes": []})
    denied = tuple(cause["reason"] for cause in details["causes"])
    if decision.error and not decision.allowed:
        denied, case = ("TooLarge",), case._replace(audited=False)

    assert case.denied == denied
    assert case.warned == tuple(warning.partition(":")[0] for warning in decision.warnings)
    assert case.audited == ("findings" in decision.audit_annotations)
    assert decision.allowed == (not case.denied)


@pytest.mark.parametrize("enforcement", ["Warn", "Audit"])
@pytest.mark.parametrize(
    ("obj", "old", "spared"),
    [(deployment(EMPTY), None, True), (deployment(), None, False), (RESTARTED, deployment(EMPTY), False)],
    ids=["new", "nothing wrong", "old"],
)
def test_what_only_the_enforcement_lets_pass_is_spared(enforcement, obj, old, spared):
    decision = validate(obj, old, rules=f"{{enforcement: {enforcement}}}")

    assert (True, spared) == (decision.allowed, decision.spared)
    assert not validate(obj, old).spared


KINDS = [
    "Pod",
    "PodTemplate",
    "ReplicationController",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_built_in_kind_is_judged(kind):
    decision = validate(pod(EMPTY) if kind == "Pod" else workload(kind, EMPTY))

    assert not decision.allowed
    assert "topologySpreadConstraints[0].labelSelector: must select Pods" in decision.status["message"]


class TestTheDenial:
    status = validate(deployment(EMPTY, INVALID | {"topologyKey": "rack"})).status

    def test_is_forbidden_so_that_kubectl_names_the_webhook(self):
        assert (403, "Forbidden") == (self.status["code"], self.status["reason"])

    def test_has_a_line_for_each_error(self):
        lines = self.status["message"].splitlines()

        assert ["(empty-selector)", "(invalid-constraint)"] == [line.split(": ")[1].split()[-1] for line in lines]
        assert lines[1].startswith("spec.template.spec.topologySpreadConstraints[1].maxSkew: must be greater than zero")
        assert lines[1].endswith("found 0, wanted 1 or more; set maxSkew to 1, or to the difference you can accept")

    def test_names_the_object_and_the_causes_for_programs(self):
        details = self.status["details"]

        assert ("web", "apps", "Deployment") == (details["name"], details["group"], details["kind"])
        assert {"reason", "field", "message"} == set(details["causes"][0])


def test_a_template_nested_too_deep_to_compare_is_judged_again():
    obj, old = (deployment(EMPTY) for _ in range(2))
    for one in (obj, old):
        deepest = one["spec"]["template"]
        for _ in range(5_000):
            deepest["x"] = {}
            deepest = deepest["x"]

    assert ("empty-selector",) == tuple(w.partition(":")[0] for w in validate(obj, old).warnings)


@pytest.mark.parametrize(("on_error", "allowed"), [("Allow", True), ("Deny", False)])
def test_what_is_too_large_to_judge_is_answered_as_the_policy_says(on_error, allowed):
    decision = validate(pod(*[constraint(topologyKey=f"k{i}") for i in range(101)]), rules=f"{{onError: {on_error}}}")

    assert allowed == decision.allowed
    assert "found 101 constraints, at most 100 can be judged" in (*decision.warnings, str(decision.status))[0]


@pytest.mark.parametrize("obj", [None, [], "x", 1], ids=str)
def test_a_review_without_an_object_is_a_bad_request(obj):
    decision = review({"operation": "CREATE", "object": obj}, VALIDATE, policy(), None, FEATURES)

    assert (False, 400) == (decision.allowed, decision.status["code"])


def test_the_same_review_gives_the_same_answer_whatever_came_between():
    first = validate(deployment(EMPTY))
    mutate(pod(), objects=[service()])

    assert first == validate(deployment(EMPTY))


def test_a_list_of_templates_is_judged_template_by_template():
    kinds = "{workloads: [{apiVersion: e.com/v1, kind: Fleet, resource: fleets, podTemplate: 'spec.sets[*].template'}]}"
    sets = [{"template": deployment(*constraints)["spec"]["template"]} for constraints in ([constraint()], [EMPTY])]
    obj = {"apiVersion": "e.com/v1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": {"sets": sets}}
    decision = validate(obj, rules=kinds)

    assert decision.status["message"].startswith(
        "spec.sets[1].template.spec.topologySpreadConstraints[0].labelSelector"
    )
    assert ZONE == sets[0]["template"]["spec"]["topologySpreadConstraints"][0]["topologyKey"]
