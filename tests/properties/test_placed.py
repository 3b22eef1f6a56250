"""How many replicas the rules say can run is how many the filter lets in, one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.spread_filter import HardConstraints
from tests.properties.judging import fuzz
from tests.properties.test_fixes import cluster, nodes
from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint, snapshot, workload
from webhook.findings.rule import Subject
from webhook.kubernetes.workload import parse_workloads
from webhook.spread.constraint import read_constraints

constraints = st.builds(
    constraint,
    topologyKey=st.sampled_from((ZONE, HOSTNAME, "rack")),
    maxSkew=st.integers(1, 3),
    minDomains=st.sampled_from((None, 1, 2, 3, 4)),
    nodeTaintsPolicy=st.sampled_from((None, "Honor")),
    nodeAffinityPolicy=st.sampled_from((None, "Ignore")),
)
pod_specs = st.sampled_from(
    ({}, {"nodeSelector": {ZONE: "a"}}, {"tolerations": [{"key": "dedicated", "operator": "Exists"}]})
)
listed = st.lists(constraints, min_size=1, max_size=2, unique_by=lambda one: one["topologyKey"])


def subject_of(obj, there):
    (parsed,) = parse_workloads(obj)
    reading = read_constraints(parsed.raw_constraints, FEATURES)
    hard = reading.parsed(parsed.labels)
    known = {"features": FEATURES, "snapshot": there, "others": None, "settings": {}, "parameters": {}}
    return Subject(parsed, reading, hard, hard, frozenset(), carries=parsed.labels.keys(), **known)


def placed_one_by_one(subject, there, choose):
    """The number of replicas that the filter lets in, each on a node that is chosen among those that pass."""
    filtering = HardConstraints.of(Cycle(subject.pod, subject.hard, there, FEATURES))
    labels = tuple(sorted(subject.workload.labels.items()))
    for number in range(subject.workload.replicas):
        passing = sorted(there.nodes.names(filtering.passing(subject.reach.usable)))
        if not passing:
            return number
        chosen = choose(passing)
        for counts in filtering.counts:
            counts.add(labels, chosen, 1)
    return subject.workload.replicas


@fuzz
@given(written=listed, drawn=nodes, pod_spec=pod_specs, replicas=st.integers(1, 12), data=st.data())
def test_as_many_are_said_to_run_as_the_filter_lets_in(written, drawn, pod_spec, replicas, data):
    """Of several constraints at most so many, in whatever order they come."""
    obj, there = workload("StatefulSet", *written, spec={"replicas": replicas}), snapshot(*cluster(drawn))
    obj["spec"]["template"]["spec"] |= pod_spec
    subject = subject_of(obj, there)
    number = placed_one_by_one(subject, there, lambda passing: data.draw(st.sampled_from(passing)))

    assert subject.placed.exact == (len(written) == 1)
    assert number == subject.placed.number if subject.placed.exact else number <= subject.placed.number
