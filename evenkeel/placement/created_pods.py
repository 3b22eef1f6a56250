"""
A Pod that is not there yet as kube-apiserver would store it, with what it adds to a Pod that it creates.

    Pod of a template or a file ──defaults──> LimitRanger ──> Priority ──> DefaultTolerationSeconds ──> RuntimeClass
                                              └──label keys of affinity merged into selectors──> Pod as it is stored

They are the admission plugins that are on by default and heed classes of the cluster, in the order of
plugins.go:AllOrderedPlugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from evenkeel.objects.pod_object import read_pod
from evenkeel.scheduler.resources import CPU, LIMITS, MEMORY, REQUESTS, with_default_requests
from webhook.kubernetes.features import LATEST, Features
from webhook.kubernetes.fields import (
    FORBIDDEN,
    INVALID,
    FieldError,
    FieldPath,
    Raw,
    as_list,
    as_mapping,
    integer,
    mappings_at,
    texts_at,
    value_at,
    with_value,
)
from webhook.kubernetes.labels import Labels, labels_in, labels_of
from webhook.kubernetes.names import POD_AFFINITY, POD_ANTI_AFFINITY, PREFERRED_TERMS, REQUIRED_TERMS
from webhook.kubernetes.references import ObjectKey
from webhook.spread.selectors import IN, NOT_IN
from webhook.spread.taints import (
    ADDED_TOLERATIONS,
    EQUAL,
    NO_EXECUTE,
    TOLERATION_EXISTS,
    LimitedToleration,
    Toleration,
)

CONTAINER_FIELDS = ("containers", "initContainers")
PRIORITY_CLASSES, RUNTIME_CLASSES, LIMIT_RANGES = "priorityclasses", "runtimeclasses", "limitranges"
PREEMPTS = "PreemptLowerPriority"
_REFUSED = "kube-apiserver would refuse the Pod"


class PriorityClass(NamedTuple):
    """The priority of the Pods that name it."""

    name: str
    value: int
    preemption_policy: str = PREEMPTS
    global_default: bool = False


class RuntimeClass(NamedTuple):
    """What the Pods that name it get."""

    overhead: Raw  # Amounts, as they are written.
    node_selector: Labels
    tolerations: Sequence[object]  # As they are written.


class LimitRange(NamedTuple):
    """The amounts that a container of its namespace gets where it states none, as they are written."""

    name: str
    requests: Raw
    limits: Raw


# The PriorityClasses that every API server has.
SYSTEM_CLASSES = {
    name: PriorityClass(name, value)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}


@dataclass(frozen=True, slots=True)
class PodCreation:
    """
    What kube-apiserver heeds when it creates a Pod.

    Where a mapping is empty, it is unknown whether the cluster has such objects: a file may lack them.
    """

    features: Features = LATEST
    priorities: Mapping[str, PriorityClass] = field(default_factory=dict)  # By name.
    runtimes: Mapping[str, RuntimeClass] = field(default_factory=dict)  # By name.
    limit_ranges: Mapping[str, Sequence[LimitRange]] = field(default_factory=dict)  # By namespace.

    @property
    def default_priority(self) -> PriorityClass:
        """
        The class of a Pod that names none: of several defaults the one with the lowest value.

        upstream: admission.go:Plugin.getDefaultPriority (v1.37)
        """
        defaults = [
            (default.value, default.name, default) for default in self.priorities.values() if default.global_default
        ]
        return min(defaults)[-1] if defaults else PriorityClass("", 0)


_DEFAULT_TOLERATIONS = tuple(
    [
        {
            "key": toleration.key,
            "operator": toleration.operator,
            "effect": toleration.effect,
            "tolerationSeconds": seconds,
        }
        for toleration, seconds in ADDED_TOLERATIONS
    ]
)
BARE_CREATION = PodCreation()  # Knows no objects of the cluster.


class CreatedPod(NamedTuple):
    """A Pod as it would be stored."""

    raw: Raw
    added: tuple[str, ...] = ()  # In words: what a person would look for in vain in the file.
    errors: tuple[FieldError, ...] = ()  # Why it is refused.


class _Admitted(NamedTuple):
    """The spec of a Pod after one admission plugin, what the plugin has added, and why it refuses the Pod."""

    spec: Raw
    added: Sequence[str] = ()
    errors: Sequence[FieldError] = ()


def read_creation(others: Mapping[ObjectKey, Raw], features: Features) -> PodCreation:
    """Read what kube-apiserver heeds in a cluster that has these objects; what has the wrong type is left out."""
    priorities, runtimes = dict[str, PriorityClass](), dict[str, RuntimeClass]()
    limit_ranges = dict[str, list[LimitRange]]()
    heeded = sorted((key, raw) for key, raw in others.items() if key[:2] in _CLASS_KINDS)
    for (_, kind, namespace, name), raw in heeded:
        if kind == "PriorityClass":
            policy, value = texts_at(raw, "preemptionPolicy")[0] or PREEMPTS, integer(raw.get("value")) or 0
            priorities[name] = PriorityClass(name, value, policy, raw.get("globalDefault") is True)
        elif kind == "RuntimeClass":
            overhead, scheduling = mappings_at(raw, ("overhead", "podFixed"), ("scheduling",))
            node_selector, tolerations = labels_of(scheduling.get("nodeSelector")), scheduling.get("tolerations")
            runtimes[name] = RuntimeClass(overhead, node_selector, as_list(tolerations))
        else:
            limit_ranges.setdefault(namespace, []).append(_read_limit_range(name, raw))
    return PodCreation(features, priorities, runtimes, limit_ranges)


_CLASS_KINDS = {("scheduling.k8s.io", "PriorityClass"), ("node.k8s.io", "RuntimeClass"), ("", "LimitRange")}


def _read_limit_range(name: str, raw: Raw) -> LimitRange:
    """
    Read a LimitRange, with the defaults that it gets itself.

    upstream: defaults.go:SetDefaults_LimitRangeItem (v1.37)
    """
    requests, limits = dict[str, object](), dict[str, object]()
    for item in as_list(value_at(raw, ("spec", "limits"))):
        least, most, default, default_request = mappings_at(item, ("min",), ("max",), ("default",), ("defaultRequest",))
        if as_mapping(item).get("type") == "Container":
            limits |= {**most, **default}
            requests |= {**least, **most, **default, **default_request}
    return LimitRange(name, requests, limits)


def heeded_classes(pod: Raw) -> Iterator[str]:
    """Yield the resources of the kinds whose objects may change this Pod when it is created."""
    spec = as_mapping(pod.get("spec"))
    name, runtime = texts_at(spec, "priorityClassName", "runtimeClassName")
    if "priority" not in spec and name not in SYSTEM_CLASSES:
        yield PRIORITY_CLASSES
    if runtime:
        yield RUNTIME_CLASSES
    if any(not {CPU, MEMORY} <= stated.keys() for stated in _requests_of(spec)):
        yield LIMIT_RANGES


def _requests_of(spec: Raw) -> list[Raw]:
    """Return the requests of each container."""
    containers = [container for name in CONTAINER_FIELDS for container in as_list(spec.get(name))]
    return [as_mapping(value_at(container, REQUESTS)) for container in containers]


def created(pod: Raw, creation: PodCreation) -> CreatedPod:
    """
    Return a raw Pod that does not exist yet as kube-apiserver would store it; what has the wrong type stays as it is.

    A Pod with a uid was stored before, so its label keys are already merged.
    """
    spec, added, errors = pod.get("spec"), list[str](), list[FieldError]()
    if not isinstance(spec, dict):
        return CreatedPod(pod)
    # Since 1.37 the Pod-level resources get their defaults last: they are left out until then.
    pod_level = {"resources": spec["resources"]} if "resources" in spec else {}
    pod_level_last = creation.features.pod_defaults_last
    admitted: Raw = spec
    if pod_level_last:
        admitted = {name: value for name, value in spec.items() if name != "resources"}
    admitted = _with_host_ports(with_default_requests(_without_mount_options(admitted)))
    namespace = texts_at(pod, "metadata.namespace")[0]
    for plugin in _ADMISSION_PLUGINS:
        step = plugin(admitted, namespace, creation)
        admitted = step.spec
        added += step.added
        errors += step.errors
    if pod_level and pod_level_last:
        admitted = with_default_requests({**admitted, **pod_level})
    if creation.features.affinity_keys_merge and not read_pod(pod).stored:
        admitted = _with_merged_label_keys(admitted, labels_in(pod))
    return CreatedPod({**pod, "spec": admitted}, tuple(added), tuple(errors))


def _each_container(spec: Raw, change: Callable[[object], object]) -> Raw:
    """Return the spec with each container and init container changed, except those of a wrong type."""
    changed = dict(spec)
    for name in CONTAINER_FIELDS:
        if isinstance(containers := spec.get(name), list):
            changed[name] = [
                change(container) if isinstance(container, dict) else container for container in containers
            ]
    return changed


def _without_mount_options(spec: Raw) -> Raw:
    """
    Return the spec without bindMountOptions, a field of the feature gate VolumeBindMountOptions, which is off.

    upstream: util.go:dropDisabledFields (v1.37)
    """
    return _each_container(spec, _without_options)


def _without_options(container: object) -> object:
    mounts = as_list(value_at(container, ("volumeMounts",)))
    if not any("bindMountOptions" in as_mapping(mount) for mount in mounts):
        return container
    without_options = [
        {name: value for name, value in as_mapping(mount).items() if name != "bindMountOptions"} for mount in mounts
    ]
    return with_value(container, ("volumeMounts",), without_options)


def _with_host_ports(spec: Raw) -> Raw:
    """
    Return the spec with hostPort set to containerPort, if the Pod is on the host's network.

    upstream: defaults.go:defaultHostNetworkPorts (v1.37)
    """
    return _each_container(spec, _on_host) if spec.get("hostNetwork") is True else spec


def _on_host(container: object) -> object:
    ports = value_at(container, ("ports",))
    if not isinstance(ports, list):
        return container
    return with_value(container, ("ports",), [_host_port(port) for port in ports])


def _host_port(port: object) -> object:
    number = value_at(port, ("containerPort",))
    return with_value(port, ("hostPort",), number) if number and not value_at(port, ("hostPort",)) else port


def _limit_ranger(spec: Raw, namespace: str, creation: PodCreation) -> _Admitted:
    """
    Give each container what the LimitRanges of its namespace say, where it states nothing.

    upstream: admission.go:mergeContainerResources (v1.37)
    """
    added = []
    for limit_range in creation.limit_ranges.get(namespace, ()):
        before = _requests_of(spec)
        spec = _each_container(spec, partial(_limited, limit_range=limit_range))
        pairs = zip(before, _requests_of(spec), strict=True)
        new_requests = {name: amount for old, new in pairs for name, amount in new.items() if name not in old}
        if new_requests:
            amounts = _listed([f"{amount} {name}" for name, amount in sorted(new_requests.items())])
            whose = " for each container that does not request it" if len(before) > 1 else ""
            added.append(f"a request of {amounts}{whose} (LimitRange {namespace}/{limit_range.name})")
    return _Admitted(spec, added)


def _limited(container: object, limit_range: LimitRange) -> object:
    """Give a container the amounts that it does not state."""
    for path, defaults in ((LIMITS, limit_range.limits), (REQUESTS, limit_range.requests)):
        stated, resources = value_at(container, path), value_at(container, path[:1])
        if defaults and isinstance(stated, dict | None) and isinstance(resources, dict | None):
            container = with_value(container, path, {**defaults, **as_mapping(stated)})
    return container


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _priority(spec: Raw, namespace: str, creation: PodCreation) -> _Admitted:
    """
    Give the Pod the priority of its PriorityClass; where no class is known, only that of a system class.

    upstream: admission.go:Plugin.admitPod (v1.37)
    """
    name, classes = texts_at(spec, "priorityClassName")[0], creation.priorities
    priority_class: PriorityClass | None = creation.default_priority
    if name:
        priority_class = classes.get(name) or SYSTEM_CLASSES.get(name)
    if priority_class is None and classes:
        return _Admitted(spec, errors=[_no_class(("spec", "priorityClassName"), name, "PriorityClass")])
    if priority_class is None or not (classes or name):
        return _Admitted(spec)
    stated = integer(spec.get("priority"))
    if stated is not None and stated != priority_class.value:
        detail = f"wanted {priority_class.value}, that of its PriorityClass, or none; {_REFUSED}"
        return _Admitted(spec, errors=[FieldError(FORBIDDEN, ("spec", "priority"), stated, detail)])
    policy = texts_at(spec, "preemptionPolicy")[0]
    if policy not in ("", priority_class.preemption_policy):
        detail = f"wanted {priority_class.preemption_policy}, that of its PriorityClass, or none; {_REFUSED}"
        return _Admitted(spec, errors=[FieldError(FORBIDDEN, ("spec", "preemptionPolicy"), policy, detail)])
    completed = {**spec, "priority": priority_class.value, "preemptionPolicy": priority_class.preemption_policy}
    if not priority_class.name:
        return _Admitted(completed)
    completed["priorityClassName"] = priority_class.name
    added = f"priority {priority_class.value} (PriorityClass {priority_class.name})"
    return _Admitted(completed, [added] if stated is None else ())


def _no_class(path: FieldPath, name: str, kind: str) -> FieldError:
    return FieldError(INVALID, path, name, f"no {kind} has this name; {_REFUSED}")


def _default_tolerations(spec: Raw, namespace: str, creation: PodCreation) -> _Admitted:
    """
    Have the Pod tolerate for a while that its node is not ready or unreachable, unless it has a toleration for that.

    upstream: admission.go:Plugin.Admit (v1.37)
    """
    written = spec.get("tolerations")
    if not isinstance(written, list | None):
        return _Admitted(spec)
    stated = [texts_at(toleration, "key", "effect") for toleration in written or ()]
    keys = {key for key, effect in stated if effect in (NO_EXECUTE, "")}
    added = [toleration for toleration in _DEFAULT_TOLERATIONS if keys.isdisjoint((toleration["key"], ""))]
    return _Admitted({**spec, "tolerations": [*(written or ()), *added]} if added else spec)


def _runtime_class(spec: Raw, namespace: str, creation: PodCreation) -> _Admitted:
    """
    Give the Pod the overhead, the node selector and the tolerations of its RuntimeClass.

    upstream: admission.go:RuntimeClass.Admit (v1.37)
    """
    name = texts_at(spec, "runtimeClassName")[0]
    runtime_class = creation.runtimes.get(name)
    if runtime_class is None and name and creation.runtimes:
        return _Admitted(spec, errors=[_no_class(("spec", "runtimeClassName"), name, "RuntimeClass")])
    if runtime_class is None:
        return _Admitted(spec)
    completed, added = dict(spec), []
    node_selector = as_mapping(spec.get("nodeSelector"))
    for key, value in runtime_class.node_selector.items():
        if node_selector.get(key, value) != value:
            detail = f'its RuntimeClass {name} has "{value}"; {_REFUSED}'
            error = FieldError(FORBIDDEN, ("spec", "nodeSelector", key), node_selector[key], detail)
            return _Admitted(spec, errors=[error])
    if runtime_class.overhead and not spec.get("overhead"):
        completed["overhead"] = runtime_class.overhead
        added.append("overhead")
    if not runtime_class.node_selector.items() <= node_selector.items():
        completed["nodeSelector"] = {**node_selector, **runtime_class.node_selector}
        added.append("nodeSelector")
    written = as_list(spec.get("tolerations"))
    if runtime_class.tolerations and (merged := _merged_tolerations(written, runtime_class.tolerations)) != written:
        completed["tolerations"] = merged
        added.append("tolerations")
    return _Admitted(completed, [f"{_listed(added)} of RuntimeClass {name}"] if added else ())


def _merged_tolerations(written: Sequence[object], more: Sequence[object]) -> list[object]:
    """
    Return both lists as one, without the tolerations that another one covers.

    upstream: tolerations.go:MergeTolerations (v1.37)
    """
    raw_tolerations = [*written, *more]
    tolerations = [_read_toleration(raw) for raw in raw_tolerations]
    needed = list[int]()
    for i, toleration in enumerate(tolerations):
        covered_later = any(other != toleration and _covers(other, toleration) for other in tolerations[i + 1 :])
        if not (covered_later or any(_covers(tolerations[j], toleration) for j in needed)):
            needed.append(i)
    return [raw_tolerations[i] for i in needed]


def _read_toleration(raw: object) -> LimitedToleration:
    seconds = integer(value_at(raw, ("tolerationSeconds",)))
    return LimitedToleration(Toleration(*texts_at(raw, *Toleration._fields)), seconds)


def _covers(wide: LimitedToleration, narrow: LimitedToleration) -> bool:
    """
    Whether the first tolerates all that the second does.

    upstream: tolerations.go:isSuperset (v1.37)
    """
    if wide == narrow:
        return True
    (key, operator, value, effect), seconds = wide
    other = narrow.toleration
    if key != other.key and (key or operator != TOLERATION_EXISTS):
        return False
    shorter = seconds is not None and (narrow.seconds is None or narrow.seconds > seconds)
    if effect not in ("", other.effect) or (effect == NO_EXECUTE and shorter):
        return False
    return operator == TOLERATION_EXISTS or (
        operator in ("", EQUAL) and other.operator == EQUAL and value == other.value
    )


# In the order in which kube-apiserver runs them.
_ADMISSION_PLUGINS = (_limit_ranger, _priority, _default_tolerations, _runtime_class)


def _with_merged_label_keys(spec: Raw, labels: Labels) -> Raw:
    """
    Merge matchLabelKeys and mismatchLabelKeys of a Pod's affinity into the selectors, with the Pod's labels.

    upstream: strategy.go:mutatePodAffinity (v1.37)
    """
    for kind in (POD_AFFINITY, POD_ANTI_AFFINITY):
        for when, below in ((REQUIRED_TERMS, ()), (PREFERRED_TERMS, ("podAffinityTerm",))):
            path: FieldPath = ("affinity", kind, when)
            for i, term in enumerate(as_list(value_at(spec, path))):
                if expressions := _expressions(value_at(term, below), labels):
                    in_selector = (*path, i, *below, "labelSelector", "matchExpressions")
                    merged = [*as_list(value_at(spec, in_selector)), *expressions]
                    spec = as_mapping(with_value(spec, in_selector, merged))
    return spec


def _expressions(term: object, labels: Labels) -> Sequence[Raw]:
    """
    Return the requirements that the label keys of a term mean; none where it has no selector.

    upstream: strategy.go:applyMatchLabelKeysAndMismatchLabelKeys (v1.37)
    """
    if not isinstance(value_at(term, ("labelSelector",)), dict):
        return ()
    return [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for name, operator in (("matchLabelKeys", IN), ("mismatchLabelKeys", NOT_IN))
        for key in as_list(value_at(term, (name,)))
        if isinstance(key, str) and key in labels
    ]
