"""
`python -m tests.bench.growth`: what each part takes when one measure of a cluster doubles four times, the others stay.

    a Size ──> objects ──> a dump, a store, manifests ──> CPU time of a process forked for it, the least of some rounds,
                                                          and how many functions it calls, which others do not disturb

It writes growth.json, from which `make docs` writes growth.md.  With names of parts as
arguments it measures these only, and keeps the figures of the others.
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from evenkeel.clusters import known_cluster
from tests.bench.cluster import ZONES
from tests.support.build import HOSTNAME, ZONE, constraint, owned_by, pod, request, service, workload
from tests.support.dump_file import write_dump
from tests.support.review import review
from webhook.admission.request import MUTATE, VALIDATE
from webhook.cli.main import main as evenkeel
from webhook.cluster.store import Store
from webhook.kubernetes.features import LATEST
from webhook.policy.parsing import built_in
from webhook.spread.cluster_view import read_view_object

RESULTS = Path(__file__).with_name("growth.json")
FACTORS, ROUNDS = (1, 2, 4, 8, 16), 3
NAME, NAMESPACE = "asked", "team-0"
EVENTS, REVIEWS, RUNS = 200, 50, 20
SHUT = {"taints": [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}]}


class Size(NamedTuple):
    """A cluster: `constraints` are those of each workload, `replicas` those of the one that is asked about."""

    nodes: int = 200
    pods: int = 4_000
    workloads: int = 100
    constraints: int = 2
    replicas: int = 20

    def times(self, measure: str, factor: int) -> Size:
        return self._replace(**{measure: factor * getattr(self, measure)})


MEASURES = Size._fields


def constraints(size: Size, app: str) -> list[dict]:
    """In turn one by zone, hard, and one by node, soft; beyond the first two, by other keys with as many domains."""
    found = []
    for i in range(size.constraints):
        key, action = ((ZONE, "DoNotSchedule"), (HOSTNAME, "ScheduleAnyway"))[i % 2]
        selector = {"labelSelector": {"matchLabels": {"app": app}}}
        found.append(constraint(topologyKey=other(key, i // 2), whenUnsatisfiable=action, **selector))
    return found


def other(key: str, number: int) -> str:
    return f"{key}-{number}" if number else key


def nodes(size: Size, shut: str) -> Iterator[dict]:
    for i in range(size.nodes):
        zone, name = ZONES[i % 3], f"node-{i}"
        pairs = range((size.constraints + 1) // 2)
        labels = {other(key, n): value for key, value in ((ZONE, zone), (HOSTNAME, name)) for n in pairs}
        status = {"allocatable": {"cpu": "512", "memory": "2Ti", "pods": "1000"}}
        spec = SHUT if zone == shut else {}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec} | {
            "status": status
        }


def owners(size: Size, app: str, namespace: str, replicas: int) -> Iterator[dict]:
    """A Deployment, its ReplicaSet and its Service."""
    labels = {"app": app, "pod-template-hash": "7"}
    for kind, name, selected, owner in (
        ("Deployment", app, {"app": app}, None),
        ("ReplicaSet", f"{app}-7", labels, f"Deployment/{app}"),
    ):
        spec = {"replicas": replicas, "selector": {"matchLabels": selected}}
        made = workload(
            kind, *constraints(size, app), labels=selected, owner=owner, spec=spec, name=name, namespace=namespace
        )
        made["spec"]["template"]["spec"]["containers"] = [CONTAINER]
        yield made
    yield service(app, {"app": app}, namespace)


CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}


def running(size: Size, app: str, namespace: str, number: int, on: int) -> dict:
    labels = {"app": app, "pod-template-hash": "7"}
    spec = {"nodeName": f"node-{on}", "containers": [CONTAINER]}
    made = pod(*constraints(size, app), labels=labels, name=f"{app}-7-{number}", namespace=namespace, spec=spec)
    made["metadata"] |= {**owned_by(f"ReplicaSet/{app}-7"), "uid": f"{app}-{number}"}
    return made | {"status": {"phase": "Running"}}


def cluster(size: Size, shut: str = "", asked: bool = True) -> Iterator[dict]:
    """
    The objects: ten workloads in a namespace, and their Pods on all nodes alike.

    The nodes of the zone `shut` have a taint.  Of the workload that is asked about there are the Pods only if `asked`,
    on the nodes of all other zones alike.
    """
    yield from nodes(size, shut)
    for i in range(max(size.workloads // 10, 1)):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{i}"}}
    for i in range(size.workloads):
        yield from owners(size, f"app-{i}", f"team-{i // 10}", size.pods // size.workloads)
    for i in range(size.pods):
        app = i % size.workloads
        yield running(size, f"app-{app}", f"team-{app // 10}", i // size.workloads, i * 7 % size.nodes)
    yield from owners(size, NAME, NAMESPACE, size.replicas if asked else 0)
    taking = [i for i in range(size.nodes) if ZONES[i % 3] != shut]
    for i in range(size.replicas if asked else 0):
        yield running(size, NAME, NAMESPACE, i, taking[i % len(taking)])


def filled(objects: Iterable[Mapping]) -> Store:
    """The caches of the webhook."""
    store, kinds = Store(), dict[tuple[str, str], list]()
    for raw in objects:
        kind = raw["apiVersion"], raw["kind"]
        namespace, name, kept = read_view_object(raw, *kind)
        kinds.setdefault(kind, []).append(((namespace, name), kept))
    for kind, batch in kinds.items():
        store.apply(kind, batch)
    return store


def event(size: Size, number: int) -> dict:
    """A ReplicaSet that somebody makes again."""
    app = random.Random(number).randrange(size.workloads)
    _, made, _ = owners(size, f"app-{app}", f"team-{app // 10}", 0)
    made["metadata"]["uid"] = f"uid-{number}"
    return made


def change(store: Store, raw: Mapping) -> None:
    kind = raw["apiVersion"], raw["kind"]
    namespace, name, kept = read_view_object(raw, *kind)
    store.apply(kind, [((namespace, name), kept)])


def cpu() -> float:
    """Seconds that this process and those it has started took so far."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


# What is measured. Each gives, for a size and a folder, a function that a forked process runs.

Clock = Callable[[], float]
Measured = Callable[[Clock], Mapping[str, float]]  # What it takes by that clock, by part.
Prepared = Callable[[Size, Path], Measured]


def admission(size: Size, _: Path, *, of_pod: bool = False) -> Measured:
    """A review, both phases, of a Pod that a ReplicaSet creates or of a Deployment that a person applies."""
    store, policy = filled(cluster(size)), built_in()
    deployment, *_ = owners(size, NAME, NAMESPACE, size.replicas)
    created = running(size, NAME, NAMESPACE, size.replicas, 0)
    del created["spec"]["nodeName"], created["status"]
    given = request(created if of_pod else deployment)

    def measured(clock: Clock) -> Mapping[str, float]:
        taken = 0.0
        for i in range(REVIEWS):
            change(store, event(size, i))
            view = store.view()
            begin = clock()
            for phase in (MUTATE, VALIDATE):
                review(given, phase, policy, view, LATEST)
            taken += clock() - begin
        return {OF_POD if of_pod else "admission": taken / REVIEWS}

    return measured


def view(size: Size, _: Path) -> Measured:
    """An event, and a view after each ten."""
    store = filled(cluster(size))
    store.view()
    events = [event(size, i) for i in range(EVENTS)]

    def measured(clock: Clock) -> Mapping[str, float]:
        begin = clock()
        for i, raw in enumerate(events):
            change(store, raw)
            if i % 10 == 9:
                store.view()
        return {"view": (clock() - begin) / EVENTS}

    return measured


def memory(size: Size, _: Path) -> Measured:
    """MB of the caches, a view included."""

    def measured(clock: Clock) -> Mapping[str, float]:
        tracemalloc.start()
        store = filled(cluster(size))
        kept = store.view()
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert kept is store.view()
        return {"memory": taken / 1e6}

    return measured


def command(*argv: str, shut: str = "", asked: bool = True) -> Prepared:
    """A command on a dump, and of `explain` how long it reads the dump."""

    def prepared(size: Size, folder: Path) -> Measured:
        file = write_dump(folder / "cluster.jsonl.gz", cluster(size, shut, asked))
        words = [word.format(replicas=size.replicas) for word in argv]

        def measured(clock: Clock) -> Mapping[str, float]:
            reading, read = 0.0, known_cluster.read

            def timed(*args, **kwargs):
                nonlocal reading
                begin = clock()
                try:
                    return read(*args, **kwargs)
                finally:
                    reading += clock() - begin

            known_cluster.read = timed
            begin = clock()
            code = evenkeel([*words, "--cluster", str(file)])
            taken, known_cluster.read = clock() - begin, read
            assert code in (0, 1), f"{argv[0]} failed"
            of_part = {"report": taken, "explain": taken - reading, "simulate": taken - reading}
            return {argv[0]: of_part[argv[0]]} | ({"reading": reading} if argv[0] == "explain" else {})

        return measured

    return prepared


def lint(size: Size, folder: Path) -> Measured:
    """Manifests of the workloads, a file each."""
    for i in range(size.workloads):
        manifest, *_ = owners(size, f"app-{i}", f"team-{i // 10}", size.replicas)
        (folder / f"{i}.json").write_text(json.dumps(manifest), "utf-8")

    def measured(clock: Clock) -> Mapping[str, float]:
        begin = clock()
        code = evenkeel(["lint", str(folder)])
        taken = clock() - begin
        assert code in (0, 1), "lint failed"
        return {"lint": taken}

    return measured


ASKED, OF_POD = f"deployment/{NAME}", "admission of a Pod"
PARTS: dict[str, Prepared] = {
    "admission": admission,
    OF_POD: partial(admission, of_pod=True),
    "view": view,
    "memory": memory,
    "explain": command("explain", ASKED, "-n", NAMESPACE, shut=ZONES[2]),
    "simulate": command(
        "simulate", ASKED, "scale={replicas}", "rollout", "-n", NAMESPACE, "--runs", str(RUNS), asked=False
    ),
    "lint": lint,
    "report": command("report", "-A"),
}
UNITS = {"admission": 1e6, OF_POD: 1e6, "view": 1e6, "memory": 1}  # µs and MB; of the others ms.
# What cannot matter: manifests have no nodes and no Pods.
APART = {"lint": {"nodes", "pods"}}


def forked(measured: Measured, counting: bool = False) -> Mapping[str, float]:
    """What it gives in a process of its own, which prints nothing: seconds of CPU, or calls of functions."""
    source, target = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            gc.collect()
            gc.freeze()  # What was prepared for other sizes stays out of collections.
            with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
                sys.stdout = sys.stderr = nowhere
                os.write(target, json.dumps(measured(calls() if counting else cpu)).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(target)
    with open(source, "rb") as pipe:
        text = pipe.read()
    assert 0 == os.waitpid(child, 0)[1], "the process that measures has failed"
    return json.loads(text)


def calls() -> Clock:
    """How many functions were called since, of Python and of C; in this process, which starts no other."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sys.setprofile(count)
    return lambda: counted


def warm() -> None:
    """Import what the parts need, which would count as theirs."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        for part in PARTS.values():
            part(Size(6, 6, 2, 2, 2), Path(folder))(cpu)


def series(name: str, measure: str) -> dict[str, dict[str, list[float]]]:
    """What a part takes at each factor, and what else was measured with it: figures and calls."""
    with tempfile.TemporaryDirectory() as temporary:
        prepared = []
        for factor in FACTORS:
            (folder := Path(temporary, str(factor))).mkdir()
            prepared.append(PARTS[name](Size().times(measure, factor), folder))
        rounds = 1 if name == "memory" else ROUNDS
        taken = least([forked(measured) for measured in prepared] for _ in range(rounds))
        counted = least([[forked(measured, counting=True) for measured in prepared]]) if name != "memory" else {}
    return {
        part: {"figures": [float(f"{UNITS.get(part, 1e3) * value:.3g}") for value in values]}
        | ({"calls": counted[part]} if part in counted else {})
        for part, values in taken.items()
    }


def least(rounds: Iterable[Iterable[Mapping[str, float]]]) -> dict[str, list[float]]:
    """The least of all rounds, for each factor; by part."""
    of_factors = list(zip(*rounds, strict=True))
    return {part: [min(each[part] for each in of_factor) for of_factor in of_factors] for part in of_factors[0][0]}


def main(names: list[str]) -> None:
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    warm()
    for name in names or PARTS:
        for measure in MEASURES:
            if measure not in APART.get(name, ()):
                for part, its in series(name, measure).items():
                    known.setdefault(part, {})[measure] = its
                    print(part, measure, its, flush=True)
        parts = ",\n".join(f"{json.dumps(part)}: {rows(known[part])}" for part in known)
        RESULTS.write_text(f"{{{parts}}}\n", "utf-8")


def rows(of_part: Mapping[str, Mapping[str, list[float]]]) -> str:
    """JSON with a line for each measure."""
    return "{" + ",\n ".join(f"{json.dumps(measure)}: {json.dumps(its)}" for measure, its in of_part.items()) + "}"


if __name__ == "__main__":
    main(sys.argv[1:])
