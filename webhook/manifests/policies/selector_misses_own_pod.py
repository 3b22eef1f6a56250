"""selector-misses-own-pod in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import bound, groups_in_order, in_order, literal, shown
from webhook.manifests.check import IS_HARD, Check, Seen, copying_own_selector
from webhook.objects.kinds import JOB_LABELS
from webhook.objects.names import TOPOLOGY_LABELS
from webhook.rules import RULES
from webhook.scheduler.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN

_LABELS = "c.?labelSelector.?matchLabels.orValue({})"
_EXPRESSIONS = "c.?labelSelector.?matchExpressions.orValue([])"
_VALUES = "e.?values.orValue([])"
_JOB_FIX = "select labels of the Pod template, and add matchLabelKeys: [job-name]"


def checks(seen: Seen) -> Iterator[Check]:
    """Yield the check of labelSelector."""
    label, expression = _missed_label(seen), _missed_expression(seen)
    pairs = f"{_LABELS}.map(k, {label}, [string(k), k + '=' + {_LABELS}[k]])"
    pairs += f" + {_EXPRESSIONS}.map(e, {expression}, [string(e.key), string({_expression_text()})])"
    selected = shown(groups_in_order(pairs), 50)
    job = f"request.kind.kind == 'CronJob' && {literal(sorted(JOB_LABELS))}.exists(k, k in {_LABELS}"
    job += f" || {_EXPRESSIONS}.exists(e, e.key == k))"
    own = copying_own_selector(RULES["selector-misses-own-pod"].fix)
    meant = f"{_EXPRESSIONS}.size() > 0 ? '{RULES['selector-misses-own-pod'].fix}' : {own}"
    yield Check(
        field="labelSelector",
        items=seen.constraints_where(misses(seen)),
        message=f"'selects ' + {selected} + ', but its Pods have ' + {_shown_labels(seen)} + ': they are not counted'",
        found="''",
        fix=f"{job} ? '{_JOB_FIX}' : {meant}",
        extent=IS_HARD,
        named=True,
    )


def misses(seen: Seen) -> str:
    """Return CEL for: the selector of `c` does not match the Pods, whatever labels a controller adds."""
    expression = f"{_EXPRESSIONS}.exists(e, {_missed_expression(seen)})"
    return f"{_LABELS}.exists(k, {_missed_label(seen)}) || {expression}"


def _missed_label(seen: Seen) -> str:
    """Return CEL for: the label `k` of the selector is not the Pods', and no controller can add it."""
    value = f"{seen.labels}[k] != {_LABELS}[k]"
    return f"(k in {seen.labels} ? {value} : !(k in {_addable(seen)}))"


def _missed_expression(seen: Seen) -> str:
    """Return CEL for: the expression `e` does not match the Pods, whatever a controller adds; see Requirement.match."""
    value = f"{seen.labels}[e.key] in {_VALUES}"
    known = f"e.operator == '{IN}' ? !({value}) : e.operator == '{NOT_IN}' ? {value} : e.operator == '{DOES_NOT_EXIST}'"
    added = f"e.key in {seen.variable('surely_added')} ? e.operator == '{DOES_NOT_EXIST}'"
    absent = f"{added} : !(e.key in {_addable(seen)}) && e.operator in ['{IN}', '{EXISTS}']"
    return f"(e.key in {seen.labels} ? ({known}) : {absent})"


def _addable(seen: Seen) -> str:
    at_binding = sorted(TOPOLOGY_LABELS) if seen.features.topology_labels else []
    return f"({seen.added} + {literal(at_binding)})" if at_binding else seen.added


def _expression_text() -> str:
    """Return CEL for the expression `e` as kubectl prints it."""
    values = f"' (' + {in_order(_VALUES)}.join(',') + ')'"
    among = f"e.key + (e.operator == '{IN}' ? ' in' : ' notin') + {values}"
    return f"e.operator == '{EXISTS}' ? e.key : e.operator == '{DOES_NOT_EXIST}' ? '!' + e.key : {among}"


def _shown_labels(seen: Seen) -> str:
    """Return CEL for the labels of the Pods by which the selector misses them, or else the first of all."""
    labels = seen.labels
    named = f"{_LABELS}.map(k, k in {labels} && {_missed_label(seen)}, k)"
    named += f" + {_EXPRESSIONS}.map(e, e.key in {labels} && {_missed_expression(seen)}, e.key)"
    value = f"(k in {literal(sorted(JOB_LABELS))} && k.endsWith('-uid') ? 'UID' : {labels}[k])"
    keys = bound(in_order(named, 10), "o", f"o.size() > 0 ? o : {seen.first_label_keys}")
    texts = f"{keys}.map(k, k + '=' + {value}).join(',')"
    none = f"{labels}.size() == 0 ? 'no labels' : string({labels}.size()) + ' labels'"
    return bound(texts, "s", f"s == '' ? ({none}) : {shown('s', 50)}")
