"""selector-misses-own-pod in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import bound, groups_in_order, in_order, literal, shown
from webhook.manifests.check import IS_HARD, CelCheck, CelObject, copying_own_selector
from webhook.manifests.constraint_list import MATCH_EXPRESSIONS, MATCH_LABELS
from webhook.objects.kinds import JOB_LABELS
from webhook.objects.names import TOPOLOGY_LABELS
from webhook.rules import RULES
from webhook.scheduler.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN

VALUES_OF_EXPRESSION = "e.?values.orValue([])"
_JOB_FIX = "select labels of the Pod template, and add matchLabelKeys: [job-name]"


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of labelSelector."""
    label, expression = _missed_label(obj), _missed_expression(obj)
    pairs = f"{MATCH_LABELS}.map(k, {label}, [string(k), k + '=' + {MATCH_LABELS}[k]])"
    pairs += f" + {MATCH_EXPRESSIONS}.map(e, {expression}, [string(e.key), string({_expression_text()})])"
    selected = shown(groups_in_order(pairs), 50)
    job = f"request.kind.kind == 'CronJob' && {literal(sorted(JOB_LABELS))}.exists(k, k in {MATCH_LABELS}"
    job += f" || {MATCH_EXPRESSIONS}.exists(e, e.key == k))"
    own = copying_own_selector(RULES["selector-misses-own-pod"].fix)
    meant = f"{MATCH_EXPRESSIONS}.size() > 0 ? '{RULES['selector-misses-own-pod'].fix}' : {own}"
    yield CelCheck(
        field="labelSelector",
        items=obj.constraints_where(misses(obj)),
        message=f"'selects ' + {selected} + ', but its Pods have ' + {_shown_labels(obj)} + ': they are not counted'",
        found="''",
        fix=f"{job} ? '{_JOB_FIX}' : {meant}",
        extent=IS_HARD,
        named=True,
    )


def misses(obj: CelObject) -> str:
    """Return CEL for: the selector of `c` does not match the Pods, whatever labels a controller adds."""
    expression = f"{MATCH_EXPRESSIONS}.exists(e, {_missed_expression(obj)})"
    return f"{MATCH_LABELS}.exists(k, {_missed_label(obj)}) || {expression}"


def _missed_label(obj: CelObject) -> str:
    """Return CEL for: the label `k` of the selector is not the Pods', and no controller can add it."""
    return f"({_known(obj, 'k')} ? {_value(obj, 'k')} != {MATCH_LABELS}[k] : !(k in {_addable(obj)}))"


def _missed_expression(obj: CelObject) -> str:
    """Return CEL for: the expression `e` does not match the Pods, whatever a controller adds; see Requirement.match."""
    value = f"{_value(obj, 'e.key')} in {VALUES_OF_EXPRESSION}"
    known = f"e.operator == '{IN}' ? !({value}) : e.operator == '{NOT_IN}' ? {value} : e.operator == '{DOES_NOT_EXIST}'"
    added = f"e.key in {obj.variable('surely_added')} ? e.operator == '{DOES_NOT_EXIST}'"
    absent = f"{added} : !(e.key in {_addable(obj)}) && e.operator in ['{IN}', '{EXISTS}']"
    return f"({_known(obj, 'e.key')} ? ({known}) : {absent})"


def _known(obj: CelObject, key: str) -> str:
    """Return CEL for: the Pods have the label, in their template or by the name of the object."""
    return f"({key} in {obj.labels} || {key} in {obj.variable('given')})"


def _value(obj: CelObject, key: str) -> str:
    return f"({key} in {obj.labels} ? {obj.labels}[{key}] : {obj.variable('given')}[{key}])"


def _addable(obj: CelObject) -> str:
    at_binding = sorted(TOPOLOGY_LABELS) if obj.features.topology_labels else []
    return f"({obj.added} + {literal(at_binding)})" if at_binding else obj.added


def _expression_text() -> str:
    """Return CEL for the expression `e` as kubectl prints it."""
    values = f"' (' + {in_order(VALUES_OF_EXPRESSION)}.join(',') + ')'"
    among = f"e.key + (e.operator == '{IN}' ? ' in' : ' notin') + {values}"
    return f"e.operator == '{EXISTS}' ? e.key : e.operator == '{DOES_NOT_EXIST}' ? '!' + e.key : {among}"


def _shown_labels(obj: CelObject) -> str:
    """Return CEL for the labels of the Pods by which the selector misses them, or else the first of all."""
    named = f"{MATCH_LABELS}.map(k, {_known(obj, 'k')} && {_missed_label(obj)}, k)"
    named += f" + {MATCH_EXPRESSIONS}.map(e, {_known(obj, 'e.key')} && {_missed_expression(obj)}, e.key)"
    value = f"(k in {literal(sorted(JOB_LABELS))} && k.endsWith('-uid') ? 'UID' : {_value(obj, 'k')})"
    first = in_order(f"{obj.first_label_keys} + {obj.variable('given')}.map(n, n)", 10)
    keys = bound(in_order(named, 10), "o", f"o.size() > 0 ? o : {first}")
    none = f"{obj.labels}.size() == 0 ? 'no labels' : string({obj.labels}.size()) + ' labels'"
    return bound(f"{keys}.map(k, k + '=' + {value}).join(',')", "s", f"s == '' ? ({none}) : {shown('s', 50)}")
