"""Whatever a dump of a cluster holds, it is read or refused in words."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial

from hypothesis import assume, given
from hypothesis import strategies as st

from evenkeel.scheduler.snapshot import from_objects
from tests.properties.judging import assert_well_formed, chosen, decide, fuzz, minors, requests
from tests.support import strategies as some
from webhook.admission.request import MUTATE
from webhook.cluster import decoding
from webhook.cluster.watched_resources import WATCHED
from webhook.kubernetes.features import features
from webhook.spread.cluster_view import SnapshotError, read_view_object, view_of

NAMES = st.sampled_from(("web", "", "a\n", "é", "\ud800"))
AMOUNTS = st.dictionaries(
    st.sampled_from(("cpu", "memory", "pods", "example.com/gpu", "x")),
    st.sampled_from(("1", "500m", "1.5Gi", "9e999", "-1", "?", 2, 0.5, None, True, [])),
    max_size=3,
)
RESOURCES = some.some_of(requests=AMOUNTS, limits=AMOUNTS)
CONTAINERS = some.some_of(
    name=NAMES,
    resources=RESOURCES,
    allocatedResources=AMOUNTS,
    restartPolicy=st.sampled_from(("Always", "x")),
    env=st.just([{"name": "E"}]),
)
WATCHED_OBJECTS = st.fixed_dictionaries(
    {
        "metadata": some.some_of(
            name=NAMES,
            namespace=st.sampled_from(some.NAMESPACES),
            uid=NAMES,
            labels=some.labels,
            annotations=some.annotations,
            deletionTimestamp=st.sampled_from((None, "2026-01-01T00:00:00Z")),
            resourceVersion=st.just("7"),
        ),
        "spec": some.some_of(
            nodeName=NAMES,
            selector=some.selectors | some.labels,
            containers=st.lists(CONTAINERS, max_size=2),
            initContainers=st.lists(CONTAINERS, max_size=2),
            overhead=AMOUNTS,
            resources=RESOURCES,
        ),
        "status": some.some_of(
            phase=st.sampled_from(("Running", "Failed")),
            conditions=st.just([{}]),
            allocatable=AMOUNTS,
            containerStatuses=st.lists(CONTAINERS, max_size=2),
            resources=RESOURCES,
        ),
    }
)
LISTED = some.perhaps_damaged(WATCHED_OBJECTS | some.cluster_objects)


@fuzz
@given(
    objects=st.lists(some.perhaps_damaged(some.cluster_objects | WATCHED_OBJECTS), max_size=4),
    request=requests,
    minor=minors,
    resources=st.booleans(),
)
def test_a_dump_is_read_or_refused_in_words(objects, request, minor, resources):
    """And one that is read serves."""
    with suppress(SnapshotError):
        snapshot = from_objects(objects, features(minor)) if resources else view_of(objects)
        assert_well_formed(decide(request, MUTATE, partial(chosen, "plain"), lambda: snapshot, minor))


def outcome(raw, gvk):
    """What is read of an object, or why nothing is."""
    try:
        return read_view_object(raw, *gvk)
    except SnapshotError as error:
        return str(error)
    except (AttributeError, RecursionError) as error:  # no JSON object, or too deep
        return type(error)


@fuzz
@given(
    objects=st.lists(some.perhaps_damaged(WATCHED_OBJECTS | some.cluster_objects), max_size=4),
    kind=st.sampled_from(WATCHED),
)
def test_what_is_decoded_in_part_is_read_as_if_it_were_decoded_whole(objects, kind):
    try:
        body = json.dumps({"metadata": {"resourceVersion": "7"}, "items": objects}).encode()
        whole = json.loads(body)
    except (RecursionError, ValueError):
        assume(False)
    found = decoding.page(body)

    assert whole["metadata"] == found["metadata"]
    assert [outcome(raw, kind.gvk) for raw in whole["items"]] == [outcome(raw, kind.gvk) for raw in found["items"]]
