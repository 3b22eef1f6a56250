"""The frameworks that all runs copy."""

from __future__ import annotations

import pickle

from evenkeel.scheduler.snapshot import from_objects
from evenkeel.simulate.frameworks_at_start import FrameworksAtStart
from tests.support.simulated import nodes, pod_class
from webhook.kubernetes.features import features


def test_a_class_has_one_framework_which_has_looked_at_all_nodes():
    snapshot, of_class = from_objects(nodes("a=2"), features(33)), pod_class()
    at_start = FrameworksAtStart()
    usage = at_start.usage(snapshot)
    framework = at_start.of(of_class, features(33))

    assert at_start.of(of_class, features(33)) is framework
    assert at_start.usage(from_objects(nodes("a=2"), features(33))) is usage
    assert 0b11 == framework.feasible() == framework.best(0b11)


def test_another_process_makes_its_own():
    at_start = FrameworksAtStart()
    at_start.usage(from_objects(nodes("a=2"), features(33)))
    at_start.of(pod_class(), features(33))
    sent = pickle.loads(pickle.dumps(at_start))
    usage = sent.usage(from_objects(nodes("a=1"), features(33)))

    assert 1 == len(usage.nodes)
    assert 0b1 == sent.of(pod_class(), features(33)).feasible()
