"""A build knows the files beside its kustomization or chart."""

from __future__ import annotations

from webhook.lint.builds import Build


def test_values_belong_to_charts_alone():
    assert "web/values.yaml" == Build("web/Chart.yaml", ()).values
    assert "values.yaml" == Build("Chart.yaml", ()).values
    assert "" == Build("web/kustomization.yaml", ()).values
