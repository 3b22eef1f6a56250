"""`evenkeel report -o openreports --apply` in a cluster that has the CustomResourceDefinitions of OpenReports."""

from __future__ import annotations

import pytest

from tests.e2e import openreports
from tests.e2e.openreports import PATH
from tests.e2e.words import EMPTY, deployment
from tests.support.build import constraint
from tests.support.commands import script
from tests.support.serving import until


@pytest.fixture(scope="module", autouse=True)
def definitions(plane, tmp_path_factory):
    openreports.define(plane, tmp_path_factory.mktemp("module"))


def applied(plane, namespace, *options):
    return script("report", "-n", namespace, "--kubeconfig", plane.kubeconfig, "-o", "openreports", "--apply", *options)


def reports(plane, namespace):
    return plane.api.call("GET", PATH.format(namespace))["items"]


def test_a_report_comes_with_findings_and_goes_with_them(plane, namespace):
    assert 0 == plane.apply(deployment(namespace, EMPTY)).code
    first = applied(plane, namespace)
    (found,) = reports(plane, namespace)

    assert "1 reports.openreports.io written, 0 unchanged, 0 deleted\n" == first.stdout, first
    assert {"fail": 1}.items() <= found["summary"].items()
    assert ["evenkeel"] == [one["manager"] for one in found["metadata"]["managedFields"]]
    again = applied(plane, namespace)
    assert "0 reports.openreports.io written, 1 unchanged, 0 deleted\n" == again.stdout
    assert found == reports(plane, namespace)[0]
    good = constraint(nodeTaintsPolicy="Honor", matchLabelKeys=["pod-template-hash"])
    assert 0 == plane.apply(deployment(namespace, good)).code
    assert "0 reports.openreports.io written, 0 unchanged, 1 deleted\n" == applied(plane, namespace).stdout
    assert [] == reports(plane, namespace)


def test_a_report_goes_with_its_workload(plane, namespace):
    assert 0 == plane.apply(deployment(namespace, EMPTY)).code
    applied(plane, namespace)
    assert 1 == len(reports(plane, namespace))
    plane.kubectl("delete", "deployment/web", "-n", namespace)
    until(lambda: not reports(plane, namespace), "the garbage collector")


def test_what_is_printed_can_be_applied(plane, namespace):
    assert 0 == plane.apply(deployment(namespace, EMPTY)).code
    printed = script("report", "-n", namespace, "--kubeconfig", plane.kubeconfig, "-o", "openreports").stdout
    output = plane.kubectl("apply", "--server-side", "-f", "-", stdin=printed)

    assert 0 == output.code, output
    assert 1 == len(reports(plane, namespace))


def test_without_the_definition_it_says_what_to_install(plane, namespace):
    """The last of the module: it removes the definition."""
    assert 0 == plane.apply(deployment(namespace, EMPTY)).code
    assert 0 == plane.kubectl("delete", "crd", "reports.openreports.io").code
    done = applied(plane, namespace)

    assert 2 == done.returncode
    assert "; install the CustomResourceDefinition reports.openreports.io" in done.stderr
