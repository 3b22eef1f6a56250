"""What a person writes into the Pod spec of a template for a change; a spec that has no place for it stays as it is."""

from __future__ import annotations

from collections.abc import Mapping

from evenkeel.objects.quantities import MILLI, NANOS, parse_quantity, size_text
from evenkeel.scheduler.pod_affinity import MOST_WEIGHT
from evenkeel.scheduler.resource_fit import CPU, MEMORY, STORAGE, Lack
from webhook.kubernetes.fields import Raw, as_list, as_mapping
from webhook.kubernetes.kinds import FIELD
from webhook.kubernetes.names import PREFERRED_TERMS, REQUIRED_TERMS
from webhook.spread.constraint import SOFT, Constraint
from webhook.spread.taints import Toleration


def with_constraint(spec: Raw, *, constraint: Constraint, fields: Mapping[str, object] | None) -> Raw:
    """Return the spec with other fields of a constraint, without the constraint if `fields` is None."""
    written = as_list(spec.get(FIELD))
    there = as_mapping(written[constraint.index]) if constraint.index < len(written) else {}
    named = there.get("topologyKey"), there.get("whenUnsatisfiable"), there.get("maxSkew")
    if named != (constraint.topology_key, constraint.when_unsatisfiable, constraint.max_skew):
        return spec  # The Pod is of another revision of the template.
    changed = [] if fields is None else [{**there, **fields}]
    if fields is not None and fields.get("whenUnsatisfiable") == SOFT:
        changed[0].pop("minDomains", None)  # Only a hard constraint may have it.
    return _with(spec, FIELD, [*written[: constraint.index], *changed, *written[constraint.index + 1 :]])


def tolerating(spec: Raw, *, toleration: Toleration) -> Raw:
    """Return the spec with one more toleration."""
    key, operator, value, effect = toleration
    added = {"key": key, "operator": operator, "value": value, "effect": effect}
    written = as_list(spec.get("tolerations"))
    return spec if added in written else _with(spec, "tolerations", [*written, added])


def without_node_affinity(spec: Raw) -> Raw:
    """Return the spec without a nodeSelector and without required node affinity."""
    affinity = dict(as_mapping(spec.get("affinity")))
    of_nodes = {
        name: terms for name, terms in as_mapping(affinity.get("nodeAffinity")).items() if name != REQUIRED_TERMS
    }
    left = _with(affinity, "nodeAffinity", of_nodes)
    return _with(_with(spec, "nodeSelector", None), "affinity", left)


def preferring(spec: Raw, *, kind: str, index: int, number: int) -> Raw:
    """Return the spec in which one of `number` required terms of podAffinity or podAntiAffinity is preferred."""
    affinity = as_mapping(spec.get("affinity"))
    of_kind = as_mapping(affinity.get(kind))
    required, preferred = as_list(of_kind.get(REQUIRED_TERMS)), as_list(of_kind.get(PREFERRED_TERMS))
    if len(required) != number:
        return spec
    softer = {"weight": MOST_WEIGHT, "podAffinityTerm": required[index]}
    left = _with(of_kind, REQUIRED_TERMS, [*required[:index], *required[index + 1 :]])
    changed = _with(left, PREFERRED_TERMS, [*preferred, softer])
    return {**spec, "affinity": {**affinity, kind: changed}}


def requesting_less(spec: Raw, *, lack: Lack) -> Raw:
    """Return the spec of a single container that requests so much less; of several a person has to choose."""
    containers = as_list(spec.get("containers"))
    resources = as_mapping(as_mapping(containers[0]).get("resources")) if len(containers) == 1 else {}
    requests = dict(as_mapping(resources.get("requests")))
    less = {CPU: lack.milli_cpu * MILLI, MEMORY: lack.memory * NANOS, STORAGE: lack.ephemeral_storage * NANOS}
    if lack.scalars or spec.get("initContainers") or spec.get("resources"):
        return spec
    for name, nanos in less.items():
        if not nanos:
            continue
        left = (parse_quantity(str(requests.get(name, ""))) or 0) - nanos
        if left < 0 or left % MILLI:
            return spec
        requests[name] = f"{left // MILLI}m" if left % NANOS else str(left // NANOS) if name == CPU else size_text(left)
    container = {**as_mapping(containers[0]), "resources": {**resources, "requests": requests}} if containers else {}
    return {**spec, "containers": [container]} if resources else spec


def _with(fields: Raw, name: str, value: object) -> Raw:
    """Return the fields with a value, without its name if the value is empty."""
    changed = {other: old for other, old in fields.items() if other != name}
    return {**changed, name: value} if value else changed
