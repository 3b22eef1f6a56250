"""
Which charts the values in a document are for, and the places of well-known charts that pass constraints on.

    HelmRelease(chart: redis, values: {master: {…}}) ──charts_in──> {("spec", "values"): "redis"}
    redis, master.topologySpreadConstraints ──keeper_of──> Operator(fills nothing)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from webhook.objects.fields import FieldPath, as_list, as_mapping, texts_at, texts_within, value_at
from webhook.objects.kinds import FIELD, Operator, parse_path
from webhook.objects.operators import kinds_named

Charts = Mapping[FieldPath, str]  # the name of the chart, by the path of its values in a document
NO_CHARTS: Charts = {}
HELM_CHARTS = "helmCharts"  # of a kustomization

# The repository, its commit, and the folder where it was read; then the name of the chart, and the paths in its values
# that it passes on as they are written: to a Pod, or to the kind of an operator that `=` names.  Charts of one name in
# other repositories do the same at these paths.
CHARTS_THAT_KEEP = """\
cert-manager/cert-manager 2d0d7f7f7424 deploy/charts
  cert-manager topologySpreadConstraints webhook.topologySpreadConstraints cainjector.topologySpreadConstraints
kubernetes/autoscaler 044fa38b7690 cluster-autoscaler/charts
  cluster-autoscaler topologySpreadConstraints
coredns/helm caac03169738 charts
  coredns topologySpreadConstraints
grafana-community/helm-charts 3386a1156177 charts
  grafana topologySpreadConstraints
kubernetes/ingress-nginx dbb11b92ddb7 charts
  ingress-nginx controller.topologySpreadConstraints defaultBackend.topologySpreadConstraints
kubernetes-sigs/metrics-server 5ed5d3a2cf94 charts
  metrics-server topologySpreadConstraints
prometheus-community/helm-charts cf408a290aec charts
  kube-prometheus-stack prometheus.prometheusSpec.topologySpreadConstraints=prometheus
  kube-prometheus-stack alertmanager.alertmanagerSpec.topologySpreadConstraints=alertmanager
  kube-prometheus-stack thanosRuler.thanosRulerSpec.topologySpreadConstraints=thanosruler
  kube-prometheus-stack grafana.topologySpreadConstraints kube-state-metrics.topologySpreadConstraints
  kube-state-metrics topologySpreadConstraints
  prometheus server.topologySpreadConstraints
bitnami/charts 5165628ae066 bitnami
  postgresql primary.topologySpreadConstraints readReplicas.topologySpreadConstraints
  redis master.topologySpreadConstraints replica.topologySpreadConstraints
traefik/traefik-helm-chart a8a66d009870 traefik
  traefik topologySpreadConstraints
"""


class _Install(NamedTuple):
    """How an object installs a chart: the paths of its name and values, and of what may change single values."""

    chart: str
    values: tuple[FieldPath, ...]
    changes: tuple[FieldPath, ...] = ()


_FLUX = _Install("chart.spec.chart", (("values",),), (("valuesFrom",), ("postRenderers",)))
_K3S = _Install("chart", (("valuesContent",),), (("set",),))
_ARGO = _Install("chart", (("helm", "values"), ("helm", "valuesObject")), (("helm", "parameters"),))
_KUSTOMIZE = _Install("name", (("valuesInline",),))


def charts_in(document: object) -> Charts:
    """Return the charts from repositories that an object installs, or a kustomization."""
    return {
        (*path, *values): chart
        for path, install in _installs(as_mapping(document))
        if (chart := _chart_at(value_at(document, path), install))
        for values in install.values
    }


def _installs(document: Mapping[str, object]) -> Iterator[tuple[FieldPath, _Install]]:
    kind = document.get("kind")
    if kind in ("HelmRelease", "HelmChart"):
        yield ("spec",), _FLUX if kind == "HelmRelease" else _K3S
    elif kind in ("Application", "ApplicationSet"):
        spec: FieldPath = ("spec",) if kind == "Application" else ("spec", "template", "spec")
        yield (*spec, "source"), _ARGO
        sources: FieldPath = (*spec, "sources")
        yield from (((*sources, i), _ARGO) for i, _ in enumerate(as_list(value_at(document, sources))))
    yield from (((HELM_CHARTS, i), _KUSTOMIZE) for i, _ in enumerate(as_list(document.get(HELM_CHARTS))))


def _chart_at(installed: object, install: _Install) -> str:
    """Return the name of the chart; "" of a local one, and where single fields of constraints may be changed."""
    name, source, repository = texts_at(installed, install.chart, "chart.spec.sourceRef.kind", "repo")
    local = source not in ("", "HelmRepository") or (install is _KUSTOMIZE and not repository)
    changed = (text for path in install.changes for text in texts_within(value_at(installed, path)))
    return "" if local or any(FIELD in text for text in changed) else name


def dependencies(chart: object) -> Charts:
    """Return the charts from repositories that a Chart.yaml names: their values stand below their name, or alias."""
    charts = dict[FieldPath, str]()
    for dependency in as_list(as_mapping(chart).get("dependencies")):
        name, alias, repository = texts_at(dependency, "name", "alias", "repository")
        if repository and not repository.startswith("file:"):
            charts[(alias or name,)] = name
    return charts


def keeper_of(charts: Charts, at: FieldPath) -> Operator | None:
    """Return what a chart makes of the constraints at a path: it keeps them; None if that is not known."""
    kept = (_kept().get((chart, at[len(values) :])) for values, chart in charts.items() if at[: len(values)] == values)
    return next(filter(None, kept), None)


@cache
def _kept() -> Mapping[tuple[str, FieldPath], Operator]:
    """Return what becomes of constraints, by the name of the chart and the path in its values."""
    kept = dict[tuple[str, FieldPath], Operator]()
    for line in CHARTS_THAT_KEEP.splitlines():
        chart, *written = line.split()
        for path, _, kind in (text.partition("=") for text in written if line.startswith(" ")):
            kept[chart, parse_path(path)] = _operator(kind) or Operator(chart, frozenset())
    return kept


def _operator(name: str) -> Operator | None:
    return next((kind.operator for kind in kinds_named(name)), None)
