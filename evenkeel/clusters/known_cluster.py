"""What commands that explain placement know of a cluster: read once, with no more kept than they ask for."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from evenkeel.clusters import reading, selection, sources
from evenkeel.clusters.contents import Contents
from evenkeel.clusters.reading import Through, counted
from evenkeel.placement.created_pods import PRIORITY_CLASSES, heeded_classes
from evenkeel.scheduler.snapshot import PRIORITY_CLASS, Snapshot, from_objects
from evenkeel.scheduler.snapshot_changes import DEVICE_CLASSES, without_missing
from evenkeel.scheduler.storage import (
    ATTACHMENTS,
    CAPACITIES,
    CLAIMS,
    CLASSES,
    CSI_DRIVERS,
    CSI_NODES,
    NO_STORAGE,
    PERSISTENT_VOLUMES,
    Storage,
)
from evenkeel.scheduler.storage_objects import STORAGE_KINDS, STORAGE_RESOURCES
from webhook.cli import options
from webhook.cli.usage import UsageError
from webhook.findings.wording import LINE_LIMIT, first_of, one_line
from webhook.kubernetes.features import LATEST, Features, parse_version, unknown
from webhook.kubernetes.fields import INVALID, FieldError, FieldPath, Raw, path_text, texts_at, value_at
from webhook.kubernetes.kinds import CORE, NO_KINDS, Kinds
from webhook.kubernetes.labels import is_subdomain
from webhook.kubernetes.likeness import most_like
from webhook.kubernetes.reader import Reader, brief
from webhook.kubernetes.references import ObjectKey, ObjectRef
from webhook.kubernetes.workload import parse_workloads
from webhook.spread.cluster_view import SnapshotError
from webhook.spread.validation import in_one_line

ASSUMED = "The file does not name its Kubernetes version. Assuming {}. If that is wrong, set --kubernetes-version."


# Resources that matter to some Pods only.  If they may not be listed, a note is made for such a Pod.
_OF_SOME_PODS = frozenset({DEVICE_CLASSES, "limitranges", "priorityclasses", "runtimeclasses", *STORAGE_RESOURCES})
_WITHOUT_NODES = "without nodes, no placement can be judged; ask for the ClusterRole evenkeel-viewer"


# Kinds that nothing reads once the snapshot has them.  Of the storage kinds there may be very many objects.
_READ_ONCE = ("Node", "Namespace", *[kind for _, kind in STORAGE_KINDS])


class Known(NamedTuple):
    """What is known of a cluster."""

    snapshot: Snapshot
    features: Features
    pods: tuple[Raw, ...]  # those that were asked for
    others: Mapping[ObjectKey, Raw]  # all objects but Pods, nodes, namespaces and volumes
    namespaces: frozenset[str]  # that the cluster has, or that its objects are in
    notes: tuple[str, ...]  # what cannot be judged: it may not be read, or is newer than evenkeel knows
    assumed: tuple[str, ...] = ()  # a note on the version that is assumed, if it is not known
    time: str = ""  # when it was read, "" if that is not known
    without_nodes: str = ""  # the note on nodes that may not be listed
    missing: Mapping[str, str] = MappingProxyType({})  # why a kind may not be listed, by resource; some have no note
    replaced: Mapping[ObjectKey, Raw] = MappingProxyType({})  # the cluster's own, where the command has another object


def read(
    source: sources.Source,
    version: str | None,
    wanted: Callable[[Raw], bool],
    namespace: str = "",  # that was asked for; read alone if Pods of all namespaces may not be listed
    more: Iterable[Raw] = (),  # added objects, which replace those of the same name
    *,
    through: Through = counted,  # every object of the cluster goes through it as it is read
    needs_nodes: bool = True,
    needs_pods: bool = False,
    applied: Iterable[Raw] = (),  # objects of files, whose namespaces may be yet to be made: unknown ones are noted
    kinds: Kinds = NO_KINDS,  # custom resources to read of a live cluster
) -> Known:
    """
    Return the cluster, with the Pods that are `wanted`.

    UsageError if nothing may be listed, or not what is needed, or if a file of kubectl has no nodes that are needed, or
    if the cluster shows that it has no such namespace.
    """
    contents = reading.contents(source, kinds=kinds)
    added = list(more)
    known = _read(contents, source, version, wanted, added, through)
    shows_all = "namespaces" not in contents.missing
    if "pods" in contents.missing and namespace:
        contents = reading.contents(source, namespace, kinds)
        known = _read(contents, source, version, wanted, added, through)
        known = known._replace(
            snapshot=replace(known.snapshot, unread=(*known.snapshot.unread, "Pods of other namespaces")),
            notes=(
                *known.notes,
                "Pods of other namespaces cannot be listed, so a node may have less room than shown: they may use room "
                "and ports, or keep Pods off nodes by anti-affinity.",
            ),
        )
    missing = contents.missing
    if "pods" in missing and not (known.others or known.snapshot.nodes):
        raise UsageError(reading.NOTHING_LISTED)
    if needs_pods and "pods" in missing:
        why = one_line(missing["pods"], LINE_LIMIT)
        raise UsageError(f"pods: {why}; without Pods, those that wait cannot be listed; {reading.ASK}")
    if "nodes" in missing and not known.snapshot.nodes:
        known = known._replace(without_nodes=f"nodes: {one_line(missing['nodes'], LINE_LIMIT)}; {_WITHOUT_NODES}")
    if needs_nodes and known.without_nodes:
        raise UsageError(known.without_nodes)
    names = {namespace, *_namespaces_of(applied)}
    unknown_namespaces = [
        why
        for name in sorted(names)
        if shows_all and (why := selection.unknown_namespace(name, known.namespaces, source))
    ]
    if unknown_namespaces and not applied:
        raise UsageError(unknown_namespaces[0])
    notes = [
        known.without_nodes if resource == "nodes" and known.without_nodes else cannot_be_listed(resource, why)
        for resource, why in missing.items()
        if resource not in _OF_SOME_PODS
    ]
    notes += unknown_namespaces
    if not (known.snapshot.nodes or source.live):
        if needs_nodes and not contents.time:
            raise UsageError(f"{source.cluster}: holds no Node; {sources.WHOLE_CLUSTER}")
        notes.append(
            "The file has no Node, so no placement can be judged: add the output of kubectl get nodes -o yaml."
        )
    snapshot = without_missing(known.snapshot, missing)
    storage = snapshot.storage or NO_STORAGE
    unread = storage.unread
    if contents.namespace:  # Drivers report free storage in their own namespaces.
        unread |= {CAPACITIES}
    if not (source.live or contents.time):  # kubectl wrote it, maybe without some kinds
        unread |= _lacking(storage)
        snapshot = replace(snapshot, budgets=snapshot.budgets or None)
    snapshot = replace(snapshot, storage=replace(storage, unread=unread))
    return known._replace(snapshot=snapshot, notes=(*known.notes, *notes), missing=missing)


def _namespaces_of(applied: Iterable[Raw]) -> set[str]:
    """Return the namespaces of objects, but for those that every cluster has or that are among the objects."""
    refs = [ObjectRef.of(obj) for obj in applied]
    made = {ref.name for ref in refs if ref.kind == "Namespace"}
    return {ref.namespace for ref in refs if is_subdomain(ref.namespace)} - made - {selection.DEFAULT}


def _lacking(storage: Storage) -> frozenset[str]:
    """Return the resources of which a file of kubectl has no object; most likely kubectl was not asked for them."""
    objects_of = {
        CLAIMS: storage.claims,
        PERSISTENT_VOLUMES: storage.volumes,
        CLASSES: storage.classes,
        CSI_NODES: storage.csi_nodes,
        CSI_DRIVERS: storage.csi_drivers,
        CAPACITIES: storage.capacities,
        ATTACHMENTS: storage.attachments,
    }
    return frozenset(resource for resource, objects in objects_of.items() if not objects)


def unlisted_classes(new_pod: Raw, known: Known) -> Iterator[str]:
    """
    Yield a note for each kind that may not be listed, and from which kube-apiserver would fill in fields of the Pod.

    If a file has no PriorityClass at all, a note names that of the Pod.
    """
    (name,) = texts_at(new_pod, "spec.priorityClassName")
    has_none = not any((key.group, key.kind) == PRIORITY_CLASS for key in known.others)
    for resource in heeded_classes(new_pod):
        if resource in known.missing:
            yield cannot_be_listed(resource, known.missing[resource])
        elif resource == PRIORITY_CLASSES and name and has_none:
            yield one_line(
                f"The file has no PriorityClass: assuming the value 0 for {name}; if it is another, dump again.",
                LINE_LIMIT,
            )


def cannot_be_listed(resource: str, why: str) -> str:
    """Return the note on a kind that may not be listed."""
    return one_line(f"{resource} cannot be listed: {why}", LINE_LIMIT)


def _read(
    contents: Contents,
    source: sources.Source,
    version: str | None,
    wanted: Callable[[Raw], bool],
    more: list[Raw],
    through: Through,
) -> Known:
    where = f"{'--cluster live' if source.live else source.cluster}: "  # begins an error, unless it is in `more`
    known_version, objects = version or contents.kubernetes_version, contents.objects
    kubelet: Features | None = None
    if not (known_version or contents.time):  # kubectl wrote it, so all is in memory already
        all_objects = list(objects)
        kubelet, objects = _newest_kubelet(all_objects), iter(all_objects)
    features = kubelet or (options.given_features(known_version) if known_version else LATEST)
    notes = tuple(filter(None, [unknown(features)])) if known_version else ()
    pods: list[Raw] = []
    others: dict[ObjectKey, Raw] = {}
    replaced: dict[ObjectKey, Raw] = {}
    keys_of_more = {place(obj) for obj in more}
    namespaces: set[str] = set()

    def all_read() -> Iterator[Raw]:
        nonlocal where
        for obj in through(objects):
            namespaces.add(reading.namespace_shown(obj))
            if keys_of_more and (key := place(obj)) in keys_of_more:
                replaced[key] = obj
            else:
                keep(obj)
                yield obj
        where = ""
        for obj in more:
            keep(obj)
            yield obj

    def keep(obj: Raw) -> None:
        if (obj.get("apiVersion"), obj.get("kind")) == (CORE, "Pod"):
            if wanted(obj):
                pods.append(obj)
        elif obj.get("kind") not in _READ_ONCE:
            others[place(obj)] = obj

    gc.disable()  # Nearly all that is read stays: looking for garbage in it, now or later, takes time in vain.
    try:
        snapshot = from_objects(all_read(), features)
    except SnapshotError as error:
        raise UsageError(f"{where}{error}") from error
    finally:
        gc.freeze()
        gc.enable()
    if contents.serves_node_pools:
        snapshot = replace(snapshot, serves_node_pools=True)
    which = f"1.{features.minor}{', the version of the newest kubelet' if kubelet else ''}"
    assumed = () if known_version else (ASSUMED.format(which),)
    only = "" if source.live else contents.namespace
    told = frozenset({only} if only else namespaces - {""})
    return Known(snapshot, features, tuple(pods), others, told, notes, assumed, contents.time, replaced=replaced)


def _newest_kubelet(objects: Iterable[Raw]) -> Features | None:
    """Return the features of the newest kubelet, which is never newer than the API server; None if none is told."""
    versions = []
    for obj in objects:
        if obj.get("kind") == "Node":
            with suppress(ValueError):
                versions.append(parse_version(texts_at(obj, "status.nodeInfo.kubeletVersion")[0]))
    return max(versions, default=None)


class Origin(NamedTuple):
    """Where a cluster is from."""

    cluster: str  # in words
    minor: int  # of the Kubernetes version
    time: str  # when it was read, as `2026-01-31T10:00:00Z`

    @property
    def read(self) -> datetime | None:
        """When it was read, None if that cannot be told."""
        try:
            read = datetime.fromisoformat(self.time)
        except ValueError:
            return None
        return read if read.tzinfo else read.replace(tzinfo=UTC)

    def __str__(self) -> str:
        read = self.read
        time = read.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if read else "at an unknown time"
        return f"{one_line(self.cluster, LINE_LIMIT)}, {time}, Kubernetes 1.{self.minor}"


def origin(source: sources.Source, known: Known) -> Origin:
    """Return where a cluster is from, for a page; without a time, it was read now."""
    cluster = f"the cluster {source.context}".strip() if source.live else source.cluster or "no cluster"
    return Origin(cluster, known.features.minor, known.time or datetime.now(UTC).isoformat())


def place(obj: Raw) -> ObjectKey:
    """Return the group, kind, namespace and name of an object."""
    api_version, kind, namespace, name = texts_at(obj, "apiVersion", "kind", "metadata.namespace", "metadata.name")
    return ObjectKey(api_version.rpartition("/")[0], kind, namespace, name)


def in_its_namespace(ref: ObjectRef, keys: Iterable[ObjectKey]) -> ObjectRef:
    """Return an object that names no namespace in the only one that has an object of its name; else as it is."""
    namespaces = {key.namespace for key in keys if key._replace(namespace="") == ref.key}
    return ref._replace(namespace=namespaces.pop()) if len(namespaces) == 1 else ref


def not_found(ref: ObjectRef, known: Known) -> str:
    """
    Return the message for an object that is not in the cluster: where one of its name is, or which one may be meant.

    Only the Pods that were asked for are known.  Names in a dump may hold anything: invalid ones are not printed.
    """
    keys = [*known.others, *map(place, known.pods)]
    alike = [key for key in keys if (key.group, key.kind) == (ref.group, ref.kind) and is_subdomain(key.name)]
    elsewhere = sorted({key.namespace for key in alike if key.name == ref.name if is_subdomain(key.namespace)})
    candidates = sorted({key.name for key in alike if ref.namespace in ("", key.namespace)})
    names = first_of(elsewhere or candidates)
    if elsewhere and not ref.namespace:
        return f"{ref}: is in the namespaces {names}; name one of them with -n"
    if len(elsewhere) == 1:
        hint = f"{ref.kind}/{ref.name} is in namespace {names}: add -n {names}"
    elif elsewhere:
        hint = f"{ref.kind}/{ref.name} is in the namespaces {names}: name one of them with -n"
    elif close := most_like(ref.name, candidates[: selection.MOST_COMPARED]):
        hint = f"did you mean {ref.kind.lower()}/{close}?"
    elif candidates:
        hint = f"the names there are {names}"
    else:
        hint = "to look in another namespace: -n NAME" if ref.namespace else "to see what there is: evenkeel report -A"
    return f"{ref}: not found in the cluster; {hint}"


def unreadable(raw: Raw, kinds: Kinds) -> tuple[str, ...]:
    """Return, line by line, which fields of a Pod or a template are absent or have another type."""
    reader, ref = Reader(), ObjectRef.of(raw)
    for workload in parse_workloads(raw, kinds):
        if workload.kind.template is None:
            continue
        path, wanted = (("spec",), "that of a Pod") if workload.is_pod else (workload.path[:-2], "a Pod template")
        written = value_at(raw, path)
        if written is None or not (written or workload.is_pod):
            return (
                f"{ref}: {path_text(path)}: found {'none' if written is None else brief(written)}, wanted {wanted}",
            )
        if not workload.is_pod:
            _read_template(reader, written, path)
            if workload.kind.built_in and workload.kind.replicas is not None:
                _read_replicas(reader, value_at(raw, workload.kind.replicas), workload.kind.replicas)
    return tuple([f"{ref}: {in_one_line(error)}" for error in reader.errors])


def _read_template(reader: Reader, written: object, path: FieldPath) -> None:
    template = reader.mapping(written, path)
    reader.mapping(template.get("spec"), (*path, "spec"))
    metadata = reader.mapping(template.get("metadata"), (*path, "metadata"))
    reader.string_map(metadata.get("labels"), (*path, "metadata", "labels"))


def _read_replicas(reader: Reader, written: object, path: FieldPath) -> None:
    if (reader.integer(written, path) or 0) < 0:
        reader.errors.append(FieldError(INVALID, path, written, "must be 0 or more"))


def in_namespace(obj: Raw, namespace: str) -> Raw:
    """Return the object in the namespace that it names, or else in this one; malformed metadata stays as it is."""
    metadata = obj.get("metadata", {})
    metadata = {} if metadata is None else metadata
    if obj.get("kind") in ("Node", "Namespace") or not isinstance(metadata, dict) or metadata.get("namespace"):
        return obj
    return {**obj, "metadata": {**metadata, "namespace": namespace}}
