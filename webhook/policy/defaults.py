"""Default constraints in a policy: checked as kube-scheduler checks them, then as the Pods that get them will be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.findings.wording import some
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import DUPLICATE, FieldPath, as_list, as_mapping, path_text
from webhook.kubernetes.labels import label_key_errors
from webhook.kubernetes.names import HOSTNAME
from webhook.kubernetes.workload import Workload
from webhook.spread.cluster_view import KARPENTER, NODE_POOL_LABEL, ClusterView
from webhook.spread.constraint import HARD, SOFT
from webhook.spread.default_constraints import LIST, SYSTEM, validate_args
from webhook.spread.domains import Reach
from webhook.spread.new_pod import places_quickly, pod_of
from webhook.spread.nodes import Nodes, NodeSet
from webhook.spread.validation import in_one_line, validate

ANY_LABEL = "evenkeel.dev/any"  # stands for the labels of the derived selector
# The maxSkew of the built-in constraint on HOSTNAME if Karpenter makes nodes: it starts one for each `maxSkew` Pods.
# kube-scheduler spreads nearly alike with 1 and with 10.
KARPENTER_MAX_SKEW = 10


class Defaulting(NamedTuple):
    """PodTopologySpreadArgs, and where they come from."""

    type: str  # LIST or SYSTEM
    constraints: tuple[Mapping[str, object], ...] = ()  # raw JSON, without a selector
    built_in: bool = False  # evenkeel's own defaults, because the policy has none

    @property
    def gives(self) -> bool:
        """Whether Pods get any constraints from it."""
        return self.type == LIST and bool(self.constraints)


class SuitedDefaults(NamedTuple):
    """The default constraints that suit a Pod on the nodes of a cluster."""

    constraints: tuple[Mapping[str, object], ...]
    lacking: str = ""  # why others do not suit it


def suited_defaults(defaulting: Defaulting, pod: Workload, snapshot: ClusterView) -> SuitedDefaults:
    """
    Return the default constraints that spread a Pod no worse than it would be spread without them, and make Karpenter
    start few nodes more.

    Defaults that a policy names are returned as they are.  This is about the built-in ones:

    A Pod with soft constraints of its own avoids every node that lacks any of their topology keys; under the
    scheduler's System defaults it does not (upstream: scoring.go:initPreScoreState, requireAllTopologies).  So a
    constraint is left out if none of the nodes that the Pod could run on carries its key, and all constraints are left
    out if only some of these nodes carry a key.

    If no node takes the Pod now, or its spec is too large to tell, every node counts, and all constraints are left out
    if any node lacks a key: a node that joins may be labelled before it takes Pods.
    """
    if not defaulting.built_in:
        return SuitedDefaults(defaulting.constraints)
    nodes = snapshot.nodes
    keys = [str(constraint["topologyKey"]) for constraint in defaulting.constraints]
    all_carry_keys = nodes.common_label_keys.issuperset(keys) or not nodes.all
    # If Karpenter makes all nodes, or none, it does not matter which of them the Pod can use.
    same_everywhere = snapshot.serves_node_pools or nodes.carrying(NODE_POOL_LABEL) in (0, nodes.all)
    if all_carry_keys and same_everywhere:
        return SuitedDefaults(_for_karpenter(defaulting.constraints, snapshot, nodes.all))
    reachable = Reach(pod_of(pod), nodes).usable if places_quickly(pod.pod_spec or {}) else 0
    usable = reachable or nodes.all
    suited: list[Mapping[str, object]] = []
    lacking = ""
    for key, constraint in zip(keys, _for_karpenter(defaulting.constraints, snapshot, usable), strict=True):
        without_key = usable & ~nodes.carrying(key)
        if not without_key:
            suited.append(constraint)
            continue
        lacking = _lack(without_key, usable, " that it could run on", key)
        if not reachable or without_key != usable:
            return SuitedDefaults((), lacking)
    return SuitedDefaults(tuple(suited), lacking)


def _for_karpenter(
    constraints: tuple[Mapping[str, object], ...], snapshot: ClusterView, usable: NodeSet
) -> tuple[Mapping[str, object], ...]:
    """Return the built-in constraints for a Pod that can use these nodes; they differ if Karpenter makes any."""
    if KARPENTER in snapshot.node_makers(usable):
        return _with_host_skew(constraints, KARPENTER_MAX_SKEW)
    return constraints


def _with_host_skew(constraints: Sequence[Mapping[str, object]], max_skew: object) -> tuple[Mapping[str, object], ...]:
    return tuple(
        [
            {**constraint, "maxSkew": max_skew} if constraint["topologyKey"] == HOSTNAME else constraint
            for constraint in constraints
        ]
    )


def once_given(
    defaulting: Defaulting, constraints: Sequence[Mapping[str, object]]
) -> Iterator[Sequence[Mapping[str, object]]]:
    """Yield the constraints that `defaulting` gives a Pod, as they are without Karpenter, and with it."""
    if not defaulting.built_in:
        yield constraints
        return
    usual = [constraint["maxSkew"] for constraint in defaulting.constraints if constraint["topologyKey"] == HOSTNAME]
    for max_skew in (*usual, KARPENTER_MAX_SKEW):
        yield _with_host_skew(constraints, max_skew)


def _lack(without_key: NodeSet, nodes: NodeSet, which: str, key: str) -> str:
    """Return how many of the nodes lack a key, in words."""
    if without_key == nodes:
        return f"no node{which} has {key}"
    lack = "lacks" if without_key.bit_count() == 1 else "lack"
    return f"{without_key.bit_count()} of {nodes.bit_count()} nodes{which} {lack} {key}"


def parse_defaulting(raw: object) -> Defaulting:
    """Parse PodTopologySpreadArgs from raw JSON of the right types; as upstream, an absent defaultingType is System."""
    args = as_mapping(raw)
    constraints = tuple(integers(as_mapping(item)) for item in as_list(args.get("defaultConstraints")))
    return Defaulting(str(args.get("defaultingType") or SYSTEM), constraints)


def integers(raw: Mapping[str, object]) -> Mapping[str, object]:
    """Return a copy with 1.0 as 1: JSON Schema takes both for integers, the API server does not."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in raw.items()
    }


def defaulting_errors(raw: object, path: FieldPath, features: Features) -> Iterator[str]:
    """
    Yield every reason not to use these args: those of kube-scheduler, then those of the API server for a Pod that gets
    them.

    kube-scheduler accepts constraints that the API server refuses in a Pod, such as minDomains with ScheduleAnyway.
    Written into Pods, they would keep every Pod of the cluster from being created.
    """
    if raw is None:
        return
    defaulting = parse_defaulting(raw)
    if defaulting.constraints and "defaultingType" not in as_mapping(raw):
        yield f"{path_text(path)}: absent defaultingType means {SYSTEM}; write defaultingType: {LIST}"
        return
    errors = list(validate_args(defaulting.type, defaulting.constraints, path))
    paths = {error.path for error in errors}
    # The constraints as a Pod would get them: with a selector, and with all labels that matchLabelKeys name.
    in_pod = [
        {**constraint, "labelSelector": {"matchLabels": {ANY_LABEL: "any"}}} for constraint in defaulting.constraints
    ]
    keys = (key for constraint in in_pod for key in as_list(constraint.get("matchLabelKeys")) if isinstance(key, str))
    labels = {key: "any" for key in keys if not label_key_errors(key)}
    pod_errors = validate(in_pod, labels, (*path, "defaultConstraints"), merged=False, features=features)
    errors += [error for error in pod_errors if error.path not in paths and error.type != DUPLICATE]
    yield from map(in_one_line, errors)


def notes_on(defaulting: Defaulting, path: FieldPath) -> Iterator[str]:
    """Yield a line for what is valid, but may not do what its author expects."""
    constraints = defaulting.constraints
    keys = [constraint.get("topologyKey") for constraint in constraints]
    if defaulting.type == LIST and keys and HOSTNAME not in keys:
        yield (
            f"{path_text(path)}: no constraint on {HOSTNAME}: any constraint on a Pod switches off the scheduler's "
            "own defaults, which also spread over nodes"
        )
    for i, constraint in enumerate(constraints):
        if constraint.get("whenUnsatisfiable") == HARD:
            mode_path = path_text((*path, "defaultConstraints", i, "whenUnsatisfiable"))
            yield f"{mode_path}: {HARD} can leave Pods Pending whose owners asked for no constraint"


def karpenter_notes(defaulting: Defaulting, path: FieldPath) -> Iterator[str]:
    """
    Yield a line on what Karpenter does with each soft constraint of a policy.

    upstream: topologygroup.go:TopologyGroup.nextDomainTopologySpread, preferences.go:Preferences.Relax (karpenter
    v1.15.0)
    """
    for i, constraint in enumerate(() if defaulting.built_in else defaulting.constraints):
        if constraint.get("whenUnsatisfiable") != SOFT:
            continue
        constraint_path = path_text((*path, "defaultConstraints", i))
        key, max_skew = constraint.get("topologyKey"), constraint.get("maxSkew")
        pods = "1 matching Pod" if max_skew == 1 else f"{max_skew} matching Pods"
        if key == HOSTNAME:
            effect = f"puts at most {pods} on a node, starts nodes for the others"
        else:
            effect = f"starts a node in each domain of {key}"
        yield (
            f"{constraint_path}: Karpenter treats {SOFT} as required: it {effect}, and keeps nodes that it would "
            "consolidate"
        )


def lacking_notes(defaulting: Defaulting, path: FieldPath, nodes: Nodes) -> Iterator[str]:
    """Yield a line for each topology key of the default constraints that nodes lack."""
    for i, constraint in enumerate(defaulting.constraints):
        key = str(constraint.get("topologyKey"))
        without_key = nodes.all & ~nodes.carrying(key)
        if not without_key:
            continue
        key_path = path_text(path if defaulting.built_in else (*path, "defaultConstraints", i, "topologyKey"))
        everywhere = without_key == nodes.all
        names = "" if everywhere else f" ({some(nodes.names(without_key))})"
        lacking = _lack(without_key, nodes.all, "", key)
        yield f"{key_path}: {lacking}{names}: {_effect(defaulting, constraint, everywhere)}"


def _effect(defaulting: Defaulting, constraint: Mapping[str, object], everywhere: bool) -> str:
    """Return what happens to Pods if some nodes, or all, lack the topology key of a default constraint."""
    hard = constraint.get("whenUnsatisfiable") == HARD
    if defaulting.built_in and everywhere:
        return "Pods get the built-in defaults without this constraint"
    if defaulting.built_in:
        return (
            "Pods that fit on these nodes and on others get no built-in defaults, because these nodes "
            "would get the score 0 for the spread; label the nodes"
        )
    if everywhere:
        return f"{'no Pod with it can be placed' if hard else 'Pods with it are not spread'}; use another key"
    effect = "Pods with it never run there" if hard else "these nodes get the score 0 for the spread of Pods with it"
    return f"{effect}; label the nodes"
