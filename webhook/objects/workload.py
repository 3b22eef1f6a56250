"""
Any object with a Pod template: where it is, how many replicas, which labels its Pods have and which may be added.

    Deployment ── spec.template ──> Workload(labels + pod-template-hash, raw constraints, owner, replicas)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from webhook.objects.fields import FieldPath, as_list, as_mapping, text_of, value_at
from webhook.objects.kinds import EACH, FIELD, KINDS, TEMPLATE, Kind, find_kinds
from webhook.objects.labels import Labels, labels_of
from webhook.objects.names import IGNORE_ANNOTATION
from webhook.objects.references import Owner, controller_of

Indices = tuple[int, ...]
MOST_TEMPLATES = 50  # of one object
LONGEST_IGNORE = 4_096


@dataclass(frozen=True, slots=True)
class Workload:
    """One Pod template, or a Pod, of an object; `path` is where its constraints stand in the object."""

    kind: Kind
    namespace: str
    name: str
    path: FieldPath
    raw_constraints: object
    labels: Labels
    labels_known: bool
    addable: frozenset[str]
    replicas: int
    scheduler_name: str
    node_name: str
    affine_to_one_node: bool
    strategy: str
    selector: Mapping[str, object]
    annotations: Labels
    ignored_rules: frozenset[str]
    owner: Owner | None
    uid: str
    scheduled: bool

    @property
    def is_pod(self) -> bool:
        return self.kind.template == ()

    @property
    def in_template(self) -> bool:
        """Whether the constraints stand in a Pod template, or are a Pod's own."""
        return self.kind.template is not None

    @property
    def pinned(self) -> bool:
        """Whether each of its Pods can go to one node only; an owner reference says nothing: anybody may write it."""
        return self.kind.kind == "DaemonSet" or bool(self.node_name) or self.affine_to_one_node

    @property
    def stored(self) -> bool:
        """Whether this is a Pod that an API server has accepted, so that its matchLabelKeys are already merged."""
        return self.is_pod and bool(self.uid)

    @property
    def has_constraints(self) -> bool:
        return self.raw_constraints not in (None, [])

    def pods_labels(self) -> Labels:
        """The labels its Pods have at least, with a stand-in for each value that only the controller knows."""
        return {**dict.fromkeys(self.kind.added_labels, "added"), **self.labels}

    def title(self) -> str:
        return (
            f'{self.kind.kind} "{self.namespace}/{self.name}"' if self.namespace else f'{self.kind.kind} "{self.name}"'
        )


def parse_workloads(obj: Mapping[str, object], kinds: Iterable[Kind] = KINDS) -> tuple[Workload, ...]:
    """
    The workloads in an object, none if its kind is not known; no more than can be judged, and one.

    Anything that has the wrong type reads as if it were absent, except the constraints, which are kept as they are.
    """
    found = find_kinds(obj, kinds)
    if not found:
        return ()
    metadata = as_mapping(obj.get("metadata"))
    whole = _Whole(obj, metadata, labels_of(metadata.get("annotations")), controller_of(metadata))
    places = ((kind, indices) for kind in found for indices in _expand(obj, kind))
    return tuple(_workload(whole, kind, indices) for kind, indices in islice(places, MOST_TEMPLATES + 1))


@dataclass(frozen=True, slots=True)
class _Whole:
    """What all workloads of an object share."""

    obj: Mapping[str, object]
    metadata: Mapping[str, object]
    annotations: Labels
    owner: Owner | None


def _expand(obj: Mapping[str, object], kind: Kind) -> Iterator[Indices]:
    """
    For each place where a kind may have its Pods described, the indices that stand for the wildcards in its path.

    A custom resource may do without its template, or have it in some items of a list only: an Argo Rollout refers to
    that of a Deployment, say.
    """
    places: Iterator[tuple[Indices, object]] = iter([((), obj)])
    for part in kind.anchor:
        places = _items(places) if part == EACH else _members(places, str(part))
    bare = kind.built_in or kind.template is None
    return (at for at, value in places if bare or isinstance(value, dict))


def _items(places: Iterable[tuple[Indices, object]]) -> Iterator[tuple[Indices, object]]:
    return (((*at, i), item) for at, value in places for i, item in enumerate(as_list(value)))


def _members(places: Iterable[tuple[Indices, object]], name: str) -> Iterator[tuple[Indices, object]]:
    return ((at, as_mapping(value).get(name)) for at, value in places)


def _fill(path: FieldPath, indices: Sequence[int]) -> FieldPath:
    left = iter(indices)
    return tuple(next(left, 0) if part == EACH else part for part in path)


def _workload(whole: _Whole, kind: Kind, indices: Sequence[int]) -> Workload:
    obj, metadata = whole.obj, whole.metadata
    if kind.template is not None:
        template_path = _fill(kind.template, indices)
        template = as_mapping(value_at(obj, template_path))
        path: FieldPath = (*template_path, "spec", FIELD)
        labels = as_mapping(template.get("metadata")).get("labels")
    else:
        template, path = {}, _fill(kind.anchor, indices)
        labels = value_at(obj, _fill(kind.labels, indices)) if kind.labels is not None else None
    pod_spec, spec = as_mapping(template.get("spec")), as_mapping(obj.get("spec"))
    is_pod = kind.template == ()
    inherited = {} if is_pod else labels_of(as_mapping(template.get("metadata")).get("annotations"))
    return Workload(
        kind=kind,
        namespace=text_of(metadata.get("namespace")),
        name=text_of(metadata.get("name")) or text_of(metadata.get("generateName")),
        path=path,
        raw_constraints=value_at(obj, path),
        labels=labels_of(labels),
        labels_known=kind.template is not None or kind.labels is not None,
        addable=kind.addable,
        replicas=_replicas(obj, kind, indices),
        scheduler_name=text_of(pod_spec.get("schedulerName")) or "default-scheduler",
        node_name=text_of(pod_spec.get("nodeName")),
        affine_to_one_node=_affine_to_one_node(pod_spec),
        strategy=text_of(as_mapping(spec.get("strategy")).get("type")),
        selector=as_mapping(spec.get("selector")) if kind.template == TEMPLATE else {},
        annotations=whole.annotations,
        ignored_rules=_ignored(whole.annotations) | _ignored(inherited),
        owner=whole.owner,
        uid=text_of(metadata.get("uid")),
        scheduled=is_pod and _was_scheduled(obj),
    )


def _ignored(annotations: Labels) -> frozenset[str]:
    return ignored(annotations.get(IGNORE_ANNOTATION))


def ignored(written: str | None) -> frozenset[str]:
    """The rules that an annotation silences; of a very long one, those in its beginning."""
    if not written:
        return frozenset()
    names = written[:LONGEST_IGNORE].split(",")
    return frozenset(name.strip() for name in names) - {""}


def _affine_to_one_node(pod_spec: Mapping[str, object]) -> bool:
    """As the DaemonSet controller pins each Pod: node affinity requires a node by its name."""
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    terms = as_list(value_at(pod_spec, path)) if "affinity" in pod_spec else []
    fields = [as_list(as_mapping(term).get("matchFields")) for term in terms[:MOST_TEMPLATES]]
    return bool(fields) and all(
        any(as_mapping(one).get("key") == "metadata.name" and as_mapping(one).get("operator") == "In" for one in those)
        for those in fields
    )


def _was_scheduled(obj: Mapping[str, object]) -> bool:
    conditions = as_list(as_mapping(obj.get("status")).get("conditions"))
    return any(isinstance(one, dict) and one.get("type") == "PodScheduled" for one in conditions)


def _replicas(obj: Mapping[str, object], kind: Kind, indices: Sequence[int]) -> int:
    """Absent means 1, as the API server reads it."""
    found = value_at(obj, _fill(kind.replicas, indices)) if kind.replicas is not None else None
    return found if isinstance(found, int) and not isinstance(found, bool) else 1
