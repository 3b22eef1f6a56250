"""Objects at the limits of size and beyond them: what policies must judge, too."""

from __future__ import annotations

from collections.abc import Mapping

from tests.e2e.webhook import containers
from tests.support.build import constraint, keys, pod, term, workload

NAME, PATH = "web", "spec.template.spec.topologySpreadConstraints"
IGNORE = "evenkeel.dev/ignore"
_LABELS = {"app": "web", **{f"label-{i}": "v" for i in range(60_000)}}
_OWNERS = [{"apiVersion": "v1", "kind": "ConfigMap", "name": f"c{i}", "uid": f"u{i}"} for i in range(20_000)]
_NODE = {"key": "metadata.name", "operator": "In", "values": ["n"]}
_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def topology_key(i: int) -> str:
    return f"example.com/key-{i}"


def selecting(*expressions: dict, **labels: str) -> dict:
    """Return the selector of a constraint as the API server sends it on: without what is empty."""
    selector = {"matchLabels": labels, "matchExpressions": [*expressions]}
    return {"labelSelector": {name: value for name, value in selector.items() if value}}


def many(count: int, **fields) -> list[dict]:
    """Return constraints with a topology key each: seven values each, unless `fields` have more."""
    return [constraint(**{"topologyKey": topology_key(i), **fields}) for i in range(count)]


def deployments() -> Mapping[str, dict]:
    """Return the Deployments that the API server accepts, by what is large in them."""
    values = [f"v{i}" for i in range(1_000)]
    in_order = {f"1 with {n} values": [constraint(**selecting(term("app", "NotIn", *values[:n])))] for n in (680, 700)}
    constraints = {
        "100 constraints": many(100),
        "100 that miss their Pods": many(100, maxSkew=9, **selecting(app="other")),
        "100 without a selector": many(100, labelSelector={}, matchLabelKeys=["absent"]),
        "101 constraints": many(101),
        "5,000 constraints": many(5_000),
        **in_order,
        "680 values in": [constraint(**selecting(term("app", "In", *values[:680])))],
        "680 matchLabelKeys": [constraint(**keys(*values[:680]))],
        "340 matchLabels": [constraint(**selecting(**{f"{'a' * 200}.com/{v}": "v" * 63 for v in values[:340]}))],
        "220 expressions": [constraint(**selecting(*({"key": v, "operator": "Exists"} for v in values[:220])))],
        "20,000 expressions": [constraint(**selecting(*(term(f"k{i}", "In", "a") for i in range(20_000))))],
        "90 constraints with 200 expressions": many(90, **selecting(*(term(v, "In", *"abcde") for v in values[:200]))),
        "topologyKeys of 100 KB": [constraint(topologyKey=letter * 100_000) for letter in "abcdefghijklmnopqrst"],
        "slashes of 100 KB": [constraint(topologyKey=letter + "/" * 100_000) for letter in "abcdefghijklmnopqrst"],
        "a topologyKey of 2.9 MB": [constraint(topologyKey="a" * 2_900_000)],
    }
    labels = {
        "60,000 labels": [constraint()],
        "60,000 labels, no constraint": [],
        "60,000 labels, all missed": many(100, **selecting(app="other")),
        "60,000 labels, another key": many(100, **selecting(absent="x")),
        "60,000 labels, an absent key": [constraint(matchLabelKeys=["absent"])],
    }
    empty, no_names = [constraint(labelSelector={})], "," * 250_000
    controller = {"controller": True, "name": "n" * 100_000, "kind": "K" * 1_000}
    return {
        **{name: deployment(listed) for name, listed in constraints.items()},
        **{name: deployment(listed, labels=_LABELS) for name, listed in labels.items()},
        "100 constraints, 50 terms, 50 expressions": _confined(deployment(many(100))),
        "20,000 owners": deployment(empty, ownerReferences=_OWNERS),
        "a long name of an owner": deployment(empty, ownerReferences=[_OWNERS[0] | controller]),
        "annotations of 250 KB": deployment(
            empty, annotations={IGNORE: no_names}, template={"annotations": {IGNORE: no_names}}
        ),
    }


def deployment(constraints: list[dict], **fields) -> dict:
    """Return a Deployment as the API server accepts it."""
    return containers(workload("Deployment", *constraints, name=NAME, **fields))


def bound_pods() -> Mapping[str, dict]:
    """Return Pods with many terms and fields of node affinity."""
    sizes = ((50, 50), (51, 50), (20_000, 1), (1, 20_000))
    return {f"{n} terms, {m} fields": _bound([{"matchFields": [_NODE] * m}] * n) for n, m in sizes}


def _confined(made: dict) -> dict:
    """Return a Deployment whose node affinity asks for one value of many topology keys, many times."""
    expressions = [{"key": topology_key(i), "operator": "In", "values": ["a"]} for i in range(50)]
    terms = [{"matchExpressions": expressions}] * 50
    made["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": {_TERMS: {"nodeSelectorTerms": terms}}}
    return made


def _bound(terms: list[dict]) -> dict:
    return containers(pod(spec={"affinity": {"nodeAffinity": {_TERMS: {"nodeSelectorTerms": terms}}}}))
