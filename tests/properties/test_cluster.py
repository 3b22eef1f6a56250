"""Whatever a dump of a cluster holds, it is read or refused in words."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.judging import assert_well_formed, chosen, decide, fuzz, minors, requests
from tests.support import strategies as some
from webhook.admission.request import MUTATE
from webhook.scheduler.snapshot import SnapshotError, from_objects


@fuzz
@given(objects=st.lists(some.perhaps_damaged(some.cluster_objects), max_size=4), request=requests, minor=minors)
def test_a_dump_is_read_or_refused_in_words(objects, request, minor):
    """And one that is read serves."""
    with suppress(SnapshotError):
        snapshot = from_objects(objects)
        assert_well_formed(decide(request, MUTATE, partial(chosen, "plain"), lambda: snapshot, minor))
