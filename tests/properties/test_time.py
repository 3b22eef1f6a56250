"""Whatever is in 1 MB, it is answered in time for all others that wait."""

from __future__ import annotations

import json
import sys
import time
from functools import cache, partial
from itertools import count, product

import pytest

from tests.properties.judging import STRICT, kinds
from tests.support import strategies as some
from tests.support.build import constraint, pod, service, workload
from tests.support.review import review
from webhook.admission.cost import MOST_CONSTRAINTS, MOST_SELECTOR_VALUES
from webhook.admission.request import MUTATE, UPDATE, VALIDATE
from webhook.kubernetes.features import LATEST, features
from webhook.policy.parsing import parse_policy
from webhook.spread.cluster_view import view_of

pytestmark = pytest.mark.alone


def spreads(count, **fields):
    """Constraints that no two have a topology key in common."""
    return [constraint(**{"topologyKey": f"rack{i}", **fields}) for i in range(count)]


def expressions(count, **fields):
    return {"matchExpressions": [{"key": f"key{i}!", "operator": "Bad", **fields} for i in range(count)]}


def fleet(templates, *constraints, metadata=None, **fields):
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"topologySpreadConstraints": list(constraints)}}
    sets = [{"template": template}] * templates
    return {"apiVersion": "a.io/v1", "kind": "Fleet", "metadata": metadata or {}, "spec": {"sets": sets}, **fields}


MISSING = {"matchLabels": {"app": "no"}}
MAXIMAL = {
    "maxSkew": 0,
    "minDomains": 0,
    "nodeAffinityPolicy": "no",
    "nodeTaintsPolicy": "no",
    "labelSelector": expressions(1, values=["no!"]),
    "matchLabelKeys": ["a", "b!", "c/d/e"],
}
# As much as is judged: a maximal constraint is 18 values, and so is all of a small one.
FULL, MOST, ROOM = MOST_SELECTOR_VALUES // 18, MOST_CONSTRAINTS, MOST_SELECTOR_VALUES - 18
KEYS = [f"z{i}!" for i in range(ROOM)]
IGNORING = {some.IGNORE: ",".join(f"a{i}" for i in range(150_000))}
LARGE = {
    "300k empty constraints": lambda: pod(*({} for _ in range(300_000))),
    "30k expressions": lambda: pod(*spreads(1, labelSelector=expressions(30_000))),
    "as many expressions as are judged, of 5 KB": lambda: workload(
        "Deployment", *spreads(1, labelSelector=expressions(ROOM // 5, key="x!" * 2_000, values=["y!" * 500]))
    ),
    "100k values": lambda: pod(*spreads(1, labelSelector=expressions(1, values=["v"] * 100_000))),
    "as many values as are judged, of 1 KB": lambda: pod(
        *spreads(1, labelSelector=expressions(1, values=["v!" * 500] * ROOM))
    ),
    "as many maximal constraints as are judged": lambda: workload("Deployment", *spreads(FULL, **MAXIMAL)),
    "80k labels": lambda: pod(labels=dict.fromkeys(some.label_set(80_000), "a")),
    "40k labels that a Service selects": lambda: pod(labels=some.label_set(40_000)),
    "80k labels, empty selectors": lambda: pod(*spreads(MOST, labelSelector={}), labels=some.label_set(80_000)),
    "80k labels, null selectors": lambda: pod(
        *spreads(MOST, labelSelector=None, matchLabelKeys=["z"]), labels=some.label_set(80_000)
    ),
    "80k labels, selectors that miss": lambda: pod(
        *spreads(MOST, labelSelector=MISSING), labels=some.label_set(80_000)
    ),
    "80k labels, as many keys as are judged": lambda: pod(
        *spreads(1, matchLabelKeys=KEYS), labels=some.label_set(80_000)
    ),
    "40k labels in a workload's own selector": lambda: workload(
        "Deployment",
        *spreads(MOST, labelSelector={}),
        labels=some.label_set(40_000),
        spec={"selector": {"matchLabels": some.label_set(40_000)}},
    ),
    "as many keys as are judged": lambda: workload("Deployment", *spreads(1, matchLabelKeys=KEYS)),
    "as many revision keys as are judged": lambda: workload(
        "StatefulSet", *spreads(1, matchLabelKeys=[some.HASH] * ROOM)
    ),
    "as many revision keys as are judged, 240k owners": lambda: workload(
        "StatefulSet", *spreads(1, matchLabelKeys=[some.HASH] * ROOM), ownerReferences=[{}] * 240_000
    ),
    "half as many keys beside as many labels": lambda: pod(
        *spreads(
            1,
            labelSelector={"matchLabels": some.label_set(ROOM // 2)},
            matchLabelKeys=[f"key{i}" for i in range(ROOM // 2)],
        )
    ),
    "as many numbers for keys as are judged": lambda: pod(*spreads(1, matchLabelKeys=[1] * ROOM)),
    "a topology key of 1 MB": lambda: pod(*spreads(1, topologyKey=f"{'a' * 1_000_000}!")),
    "a topology key of 500k domains": lambda: pod(*spreads(1, topologyKey=f"{'a.' * 500_000}/x")),
    "as many topology keys as are judged, of 10 KB": lambda: pod(*[constraint(topologyKey=f"{'a.' * 5_000}!")] * MOST),
    "1 MB of control characters": lambda: pod(
        constraint(topologyKey="\x01" * 500_000, labelSelector={"matchLabels": {"\x01" * 500_000: 1}})
    ),
    "constraints 5,000 levels deep": lambda: pod(some.nested(5_000)),
    "labels 300k levels deep": lambda: pod(constraint(), labels=some.nested(300_000)),
    "1 MB of commas for rules to ignore": lambda: workload(
        "Deployment", constraint(), annotations={some.IGNORE: "," * 1_000_000}
    ),
    "150k names of rules to ignore": lambda: workload("Deployment", constraint(), annotations=IGNORING),
    "300k owners": lambda: pod(constraint(), ownerReferences=[{}] * 300_000),
    "50 templates of 2 constraints": lambda: fleet(50, *spreads(2, labelSelector={})),
    "50 templates of 99 maximal constraints": lambda: fleet(50, *spreads(99, **MAXIMAL)),
    "50 templates, 250k owners": lambda: fleet(50, constraint(), metadata={"ownerReferences": [{}] * 250_000}),
    "50 templates, 250k conditions": lambda: fleet(50, constraint(), status={"conditions": [{}] * 250_000}),
    "50 templates, 80k annotations": lambda: fleet(50, constraint(), metadata={"annotations": some.label_set(80_000)}),
    "50 templates, 150k names of rules": lambda: fleet(50, constraint(), metadata={"annotations": IGNORING}),
    "300k templates": lambda: fleet(300_000),
    "300k items without a template": lambda: fleet(0) | {"spec": {"sets": [{}] * 300_000}},
    "250k templates in lists of 10": lambda: (
        fleet(0) | {"kind": "Grid", "spec": {"rows": [{"cells": [{}] * 10}] * 25_000}}
    ),
    "1 MB beside the template": lambda: workload(
        "Deployment", constraint(), spec={"more": [{"x": i} for i in range(80_000)]}
    ),
}


@cache
def crowd():
    return view_of(
        [
            *({"apiVersion": "v1", "kind": "Node", "metadata": {"labels": some.label_set(30)}} for _ in range(5_000)),
            *(service(str(i), {f"key{i}": ""}, namespace="default") for i in range(1_000)),
            service("wide", some.label_set(40_000), namespace="default"),
        ]
    )


@pytest.mark.parametrize("name", LARGE)
def test_an_object_of_1_mb_is_answered_within_50_ms(name):
    """Under the strictest policy in a large cluster: it is created, replaces another, is replaced."""
    obj = LARGE[name]()
    requests = [{"operation": "CREATE", "object": obj, "namespace": "default"}]
    if path := some.kind_of(obj, kinds()).template:
        other = some.planted(LARGE[name](), (*path, "metadata", "labels"), dict)
        requests += [{"operation": UPDATE, "object": a, "oldObject": b} for a, b in ((obj, other), (other, obj))]

    policy = STRICT(early_answer=True)
    for request, phase, minor in product(requests, (MUTATE, VALIDATE), (30, 37)):
        assert_quick(partial(review, request, phase, policy, crowd(), features(minor)))


# As much as is judged and under 100 kB, with constraints that no review had before; `n` makes them new.
EACH_NEW = {
    "distinct keys": lambda n: pod(*new_keys(n, MOST)),
    "keys that may be misspelt": lambda n: pod(*[constraint(topologyKey=misspelt(n + i)) for i in range(MOST)]),
    "selectors that are empty": lambda n: workload("Deployment", *new_keys(n, MOST, labelSelector={})),
    "selectors that miss": lambda n: workload("Deployment", *new_keys(n, MOST, labelSelector=MISSING)),
    "constraints of wrong types": lambda n: pod(*[{"maxSkew": f"{n}", "topologyKey": i} for i in range(MOST)]),
    "maximal constraints": lambda n: workload("Deployment", *new_keys(n, FULL, **MAXIMAL)),
    "keys to merge": lambda n: workload(
        "Deployment", *new_keys(n, 1, matchLabelKeys=[f"k{n}-{i}" for i in range(ROOM)])
    ),
    "revision keys": lambda n: workload("StatefulSet", *new_keys(n, 1, matchLabelKeys=[some.HASH] * ROOM)),
    "null expressions": lambda n: pod(*new_keys(n, 1, labelSelector={"matchExpressions": [None] * ROOM})),
    "a workload's own selector of 40 kB": lambda n: workload(
        "Deployment", *new_keys(n, MOST, labelSelector={}), labels=LONG, spec={"selector": {"matchLabels": LONG}}
    ),
    "50 templates and 16k rules to ignore": lambda n: fleet(
        50, *new_keys(n, 1), metadata={"annotations": {some.IGNORE: ",".join(f"a{i}" for i in range(16_000))}}
    ),
}
TRIES = 20  # What else runs may take a cache's share from all of a few.
LONG = {f"key{i}": "v" * 2_000 for i in range(20)}


def new_keys(n, count, **fields):
    return [constraint(topologyKey=f"rack{n}-{i}", **fields) for i in range(count)]


def misspelt(n):
    """A key three letters from one that nodes have, found only at the end."""
    return f"topology.kubernetes.io/r{''.join(chr(97 + n // 26**place % 26) for place in range(3))}ox"


@pytest.mark.parametrize("name", EACH_NEW)
def test_what_no_review_had_before_is_judged_within_8_ms(name):
    """Created, and with that in place of something like it; a hostile client sends something new each time."""
    policy, numbers = parse_policy(json.dumps(some.STRICT | {"rules": {}})), count(1_000)

    def created():
        review({"operation": "CREATE", "object": next(made)}, VALIDATE, policy, None, LATEST)

    def replaced():
        request = {"operation": UPDATE, "object": next(made), "oldObject": next(made)}
        review(request, VALIDATE, policy, None, LATEST)

    for answer, objects in ((created, 1), (replaced, 2)):
        made = iter([EACH_NEW[name](1_000 * next(numbers)) for _ in range(TRIES * objects)])
        assert_quick(answer, 0.008 * objects)


def assert_quick(answer, bound=0.050):
    """
    That `answer` takes its time, in seconds, where a fixed workload takes 20 ms, and in proportion where that takes
    longer.

    CPU time and the best of TRIES are blind to what else the machine does; the yardstick, run right before and after
    each, makes up for a machine that is slower all that time.
    """
    rounds, before = [], seconds(yardstick)
    while len(rounds) < TRIES:
        took, after = seconds(answer), seconds(yardstick)
        rounds.append(took / max(1, min(before, after) / 0.020))
        before = after
        if rounds[-1] <= bound:
            return
    raise AssertionError(f"wanted {bound * 1000:.0f} ms, found {', '.join(f'{took * 1000:.0f}' for took in rounds)}")


def seconds(call):
    """The CPU time of a call; what traces the tests would count, too."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        start = time.process_time()
        call()
        return time.process_time() - start
    finally:
        sys.settrace(tracer)


@pytest.mark.parametrize(("times", "holds"), [(1, True), (4, False)])
def test_the_bound_holds_for_what_is_quick_and_for_nothing_else(times, holds):
    def answer():
        for _ in range(times):
            yardstick()

    if holds:
        assert_quick(answer)
    else:
        with pytest.raises(AssertionError, match="wanted 50 ms, found"):
            assert_quick(answer)


def yardstick():
    found = {}
    for i in range(90_000):
        found[i % 100, "key"] = f"{i}.{found.get((i % 7, 'key'))}"[:20]
