"""Changes of the Pod spec in a template, as a person writes them; a spec that they do not fit is returned unchanged."""

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
    """Change fields of a constraint; `fields` None removes the constraint."""
    written = as_list(spec.get(FIELD))
    old = as_mapping(written[constraint.index]) if constraint.index < len(written) else {}
    identity = old.get("topologyKey"), old.get("whenUnsatisfiable"), old.get("maxSkew")
    if identity != (constraint.topology_key, constraint.when_unsatisfiable, constraint.max_skew):
        return spec  # The Pod is of another revision of the template.
    changed = [] if fields is None else [{**old, **fields}]
    if fields is not None and fields.get("whenUnsatisfiable") == SOFT:
        changed[0].pop("minDomains", None)  # Only a hard constraint may have it.
    return _with(spec, FIELD, [*written[: constraint.index], *changed, *written[constraint.index + 1 :]])


def tolerating(spec: Raw, *, toleration: Toleration) -> Raw:
    key, operator, value, effect = toleration
    added = {"key": key, "operator": operator, "value": value, "effect": effect}
    written = as_list(spec.get("tolerations"))
    return spec if added in written else _with(spec, "tolerations", [*written, added])


def without_node_affinity(spec: Raw) -> Raw:
    """Remove the nodeSelector and the required node affinity."""
    affinity = dict(as_mapping(spec.get("affinity")))
    node_affinity = {
        name: terms for name, terms in as_mapping(affinity.get("nodeAffinity")).items() if name != REQUIRED_TERMS
    }
    changed = _with(affinity, "nodeAffinity", node_affinity)
    return _with(_with(spec, "nodeSelector", None), "affinity", changed)


def preferring(spec: Raw, *, kind: str, index: int, number: int) -> Raw:
    """Make one of `number` required terms of podAffinity or podAntiAffinity a preferred one."""
    affinity = as_mapping(spec.get("affinity"))
    of_kind = as_mapping(affinity.get(kind))
    required, preferred = as_list(of_kind.get(REQUIRED_TERMS)), as_list(of_kind.get(PREFERRED_TERMS))
    if len(required) != number:
        return spec
    softer = {"weight": MOST_WEIGHT, "podAffinityTerm": required[index]}
    changed = _with(of_kind, REQUIRED_TERMS, [*required[:index], *required[index + 1 :]])
    changed = _with(changed, PREFERRED_TERMS, [*preferred, softer])
    return {**spec, "affinity": {**affinity, kind: changed}}


def requesting_less(spec: Raw, *, lack: Lack) -> Raw:
    """Lower the requests of the container, if there is only one; with several a person has to choose."""
    containers = as_list(spec.get("containers"))
    resources = as_mapping(as_mapping(containers[0]).get("resources")) if len(containers) == 1 else {}
    requests = dict(as_mapping(resources.get("requests")))
    less = {CPU: lack.milli_cpu * MILLI, MEMORY: lack.memory * NANOS, STORAGE: lack.ephemeral_storage * NANOS}
    if lack.scalars or spec.get("initContainers") or spec.get("resources"):
        return spec
    for name, nanos in less.items():
        if not nanos:
            continue
        after = (parse_quantity(str(requests.get(name, ""))) or 0) - nanos
        if after < 0 or after % MILLI:
            return spec
        if after % NANOS:
            requests[name] = f"{after // MILLI}m"
        else:
            requests[name] = str(after // NANOS) if name == CPU else size_text(after)
    container = {**as_mapping(containers[0]), "resources": {**resources, "requests": requests}} if containers else {}
    return {**spec, "containers": [container]} if resources else spec


def _with(fields: Raw, name: str, value: object) -> Raw:
    """Set a field; an empty value removes it."""
    changed = {other: old for other, old in fields.items() if other != name}
    return {**changed, name: value} if value else changed
