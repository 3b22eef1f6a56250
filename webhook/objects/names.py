"""Names of labels, annotations and parts of Pods that have a meaning here, and of the scheduler."""

from __future__ import annotations

SWITCH_PREFIX = "evenkeel.dev/"  # What each label and annotation of evenkeel begins with.
IGNORE_ANNOTATION = "evenkeel.dev/ignore"
DEFAULTED_BY_ANNOTATION = "evenkeel.dev/defaulted-by"
SKIP_LABEL = "evenkeel.dev/skip"
REVISION_ANNOTATION = "deployment.kubernetes.io/revision"
DELETION_COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
NAMESPACE_NAME = "kubernetes.io/metadata.name"  # The label that kube-apiserver gives each namespace.
HOSTNAME = "kubernetes.io/hostname"
POD_AFFINITY, POD_ANTI_AFFINITY = "podAffinity", "podAntiAffinity"  # in `spec.affinity` of a Pod
# The terms in each part of `spec.affinity`.
REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED_TERMS = "preferredDuringSchedulingIgnoredDuringExecution"
RESTART_ALWAYS = "Always"  # The restartPolicy of an init container that runs for as long as the Pod: a sidecar.
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
TOPOLOGY_LABELS = frozenset({ZONE, REGION})  # Which a bound Pod gets from its node, since 1.35.
# Of a DeviceClass that names no extended resource this is the one that Pods request, with its name.
DEVICE_PREFIX = "deviceclass.resource.kubernetes.io/"
DEFAULT_SCHEDULER = "default-scheduler"
SCHEDULER_CONFIGURATION_KIND = "KubeSchedulerConfiguration"
TEMPLATE_HASH = "pod-template-hash"  # The label by which the Pods of a Deployment's ReplicaSets are told apart,
REVISION_HASH = "controller-revision-hash"  # and those of a StatefulSet's or DaemonSet's revisions.
