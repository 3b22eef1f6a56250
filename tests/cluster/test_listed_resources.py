"""The kinds that commands list: all that is watched, and all built-in workloads."""

from __future__ import annotations

from webhook.cluster.listed_resources import LISTED_RESOURCES, custom
from webhook.cluster.watched_resources import WATCHED
from webhook.kubernetes.kinds import BUILT_IN_KINDS, KINDS


def named(kinds):
    return {(kind.api_version, kind.kind, kind.resource, kind.namespaced) for kind in kinds}


def test_kinds_are_listed_in_the_order_of_a_dump():
    kinds = [kind.kind for kind in LISTED_RESOURCES]

    assert sorted(set(kinds)) == kinds


def test_all_that_is_watched_is_listed():
    assert named(WATCHED) <= named(LISTED_RESOURCES)


def test_everything_built_in_that_has_pods_is_listed():
    """A PodTemplate has none: no controller uses it."""
    workloads = {(kind.api_version, kind.kind, kind.resource, True) for kind in BUILT_IN_KINDS}

    assert {("v1", "PodTemplate", "podtemplates", True)} == workloads - named(LISTED_RESOURCES)


def test_custom_resources_by_version_the_newest_first():
    of_kruise = [api_version for api_version in custom(KINDS) if api_version.startswith("apps.kruise.io/")]

    assert ["apps.kruise.io/v1beta1", "apps.kruise.io/v1alpha1"] == of_kruise
    assert {(one.api_version, one.resource) for one in KINDS if not one.built_in} == {
        (one.api_version, one.resource) for those in custom(KINDS).values() for one in those
    }
    assert {} == custom(BUILT_IN_KINDS)
