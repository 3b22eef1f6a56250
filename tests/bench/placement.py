"""
`make bench`, its fourth part: what placing a Pod costs, beside the scheduler's own plugins PodTopologySpread and
InterPodAffinity.

    5,000 nodes, 150,000 Pods ──> evenkeel: view, counts, filter, score, normalise; on one CPU
                              ──> kube-scheduler's plugin, in Go (tests/oracle): PreFilter and Filter; PreScore, Score
                                  and NormalizeScore; of all nodes, on all CPUs

For InterPodAffinity, 10,000 of the Pods have terms.

Both must find the same: how many nodes pass, and the sum of all scores.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from statistics import median

from evenkeel.scheduler.incoming import read_incoming_pod
from evenkeel.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import from_objects
from tests.bench.cluster import NAMESPACES, NODES, PODS, ZONES, labels_of
from tests.bench.page import as_far_as_possible, fill
from tests.bench.reviews import machine
from tests.oracle.building import program
from tests.oracle.recording import ask
from tests.support.build import constraint
from tests.support.kubernetes_source import NEWEST
from tests.support.placement import filter_nodes, score_nodes
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.reader import Reader
from webhook.spread.constraint import parse_constraints

ROUNDS = 201
KEYS = ZONE, HOST = ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
AFFINE, AFFINE_PODS = 500, 20  # Workloads with terms, and how many Pods of each have them.
BOUND = 3_000  # µs


def node(i):
    labels = {"kubernetes.io/hostname": f"node-{i}", KEYS[0]: ZONES[i % 3]}
    tainted = {"spec": {"taints": [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}]}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{i}", "labels": labels}} | (
        {} if i % 50 else tainted
    )


def pod(i, on):
    """A Pod of one of 2,000 workloads, ten in each namespace."""
    metadata = {"name": f"pod-{i}", "namespace": f"team-{i % NAMESPACES}", "uid": f"u{i}"}
    metadata["labels"] = {**labels_of(i % 2_000), KEYS[0]: ZONES[on % 3]}
    spec = {"nodeName": f"node-{on}", "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def incoming(workload):
    """The next Pod of a workload, spread by zone and node, hard and soft."""
    labels = labels_of(workload)
    selector = {"labelSelector": {"matchLabels": {"app": labels["app"]}}}
    constraints = [
        constraint(topologyKey=key, whenUnsatisfiable=action, maxSkew=skew, **selector)
        for action, skew in ((HARD, 2), (SOFT, 1))
        for key in KEYS
    ]
    metadata = {"name": "incoming", "namespace": f"team-{workload % NAMESPACES}", "labels": labels}
    spec = {"topologySpreadConstraints": constraints, "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


class Decisions:
    """A cluster, and decisions in it."""

    def __init__(self, nodes, pods):
        self.snapshot, self.random = from_objects([*nodes, *pods], LATEST), random.Random(1)

    def decide(self, workload, action):
        """Microseconds of one decision, and what it finds."""
        raw = incoming(workload)
        asked = read_incoming_pod(Reader(), raw, LATEST)
        found = parse_constraints(raw["spec"]["topologySpreadConstraints"], asked.labels, LATEST)
        constraints = [one for one in found if one.when_unsatisfiable == action]
        begun = time.perf_counter()
        passing = filter_nodes(asked, constraints, self.snapshot, LATEST).passing
        scores = score_nodes(asked, constraints, self.snapshot, passing, LATEST).scored if action == SOFT else ()
        taken = (time.perf_counter() - begun) * 1e6
        return taken, passing.bit_count(), sum(one.normalized * one.nodes.bit_count() for one in scores)


def selecting(workload, key, **more):
    """A term that selects the Pods of a workload."""
    app = labels_of(workload)["app"]
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}


def apart(required, *preferred):
    """The anti-affinity of these terms."""
    weighed = [{"weight": 100, "podAffinityTerm": term} for term in preferred]
    return {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [required],
            "preferredDuringSchedulingIgnoredDuringExecution": weighed,
        }
    }


def affine_pods(pods):
    """The same Pods, 20 of each of 500 workloads with terms: a fifth by zone, half with preferred ones, too."""
    for i, one in enumerate(pods):
        workload, number = i % 2_000, i // 2_000
        if workload >= AFFINE or number >= AFFINE_PODS:
            yield one
            continue
        everywhere = {"namespaceSelector": {}} if workload % 50 == 1 else {}
        required = selecting(workload, HOST if workload % 5 else ZONE)
        preferred = [selecting(workload, ZONE, **everywhere)] if workload % 2 else []
        yield {**one, "spec": {**one["spec"], "affinity": apart(required, *preferred)}}


def affine(workload, affinity):
    """The next Pod of a workload."""
    metadata = {"name": "incoming", "namespace": f"team-{workload % NAMESPACES}", "labels": labels_of(workload)}
    spec = {"affinity": affinity, "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


AFFINE_INCOMING = {
    "no terms, and no Pod's terms select it": affine(1_007, {}),
    "no terms, and those of 20 Pods select it": affine(7, {}),
    "apart by node, rather apart by zone": affine(7, apart(selecting(7, HOST), selecting(7, ZONE))),
    "the same, in all namespaces": affine(
        7, apart(selecting(7, HOST, namespaceSelector={}), selecting(7, ZONE, namespaceSelector={}))
    ),
}


def judge(raw, snapshot):
    """Microseconds that InterPodAffinity takes for a Pod, and what it finds."""
    cycle = Cycle(read_incoming_pod(Reader(), raw, LATEST), (), snapshot, LATEST)
    begun = time.perf_counter()
    plugin = InterPodAffinity(cycle)
    passing, scores = plugin.passing(snapshot.nodes.all), plugin.scores(snapshot.nodes.all) or ()
    taken = (time.perf_counter() - begun) * 1e6
    return taken, passing.bit_count(), sum(score * nodes.bit_count() for nodes, score in scores)


def rows() -> Iterator[str]:
    nodes = [node(i) for i in range(NODES)]
    pods = [pod(i, (i * 7) % NODES) for i in range(PODS)]
    yield from rows_of_constraints(nodes, pods)
    yield ""
    yield from rows_of_terms(nodes, list(affine_pods(pods)))


def theirs(plugin, asking, nodes, pods, namespaces=()):
    """What kube-scheduler's plugin takes for each of the Pods that ask, and what it finds."""
    config = {"defaultingType": "List", "defaultConstraints": []}
    cluster = {"nodes": nodes, "pods": pods, "namespaces": list(namespaces)}
    (found,) = ask(program(NEWEST), "measure", [{"plugin": plugin, "asking": asking, "config": config, **cluster}])
    return found


def rows_of_constraints(nodes, pods) -> Iterator[str]:
    decisions = Decisions(nodes, pods)
    (go,) = theirs("PodTopologySpread", [incoming(7)], nodes, pods)
    agree = (decisions.decide(7, HARD)[1], decisions.decide(7, SOFT)[2])
    assert agree == (go["passing"], go["scores"]), (agree, go)
    yield "| a Pod with two constraints | evenkeel, µs | longest | kube-scheduler's plugin, µs | ratio |"
    yield "| --- | --- | --- | --- | --- |"
    for name, action, of_go in (("hard", HARD, go["filter"]), ("soft", SOFT, go["score"])):
        taken = [decisions.decide(decisions.random.randrange(2_000), action)[0] for _ in range(ROUNDS)]
        yield f"| {name} | {compared(taken, of_go)} |"


def rows_of_terms(nodes, pods) -> Iterator[str]:
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{i}"}} for i in range(NAMESPACES)
    ]
    go = theirs("InterPodAffinity", list(AFFINE_INCOMING.values()), nodes, pods, namespaces)
    snapshot = from_objects([*nodes, *pods, *namespaces], LATEST)
    yield (
        f"| a Pod where {AFFINE * AFFINE_PODS:,} have terms | evenkeel, µs (bound: {BOUND:,}) | longest "
        "| kube-scheduler's plugin, µs | ratio |"
    )
    yield "| --- | --- | --- | --- | --- |"
    for (what, raw), found in zip(AFFINE_INCOMING.items(), go, strict=True):
        judged = [judge(raw, snapshot) for _ in range(ROUNDS)]
        assert {one[1:] for one in judged} == {(found["passing"], found["scores"])}, (what, judged[0], found)
        yield f"| {what} | {compared([one[0] for one in judged], found['filter'] + found['score'])} |"


def compared(taken, of_go):
    """The last columns of a row."""
    return f"{median(taken):.0f} | {max(taken):.0f} | {of_go} | {of_go / median(taken):.0f}"


def main() -> None:
    fill("bench placement", as_far_as_possible(rows()), [machine(), ""])


if __name__ == "__main__":
    main()
