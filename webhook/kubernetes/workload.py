"""
An object with a Pod template, or a Pod: its constraints, replicas, and the labels that its Pods have or may get.

    Deployment ── spec.template ──> Workload(labels + pod-template-hash, raw constraints, owner, replicas)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import NamedTuple

from webhook.kubernetes.fields import (
    FieldPath,
    as_list,
    as_mapping,
    children,
    int_or_percent,
    integer,
    mappings_at,
    scaled,
    texts_at,
    value_at,
)
from webhook.kubernetes.kinds import (
    APPS,
    BATCH,
    CORE,
    EACH_KEY,
    FIELD,
    ITEM,
    KINDS,
    NAME,
    TEMPLATE_PATH,
    WILDCARDS,
    GivenLabel,
    Kind,
    Kinds,
    Operator,
    find_kinds,
)
from webhook.kubernetes.labels import Labels, label_value_errors, labels_in, labels_of
from webhook.kubernetes.likeness import nearest
from webhook.kubernetes.names import (
    DEFAULT_SCHEDULER,
    DEFAULTED_BY_ANNOTATION,
    FARGATE_SCHEDULER,
    HOOK_ANNOTATIONS,
    IGNORE_ANNOTATION,
    KUEUE_QUEUE_LABEL,
    KUEUE_TOPOLOGY_ANNOTATIONS,
    KUEUE_TOPOLOGY_GATE,
    REQUIRED_TERMS,
    SWITCH_PREFIX,
)
from webhook.kubernetes.references import ObjectRef, Owner, ScaleTarget, Scaling, controller_of

Indices = tuple[int | str, ...]  # the index or key for each wildcard of a path
Switch = tuple[FieldPath, object]  # a label or annotation of evenkeel: its path and value
DEFAULT_SURGE = "25%"  # maxSurge of a Deployment
MOST_TEMPLATES = 50  # of one object
MOST_UNKNOWN_FIELDS = 200  # in an object with more, names are not looked at: a Pod's spec has some 40
BY_FARGATE = "EKS Fargate"  # What ignores constraints.
LONGEST_IGNORE = 4_096  # characters
DEPLOYMENT_TYPE = (APPS, "Deployment")
REPLICATED = {DEPLOYMENT_TYPE, (APPS, "StatefulSet"), (APPS, "ReplicaSet"), (CORE, "ReplicationController")}
_SELECTED_BY_LABELS = ("ReplicationController", "DeploymentConfig")  # their selector is a map of labels
_SHORTEST_ALIKE, _LONGEST_ALIKE = len(FIELD) - 2, len(FIELD) + 2  # Other names are not compared: a length is cheap.


@dataclass(frozen=True, slots=True)
class Workload:
    """One Pod template of an object, or a Pod."""

    kind: Kind
    namespace: str
    name: str
    path: FieldPath  # of the constraints in the object
    raw_constraints: object
    labels: Labels  # of its Pods, as they are written
    labels_known: bool  # whether the object says which labels its Pods have
    addable: frozenset[str]  # keys of labels that the controller adds to its Pods, or may add
    replicas: int  # as written, or the fewest that an autoscaler sets; 1 if there are none
    replicas_written: bool  # tells a written 1 from none
    scheduler_name: str
    node_name: str
    affine_to_one_node: bool  # by required node affinity
    strategy: str  # spec.strategy.type, "" if absent
    surges: bool  # whether a rolling update may run more Pods
    selector: Mapping[str, object]  # raw, of a kind with `spec.template`
    annotations: Labels  # of the object
    ignored_rules: frozenset[str]
    owner: Owner | None
    uid: str
    scheduled: bool  # whether it is a Pod that the scheduler has looked at
    ignored_by: str  # what places its Pods and ignores their constraints, "" if they count or nothing is known
    by_kueue: bool  # whether Kueue may choose nodes for its Pods, before kube-scheduler applies their constraints there
    # Paths of constraints that the API does not know: in another place, or under a name that is nearly the field's.
    misplaced: tuple[FieldPath, ...]
    switches: tuple[Switch, ...]  # labels and annotations of evenkeel, misspelt ones too
    spec: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)  # raw, of the object
    # Raw, of its Pods; None if the constraints are outside a Pod template.
    pod_spec: Mapping[str, object] | None = field(default=None, repr=False, compare=False)
    scaling: Scaling | None = None  # the bounds of its autoscaler
    # What the Pods get besides `labels`: for a Job from the API server, for a custom resource from its operator.
    given_labels: Labels = field(default_factory=dict)
    item: str = ""  # the name of the list item, or the key, at which the object of an operator has it
    is_pod: bool = field(init=False)
    stored: bool = field(init=False)  # whether it is a Pod that an API server has, with matchLabelKeys merged already
    has_constraints: bool = field(init=False)

    def __post_init__(self) -> None:
        """Set what follows from other fields, also of a copy that `dataclasses.replace` makes."""
        object.__setattr__(self, "is_pod", self.kind.template == ())
        object.__setattr__(self, "stored", self.is_pod and self.uid != "")
        object.__setattr__(self, "has_constraints", self.raw_constraints not in (None, []))

    @property
    def label_selector(self) -> Mapping[str, object]:
        """Its own selector, raw, as a LabelSelector."""
        if self.selector and self.kind.kind in _SELECTED_BY_LABELS:
            return {"matchLabels": self.selector}
        return self.selector

    @property
    def in_template(self) -> bool:
        """Whether the constraints are in a Pod template, or are a Pod's own."""
        return self.kind.template is not None

    @property
    def is_hook(self) -> bool:
        """Whether Helm or Argo CD runs it before or after a release, or as a test of it."""
        return not HOOK_ANNOTATIONS.isdisjoint(self.annotations)

    @property
    def pinned(self) -> bool:
        """
        Whether each of its Pods can run on one node only.

        An owner reference to a DaemonSet is no proof: any user may write one.
        """
        return self.kind.kind == "DaemonSet" or bool(self.node_name) or self.affine_to_one_node

    @property
    def target(self) -> ScaleTarget:
        """What an autoscaler names to scale it."""
        return ScaleTarget(self.namespace, self.kind.api_group, self.kind.kind, self.name)

    def scaled(self, scaling: Scaling) -> Workload:
        """Return it with the fewest replicas that an autoscaler gives it; an autoscaler leaves 0 replicas alone."""
        return replace(self, replicas=scaling.least if self.replicas else 0, scaling=scaling)

    def within(self, scaling: Scaling) -> Workload:
        """Return it with its replicas brought within the bounds: in a cluster, the autoscaler itself writes them."""
        capped = self.replicas if scaling.most is None else min(self.replicas, scaling.most)
        return replace(self, replicas=max(capped, scaling.least) if self.replicas else 0, scaling=scaling)

    @property
    def most_replicas(self) -> int | None:
        """
        The most replicas that it has, as written or by its autoscaler; None if that is not known.

        A written 1 tells nothing: the API server writes it if there is none, as where an autoscaler sets the replicas.
        """
        written = integer(self.spec.get("replicas"))
        replicas = None if written == 1 else written
        if self.scaling is None:
            return replicas
        return None if self.scaling.most is None else max(self.scaling.most, replicas or 0)

    @property
    def most_pods(self) -> int | None:
        """
        The most Pods that it has at a time, those of a rollout included, but not those that terminate.

        None if the replicas are 0 or not known, or the kind is not in REPLICATED, whose controllers keep to a number.
        """
        kind = (self.kind.api_version, self.kind.kind)
        replicas = self.most_replicas
        if kind not in REPLICATED or replicas is None or replicas < 1:
            return None
        return replicas if kind != DEPLOYMENT_TYPE or self.strategy == "Recreate" else replicas + self._surge(replicas)

    def _surge(self, replicas: int) -> int:
        """Return the Pods that a rolling update of a Deployment may add; a percentage is rounded up."""
        surge = int_or_percent(value_at(self.spec, ("strategy", "rollingUpdate", "maxSurge")))
        return scaled(DEFAULT_SURGE if surge is None else surge, replicas, up=True)

    def pods_labels(self) -> Labels:
        """Return the labels that every Pod of it has; a value that only the controller knows is "added"."""
        added = [key for key in self.kind.added_labels if key in self.addable]
        return {**dict.fromkeys(added, "added"), **self.given_labels, **self.labels}

    @property
    def ref(self) -> ObjectRef:
        """The object that has it."""
        return ObjectRef(self.kind.api_version, self.kind.kind, self.namespace, self.name)


def parse_workloads(obj: Mapping[str, object], kinds: Kinds = KINDS, namespace: str = "") -> tuple[Workload, ...]:
    """
    Return the workloads in an object, none if its kind is not known.

    A `namespace`, that of the request, replaces the object's own.  Anything that has the wrong type reads as if it were
    absent, except the constraints, which stay as they are.  There is at most one more than MOST_TEMPLATES, for callers
    to tell that there are too many.
    """
    kinds_of_obj = find_kinds(obj, kinds)
    if not kinds_of_obj:
        return ()
    metadata, spec = mappings_at(obj, ("metadata",), ("spec",))
    own_namespace, name, generated_from, uid = texts_at(metadata, "namespace", "name", "generateName", "uid")
    annotations = labels_of(metadata["annotations"]) if "annotations" in metadata else {}
    shared = _Shared(
        obj,
        spec,
        namespace or own_namespace,
        name or generated_from,
        uid,
        annotations,
        _ignored(annotations),
        controller_of(metadata) if "ownerReferences" in metadata else None,
    )
    places = ((kind, indices) for kind in kinds_of_obj for indices in _expand(obj, kind))
    workloads = [_workload(shared, kind, indices) for kind, indices in islice(places, MOST_TEMPLATES + 1)]
    if workloads and (switches := _switches(("metadata",), metadata)):  # The first stands for the object.
        workloads[0] = replace(workloads[0], switches=(*switches, *workloads[0].switches))
    return tuple(workloads)


def scaling_of(workloads: Sequence[Workload], scalings: Mapping[ScaleTarget, Scaling]) -> Scaling | None:
    """
    Return the bounds that autoscalers set for the workloads of one object, None if none scales it.

    An autoscaler does not say which of several Pod templates of an object it scales.
    """
    if not scalings or len(workloads) != 1 or workloads[0].kind.replicas is None:
        return None
    return scalings.get(workloads[0].target)


class _Shared(NamedTuple):
    """What all workloads of an object share."""

    obj: Mapping[str, object]  # the object itself
    spec: Mapping[str, object]
    namespace: str
    name: str
    uid: str
    annotations: Labels
    ignored_rules: frozenset[str]
    owner: Owner | None


def _expand(obj: Mapping[str, object], kind: Kind) -> Iterable[Indices]:
    """
    Return, for each place where an object of a kind describes Pods, the indices for the wildcards of the path there.

    A custom resource may have no template, or have one only in some items of a list: an Argo Rollout may refer to that
    of a Deployment.
    """
    needs_template = kind.template is not None and not kind.built_in
    if not needs_template and WILDCARDS.isdisjoint(kind.anchor):
        return ((),)
    places: Iterator[tuple[Indices, object]] = iter([((), obj)])
    for part, next_part in zip_longest(kind.anchor, kind.anchor[1:]):
        needed = str(next_part) if needs_template and next_part is not None and next_part not in WILDCARDS else None
        places = _items(places, part, needed) if part in WILDCARDS else _members(places, str(part))
    return (indices for indices, value in places if not needs_template or isinstance(value, dict))


def _items(
    places: Iterable[tuple[Indices, object]], wildcard: object, needed: str | None
) -> Iterator[tuple[Indices, object]]:
    """Yield the items of each list, or the values of each object, without those that lack the `needed` member."""
    for indices, value in places:
        items = as_mapping(value).items() if wildcard == EACH_KEY else enumerate(as_list(value))
        for i, item in items:
            if needed is None or (isinstance(item, dict) and needed in item):
                yield (*indices, i), item


def _members(places: Iterable[tuple[Indices, object]], name: str) -> Iterator[tuple[Indices, object]]:
    return ((indices, as_mapping(value).get(name)) for indices, value in places)


def _fill(path: FieldPath, indices: Indices) -> FieldPath:
    """Return a path with the indices in place of its wildcards; a wildcard beyond them becomes 0."""
    if WILDCARDS.isdisjoint(path):
        return path
    remaining = iter(indices)
    return tuple(next(remaining, 0) if part in WILDCARDS else part for part in path)


def _workload(shared: _Shared, kind: Kind, indices: Indices) -> Workload:
    obj, is_pod, template = shared.obj, kind.template == (), _fill(kind.template or (), indices)
    replicas_path = _fill(kind.replicas, indices) if kind.replicas is not None else ()
    # `replicas_parent` has the field of the replicas: the spec of a Job, for one.
    metadata, pod_spec, replicas_parent, pod_template, template_parent = mappings_at(
        obj, (*template, "metadata"), (*template, "spec"), replicas_path[:-1], template, template[:-1]
    )
    if kind.template is not None:
        path: FieldPath = (*template, "spec", FIELD)
        raw, labels = pod_spec.get(FIELD), labels_of(metadata.get("labels"))
    else:
        path, metadata, pod_spec = _fill(kind.anchor, indices), {}, {}
        raw = value_at(obj, path)
        labels = labels_of(value_at(obj, _fill(kind.labels, indices))) if kind.labels else {}
    selector = shared.spec.get("selector")
    addable = _addable(kind, replicas_parent) if kind.api_version == BATCH else kind.addable
    scheduler_name, node_name = texts_at(pod_spec, "schedulerName", "nodeName")
    item = _item(kind, obj, indices) if kind.operator is not None else ""
    return Workload(
        kind=kind,
        namespace=shared.namespace,
        name=shared.name,
        path=path,
        raw_constraints=raw,
        labels=labels,
        labels_known=kind.labels_known,
        addable=addable,
        replicas=_replicas(replicas_parent, replicas_path),
        replicas_written=bool(replicas_path) and integer(replicas_parent.get(str(replicas_path[-1]))) is not None,
        scheduler_name=scheduler_name or DEFAULT_SCHEDULER,
        node_name=node_name,
        affine_to_one_node="affinity" in pod_spec and _affine_to_one_node(pod_spec),
        strategy=_strategy(shared.spec.get("strategy")),
        surges=_surges(shared.spec.get("strategy")),
        selector=selector if kind.template == TEMPLATE_PATH and isinstance(selector, dict) else {},
        annotations=shared.annotations,
        ignored_rules=shared.ignored_rules if is_pod else shared.ignored_rules | _ignored(metadata.get("annotations")),
        owner=shared.owner,
        uid=shared.uid,
        scheduled=is_pod and _was_scheduled(obj.get("status")),
        ignored_by=ignoring(pod_spec),
        by_kueue=has_kueue_gate(pod_spec) or (not is_pod and _asks_kueue(metadata, labels, obj)),
        misplaced=_misplaced(kind, template, (template_parent, pod_template, metadata), pod_spec),
        switches=() if is_pod else _switches((*template, "metadata"), metadata),
        spec=shared.spec,
        pod_spec=pod_spec if kind.template is not None else None,
        given_labels=_given_labels(kind, obj, item, addable - labels.keys()),
        item=item,
    )


def ignoring(pod_spec: Mapping[str, object]) -> str:
    """Return what places a Pod and ignores its constraints; "" if they count, as far as is known."""
    return BY_FARGATE if pod_spec.get("schedulerName") == FARGATE_SCHEDULER else ""


def has_kueue_gate(pod_spec: Mapping[str, object]) -> bool:
    """
    Return whether a Pod waits until Kueue has chosen its nodes.

    upstream: topology_ungater.go (Kueue v0.19)
    """
    gates = [as_mapping(gate).get("name") for gate in as_list(pod_spec.get("schedulingGates"))]
    return KUEUE_TOPOLOGY_GATE in gates


def _asks_kueue(metadata: Mapping[str, object], labels: Labels, obj: Mapping[str, object]) -> bool:
    """
    Return whether Pods of an object whose template has this metadata and these labels get Kueue's gate.

    upstream: pod_webhook.go:PodWebhook.Default, deployment_webhook.go:Webhook.Default (Kueue)
    """
    if KUEUE_TOPOLOGY_ANNOTATIONS.isdisjoint(as_mapping(metadata.get("annotations"))):
        return False
    return KUEUE_QUEUE_LABEL in labels or KUEUE_QUEUE_LABEL in labels_in(obj)


def _addable(kind: Kind, job: Mapping[str, object]) -> frozenset[str]:
    """
    Return the keys of labels that Pods get from a Job with this spec.

    With a manualSelector it adds none for the selector; only with Indexed completions it may add the index.
    (batch/job/strategy.go:generateSelectorIfNeeded, job/job_controller.go:manageJob)
    """
    added = () if job.get("manualSelector") is True else kind.added_labels
    possible = () if job.get("completionMode") in (None, "NonIndexed") else kind.possible_labels
    return frozenset((*added, *possible))


def _given_labels(kind: Kind, obj: Mapping[str, object], item: str, missing: Set[str]) -> Labels:
    """Return the labels that follow from the name of an object; for a Job only those that are `missing`."""
    if kind.operator is not None and kind.operator.gives:
        return _operator_labels(kind.operator, obj, item)
    return _job_labels(kind, obj, missing) if kind.api_version == BATCH else {}


def _item(kind: Kind, obj: Mapping[str, object], indices: Indices) -> str:
    """Return the name of the last list item, or the last key, on the way to a place; "" if there is none."""
    if not indices:
        return ""
    last = max(i for i, part in enumerate(kind.anchor) if part in WILDCARDS)
    if kind.anchor[last] == EACH_KEY:
        return str(indices[-1])
    (name,) = texts_at(as_mapping(value_at(obj, _fill(kind.anchor[: last + 1], indices))), "name")
    return name


def _operator_labels(operator: Operator, obj: Mapping[str, object], item: str) -> Labels:
    """Return the labels that an operator gives the Pods, without those that the object itself may set."""
    (name,) = texts_at(obj, "metadata.name")
    labels: dict[str, str] = {}
    for label in operator.gives:
        known = (name or NAME not in label.value) and (item or ITEM not in label.value)
        here = label.item in ("", item)
        if known and here and not any(_mentions(obj, word) for word in _words_of_others(label)):
            labels[label.key] = label.value.replace(NAME, name).replace(ITEM, item)
    return {key: value for key, value in labels.items() if value and not label_value_errors(value)}


def _words_of_others(label: GivenLabel) -> Iterator[str]:
    """Yield the names with which an object may set another value."""
    if label.yields:
        yield label.key
    if label.unless:
        yield label.unless


def _mentions(obj: object, label_key: str) -> bool:
    """Return whether an object has a label key anywhere but in selectors."""
    unvisited = [obj]
    while unvisited:
        value = unvisited.pop()
        if isinstance(value, dict):
            if label_key in value:
                return True
            unvisited += [member for name, member in value.items() if name != "matchLabels"]
        else:
            unvisited += children(value)
    return False


def _job_labels(kind: Kind, obj: Mapping[str, object], missing: Set[str]) -> Labels:
    """
    Return those of the `missing` labels that the API server writes into the template of a Job before /validate.

    No author can know some parts of the values: RANDOM stands for what follows a generateName, TIME for what a CronJob
    adds to its name, and UID for a uid.
    (batch/job/strategy.go:generateSelector, cronjob/utils.go:getJobName)
    """
    if not missing:
        return {}
    name, generated_from = texts_at(obj, "metadata.name", "metadata.generateName")
    name = name or (f"{generated_from}RANDOM" if generated_from else "")
    job_name = f"{name}-TIME" if name and kind.kind == "CronJob" else name
    values = {"job-name": "" if label_value_errors(job_name) else job_name, "controller-uid": "UID"}
    values_by_key = {key: values.get(key.rpartition("/")[2]) for key in sorted(missing)}  # with or without a prefix
    return {key: value for key, value in values_by_key.items() if value}


def _misplaced(
    kind: Kind, template: FieldPath, places: Sequence[Mapping[str, object]], pod_spec: Mapping[str, object]
) -> tuple[FieldPath, ...]:
    """
    Return the paths of constraints that are in the wrong place, and so have no effect.

    `places` are the parent of the Pod template, the template and its metadata.  In the Pod's spec a name that is nearly
    the field's is misplaced, too, unless the field itself has constraints.
    """
    misplaced: list[FieldPath] = []
    template_parent, pod_template, metadata = places
    if kind.built_in and template and (FIELD in template_parent or FIELD in pod_template or FIELD in metadata):
        paths = (template[:-1], template, (*template, "metadata"))
        misplaced += [(*path, FIELD) for path, place in zip(paths, places, strict=True) if place.get(FIELD)]
    if not pod_spec.get(FIELD) and len(pod_spec) <= MOST_UNKNOWN_FIELDS:
        candidates = [name for name in pod_spec if _SHORTEST_ALIKE <= len(name) <= _LONGEST_ALIKE and pod_spec[name]]
        misplaced += [(*template, "spec", name) for name in candidates if nearest(name, (FIELD,))]
    return tuple(misplaced)


def _switches(path: FieldPath, metadata: Mapping[str, object]) -> tuple[Switch, ...]:
    """Return the labels and annotations of evenkeel in the metadata at `path`, without those that evenkeel writes."""
    switches: list[Switch] = []
    for field_name in ("labels", "annotations"):
        values = metadata.get(field_name)
        # To search one long string is cheap: most objects have none.
        if isinstance(values, dict) and len(values) <= MOST_UNKNOWN_FIELDS and SWITCH_PREFIX in " ".join(values):
            names = [name for name in values if name.startswith(SWITCH_PREFIX) and name != DEFAULTED_BY_ANNOTATION]
            switches += [((*path, field_name, name), values[name]) for name in names]
    return tuple(switches)


def _surges(strategy: object) -> bool:
    """Return whether a rolling update may run more Pods: not with a maxSurge of 0; an absent one is 25%."""
    rolling = strategy.get("rollingUpdate") if isinstance(strategy, dict) else None
    surge = rolling.get("maxSurge") if isinstance(rolling, dict) else None
    return surge not in (0, "0%") or isinstance(surge, bool)  # False equals 0, but has a wrong type.


def _strategy(strategy: object) -> str:
    name = strategy.get("type") if isinstance(strategy, dict) else None
    return name if isinstance(name, str) else ""


def _ignored(annotations: object) -> frozenset[str]:
    written = annotations.get(IGNORE_ANNOTATION) if isinstance(annotations, dict) else None
    return ignored(written) if isinstance(written, str) else frozenset()


def ignored(written: str | None) -> frozenset[str]:
    """Return the rules in the first LONGEST_IGNORE characters of an `evenkeel.dev/ignore` annotation."""
    if not written:
        return frozenset()
    names = written[:LONGEST_IGNORE].split(",")
    return frozenset(name.strip() for name in names) - {""}


def _affine_to_one_node(pod_spec: Mapping[str, object]) -> bool:
    """
    Return whether node affinity requires one node by its name, as the DaemonSet controller writes it into each Pod.

    Terms are ORed, so each must name it.  More than MOST_TEMPLATES are not looked at: no controller writes them.
    """
    path = ("affinity", "nodeAffinity", REQUIRED_TERMS, "nodeSelectorTerms")
    terms = as_list(value_at(pod_spec, path))
    if len(terms) > MOST_TEMPLATES:
        return False
    names_by_term = [_node_names(as_mapping(term)) for term in terms]
    return all(names_by_term) and len(frozenset().union(*names_by_term)) == 1


def _node_names(term: Mapping[str, object]) -> frozenset[str]:
    """Return the node names that a term requires: a node that it matches must have all of them."""
    requirements = as_list(term.get("matchFields"))[:MOST_TEMPLATES]
    names = [as_list(field.get("values")) for field in map(as_mapping, requirements) if _is_on_node_name(field)]
    return frozenset(value for values in names for value in values if isinstance(value, str))


def _is_on_node_name(field: Mapping[str, object]) -> bool:
    return field.get("key") == "metadata.name" and field.get("operator") == "In"


def _was_scheduled(status: object) -> bool:
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return isinstance(conditions, list) and any(
        isinstance(condition, dict) and condition.get("type") == "PodScheduled" for condition in conditions
    )


def _replicas(parent: Mapping[str, object], path: FieldPath) -> int:
    """
    Return the replicas: the last field of `path`, which `parent` has; absent means 1, as the API server reads it.

    A Job never has more Pods than completions (job_controller.go:manageJob).
    """
    written = parent.get(str(path[-1])) if path else None
    if written is None:
        return 1
    replicas = written if type(written) is int else integer(written)
    if replicas is None:
        return 1
    completions = integer(parent.get("completions")) if path[-1] == "parallelism" else None
    return replicas if completions is None else min(replicas, completions)
