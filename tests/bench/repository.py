"""
A repository like real ones, for `make bench`: few of its files are workloads, and most of its text is something else.

    large CRDs · dashboards in ConfigMaps and as JSON · what Helm rendered, and its templates · overlays · values
"""

from __future__ import annotations

import json
from pathlib import Path

CRDS, DASHBOARDS, RELEASES, CHARTS, TEAMS = 16, 40, 24, 40, 120
PANELS, APPS = 120, 12  # of a dashboard, of a release
PROSE = "The name of an object in the namespace. It must be set when its value is not known; it defaults to 1."

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations: {{controller-gen.kubebuilder.io/version: v0.16.1}}
  name: things{i}.example.com
spec:
  group: example.com
  names: {{kind: Thing{i}, listKind: Thing{i}List, plural: things{i}, singular: thing{i}}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: dashboard-{i}
  namespace: monitoring
  labels: {{grafana_dashboard: "1"}}
data:
  dashboard.json: |-
{body}
"""
APP = """\
---
# Source: release/templates/{app}/serviceaccount.yaml
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {app}, namespace: {release}}}
---
# Source: release/templates/{app}/role.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: {app}, namespace: {release}}}
rules:
- apiGroups: [""]
  resources: [configmaps, endpoints, pods]
  verbs: [get, list, watch]
---
# Source: release/templates/{app}/configmap.yaml
apiVersion: v1
kind: ConfigMap
metadata: {{name: {app}, namespace: {release}}}
data:
  application.yaml: |
{settings}
---
# Source: release/templates/{app}/service.yaml
apiVersion: v1
kind: Service
metadata: {{name: {app}, namespace: {release}}}
spec:
  selector: {{app.kubernetes.io/name: {app}, app.kubernetes.io/instance: {release}}}
  ports: [{{name: http, port: 80, targetPort: http}}]
---
# Source: release/templates/{app}/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {app}
  namespace: {release}
  labels: &labels
    app.kubernetes.io/name: {app}
    app.kubernetes.io/instance: {release}
spec:
  selector:
    matchLabels: *labels
  template:
    metadata:
      annotations: {{checksum/config: 01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b}}
      labels: *labels
    spec:
      serviceAccountName: {app}
      containers:
      - name: app
        image: "registry.example.com/{app}:1.0.0"
        ports: [{{name: http, containerPort: 8080}}]
        envFrom: [{{configMapRef: {{name: {app}}}}}]
        livenessProbe: {{httpGet: {{path: /live, port: http}}}}
        readinessProbe: {{httpGet: {{path: /ready, port: http}}}}
        resources: {{requests: {{cpu: 100m, memory: 128Mi}}, limits: {{memory: 256Mi}}}}
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: {action}
        labelSelector:
          matchLabels: *labels
---
# Source: release/templates/{app}/hpa.yaml
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: {app}, namespace: {release}}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {app}}}
  minReplicas: 2
  maxReplicas: 10
"""
TEMPLATE = """\
{{- if .Values.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "chart.fullname" . }}
  labels:
    {{- include "chart.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  template:
    spec:
      {{- with .Values.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
"""
VALUES = """\
service{i}:
  enabled: true
  # -- the image of it
  image: {{repository: registry.example.com/service{i}, tag: "1.0.{i}", pullPolicy: IfNotPresent}}
  resources: {{}}
  nodeSelector: {{}}
  tolerations: []
"""
KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../base]
patches: [{path: replicas.yaml}]
"""
PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: app-{i}}}
spec: {{replicas: {replicas}}}
"""
BASE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: app-{i}}}
spec:
  selector: {{matchLabels: {{app: app-{i}}}}}
  template:
    metadata: {{labels: {{app: app-{i}}}}}
    spec:
      containers: [{{name: app, image: "registry.example.com/app-{i}:1"}}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {{matchLabels: {{app: app-{i}}}}}
"""


def generate(folder: Path) -> tuple[int, int]:
    """The files of such a repository; how many, and how many bytes."""
    for name, text in _files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    return len(sizes), sum(sizes)


def _files():
    for i in range(CRDS):
        yield f"crds/things{i}.yaml", CRD.format(i=i) + "".join(_schema("openAPIV3Schema", 5, "      "))
    for i in range(DASHBOARDS):
        text = json.dumps(_dashboard(i), indent=2)
        yield f"dashboards/{i}.json", text
        body = "\n".join(f"    {line}" for line in text.splitlines())
        yield f"clusters/monitoring/dashboards/{i}.yaml", CONFIG_MAP.format(i=i, body=body)
    for i in range(RELEASES):
        yield f"rendered/release-{i}.yaml", "".join(_app(f"release-{i}", app) for app in range(APPS))
    for i in range(CHARTS):
        yield f"charts/chart{i}/Chart.yaml", f"apiVersion: v2\nname: chart{i}\nversion: 1.0.0\n"
        yield f"charts/chart{i}/values.yaml", "".join(VALUES.format(i=service) for service in range(30))
        for number in range(6):
            yield f"charts/chart{i}/templates/{number}.yaml", TEMPLATE
    for i in range(TEAMS):
        yield f"apps/app-{i}/base/deployment.yaml", BASE.format(i=i)
        yield f"apps/app-{i}/base/kustomization.yaml", "resources: [deployment.yaml]\n"
        for number, stage in enumerate(("dev", "staging", "prod"), 1):
            yield f"apps/app-{i}/overlays/{stage}/kustomization.yaml", KUSTOMIZATION
            yield f"apps/app-{i}/overlays/{stage}/replicas.yaml", PATCH.format(i=i, replicas=number)


def _schema(name, depth, indent):
    """The lines of a field in a CRD, and of those in it."""
    yield f"{indent}{name}:\n{indent}  description: |-\n"
    for line in range(3):
        yield f"{indent}    {PROSE[line:]} {name}\n"
    if not depth:
        yield f"{indent}  type: string\n"
        return
    yield f"{indent}  type: object\n{indent}  properties:\n"
    for i in range(4):
        yield from _schema(f"field{i}", depth - 1, f"{indent}    ")
    if depth == 1:
        yield f"{indent}    topologySpreadConstraints: {{type: array, items: {{type: object}}}}\n"


def _dashboard(i):
    panels = [
        {
            "id": panel,
            "title": f"CPU: usage {panel}",
            "type": "timeseries",
            "datasource": {"type": "prometheus", "uid": "${DS_PROMETHEUS}"},
            "gridPos": {"h": 8, "w": 12, "x": 0, "y": panel},
            "targets": [
                {"expr": f'sum(rate(cpu_seconds_total{{pod=~"$pod-{panel}"}}[5m]))', "legendFormat": "{{pod}}"}
            ],
            "fieldConfig": {"defaults": {"thresholds": {"steps": [{"color": "red", "value": 80}]}}},
        }
        for panel in range(PANELS)
    ]
    return {"title": f"Dashboard {i}", "panels": panels}


def _app(release, number):
    settings = "\n".join(f"    a.setting.of.this.application.{line}: its value" for line in range(20))
    action = "ScheduleAnyway" if number % 4 else "DoNotSchedule"
    return APP.format(app=f"app-{number}", release=release, settings=settings, action=action)
