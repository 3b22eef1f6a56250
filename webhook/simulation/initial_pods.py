"""The Pods of a cluster as they are when a simulation begins, and the PodDisruptionBudgets over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.objects.fields import as_mapping, mappings_at, texts_at, value_at
from webhook.objects.kinds import CORE
from webhook.objects.labels import labels_of
from webhook.objects.names import MIRROR_ANNOTATION
from webhook.objects.reading import Reader
from webhook.objects.references import ObjectKey, controller_of
from webhook.objects.times import seconds_at
from webhook.placement.subject import Raw
from webhook.scheduler.constraint import read_selector
from webhook.scheduler.counts import FINISHED, NO_REQUESTS, BoundPod, label_set
from webhook.scheduler.selectors import as_selector
from webhook.scheduler.snapshot import read_object
from webhook.simulation.controllers import Controllers
from webhook.simulation.disruption import Budget
from webhook.simulation.pod import InitialPod, Maker
from webhook.simulation.reading import (
    deletion_cost,
    int_or_percent,
    ordinal_of,
    readiness,
    replicas_of,
    restarts,
    tolerations_of,
)


def found_pod(raw: Raw, makers: Controllers, of_sets: Sequence[Maker]) -> InitialPod | None:
    """A Pod as the cluster has it; None for one that has finished."""
    metadata, spec, status = mappings_at(raw, ("metadata",), ("spec",), ("status",))
    (phase,) = texts_at(status, "phase")
    if phase in FINISHED:
        return None
    owner = controller_of(metadata)
    namespace, name = texts_at(metadata, "namespace", "name")
    revision = makers.revision(raw)
    _, _, kept = read_object(raw, CORE, "Pod", makers.cluster.features)
    bound = kept if isinstance(kept, BoundPod) else None
    annotations = as_mapping(metadata.get("annotations"))
    maker = of_sets[revision] if revision >= 0 else None
    fixed = MIRROR_ANNOTATION in annotations or (owner is not None and owner.kind == "DaemonSet")
    if maker is None and owner is not None and not fixed:
        maker = makers.maker(owner, namespace, raw)
    if maker is None and bound is None:
        maker = Maker(makers.as_it_is(raw))
    ready, since = readiness(status, phase)
    return InitialPod(
        namespace,
        label_set(labels_of(metadata.get("labels"))) if bound is None or bound.spreads else (),
        bound.node if bound is not None else "",
        (bound.requests if bound is not None else None) or (maker.of_class.pod.requests if maker else NO_REQUESTS),
        metadata.get("deletionTimestamp") is None,
        ready and bound is not None,
        since,
        seconds_at(metadata.get("creationTimestamp")),
        deletion_cost(annotations),
        restarts(status),
        tolerations_of(spec),
        fixed,
        maker,
        revision,
        ordinal_of(name),
    )


def found_budgets(makers: Controllers) -> Iterator[Budget]:
    """The PodDisruptionBudgets, with what the workloads of their Pods want."""
    for (_, kind, namespace, name), raw in sorted(makers.cluster.others.items()):
        if kind != "PodDisruptionBudget":
            continue
        selector = as_selector(read_selector(Reader(), value_at(raw, ("spec", "selector")), ("spec", "selector")))
        owners, unready = dict[ObjectKey, None](), 0
        for pod in makers.cluster.pods:
            metadata, status = mappings_at(pod, ("metadata",), ("status",))
            inside = texts_at(metadata, "namespace")[0] == namespace
            if inside and selector.matches(labels_of(metadata.get("labels"))):
                if (owner := controller_of(metadata)) is not None:
                    owners[owner.key(namespace)] = None
                phase = texts_at(status, "phase")[0]
                bound = texts_at(pod, "spec.nodeName")[0] and metadata.get("deletionTimestamp") is None
                unready += bool(bound and phase not in FINISHED and not readiness(status, phase)[0])
        beside = [makers.cluster.others.get(owner, {}) for owner in owners if owner not in makers.revisions]
        spec = as_mapping(raw.get("spec"))
        yield Budget(
            namespace,
            name,
            selector,
            int_or_percent(spec.get("minAvailable")),
            int_or_percent(spec.get("maxUnavailable")),
            sum(replicas_of(one, 0) for one in beside),
            any(owner in makers.revisions for owner in owners),
            unready,
            texts_at(spec, "unhealthyPodEvictionPolicy")[0] == "AlwaysAllow",
        )
