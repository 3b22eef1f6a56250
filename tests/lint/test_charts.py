"""Values are those of the chart that an object installs from a repository; some places of it are known."""

from __future__ import annotations

import pytest

from tests.support import ROOT
from webhook.lint.charts import CHARTS_THAT_KEEP, charts_in, dependencies, keeper_of
from webhook.objects.kinds import FIELD


def release(**spec):
    return {"kind": "HelmRelease", "spec": {"chart": {"spec": {"chart": "redis"}}, **spec}}


def application(source, kind="Application"):
    return {"kind": kind, "spec": source if kind == "Application" else {"template": {"spec": source}}}


CHANGED = f"master.{FIELD}[0].maxSkew"


@pytest.mark.parametrize(
    ("document", "charts"),
    [
        (release(), {("spec", "values"): "redis"}),
        (release(chart={"spec": {"chart": "redis", "sourceRef": {"kind": "GitRepository"}}}), {}),
        (release(chart={"spec": {"chart": 1}}), {}),
        (release(valuesFrom=[{"kind": "Secret", "name": "a"}]), {("spec", "values"): "redis"}),
        (release(valuesFrom=[{"kind": "Secret", "name": "a", "targetPath": CHANGED}]), {}),
        (release(postRenderers=[{"kustomize": {"patches": [{"patch": f"- path: /spec/{FIELD}"}]}}]), {}),
        ({"kind": "HelmChart", "spec": {"chart": "redis"}}, {("spec", "valuesContent"): "redis"}),
        ({"kind": "HelmChart", "spec": {"chart": "redis", "set": {CHANGED: "1"}}}, {}),
        (
            application({"source": {"chart": "redis"}}),
            {("spec", "source", "helm", name): "redis" for name in ("values", "valuesObject")},
        ),
        (application({"source": {"chart": "redis", "helm": {"parameters": [{"name": CHANGED}]}}}), {}),
        (application({"source": {"path": "redis", "name": "redis"}}), {}),
        (
            application({"sources": [{}, {"chart": "redis"}]}, "ApplicationSet"),
            {("spec", "template", "spec", "sources", 1, "helm", name): "redis" for name in ("values", "valuesObject")},
        ),
        ({"helmCharts": [{"name": "redis", "repo": "oci://x"}]}, {("helmCharts", 0, "valuesInline"): "redis"}),
        ({"helmCharts": [{"name": "redis"}, 1]}, {}),
        ({"kind": "Deployment", "spec": {"chart": "redis"}}, {}),
        ({"kind": "Application", "spec": 1}, {}),
        ([1], {}),
    ],
)
def test_an_object_installs(document, charts):
    assert charts == charts_in(document)


@pytest.mark.parametrize(
    ("chart", "charts"),
    [
        ({"name": "redis"}, {}),
        ({"dependencies": [{"name": "redis", "repository": "oci://x"}, 1]}, {("redis",): "redis"}),
        ({"dependencies": [{"name": "redis", "alias": "cache", "repository": "oci://x"}]}, {("cache",): "redis"}),
        ({"dependencies": [{"name": "redis", "repository": "file://../redis"}, {"name": "redis"}]}, {}),
        (None, {}),
    ],
)
def test_a_chart_depends_on(chart, charts):
    assert charts == dependencies(chart)


@pytest.mark.parametrize(
    ("chart", "path", "keeps"),
    [
        ("redis", ("master", FIELD), True),
        ("redis", (FIELD,), False),
        ("mine", ("master", FIELD), False),
        ("traefik", (FIELD,), True),
        ("kube-prometheus-stack", ("prometheus", "prometheusSpec", FIELD), True),
    ],
)
def test_a_chart_keeps_constraints(chart, path, keeps):
    assert keeps == (keeper_of({("values",): chart, ("other",): "traefik"}, ("values", *path)) is not None)
    assert keeper_of({("values",): chart}, ("other", *path)) is None


def test_an_operator_may_have_fields_of_its_own():
    keeper = keeper_of({(): "kube-prometheus-stack"}, ("prometheus", "prometheusSpec", FIELD))

    assert ("prometheus", {"additionalLabelSelectors"}) == (keeper.name, keeper.own_fields)


def test_the_page_names_the_charts():
    charts = {line.split()[0] for line in CHARTS_THAT_KEEP.splitlines() if line.startswith(" ")}
    page = (ROOT / "docs" / "lint-input.md").read_text("utf-8")
    section = page.partition("\n## Well-known charts\n")[2].partition("\n## ")[0]

    assert charts <= {word.strip(".") for word in section.replace(",", " ").split()}
