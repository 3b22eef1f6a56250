"""The revisions of a StatefulSet."""

from __future__ import annotations

import pytest

from tests.support.simulated import updating
from webhook.objects.pod_object import read_pod
from webhook.objects.pod_templates import MADE_UP_LABEL, with_new_template
from webhook.objects.workload_object import read_workload_object
from webhook.simulation.revisions import Revisions, read_revisions


def _read(stateful_set, *pods):
    return read_workload_object(stateful_set), *map(read_pod, pods)


@pytest.mark.parametrize(
    ("there", "updated", "current", "found", "lost"),
    [
        ("new new", "new", "new", "", False),
        ("new new", "new", "old", "old", True),
        ("old new", "new", "old", "old", False),
        ("older new", "new", "old", "old", True),
        ("old new", "new", "", "old", False),
        ("bad old", "old", "old", "old", False),
        ("old new", "", "", "", False),
    ],
)
def test_the_current_revision(there, updated, current, found, lost):
    """The fifth has no current revision in its dump, the sixth was rolled back, the last has no status yet."""
    made, *pods = _read(
        *updating(on=[("a1", revision) for revision in there.split()], current=current, updated=updated)
    )
    read = read_revisions(made, pods)

    assert (updated, found, lost) == (read.updated, read.current, read.lost)
    assert [int(found != "" and one == updated) for one in there.split()] == [read.number(pod) for pod in pods]


def test_without_a_rollout_all_pods_are_of_one_revision():
    assert 0 == Revisions("new").number(_read(*updating(on=[("a1", "new")]))[1])


def test_a_changed_template_has_a_revision_of_its_own():
    made, *pods = _read(*updating(on=[("a1", "old"), ("b1", "old")], current="old", updated="old"))
    read = read_revisions(read_workload_object(with_new_template(made.raw)), pods)

    assert (MADE_UP_LABEL, "old", pods[0]) == read
    assert Revisions("old") == read_revisions(made, pods)
