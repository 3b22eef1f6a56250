"""The revisions of a StatefulSet or DaemonSet."""

from __future__ import annotations

import pytest

from evenkeel.objects.pod_object import read_pod
from evenkeel.objects.pod_templates import MADE_UP_LABEL, with_new_template
from evenkeel.objects.workload_object import read_workload_object
from evenkeel.simulate.revisions import Revisions, read_daemon_revisions, read_revisions
from tests.support.simulated import application, updating


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


@pytest.mark.parametrize(
    ("there", "changed", "numbers"),
    [
        ("9old 9old", False, [0, 0]),
        ("9old 10newest", False, [0, 1]),
        ("3undone 2bad 1undone", False, [1, 0, 1]),
        ("9old 10newest", True, [0, 0]),
        ("-new 1old", False, [0, 1]),
    ],
)
def test_the_pods_of_a_daemon_set_that_are_updated(there, changed, numbers):
    """Each is made of this generation of the template, and this revision; numbers are compared as numbers."""
    made, *pods = application("web", ["a1"] * len(numbers), kind="DaemonSet")
    for one, written in zip(pods, there.split(), strict=True):
        generation = written.rstrip("abcdefghijklmnopqrstuvwxyz")
        one["metadata"]["labels"] |= {
            "pod-template-generation": generation,
            "controller-revision-hash": written.removeprefix(generation),
        }
    daemon_set, *pods = _read(with_new_template(made) if changed else made, *pods)
    read = read_daemon_revisions(daemon_set, pods)

    assert numbers == [read.number(one) for one in pods]


def test_a_daemon_set_without_pods_has_one_revision():
    assert Revisions() == read_daemon_revisions(*_read(*application("web", [], kind="DaemonSet")), [])
