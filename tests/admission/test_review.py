"""One review in, one Decision out: the table of who is denied, warned, audited, or not looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
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
from tests.support.review import review
from webhook.admission.decision import Decision, Outcome
from webhook.admission.request import MUTATE, VALIDATE
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


# In tables, which must not run what they test.
at_validate, at_mutate = partial(partial, validate), partial(partial, mutate)


class Case(NamedTuple):
    """What `review` returns: which rules deny and warn; `refused` is what is too large to be judged and so denied."""

    name: str
    review: Callable[[], Decision]
    denied: tuple = ()
    warned: tuple = ()
    audited: bool = True
    refused: bool = False


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
    Case("size is no way around an enforced rule", at_validate(pod(LARGE), rules=HARD), refused=True, audited=False),
    Case(
        "where it was so before",
        at_validate(deployment(LARGE, template={"a": "b"}), deployment(LARGE), rules=HARD),
        warned=("evenkeel could not judge this object",),
        audited=False,
    ),
    Case(
        "where it was so before, and errors deny",
        at_validate(deployment(LARGE, template={"a": "b"}), deployment(LARGE), rules="{onError: Deny}"),
        warned=("evenkeel could not judge this object",),
        audited=False,
    ),
    Case(
        "scaling what is too large to judge",
        at_validate(
            deployment(LARGE, spec={"replicas": 9, "template": deployment(LARGE)["spec"]["template"]}),
            deployment(LARGE),
            rules="{onError: Deny}",
        ),
        audited=False,
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
        "an owner that exists must select the labels",
        at_validate(pod(EMPTY, owner="ReplicaSet/web", labels={"app": "db"}), rules=ENFORCED, objects=[RS]),
        denied=("empty-selector",),
    ),
    Case(
        "a key that the API server is silent about",
        at_validate(deployment(constraint(topologyKey="failure-domain.beta.kubernetes.io/hostname"))),
        warned=("misspelt-topology-key",),
    ),
    Case(
        "each missing topology is a finding of its own",
        at_validate(
            deployment(constraint(topologyKey="rack")),
            deployment(constraint(topologyKey="kubernetes.io/hostname")),
            rules=f"{{rules: {{missing-constraints: {{severity: error, topologyKeys: [{ZONE}, {HOSTNAME}]}}}}}}",
        ),
        denied=("missing-constraints",),
        warned=("missing-constraints",),
    ),
    Case("a good Deployment", at_validate(deployment(constraint(matchLabelKeys=["pod-template-hash"]))), audited=False),
    Case("an error denies", at_validate(deployment(EMPTY)), denied=("empty-selector",)),
    Case("a warning warns", at_validate(deployment(MISSES)), warned=("selector-misses-own-pod",)),
    Case("info is only noted", at_validate(deployment(constraint()))),
    Case("a Pod without an owner", at_validate(pod(EMPTY)), denied=("empty-selector",)),
    Case(
        "a denial carries the warnings, too",
        at_validate(pod(EMPTY, constraint(topologyKey="rack", labelSelector={"matchLabels": {"app": "db"}}))),
        denied=("empty-selector",),
        warned=("selector-misses-own-pod",),
    ),
    Case(
        "all errors at once",
        at_validate(pod(EMPTY, INVALID | {"topologyKey": "rack"})),
        denied=("empty-selector", "invalid-constraint"),
    ),
    Case("an object without constraints", at_validate(deployment()), audited=False),
    Case("of a kind that has no Pod template", at_validate({"kind": "ConfigMap", "metadata": {}}), audited=False),
    Case("a DELETE", at_validate(deployment(EMPTY), operation="DELETE"), audited=False),
    Case("a subresource", at_validate(deployment(EMPTY), subResource="scale"), audited=False),
    Case("an UPDATE of a Pod", at_validate(pod(EMPTY, labels={}), pod(EMPTY)), audited=False),
    Case("scaling leaves the template as it was", at_validate(SCALED, deployment(EMPTY)), audited=False),
    Case(
        "a label on the object, too",
        at_validate(deployment(EMPTY, labels=None, x="y"), deployment(EMPTY)),
        audited=False,
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
        "an old error on another topology is another",
        at_validate(deployment(EMPTY | {"topologyKey": "rack"}), deployment(EMPTY)),
        denied=("empty-selector",),
    ),
    Case(
        "an error that an annotation silenced is no new one when the annotation goes",
        at_validate(
            deployment(EMPTY, template={"annotations": {}}), deployment(EMPTY, template={"annotations": IGNORED})
        ),
        warned=("empty-selector",),
    ),
    Case("an annotation silences", at_validate(deployment(EMPTY, annotations=IGNORED)), audited=False),
    Case("also one on the template", at_validate(deployment(EMPTY, template={"annotations": IGNORED})), audited=False),
    Case(
        "not what is enforced",
        at_validate(deployment(EMPTY, annotations=IGNORED), rules=ENFORCED),
        denied=("empty-selector",),
    ),
    Case(
        "the skip label on a Pod does not silence rules",
        at_validate(pod(EMPTY, labels={"app": "web", "evenkeel.dev/skip": "true"})),
        denied=("empty-selector",),
    ),
    Case(
        "the skip label on a namespace does",
        at_validate(pod(EMPTY), objects=[namespace(**{"evenkeel.dev/skip": "true"})]),
        audited=False,
    ),
    Case("what is owned is only audited", at_validate(OF_RS)),
    Case("even under an owner of any kind", at_validate(deployment(EMPTY, owner="ConfigMap/x"))),
    Case("unless the policy says so", at_validate(OF_RS, rules="{ownedObjects: Deny}"), denied=("empty-selector",)),
    Case("for an enforced rule the owner must exist", at_validate(OF_RS, rules=ENFORCED, objects=[RS])),
    Case(
        "a made-up owner does not help", at_validate(OF_FAKE, rules=ENFORCED, objects=[RS]), denied=("empty-selector",)
    ),
    Case(
        "nor does the name of a real one with another uid",
        at_validate(pod(EMPTY, owner="ReplicaSet/web"), rules=ENFORCED, objects=[workload("ReplicaSet", uid="u2")]),
        denied=("empty-selector",),
    ),
    Case(
        "nor an owner that no built-in chain has",
        at_validate(deployment(EMPTY, owner="ConfigMap/x"), rules=ENFORCED),
        denied=("empty-selector",),
    ),
    Case(
        "an owner that the snapshot cannot hold is believed to its controller",
        at_validate(workload("ReplicaSet", EMPTY, owner="Deployment/web"), rules=ENFORCED, **CONTROLLER),
    ),
    Case(
        "and to nobody else",
        at_validate(workload("ReplicaSet", EMPTY, owner="Deployment/web"), rules=ENFORCED),
        denied=("empty-selector",),
    ),
    Case("enforcement Warn", at_validate(pod(EMPTY), rules="{enforcement: Warn}"), warned=("empty-selector",)),
    Case(
        "enforcement Audit says nothing",
        at_validate(pod(EMPTY, MISSES | {"topologyKey": "rack"}), rules="{enforcement: Audit}"),
    ),
    Case(
        "unless it would not change that rule", at_validate(pod(INVALID), rules=PERHAPS), denied=("invalid-constraint",)
    ),
    Case(
        "where an override might change the rule nobody is denied",
        at_validate(pod(EMPTY), rules=PERHAPS),
        warned=("empty-selector",),
    ),
    Case(
        "save by an enforced rule",
        at_validate(
            pod(EMPTY),
            rules="{rules: {empty-selector: {enforced: true}}," + PERHAPS[1:],
        ),
        denied=("empty-selector",),
    ),
    Case(
        "what the API server itself warns of is not said twice",
        at_validate(
            deployment(
                constraint(labelSelector=None), constraint(topologyKey="failure-domain.beta.kubernetes.io/zone")
            ),
            rules="{rules: {empty-selector: warning}}",
        ),
    ),
    Case(
        "of a custom resource it does not warn",
        at_validate(
            deployment(constraint(labelSelector=None)) | {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"},
            rules="{rules: {empty-selector: warning}}",
        ),
        warned=("empty-selector",),
    ),
    Case("/mutate does not deny", at_mutate(deployment(INVALID)), audited=False),
    Case("nor warn", at_mutate(deployment(MISSES)), audited=False),
    Case(
        "save by an early answer, with all errors",
        at_mutate(deployment(INVALID, EMPTY | {"topologyKey": "rack"}), rules="{earlyAnswer: true}"),
        denied=("invalid-constraint", "empty-selector"),
    ),
    Case("which other errors do not bring about", at_mutate(deployment(EMPTY), rules="{earlyAnswer: true}")),
    Case(
        "nor old ones",
        at_mutate(deployment(INVALID, template={"a": "b"}), deployment(INVALID), rules="{earlyAnswer: true}"),
    ),
    Case("nor those of what is owned", at_mutate(pod(INVALID, owner="ReplicaSet/web"), rules=EARLY), audited=False),
    Case(
        "not even where owned objects are denied at /validate",
        at_mutate(pod(INVALID, owner="ReplicaSet/web"), rules=EARLY[:-1] + ", ownedObjects: Deny}"),
        audited=False,
    ),
    Case("nor where nothing is denied", at_mutate(pod(INVALID), rules="{earlyAnswer: true, enforcement: Warn}")),
    Case(
        "missing constraints, where the policy asks",
        at_validate(deployment(), rules="{rules: {missing-constraints: error}}"),
        denied=("missing-constraints",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_table(case):
    decision = case.review()
    details = (decision.status or {}).get("details", {"causes": []})

    assert case.denied == tuple(cause["reason"] for cause in details["causes"])
    assert case.warned == tuple(warning.partition(":")[0] for warning in decision.warnings)
    assert case.audited == ("findings" in decision.audit_annotations)
    assert case.refused == (decision.outcome is Outcome.NOT_JUDGED and not decision.allowed)
    assert decision.allowed == (not case.denied and not case.refused)


@pytest.mark.parametrize("enforcement", ["Warn", "Audit"])
@pytest.mark.parametrize(
    ("obj", "old", "would_be_denied"),
    [(deployment(EMPTY), None, True), (deployment(), None, False), (RESTARTED, deployment(EMPTY), False)],
    ids=["new", "nothing wrong", "old"],
)
def test_what_only_the_enforcement_lets_pass_would_be_denied(enforcement, obj, old, would_be_denied):
    decision = validate(obj, old, rules=f"{{enforcement: {enforcement}}}")

    assert (True, would_be_denied) == (decision.allowed, decision.outcome is Outcome.WOULD_BE_DENIED)
    assert validate(obj, old).outcome is not Outcome.WOULD_BE_DENIED


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
    @pytest.fixture
    def status(self):
        return validate(deployment(EMPTY, INVALID | {"topologyKey": "rack"})).status

    def test_is_forbidden_so_that_kubectl_names_the_webhook(self, status):
        assert (403, "Forbidden") == (status["code"], status["reason"])

    def test_has_a_line_for_each_error(self, status):
        lines = status["message"].splitlines()

        assert ["(empty-selector)", "(invalid-constraint)"] == [line.split(": ")[1].split()[-1] for line in lines]
        assert lines[1].startswith("spec.template.spec.topologySpreadConstraints[1].maxSkew: must be greater than zero")
        assert lines[1].endswith("found 0, wanted 1 or more; set maxSkew to 1, or to the difference you can accept")

    def test_names_the_object_and_the_causes_for_programs(self, status):
        details = status["details"]

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
