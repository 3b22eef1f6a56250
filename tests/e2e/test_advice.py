"""What kubectl prints of nodes that make a constraint useless or harmful, and that the scheduler then does so."""

from __future__ import annotations

import json

import pytest

from evenkeel.scheduler.plugins.pod_topology_spread import UNEVEN, UNLABELLED
from tests.e2e.kubelet import set_taints
from tests.e2e.placement import refusal, settled
from tests.e2e.webhook import installed
from tests.e2e.words import deployment, unknown
from tests.support.build import HOSTNAME, ZONE, constraint, pod
from tests.support.commands import script
from tests.support.placing import requesting
from tests.support.serving import until

CREATED, REPLICAS = "deployment.apps/web created\n", 6
AT_ONCE = {"replicas": REPLICAS, "strategy": {"type": "Recreate"}}


@pytest.fixture(scope="module", autouse=True)
def running(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("webhook")) as running:
        yield running


@pytest.fixture
def tainted(plane):
    """Nodes of which none takes a Pod without a toleration; the test names them."""
    names: list[str] = []

    def taint(*nodes: str) -> None:
        names.extend(nodes)
        for name in nodes:
            set_taints(plane.api, name, {"key": "dedicated", "value": "infra", "effect": "NoSchedule"})

    yield taint
    for name in names:
        set_taints(plane.api, name)


def waiting(plane, namespace, count=REPLICAS):
    """The scheduler's messages on the Pods that it could not place."""
    return [said for one in settled(plane, namespace, count) if (said := refusal(one))]


def says(output, namespace, said, rule):
    """Whether one warning is printed, which says this of the first constraint; nothing if that is empty."""
    begins, ends = f"Warning: Deployment {namespace}/web: topologySpreadConstraints[0].{said}; ", f" (evenkeel {rule})"
    lines = output.stderr.splitlines()
    return len(lines) == bool(said) and all(line.startswith(begins) and line.endswith(ends) for line in lines)


def asked(plane, made):
    """The answer to a dry run, which changes when evenkeel knows of the taints."""
    return plane.kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(made))


def test_a_key_that_no_node_carries(plane, namespace):
    output = plane.apply(deployment(namespace, constraint(topologyKey="rack"), spec=AT_ONCE))

    assert (0, CREATED, unknown(f"Deployment {namespace}/web")) == output
    assert [True] * REPLICAS == [UNLABELLED.text in said for said in waiting(plane, namespace)]


@pytest.mark.parametrize(
    ("key", "nodes", "what", "left"),
    [
        (ZONE, ("c1", "c2", "c3"), "c is tainted, but counts", 4),
        (HOSTNAME, ("c1", "c2", "c3"), "", 0),
    ],
    ids=["a zone", "nodes of which enough are left"],
)
def test_a_domain_whose_every_node_is_tainted(plane, namespace, tainted, key, nodes, what, left):
    tainted(*nodes)
    made = deployment(namespace, constraint(topologyKey=key), spec=AT_ONCE)
    said = f"nodeTaintsPolicy: {left} of {REPLICAS} new Pods would wait: {what}" if left else ""
    until(lambda: says(asked(plane, made), namespace, said, "tainted-domain"), "the taints to be known")
    output = plane.apply(made)

    assert (0, CREATED) == output[:2]
    assert says(output, namespace, said, "tainted-domain"), output
    assert [True] * left == [UNEVEN.text in said for said in waiting(plane, namespace)]


@pytest.mark.parametrize(
    ("fields", "said", "left"),
    [
        ({}, "topologyKey: spreads nothing: nodeSelector allows only a", 0),
        ({"whenUnsatisfiable": "ScheduleAnyway"}, "topologyKey: spreads nothing: nodeSelector allows only a", 0),
        ({"minDomains": 3}, "minDomains: only 1 of 6 Pods can ever run: nodeSelector allows 1 domain", 5),
        (
            {"nodeAffinityPolicy": "Ignore"},
            "nodeAffinityPolicy: 5 of 6 new Pods would wait: b and 1 more count, but the nodeSelector excludes them",
            5,
        ),
    ],
    ids=["hard", "soft", "minDomains", "the others count"],
)
def test_domains_that_the_node_selector_leaves(plane, namespace, fields, said, left):
    made = deployment(namespace, constraint(**fields), spec=AT_ONCE)
    made["spec"]["template"]["spec"]["nodeSelector"] = {ZONE: "a"}
    output = plane.apply(made)

    assert (0, CREATED) == output[:2]
    assert says(output, namespace, said, "pinned-domain"), output
    assert [True] * left == [UNEVEN.text in each for each in waiting(plane, namespace)]


def test_taints_that_are_honoured_bar_nothing(plane, namespace, tainted):
    tainted("c1", "c2", "c3")
    output = plane.apply(deployment(namespace, constraint(nodeTaintsPolicy="Honor"), spec=AT_ONCE))

    assert (0, CREATED, "") == output
    assert [] == waiting(plane, namespace)


def test_the_replica_from_which_on_no_node_takes_a_pod(plane, namespace, tmp_path):
    """Zone c has room for one more, so that the others take two each: the scheduler leaves as many as it says."""
    for name, cpu in (("c1", "15500m"), ("c2", "16"), ("c3", "16")):
        spec = {"nodeName": name, "containers": requesting(cpu)}
        plane.api.call(
            "POST", f"/api/v1/namespaces/{namespace}/pods", pod(name=name, namespace=namespace, labels={}, spec=spec)
        )
    made = deployment(namespace, constraint(), spec={**AT_ONCE, "replicas": 9})
    made["spec"]["template"]["spec"]["containers"] = requesting("500m")
    file = tmp_path / "web.yaml"
    file.write_text(json.dumps(made))
    linted = script("lint", file, "--cluster", "live", "--kubeconfig", plane.kubeconfig, "-o", "json")

    assert "unschedulable" in [finding["rule"] for finding in json.loads(linted.stdout)["findings"]]
    assert 0 == plane.apply(made).code
    assert 4 == len(waiting(plane, namespace, 9 + 3))
