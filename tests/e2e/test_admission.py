"""What people see: kubectl, the real API server and its controllers, with evenkeel on both paths."""

from __future__ import annotations

import pytest

from tests.build import constraint, workload
from tests.e2e.webhook import containers, installed


@pytest.fixture(scope="module")
def running(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("webhook")) as running:
        yield running


def test_an_empty_selector_is_refused_with_its_path_and_the_way_out(plane, running, namespace):
    output = plane.apply(containers(workload("Deployment", constraint(labelSelector={}), namespace=namespace)))

    assert (1, "") == output[:2]
    assert output.stderr == (
        'Error from server (Forbidden): error when creating "STDIN": '
        'admission webhook "workloads.evenkeel.dev" denied the request: '
        "spec.template.spec.topologySpreadConstraints[0].labelSelector: must select Pods, or nothing is spread "
        "(empty-selector): found {}, wanted labels that the Pods carry; "
        "write labelSelector: {matchLabels: {app: web}}\n"
    )
