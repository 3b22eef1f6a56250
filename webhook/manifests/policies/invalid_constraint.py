"""invalid-constraint in CEL: of custom resources, and what the API server refuses only in the Pods of a template."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import cut, literal, shown
from webhook.manifests.check import KEYS, CelCheck, CelObject, first_where
from webhook.objects.fields import DUPLICATE, FORBIDDEN, INVALID, NOT_SUPPORTED, REQUIRED
from webhook.rules.invalid_constraint import REMEDIES
from webhook.scheduler.constraint import ACTIONS, HARD, POLICIES
from webhook.scheduler.validation import REPEATED

KEY_OR_EMPTY, ACTION_OR_EMPTY = "c.?topologyKey.orValue('')", "c.?whenUnsatisfiable.orValue('')"
_SAME = "d.?topologyKey == c.?topologyKey && d.?whenUnsatisfiable == c.?whenUnsatisfiable"


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield a check for each field; the types of fields are left to the schema of the custom resource."""
    written = f"(variables.built_in ? [] : {obj.variable('written')}.filter(c, type(c) == map))"
    yield _repeated(written)
    yield _in_both(obj)
    unselected = "!c.?labelSelector.hasValue() && c.?matchLabelKeys.orValue([]).size() > 0"
    keys = "'[' + c.matchLabelKeys.map(k, strings.quote(k)).join(', ') + ']'"
    yield _check(written, FORBIDDEN, "matchLabelKeys", unselected, cut(keys, 60))
    yield _check(written, INVALID, "maxSkew", _number("maxSkew", 0, "n < 1"), "string(c.?maxSkew.orValue(0))")
    yield _check(written, INVALID, "minDomains", _number("minDomains", 1, "n < 1"), "string(c.minDomains)")
    soft = f"{ACTION_OR_EMPTY} != '{HARD}' && {_number('minDomains', None, 'true')}"
    yield _check(written, FORBIDDEN, "minDomains", soft, "string(c.minDomains)")
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        wrong = f"!(c.?{policy}.orValue('{POLICIES[0]}') in {literal(POLICIES)})"
        yield _check(written, NOT_SUPPORTED, policy, wrong, _text(f"c.{policy}"))
    yield _check(written, REQUIRED, "topologyKey", f"{KEY_OR_EMPTY} == ''", "'nothing'")
    wrong = f"!({ACTION_OR_EMPTY} in {literal(ACTIONS)})"
    yield _check(written, NOT_SUPPORTED, "whenUnsatisfiable", wrong, _text(ACTION_OR_EMPTY))


def _in_both(obj: CelObject) -> CelCheck:
    """Return the check for a key in both matchLabelKeys and labelSelector, which the Pods are refused for."""
    repair = REMEDIES[DUPLICATE, "matchLabelKeys"]
    carried = f"k in {obj.labels} || k in {obj.variable('surely_added')} || k in {obj.variable('given')}"
    selected = "k in c.?labelSelector.?matchLabels.orValue({})"
    selected += " || c.?labelSelector.?matchExpressions.orValue([]).exists(e, e.key == k)"
    both = f"({carried}) && ({selected})" if obj.features.selector_merge else selected
    key = first_where("c.matchLabelKeys", both)
    return CelCheck(
        field=KEYS,
        items="request.kind.kind == 'Pod' ? [] : "
        + obj.constraints_where(f"c.?matchLabelKeys.orValue([]).exists(k, {both})"),
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
    same = f"variables.written.filter(d, {_SAME})"
    index, last = "variables.written.indexOf(c)", f"variables.written.lastIndexOf({same}[{same}.size() - 1])"
    message = f"'constraints ' + string({index}) + ' and ' + string({last}) + ' {repair.message}'"
    key = f"({KEY_OR_EMPTY} == '' ? 'no topologyKey' : {shown(KEY_OR_EMPTY)})"
    action = f"({ACTION_OR_EMPTY} == '' ? 'no whenUnsatisfiable' : {shown(ACTION_OR_EMPTY)})"
    items = (
        f"{written}.filter(c, {written}.filter(d, {_SAME}).size() > 1 && {written}.filter(d, {_SAME}).indexOf(c) == 0)"
    )
    return CelCheck("", items, message, f"{key} + ' with ' + {action} + ' in both'", literal(repair.fix))


def _number(field: str, absent: int | None, condition: str) -> str:
    """Return CEL for: the field is a number, `n`, of which the condition holds."""
    value = "null" if absent is None else str(absent)
    return f"[c.?{field}.orValue({value})].exists(n, type(n) == int && {condition})"


def _text(value: str) -> str:
    return f"({value} == '' ? 'nothing' : {shown(value)})"
