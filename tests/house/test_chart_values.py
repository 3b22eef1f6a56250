"""The chart agrees with the program and with itself; what needs Helm is in tests/e2e/test_chart.py."""

from __future__ import annotations

import ast
import json
import re

import jsonschema
import pytest
import yaml

from tests.generate import chart
from tests.support.build import merged
from webhook import __version__

TEMPLATES = "".join(path.read_text("utf-8") for path in sorted((chart.FOLDER / "templates").rglob("*.*")))
VALUES = yaml.safe_load((chart.FOLDER / "values.yaml").read_text("utf-8"))


def complaints(values):
    """Where the schema refuses what Helm would hand it: the defaults with `values` in them."""
    errors = jsonschema.Draft7Validator(json.loads(chart.schema())).iter_errors(merged(VALUES, values))
    return [".".join(map(str, error.absolute_path)) for error in errors]


def test_the_chart_is_of_the_program_s_version():
    found = yaml.safe_load((chart.FOLDER / "Chart.yaml").read_text("utf-8"))

    assert (__version__, __version__) == (found["version"], found["appVersion"])


def test_every_value_is_used_and_every_value_that_is_used_is_there():
    picked = re.search(r"pick \.Values((?: \"\w+\")+)", TEMPLATES)[1]
    used = {*re.findall(r"\.Values\.(\w+)", TEMPLATES), *re.findall(r"\w+", picked)}

    assert used == VALUES.keys()


def test_the_defaults_are_what_the_schema_allows():
    assert [] == complaints({})


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ({"replicas": 3}, ""),
        ({"replicaCount": "3"}, "replicaCount"),
        ({"image": {"repo": "a"}}, "image"),
        ({"failurePolicy": "ignore"}, "failurePolicy"),
        ({"certificate": {**VALUES["certificate"], "mode": "certmanager"}}, "certificate.mode"),
        ({"certificate": {**VALUES["certificate"], "caBundle": "LS0tLS1CRUdJTg=="}}, "certificate.caBundle"),
        ({"kubernetesVersion": "latest"}, "kubernetesVersion"),
        ({"tlsMinVersion": "1.1"}, "tlsMinVersion"),
        ({"clients": {**VALUES["clients"], "names": ["a,b"]}}, "clients.names.0"),
        ({"skipLabel": {"users": ["a", " "]}}, "skipLabel.users.1"),
        ({"skipLabel": {"groups": ["a\nb"]}}, "skipLabel.groups.0"),
        ({"skipLabel": {"user": ["a"]}}, "skipLabel"),
        ({"podLabels": {"team": 1}}, "podLabels.team"),
        ({"report": {"metrics": {"interval": 3601}}}, "report.metrics.interval"),
        ({"networkPolicy": {"apiServers": ["10.0.0.5"]}}, "networkPolicy.apiServers.0"),
        ({"podAnnotations": {"a": True}}, "podAnnotations.a"),
        ({"nodeSelector": {"a": True}}, "nodeSelector.a"),
        ({"serviceMonitor": {"labels": {"a": 1}}}, "serviceMonitor.labels.a"),
        ({"policy": {"rules": {"empty-selektor": "error"}}}, "policy.rules"),
        ({"policy": {"rules": {"empty-selector": False}}}, "policy.rules.empty-selector"),
        ({"policy": {"kind": "KubeSchedulerConfiguration"}}, "policy.kind"),
    ],
)
def test_the_schema_refuses(values, refused):
    assert [refused] == complaints(values)


def test_the_schema_leaves_alone_what_is_kubernetes_own():
    given = {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a"}], "resources": {}, "global": {"any": 1}}
    given |= {"dashboard": {"labels": {"grafana_folder": "b"}}, "kubernetesVersion": "v1.34.2-gke.100"}

    assert [] == complaints({**given, "policy": {"enforcement": "Warn"}})


def test_a_version_of_tls_may_be_a_number_as_helm_set_makes_it():
    assert [] == complaints({"tlsMinVersion": 1.3})


def test_a_value_without_a_comment_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "values.yaml").write_text("# One.\na: 1\n\nb: 2\n")
    monkeypatch.setattr(chart, "FOLDER", tmp_path)

    with pytest.raises(AssertionError, match=r"values\.yaml: b has no comment"):
        chart.values()


@pytest.mark.parametrize("name", ["detach.py", "ready.py"])
def test_a_script_in_the_chart_says_what_it_is_for(name):
    """It runs in the image, where `python -c` gets it whole."""
    assert ast.get_docstring(ast.parse((chart.FOLDER / "files" / name).read_text("utf-8")))
