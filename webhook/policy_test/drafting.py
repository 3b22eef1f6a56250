"""
Writes a policy from what is wanted of it, and a test that shows each part of that.

    Wishes ──policy_text──> text ──parse_policy──> Policy ──test_text──> text
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from webhook.admission.terms import Terms
from webhook.documents.reading import read_documents
from webhook.findings.finding import Severity
from webhook.findings.rule import in_yaml
from webhook.loading.usage import UsageError
from webhook.objects.fields import Raw, as_list, as_mapping, value_at
from webhook.objects.labels import Labels
from webhook.objects.names import NAMESPACE_NAME, TEMPLATE_HASH, ZONE
from webhook.policy.parsing import parse_policy
from webhook.policy.policy import AUDIT, DENY, WARN, Policy
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND
from webhook.policy_test.running import SUFFIX
from webhook.policy_test.wishes import REQUIRED_BY, REQUIRING, WITHOUT_DEFAULTS, Wishes
from webhook.policy_test.writing import case_of
from webhook.render.policy_test import as_file
from webhook.rules import RULES
from webhook.rules.missing_constraints import MISSING
from webhook.scheduler.constraint import HARD, SOFT
from webhook.scheduler.default_constraints import LIST, SYSTEM
from webhook.scheduler.features import LATEST
from webhook.scheduler.selectors import selecting
from webhook.scheduler.snapshot import from_objects

POLICY_FILE, TEST_FILE = "policy.yaml", f"policy{SUFFIX}"
SELECTED, EXEMPT, OUTSIDE = "selected", "exempt", "outside"  # The namespaces of a test.
POD_OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6d4cf56db6", "controller": True}


def drafts(wishes: Wishes) -> dict[str, str]:
    """Return the policy and its test, by the names of their files; UsageError if no Pod would get its defaults."""
    text = policy_text(wishes)
    return {POLICY_FILE: text, TEST_FILE: test_text(wishes, parse_policy(text))}


def policy_text(wishes: Wishes) -> str:
    """Return a policy as a person would write it, with comments."""
    return "\n".join((*_head(wishes), *_defaulting(wishes), *_rules(wishes), *_overrides(wishes), ""))


def _head(wishes: Wishes) -> Iterator[str]:
    yield from ("# Written by evenkeel policy init.", f"apiVersion: {POLICY_API_VERSION}", f"kind: {POLICY_KIND}")
    comment = "  # Errors only warn. Write Deny to deny them." if wishes.enforcement == WARN else ""
    yield f"enforcement: {wishes.enforcement}{comment}"
    yield from _notice_of_errors(wishes)


def _notice_of_errors(wishes: Wishes) -> Iterator[str]:
    """Yield what warnings say of errors; that of the policy is not about errors of an override."""
    if wishes.enforcement == WARN and (wishes.deny_from or wishes.contact):
        yield f"notice: {_notice(wishes.deny_from, wishes.contact)}"


def _notice_of_exempt(wishes: Wishes) -> Iterator[str]:
    """Yield what warnings say where the rules are only warnings: a day only if the policy denies on it."""
    denies = wishes.enforcement == DENY or wishes.deny_from
    day = max(wishes.after, wishes.deny_from) if denies else ""
    if wishes.enforcement != AUDIT and (day or wishes.contact):
        yield f"notice: {_notice(day, wishes.contact)}"


def _notice(day: str, contact: str) -> str:
    whom = json.dumps(contact, ensure_ascii=False)  # YAML reads no surrogates.
    return f"{{{', '.join((*([f'from: {day}'] if day else []), *([f'contact: {whom}'] if contact else [])))}}}"


def _defaulting(wishes: Wishes) -> Iterator[str]:
    if wishes.defaults is None:
        yield from ("", "# No defaulting: Pods without constraints get the built-in default constraints.")
    elif not wishes.defaults:
        yield from ("", "# Pods without constraints get none here: kube-scheduler's own defaults spread them.")
        yield f"defaulting: {{defaultingType: {SYSTEM}}}"
    else:
        yield from ("", "# Pods without constraints get these.", "defaulting:", f"  defaultingType: {LIST}")
        yield "  defaultConstraints:"
        for key in wishes.defaults:
            yield f"  - {in_yaml({'maxSkew': 1, 'topologyKey': key, 'whenUnsatisfiable': SOFT})}"


def _rules(wishes: Wishes) -> Iterator[str]:
    if any(_wanted_rules(wishes)) and not wishes.selected:
        yield from ("", *_settings(wishes, Severity.ERROR))


def _overrides(wishes: Wishes) -> Iterator[str]:
    if wishes.selected or wishes.exempt:
        yield from ("", "# Only the first override that matches a namespace applies to it.", "overrides:")
    if wishes.exempt:
        yield from _override(wishes.exempt, {**wishes.selected, **wishes.exempt})
        yield f"  until: {wishes.until}  # the last day, in UTC. Until then its rules only warn."
        yield from (f"  {line}" for line in _settings(wishes, Severity.WARNING, *_notice_of_exempt(wishes)))
    if wishes.selected:
        yield from _override(wishes.selected, wishes.selected)
        yield from (f"  {line}" for line in (*_notice_of_errors(wishes), *_settings(wishes, Severity.ERROR)))


def _override(named: Labels, labels: Labels) -> Iterator[str]:
    yield f"- name: {in_yaml(str(selecting(named)))}"
    yield f"  namespaceSelector: {in_yaml({'matchLabels': labels})}"


def _settings(wishes: Wishes, severity: Severity, *more: str) -> Iterator[str]:
    yield "rules:"
    for rule, meaning, parameters in _wanted_rules(wishes):
        yield from (f"  # {meaning}.", f"  {rule}:")
        yield from (f"    {line}" for line in (f"severity: {severity}", *parameters, *more))


def _wanted_rules(wishes: Wishes) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield the rules that are wanted, each with what it asks for, and the lines of its parameters."""
    keys = (f"topologyKeys: {in_yaml(wishes.topology_keys)}",) if wishes.topology_keys else ()
    if keys:
        meaning = f"Workloads with {_replicas(wishes)} or more must have a constraint for each of these keys"
        yield MISSING, meaning, (f"minReplicas: {wishes.min_replicas}", *keys)
    if wishes.action:
        of_keys = " for these keys" if keys else ""
        yield REQUIRED_BY[wishes.action], f"Constraints{of_keys} must have whenUnsatisfiable: {wishes.action}", keys
    yield from ((rule, f"It is an error if {RULES[rule].title}", ()) for rule in wishes.denied)


def _replicas(wishes: Wishes) -> str:
    return f"{wishes.min_replicas} replica{'' if wishes.min_replicas == 1 else 's'}"


class ShownCase(NamedTuple):
    """An object that is applied in a namespace, on a day if that matters."""

    name: str
    obj: Raw
    place: str = SELECTED
    day: str = ""


def test_text(wishes: Wishes, policy: Policy) -> str:
    """Return a test of the policy, with a case for each part of what is wanted."""
    places = _namespaces(wishes)
    cluster: list[Raw] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": labels[NAMESPACE_NAME], "labels": labels}}
        for labels in places.values()
    ]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}}}
    cluster.append(_placed(service, places[SELECTED]))
    terms = Terms(policy, from_objects(cluster, LATEST), LATEST)
    _check_defaults(wishes, _placed(_bare_pod(), places[SELECTED]), terms)
    cases = [_case(each, _placed(each.obj, places[each.place]), terms) for each in _shown_cases(wishes)]
    comment = f"What is expected of {POLICY_FILE}. Written by evenkeel policy init; evenkeel policy test runs it."
    return as_file(comment, {"policy": POLICY_FILE, "cluster": cluster}, cases, leaves_in_line=True)


def _check_defaults(wishes: Wishes, bare_pod: Raw, terms: Terms) -> None:
    """Raise UsageError if a Pod without constraints does not get the defaults, because rules would deny them."""
    answer = as_mapping(case_of(bare_pod, bare_pod, terms)["expect"])
    if bool(as_list(answer["defaults"])) == terms.policy.defaults:
        return
    option = f"--default-constraints {WITHOUT_DEFAULTS}"
    fix = f"write {option}" + (", or name other topology keys with it" if wishes.topology_keys else "")
    which = "--default-constraints: these"
    if wishes.defaults is None:
        given = zip(REQUIRING, (wishes.topology_keys, wishes.action, wishes.denied), strict=True)
        which = f"{', '.join(option_given for option_given, value in given if value)}: the built-in"
    raise UsageError(f"{which} default constraints break what is required, so Pods would get none of them; {fix}")


def _namespaces(wishes: Wishes) -> dict[str, Labels]:
    """Return the labels of each namespace of a test."""
    places = {SELECTED: wishes.selected}
    if wishes.exempt:
        places[EXEMPT] = {**wishes.selected, **wishes.exempt}
    if wishes.selected:
        places[OUTSIDE] = {}
    taken = [labels.get(NAMESPACE_NAME) for labels in places.values()]
    names = {place: next(name for name in (place, f"{place}-2", f"{place}-3") if name not in taken) for place in places}
    return {place: {NAMESPACE_NAME: names[place], **labels} for place, labels in places.items()}


def _shown_cases(wishes: Wishes) -> Iterator[ShownCase]:
    keys, number, action = wishes.topology_keys, wishes.min_replicas, wishes.action or SOFT
    breaches = [*_breaches(wishes)]
    yield from breaches
    if keys and number > 1:
        fewer = f"{number - 1} replica{' needs' if number == 2 else 's need'} no constraint"
        yield ShownCase(fewer, _deployment(number - 1, (), action))
    if keys or wishes.action:
        whole = _deployment(number, keys or (ZONE,), action)
        yield ShownCase("a workload with all that is required is allowed", whole)
    if wishes.selected:
        outside = f"this is not required outside {selecting(wishes.selected)}"
        yield breaches[0]._replace(name=outside, place=OUTSIDE)
    if wishes.exempt:
        exempt, no_longer = (f"{selecting(wishes.exempt)} is {state}" for state in ("exempt", "no longer exempt"))
        for breach in breaches:
            of = f": {breach.name}" if breaches[1:] else ""
            for name, day in ((f"{exempt} until", wishes.until), (f"{no_longer} on", wishes.after)):
                yield breach._replace(name=f"{name} {day}{of}", place=EXEMPT, day=day)
    given = "no constraints" if wishes.defaults == () else "the default constraints"
    yield ShownCase(f"a Pod without constraints gets {given}", _bare_pod())


def _breaches(wishes: Wishes) -> Iterator[ShownCase]:
    """Yield what each of the rules finds."""
    keys, number, action = wishes.topology_keys, wishes.min_replicas, wishes.action or SOFT
    for key in keys:
        others = [other for other in keys if other != key]
        yield ShownCase(f"{_replicas(wishes)} need a constraint for {key}", _deployment(number, others, action))
    if wishes.action:
        other = _deployment(number, keys or (ZONE,), SOFT if action == HARD else HARD)
        yield ShownCase(f"a constraint needs whenUnsatisfiable: {action}", other)
    for rule in wishes.denied:
        yield ShownCase(f"{rule} is an error", _breaking_only(rule, wishes))


def _breaking_only(rule: str, wishes: Wishes) -> Raw:
    """Return the bad example of a rule, with all that the other wishes ask for: if the rule is no error, it passes."""
    bad = as_mapping(read_documents(RULES[rule].bad)[0])
    template = as_mapping(value_at(bad, ("spec", "template")))
    if not template:
        return bad
    labels, pod_spec = as_mapping(template["metadata"])["labels"], as_mapping(template["spec"])
    written = [as_mapping(each) for each in as_list(pod_spec["topologySpreadConstraints"])]
    keys, hard = wishes.topology_keys, wishes.action == HARD
    given = [
        {**each, "whenUnsatisfiable": HARD} if hard and (not keys or each["topologyKey"] in keys) else each
        for each in written
    ]
    other = [key for key in keys if key not in {each["topologyKey"] for each in written}]
    own = {"matchLabelKeys": [TEMPLATE_HASH]} if bad["kind"] == "Deployment" else {}
    given += [{**_constraint(key, wishes.action or SOFT, as_mapping(labels)), **own} for key in other]
    whole = {**template, "spec": {**pod_spec, "topologySpreadConstraints": given}}
    return {**bad, "spec": {**as_mapping(bad["spec"]), "template": whole}}


def _constraint(key: str, action: str, labels: Raw) -> Raw:
    """Return a constraint with which no rule finds fault but for revisions."""
    honors = {"nodeTaintsPolicy": "Honor"} if action == HARD else {}
    selector = {"labelSelector": {"matchLabels": labels}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, **honors, **selector}


def _deployment(replicas: int, keys: Sequence[str], action: str) -> Raw:
    labels = {"app": "web"}
    constraints = [{**_constraint(key, action, labels), "matchLabelKeys": [TEMPLATE_HASH]} for key in keys]
    pod_spec = {"topologySpreadConstraints": constraints} if constraints else {}
    template = {"metadata": {"labels": labels}, "spec": pod_spec}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def _bare_pod() -> Raw:
    metadata = {"generateName": "web-6d4cf56db6-", "labels": {"app": "web"}, "ownerReferences": [POD_OWNER]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}


def _placed(obj: Raw, namespace: Labels) -> Raw:
    return {**obj, "metadata": {**as_mapping(obj["metadata"]), "namespace": namespace[NAMESPACE_NAME]}}


def _case(shown: ShownCase, obj: Raw, terms: Terms) -> dict[str, object]:
    """Return a case that expects what happens: of a Pod, the defaults that it gets; of others, what rules find."""
    day = shown.day
    case = case_of(obj, obj, terms.on(day))
    answer = as_mapping(case["expect"])
    expect = {"outcome": answer["outcome"], "rules": answer["rules"]}
    user = {"user": case["user"]} if "user" in case else {}
    if user:
        fields = ("maxSkew", "topologyKey", "whenUnsatisfiable")
        defaults = [{field: as_mapping(given)[field] for field in fields} for given in as_list(answer["defaults"])]
        expect = {"outcome": answer["outcome"], "defaults": defaults}
    return {"name": shown.name, **({"today": day} if day else {}), "object": obj, **user, "expect": expect}
