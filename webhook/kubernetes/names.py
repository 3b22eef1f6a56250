"""Names of labels, annotations and parts of Pods that have a meaning here, and of the scheduler."""

from __future__ import annotations

SWITCH_PREFIX = "evenkeel.dev/"  # Every label and annotation of evenkeel begins with it.
IGNORE_ANNOTATION = "evenkeel.dev/ignore"
DEFAULTED_BY_ANNOTATION = "evenkeel.dev/defaulted-by"
SKIP_LABEL = "evenkeel.dev/skip"
OUTPUT_API_VERSION = "evenkeel.dev/v1alpha1"  # of the JSON that commands print
REVISION_ANNOTATION = "deployment.kubernetes.io/revision"
DELETION_COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
HOOK_ANNOTATIONS = frozenset({"helm.sh/hook", "argocd.argoproj.io/hook"})  # on what runs before or after a release
NAMESPACE_NAME = "kubernetes.io/metadata.name"  # the label that kube-apiserver gives each namespace
SYSTEM_NAMESPACES = ("kube-system", "kube-node-lease")  # The API server sends nothing in them to the webhook.
APPLICATION_NAME = "app.kubernetes.io/name"  # the recommended label, by which Helm's charts select Pods
HOSTNAME = "kubernetes.io/hostname"
POD_AFFINITY, POD_ANTI_AFFINITY = "podAffinity", "podAntiAffinity"  # in `spec.affinity` of a Pod
# The terms in each part of `spec.affinity`.
REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED_TERMS = "preferredDuringSchedulingIgnoredDuringExecution"
RESTART_ALWAYS = "Always"  # the restartPolicy of a sidecar: an init container that runs for as long as the Pod
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
INSTANCE_TYPE, ARCH, OS = "node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os"
TOPOLOGY_LABELS = frozenset({ZONE, REGION})  # Since 1.35 a Pod gets them from its node when it is bound.
# Followed by the name of a DeviceClass: the extended resource that Pods request if the class itself names none.
DEVICE_PREFIX = "deviceclass.resource.kubernetes.io/"
DEFAULT_SCHEDULER = "default-scheduler"
FARGATE_SCHEDULER = "fargate-scheduler"  # What EKS names in Pods that it runs on Fargate.
# Kueue's topology-aware scheduling: a scheduling gate, and annotations of a template whose object is in a queue.
KUEUE_TOPOLOGY_GATE, KUEUE_QUEUE_LABEL = "kueue.x-k8s.io/topology", "kueue.x-k8s.io/queue-name"
KUEUE_TOPOLOGY_ANNOTATIONS = frozenset(
    f"kueue.x-k8s.io/podset-{kind}-topology" for kind in ("required", "preferred", "unconstrained", "slice-required")
)
AKS_NODE_POOL = "kubernetes.azure.com/agentpool"
AKS_LABELS = ("kubernetes.azure.com/cluster", AKS_NODE_POOL)  # Nodes of AKS have one, or both.
SCHEDULER_CONFIGURATION_KIND = "KubeSchedulerConfiguration"
TEMPLATE_HASH = "pod-template-hash"  # the label that tells the Pods of a Deployment's ReplicaSets apart
REVISION_HASH = "controller-revision-hash"  # the label that tells revisions of a StatefulSet or DaemonSet apart
# Annotations of a PersistentVolumeClaim.
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"  # Its binding to a volume is final.
SELECTED_NODE = "volume.kubernetes.io/selected-node"  # Its volume is being provisioned for this node.
BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"  # names the class, and comes before the field
DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"  # an annotation of a CSINode
