"""Every kind that has a Pod template: where it keeps what matters, and which labels its controller adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from webhook.objects.fields import FieldPath

CORE, APPS, BATCH = "v1", "apps/v1", "batch/v1"

FIELD = "topologySpreadConstraints"
TEMPLATE: FieldPath = ("spec", "template")
EACH = "*"
_JOB_LABELS = ("batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid", "job-name", "controller-uid")


@dataclass(frozen=True)
class Kind:
    """
    Where a kind keeps what matters; `"*"` in a path stands for each item of a list.

    `added_labels` are those its controller puts on every Pod, `possible_labels` those it may put there.  A kind
    whose constraints stand outside a Pod template has `constraints` and perhaps `labels` instead of `template`.
    """

    api_version: str
    kind: str
    resource: str
    template: FieldPath | None = TEMPLATE
    replicas: FieldPath | None = None
    added_labels: tuple[str, ...] = ()
    possible_labels: tuple[str, ...] = ()
    revision_key: str | None = None
    constraints: FieldPath | None = None
    labels: FieldPath | None = None
    built_in: bool = True
    from_policy: bool = False

    @cached_property
    def addable(self) -> frozenset[str]:
        """The labels that its controller adds, or may add."""
        return frozenset((*self.added_labels, *self.possible_labels))

    @property
    def anchor(self) -> FieldPath:
        """The path whose wildcards decide how many workloads an object holds."""
        return self.template if self.template is not None else cast(FieldPath, self.constraints)


_REPLICAS: FieldPath = ("spec", "replicas")
_KRUISE = ("controller-revision-hash", "pod-template-hash", "apps.kruise.io/cloneset-instance-id")
_STATEFUL = ("controller-revision-hash", "statefulset.kubernetes.io/pod-name")
KINDS: tuple[Kind, ...] = (
    Kind("v1", "Pod", "pods", template=()),
    Kind("v1", "PodTemplate", "podtemplates", template=("template",)),
    Kind("v1", "ReplicationController", "replicationcontrollers", replicas=_REPLICAS),
    Kind(
        "apps/v1",
        "Deployment",
        "deployments",
        replicas=_REPLICAS,
        added_labels=("pod-template-hash",),
        revision_key="pod-template-hash",
    ),
    Kind("apps/v1", "ReplicaSet", "replicasets", replicas=_REPLICAS),
    Kind(
        "apps/v1",
        "StatefulSet",
        "statefulsets",
        replicas=_REPLICAS,
        added_labels=_STATEFUL,
        possible_labels=("apps.kubernetes.io/pod-index",),
        revision_key="controller-revision-hash",
    ),
    Kind(
        "apps/v1",
        "DaemonSet",
        "daemonsets",
        added_labels=("controller-revision-hash", "pod-template-generation"),
        revision_key="controller-revision-hash",
    ),
    Kind(
        "batch/v1",
        "Job",
        "jobs",
        replicas=("spec", "parallelism"),
        added_labels=_JOB_LABELS,
        possible_labels=("batch.kubernetes.io/job-completion-index",),
    ),
    Kind(
        "batch/v1",
        "CronJob",
        "cronjobs",
        template=("spec", "jobTemplate", "spec", "template"),
        replicas=("spec", "jobTemplate", "spec", "parallelism"),
        added_labels=_JOB_LABELS,
        possible_labels=("batch.kubernetes.io/job-completion-index",),
    ),
    Kind(
        "argoproj.io/v1alpha1",
        "Rollout",
        "rollouts",
        replicas=_REPLICAS,
        added_labels=("rollouts-pod-template-hash",),
        revision_key="rollouts-pod-template-hash",
        built_in=False,
    ),
    Kind(
        "apps.kruise.io/v1alpha1",
        "CloneSet",
        "clonesets",
        replicas=_REPLICAS,
        added_labels=_KRUISE,
        revision_key="controller-revision-hash",
        built_in=False,
    ),
    *(
        Kind(
            f"apps.kruise.io/{version}",
            "StatefulSet",
            "statefulsets",
            replicas=_REPLICAS,
            added_labels=_STATEFUL,
            possible_labels=("apps.kubernetes.io/pod-index",),
            revision_key="controller-revision-hash",
            built_in=False,
        )
        for version in ("v1alpha1", "v1beta1")
    ),
)


def find_kinds(obj: Mapping[str, object], kinds: Iterable[Kind]) -> list[Kind]:
    """What is known of the kind of `obj`: more than one where it has templates in several places."""
    api_version, name = obj.get("apiVersion"), obj.get("kind")
    found = [kind for kind in kinds if kind.kind == name and kind.api_version == api_version]
    return [kind for kind in found if kind.from_policy] or found
