"""
Where a policy defeats itself: sample objects, made as it asks, are judged by its own rules.

    a Deployment with a constraint ──rules of each part──> keys that no constraint can have
    a Pod with the default constraints ──rules of each part──> defaults that Pods do not get
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from webhook.admission.ownership import account_of, denying_findings
from webhook.admission.terms import Terms
from webhook.findings.evaluation import evaluate, find_all
from webhook.findings.finding import Severity
from webhook.findings.rule import RuleSetting, RuleSettings
from webhook.findings.wording import some
from webhook.kubernetes.fields import FieldPath, as_list, path_text
from webhook.kubernetes.kinds import APPS
from webhook.kubernetes.names import HOSTNAME, TEMPLATE_HASH, ZONE
from webhook.kubernetes.reader import brief
from webhook.kubernetes.references import Owner
from webhook.kubernetes.workload import Workload, parse_workloads
from webhook.policy.policy import DENY, InForce, Policy
from webhook.rules import RULES
from webhook.rules.missing_constraints import MISSING
from webhook.spread.constraint import HARD, SOFT
from webhook.spread.default_constraints import LIST

LABELS = {"app": "web"}
SELECTOR = {"labelSelector": {"matchLabels": LABELS}}
ANY_KEY = "example.com/any"  # stands for a key that the policy does not name
MALFORMED = "malformed-topology-key"
RULES_ON_KEYS = (MALFORMED, "misspelt-topology-key", "deprecated-topology-key")
OWNER = Owner(APPS, "ReplicaSet", "web")


class Contradiction(NamedTuple):
    """What is wrong at a path of a policy."""

    path: FieldPath
    text: str
    error: bool  # nobody can want it, whatever the cluster is like

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {self.text}"


def contradictions(policy: Policy, terms: Terms) -> Iterator[Contradiction]:
    """Yield where the policy, or one of its overrides, defeats itself; an override does not repeat the policy's own."""
    yield from _wrong_keys(policy, terms)
    texts_of_policy: set[str] = set()
    for i, (part, in_force) in enumerate(zip(policy.parts, policy.in_force_by_part, strict=True)):
        above: FieldPath = ("overrides", i - 1) if i else ()
        own_defaults = not i or part.defaulting is not None
        of_part = [*_no_constraint_passes(in_force.settings, (*above, "rules"), terms)]
        of_part += _withheld_defaults(in_force, (*above, "defaulting") if own_defaults else above, terms)
        yield from (
            contradiction for contradiction in of_part if own_defaults or contradiction.text not in texts_of_policy
        )
        if not i:  # the first part is the policy without overrides
            texts_of_policy = {contradiction.text for contradiction in of_part}


def _wrong_keys(policy: Policy, terms: Terms) -> Iterator[Contradiction]:
    """Yield each topology key in rules and in defaults that is malformed, probably misspelt, or deprecated."""
    for i, part in enumerate(policy.parts):
        above: FieldPath = ("overrides", i - 1, "rules") if i else ("rules",)
        for rule_id, setting in part.settings.items():
            if not i or setting.parameters != policy.settings[rule_id].parameters:
                yield from _wrong_keys_of_rule(rule_id, setting, (*above, rule_id), terms)
    for path, defaulting in policy.defaultings() if terms.snapshot is None else ():
        for i, constraint in enumerate(() if defaulting.built_in else defaulting.constraints):
            key = str(constraint["topologyKey"])
            yield from _wrong(key, (*path, "defaultConstraints", i, "topologyKey"), terms, RULES_ON_KEYS)


def _wrong_keys_of_rule(rule_id: str, setting: RuleSetting, path: FieldPath, terms: Terms) -> Iterator[Contradiction]:
    as_error = {rule_id: replace(setting, severity=Severity.ERROR)}  # also where it is only set for overrides
    for name in RULES[rule_id].topology_keys:
        for i, key in enumerate(as_list(setting.parameters.get(name))):
            # A key that the rule itself forbids may well be misspelt.
            forbidden = all(_denying_rules(str(key), action, as_error, terms) for action in (HARD, SOFT))
            yield from _wrong(str(key), (*path, name, i), terms, (MALFORMED,) if forbidden else RULES_ON_KEYS)


def _wrong(key: str, path: FieldPath, terms: Terms, rules: Iterable[str]) -> Iterator[Contradiction]:
    settings = {rule: RULES[rule].setting() for rule in rules}
    for finding in evaluate(_deployment(key, SOFT), settings, terms.snapshot, terms.features).findings:
        malformed = finding.rule == MALFORMED
        unless = "" if malformed else ", unless your nodes have this label"
        yield Contradiction(path, f"found {finding.found}, wanted {finding.wanted}{unless}", error=malformed)


def _no_constraint_passes(settings: RuleSettings, path: FieldPath, terms: Terms) -> Iterator[Contradiction]:
    """Yield each topology key with which every constraint is denied, though no rule alone forbids the key."""
    errors = {rule: setting for rule, setting in settings.items() if setting.severity is Severity.ERROR}
    keys = {ZONE, HOSTNAME, ANY_KEY}.union(*(_keys(rule, setting) for rule, setting in errors.items()))
    closed: dict[str, tuple[frozenset[str], frozenset[str]]] = {}  # by key: what denies hard and soft constraints
    for key in sorted(keys):
        hard, soft = (_denying_rules(key, action, errors, terms) for action in (HARD, SOFT))
        if hard and soft:
            closed[key] = hard, soft
    if keys == closed.keys():
        denying_rules = frozenset[str]().union(*(hard | soft for hard, soft in closed.values()))
        yield Contradiction(
            path, f"every constraint is denied by {some(denying_rules)}; change one of these rules", error=True
        )
        return
    required_keys = _keys(MISSING, errors[MISSING]) if MISSING in errors else []
    for key, (hard, soft) in closed.items():
        why = f"every constraint for {brief(key)} is denied by {some(hard | soft)}"
        if MALFORMED in hard:
            continue  # the key itself is reported
        if key in required_keys:
            least = errors[MISSING].parameters["minReplicas"]
            nothing = f"no workload with {least} or more replicas passes"
            yield Contradiction((*path, MISSING), f"{nothing}: {why}; change one of these rules", error=True)
        elif hard.isdisjoint(soft):
            yield Contradiction(path, f"{why}; to forbid the key, use forbidden-topology-key alone", error=True)


def _keys(rule_id: str, setting: RuleSetting) -> list[str]:
    return [str(key) for name in RULES[rule_id].topology_keys for key in as_list(setting.parameters.get(name))]


def _denying_rules(key: str, action: str, settings: RuleSettings, terms: Terms) -> frozenset[str]:
    """Return which rules find fault with a constraint, however good it is otherwise."""
    findings = find_all(_deployment(key, action), settings, terms.snapshot, terms.features).findings
    return frozenset(finding.rule for finding in findings if RULES[finding.rule].needs_constraints)


def _deployment(key: str, action: str) -> Workload:
    """Return a Deployment with one constraint."""
    if_hard = {"nodeTaintsPolicy": "Honor", "minDomains": 2} if action == HARD else {}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, **SELECTOR, **if_hard}
    pod_spec = {"topologySpreadConstraints": [{**constraint, "matchLabelKeys": [TEMPLATE_HASH]}]}
    template = {"metadata": {"labels": LABELS}, "spec": pod_spec}
    spec = {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": template}
    obj = {"apiVersion": APPS, "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    return parse_workloads(obj)[0]


def _withheld_defaults(part: InForce, path: FieldPath, terms: Terms) -> Iterator[Contradiction]:
    """Yield that rules keep Pods, or Pods that no controller creates, from getting the default constraints."""
    defaulting = part.defaulting
    if defaulting is None or defaulting.type != LIST or not defaulting.constraints:
        return
    denying = replace(part, enforcement=DENY, of_enforced=DENY)  # also if the policy only warns today
    pod = _pod(defaulting.constraints)
    breaking = _breaking(pod, denying, "", terms)
    if not breaking:
        return
    controller = account_of(pod.kind.kind, OWNER) or ""
    nobody = bool(_breaking(replace(pod, owner=OWNER), denying, controller, terms))
    who = "no Pod gets them" if nobody else "only Pods that a controller creates get them"
    when = "" if part.enforcement == DENY else f" under enforcement: {DENY}"
    which = "the built-in default constraints" if defaulting.built_in else "the default constraints"
    text = f"{which} break {some(breaking)}, so {who}{when}; write other default constraints, or change the rule"
    yield Contradiction(path, text, nobody and not when and not defaulting.built_in)


def _pod(constraints: Iterable[Mapping[str, object]]) -> Workload:
    """Return a Pod with these default constraints, and the labels that they ask for."""
    keys = [str(key) for constraint in constraints for key in as_list(constraint.get("matchLabelKeys"))]
    pod_spec = {"topologySpreadConstraints": [{**constraint, **SELECTOR} for constraint in constraints]}
    metadata = {"name": "web", "labels": {**LABELS, **dict.fromkeys(keys, "any")}}
    return parse_workloads({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec})[0]


def _breaking(pod: Workload, rules: InForce, user: str, terms: Terms) -> set[str]:
    """Return the rules that deny a Pod; none if rules also deny it without its constraints."""
    denied = {finding.rule for finding in denying_findings(pod, rules, user, terms)}
    bare = replace(pod, raw_constraints=None)
    return denied if denied and not denying_findings(bare, rules, user, terms) else set()
