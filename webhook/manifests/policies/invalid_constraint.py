"""invalid-constraint in CEL: of custom resources, for the API server has refused a built-in kind's before."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import cut, literal, shown
from webhook.manifests.check import Check, Seen
from webhook.objects.fields import DUPLICATE, FORBIDDEN, INVALID, NOT_SUPPORTED, REQUIRED
from webhook.rules.invalid_constraint import REMEDIES
from webhook.scheduler.constraint import ACTIONS, HARD, POLICIES
from webhook.scheduler.validation import REPEATED

_KEY, _ACTION = "c.?topologyKey.orValue('')", "c.?whenUnsatisfiable.orValue('')"
_SAME = "d.?topologyKey == c.?topologyKey && d.?whenUnsatisfiable == c.?whenUnsatisfiable"


def checks(seen: Seen) -> Iterator[Check]:
    """Yield a check for each field; the types of fields are left to the schema of the custom resource."""
    written = f"(variables.built_in ? [] : {seen.variable('written')}.filter(c, type(c) == map))"
    yield _repeated(written)
    unselected = "!c.?labelSelector.hasValue() && c.?matchLabelKeys.orValue([]).size() > 0"
    keys = "'[' + c.matchLabelKeys.map(k, strings.quote(k)).join(', ') + ']'"
    yield _check(written, FORBIDDEN, "matchLabelKeys", unselected, cut(keys, 60))
    yield _check(written, INVALID, "maxSkew", _number("maxSkew", 0, "n < 1"), "string(c.?maxSkew.orValue(0))")
    yield _check(written, INVALID, "minDomains", _number("minDomains", 1, "n < 1"), "string(c.minDomains)")
    soft = f"{_ACTION} != '{HARD}' && {_number('minDomains', None, 'true')}"
    yield _check(written, FORBIDDEN, "minDomains", soft, "string(c.minDomains)")
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        wrong = f"!(c.?{policy}.orValue('{POLICIES[0]}') in {literal(POLICIES)})"
        yield _check(written, NOT_SUPPORTED, policy, wrong, _text(f"c.{policy}"))
    yield _check(written, REQUIRED, "topologyKey", f"{_KEY} == ''", "'nothing'")
    wrong = f"!({_ACTION} in {literal(ACTIONS)})"
    yield _check(written, NOT_SUPPORTED, "whenUnsatisfiable", wrong, _text(_ACTION))


def _check(written: str, error_type: str, field: str, condition: str, value: str) -> Check:
    repair = REMEDIES[error_type, field]
    items = f"{written}.filter(c, {condition})"
    return Check(field, items, literal(repair.message), value, literal(repair.fix))


def _repeated(written: str) -> Check:
    """Return the check for constraints with the same pair; all but the last of them are reported."""
    repair = REMEDIES[DUPLICATE, REPEATED]
    same = f"variables.written.filter(d, {_SAME})"
    index, last = "variables.written.indexOf(c)", f"variables.written.lastIndexOf({same}[{same}.size() - 1])"
    message = f"'constraints ' + string({index}) + ' and ' + string({last}) + ' {repair.message}'"
    key = f"({_KEY} == '' ? 'no topologyKey' : {shown(_KEY)})"
    action = f"({_ACTION} == '' ? 'no whenUnsatisfiable' : {shown(_ACTION)})"
    items = (
        f"{written}.filter(c, {written}.filter(d, {_SAME}).size() > 1 && {written}.filter(d, {_SAME}).indexOf(c) == 0)"
    )
    return Check("", items, message, f"{key} + ' with ' + {action} + ' in both'", literal(repair.fix))


def _number(field: str, absent: int | None, condition: str) -> str:
    """Return CEL for: the field is a number, `n`, of which the condition holds."""
    value = "null" if absent is None else str(absent)
    return f"[c.?{field}.orValue({value})].exists(n, type(n) == int && {condition})"


def _text(value: str) -> str:
    return f"({value} == '' ? 'nothing' : {shown(value)})"
