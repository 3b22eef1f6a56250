"""Folders of kustomizations, made at random from a seed: a base, overlays with patches, perhaps a component."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

KINDS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "CronJob": "batch/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "Pod": "v1",
    "Rollout": "argoproj.io/v1alpha1",
}
TEMPLATES = {"CronJob": "/spec/jobTemplate/spec/template", "Pod": ""}
UNSCALED = ("DaemonSet", "Job", "Pod")
SPREAD = "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels"
FIELDS = [
    {"path": "spec/template/metadata/labels", "create": True, "kind": "Rollout"},
    {"path": SPREAD, "kind": "DaemonSet", "group": "apps"},
    {"path": "spec/template/metadata/labels", "create": True, "version": "v1alpha1"},
    {"path": f"/{SPREAD}", "version": "v1alpha1"},
]
ZONE, HOST, BAD, MISSPELT = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "a b", "kubernetes.io/region"
TOPOLOGY_KEYS = (ZONE, HOST, BAD, MISSPELT)
LABELS = ("app", "tier", "version")
VALUES = ("web", "db", "x")
SELECTORS = [
    {"matchLabels": {"app": "web"}},
    {"matchLabels": {"app": "db"}},
    {"matchLabels": {"tier": "x"}},
    {"matchLabels": {"app": "web", "version": "x"}},
    {"matchLabels": {}},
    {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["x", "y"]}]},
    {},
    None,
]
KEYS = [["pod-template-hash"], ["controller-revision-hash"], ["version"], ["app"], []]


class Maker:
    """
    Makes the files of one tree; everything it does follows from the seed.  JSON is YAML, too.

    With `labels_alone` kustomizations change nothing but labels, and all give a label the same value: of different ones
    kustomize writes the last where it wrote the first, too, as the places share a node.
    """

    def __init__(self, seed: int, folder: Path, *, labels_alone: bool = False) -> None:
        self.random, self.folder, self.labels_alone = random.Random(seed), folder, labels_alone
        self.values = dict(zip(LABELS, self.random.choices(VALUES, k=len(LABELS)), strict=True))
        self.workloads: list[Mapping[str, object]] = []

    def make(self) -> None:
        """The kustomization in `overlay` builds everything."""
        self.workloads = [self._workload(name) for name in ("web", "db", "cache")[: self.random.randint(1, 3)]]
        for workload in self.workloads:
            self._write(f"base/{workload['metadata']['name']}.yaml", workload)
        files = [f"{workload['metadata']['name']}.yaml" for workload in self.workloads]
        self._write("base/kustomization.yaml", {"resources": files, **self._transformers(), **self._patches("base")})
        overlay = {"resources": ["../base"], **self._transformers(), **self._patches("overlay")}
        if self.chance(0.3):
            component = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
            component |= {"labels": [self._entry()]}  # or it might be empty, which kustomize refuses
            self._write("part/kustomization.yaml", {**component, **self._transformers(), **self._patches("part")})
            overlay["components"] = ["../part"]
        self._write("overlay/kustomization.yaml", overlay)

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def _write(self, name: str, value: object) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1))

    def _labels(self) -> dict[str, str]:
        return {key: self.random.choice(VALUES) for key in self.random.sample(LABELS, 1)}

    def _constraint(self, key: str) -> dict[str, object]:
        choose = self.random.choice
        found: dict[str, object] = {
            "maxSkew": choose((0, 1, 1, 1, 5)),
            "topologyKey": key,
            "whenUnsatisfiable": choose(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        }
        if self.chance(0.9):
            found["labelSelector"] = choose(SELECTORS)
        if self.chance(0.3):
            found["matchLabelKeys"] = choose(KEYS)
        if self.chance(0.2):
            found["minDomains"] = choose((0, 2))
        if self.chance(0.1):
            found["matchLabelKey"] = ["app"]
        return found

    def _constraints(self, most: int = 3) -> list[dict[str, object]]:
        return [self._constraint(key) for key in self.random.sample(TOPOLOGY_KEYS, self.random.randint(1, most))]

    def _workload(self, name: str) -> Mapping[str, object]:
        kind = self.random.choice([*KINDS])
        labels = {"app": self.random.choice(("web", "db"))}
        labels |= self._labels() if self.chance(0.3) else {}
        pod: dict[str, object] = {"containers": [{"name": "c", "image": "nginx"}]}
        if self.chance(0.8):
            pod["topologySpreadConstraints"] = self._constraints()
        if self.chance(0.2):
            pod["tolerations"] = [{"operator": "Exists"}]
        template = {"metadata": {"labels": labels}, "spec": pod}
        if kind == "Pod":
            return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": pod}
        spec: dict[str, object] = {"selector": {"matchLabels": {"app": labels["app"]}}, "template": template}
        if kind == "Job":
            spec = {"template": template}
        if kind == "CronJob":
            spec = {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}
        elif kind not in UNSCALED and self.chance(0.8):
            spec["replicas"] = self.random.randint(1, 6)
        if kind == "Deployment" and self.chance(0.3):
            spec["strategy"] = {"type": "Recreate"}
        return {"apiVersion": KINDS[kind], "kind": kind, "metadata": {"name": name}, "spec": spec}

    def _transformers(self) -> dict[str, object]:
        found: dict[str, object] = {}
        if self.chance(0.2):
            found["commonLabels"] = self._added()
        if self.chance(0.6):
            found["labels"] = [self._entry() for _ in range(self.random.choice((1, 1, 2)))]
        if self.labels_alone:
            return found
        if self.chance(0.2):
            found |= {"namePrefix": "a-", "nameSuffix": "-b"}
        if self.chance(0.2):
            found["namespace"] = self.random.choice(("shop", "kube-system"))
        if self.chance(0.2):
            name = self.random.choice(self.workloads)["metadata"]["name"]
            found["replicas"] = [{"name": name, "count": self.random.randint(1, 6)}]
        return found

    def _entry(self) -> dict[str, object]:
        how = self.random.choice(({}, {"includeSelectors": True}, {"includeTemplates": True}))
        fields = {"fields": self.random.sample(FIELDS, 1)} if self.chance(0.4) else {}
        return {"pairs": self._added(), **how, **fields}

    def _added(self) -> dict[str, str]:
        labels = self._labels()
        return {key: self.values[key] for key in labels} if self.labels_alone else labels

    def _patches(self, folder: str) -> dict[str, object]:
        if self.labels_alone or self.chance(0.4):
            return {}
        found: dict[str, object] = {}
        workload = self.random.choice(self.workloads)
        target = {"kind": workload["kind"], "name": workload["metadata"]["name"]}
        is_merge = self.chance(0.5)
        patch = self._merge(workload) if is_merge else self._operations(workload)
        how = {"target": target} if not is_merge or self.chance(0.3) else {}
        if self.chance(0.5):
            self._write(f"{folder}/patches/one.yaml", patch)
            found["patches"] = [{"path": "patches/one.yaml", **how}]
        else:
            found["patches"] = [{"patch": json.dumps(patch, indent=self.random.choice((None, 1))), **how}]
        return found

    def _merge(self, workload: Mapping[str, object]) -> Mapping[str, object]:
        template = self.random.choice(
            (
                {"spec": {"topologySpreadConstraints": self._changed()}},
                {"metadata": {"labels": self._labels()}},
                {"spec": {"tolerations": [{"operator": "Exists"}]}},
                {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}},
                {"spec": {"topologySpreadConstraints": None}},
            )
        )
        if workload["kind"] == "Pod":
            return {
                **workload,
                **template,
                "metadata": {**template.get("metadata", {}), "name": workload["metadata"]["name"]},
            }
        spec: Mapping[str, object] = {"template": template}
        if workload["kind"] == "CronJob":
            spec = {"jobTemplate": {"spec": spec}}
        elif self.chance(0.3) and workload["kind"] not in UNSCALED:
            spec = {"replicas": self.random.randint(1, 6)}
        return {**{name: workload[name] for name in ("apiVersion", "kind", "metadata")}, "spec": spec}

    def _changed(self) -> Sequence[Mapping[str, object]]:
        constraints = self._constraints(2)
        if self.chance(0.2):
            return [{**constraint, "$patch": "delete"} for constraint in constraints]
        keep = ("topologyKey", "whenUnsatisfiable", "maxSkew", "labelSelector", "minDomains", "matchLabelKeys")
        names = keep[: self.random.randint(2, len(keep))]
        return [{name: each[name] for name in names if name in each} for each in constraints]

    def _operations(self, workload: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
        template = {"CronJob": "/spec/jobTemplate/spec/template", "Pod": ""}.get(
            str(workload["kind"]), "/spec/template"
        )
        constraints, (one, *_) = f"{template}/spec/topologySpreadConstraints", self._constraints(1)
        choose = self.random.choice
        return [
            choose(
                (
                    {"op": "replace", "path": f"{constraints}/0/maxSkew", "value": choose((0, 1, 4))},
                    {"op": "replace", "path": f"{constraints}/0/topologyKey", "value": choose(TOPOLOGY_KEYS)},
                    {"op": "add", "path": f"{constraints}/0/labelSelector", "value": choose(SELECTORS[:4])},
                    {"op": "add", "path": f"{constraints}/-", "value": one},
                    {"op": "add", "path": constraints, "value": [one]},
                    {"op": "remove", "path": f"{constraints}/0"},
                    {"op": "add", "path": f"{template}/metadata/labels/{choose(LABELS)}", "value": "web"},
                    {"op": "replace", "path": f"{template}/metadata/labels", "value": {"app": "x"}},
                    {"op": "add", "path": f"{template}/spec/tolerations", "value": [{"operator": "Exists"}]},
                    {"op": "add", "path": "/spec/replicas", "value": 2},
                )
            )
        ]
