"""Names of labels, annotations and parts of Pods that have a meaning here, and of the scheduler."""

from __future__ import annotations

SWITCH_PREFIX = "evenkeel.dev/"  # What each label and annotation of evenkeel begins with.
IGNORE_ANNOTATION = "evenkeel.dev/ignore"
DEFAULTED_BY_ANNOTATION = "evenkeel.dev/defaulted-by"
SKIP_LABEL = "evenkeel.dev/skip"
OUTPUT_API_VERSION = "evenkeel.dev/v1alpha1"  # of the JSON that commands print
REVISION_ANNOTATION = "deployment.kubernetes.io/revision"
DELETION_COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
HOOK_ANNOTATIONS = frozenset({"helm.sh/hook", "argocd.argoproj.io/hook"})  # Of what runs before or after a release.
NAMESPACE_NAME = "kubernetes.io/metadata.name"  # The label that kube-apiserver gives each namespace.
SYSTEM_NAMESPACES = ("kube-system", "kube-node-lease")  # The API server sends nothing in them to the webhook.
APPLICATION_NAME = "app.kubernetes.io/name"  # The recommended label by which Helm's charts select.
HOSTNAME = "kubernetes.io/hostname"
POD_AFFINITY, POD_ANTI_AFFINITY = "podAffinity", "podAntiAffinity"  # in `spec.affinity` of a Pod
# The terms in each part of `spec.affinity`.
REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED_TERMS = "preferredDuringSchedulingIgnoredDuringExecution"
RESTART_ALWAYS = "Always"  # The restartPolicy of an init container that runs for as long as the Pod: a sidecar.
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
TOPOLOGY_LABELS = frozenset({ZONE, REGION})  # Which a bound Pod gets from its node, since 1.35.
# Of a DeviceClass that names no extended resource this is the one that Pods request, with its name.
DEVICE_PREFIX = "deviceclass.resource.kubernetes.io/"
DEFAULT_SCHEDULER = "default-scheduler"
SCHEDULER_CONFIGURATION_KIND = "KubeSchedulerConfiguration"
TEMPLATE_HASH = "pod-template-hash"  # The label by which the Pods of a Deployment's ReplicaSets are told apart,
REVISION_HASH = "controller-revision-hash"  # and those of a StatefulSet's or DaemonSet's revisions.
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"  # The annotation of a claim whose volume is its own for good.
SELECTED_NODE = "volume.kubernetes.io/selected-node"  # That of a claim whose volume is being made for this node.
BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"  # That names the class, before the field.
DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"  # The annotation of a CSINode.
