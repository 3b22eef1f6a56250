"""The commands of kubectl that are printed go to the cluster that was read, whatever kubectl's current context is."""

from __future__ import annotations

import pytest

from evenkeel.clusters import sources
from tests.commands.test_pending import waiting
from tests.support.build import constraint
from tests.support.placing import node, requesting
from tests.support.reporting import ZONES
from tests.support.simulated import deployment

CORDONED = [node("n1", unschedulable=True), waiting("web-1")]
UNEVEN = [*ZONES, *deployment(constraint(), replicas=3, on=["a1", "a2", "b1"])]
FULL = [node("a1", "a", cpu="1"), *deployment(replicas=1, on=["a1"], containers=requesting("1"))]


@pytest.mark.parametrize(
    ("command", "cluster"),
    [
        ("explain pod/web-1 -n shop", CORDONED),
        ("pending -n shop", CORDONED),
        ("simulate --runs 10 deployment/web -n shop rollout", FULL),
        ("report --moves -n shop", UNEVEN),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_kubectl_is_told_the_kubeconfig_and_the_context_that_were_given(run, monkeypatch, command, cluster, form):
    """In JSON, too: a program runs the arguments as they are."""
    monkeypatch.setattr(sources, "source", lambda args: sources.Source(args.cluster))
    items = {"apiVersion": "v1", "kind": "List", "items": cluster}
    given = ("", "--kubeconfig k --context prod")
    without, told = (
        [
            line
            for line in run(f"{command} --cluster dump -o {form} {options}", dump=items).out.splitlines()
            if "kubectl " in line
        ]
        for options in given
    )

    assert without and len(without) == len(told)
    for line, other in zip(without, told, strict=True):
        assert given[1] not in line
        assert other.replace(f" {given[1]}", "") == line and given[1] in other
