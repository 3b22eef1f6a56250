"""A build knows the files beside its kustomization or chart."""

from __future__ import annotations

from evenkeel.lint.builds import Build


def test_values_belong_to_charts_alone():
    assert "web/values.yaml" == Build("web/Chart.yaml", ()).values
    assert "values.yaml" == Build("Chart.yaml", ()).values
    assert "" == Build("web/kustomization.yaml", ()).values


def test_what_helm_rendered_is_told_in_comments():
    text = "---\n# Source: web/templates/a.yaml\nkind: A\n---\n# Source: web/charts/db/templates/b.yaml\nkind: B\n"
    build = Build("in/web/Chart.yaml", (), (), text)

    assert build.renders("in/web/templates/a.yaml")
    assert build.renders("in/web/charts/db/templates/b.yaml")
    assert not build.renders("in/web/templates/b.yaml")
