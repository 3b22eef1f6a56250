"""The kinds that commands list: all that is watched, and all built-in workloads."""

from __future__ import annotations

from webhook.cluster.listed import LISTED
from webhook.cluster.watched import WATCHED
from webhook.objects.kinds import BUILT_IN_KINDS


def named(kinds):
    return {(kind.api_version, kind.kind, kind.resource, kind.namespaced) for kind in kinds}


def test_kinds_are_listed_in_the_order_of_a_dump():
    kinds = [kind.kind for kind in LISTED]

    assert sorted(set(kinds)) == kinds


def test_all_that_is_watched_is_listed():
    assert named(WATCHED) <= named(LISTED)


def test_everything_built_in_that_has_pods_is_listed():
    """A PodTemplate has none: no controller uses it."""
    workloads = {(kind.api_version, kind.kind, kind.resource, True) for kind in BUILT_IN_KINDS}

    assert {("v1", "PodTemplate", "podtemplates", True)} == workloads - named(LISTED)


def test_finished_pods_are_listed_too():
    assert all(kind.query == {} for kind in LISTED)
