"""invalid-constraint in CEL: of custom resources, and what the API server refuses only in the Pods of a template."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import bound, cut, literal, shown
from webhook.manifests.check import KEYS, CelCheck, CelObject, first_where
from webhook.manifests.constraint_list import KEYS_TO_MATCH, MATCH_EXPRESSIONS, MATCH_LABELS
from webhook.objects.fields import DUPLICATE, FORBIDDEN, INVALID, NOT_SUPPORTED, REQUIRED
from webhook.rules.invalid_constraint import REMEDIES
from webhook.scheduler.constraint import ACTIONS, HARD, POLICIES
from webhook.scheduler.validation import REPEATED

_SAME = "d.topologyKey == c.topologyKey && d.whenUnsatisfiable == c.whenUnsatisfiable"


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield a check for each field; the types of fields are left to the schema of the custom resource."""
    written = f"(variables.built_in ? [] : {obj.constraints})"
    yield _repeated(written)
    yield _in_both(obj)
    unselected = f"!c.?labelSelector.hasValue() && {KEYS_TO_MATCH}.size() > 0"
    keys = "'[' + c.matchLabelKeys.map(k, strings.quote(k)).join(', ') + ']'"
    yield _check(written, FORBIDDEN, "matchLabelKeys", unselected, cut(keys, 60))
    yield _check(written, INVALID, "maxSkew", "c.maxSkew < 1", "string(c.maxSkew)")
    yield _check(written, INVALID, "minDomains", "c.?minDomains.orValue(1) < 1", "string(c.minDomains)")
    soft = f"c.whenUnsatisfiable != '{HARD}' && has(c.minDomains)"
    yield _check(written, FORBIDDEN, "minDomains", soft, "string(c.minDomains)")
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        wrong = f"!(c.?{policy}.orValue('{POLICIES[0]}') in {literal(POLICIES)})"
        yield _check(written, NOT_SUPPORTED, policy, wrong, _text(f"c.{policy}"))
    yield _check(written, REQUIRED, "topologyKey", "c.topologyKey == ''", "'nothing'")
    wrong = f"!(c.whenUnsatisfiable in {literal(ACTIONS)})"
    yield _check(written, NOT_SUPPORTED, "whenUnsatisfiable", wrong, _text("c.whenUnsatisfiable"))


def _in_both(obj: CelObject) -> CelCheck:
    """Return the check for a key in both matchLabelKeys and labelSelector, which the Pods are refused for."""
    repair = REMEDIES[DUPLICATE, "matchLabelKeys"]
    carried = f"k in {obj.labels} || k in {obj.variable('surely_added')} || k in {obj.variable('given')}"
    selected = f"k in {MATCH_LABELS} || {MATCH_EXPRESSIONS}.exists(e, e.key == k)"
    both = f"({carried}) && ({selected})" if obj.features.selector_merge else selected
    key = first_where("c.matchLabelKeys", both)
    return CelCheck(
        field=KEYS,
        items=f"request.kind.kind == 'Pod' ? [] : {obj.constraints_for_keys(both)}",
        message=literal(repair.message),
        found=shown(key),
        fix=literal(repair.fix),
        place=f"'matchLabelKeys[' + string(c.matchLabelKeys.indexOf({key})) + ']'",
    )


def _check(written: str, error_type: str, field: str, condition: str, value: str) -> CelCheck:
    repair = REMEDIES[error_type, field]
    items = f"{written}.filter(c, {condition})"
    return CelCheck(field, items, literal(repair.message), value, literal(repair.fix))


def _repeated(written: str) -> CelCheck:
    """Return the check for constraints with the same pair; all but the last of them are reported."""
    repair = REMEDIES[DUPLICATE, REPEATED]
    same = f"variables.constraints.filter(d, {_SAME})"
    index = "variables.constraints.indexOf(c)"
    last = f"variables.constraints.lastIndexOf({same}[{same}.size() - 1])"
    message = f"'constraints ' + string({index}) + ' and ' + string({last}) + ' {repair.message}'"
    key = f"(c.topologyKey == '' ? 'no topologyKey' : {shown('c.topologyKey')})"
    action = f"(c.whenUnsatisfiable == '' ? 'no whenUnsatisfiable' : {shown('c.whenUnsatisfiable')})"
    pair = bound(f"{written}.filter(d, {_SAME})", "s", "s.indexOf(c) < s.size() - 1")
    value = f"{key} + ' with ' + {action} + ' in both'"
    return CelCheck("", f"{written}.filter(c, {pair})", message, value, literal(repair.fix))


def _text(value: str) -> str:
    return f"({value} == '' ? 'nothing' : {shown(value)})"
