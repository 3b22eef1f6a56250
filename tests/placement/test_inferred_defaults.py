"""What evenkeel has given Pods is told by their annotation."""

from __future__ import annotations

import pytest

from evenkeel.placement.inferred_defaults import given_defaults
from evenkeel.placement.subject import of_pod
from tests.support.build import pod, workload
from tests.support.placing import spread

GIVEN = {"annotations": {"evenkeel.dev/defaulted-by": "policy"}}
SOFT = spread(whenUnsatisfiable="ScheduleAnyway")
OTHERS = {("apps", "ReplicaSet", "shop", "web-1"): workload("ReplicaSet", name="web-1", owner="Deployment/web")}
OF_ANOTHER = [{"apiVersion": "example.com/v1", "kind": "Deployment", "name": "web", "controller": True}]
ANOTHER = {"name": "a", "namespace": "shop", **GIVEN, "ownerReferences": OF_ANOTHER}


def made(name, *constraints, owner="ReplicaSet/web-1", day=1, **metadata):
    more = {**metadata, **(GIVEN if constraints else {}), "creationTimestamp": f"2026-01-0{day}T00:00:00Z"}
    return pod(*constraints, name=name, owner=owner, **more)


@pytest.mark.parametrize(
    ("pods", "given"),
    [
        ([made("a", SOFT)], [1]),
        ([made("a", SOFT), made("b", {**SOFT, "maxSkew": 2}, day=2)], [2]),
        ([made("a", SOFT), made("b", day=2)], None),
        ([made("a", SOFT, owner="ReplicaSet/other")], None),
        ([made("a", SOFT, owner=None)], None),
        ([made("a", SOFT) | {"metadata": ANOTHER}], None),
        ([made("a", SOFT, namespace="other")], None),
        ([], None),
    ],
    ids=["one Pod", "the newest", "no more", "of another", "of nobody", "of another group", "elsewhere", "no Pod"],
)
def test_the_newest_pod_tells_what_the_next_is_given(pods, given):
    given_to = given_defaults(pods, OTHERS)
    found = given_to(of_pod(made("next"), OTHERS))

    assert given == (found and [one["maxSkew"] for one in found])
    assert not any("labelSelector" in one for one in found or ())
    assert given_to(of_pod(made("next", owner=None), OTHERS)) is None
