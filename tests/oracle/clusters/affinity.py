"""Pod affinity and anti-affinity, required and preferred, of the incoming Pod and of those that run."""

from __future__ import annotations

from random import Random

from tests.oracle.clusters.cluster import HOSTNAME, RACK, REGION, ZONE, Cluster, Object, Workload, likely

KEYS, SHARES = (HOSTNAME, ZONE, REGION, RACK, "example.com/none"), (45, 38, 6, 9, 2)
AFFINITY, ANTI_AFFINITY = "podAffinity", "podAntiAffinity"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
# Beside 100 these are normalised to one less: 100 * 0.29 is 28.999999999999996.
TRUNCATED = (29, 57, 58)
# Of namespaces: the second and the third select the one that has no labels, too.
EXPRESSIONS = (
    {"key": "team", "operator": "Exists"},
    {"key": "env", "operator": "NotIn", "values": ["prod"]},
    {"key": "team", "operator": "DoesNotExist"},
    {"key": "env", "operator": "In", "values": ["prod", "test"]},
)


def own_affinity(random: Random, cluster: Cluster) -> None:
    """Have the Pod beside others: Pods of one workload, or those of its own, of which it may be the first."""
    number = random.choice((1, 1, 1, 2))
    near = cluster.incoming if likely(random, 0.35) or not cluster.others else random.choice(cluster.others)
    terms = [_term(random, cluster.incoming, near) for _ in range(number)]
    _add(cluster.incoming, AFFINITY, REQUIRED, terms)


def own_anti_affinity(random: Random, cluster: Cluster) -> None:
    """Keep the Pod away from its own like, or from others."""
    terms = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        away = cluster.incoming if likely(random, 0.4) or not cluster.others else random.choice(cluster.others)
        terms.append(_term(random, cluster.incoming, away))
    _add(cluster.incoming, ANTI_AFFINITY, REQUIRED, terms)


def own_preferences(random: Random, cluster: Cluster) -> None:
    """Have the Pod prefer company, or none, or both alike."""
    kinds = random.choice(((AFFINITY,), (ANTI_AFFINITY,), (AFFINITY, ANTI_AFFINITY)))
    toward = [cluster.incoming, *cluster.others]
    for kind in kinds:
        terms = [
            _weighted(random, _term(random, cluster.incoming, random.choice(toward)))
            for _ in range(random.choice((1, 1, 2, 3)))
        ]
        _add(cluster.incoming, kind, PREFERRED, terms)
    if len(kinds) == 1 and likely(random, 0.1):  # What is preferred is avoided as much.
        opposite = ANTI_AFFINITY if kinds == (AFFINITY,) else AFFINITY
        _add(cluster.incoming, opposite, PREFERRED, cluster.incoming.spec["affinity"][kinds[0]][PREFERRED])


def others_anti_affinity(random: Random, cluster: Cluster) -> None:
    """Have Pods that run keep the Pod away, or Pods like them."""
    for workload in _some(random, cluster):
        away = cluster.incoming if likely(random, 0.75) else workload
        terms = [_term(random, workload, away) for _ in range(random.choice((1, 1, 2)))]
        _add(workload, ANTI_AFFINITY, REQUIRED, terms)


def others_affinity(random: Random, cluster: Cluster) -> None:
    """Have Pods that run require the Pod's company, or that of their like: then they prefer a new one near, too."""
    for workload in _some(random, cluster):
        toward = cluster.incoming if likely(random, 0.85) else workload
        terms = [_term(random, workload, toward) for _ in range(random.choice((1, 1, 2)))]
        _add(workload, AFFINITY, REQUIRED, terms)


def others_preferences(random: Random, cluster: Cluster) -> None:
    """Have Pods that run prefer the Pod's company, or its absence."""
    for workload in _some(random, cluster):
        toward = cluster.incoming if likely(random, 0.85) else workload
        terms = [_weighted(random, _term(random, workload, toward)) for _ in range(random.choice((1, 1, 2)))]
        _add(workload, random.choice((AFFINITY, ANTI_AFFINITY)), PREFERRED, terms)


def _some(random: Random, cluster: Cluster) -> list[Workload]:
    others = cluster.others or cluster.workloads
    return random.sample(others, min(len(others), random.choice((1, 2, 2, 3))))


def _add(workload: Workload, kind: str, when: str, terms: list[Object]) -> None:
    affinity = workload.spec.setdefault("affinity", {})
    affinity.setdefault(kind, {}).setdefault(when, []).extend(terms)


def _weighted(random: Random, term: Object) -> Object:
    weight = random.choice((1, 100, 100, random.choice(TRUNCATED), random.randint(1, 100)))
    return {"weight": weight, "podAffinityTerm": term}


def _term(random: Random, owner: Workload, toward: Workload) -> Object:
    """Make a term of a Pod of `owner` that mostly means Pods of `toward`."""
    term = {
        "labelSelector": _selector(random, toward.labels),
        "topologyKey": random.choices(KEYS, SHARES)[0],
        **_reach(random, owner.namespace, toward.namespace),
    }
    if term["labelSelector"] is None:
        del term["labelSelector"]
    elif likely(random, 0.12):
        _merge_keys(random, term, owner.labels)
    return term


def _selector(random: Random, labels: dict[str, str]) -> Object | None:
    app = labels["app"]
    shapes = (
        (60, {"matchLabels": {"app": app}}),
        (8, {"matchLabels": {"app": app}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}),
        (8, {"matchExpressions": [{"key": "app", "operator": "In", "values": [app, "other"]}]}),
        (4, {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["front"]}]}),
        (4, {"matchExpressions": [{"key": "track", "operator": "DoesNotExist"}]}),
        (4, {"matchLabels": {"app": "nobody"}}),
        (5, {}),
        (4, None),
    )
    return random.choices([shape for _, shape in shapes], [share for share, _ in shapes])[0]


def _reach(random: Random, own: str, wanted: str) -> Object:
    """Return namespaces and namespaceSelector of a term, which mostly reach the namespace wanted."""
    by_name = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": wanted}}}
    by_expression = {"namespaceSelector": {"matchExpressions": [random.choice(EXPRESSIONS)]}}
    shapes = (
        (65 if own == wanted else 12, {}),
        (8 if own == wanted else 30, {"namespaces": [wanted]}),
        (8, {"namespaceSelector": {}}),
        (4 if own == wanted else 12, by_name),
        (3, {"namespaceSelector": {"matchLabels": {"env": "prod"}}}),
        (10, by_expression),
        (4, {"namespaces": ["default"], **by_expression}),
        (2, {"namespaces": [own, "kube-system"]}),
    )
    return random.choices([shape for _, shape in shapes], [share for share, _ in shapes])[0]


def _merge_keys(random: Random, term: Object, labels: dict[str, str]) -> None:
    """Add a key by which Pods must match or mismatch, as the API server stores it: in the selector, too."""
    kind, operator = random.choice((("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")))
    key = random.choice(("version", "version", "absent"))
    term[kind] = [key]
    if key in labels:
        expression = {"key": key, "operator": operator, "values": [labels[key]]}
        selector = term["labelSelector"]
        term["labelSelector"] = {
            **selector,
            "matchExpressions": [*selector.get("matchExpressions", []), expression],
        }
