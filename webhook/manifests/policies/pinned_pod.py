"""pinned-pod in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import bound, shown
from webhook.manifests.check import CelCheck, CelObject
from webhook.rules import RULES
from webhook.scheduler.constraint import HARD

_IS_DAEMON_SET = "request.kind.kind == 'DaemonSet'"


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of all constraints together; its items are what was wanted, one at most."""
    written = f"{obj.variable('template')}.?spec.?nodeName.orValue('')"
    node_name = bound(written, "n", "type(n) == string ? n : ''")
    hard = f"{obj.constraints}.exists(d, d.whenUnsatisfiable == '{HARD}')"
    pending = "a hard constraint spreads nothing, and can only leave Pods Pending"
    effect = f"({hard} ? '{pending}' : 'constraints have no effect')"
    number = f"string({obj.constraints}.size()) + ({obj.constraints}.size() == 1 ? ' constraint' : ' constraints')"
    yield CelCheck(
        field="",
        whole=True,
        items=f"{obj.constraints}.size() == 0{_better(obj)} ? [] : {_IS_DAEMON_SET} ? ['no constraint']"
        f" : {node_name} != '' ? ['constraints or nodeName, not both'] : []",
        message=f"{_IS_DAEMON_SET} ? 'a DaemonSet pins each Pod to its node: ' + {effect}"
        " : 'have no effect: nodeName binds the Pod without scheduling'",
        found=f"{_IS_DAEMON_SET} ? {number} + ' on a DaemonSet' : 'nodeName ' + {shown(node_name)}",
        fix=f"{_IS_DAEMON_SET} ? '{RULES['pinned-pod'].fix}' : 'remove the constraints, or nodeName'",
    )


def _better(obj: CelObject) -> str:
    """Return CEL for: the old object has fewer constraints, or fewer hard ones, and so excuses nothing."""
    if not obj.suffix:
        return ""
    now, hard = "variables.constraints", f"filter(d, d.whenUnsatisfiable == '{HARD}').size()"
    return f" || {obj.constraints}.size() < {now}.size() || {obj.constraints}.{hard} < {now}.{hard}"
