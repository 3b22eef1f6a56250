"""
A rule: a function that yields causes for a Subject, and its settings, which a policy may change.

Most of the file is the Subject: what rules ask about a workload, its constraints, and what is known of the cluster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from inspect import cleandoc
from itertools import islice
from typing import Any, NamedTuple

from webhook.findings.finding import Cause, Edit, Severity
from webhook.findings.neighbours import Neighbour, Neighbours
from webhook.findings.room import Room, Tie
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.labels import Labels, is_given_to_nodes
from webhook.kubernetes.names import APPLICATION_NAME, REVISION_HASH, TEMPLATE_HASH
from webhook.kubernetes.reader import Reader, brief
from webhook.kubernetes.references import Scaling
from webhook.kubernetes.workload import Workload
from webhook.spread.cluster_view import ClusterView
from webhook.spread.constraint import HARD, HONOR, SOFT, Constraint, Reading, read_selector
from webhook.spread.domains import OnlyDomain, Reach, carrying_every_key, most_new_pods, only_domain
from webhook.spread.new_pod import NewPod, pod_of
from webhook.spread.nodes import Nodes, NodeSet
from webhook.spread.selectors import EQUALS, IN, Match, Requirement, Selector, as_selector

MOST_LABELS_COPIED = 20  # Nobody reads a fix with a longer selector.
LARGEST_NUMBER = 2**31 - 1  # of replicas, and of maxSkew
NO_NODES = Nodes()
REVISIONS = frozenset({TEMPLATE_HASH, REVISION_HASH})  # labels whose value is of one workload alone
ADVICE_ONLY = "it is advice, and never denies"
TOPOLOGY_KEY = {"type": "string", "minLength": 1}  # each item of a parameter that lists topology keys
CLOSED_NODES, UNLABELLED_NODES = "closed nodes", "nodes without a topology key"
LOOKS_AT_AFFINITY = "node affinity"
MATCH_LABEL_KEYS, MIN_DOMAINS, UNKNOWN_FIELDS = "matchLabelKeys", "minDomains", "unknown fields"
LOOKS_AT_SWITCHES = "switches of evenkeel"
SURGES = "a Deployment whose rollouts add Pods"
# All that a rule can look for (see `Rule.looks_for`); a rule that looks for anything else would never run.
LOOKED_FOR = frozenset(
    {
        *(CLOSED_NODES, HARD, LOOKS_AT_AFFINITY, LOOKS_AT_SWITCHES, MATCH_LABEL_KEYS, MIN_DOMAINS),
        *(SURGES, UNKNOWN_FIELDS, UNLABELLED_NODES),
    }
)
# Examples change its lines: see `_as_manifest`.
EXAMPLE = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers: [{name: web, image: web}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        nodeTaintsPolicy: Honor
        labelSelector: {matchLabels: {app: web}}
"""
_PLAIN_VALUE = re.compile("(?!(true|false|yes|no|on|off|null|y|n)$)[A-Za-z][-A-Za-z0-9_./]*", re.IGNORECASE)


class Need(Enum):
    """What a rule may need besides the constraints; the value is the message where it is not known."""

    # Unknown where an operator makes the Pods, or a policy describes a kind without the path of their labels.
    LABELS = "the labels of the Pods are not known"
    SELECTORS = "neither the labels of the Pods nor what their operator fills in is known"
    GIVEN_LABELS = "none of the labels of the Pods is known"  # it is enough to know some of them
    REPLICAS = "the number of replicas is not known"
    # Unknown for other reasons.
    POD_SPEC = "the tolerations and the node affinity of its Pods are not known, or too large to judge"
    NODES = "no node is known: give a cluster, or manifests of its nodes"
    PODS = "no Pod is known: give a cluster with Pods"
    OTHERS = "no other workload and no Pod is known: give a cluster with Pods"


class Also(Enum):
    """Where a rule runs besides objects that have constraints."""

    WITHOUT_CONSTRAINTS = "objects without constraints"


class Nature(Enum):
    """What a finding means where it is more, or less, than a fault."""

    REJECTED = "rejected by the API server"  # on the same field, only graver findings of other rules are shown
    ADVICE = "advice"  # at most a warning, never enforced, and not given on what a controller creates


RunsWhere = Also | Need | Nature | str  # Where a rule runs, and as what; a str is something that it looks for.


@dataclass(frozen=True, slots=True)
class RuleSetting:
    """What a policy sets for one rule."""

    severity: Severity
    enforced: bool = False
    parameters: Mapping[str, object] = field(default_factory=dict)  # with the defaults of those that are not set
    # These do not change what is found, so settings that differ only in them are equal.
    help: str = field(default="", compare=False)  # a line or a URL of the platform team
    notice: str = field(default="", compare=False)  # from when on the rule denies, and whom to ask
    given: bool = field(default=False, compare=False)  # the policy sets the severity


RuleSettings = Mapping[str, RuleSetting]


class Placed(NamedTuple):
    """How many replicas the hard constraints allow."""

    number: int
    exact: bool  # one constraint decides; several limit each other, so that fewer than `number` may be placed


class CountedOthers(NamedTuple):
    """Pods of another workload that a constraint counts, too."""

    whose: str  # in words
    labels: Labels


class CountedPods(NamedTuple):
    """The most Pods that a constraint counts at a time; None if that is not known, as where others may count, too."""

    pods: int | None = None  # also those that a rollout adds, if the constraint counts them together
    replicas: int | None = None  # without those that a rollout adds; None also if others are sure to count
    others: CountedOthers | None = None  # Pods that count for certain, and are not the workload's own


@dataclass(frozen=True)
class Subject:
    """What a rule may look at, and nothing else."""

    workload: Workload
    reading: Reading  # what the constraints were parsed from
    constraints: tuple[Constraint, ...]
    hard: tuple[Constraint, ...]  # those of the constraints with DoNotSchedule
    addable: frozenset[str]  # the label keys that may still be added, by a controller or at binding
    carries: Set[str]  # the label keys that a Pod has, or may have, before it is scheduled
    features: Features
    snapshot: ClusterView | None
    others: Neighbours | None  # the other workloads of the input; only commands know them
    settings: RuleSettings  # of all rules
    parameters: Mapping[str, object]  # of the rule that runs
    room_for: RoomFor | None = None  # finds the room of the snapshot; only commands have it

    def at(self, constraint: Constraint, *names: str | int) -> FieldPath:
        """Return the path of a constraint's field in the object."""
        return (*self.workload.path, constraint.index, *names)

    def keys(self, name: str) -> frozenset[str]:
        """Return a parameter that is a list of strings; empty if it is not set."""
        value = self.parameters.get(name)
        return frozenset(key for key in value if isinstance(key, str)) if isinstance(value, list) else frozenset()

    def number(self, name: str) -> int:
        """Return a parameter that is an integer; 0 if it is not set."""
        value = self.parameters.get(name)
        return value if isinstance(value, int) else 0

    def flag(self, name: str) -> bool:
        """Return a parameter that is a boolean; False if it is not set."""
        return self.parameters.get(name) is True

    @property
    def nodes(self) -> Nodes:
        """The nodes of the cluster; none if they are not known."""
        return NO_NODES if self.snapshot is None else self.snapshot.nodes

    def operator_adds_to_selector(self, constraint: Constraint) -> bool:
        """Return whether an operator adds labels to the selector, as a field of its own asks."""
        operator = self.workload.kind.operator
        if operator is None or not operator.own_fields:
            return False
        asked = {field.path for field in self.reading.unknown}
        return any((constraint.index, name) in asked for name in operator.own_fields)

    def counts_own(self, constraint: Constraint) -> bool:
        """Return whether the constraint counts the workload's own Pods, or may once labels are added to them."""
        selector = constraint.selector
        if selector.empty and not self.features.empty_selector_counts:
            return False
        return selector.match(self.workload.labels, self.addable) is not Match.NO

    def counted(self, constraint: Constraint) -> CountedPods:
        """Return what a constraint that counts its own Pods counts, in the cluster or among the manifests."""
        if others := self._other_workload(constraint) or self._other_pods(constraint):
            return CountedPods(others=others)
        workload = self._as_written()
        if workload.most_pods is None or not self._counts_only_own(constraint):
            return CountedPods()
        if self._may_count_others(constraint):
            return CountedPods(replicas=workload.most_replicas)
        counts_one_revision = TEMPLATE_HASH in constraint.match_label_keys
        pods = workload.most_replicas if counts_one_revision else workload.most_pods
        return CountedPods(pods, workload.most_replicas)

    def _as_written(self) -> Workload:
        """Return the workload; in a manifest, `replicas: 1` counts: no API server has filled it in."""
        workload = self.workload
        written = self.others is not None and not workload.uid and workload.spec.get("replicas") == 1
        return replace(workload, scaling=Scaling(1, 1)) if written and workload.scaling is None else workload

    def _counts_only_own(self, constraint: Constraint) -> bool:
        """
        Return whether the constraint's selector asks for all that the workload's own selector does, and no controller
        of the cluster shares these labels.

        Among manifests app.kubernetes.io/name is enough, because Helm's charts select by it.
        """
        own, asked = _comparable(self.workload_selector), _comparable(constraint.selector)
        asks_for_own = bool(own) and own <= asked
        by_name = any((requirement.key, requirement.operator) == (APPLICATION_NAME, EQUALS) for requirement in asked)
        if not asks_for_own and not (by_name and self.others is not None):
            return False
        if not REVISIONS.isdisjoint(constraint.match_label_keys):
            return True
        return not (self._own_is_shared if asks_for_own else self._is_shared(constraint.selector))

    @cached_property
    def _own_is_shared(self) -> bool:
        """Whether another controller shares its own selector; asked once, however many constraints there are."""
        return self._is_shared(self.workload_selector)

    def _is_shared(self, selector: Selector) -> bool:
        """Return whether another controller of the cluster may have Pods with these labels, or have its Pods."""
        if self.snapshot is None:
            return False
        workload = self.workload
        own = (workload.kind.api_version, workload.kind.kind, workload.name)
        for controller in self.snapshot.controllers_in(workload.namespace):
            other = controller.selector
            # Each Deployment is there beside its ReplicaSets.
            if controller[:3] == own or other is None or other.empty or TEMPLATE_HASH in other.keys:
                continue
            if other.matches(workload.labels) or other.implies(selector):
                return True
        return False

    def _may_count_others(self, constraint: Constraint) -> bool:
        """Return whether Pods of a workload of the input may count that most likely belong to another cluster."""
        return REVISIONS.isdisjoint(constraint.match_label_keys) and any(self._neighbours(constraint))

    def _neighbours(self, constraint: Constraint) -> Iterator[Neighbour]:
        """Yield the other workloads of the input whose Pods the constraint's selector matches."""
        others = () if self.others is None else self.others.matching(self.workload.ref, constraint.selector)
        return (other for other in others if constraint.selector.match(other.labels, other.addable) is Match.YES)

    def _other_workload(self, constraint: Constraint) -> CountedOthers | None:
        """Return another workload of the input whose Pods the constraint counts."""
        if not self._is_decided(constraint):
            return None
        for other in self._neighbours(constraint):
            if not other.is_likely_copy:
                return CountedOthers(f"the Pods of {other.kind} {brief(other.name, 40)[1:-1]}", other.labels)
        return None

    def _other_pods(self, constraint: Constraint) -> CountedOthers | None:
        """Return Pods in the cluster that the constraint counts, and that cannot be the workload's."""
        own, added = self.workload_selector, self.workload.kind.added_labels
        if self.snapshot is None or own.matches_nothing or own.empty or own.keys & self.workload.addable:
            return None  # A Job's selector is generated only when the Job is created.
        if not self._is_decided(constraint):
            return None
        for labels in self.snapshot.labels_of_pods(self.workload.namespace):
            may_be_own = own.matches(labels) and labels.keys() >= set(added)
            if not may_be_own and constraint.selector.matches(labels):
                shown = ",".join(f"{key}={value}" for key, value in sorted(labels.items())[:10])
                return CountedOthers(f"other Pods, such as those with {brief(shown, 60)[1:-1]}", labels)
        return None

    def _is_decided(self, constraint: Constraint) -> bool:
        """
        Return whether the selector alone decides which Pods count.

        With a key in matchLabelKeys that a controller adds, such as pod-template-hash, an unknown value decides, too.
        """
        return self.workload.labels.keys() >= set(constraint.match_label_keys)

    @property
    def room(self) -> Room | None:
        """The room that the cluster has for its Pods; None if that is not known."""
        return None if self.room_for is None else self.room_for(self)

    def tied(self, constraint: Constraint) -> Tie | None:
        """Return a claim that leaves its Pods one domain of the constraint; None if there is none, or if not known."""
        room = self.room
        return None if room is None else room.tied(constraint.topology_key)

    @cached_property
    def pod(self) -> NewPod:
        """One of its Pods, without its resource requests."""
        return pod_of(self.workload)

    @cached_property
    def reach(self) -> Reach:
        """The nodes that its Pods may run on."""
        return Reach(self.pod, self.nodes)

    @cached_property
    def _reach_in_service(self) -> Reach:
        """The nodes that its Pods may run on once all are in service."""
        nodes = self.nodes.in_service
        return self.reach if nodes is self.nodes else Reach(self.pod, nodes)

    @cached_property
    def placed(self) -> Placed:
        """How many replicas the hard constraints allow if none runs yet; the room on the nodes does not count."""
        limiting = [constraint for constraint in self.hard if self.counts_own(constraint)]
        limits = [most_new_pods(self.reach, constraint, self.labelled) for constraint in limiting]
        number = min([limit for limit in limits if limit is not None], default=self.workload.replicas)
        return Placed(min(number, self.workload.replicas), exact=len(limiting) == 1)

    @property
    def waiting(self) -> str:
        """How many of its replicas would wait, in words."""
        replicas = self.workload.replicas
        at_least = "" if self.placed.exact else "at least "
        return f"{at_least}{replicas - self.placed.number} of {replicas} new Pods would wait"

    def may_get_domains(self, constraint: Constraint) -> bool:
        """Return whether nodes may join in a further domain that node affinity allows."""
        allowed = self.pod.affinity.values(constraint.topology_key)  # None: any
        domains, eligible = self.nodes.domains(constraint.topology_key), self.reach.eligible(constraint, self.labelled)
        return allowed is None or any(not domains.get(domain, 0) & eligible for domain in allowed)

    def may_carry(self, topology_key: str) -> bool:
        """
        Return whether nodes may have a key although none is known to have it.

        Nodes in manifests lack the labels that a kubelet or a cloud gives them.
        """
        in_manifests = self.snapshot is not None and self.snapshot.nodes_in_manifests
        return in_manifests and is_given_to_nodes(topology_key) and topology_key not in self.nodes.label_keys

    @cached_property
    def labelled(self) -> NodeSet:
        """The nodes that carry the keys of all hard constraints; no hard constraint counts any other node."""
        return carrying_every_key(self.nodes, self.hard)

    def only_domain(self, constraint: Constraint, *, in_service: bool = False) -> OnlyDomain | None:
        """
        Return the only domain that the constraint counts; None if it counts several or none, or minDomains more.

        The nodes are those that there are, or the same `in_service`.
        """
        alike = [other for other in self.constraints if other.hard == constraint.hard]
        carrying, reach = carrying_every_key(self.nodes, alike), self.reach
        # To make nodes in service takes milliseconds whenever a node has changed.  They can only have more domains, and
        # only where taints count.
        if in_service and constraint.node_taints_policy == HONOR:
            eligible = reach.eligible(constraint, carrying)
            if self.nodes.number_of_domains(constraint.topology_key, eligible) < 2:
                reach = self._reach_in_service
        return only_domain(reach, constraint, carrying)

    @cached_property
    def workload_selector(self) -> Selector:
        """The workload's own selector, by which its controller finds its Pods; NOTHING if it has none."""
        return as_selector(read_selector(Reader(), self.workload.label_selector or None, ()))

    @cached_property
    def own_selector(self) -> dict[str, str]:
        """
        The labels of the workload's own selector, if it is matchLabels alone and they match its Pods; otherwise empty.

        A Job's is not copied: the API server generates it from a uid.
        """
        selector, labels = self.workload.label_selector, self.workload.labels
        match_labels = selector.get("matchLabels")
        if not isinstance(match_labels, dict) or len(selector) > 1 or len(match_labels) > MOST_LABELS_COPIED:
            return {}
        generated = self.workload.addable & match_labels.keys()
        return match_labels if match_labels.items() <= labels.items() and not generated else {}

    def copy_own_selector(self, constraint: Constraint) -> tuple[str | None, Edit | None]:
        """
        Return the fix that makes `own_selector` the constraint's, in words and as an edit; without one, two None.

        There is none if it is empty, or has a key of the matchLabelKeys: the API server rejects a key in both.
        """
        own = self.own_selector
        if not own or not own.keys().isdisjoint(constraint.match_label_keys):
            return None, None
        fix = f"write labelSelector: {self._own_in_yaml}"
        return fix, Edit(self.at(constraint, "labelSelector"), {"matchLabels": own})

    @cached_property
    def _own_in_yaml(self) -> str:
        return in_yaml({"matchLabels": self.own_selector})

    @property
    def enforced(self) -> frozenset[str]:
        """The ids of the rules that the policy enforces."""
        return frozenset(rule for rule, setting in self.settings.items() if setting.enforced)

    def soft_constraint(self, topology_key: str) -> dict[str, object] | None:
        """Return a constraint for the workload's own Pods; None if it has no labels to select by, or too many."""
        workload, addable = self.workload, self.workload.addable
        labels = self.own_selector or (workload.labels if workload.labels_known else workload.given_labels)
        match_labels = {key: labels[key] for key in islice(labels, MOST_LABELS_COPIED) if key not in addable}
        if not match_labels or len(labels) > MOST_LABELS_COPIED:
            return None
        selector = {"matchLabels": match_labels}
        return {"maxSkew": 1, "topologyKey": topology_key, "whenUnsatisfiable": SOFT, "labelSelector": selector}


RoomFor = Callable[[Subject], Room | None]


def in_yaml(value: object) -> str:
    """Return a value as YAML in one line; strings that YAML may read otherwise are quoted."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{in_yaml(key)}: {in_yaml(item)}' for key, item in value.items())}}}"
    if isinstance(value, str) and not _PLAIN_VALUE.fullmatch(value):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_yaml, value))}]"
    return str(value)


def _comparable(selector: Selector) -> set[Requirement]:
    """Return the requirements, with `key in (value)` as `key = value`, so that equal ones compare equal."""
    return {
        requirement._replace(operator=EQUALS)
        if requirement.operator == IN and len(requirement.values) == 1
        else requirement
        for requirement in selector.requirements
    }


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, as `rule()` registers it."""

    id: str
    title: str
    severity: Severity  # unless a policy sets another
    fix: str  # unless a cause has its own
    rationale: str
    bad: str
    good: str
    context: str
    parameters: Mapping[str, Mapping[str, object]]  # the JSON schema of each
    required: tuple[str, ...]  # parameters of which one must be given
    example: Mapping[str, object]  # parameters under which the bad example is bad
    needs_constraints: bool
    needs: tuple[Need, ...]  # the rule is skipped, and reported as skipped, if one of these is not known
    # The rule runs only where all of these are present, which is quick to tell.  They are `Reading.words`, the node
    # conditions CLOSED_NODES (tainted or cordoned) and UNLABELLED_NODES, UNKNOWN_FIELDS, LOOKS_AT_SWITCHES, SURGES, and
    # LOOKS_AT_AFFINITY (node affinity, a nodeSelector or volumes).
    looks_for: frozenset[str]
    advice: bool
    rejected_by_api_server: bool
    kept_by_defaults: bool  # the constraints that defaulting writes never break it
    yields_to: tuple[str, ...]  # rules whose findings are shown instead, if they are as grave and on the same field
    cel: str
    check: Callable[[Subject], Iterable[Cause]]

    @property
    def topology_keys(self) -> tuple[str, ...]:
        """The names of the parameters that list topology keys."""
        return tuple(name for name, schema in self.parameters.items() if schema.get("items") is TOPOLOGY_KEY)

    @property
    def looks_beside(self) -> bool:
        """Whether it looks at Pods or other workloads, which only commands know."""
        return Need.PODS in self.needs or Need.OTHERS in self.needs

    @property
    def severities(self) -> tuple[Severity, ...]:
        """The severities that a policy may give it."""
        return tuple(severity for severity in Severity if not (self.advice and severity is Severity.ERROR))

    def setting(
        self,
        severity: Severity | None = None,
        enforced: bool = False,
        parameters: Mapping[str, object] | None = None,
        said: str = "",
    ) -> RuleSetting:
        """Return a setting of this rule, with defaults for what is absent; `said` is the policy's help."""
        defaults = {name: schema["default"] for name, schema in self.parameters.items() if "default" in schema}
        return RuleSetting(
            self.severity if severity is None else severity, enforced, {**defaults, **(parameters or {})}, said
        )

    def lacks_parameters(self, setting: RuleSetting) -> bool:
        """Return whether a setting gives none of the `required` parameters."""
        return bool(self.required) and not any(setting.parameters.get(name) for name in self.required)


RULES: dict[str, Rule] = {}  # Filled as webhook.rules imports its files.


def rule(
    *,
    title: str,
    severity: Severity,
    fix: str,
    bad: str,
    good: str,
    context: str = "",
    where: tuple[RunsWhere, ...] = (),
    cel: str = "",
    yields_to: tuple[str, ...] = (),
    parameters: Mapping[str, Any] | None = None,
) -> Callable[[Callable[[Subject], Iterable[Cause]]], Callable[[Subject], Iterable[Cause]]]:
    """
    Register a function as a rule: its name is the id, its docstring the rationale.

    bad, good   a manifest, or the lines that it changes in `EXAMPLE`
    context     objects with which both are judged
    where       where the rule runs, what it needs, and whether it is advice or what the API server rejects
    cel         an expression that is true where the rule finds nothing, over the `variables` of
                manifests.admission_policies, the rule's `parameters`, and `features`; "" if CEL cannot tell
    yields_to   ids of rules whose findings are shown instead, if they are as grave and on the same field
    parameters  a JSON schema of an object: `properties`, the `required` ones (or `anyOf` with these), and `examples`
                with one under which the bad example is bad
    """

    def register(check: Callable[[Subject], Iterable[Cause]]) -> Callable[[Subject], Iterable[Cause]]:
        rule_id, rationale = check.__name__.replace("_", "-"), cleandoc(check.__doc__ or "")
        if rule_id in RULES:
            raise TypeError(f"rule {rule_id}: another rule has this id")
        if not rationale:
            raise TypeError(f"rule {rule_id}: needs a docstring, which says why to follow it")
        looks_for = frozenset([condition for condition in where if isinstance(condition, str)])
        if not looks_for <= LOOKED_FOR:
            raise TypeError(f"rule {rule_id}: looks for {looks_for - LOOKED_FOR}, and nothing provides it")
        schema: Mapping[str, Any] = parameters or {}
        RULES[rule_id] = Rule(
            id=rule_id,
            title=title,
            severity=severity,
            fix=fix,
            rationale=rationale,
            bad=_as_manifest(bad),
            good=_as_manifest(good),
            context=f"{cleandoc(context)}\n" if context else "",
            parameters=schema.get("properties", {}),
            required=tuple(
                [name for part in (schema, *schema.get("anyOf", ())) for name in part.get("required", ())],
            ),
            example=next(iter(schema.get("examples", ())), {}),
            needs_constraints=Also.WITHOUT_CONSTRAINTS not in where,
            needs=tuple([condition for condition in where if isinstance(condition, Need)]),
            looks_for=looks_for,
            advice=Nature.ADVICE in where,
            rejected_by_api_server=Nature.REJECTED in where,
            kept_by_defaults=severity is Severity.ERROR,  # Defaulting never writes what is an error by default.
            yields_to=yields_to,
            cel=" ".join(cel.split()),
            check=check,
        )
        return check

    return register


def _as_manifest(example: str) -> str:
    """
    Return an example as a whole manifest: its own, or EXAMPLE with its lines.

    A line replaces the first one with its key.  If there is none, the line is added to the constraint.
    """
    example = cleandoc(example)
    if example.startswith("apiVersion:"):
        return f"{example}\n"
    manifest = EXAMPLE
    for line in example.splitlines():
        key = line.partition(":")[0]
        manifest, replaced = re.subn(f"^([ -]*){key}:.*", rf"\g<1>{line}", manifest, count=1, flags=re.MULTILINE)
        if not replaced:
            manifest += f"        {line}\n"
    return manifest
