"""One review in, one Decision out: the table of who is denied, warned, audited, or not looked at."""

from __future__ import annotations

import pytest

from tests.support.build import (
    FEATURES,
    ZONE,
    constraint,
    honoring,
    namespace,
    pod,
    policy,
    request,
    service,
    snapshot,
    workload,
)
from tests.support.review import Case, at_mutate, at_validate, deployment, mutate, review, validate
from tests.support.said import NOT_JUDGED, rule_in
from webhook.admission.decision import Outcome
from webhook.admission.ownership import MANAGER
from webhook.admission.request import VALIDATE
from webhook.findings.rule import RULES

EMPTY, MISSES = constraint(labelSelector={}), constraint(labelSelector={"matchLabels": {"app": "db"}})
INVALID = constraint(maxSkew=0)


RESTARTED = deployment(EMPTY, template={"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}})
ENFORCED = "{rules: {empty-selector: {severity: error, enforced: true}}}"
PERHAPS = (
    "{overrides: [{name: a, namespaceSelector: {matchLabels: {a: b}}, rules: {empty-selector: {severity: warning}}}]}"
)


def one_team(says, *, rules="{}"):
    """A policy with these rules, and an override for one team."""
    return f"{{rules: {rules}, overrides: [{{name: a, namespaceSelector: {{matchLabels: {{team: a}}}}, {says}}}]}}"


ONE_DENIES = "{enforcement: Warn, " + one_team("enforcement: Deny")[1:]
OWNED_OF_ONE = one_team("ownedObjects: Deny")
ENFORCED_FOR_ONE = one_team("rules: {empty-selector: {enforced: true}}")
ENFORCING = "{empty-selector: {severity: error, enforced: true}}"
EARLY = "{earlyAnswer: true}"
IGNORED = {"evenkeel.dev/ignore": "empty-selector"}
DEPRECATED_ZONE = "failure-domain.beta.kubernetes.io/zone"
TWO_ON_A_KEY = one_team(
    "rules: {misspelt-topology-key: warning}",
    rules="{misspelt-topology-key: error, forbidden-topology-key: "
    f"{{severity: error, topologyKeys: [{DEPRECATED_ZONE}]}}}}",
)

FLEETS = "{apiVersion: e.com/v1, kind: Fleet, resource: fleets, podTemplate: 'spec.sets[*].template'}"


def fleets(says):
    """A policy for Fleets, with an override for the templates of team a."""
    team = f"{{name: a, podSelector: {{matchLabels: {{team: a}}}}, {says}}}"
    return f"{{workloads: [{FLEETS}], overrides: [{team}]}}"


def fleet(*templates):
    sets = [{"template": template} for template in templates]
    return {"apiVersion": "e.com/v1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": {"sets": sets}}


def of_team(team, *constraints):
    """A template of this team."""
    return deployment(*constraints, labels={"app": "web", "team": team})["spec"]["template"]


CASES = [
    Case(
        "what an override leaves in doubt hides nothing that is certain on its field",
        at_validate(deployment(constraint(topologyKey=DEPRECATED_ZONE)), rules=TWO_ON_A_KEY),
        denied=("forbidden-topology-key",),
    ),
    Case(
        "a key that the API server is silent about",
        at_validate(deployment(constraint(topologyKey="failure-domain.beta.kubernetes.io/hostname"))),
        warned=("misspelt-topology-key",),
    ),
    Case("a good Deployment", at_validate(deployment(honoring(matchLabelKeys=["pod-template-hash"]))), audited=False),
    Case("an error denies", at_validate(deployment(EMPTY)), denied=("empty-selector",)),
    *(
        Case(
            f"matchLabelKeys with a label that no Pod of a {kind} gets fill no selector: {sorted(spec)}",
            at_validate(workload(kind, constraint(labelSelector={}, matchLabelKeys=[key]), spec=spec), rules=ENFORCED),
            denied=("empty-selector",),
            warned=("absent-match-label-key",),
        )
        for kind in ("Job", "CronJob")
        for key, spec in (
            ("batch.kubernetes.io/job-completion-index", {}),
            ("batch.kubernetes.io/job-completion-index", {"completionMode": "NonIndexed"}),
            ("job-name", {"manualSelector": True}),
        )
    ),
    Case(
        "a key in both is merged once where the Pods of a Job do not get the label",
        at_validate(
            workload(
                "Job",
                constraint(labelSelector={"matchLabels": {"job-name": "web"}}, matchLabelKeys=["job-name"]),
                spec={"manualSelector": True},
            )
        ),
        warned=("selector-misses-own-pod", "absent-match-label-key"),
    ),
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
    Case("an annotation silences", at_validate(deployment(EMPTY, annotations=IGNORED)), audited=False),
    Case("also one on the template", at_validate(deployment(EMPTY, template={"annotations": IGNORED})), audited=False),
    Case(
        "not what is enforced",
        at_validate(deployment(EMPTY, annotations=IGNORED), rules=ENFORCED),
        denied=("empty-selector",),
        warned=("idle-switch",),
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
    *(
        Case(
            f"one team denies, {name}",
            at_validate(pod(EMPTY), rules=ONE_DENIES, objects=objects),
            denied=("empty-selector",) * denies,
            warned=("empty-selector",) * (not denies),
        )
        for name, objects, denies in (
            ("and this is it", (namespace("shop", team="a"),), True),
            ("and this is another", (namespace("shop", team="b"),), False),
            ("and nobody knows whether this is it", (), False),
        )
    ),
    Case(
        "one team is only warned, and this may be it",
        at_validate(pod(EMPTY), rules=one_team("enforcement: Warn")),
        warned=("empty-selector",),
    ),
    Case(
        "which an enforced rule does not mind",
        at_validate(pod(EMPTY), rules=one_team("enforcement: Warn", rules=ENFORCING)),
        denied=("empty-selector",),
    ),
    Case(
        "one team is only audited",
        at_validate(
            pod(EMPTY),
            rules=one_team("enforcement: Audit", rules=ENFORCING),
            objects=(namespace("shop", team="a"),),
        ),
    ),
    *(
        Case(
            f"owned objects of one team are denied, {name}",
            at_validate(pod(EMPTY, owner="ReplicaSet/web"), rules=OWNED_OF_ONE, objects=objects),
            denied=("empty-selector",) * denies,
        )
        for name, objects, denies in (
            ("and this is it", (namespace("shop", team="a"),), True),
            ("and this is another", (namespace("shop", team="b"),), False),
            ("and nobody knows whether this is it", (), False),
        )
    ),
    *(
        Case(
            f"what is too large where {name}",
            at_validate(pod(*[EMPTY] * 101), rules=ENFORCED_FOR_ONE, objects=objects),
            refused=denies,
            audited=False,
            warned=() if denies else (NOT_JUDGED,),
        )
        for name, objects, denies in (
            ("a rule is enforced", (namespace("shop", team="a"),), True),
            ("it is enforced for others", (namespace("shop", team="b"),), False),
            ("it is not known whether it is", (), False),
        )
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
        "of two rules on a field the error is told, also where nothing is denied",
        at_validate(
            deployment(constraint(topologyKey=DEPRECATED_ZONE)), rules="{enforcement: Warn, " + TWO_ON_A_KEY[1:]
        ),
        warned=("forbidden-topology-key",),
    ),
    *(
        Case(
            f"what a controller sends is not denied for its size, but what {user} sends is",
            at_validate(pod(*[EMPTY] * 101, owner="ReplicaSet/web"), rules=ENFORCED, userInfo={"username": user}),
            refused=user != MANAGER,
            audited=False,
            warned=(NOT_JUDGED,) * (user == MANAGER),
        )
        for user in (MANAGER, "jane")
    ),
    Case(
        "what is too large where nobody is warned",
        at_validate(pod(*[EMPTY] * 101), rules="{enforcement: Audit}"),
        audited=False,
    ),
    Case(
        "each template is under the override that matches it",
        at_validate(fleet(of_team("a", EMPTY), of_team("b", EMPTY)), rules=fleets("rules: {empty-selector: warning}")),
        denied=("empty-selector",),
        warned=("empty-selector",),
    ),
    Case(
        "the mildest of what is in force for the templates answers what is too large",
        at_validate(
            fleet(of_team("b", *[EMPTY] * 60), of_team("a", *[EMPTY] * 60)),
            rules="{onError: Deny, " + fleets("enforcement: Warn")[1:],
        ),
        audited=False,
        warned=(NOT_JUDGED,),
    ),
    Case(
        "what is too large comes under an enforced rule with one of its templates",
        at_validate(
            fleet(of_team("a", *[EMPTY] * 60), of_team("a", *[EMPTY] * 60)),
            fleet(of_team("a", *[EMPTY] * 60), of_team("b", *[EMPTY] * 60)),
            rules=fleets("rules: {empty-selector: {enforced: true}}"),
        ),
        audited=False,
        refused=True,
    ),
    Case(
        "missing constraints, where the policy asks",
        at_validate(deployment(), rules="{rules: {missing-constraints: error}}"),
        denied=("missing-constraints",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_table(case):
    case.check()


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
    "Job",
    "CronJob",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_built_in_kind_is_judged(kind):
    decision = validate(pod(EMPTY) if kind == "Pod" else workload(kind, EMPTY))

    assert not decision.allowed
    assert "topologySpreadConstraints[0].labelSelector: must select Pods" in decision.status["message"]


def test_of_a_daemonset_it_is_said_that_constraints_do_nothing_there():
    warned, denied = validate(workload("DaemonSet", EMPTY)), validate(workload("DaemonSet", INVALID))

    assert (True, ["pinned-pod"]) == (warned.allowed, [finding.rule for finding in warned.findings])
    assert (False, ["pinned-pod", "invalid-constraint"]) == (
        denied.allowed,
        [finding.rule for finding in denied.findings],
    )


class TestTheDenial:
    @pytest.fixture
    def status(self):
        return validate(deployment(EMPTY, INVALID | {"topologyKey": "rack"})).status

    def test_is_forbidden_so_that_kubectl_names_the_webhook(self, status):
        assert (403, "Forbidden") == (status["code"], status["reason"])

    def test_has_a_line_for_each_error(self, status):
        lines = status["message"].splitlines()

        assert ["empty-selector", "invalid-constraint"] == [*map(rule_in, lines)]
        assert (
            "Deployment shop/web: spec.template.spec.topologySpreadConstraints[1].maxSkew: must be greater than zero; "
            "found 0; set maxSkew to 1, or to the difference you can accept (evenkeel invalid-constraint)"
        ) == lines[1]

    def test_names_the_object_and_the_causes_for_programs(self, status):
        details = status["details"]

        assert ("web", "apps", "Deployment") == (details["name"], details["group"], details["kind"])
        assert "name" not in validate(pod(EMPTY, name=None, generateName="web-")).status["details"]
        assert {"reason", "field", "message"} == set(details["causes"][0])


@pytest.mark.parametrize("obj", [deployment(constraint()), deployment(EMPTY)], ids=["nothing denies", "an error does"])
def test_rules_that_cannot_be_run_are_told_but_those_that_look_at_pods(obj):
    """The webhook watches none."""
    decision = review(request(obj), VALIDATE, policy(), None, FEATURES)
    skipped = {skipped.rule for skipped in decision.skipped}

    assert {"unknown-topology-key"} <= skipped
    assert set() == {rule for rule in skipped if RULES[rule].looks_beside}


@pytest.mark.parametrize("rules", [EARLY, "{earlyAnswer: true, enforcement: Warn}"], ids=str)
@pytest.mark.parametrize("constraint", [EMPTY, INVALID], ids=["an error", "an invalid constraint"])
def test_what_mutate_lets_pass_is_not_counted_as_what_would_be_denied(rules, constraint):
    """Once for each object: by /validate."""
    assert Outcome.WOULD_BE_DENIED is not mutate(deployment(constraint), rules=rules).outcome


@pytest.mark.parametrize("obj", [None, [], "x", 1], ids=str)
def test_a_review_without_an_object_is_a_bad_request(obj):
    decision = review({"operation": "CREATE", "object": obj}, VALIDATE, policy(), None, FEATURES)

    assert (False, 400) == (decision.allowed, decision.status["code"])


def test_the_same_review_gives_the_same_answer_whatever_came_between():
    first = validate(deployment(EMPTY))
    mutate(pod(), objects=[service()])

    assert first == validate(deployment(EMPTY))


def test_a_list_of_templates_is_judged_template_by_template():
    obj = fleet(*(deployment(*constraints)["spec"]["template"] for constraints in ([constraint()], [EMPTY])))
    decision = validate(obj, rules=f"{{workloads: [{FLEETS}]}}")

    assert decision.status["message"].startswith(
        "Fleet f: spec.sets[1].template.spec.topologySpreadConstraints[0].labelSelector: "
    )
    assert ZONE == obj["spec"]["sets"][0]["template"]["spec"]["topologySpreadConstraints"][0]["topologyKey"]


def test_a_long_name_goes_back_as_it_is():
    name = "n" * 253
    decision = review({**request(deployment(EMPTY)), "name": name}, VALIDATE, policy(), snapshot(), FEATURES)

    assert name == decision.status["details"]["name"]


def test_what_goes_back_of_a_request_is_bounded():
    """Whoever reaches the port may write names of any length into a request."""
    raw = {**request(deployment(EMPTY)), "name": "n" * 10_000, "kind": {"group": "g" * 10_000, "kind": "k" * 10_000}}
    details = review(raw, VALIDATE, policy(), snapshot(), FEATURES).status["details"]

    assert {253} == {len(details[name]) for name in ("name", "group", "kind")}


NOTICE = "{from: 2027-01-15, contact: '#platform', url: https://e.com/spread}"
DENIED_FROM = "Deployment shop/web: will be denied from 2027-01-15; ask #platform, https://e.com/spread"


class TestTheHelp:
    """The one at the top of the policy."""

    @pytest.mark.parametrize(
        ("rules", "denies"),
        [
            ("enforcement: Deny", True),
            ("enforcement: Warn", False),
            ("enforcement: Deny, rules: {selector-misses-own-pod: warning}", True),
        ],
    )
    def test_stands_once_in_an_answer_and_last(self, rules, denies):
        decision = validate(deployment(EMPTY, MISSES | {"topologyKey": "rack"}), rules=f"{{help: ask us, {rules}}}")
        denial = [] if decision.status is None else decision.status["message"].splitlines()
        lines = [*decision.warnings, *denial]

        assert denies == (not decision.allowed)
        assert (1, "ask us (evenkeel)") == (sum("ask us" in line for line in lines), lines[-1])

    @pytest.mark.parametrize("rules", ["{}", "{empty-selector: {severity: error, enforced: true}}"])
    def test_stands_also_beside_what_is_not_judged(self, rules):
        decision = validate(deployment(*[EMPTY] * 2_000), rules=f"{{help: ask us, rules: {rules}}}")
        said = decision.warnings if decision.allowed else tuple(decision.status["message"].splitlines())

        assert Outcome.NOT_JUDGED is decision.outcome
        assert (2, "ask us (evenkeel)") == (len(said), said[-1])

    def test_is_not_said_of_what_is_right(self):
        assert () == validate(deployment(constraint()), rules="{help: ask us}").warnings


class TestTheNotice:
    """From when on a policy denies, in the words of whoever rolls it out."""

    def said(self, obj, rules, old=None):
        """The lines of all warnings that say so."""
        warnings = validate(obj, old, rules=rules, objects=[namespace(team="a")]).warnings
        return [line for line in warnings if "will be denied" in line]

    def test_names_the_rules_that_are_to_deny_in_one_line(self):
        found = self.said(
            deployment(EMPTY, MISSES | {"topologyKey": "rack"}), f"{{enforcement: Warn, notice: {NOTICE}}}"
        )

        assert [f"{DENIED_FROM} (evenkeel empty-selector)"] == found

    def test_is_not_said_of_what_is_denied(self):
        decision = validate(deployment(EMPTY), rules=f"{{notice: {NOTICE}}}")

        assert (False, ()) == (decision.allowed, decision.warnings)

    def test_is_not_said_of_what_was_there_before(self):
        assert [] == self.said(RESTARTED, f"{{enforcement: Warn, notice: {NOTICE}}}", deployment(EMPTY))

    def test_of_one_rule_is_said_where_it_only_warns(self):
        """Before its severity becomes error."""
        rules = f"{{rules: {{selector-misses-own-pod: {{severity: warning, notice: {NOTICE}}}}}}}"

        assert [f"{DENIED_FROM} (evenkeel selector-misses-own-pod)"] == self.said(deployment(MISSES), rules)

    def test_is_said_where_the_api_server_itself_warns_of_the_error(self):
        """And evenkeel does not warn a second time."""
        null = {key: value for key, value in EMPTY.items() if key != "labelSelector"}
        decision = validate(deployment(null), rules=f"{{enforcement: Warn, notice: {NOTICE}}}")

        assert (f"{DENIED_FROM} (evenkeel empty-selector)",) == decision.warnings

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ("notice: {from: 2028-01-01}", "will be denied from 2028-01-01"),
            ("rules: {empty-selector: {notice: {contact: us}}}", "will be denied; ask us"),
            ("enforcement: Warn", "will be denied from 2027-01-15; ask #platform, https://e.com/spread"),
        ],
        ids=["of an override", "of a rule in an override", "of the policy"],
    )
    def test_the_nearest_one_is_said(self, more, said):
        rules = f"{{enforcement: Warn, notice: {NOTICE}, {one_team(more)[len('{rules: {}, ') :]}"

        assert [f"Deployment shop/web: {said} (evenkeel empty-selector)"] == self.said(deployment(EMPTY), rules)

    def test_leaves_room_for_at_most_five_lines(self):
        racks = [EMPTY | {"topologyKey": f"example.com/{i}"} for i in range(9)]
        decision = validate(deployment(*racks), rules=f"{{enforcement: Warn, notice: {NOTICE}}}")
        *findings, notice, more = decision.warnings

        assert 4 == len(findings)
        assert notice.startswith(DENIED_FROM)
        assert more.startswith(f"Deployment shop/web: {len(decision.findings) - 4} more findings; ")
