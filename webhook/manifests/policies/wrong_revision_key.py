"""wrong-revision-key in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import literal
from webhook.manifests.check import IS_HARD, REVISION_KEY, CelCheck, CelObject
from webhook.manifests.constraint_list import KEYS_TO_MATCH
from webhook.manifests.kinds import cel_name
from webhook.objects.names import TEMPLATE_HASH
from webhook.rules import RULES


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of matchLabelKeys."""
    asked = [kind for kind in obj.kinds if kind.kind not in ("Pod", "PodTemplate")]
    right = literal({cel_name(kind): kind.revision_key for kind in asked if kind.revision_key})
    known = literal([cel_name(kind) for kind in asked if kind.built_in or kind.revision_key])
    carried = f"('{TEMPLATE_HASH}' in {obj.labels} || '{TEMPLATE_HASH}' in {obj.added})"
    key = f"{right}[?variables.kind].orValue('')"
    alone = f"{key} == '' || {key} in c.matchLabelKeys"
    yield CelCheck(
        field=REVISION_KEY,
        items=f"variables.kind in {known} && !{carried} ? "
        + obj.constraints_where(f"'{TEMPLATE_HASH}' in {KEYS_TO_MATCH}")
        + " : []",
        message=f"'a ' + request.kind.kind + '\\'s Pods never carry {TEMPLATE_HASH}'",
        found="''",
        fix=f"{alone} ? '{RULES['wrong-revision-key'].fix}' : 'use ' + {key}",
        place=f"'matchLabelKeys[' + string(c.matchLabelKeys.indexOf('{TEMPLATE_HASH}')) + ']'",
        extent=IS_HARD,
        named=True,
    )
