"""A dump of a cluster, or no cluster, is asked as one that is watched."""

from __future__ import annotations

import pytest

from tests.support.build import snapshot
from webhook.cluster.cluster import Readiness, Unchanging

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}


@pytest.mark.parametrize(
    ("objects", "detail"), [(None, "none"), ([NODE], "a file with 1 nodes")], ids=["none", "a file"]
)
def test_what_never_changes_is_always_ready(objects, detail):
    known = None if objects is None else snapshot(*objects)
    cluster = Unchanging(known)
    cluster.start()
    cluster.stop()

    assert (known, known) == (cluster.view(), cluster.view_for("shop", None))
    assert Readiness(True, detail) == cluster.state()
