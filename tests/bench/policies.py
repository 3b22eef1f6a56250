"""
`make bench`: what Pod creation takes where the API server judges by policies, by the webhook, and by neither.

Each has a namespace of its own in one control plane.  One client creates a Pod by dry run in each by turns, each
time in another order, so that what disturbs one disturbs all.  Times are from request to answer, on one connection.
"""

from __future__ import annotations

import json
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from http.client import HTTPSConnection
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import perf_counter

import yaml

from tests.bench.creation import begun
from tests.bench.page import as_far_as_possible, fill
from tests.bench.reviews import machine
from tests.e2e.api import JSON, ApiError
from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import containers, manifests
from tests.support.build import constraint, pod
from tests.support.serving import until

ROUNDS, WARMING = 1_000, 100
NEITHER, POLICIES, WEBHOOK = "neither", "policies", "webhook"
SELECTOR = {"labelSelector": {"matchLabels": {"app": "web"}}}
# What the webhook gives no defaults: the Pod without constraints has a label that opts out of them.
OPTED_OUT = {"app": "web", "evenkeel.dev/skip": "true"}
PODS = {
    "two constraints": pod(constraint(**SELECTOR), constraint(topologyKey="kubernetes.io/hostname", **SELECTOR)),
    "no constraint": pod(labels=OPTED_OUT),
}


def policies(policy: Path, namespace: str) -> list[dict]:
    """What `evenkeel manifests --engine policy` prints, for this namespace only."""
    printed = list(yaml.safe_load_all(manifests(policy, "--engine", "policy")))
    only = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}
    for manifest in printed:
        if binding := manifest["spec"].get("matchResources"):
            binding["namespaceSelector"]["matchExpressions"].append(only)
    return printed


def denied_by_policy(plane: ControlPlane, namespace: str) -> bool:
    """Whether the API server denies by its policies what they should deny."""
    wrong = containers(pod(constraint(labelSelector={}), namespace=namespace))
    try:
        plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", wrong)
    except ApiError as error:
        return "ValidatingAdmissionPolicy" in error.message
    return False


def seconds(plane: ControlPlane, namespaces: Mapping[str, str], made: dict) -> dict[str, list[float]]:
    """What each creation took, by the way it is judged, round by round."""
    taken: dict[str, list[float]] = {way: [] for way in namespaces}
    body, headers = json.dumps(made), {"Authorization": f"Bearer {plane.api.token}", "Content-Type": JSON}
    context: ssl.SSLContext = plane.api.context
    with closing(HTTPSConnection("127.0.0.1", plane.api.port, context=context)) as connection:
        for number in range(WARMING + ROUNDS):
            for way in Random(number).sample([*namespaces], len(namespaces)):
                begin = perf_counter()
                connection.request("POST", f"/api/v1/namespaces/{namespaces[way]}/pods?dryRun=All", body, headers)
                answer = connection.getresponse()
                content = answer.read()
                if number >= WARMING:
                    taken[way].append(perf_counter() - begin)
                assert answer.status == 201, content
    return taken


def row(what: str, way: str, its: Sequence[float], base: Sequence[float]) -> str:
    """The median, the 99th percentile, and the ratios of both to those where nothing judges."""
    figures = [(median(each), quantiles(each, n=100)[98]) for each in (its, base)]
    (middle, high), (least, least_high) = figures
    ratios = ("", "") if its is base else (f"{middle / least:.2f}", f"{high / least_high:.2f}")
    return f"| {what} | {way} | {1e3 * middle:.2f} | {ratios[0]} | {1e3 * high:.2f} | {ratios[1]} |"


def rows(folder: Path) -> Iterator[str]:
    """The rows, of Pods that all ways allow."""
    namespaces = {way: f"bench-{way}" for way in (NEITHER, POLICIES, WEBHOOK)}
    with ExitStack() as stack:
        creation, running = begun(stack, folder, namespaces.values())
        plane = creation.plane
        creation.register(namespaces[WEBHOOK], running.port, folder / "evenkeel.crt")
        output = plane.apply(*policies(creation.policy, namespaces[POLICIES]))
        assert 0 == output.code, output
        until(lambda: denied_by_policy(plane, namespaces[POLICIES]), "the policies to be in force")
        plane.controller_manager.stop()
        plane.scheduler.stop()
        yield "| a Pod with | judged by | median, ms | ratio | p99, ms | ratio |"
        yield f"|{' --- |' * 6}"
        for what, made in PODS.items():
            made = containers(json.loads(json.dumps(made)))
            del made["metadata"]["namespace"]
            taken = seconds(plane, namespaces, made)
            for way, its in taken.items():
                yield row(what, way, its, taken[NEITHER])


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        fill("bench policies", as_far_as_possible(rows(Path(temporary))), [machine(), ""])


if __name__ == "__main__":
    main()
