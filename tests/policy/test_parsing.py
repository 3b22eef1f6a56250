"""A policy is parsed, or refused with every cause."""

from __future__ import annotations

from typing import NamedTuple

import jsonschema
import pytest

from tests.support import ROOT
from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint, pod
from webhook.findings.evaluation import evaluate
from webhook.findings.finding import Severity
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.workload import parse_workloads as parse_workload
from webhook.policy.defaults import Defaulting
from webhook.policy.parsing import BUILT_IN, built_in, parse_policy
from webhook.policy.policy import PolicyError
from webhook.policy.schema import schema
from webhook.rules import DEFAULT_SETTINGS, RULES

HEAD = "apiVersion: config.evenkeel.dev/v1alpha1\nkind: SpreadPolicy\n"


EXAMPLE = ROOT / "docs" / "examples" / "policy.yaml"


def policy(text=""):
    return parse_policy(HEAD + text)


class Refused(NamedTuple):
    """`causes` are the lines of the answer; one that ends in … is how a line begins."""

    name: str
    text: str
    causes: tuple[str, ...]


def refused(name, text, *causes):
    return Refused(name, text, causes)


def selecting(text):
    return f"overrides: [{{name: a, {text}}}]"


def kind(text):
    return f"workloads: [{{apiVersion: example.com/v1, kind: Fleet, resource: fleets, {text}}}]"


SEVERITIES = "wanted error or warning or info or ignore"


PATH = "wanted a path such as spec.template or spec.sets[*].template"


LISTS = "must have [*] at the same places as"


REFUSED = [
    refused("a misspelt field", "enforcment: Deny", "enforcment: unknown field; did you mean enforcement?"),
    refused("an unknown field", "foo: 1", "foo: unknown field; known are apiVersion, kind, enforcement, …"),
    refused("a wrong enforcement", "enforcement: deny", 'enforcement: found "deny", wanted Deny or Warn or …'),
    refused("no enforcement", "enforcement: off", "enforcement: found false, wanted Deny or Warn or Audit"),
    refused("wrong ownedObjects", "ownedObjects: Warn", 'ownedObjects: found "Warn", wanted Audit or Deny'),
    refused("a wrong earlyAnswer", "earlyAnswer: 'yes'", 'earlyAnswer: found "yes", wanted a boolean'),
    refused("a wrong mode", "defaultingMode: audit", 'defaultingMode: found "audit", wanted Apply or Audit; did…'),
    refused("a wrong onError", "onError: Fail", 'onError: found "Fail", wanted Allow or Deny'),
    refused("nothing in a field", "rules:", "rules: found null, wanted an object"),
    refused("a misspelt rule", "rules: {pined-pod: error}", "rules.pined-pod: unknown field; did you mean pinned-pod?"),
    refused("a wrong severity", "rules: {pinned-pod: warn}", f'rules.pinned-pod: found "warn", {SEVERITIES}; did…'),
    refused(
        "a bare off",
        "rules: {pinned-pod: off, soft-constraint: {severity: off}}",
        f"rules.pinned-pod: found false, {SEVERITIES}; YAML reads a bare off as false: write ignore",
        f"rules.soft-constraint.severity: found false, {SEVERITIES}; YAML reads a bare off as false: write ignore",
    ),
    refused(
        "all that is wrong in one setting",
        "rules: {pinned-pod: {severity: 'off', enforced: 1, maxSkew: 1}}",
        "rules.pinned-pod.maxSkew: unknown field; known are severity, enforced, help, notice",
        "rules.pinned-pod.enforced: found 1, wanted a boolean",
        f'rules.pinned-pod.severity: found "off", {SEVERITIES}',
    ),
    refused(
        "advice that is to deny",
        "rules: {tainted-domain: error, too-few-domains: {severity: error}, skew-never-binds: {enforced: true}}",
        "rules.skew-never-binds.enforced: found true, wanted false: it is advice, and never denies",
        'rules.tainted-domain: found "error", wanted warning or info or ignore: it is advice, and never denies',
        'rules.too-few-domains.severity: found "error", wanted warning or info or ignore: it is advice, and …',
    ),
    refused(
        "a help for all rules of two lines",
        'help: "a\\nb"',
        r'help: found "a\nb", wanted one line of characters that can be printed',
    ),
    refused(
        "a help that is no text",
        "help: [ask]",
        'help: found ["ask"], wanted a string',
    ),
    refused(
        "no help",
        "rules: {rollout-skew: {help: ''}}",
        'rules.rollout-skew.help: found "", wanted a string that is not empty',
    ),
    refused(
        "help of several lines",
        'rules: {pinned-pod: {help: "a\\nb"}}',
        r'rules.pinned-pod.help: found "a\nb", wanted one line of characters that can be printed',
    ),
    refused(
        "help that is too long",
        f"rules: {{pinned-pod: {{help: {'h' * 121}}}}}",
        "rules.pinned-pod.help: found 121 characters, wanted at most 120",
    ),
    refused(
        "a notice from a day that never comes",
        "notice: {from: 2027-02-30}",
        'notice.from: found "2027-02-30", wanted a date of the calendar',
    ),
    refused(
        "a notice of advice",
        "rules: {unschedulable: {notice: {contact: us}}}",
        "rules.unschedulable.notice: it is advice, and never denies; remove it",
    ),
    refused(
        "a notice of several lines",
        'overrides: [{name: a, podSelector: {}, notice: {contact: "a\\nb"}}]',
        r'overrides[0].notice: found "a\nb", wanted one line of characters that can be printed',
    ),
    refused(
        "a notice of a rule with a long URL",
        f"rules: {{pinned-pod: {{notice: {{url: {'h' * 81}}}}}}}",
        "rules.pinned-pod.notice.url: found 81 characters, wanted at most 80",
    ),
    refused(
        "no day",
        "overrides: [{name: a, schedulerName: b, until: next year}, {name: b, schedulerName: c, until: 2027}]",
        'overrides[0].until: found "next year", wanted a day such as 2027-01-31',
        "overrides[1].until: found 2027, wanted a string",
    ),
    refused(
        "a day that no calendar has",
        "overrides: [{name: a, schedulerName: b, until: 2027-02-29}]",
        'overrides[0].until: found "2027-02-29", wanted a date of the calendar',
    ),
    refused(
        "advice that is to deny in an override",
        "overrides: [{name: a, schedulerName: b, rules: {unknown-topology-key: error}}]",
        'overrides[0].rules.unknown-topology-key: found "error", wanted warning or info or ignore: it is advice, and …',
    ),
    refused(
        "parameters of the wrong type, or too small",
        "rules: {excessive-max-skew: {maxSkew: '1', topologyKeys: zone}, missing-constraints: {minReplicas: 0}}",
        'rules.excessive-max-skew.maxSkew: found "1", wanted an integer',
        'rules.excessive-max-skew.topologyKeys: found "zone", wanted an array',
        "rules.missing-constraints.minReplicas: found 0, wanted 1 or more",
    ),
    refused(
        "a rule without its parameter",
        "rules: {excessive-max-skew: error}",
        "rules.excessive-max-skew: must have maxSkew; write {severity: error, maxSkew: …}",
    ),
    refused(
        "a rule that one of two parameters would do for",
        "rules: {forbidden-topology-key: {severity: info, topologyKeys: []}}",
        "rules.forbidden-topology-key: must have topologyKeys or allowedTopologyKeys; write {severity: info, …",
    ),
    refused("an override without a name", "overrides: [{schedulerName: a}]", "overrides[0]: must have name"),
    refused(
        "an override without a condition",
        "overrides: [{name: a, rules: {pinned-pod: info}}]",
        "overrides[0]: must have namespaceSelector, podSelector or schedulerName",
    ),
    refused(
        "two overrides of one name",
        "overrides: [{name: a, schedulerName: b}, {name: a, schedulerName: c}]",
        'overrides[1].name: found "a" twice, wanted a name of its own',
    ),
    refused(
        "a rule in an override without its parameter",
        selecting("schedulerName: b, rules: {excessive-max-skew: info}"),
        "overrides[0].rules.excessive-max-skew: must have maxSkew; …",
    ),
    refused(
        "a malformed label in a selector",
        selecting("namespaceSelector: {matchLabels: {a b: c}}"),
        'overrides[0].namespaceSelector.matchLabels: found "a b", name part must …',
    ),
    refused(
        "an operator that there is not",
        selecting("podSelector: {matchExpressions: [{key: a, operator: in, values: [b]}]}"),
        'overrides[0].podSelector.matchExpressions[0].operator: found "in", not a valid selector operator',
    ),
    refused(
        "a misspelt selector, which would select all namespaces",
        selecting("namespaceSelector: {matchLabel: {team: batch}}"),
        "overrides[0].namespaceSelector.matchLabel: unknown field; did you mean matchLabels?",
    ),
    refused(
        "labels where a selector belongs, which would select all Pods",
        selecting("podSelector: {app: web}"),
        "overrides[0].podSelector.app: unknown field; known are …",
    ),
    refused(
        "a built-in kind, described anew",
        "workloads: [{apiVersion: apps/v1, kind: Deployment, resource: deployments, podTemplate: spec.template}]",
        "workloads[0]: apps/v1 Deployment is built in, so a policy cannot describe it; remove this item",
    ),
    refused(
        "a kind of the core group, such as Secrets, of which nobody is to be given the right to read them",
        "workloads: [{apiVersion: v1, kind: Secret, resource: secrets, podTemplate: data}]",
        'workloads[0].apiVersion: found "v1", wanted GROUP/VERSION; kinds of the core group are built in',
    ),
    *(
        refused(
            f"{text!r} is no resource",
            f"workloads: [{{apiVersion: a/v1, kind: A, resource: '{text}', podTemplate: a}}]",
            f'workloads[0].resource: found "{text}", wanted the plural name of one resource in lower case, such as …',
        )
        for text in ("*", "as/*", "as/status", "As", "")
    ),
    *(
        refused(
            f"{text!r} is no apiVersion",
            f"workloads: [{{apiVersion: '{text}', kind: A, resource: as, podTemplate: a}}]",
            f'workloads[0].apiVersion: found "{text}", wanted GROUP/VERSION; kinds of the core group are built in',
        )
        for text in ("*/v1", "a/*", "/v1", "a/b/v1", "")
    ),
    refused(
        "added labels that no Pod can carry",
        "workloads: [{apiVersion: a/v1, kind: A, resource: as, podTemplate: a, addedLabels: [a, a b]}]",
        'workloads[0].addedLabels: found "a b", wanted label keys',
    ),
    refused("no resource", "workloads: [{podTemplate: a}]", "workloads[0]: must have apiVersion, kind, resource"),
    refused("no path", kind("replicas: a"), "workloads[0]: must have either podTemplate or constraints"),
    refused("two paths", kind("podTemplate: a, constraints: b"), "workloads[0]: must have either podTemplate or …"),
    *(
        refused(
            f"{text!r} is no path", kind(f"podTemplate: '{text}'"), f'workloads[0].podTemplate: found "{text}", {PATH}'
        )
        for text in ("", ".spec", "spec..template", "spec.sets[0].template", "spec.*.template", "spec.a b")
    ),
    refused("labels twice", kind("podTemplate: a, labels: b"), "workloads[0].labels: goes only with constraints; …"),
    refused("addedLabels as a word", kind("podTemplate: a, addedLabels: b"), "workloads[0].addedLabels: found …"),
    refused(
        "replicas in another list",
        kind("podTemplate: 'a[*].template', replicas: 'b[*].replicas'"),
        f"workloads[0].replicas: {LISTS} a[*].template",
    ),
    refused(
        "replicas in a list of another list",
        kind("podTemplate: 'a[*].b[*].template', replicas: 'c[*].b[*].replicas'"),
        f"workloads[0].replicas: {LISTS} a[*].b[*].template",
    ),
    refused(
        "a kind of an operator, misspelt",
        "workloads: [{builtIn: strimzi-kafak}]",
        'workloads[0].builtIn: found "strimzi-kafak", wanted a kind that evenkeel kinds lists; did you mean strimzi-k…',
    ),
    refused(
        "a kind of several operators",
        "workloads: [{builtIn: kafka}]",
        'workloads[0].builtIn: found "kafka", wanted a kind that evenkeel kinds lists; did you mean strimzi-kafka or …',
    ),
    refused(
        "a kind of an operator that there is not",
        "workloads: [{builtIn: zzz}, {builtIn: 1}]",
        'workloads[0].builtIn: found "zzz", wanted a kind that evenkeel kinds lists',
        "workloads[1].builtIn: found 1, wanted a kind that evenkeel kinds lists",
    ),
    refused(
        "a kind of an operator twice",
        "workloads: [{builtIn: strimzi-kafka}, {builtIn: strimzi-kafka}]",
        'workloads[1].builtIn: found "strimzi-kafka" twice, wanted it once',
    ),
    refused(
        "a kind of an operator, described besides",
        "workloads: [{builtIn: strimzi-kafka, kind: Kafka}]",
        "workloads[0].kind: unknown field; known are builtIn",
    ),
    refused("labels in a list", kind("constraints: a, labels: 'b[*].c'"), f"workloads[0].labels: {LISTS} a"),
]


WANTED = "wanted one SpreadPolicy or KubeSchedulerConfiguration"
WHOLE = [
    refused("nothing", "", f"is no policy: found nothing, {WANTED}"),
    refused("a list", "- a", f'is no policy: found ["a"], {WANTED}'),
    refused("two documents", f"{HEAD}---\n{HEAD}", f"is no policy: found SpreadPolicy, SpreadPolicy, {WANTED}"),
    refused(
        "other objects",
        "\n---\n".join(["{kind: Deployment, metadata: {namespace: shop, name: web}, spec: {}}"] * 5),
        "is no policy: found Deployment shop/web, Deployment shop/web, Deployment shop/web, 2 more, wanted one …",
    ),
    refused("no kind", "resources: [web.yaml]", f"is no policy: found an object without kind, {WANTED}"),
    refused("no apiVersion", "kind: SpreadPolicy", "must have apiVersion"),
    refused("another kind", "apiVersion: v1\nkind: Pod", f"is no policy: found Pod, {WANTED}"),
    refused("broken YAML", "a: [", "line 1, column 5: did not find expected node content; the line is a: ["),
    *(case._replace(text=HEAD + case.text) for case in REFUSED),
]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.name)
def test_a_policy_is_refused_with_path_value_and_fix(case):
    with pytest.raises(PolicyError) as caught:
        parse_policy(case.text)

    assert len(case.causes) == len(caught.value.causes), caught.value.causes
    for wanted, cause in zip(case.causes, caught.value.causes, strict=True):
        assert cause.startswith(wanted[:-1]) if wanted.endswith("…") else wanted == cause


SPREAD = """\
  defaultingType: List
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
  - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
"""


DESIGN = f"""\
apiVersion: config.evenkeel.dev/v1alpha1
kind: SpreadPolicy                # a file, not a custom resource
enforcement: Deny                 # Deny | Warn | Audit
ownedObjects: Audit               # Audit | Deny
defaulting:                       # the fields of PodTopologySpreadArgs
{SPREAD}
rules:
  rollout-skew: warning
  missing-constraints: {{severity: error, enforced: true, minReplicas: 3, topologyKeys: [topology.kubernetes.io/zone]}}
workloads:                        # further kinds that carry a Pod template or constraints
- {{apiVersion: argoproj.io/v1alpha1, kind: Rollout, resource: rollouts, podTemplate: spec.template,
   replicas: spec.replicas, addedLabels: [rollouts-pod-template-hash]}}
overrides:                        # the first that matches a Pod, and only that one
- name: batch
  namespaceSelector: {{matchLabels: {{team: batch}}}}        # podSelector and schedulerName are the other two
  rules: {{selector-misses-own-pod: ignore}}               # merged by rule id; `defaulting` is replaced whole
- name: second-scheduler
  schedulerName: gpu-scheduler
  defaulting: {{defaultingType: System}}
"""


def test_the_policy_of_the_design_says_what_it_says():
    found = parse_policy(DESIGN)
    batch, second = found.overrides
    rollout = found.kinds[-1]

    assert ("Deny", "Audit", False, "Allow") == (
        found.enforcement,
        found.owned_objects,
        found.early_answer,
        found.on_error,
    )
    assert built_in().defaulting == found.defaulting._replace(built_in=True)
    assert Severity.WARNING is found.settings["rollout-skew"].severity
    asked = {"minReplicas": 3, "topologyKeys": ["topology.kubernetes.io/zone"]}
    assert RULES["missing-constraints"].setting(Severity.ERROR, True, asked) == found.settings["missing-constraints"]
    assert ("Rollout", ("rollouts-pod-template-hash",)) == (rollout.kind, rollout.added_labels)
    assert Severity.IGNORE is batch.settings["selector-misses-own-pod"].severity
    assert ("gpu-scheduler", Defaulting("System")) == (second.scheduler_name, second.defaulting)
    assert ["missing-constraints"] * 2 + ["rules.missing-constraints.minReplicas"] == [
        note.partition(": ")[0] for note in found.notes
    ]


def test_the_built_in_policy_is_zone_and_hostname_soft():
    """And what a policy leaves out is as built in."""
    found = built_in()
    soft = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    zone, hostname = ({**soft, "topologyKey": key} for key in (ZONE, HOSTNAME))

    assert Defaulting("List", (zone, hostname), built_in=True) == found.defaulting
    assert ("Deny", "Audit", "Allow") == (found.enforcement, found.owned_objects, found.on_error)
    assert (False, (), (), KINDS) == (found.early_answer, found.notes, found.overrides, found.kinds)
    assert DEFAULT_SETTINGS == found.settings
    assert found == policy()


def test_the_defaults_of_each_override_are_noted():
    hard = "[{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]"
    hosts = f"defaulting: {{defaultingType: List, defaultConstraints: {hard}}}"
    by_label = [f"{{name: {name}, podSelector: {{matchLabels: {{a: {name}}}}}, {hosts}}}" for name in "ab"]
    notes = policy(f"defaulting: {{}}\noverrides: [{', '.join(by_label)}]").notes

    assert [f"overrides[{i}].defaulting.defaultConstraints[0].whenUnsatisfiable" for i in (0, 1)] == [
        note.partition(": ")[0] for note in notes
    ]


def test_each_answer_can_be_the_other():
    found = policy("enforcement: Warn\nownedObjects: Deny\nearlyAnswer: true\nonError: Deny")

    assert ("Warn", "Deny", "Deny") == (found.enforcement, found.owned_objects, found.on_error)
    assert (True, built_in().defaulting) == (found.early_answer, found.defaulting)


TEXTS = {"built in": BUILT_IN, "the design's": DESIGN, "the example": EXAMPLE.read_text("utf-8")}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_schema_validates_what_the_parser_takes(text):
    jsonschema.validate(read_documents(text)[0], schema(), jsonschema.Draft202012Validator)

    assert parse_policy(text)


def test_a_rule_needs_its_parameters_only_where_it_is_switched_on():
    assert policy("rules: {excessive-max-skew: {enforced: true}, forbidden-topology-key: ignore}")
    assert policy("rules: {forbidden-topology-key: {severity: error, allowedTopologyKeys: [rack]}}")


def test_a_whole_number_with_a_point_is_a_whole_number():
    """To a JSON schema 5.0 is an integer, and to the rule that reads it."""
    settings = policy("rules: {excessive-max-skew: {severity: error, maxSkew: 5.0}}").settings

    assert () == evaluate(*parse_workload(pod(constraint())), settings, None, FEATURES).findings


def test_kinds_of_a_policy_come_after_the_built_in():
    template, nested, constraints = policy(
        """workloads:
- {apiVersion: a/v1, kind: A, resource: as, podTemplate: 'spec.sets[*].template', replicas: 'spec.sets[*].n',
   addedLabels: [a, b-hash]}
- {apiVersion: c/v1, kind: C, resource: cs, podTemplate: 'a[*].b[*].template', replicas: 'a[*].n'}
- {apiVersion: b/v1, kind: B, resource: bs, constraints: spec.spread, labels: spec.labels}"""
    ).kinds[len(KINDS) :]

    assert (("spec", "sets", "*", "template"), ("spec", "sets", "*", "n")) == (template.template, template.replicas)
    assert (("a", "b-hash"), "b-hash", False) == (template.added_labels, template.revision_key, template.built_in)
    assert (("a", "*", "b", "*", "template"), ("a", "*", "n")) == (nested.template, nested.replicas)
    assert (None, ("spec", "spread")) == (constraints.template, constraints.constraints)
    assert (("spec", "labels"), None, ()) == (constraints.labels, constraints.replicas, constraints.added_labels)


def test_the_kind_of_an_operator_is_named():
    found = policy("workloads: [{builtIn: victoriametrics-vmcluster}]").kinds[len(KINDS) :]

    assert {("operator.victoriametrics.com/v1beta1", "VMCluster", True)} == {
        (kind.api_version, kind.kind, kind.from_policy) for kind in found
    }
    assert ("spec", "vmselect", "topologySpreadConstraints") in {kind.constraints for kind in found}
    assert {"victoriametrics-vmcluster"} == {kind.operator.name for kind in found}


def test_what_a_policy_describes_itself_comes_before_the_kind_that_it_names():
    path = "spec.vmselect.topologySpreadConstraints"
    own = "{apiVersion: operator.victoriametrics.com/v1beta1, kind: VMCluster, resource: vmclusters"
    described = policy(f"workloads: [{{builtIn: victoriametrics-vmcluster}}, {own}, constraints: {path}, labels: a}}]")
    found = described.kinds[len(KINDS) :]

    assert [("a",)] == [kind.labels for kind in found if kind.constraints == tuple(path.split("."))]
    assert 4 == len(found)


def test_a_policy_without_kinds_of_operators_has_none():
    assert [] == [kind for kind in policy().kinds if kind.operator is not None]
