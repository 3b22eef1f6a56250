"""Taints and tolerations: which taints keep a Pod off a node, and which remove it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from webhook.kubernetes.fields import FieldPath, Raw, as_list, as_mapping, integer, texts_at
from webhook.kubernetes.reader import Reader

NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "PreferNoSchedule", "NoExecute"
DO_NOT_SCHEDULE = (NO_SCHEDULE, NO_EXECUTE)  # the effects of taints that keep Pods off a node
EQUAL, TOLERATION_EXISTS = "Equal", "Exists"
RESERVED = "node.kubernetes.io/"  # the prefix of taints of Kubernetes itself
UNREACHABLE_KEY = f"{RESERVED}unreachable"


class Taint(NamedTuple):
    """A taint of a node; prints as kubectl has it: `dedicated=infra:NoSchedule`."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


CORDONED = Taint(f"{RESERVED}unschedulable", "", NO_SCHEDULE)  # a node has it while `spec.unschedulable` is true


class Toleration(NamedTuple):
    """A toleration of a Pod; an empty key or effect is any."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> bool:
        """
        Return whether a Pod with this toleration tolerates `taint`.

        The operators Gt and Lt tolerate none: their feature gate is off.

        upstream: toleration.go:Toleration.ToleratesTaint (v1.37)
        """
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == TOLERATION_EXISTS or (self.operator in ("", EQUAL) and self.value == taint.value)


class LimitedToleration(NamedTuple):
    """A toleration, and for how long it holds against NoExecute."""

    toleration: Toleration
    seconds: int | None  # None: for ever


LimitedTolerations = tuple[LimitedToleration, ...]
TOLERATION_SECONDS = 300  # how long a Pod tolerates a lost node, unless it says otherwise
ADDED_TOLERATIONS = tuple(
    LimitedToleration(Toleration(f"{RESERVED}{key}", TOLERATION_EXISTS, "", NO_EXECUTE), TOLERATION_SECONDS)
    for key in ("not-ready", "unreachable")
)


def untolerated_taint(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], effects: Collection[str]
) -> Taint | None:
    """
    Return the first taint with one of the `effects` that no toleration tolerates, or None.

    upstream: helpers.go:FindMatchingUntoleratedTaint (v1.37)
    """
    for taint in taints:
        if taint.effect in effects and not any(toleration.tolerates(taint) for toleration in tolerations):
            return taint
    return None


def is_evicted(tolerations: LimitedTolerations, taints: Iterable[Taint]) -> bool:
    """
    Return whether taints with NoExecute remove a Pod in the end: it does not tolerate one, or only for a while.

    upstream: taint_eviction.go:Controller.processPodOnNode (v1.37)
    """
    for taint in taints:
        tolerating = [limited for limited in tolerations if limited.toleration.tolerates(taint)]
        if not tolerating or any(limited.seconds is not None for limited in tolerating):
            return True
    return False


def read_taints(reader: Reader, raw: object, path: FieldPath) -> tuple[Taint, ...]:
    """Read the taints of a node; `reader` collects what has the wrong type."""
    return tuple(
        [
            Taint(*[reader.string(item.get(name), item_path, name) or "" for name in Taint._fields])
            for item, item_path in reader.mappings(raw, path)
        ]
    )


def read_limited_tolerations(spec: Raw) -> LimitedTolerations:
    """
    Read the tolerations of a Pod's spec, with those that the API server adds if the Pod has none for lost nodes.

    upstream: admission.go:Plugin.Admit (v1.37)
    """
    limited = []
    for toleration in map(as_mapping, as_list(spec.get("tolerations"))):
        seconds = integer(toleration.get("tolerationSeconds"))
        limited.append(LimitedToleration(Toleration(*texts_at(toleration, *Toleration._fields)), seconds))
    for added in ADDED_TOLERATIONS:
        taint = Taint(added.toleration.key, "", NO_EXECUTE)
        if not any(written.toleration.tolerates(taint) for written in limited):
            limited.append(added)
    return tuple(limited)
