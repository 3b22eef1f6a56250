"""
`make bench`, its third part: what a call costs, beside a Go webhook that only answers that a review is allowed.

    load ── TLS, keep-alive ──> webhook                                          directly, a CPU each
    load ── TLS, keep-alive ──> kube-apiserver ── TLS, keep-alive ──> webhook    Pods that are created, on all CPUs

Each webhook has the same configurations, each in a namespace of its own.  They are asked by turns, for a second each,
and each time in another order, so that none always follows the same; figures are medians.  CPU is user and system time
of all processes of a server, from /proc.  A second in which other programs took CPU time is tried again.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic, sleep
from typing import NamedTuple

import yaml

from tests.bench import programs
from tests.bench.page import as_far_as_possible, fill
from tests.bench.reviews import LOAD_CPU, NULL, Server, cluster, machine, subjects
from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import NAMESPACE, containers, granted, manifests
from tests.support.build import constraint, pod, service, workload
from tests.support.processes import with_descendants
from tests.support.serving import EVENKEEL, Running, serving, until
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND

ROUNDS, DURATION = 5, "1s"
TICKS = os.sysconf("SC_CLK_TCK")
# Of the machine's CPU time, what other programs may take; and how often a second is tried, and how long each waits.
DISTURBED, TRIES, REST_SECONDS = 0.05, 3, 2.0
LABELS = {"app": "web", "pod-template-hash": "7"}
CONSTRAINTS, DEFAULTS = "constraints to check", "defaults to give"
GIVING = "Go that gives"


class Way(NamedTuple):
    """How calls come: how many clients, and how long each waits after an answer."""

    name: str
    clients: int
    pause: str = "0"


ONE, MANY, PAUSING = Way("1", 1), Way("8", 8), Way("1, with pauses of 10 ms", 1, "10ms")


class Target(NamedTuple):
    """Where to POST what; whose CPU time counts as the webhook's, and whose besides."""

    url: str
    ca: Path
    body: Path
    webhook: Sequence[int]
    others: Sequence[int] = ()
    token: str = ""


class Taken(NamedTuple):
    """
    Of one second: calls a second, and the CPU time of a call in microseconds, the webhook's and everybody's; and the
    share of the machine's CPU time that other programs took.
    """

    rate: float
    webhook: float
    everybody: float
    others: float = 0.0


def cpu(processes: Sequence[int]) -> float:
    """Seconds of CPU that these processes and those they have started took so far."""
    found = 0.0
    for process in (each for first in processes for each in with_descendants(first)):
        # Behind the name, which may hold anything, user and system time are the 12th and 13th field.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        found += (int(fields[11]) + int(fields[12])) / TICKS
    return found


def busy() -> float:
    """Seconds of CPU that the machine was busy so far, all CPUs together; what was stolen from it counts."""
    user, nice, system, _idle, _wait, *interrupts = map(int, Path("/proc/stat").read_text().split()[1:9])
    return sum((user, nice, system, *interrupts)) / TICKS


def take(target: Target, way: Way, duration: str = DURATION) -> Taken:
    """Load the target for a while."""
    options = {"url": target.url, "ca": target.ca, "body": target.body, "token": target.token}
    options |= {"clients": way.clients, "pause": way.pause, "duration": duration}
    before = cpu(target.webhook), cpu(target.others), busy(), monotonic()
    command = [programs.built() / "load", *(f"-{name}={value}" for name, value in options.items())]
    done = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    webhook, others = cpu(target.webhook) - before[0], cpu(target.others) - before[1]
    everybody, each = webhook + others + done["cpu"], 1e6 / done["calls"]
    rest = (busy() - before[2] - everybody) / (os.cpu_count() or 1) / (monotonic() - before[3])
    return Taken(done["calls"] / done["seconds"], webhook * each, everybody * each, rest)


def undisturbed(target: Target, way: Way, after: Callable[[], None]) -> Taken:
    """What the target takes while other programs take little; of TRIES seconds in vain, the least disturbed."""
    tried: list[Taken] = []
    while not tried or (tried[-1].others > DISTURBED and len(tried) < TRIES):
        await_rest()
        tried.append(take(target, way))
        after()
    return min(tried, key=lambda one: one.others)


def await_rest() -> None:
    """Wait until other programs rest, or REST_SECONDS are over."""
    limit, idle = monotonic() + REST_SECONDS, False
    while not idle and monotonic() < limit:
        before = busy()
        sleep(0.1)
        idle = busy() - before <= 2 / TICKS


def by_turns(targets: Sequence[Target], way: Way, after: Callable[[], None] = lambda: None) -> list[list[Taken]]:
    """What each target took, round by round; `after` runs when one has had its turn, and is not measured."""
    taken: list[list[Taken]] = [[] for _ in targets]
    for number in range(ROUNDS + 1):  # The first warms up.
        for which in Random(number).sample(range(len(targets)), len(targets)):
            if number:
                taken[which].append(undisturbed(targets[which], way, after))
            else:
                take(targets[which], way, "300ms")
                after()
    return taken


def middle(taken: Sequence[Taken]) -> Taken:
    return Taken(*map(median, zip(*taken, strict=True)))


def ratio(dividends: Sequence[float], divisors: Sequence[float]) -> float:
    """The median of the ratios, round by round."""
    return median(dividend / divisor for dividend, divisor in zip(dividends, divisors, strict=True))


def disturbed(taken: Sequence[Taken]) -> str:
    """How far other programs disturbed the figures, in a sentence."""
    found = sum(one.others > DISTURBED for one in taken)
    return f"Other programs took more than {DISTURBED:.0%} of the CPUs in {found} of {len(taken)} seconds."


def direct(folder: Path) -> Iterator[str]:
    """The rows without an API server: evenkeel, the null app in the same worker, and the Go webhook, each on CPU 0."""
    dump = folder / "cluster.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(cluster())}))
    commands = {
        "evenkeel": (EVENKEEL, "--cluster", str(dump)),
        "null app": ((sys.executable, "-c", NULL),),
        "Go": ((str(programs.built() / "null"),),),
    }
    servers, everything, everywhere = [], list[Taken](), os.sched_getaffinity(0)
    try:
        for name, command in commands.items():
            (own := folder / name).mkdir()
            servers.append((Server(own, *command), own / "ca.crt"))
            servers[-1][1].write_text(servers[-1][0].ca)
        os.sched_setaffinity(0, LOAD_CPU)
        yield f"| review | clients | {', 1/s | '.join(commands)}, 1/s | {', µs | '.join(commands)}, µs |"
        yield f"| --- | --- |{' --- |' * 2 * len(commands)}"
        for name, path, body in subjects()[1::2]:
            (folder / "body").write_bytes(body)
            targets = [
                Target(f"https://localhost:{server.port}{path}", ca, folder / "body", [server.process.pid])
                for server, ca in servers
            ]
            for way in (ONE, PAUSING, MANY):
                found = by_turns(targets, way)
                everything += itertools.chain(*found)
                taken = [middle(one) for one in found]
                rates, costs = ([f"{one[i]:.0f}" for one in taken] for i in range(2))
                yield f"| {name} | {way.name} | {' | '.join((*rates, *costs))} |"
        yield f"\n{disturbed(everything)}"
    finally:
        os.sched_setaffinity(0, everywhere)
        for server, _ in servers:
            server.process.terminate()
            server.process.wait()


def created(namespace: str, what: str, owner: str) -> dict:
    """A Pod of about 5 kB that no scheduler takes; `owner` is the uid of the ReplicaSet web."""
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    two = [constraint(**selector), constraint(topologyKey="kubernetes.io/hostname", **selector)]
    made = containers(pod(*(two if what == CONSTRAINTS else ()), labels=LABELS, owner="ReplicaSet/web"))
    made["metadata"] |= {"namespace": namespace, "generateName": "web-"}
    del made["metadata"]["name"]
    made["metadata"]["ownerReferences"][0]["uid"] = owner
    made["spec"]["schedulerName"] = "nobody"
    made["spec"]["containers"][0]["env"] = [{"name": "X", "value": "x" * 4_000}]
    return made


def configurations(policy: Path, namespace: str, port: int, ca: Path) -> list[dict]:
    """What `evenkeel manifests` registers, for one namespace only and under names of its own."""
    text = manifests(policy, "--url", f"https://127.0.0.1:{port}", "--ca-bundle", ca, "--failure-policy", "Fail")
    found = list(yaml.safe_load_all(text))
    only = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}
    for configuration in found:
        configuration["metadata"]["name"] += f"-{namespace}"
        for webhook in configuration["webhooks"]:
            webhook["name"] = f"{namespace}.{webhook['name']}"
            webhook["namespaceSelector"]["matchExpressions"].append(only)
    return found


class Creation:
    """Pods that are created through a control plane's API server, and the namespaces in which that asks a webhook."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self.folder, self.policy = plane, folder, folder / "policy.json"
        self.owners: dict[str, str] = {}
        self.policy.write_text(json.dumps({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND}))

    def prepare(self, namespace: str) -> None:
        """A namespace with a ReplicaSet behind a Service, from which defaults are derived."""
        self.plane.create_namespace(namespace)
        behind = service(namespace=namespace)
        behind["spec"]["ports"] = [{"port": 80}]
        template = {"selector": {"matchLabels": LABELS}, "replicas": 0}
        owner = containers(workload("ReplicaSet", labels=LABELS, namespace=namespace, spec=template))
        self.plane.api.call("POST", f"/api/v1/namespaces/{namespace}/services", behind)
        made = self.plane.api.call("POST", f"/apis/apps/v1/namespaces/{namespace}/replicasets", owner)
        self.owners[namespace] = made["metadata"]["uid"]

    def register(self, namespace: str, port: int, ca: Path) -> None:
        """Have the webhook on this port called for the namespace, and wait until it is, for both kinds of Pods."""
        output = self.plane.apply(*configurations(self.policy, namespace, port, ca))
        assert 0 == output.code, output
        until(lambda: self._is_called(namespace), "calls from the API server")

    @contextmanager
    def registered_null(self, namespace: str, *options: str) -> Iterator[Server]:
        """The Go webhook, called for this namespace."""
        (own := self.folder / namespace).mkdir()
        server = Server(own, (str(programs.built() / "null"),), *options, pinned=False)
        try:
            (own / "ca.crt").write_text(server.ca)
            self.register(namespace, server.port, own / "ca.crt")
            yield server
        finally:
            server.process.terminate()
            server.process.wait()

    def _is_called(self, namespace: str) -> bool:
        for what in (CONSTRAINTS, DEFAULTS):
            self.plane.api.call(
                "POST",
                f"/api/v1/namespaces/{namespace}/pods?dryRun=All",
                created(namespace, what, self.owners[namespace]),
            )
        counted = self.plane.kubectl("get", "--raw", "/metrics").stdout
        names = [f'name="{namespace}.{entry}.evenkeel.dev"' for entry in ("pods", "defaults")]
        return all(f'admission_webhook_request_total{{code="200",{name}' in counted for name in names)

    def given(self, namespace: str) -> list[dict]:
        """The patch that gives a Pod of the ReplicaSet what the webhook of this namespace gives it; none if nothing."""
        made = created(namespace, DEFAULTS, self.owners[namespace])
        answered = self.plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", made)
        places = (("spec", "topologySpreadConstraints"), ("metadata", "annotations"))
        return [
            {"op": "add", "path": f"/{outer}/{inner}", "value": answered[outer][inner]}
            for outer, inner in places
            if inner in answered[outer]
        ]

    def target(self, namespace: str, what: str, *webhook: int) -> Target:
        """Real creation of such Pods in the namespace."""
        body = self.folder / f"{namespace}.json"
        body.write_text(json.dumps(created(namespace, what, self.owners[namespace])))
        url = f"https://127.0.0.1:{self.plane.api.port}/api/v1/namespaces/{namespace}/pods"
        others = [component.process.pid for component in (self.plane.apiserver, self.plane.etcd)]
        return Target(url, self.plane.folder / "ca.crt", body, webhook, others, self.plane.api.token)

    def remove(self) -> None:
        """Delete all Pods."""
        for namespace in self.owners:
            self.plane.api.call("DELETE", f"/api/v1/namespaces/{namespace}/pods", {"gracePeriodSeconds": 0})


def begun(stack: ExitStack, folder: Path, namespaces: Iterable[str]) -> tuple[Creation, Running]:
    """A control plane with these namespaces, and evenkeel, which is not registered; its CA is in evenkeel.crt."""
    plane = stack.enter_context(ControlPlane(folder))
    (own := folder / "webhook").mkdir()
    plane.create_namespace(NAMESPACE)
    creation = Creation(plane, own)
    for namespace in namespaces:
        creation.prepare(namespace)
    live = ["--cluster", "live", "--policy", creation.policy]
    running = stack.enter_context(serving(own, *live, KUBECONFIG=str(granted(plane, own, creation.policy))))
    (folder / "evenkeel.crt").write_text(running.ca)
    return creation, running


def through_apiserver(folder: Path) -> Iterator[str]:
    """The rows of Pod creation."""
    namespaces = [f"bench-{namespace}" for namespace in ("evenkeel", "go", "http2", "giving", "none")]
    with ExitStack() as stack:
        creation, evenkeel = begun(stack, folder, namespaces)
        plane = creation.plane
        creation.register("bench-evenkeel", evenkeel.port, folder / "evenkeel.crt")
        given = until(lambda: creation.given("bench-evenkeel"), "defaults")
        go = stack.enter_context(creation.registered_null("bench-go"))
        http2 = stack.enter_context(creation.registered_null("bench-http2", "--http2"))
        giving = stack.enter_context(creation.registered_null("bench-giving", "--patch", json.dumps(given)))
        # They would watch every Pod, and take the time that is measured.
        plane.controller_manager.stop()
        plane.scheduler.stop()
        yield "| Pods with | clients | webhook | Pods a second | ratio | by CPU | webhook, µs | all, µs |"
        yield f"|{' --- |' * 8}"
        everything: list[Taken] = []
        for what in (CONSTRAINTS, DEFAULTS):
            targets = {
                "evenkeel": creation.target("bench-evenkeel", what, evenkeel.process.pid),
                "Go": creation.target("bench-go", what, go.process.pid),
                "Go, HTTP/2": creation.target("bench-http2", what, http2.process.pid),
                **({GIVING: creation.target("bench-giving", what, giving.process.pid)} if what == DEFAULTS else {}),
                "none": creation.target("bench-none", what),
            }
            for way in (ONE, MANY):
                found = by_turns(list(targets.values()), way, creation.remove)
                everything += itertools.chain(*found)
                for name, taken in zip(targets, found, strict=True):
                    yield row((what, way.name, name), found[0], taken)
        yield f"\n{disturbed(everything)}"


def row(begin: Sequence[str], mine: list[Taken], its: list[Taken]) -> str:
    """What creation took with one webhook, and evenkeel's ratios to it; of evenkeel itself there are none."""
    ratios = (
        ratio([one.rate for one in mine], [one.rate for one in its]),
        ratio([one.everybody for one in its], [one.everybody for one in mine]),
    )
    shown = ("", "") if its is mine else [f"{one:.2f}" for one in ratios]
    found = middle(its)
    webhook, everybody = (f"{found.webhook:.0f}" if found.webhook else "", f"{found.everybody:.0f}")
    return f"| {' | '.join((*begin, f'{found.rate:.0f}', *shown, webhook, everybody))} |"


def rows(folder: Path) -> Iterator[str]:
    """Both tables, or why one is not there."""
    for i, section in enumerate((through_apiserver, direct)):
        (own := folder / section.__name__).mkdir()
        yield from [""] * (i > 0)
        yield from as_far_as_possible(section(own))


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        fill("bench calls", rows(Path(temporary)), [machine(), ""])


if __name__ == "__main__":
    main()
