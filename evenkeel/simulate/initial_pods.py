"""The Pods of a cluster as they are when a simulation begins, and the PodDisruptionBudgets over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from evenkeel.objects.disruption_budget import DisruptionBudget, read_disruption_budget
from evenkeel.objects.pod_object import PodObject
from evenkeel.objects.workload_object import read_workload_object
from evenkeel.placement.subject import maker_of
from evenkeel.scheduler.pod_counts import FINISHED, NO_REQUESTS, BoundPod, label_set
from evenkeel.scheduler.snapshot import read_object
from evenkeel.scheduler.volumes import read_mounts
from evenkeel.simulate.controllers import DAEMON_SET, OF_JOB, Makers
from evenkeel.simulate.disruption import Budget
from evenkeel.simulate.node_changes import Ground
from evenkeel.simulate.pod import InitialPod, Maker, PodClass
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.kinds import CORE
from webhook.kubernetes.reader import Reader
from webhook.kubernetes.references import ObjectKey, ObjectRef
from webhook.spread.constraint import read_selector
from webhook.spread.selectors import as_selector
from webhook.spread.taints import read_limited_tolerations

# Owners of Pods that have no subresource scale.
WITHOUT_SCALE = frozenset({("apps", DAEMON_SET), OF_JOB, ("", "Node")})


def initial_pod(pod: PodObject, cluster_makers: Makers, preemptor_priority: int) -> InitialPod | None:
    """
    Return a Pod as the cluster has it, None for one that has finished.

    `preemptor_priority`: Pods of a lower priority may be preempted.
    """
    if pod.phase in FINISHED:
        return None
    revision, maker = cluster_makers.revision_and_maker(pod)
    _, _, parsed = read_object(pod.raw, CORE, "Pod", cluster_makers.cluster.features)
    bound = parsed if isinstance(parsed, BoundPod) else None
    owner = pod.owner
    of_daemon_set = owner is not None and owner.kind == DAEMON_SET
    tied_to_node = of_daemon_set or pod.static
    if maker is None and owner is not None and not tied_to_node and cluster_makers.makes_anew(owner):
        maker = cluster_makers.maker(owner, pod)
    if maker is not None and bound is None:
        maker = maker._replace(of_class=_own_class(pod, maker.of_class, cluster_makers))
    may_be_preempted = of_daemon_set and pod.priority < preemptor_priority
    if maker is None and (bound is None or may_be_preempted):
        maker = Maker(cluster_makers.as_it_is(pod), of_daemon_set, volumes=cluster_makers.volumes_of(pod))
    condition = pod.ready_condition
    return InitialPod(
        namespace=pod.namespace,
        labels=label_set(pod.labels) if bound is None else bound.labels,
        node=bound.node if bound is not None else "",
        requests=(bound.requests if bound is not None else None)
        or (maker.of_class.pod.requests if maker else NO_REQUESTS),
        spreads=not pod.terminating,
        ready=condition.ready and bound is not None,
        ready_at=condition.since,
        created=pod.created_at,
        cost=pod.deletion_cost,
        restarts=pod.restarts,
        tolerations=read_limited_tolerations(pod.spec),
        home=_home(pod, maker) if tied_to_node and revision < 0 else "",
        maker=maker,
        revision=revision,
        ordinal=pod.ordinal,
        affinity=bound.affinity if bound is not None else None,
        ports=bound.ports if bound is not None else (),
        mounts=read_mounts(Reader(), pod.raw) or None,
        priority=pod.priority,
        started=bound.started if bound is not None else inf,
        preempted=bound.preempted if bound is not None else False,
        nominated=pod.nominated_node if bound is None else "",
        pending=bound is not None and pod.phase == "Pending",
        source=str(maker_of(pod, cluster_makers.cluster.others) or ObjectRef.of(pod.raw)),
        name=pod.name,
        gone_at_once=pod.gone_at_once and (maker is None or not maker.waits_for_kubelet),
    )


def _own_class(pod: PodObject, of_template: PodClass, cluster_makers: Makers) -> PodClass:
    """
    Return the class of a Pod that waits.

    It may ask for something else than its template: an autoscaler or a webhook changes Pods, and templates change.
    """
    as_it_is = cluster_makers.as_it_is(pod)
    return of_template if as_it_is.asks_for_the_same(of_template) else as_it_is


def _home(pod: PodObject, maker: Maker | None) -> str:
    """Return the node on which a Pod of a DaemonSet or the kubelet is kept; "" if it names none."""
    return pod.node or (maker.of_class.own_node if maker is not None else "")


def on_added_nodes(
    initial: Mapping[str, Sequence[InitialPod]], grounds: Iterable[Ground]
) -> dict[str, tuple[InitialPod, ...]]:
    """Return the Pods that start on each added node: those tied to the node that it is modelled on."""
    starting: dict[str, tuple[InitialPod, ...]] = {}
    for name, model in (pair for ground in grounds for pair in ground.like):
        # A node may be modelled on one that was added in an earlier step.
        on_model = starting[model] if model in starting else initial.get(model, ())
        starting[name] = tuple([_kept_on(name, pod) for pod in on_model if pod.home and pod.spreads])
    return starting


def _kept_on(name: str, pod: InitialPod) -> InitialPod:
    """Return a Pod such as this one, tied to another node."""
    return replace(pod, node=name, home=name, maker=pod.maker.on(name) if pod.maker is not None else None)


def initial_budgets(cluster_makers: Makers) -> Iterator[Budget]:
    """Yield the PodDisruptionBudgets, each with the Pods that its owners want."""
    pods_by_namespace: dict[str, list[PodObject]] = {}
    for pod in cluster_makers.pods:
        pods_by_namespace.setdefault(pod.namespace, []).append(pod)
    for _, raw in sorted(cluster_makers.cluster.others.items()):
        if (budget := read_disruption_budget(raw)) is not None:
            yield _with_pods(budget, pods_by_namespace.get(budget.namespace, ()), cluster_makers)


def _with_pods(budget: DisruptionBudget, pods: Iterable[PodObject], cluster_makers: Makers) -> Budget:
    """Return a budget with those of the Pods of its namespace that it selects."""
    selector = as_selector(read_selector(Reader(), budget.selector, ("spec", "selector")))
    owners, unready = Counter[ObjectKey](), 0
    for pod in pods:
        if selector.matches(pod.labels):
            active = not pod.terminating and pod.phase not in FINISHED
            if pod.owner is not None:
                owners[pod.owner.key(pod.namespace)] += active  # An owner without active Pods is listed, too.
            if active and pod.node and not pod.ready_condition.ready:
                unready += 1
    others = cluster_makers.cluster.others
    simulated = {owner: str(named.ref) for owner in owners if (named := cluster_makers.of_set.get(owner)) is not None}
    return Budget(
        budget,
        selector,
        expected=sum(_scale(others.get(owner), number) for owner, number in owners.items() if owner not in simulated),
        workloads=tuple(dict.fromkeys(simulated.values())),
        unready=unready,
        untold=not owners or any((owner.group, owner.kind) in WITHOUT_SCALE for owner in owners),
    )


def _scale(owner: Raw | None, pods: int) -> int:
    """Return how many Pods an owner wants; where it is not known, as many as there are."""
    return pods if owner is None else read_workload_object(owner).replicas or 0
