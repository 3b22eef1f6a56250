"""empty-selector in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.check import IS_HARD, CelCheck, CelObject, copying_own_selector
from webhook.manifests.constraint_list import KEYS_TO_MATCH, MATCH_EXPRESSIONS, MATCH_LABELS
from webhook.rules import RULES

_NULL = "!c.?labelSelector.hasValue()"
EMPTY = f"{MATCH_LABELS}.size() == 0 && {MATCH_EXPRESSIONS}.size() == 0"  # without what matchLabelKeys add


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of labelSelector; where the scheduler counts with `{}`, only null is wrong."""
    filled = f"{KEYS_TO_MATCH}.exists(k, k in {obj.labels} || k in {obj.added})"
    empty = f"{EMPTY} && !{filled}"
    yield CelCheck(
        field="labelSelector",
        items=obj.constraints_where(_NULL if obj.features.empty_selector_counts else f"{_NULL} || ({empty})"),
        message="'must select Pods: without labels to select, the constraint spreads nothing'",
        found=f"{_NULL} ? 'null' : '{{}}'",
        fix=copying_own_selector(RULES["empty-selector"].fix),
        extent=IS_HARD,
        said_by_api_server=f"{_NULL} && variables.built_in" if obj.features.null_selector_warning else "",
    )
