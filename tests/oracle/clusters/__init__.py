"""
Clusters in which the whole default profile decides, made at random: the first inputs of the kind whole_profile.

    number --> nodes, namespaces, workloads --> features: one alone in every fifth, else several --> Pods on nodes

A number makes the same cluster each time.  `python -m tests.oracle.clusters` prints all of them, a case a line.
"""

from __future__ import annotations

from random import Random

from tests.oracle.clusters.affinity import (
    others_affinity,
    others_anti_affinity,
    others_preferences,
    own_affinity,
    own_anti_affinity,
    own_preferences,
)
from tests.oracle.clusters.cluster import Feature, Object, case, likely, plain
from tests.oracle.clusters.features import (
    declared_features,
    host_ports,
    images,
    node_affinity,
    resources,
    spread,
    taints,
)

NUMBER, LETTER = 1000, "w"
CONFIGURED, CONFIGURED_LETTERS = 40, "cw"
# Each with how likely it is beside others.
FEATURES = (
    (own_affinity, 0.17),
    (own_anti_affinity, 0.22),
    (own_preferences, 0.65),
    (others_anti_affinity, 0.4),
    (others_preferences, 0.5),
    (others_affinity, 0.3),
    (host_ports, 0.17),
    (images, 0.8),
    (declared_features, 0.13),
    (spread, 0.3),
    (taints, 0.3),
    (node_affinity, 0.2),
    (resources, 0.18),
)
# Those that the kind is about.
ALONE = tuple(feature for feature, _ in FEATURES[:9])
ARGUMENTS = (
    {"hardPodAffinityWeight": 0},
    {"hardPodAffinityWeight": 1},
    {"hardPodAffinityWeight": 50},
    {"hardPodAffinityWeight": 100},
    {"hardPodAffinityWeight": 100, "ignorePreferredTermsOfExistingPods": True},
    {"ignorePreferredTermsOfExistingPods": True},
)


def whole_profile() -> list[Object]:
    """Return the cases of that kind, in order."""
    return [whole(number) for number in range(NUMBER)]


def whole(number: int) -> Object:
    """Return the case of that number: beyond NUMBER, one that is not recorded."""
    return _case(f"{LETTER}{number}", _chosen(number))


def configured() -> list[Object]:
    """Return cases of that kind: arguments of InterPodAffinity, each where other Pods have affinities of their own."""
    cases = []
    for number in range(CONFIGURED):
        times, which = divmod(number, len(ARGUMENTS))
        chosen = (others_affinity, others_preferences, *[own_preferences][: times % 2])
        configuration = {"configuration": _configuration(ARGUMENTS[which])}
        cases.append(_case(f"{CONFIGURED_LETTERS}{number}", chosen) | configuration)
    return cases


def _chosen(number: int) -> tuple[Feature, ...]:
    if number % 5 == 0:
        return (ALONE[number // 5 % len(ALONE)],)
    random = Random(f"features of {number}")
    while True:
        chosen = tuple(feature for feature, chance in FEATURES if likely(random, chance))
        if len(chosen) > 1:
            return chosen


def _case(name: str, chosen: tuple[Feature, ...]) -> Object:
    """Make the cluster of that name, in the form of the recordings of mode profile."""
    random = Random(name)
    cluster = plain(random)
    for feature in chosen:
        feature(random, cluster)
    return case(random, name, cluster)


def _configuration(arguments: Object) -> Object:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [{"name": "InterPodAffinity", "args": arguments}],
            }
        ],
    }
