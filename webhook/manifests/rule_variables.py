"""
The variables and validations of the checks that act in a policy.

    empty_selector          the items that the check finds, none where it is not in force
    empty_selector_before   those that the old object had
    empty_selector_denied   those that deny: none if the old object had as many, and as grave ones
    denied                  the constraints that any check denies; each message is about the first of them
    empty_selector_text     what is said of an item
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.admission.cost import AT_MOST, MOST_CONSTRAINTS, TOO_MANY_VALUES
from webhook.admission.decision import COULD_NOT_JUDGE, MAKE_SMALLER, PASSES_UNJUDGED
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Severity
from webhook.findings.wording import help_for_all, mark, with_helps
from webhook.manifests.acting import OF_OLD, Acting, Export, silencing
from webhook.manifests.cel import all_of, any_of, begin, bound, literal
from webhook.manifests.check import IS_HARD, LONGEST_KEY, parameter_variable
from webhook.manifests.configurations import Manifest
from webhook.manifests.object_variables import Variables, ignored, of_messages, of_object, of_request
from webhook.objects.fields import Raw, as_list, integer
from webhook.objects.kinds import FIELD
from webhook.objects.names import PROBE_LABEL, ZONE
from webhook.objects.workload import parse_workloads
from webhook.policy.policy import AUDIT, DENY, WARN, InForce, is_enforced
from webhook.rules import RULES
from webhook.rules.missing_constraints import MISSING

PINNED = "pinned-pod"
TOO_LARGE = "the constraints are too large to judge"


def variables(export: Export, action: str, acting: Sequence[Acting]) -> Variables:
    """Yield name and expression of every variable, each after those that it asks for; not all of them are needed."""
    yield from of_request(export.kinds)
    for suffix in ("", OF_OLD):
        yield from of_object(export.kinds, export.policy.overrides, suffix)
    yield from ignored()
    yield from of_messages(export.kinds)
    audited = export.within(export.parts_where(lambda part: part.owned_objects != DENY))
    yield "audited", all_of("variables.has_owner", audited)
    yield "sent_by_controller", all_of("variables.by_controller", audited)
    yield "pinned", _pinned(export)
    if any(each.rule == MISSING for each in acting):
        yield "offered", by_part([_offered(export, part) for part in export.parts])
    for rule in dict.fromkeys(each.rule for each in acting):
        for name in RULES[rule].parameters:
            values = [_parameter(part, rule, name) for part in export.parts]
            yield parameter_variable(rule, name), by_part(values)
    for each in acting:
        yield each.variable, _items(export, each)
        yield f"{each.variable}{OF_OLD}", _before(export, each)
    for each in acting:
        yield f"{each.variable}_denied", _denied(export, each, acting)
    any_denied = any_of(f"c in variables.{each.variable}_denied" for each in acting if not each.check.whole)
    yield "denied", f"variables.constraints.filter(c, {any_denied})"
    for each in acting:
        yield f"{each.variable}_told", _told(export, each, acting)
        yield f"{each.variable}_text", _text(each, _item(action, each, acting), _in_owner(export, action, each))


def validations(export: Export, action: str, acting: Sequence[Acting]) -> Iterator[Manifest]:
    """
    Yield a validation for each check, after that of the object's size, and in what denies first that of a probe.
    """
    if action == DENY:
        yield _probe()
    yield from _size(export, action)
    for each in acting:
        items = f"variables.{each.variable}_{'denied' if action == DENY else 'told'}"
        denied = _item(action, each, acting)
        first = "variables.denied.size() == 0" if denied == "variables.denied[0]" else ""
        expression = f"{first} || !({denied} in {items})" if first else f"{items}.size() == 0"
        message = _message(export, action, each, denied)
        yield _validation(expression, message, f"{RULES[each.rule].title}{mark(each.rule)}")
    if action == WARN and export.policy.help:
        nothing = all_of(*(f"variables.{each.variable}_told.size() == 0" for each in acting))
        yield {"expression": nothing, "reason": "Forbidden", "message": help_for_all(export.policy.help)}


def _item(action: str, acting: Acting, others: Sequence[Acting]) -> str:
    """Return CEL for the item that a message is about: of several that deny it is the first constraint."""
    several = action == DENY and sum(not other.check.whole for other in others) > 1
    if several and not acting.check.whole:
        return "variables.denied[0]"
    return f"variables.{acting.variable}_{'denied' if action == DENY else 'told'}[0]"


def _message(export: Export, action: str, acting: Acting, item: str) -> str:
    check, path = acting.check, "variables.path" if action == DENY else literal(FIELD)
    if not check.whole:
        place = check.place or (literal(check.field) if check.field else "")
        index = f"{path} + '[' + string(variables.constraints.indexOf({item})) + ']'"
        path = f"{index} + '.' + {bound(item, 'c', place)}" if place else index
    for_all = export.policy.help if action == DENY else ""  # The API server tells one denial, and all warnings.
    helps = [with_helps("", part.settings[acting.rule].help, for_all) for part in export.parts]
    suffix = f" + {_in_part(by_part(helps), export)}" if any(helps) else ""
    end = literal(mark(acting.rule))
    return f"variables.about + ': ' + {path} + ': ' + variables.{acting.variable}_text + {end}{suffix}"


def by_part(values: Sequence[object]) -> str:
    """Return CEL for the values in the parts of the policy: the only one, or the list of them."""
    return literal(values[0] if len(values) == 1 else values)


def _in_part(values: str, export: Export) -> str:
    """Return CEL for the value in the part that is in force."""
    return values if len(export.parts) == 1 else f"{values}[variables.part]"


def _text(acting: Acting, item: str, told_in_owner: str) -> str:
    """Return CEL for what is wrong with the item, what was found, and the fix; see findings.wording.in_full."""
    check = acting.check
    fix = (
        f"({check.fix})" if told_in_owner == "false" else f"({told_in_owner} ? variables.in_owner : '') + ({check.fix})"
    )
    value = "''"
    if not check.named:
        said = f"(t[0] + ' ' + t[2] + ' \"{check.field}\"').contains(t[1])"
        value = f"({said} ? '' : '; found ' + t[1])"
    text = bound(f"[{check.message}, {check.found}, {fix}]", "t", f"t[0] + {value} + '; ' + t[2]")
    return bound(item, "c", text)


def _in_owner(export: Export, action: str, acting: Acting) -> str:
    """Return CEL for: what is told would be denied if the policy's enforcement were Deny; the owner is to be mended."""
    if action == DENY:
        return "true"
    errors = export.parts_where(lambda part: part.settings[acting.rule].severity is Severity.ERROR)
    return export.within((errors & acting.parts) - acting.excusing)


def _items(export: Export, acting: Acting) -> str:
    """Return CEL for the items of a check, none where the rule is not in force for the object."""
    enforced = acting.parts & export.enforcing(acting.rule)
    alone = acting.rule != PINNED and not RULES[acting.rule].rejected_by_api_server
    spared = ["!variables.audited", *(["!variables.pinned"] if alone else [])]
    left = all_of(*spared, f"!('{acting.rule}' in variables.ignored)")
    conditions = [(acting.parts - enforced, left), (enforced, "!variables.sent_by_controller")]
    in_force = [_both(export.within(parts), condition) for parts, condition in conditions if parts]
    of_object = "variables.fits" if acting.check.whole else ""
    return f"{all_of(of_object, f'({any_of(in_force)})')} ? ({acting.check.items}) : []"


def _both(within: str, condition: str) -> str:
    return condition if within == "true" else f"{within} && {condition}"


def _before(export: Export, acting: Acting) -> str:
    """Return CEL for the items of the old object; they are old only where the rule was an error, and as enforced."""
    # What is wrong with all constraints together is not known of an object that was too large to judge.
    items = f"variables.fits{OF_OLD} ? ({acting.before}) : []" if acting.check.whole else acting.before
    if not _may_change(export):
        return items
    errors = export.parts_where(lambda part: part.settings[acting.rule].severity is Severity.ERROR)
    denying = export.parts_where(lambda part: part.enforcement == DENY and is_enforced(part.settings[acting.rule]))
    enforced = export.within(export.enforcing(acting.rule))
    as_enforced = any_of((f"!({enforced})", export.within(denying, OF_OLD)))
    return f"{all_of(export.within(errors, OF_OLD), f'({as_enforced})')} ? ({items}) : []"


def _may_change(export: Export) -> bool:
    """Return whether what is in force may change with an object: namespaces are asked for their labels of now."""
    return any(override.pod_selector or override.scheduler_name for override in export.policy.overrides)


def _denied(export: Export, acting: Acting, others: Sequence[Acting]) -> str:
    """Return CEL for the items that deny; of several, those that the old object did not have come first."""
    now, before = f"variables.{acting.variable}", f"variables.{acting.variable}{OF_OLD}"
    new = f"{now}.filter(c, !(c in {before}))"
    if acting.check.whole:
        denied = new
    else:
        extent = acting.check.extent
        as_bad = f"filter(c, ({extent}) >= {bound('d', 'c', extent)}).size()"
        counted = f"{now}.all(d, {now}.{as_bad} <= {before}.{as_bad})"
        fewer = f"{now}.size() <= {before}.size()"
        excused = fewer if extent == "0" else counted
        pair = f"[{begin('c.topologyKey', LONGEST_KEY)}, c.whenUnsatisfiable]"  # It costs little to compare.
        new = bound(f"{before}.map(c, {pair})", "p", f"{now}.filter(c, !({pair} in p))")
        excused_new = f"[0, {before}.size() - {now}.size() + n.size()].max()"
        by_extent = "n" if extent == "0" else f"n.sortBy(c, {extent})"  # An old item excuses none that is worse.
        left = bound(new, "n", f"{by_extent}.slice([{excused_new}, n.size()].min(), n.size())")
        added = f"{excused} ? [] : [{left}, {new}, {now}].filter(l, l.size() > 0)[0]"
        # What another check of the rule found before excuses, too, and also where this one found nothing.
        of_rule = "".join(f"{condition} ? [] : " for condition in _fewer_of_rule(acting, others))
        denied = f"{of_rule}{before}.size() == 0 ? {now} : {added}"
    enforced = export.within(export.enforcing(acting.rule))
    known = "variables.fits_before" if enforced == "false" else f"(variables.fits_before || {enforced})"
    denied = denied if enforced == "true" else f"!{known} ? [] : ({denied})"
    denying = export.acting_in(acting.rule, DENY)
    within = export.within(denying)
    return denied if within == "true" else f"!({within}) ? [] : ({denied})"


def _fewer_of_rule(acting: Acting, others: Sequence[Acting]) -> Iterator[str]:
    """Yield CEL for: all checks of the rule together find no more in the object than they did in the old one."""
    names = [other.variable for other in others if other.rule == acting.rule]
    if len(names) > 1:
        counts = ["size()"] if acting.check.extent == "0" else ["size()", f"filter(c, ({IS_HARD}) > 0).size()"]
        yield " && ".join(
            " <= ".join(" + ".join(f"variables.{name}{end}.{count}" for name in names) for end in ("", OF_OLD))
            for count in counts
        )


def _told(export: Export, acting: Acting, others: Sequence[Acting]) -> str:
    """Return CEL for the items of which the policy that does not deny tells."""
    told = f"variables.{acting.variable}"
    if acting.check.said_by_api_server:
        told += f".filter(c, !({acting.check.said_by_api_server}))"
    for variable, parts in silencing(export, acting, others).items():
        within = export.within(parts)
        if acting.check.whole:
            told = f"({_both(within, f'variables.{variable}.size() > 0')} ? [] : {told})"
        else:
            told += f".filter(c, !({_both(within, f'c in variables.{variable}')}))"
    if not acting.excusing:
        return told
    denied = _both(export.within(acting.excusing), f"variables.{acting.variable}_denied.size() > 0")
    return f"{denied} ? [] : {told}"


def _probe() -> Manifest:
    """Return the validation that no Pod asks for a denial: whoever sends one in a dry run learns what is in force."""
    asked = f"request.kind.kind == 'Pod' && object.?metadata.?labels[?'{PROBE_LABEL}'].orValue('') == 'true'"
    asks = f"the label {PROBE_LABEL} asks for a denial"
    return _validation(f"!({asked})", f"variables.about + ': {asks}; leave it out'", asks)


def refuses_large(export: Export) -> bool:
    """Return whether an object that is too large to judge is refused, whatever the rules are."""
    return export.policy.on_error == DENY and any(part.enforcement == DENY for part in export.parts)


def _size(export: Export, action: str) -> Iterator[Manifest]:
    """Yield the validation that the object can be judged; see admission.review and decision.not_judged."""
    enforcing = export.parts_where(lambda part: part.enforces)
    refusing = export.parts_where(lambda part: part.enforcement == DENY and export.policy.on_error == DENY)
    enforced = all_of(export.within(enforcing), "!variables.sent_by_controller")
    known = "variables.listed == variables.listed_before"
    if _may_change(export):  # Whoever brings an object under an enforced rule must keep it.
        known += f" && ({export.within(enforcing, OF_OLD)} || !({export.within(enforcing)}))"
    denied = all_of(f"({any_of((enforced, export.within(refusing)))})", f"!({known})")
    count = f"'found ' + string(variables.listed.size()) + ' {AT_MOST}'"
    said = f"variables.path + ': ' + (variables.listed.size() > {MOST_CONSTRAINTS} ? {count} : '{TOO_MANY_VALUES}')"
    unjudged, passing = (f"variables.about + ': {result}: ' + {said}" for result in (COULD_NOT_JUDGE, PASSES_UNJUDGED))
    if action == DENY and enforcing | refusing:
        message = f"{enforced} ? variables.about + ': ' + {said} + '; {MAKE_SMALLER}' : {unjudged}"
        yield _validation(f"variables.fits || !({denied})", message, TOO_LARGE)
    elif action == WARN:
        told = export.within(export.parts_where(lambda part: part.enforcement != AUDIT))
        yield _validation(any_of(("variables.fits", f"!({told})", denied)), passing, TOO_LARGE)


def _validation(expression: str, message_expression: str, message: str) -> Manifest:
    """
    Return a validation; `message` is told if the other one has a line end or is too long.

    The API server computes the other one also where nothing is denied.
    """
    return {
        "expression": expression,
        "reason": "Forbidden",
        "messageExpression": f"{expression} ? '' : {message_expression}",
        "message": message,
    }


def _pinned(export: Export) -> str:
    """Return CEL for: pinned-pod alone is told, and what is enforced, because the object is a DaemonSet."""
    told = export.parts_where(lambda part: part.settings[PINNED].severity is not Severity.IGNORE)
    enforced = export.parts_where(lambda part: part.settings[PINNED].enforced)
    unless = any_of((f"!('{PINNED}' in variables.ignored)", export.within(enforced)))
    daemon_set = "request.kind.kind == 'DaemonSet' && variables.constraints.size() > 0"
    return all_of(daemon_set, f"({unless})", export.within(told))


def _parameter(part: InForce, rule: str, name: str) -> object:
    nothing = {"integer": 0, "boolean": False, "array": list[object]()}[str(RULES[rule].parameters[name]["type"])]
    value = part.settings[rule].parameters.get(name, nothing)
    return sorted(set(value)) if isinstance(value, list) else value


def _offered(export: Export, part: InForce) -> list[str]:
    """Return the keys for which missing-constraints offers a constraint, for no other rule would find fault with it."""
    (workload,) = parse_workloads(_example(integer(_parameter(part, MISSING, "minReplicas")) or 1), export.policy.kinds)
    findings = find_all(workload, part.settings, None, export.features).findings
    offered = {finding.wanted for finding in findings if finding.fix.startswith("add {")}
    asked = as_list(_parameter(part, MISSING, "topologyKeys")) or [ZONE]
    return [str(key) for key in asked if f"a constraint for {key}" in offered]


def _example(replicas: int) -> Raw:
    """Return a Deployment with so many replicas, several at least, and no constraints."""
    labels = {"app": "web"}
    spec = {
        "replicas": max(2, replicas),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
