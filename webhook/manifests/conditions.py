"""
The matchConditions: the API server skips the calls that admission.review would allow without judging.

    spec.template        object.?spec.?template.?spec.?topologySpreadConstraints.orValue([]).size() > 0
    spec.sets[*].rack    object.?spec.?sets.orValue([]).exists(e0, e0.?rack…)

CEL fails on an absent field, and a failure denies the object or lets it pass unseen, so every step is optional: `.?`.
The time that `exists` takes grows with the square of the list, to seconds for 20,000 items, so an object with a list
longer than MOST_TEMPLATES is sent without looking into the list.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from webhook.admission.ownership import CONTROLLERS
from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.kinds import EACH, Kind
from webhook.kubernetes.names import MIRROR_ANNOTATION, SKIP_LABEL
from webhook.kubernetes.workload import MOST_TEMPLATES
from webhook.manifests.cel import at

Condition = Mapping[str, str]


def _any(items: str, name: str, holds: str) -> str:
    """CEL for: `holds` is true of any item, each bound to `name`, or there are more than MOST_TEMPLATES."""
    return f"{items}.size() > {MOST_TEMPLATES} || {items}.exists({name}, {holds})"


def _no_owner(holds: str) -> str:
    owners = "object.?metadata.?ownerReferences.orValue([])"
    return f"{owners}.size() > {MOST_TEMPLATES} || !{owners}.exists(r, {holds})"


# Pods that never get defaults: with constraints, bound already, mirror Pods, opted out, or of a DaemonSet.
TO_DEFAULT: tuple[Condition, ...] = (
    {"name": "no-constraints", "expression": "object.?spec.?topologySpreadConstraints.orValue([]).size() == 0"},
    {"name": "not-bound", "expression": "object.?spec.?nodeName.orValue('') == ''"},
    {
        "name": "no-mirror",
        "expression": f"!('{MIRROR_ANNOTATION}' in object.?metadata.?annotations.orValue({{}}))",
    },
    {
        "name": "not-opted-out",
        "expression": f"object.?metadata.?labels[?'{SKIP_LABEL}'].orValue('') != 'true'",
    },
    {
        "name": "not-of-a-daemonset",
        "expression": _no_owner("r.?controller.orValue(false) && r.?kind.orValue('') == 'DaemonSet'"),
    },
)
# An enforced rule denies an object whoever sends it, but Pods of a controller must start while no webhook answers.
NOT_BY_CONTROLLER: Condition = {
    "name": "not-by-controller",
    "expression": f"!(request.?userInfo.?username.orValue('') in {json.dumps(sorted(CONTROLLERS))})",
}
NOT_OWNED: Condition = {"name": "not-owned", "expression": _no_owner("r.?controller.orValue(false)")}


def has_constraints(kinds: Iterable[Kind]) -> Condition:
    """The condition that an object of one of these kinds has any constraints."""
    places = dict.fromkeys((*(kind.anchor), *_INSIDE) if kind.template is not None else kind.anchor for kind in kinds)
    return {"name": "has-constraints", "expression": " || ".join(_some("object", place) for place in places)}


def not_all(conditions: Iterable[Condition]) -> Condition:
    """The condition that not all of these hold."""
    return {
        "name": "not-enforced",
        "expression": " || ".join(f"!({condition['expression']})" for condition in conditions),
    }


def changed(kinds: Iterable[Kind]) -> Condition:
    """The condition that an UPDATE changes what is judged, and not only replicas, labels or status."""
    judged = dict.fromkeys(place for kind in kinds for place in (kind.anchor, kind.labels) if place)
    parts = dict.fromkeys(_up_to_list(place) for place in judged)
    differs = " || ".join(f"{at('object', part)} != {at('oldObject', part)}" for part in parts)
    return {"name": "changed", "expression": f"oldObject == null || {differs}"}


_INSIDE: FieldPath = ("spec", "topologySpreadConstraints")


def _some(root: str, path: FieldPath, depth: int = 0) -> str:
    """CEL for: the list at `path` is not empty, or any of the lists there, if `path` leads through other lists."""
    up_to, item = _up_to_list(path), f"e{depth}"
    if up_to == path:
        return f"{at(root, path)}.orValue([]).size() > 0"
    return _any(f"{at(root, up_to)}.orValue([])", item, _some(item, path[len(up_to) + 1 :], depth + 1))


def _up_to_list(path: FieldPath) -> FieldPath:
    return path[: path.index(EACH)] if EACH in path else path
