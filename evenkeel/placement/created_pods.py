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
    """What the Pods that name it are given: amounts, labels of nodes and tolerations, in JSON."""

    overhead: Raw
    node_selector: Labels
    tolerations: Sequence[object]


class LimitRange(NamedTuple):
    """The amounts that a container of its namespace is given where it states none, in JSON."""

    name: str
    requests: Raw
    limits: Raw


SYSTEM_CLASSES = {
    name: PriorityClass(name, value)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}  # Which every API server has.


@dataclass(frozen=True, slots=True)
class PodCreation:
    """
    What kube-apiserver heeds when it creates a Pod; classes by their names, LimitRanges by their namespaces.

    Where none of a kind is there it is not known whether there are any: a file may lack them.
    """

    features: Features = LATEST
    priorities: Mapping[str, PriorityClass] = field(default_factory=dict)
    runtimes: Mapping[str, RuntimeClass] = field(default_factory=dict)
    limit_ranges: Mapping[str, Sequence[LimitRange]] = field(default_factory=dict)

    @property
    def default_priority(self) -> PriorityClass:
        """
        The class of a Pod that names none; of several that are the default, that of the lowest value.

        upstream: admission.go:Plugin.getDefaultPriority (v1.37)
        """
        defaults = [(of.value, of.name, of) for of in self.priorities.values() if of.global_default]
        return min(defaults)[-1] if defaults else PriorityClass("", 0)


_DEFAULT_TOLERATIONS = tuple(
    [
        {"key": of.key, "operator": of.operator, "effect": of.effect, "tolerationSeconds": seconds}
        for of, seconds in ADDED_TOLERATIONS
    ]
)
BARE_CREATION = PodCreation()  # Where no class is known.


class CreatedPod(NamedTuple):
    """A Pod as it would be stored; `added` is what a person may look for in vain, and `errors` why it is refused."""

    raw: Raw
    added: tuple[str, ...] = ()
    errors: tuple[FieldError, ...] = ()


class _Admitted(NamedTuple):
    """The spec of a Pod after a plugin, what it has added, and why it refuses the Pod."""

    spec: Raw
    added: Sequence[str] = ()
    errors: Sequence[FieldError] = ()


def read_creation(others: Mapping[ObjectKey, Raw], features: Features) -> PodCreation:
    """Return what kube-apiserver heeds in a cluster that has these objects; what has the wrong type is left out."""
    priorities, runtimes = dict[str, PriorityClass](), dict[str, RuntimeClass]()
    limit_ranges = dict[str, list[LimitRange]]()
    read = sorted((key, raw) for key, raw in others.items() if key[:2] in _CLASS_KINDS)
    for (_, kind, namespace, name), raw in read:
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
    Return a LimitRange with its own defaults.

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
    """Yield the kinds, as resources, by whose objects kube-apiserver would add to a new Pod."""
    spec = as_mapping(pod.get("spec"))
    name, runtime = texts_at(spec, "priorityClassName", "runtimeClassName")
    if "priority" not in spec and name not in SYSTEM_CLASSES:
        yield PRIORITY_CLASSES
    if runtime:
        yield RUNTIME_CLASSES
    if any(not {CPU, MEMORY} <= stated.keys() for stated in _requests_of(spec)):
        yield LIMIT_RANGES


def _requests_of(spec: Raw) -> list[Raw]:
    """Return what each container requests."""
    containers = [container for name in CONTAINER_FIELDS for container in as_list(spec.get(name))]
    return [as_mapping(value_at(container, REQUESTS)) for container in containers]


def created(pod: Raw, creation: PodCreation) -> CreatedPod:
    """
    Return a raw Pod that is not there yet as kube-apiserver would store it; what has the wrong type stays as it is.

    A Pod with a uid was stored before, so that its label keys are merged already.
    """
    spec, added, errors = pod.get("spec"), list[str](), list[FieldError]()
    if not isinstance(spec, dict):
        return CreatedPod(pod)
    level = {"resources": spec["resources"]} if "resources" in spec else {}
    last = creation.features.pod_defaults_last
    admitted: Raw = {name: value for name, value in spec.items() if name != "resources"} if last else spec
    admitted = _with_host_ports(with_default_requests(_without_mount_options(admitted)))
    namespace = texts_at(pod, "metadata.namespace")[0]
    for plugin in _ADMISSION_PLUGINS:
        step = plugin(admitted, namespace, creation)
        admitted = step.spec
        added += step.added
        errors += step.errors
    if level and last:
        admitted = with_default_requests({**admitted, **level})
    if creation.features.affinity_keys_merge and not read_pod(pod).stored:
        admitted = _with_merged_label_keys(admitted, labels_in(pod))
    return CreatedPod({**pod, "spec": admitted}, tuple(added), tuple(errors))


def _each_container(spec: Raw, change: Callable[[object], object]) -> Raw:
    """Return the spec with each of its containers and init containers changed, but for those of a wrong type."""
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
    left = [
        {name: value for name, value in as_mapping(mount).items() if name != "bindMountOptions"} for mount in mounts
    ]
    return with_value(container, ("volumeMounts",), left)


def _with_host_ports(spec: Raw) -> Raw:
    """
    Return the spec of a Pod whose ports, on the host's network, are those of the host.

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
        given = {name: amount for old, new in pairs for name, amount in new.items() if name not in old}
        if given:
            amounts = _listed([f"{amount} {name}" for name, amount in sorted(given.items())])
            each = " for each container that does not request it" if len(before) > 1 else ""
            added.append(f"a request of {amounts}{each} (LimitRange {namespace}/{limit_range.name})")
    return _Admitted(spec, added)


def _limited(container: object, limit_range: LimitRange) -> object:
    """Return a container with the amounts that it does not state."""
    for path, defaults in ((LIMITS, limit_range.limits), (REQUESTS, limit_range.requests)):
        stated, resources = value_at(container, path), value_at(container, path[:1])
        if defaults and all(isinstance(given, dict | None) for given in (stated, resources)):
            container = with_value(container, path, {**defaults, **as_mapping(stated)})
    return container


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _priority(spec: Raw, namespace: str, creation: PodCreation) -> _Admitted:
    """
    Give the Pod the priority of its PriorityClass; where no class is known, only that of a class of the system.

    upstream: admission.go:Plugin.admitPod (v1.37)
    """
    name, known = texts_at(spec, "priorityClassName")[0], creation.priorities
    of = known.get(name) or SYSTEM_CLASSES.get(name) if name else creation.default_priority
    if of is None and known:
        return _Admitted(spec, errors=[_no_class(("spec", "priorityClassName"), name, "PriorityClass")])
    if of is None or not (known or name):
        return _Admitted(spec)
    stated = integer(spec.get("priority"))
    if stated is not None and stated != of.value:
        detail = f"wanted {of.value}, that of its PriorityClass, or none; {_REFUSED}"
        return _Admitted(spec, errors=[FieldError(FORBIDDEN, ("spec", "priority"), stated, detail)])
    policy = texts_at(spec, "preemptionPolicy")[0]
    if policy not in ("", of.preemption_policy):
        detail = f"wanted {of.preemption_policy}, that of its PriorityClass, or none; {_REFUSED}"
        return _Admitted(spec, errors=[FieldError(FORBIDDEN, ("spec", "preemptionPolicy"), policy, detail)])
    completed = {**spec, "priority": of.value, "preemptionPolicy": of.preemption_policy}
    if not of.name:
        return _Admitted(completed)
    completed["priorityClassName"] = of.name
    return _Admitted(completed, [f"priority {of.value} (PriorityClass {of.name})"] if stated is None else ())


def _no_class(path: FieldPath, name: str, kind: str) -> FieldError:
    return FieldError(INVALID, path, name, f"no {kind} has this name; {_REFUSED}")


def _default_tolerations(spec: Raw, namespace: str, creation: PodCreation) -> _Admitted:
    """
    Have the Pod tolerate for a while nodes that are not ready, or not reached, unless it says something of them.

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
    of = creation.runtimes.get(name)
    if of is None and name and creation.runtimes:
        return _Admitted(spec, errors=[_no_class(("spec", "runtimeClassName"), name, "RuntimeClass")])
    if of is None:
        return _Admitted(spec)
    completed, added = dict(spec), []
    node_selector = as_mapping(spec.get("nodeSelector"))
    for key, value in of.node_selector.items():
        if node_selector.get(key, value) != value:
            detail = f'its RuntimeClass {name} has "{value}"; {_REFUSED}'
            error = FieldError(FORBIDDEN, ("spec", "nodeSelector", key), node_selector[key], detail)
            return _Admitted(spec, errors=[error])
    if of.overhead and not spec.get("overhead"):
        completed["overhead"] = of.overhead
        added.append("overhead")
    if not of.node_selector.items() <= node_selector.items():
        completed["nodeSelector"] = {**node_selector, **of.node_selector}
        added.append("nodeSelector")
    written = as_list(spec.get("tolerations"))
    if of.tolerations and (merged := _merged_tolerations(written, of.tolerations)) != written:
        completed["tolerations"] = merged
        added.append("tolerations")
    return _Admitted(completed, [f"{_listed(added)} of RuntimeClass {name}"] if added else ())


def _merged_tolerations(written: Sequence[object], more: Sequence[object]) -> list[object]:
    """
    Return both lists as one, without a toleration that tolerates nothing that another one does not.

    upstream: tolerations.go:MergeTolerations (v1.37)
    """
    together = [*written, *more]
    read = [_read_toleration(raw) for raw in together]
    kept = list[int]()
    for i, toleration in enumerate(read):
        later = any(other != toleration and _covers(other, toleration) for other in read[i + 1 :])
        if not (later or any(_covers(read[j], toleration) for j in kept)):
            kept.append(i)
    return [together[i] for i in kept]


def _read_toleration(raw: object) -> LimitedToleration:
    seconds = integer(value_at(raw, ("tolerationSeconds",)))
    return LimitedToleration(Toleration(*texts_at(raw, *Toleration._fields)), seconds)


def _covers(wide: LimitedToleration, narrow: LimitedToleration) -> bool:
    """
    Return whether the first tolerates all that the second does.

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


_ADMISSION_PLUGINS = (_limit_ranger, _priority, _default_tolerations, _runtime_class)


def _with_merged_label_keys(spec: Raw, labels: Labels) -> Raw:
    """
    Return the spec of a Pod with these labels, and the label keys of its affinity to other Pods in their selectors.

    upstream: strategy.go:mutatePodAffinity (v1.37)
    """
    for kind in (POD_AFFINITY, POD_ANTI_AFFINITY):
        for when, below in ((REQUIRED_TERMS, ()), (PREFERRED_TERMS, ("podAffinityTerm",))):
            path: FieldPath = ("affinity", kind, when)
            for i, term in enumerate(as_list(value_at(spec, path))):
                if expressions := _expressions(value_at(term, below), labels):
                    at = (*path, i, *below, "labelSelector", "matchExpressions")
                    spec = as_mapping(with_value(spec, at, [*as_list(value_at(spec, at)), *expressions]))
    return spec


def _expressions(term: object, labels: Labels) -> Sequence[Raw]:
    """
    Return what the label keys of a term ask of the labels of other Pods; nothing where it has no selector.

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
