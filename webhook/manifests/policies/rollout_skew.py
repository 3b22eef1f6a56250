"""rollout-skew in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import literal
from webhook.manifests.check import IS_HARD, CelCheck, CelObject
from webhook.manifests.constraint_list import KEYS_TO_MATCH, MATCH_EXPRESSIONS, MATCH_LABELS
from webhook.manifests.policies.empty_selector import EMPTY
from webhook.manifests.policies.selector_misses_own_pod import misses
from webhook.objects.names import TEMPLATE_HASH
from webhook.rules import RULES
from webhook.rules.rollout_skew import REVISION_KEYS
from webhook.scheduler.constraint import HARD


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of matchLabelKeys; its items are the constraints that count old Pods."""
    strategy = f"{obj.root}.?spec.?strategy"
    several = f"{obj.variable('replicas')} > 1 && {strategy}.?type.orValue('') != 'Recreate'"
    surge = f"{strategy}.?rollingUpdate.?maxSurge"
    surges = f"!({surge}.hasValue() && string({surge}.value()) in ['0', '0%'])"
    by_revision = f"{literal(sorted(REVISION_KEYS))}.exists(r, r in {KEYS_TO_MATCH} || {_selects('r')})"
    selects = f"c.?labelSelector.hasValue() && !({EMPTY}) && !{by_revision} && !({misses(obj)})"
    counted = f"(c.whenUnsatisfiable == '{HARD}' ? {surges} : {obj.parameter('soft')})"
    counting = obj.constraints_where(f"{selects} && {counted}")
    number = f"{counting}.size()"
    several_fix = f"'add {TEMPLATE_HASH} to the matchLabelKeys of ' + string({number}) + ' constraints'"
    yield CelCheck(
        field="matchLabelKeys",
        extent=IS_HARD,
        items=f"variables.kind == 'apps/Deployment' && {several} ? {counting} : []",
        message=f"'should name {TEMPLATE_HASH}: without it, a rollout counts old Pods, too'",
        found=f"{KEYS_TO_MATCH}.size() == 0 ? 'none' : {KEYS_TO_MATCH}.join(', ')",
        fix=f"{number} > 1 ? {several_fix} : {literal(RULES['rollout-skew'].fix)}",
    )


def _selects(key: str) -> str:
    """Return CEL for: the selector of `c` asks about a label key."""
    return f"{key} in {MATCH_LABELS} || {MATCH_EXPRESSIONS}.exists(e, e.key == {key})"
