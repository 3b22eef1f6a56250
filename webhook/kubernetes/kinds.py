"""Every kind that has a Pod template: the paths to its fields, and the labels that its controller adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.names import REVISION_HASH, TEMPLATE_HASH

CORE, APPS, BATCH, STORAGE_V1 = "v1", "apps/v1", "batch/v1", "storage.k8s.io/v1"
DISRUPTION_BUDGET = ("policy", "PodDisruptionBudget")  # of any version

FIELD = "topologySpreadConstraints"
CONSTRAINTS_PATH: FieldPath = ("spec", FIELD)  # of a Pod
TEMPLATE_PATH: FieldPath = ("spec", "template")
EACH, EACH_KEY = "*", "{*}"  # Each item of a list, and each value in an object.
WILDCARDS = frozenset({EACH, EACH_KEY})
PREFIXED_JOB_LABELS = frozenset({"batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"})  # Since 1.27.
JOB_LABELS = (*sorted(PREFIXED_JOB_LABELS), "job-name", "controller-uid")


class GivenLabel(NamedTuple):
    """
    A label that an operator gives the Pods; a `value` of "" stands for the name of the custom resource.

    It `yields` to one of this key that the custom resource itself gives.
    """

    key: str
    value: str
    yields: bool

    def __str__(self) -> str:
        return f"{self.key}{'?' if self.yields else ''}={self.value or 'NAME'}"


class Operator(NamedTuple):
    """
    What the operator of a kind does with the constraints in its objects when it makes the Pods.

    `name` is what a policy calls the kind.  `fills` are the fields of a constraint that it fills in where they are
    absent, "" or 0; None if that is not known.  `sets` are those that get its own values, whatever is written.
    `own_fields` are those that its constraints have besides the API's: with any of them in a constraint, the operator
    adds labels to the selector.  `gives` are labels of its Pods that follow from the name of the object.
    """

    name: str
    fills: frozenset[str] | None = None
    sets: frozenset[str] = frozenset()
    own_fields: frozenset[str] = frozenset()
    gives: tuple[GivenLabel, ...] = ()

    def may_fill(self, field: str) -> bool:
        """Return whether a constraint without `field` may get it from the operator."""
        return self.fills is None or field in self.fills or field in self.sets


@dataclass(frozen=True)
class Kind:
    """
    The paths to the fields of a kind; EACH stands for each item of a list, EACH_KEY for each key of an object.

    `added_labels` are the label keys that its controller adds to every Pod, `possible_labels` those that it may add;
    `revision_key` is the one that differs between revisions.  A kind whose constraints are outside a Pod template has
    `constraints` instead of `template`, and `labels` if the path to its Pods' labels is known.  `short_names` are those
    by which kubectl knows it, too.  `operator` is that of a kind whose Pods have labels that only their operator knows.
    """

    api_version: str
    kind: str
    resource: str
    template: FieldPath | None = TEMPLATE_PATH
    replicas: FieldPath | None = None
    added_labels: tuple[str, ...] = ()
    possible_labels: tuple[str, ...] = ()
    revision_key: str | None = None
    constraints: FieldPath | None = None
    labels: FieldPath | None = None
    short_names: tuple[str, ...] = ()
    built_in: bool = True
    from_policy: bool = False
    operator: Operator | None = None

    @property
    def api_group(self) -> str:
        """The API group; "" is the core group."""
        return self.api_version.rpartition("/")[0]

    @cached_property
    def addable(self) -> frozenset[str]:
        """The label keys that its controller adds, or may add."""
        return frozenset((*self.added_labels, *self.possible_labels))

    @property
    def labels_known(self) -> bool:
        """Whether its objects say which labels their Pods have."""
        return self.operator is None and (self.template is not None or self.labels is not None)

    @cached_property
    def anchor(self) -> FieldPath:
        """The path whose wildcards decide how many workloads an object holds."""
        return self.template if self.template is not None else cast(FieldPath, self.constraints)


FurtherKinds = Callable[[str, str], Iterable[Kind]]


class Kinds(tuple[Kind, ...]):
    """A tuple of kinds, with an index that is built once; `further` finds those of an apiVersion and kind beside it."""

    further: FurtherKinds | None

    def __new__(cls, kinds: Iterable[Kind] = (), further: FurtherKinds | None = None) -> Kinds:
        made = super().__new__(cls, kinds)
        made.further = further
        return made

    @cached_property
    def addable(self) -> frozenset[str]:
        """The label keys that any of their controllers adds, or may add."""
        return frozenset[str]().union(*[kind.addable for kind in self])

    @cached_property
    def by_name(self) -> Mapping[tuple[str, str], Sequence[Kind]]:
        """The kinds by (apiVersion, kind); those of the policy replace a built-in one without an operator."""
        kinds_by_name: dict[tuple[str, str], list[Kind]] = {}
        for kind in self:
            kinds_by_name.setdefault((kind.api_version, kind.kind), []).append(kind)
        return {name: _preferred(kinds) for name, kinds in kinds_by_name.items()}

    def named(self, api_version: str, kind: str) -> Sequence[Kind]:
        """Return the kinds, one for each place; the further ones are those of other places."""
        known = self.by_name.get((api_version, kind), ())
        if self.further is None:
            return known
        anchors = {described.anchor for described in known}
        return (*known, *(other for other in self.further(api_version, kind) if other.anchor not in anchors))


NO_KINDS = Kinds()


class Served(NamedTuple):
    """
    What an API server serves: the versions of each API group, the preferred one first, and the kind of each resource.

    `resources` has the groups that were asked for, by apiVersion.
    """

    versions: Mapping[str, Sequence[str]]
    resources: Mapping[str, Mapping[str, str]]

    def has(self, group: str, kind: str) -> bool:
        """Return whether a kind is served in any version of the group, which was asked for."""
        return any(kind in self.resources[f"{group}/{version}"].values() for version in self.versions.get(group, ()))


def _preferred(kinds: Sequence[Kind]) -> Sequence[Kind]:
    """Return the kinds, those of the policy in place of others; for an operator it describes one place each."""
    if not any(kind.from_policy for kind in kinds):
        return kinds
    return [kind for kind in kinds if kind.from_policy or kind.operator is not None]


_REPLICAS: FieldPath = ("spec", "replicas")
_KRUISE = (REVISION_HASH, TEMPLATE_HASH, "apps.kruise.io/cloneset-instance-id")
_STATEFUL_LABELS = (REVISION_HASH, "statefulset.kubernetes.io/pod-name")
KINDS = Kinds(
    (
        Kind("v1", "Pod", "pods", template=(), short_names=("po",)),
        Kind("v1", "PodTemplate", "podtemplates", template=("template",)),
        Kind("v1", "ReplicationController", "replicationcontrollers", replicas=_REPLICAS, short_names=("rc",)),
        Kind(
            "apps/v1",
            "Deployment",
            "deployments",
            replicas=_REPLICAS,
            added_labels=(TEMPLATE_HASH,),
            revision_key=TEMPLATE_HASH,
            short_names=("deploy",),
        ),
        Kind("apps/v1", "ReplicaSet", "replicasets", replicas=_REPLICAS, short_names=("rs",)),
        Kind(
            "apps/v1",
            "StatefulSet",
            "statefulsets",
            replicas=_REPLICAS,
            added_labels=_STATEFUL_LABELS,
            possible_labels=("apps.kubernetes.io/pod-index",),
            revision_key=REVISION_HASH,
            short_names=("sts",),
        ),
        Kind(
            "apps/v1",
            "DaemonSet",
            "daemonsets",
            added_labels=(REVISION_HASH, "pod-template-generation"),
            revision_key=REVISION_HASH,
            short_names=("ds",),
        ),
        Kind(
            "batch/v1",
            "Job",
            "jobs",
            replicas=("spec", "parallelism"),
            added_labels=JOB_LABELS,
            possible_labels=("batch.kubernetes.io/job-completion-index",),
        ),
        Kind(
            "batch/v1",
            "CronJob",
            "cronjobs",
            template=("spec", "jobTemplate", "spec", "template"),
            replicas=("spec", "jobTemplate", "spec", "parallelism"),
            added_labels=JOB_LABELS,
            possible_labels=("batch.kubernetes.io/job-completion-index",),
            short_names=("cj",),
        ),
        Kind(
            "argoproj.io/v1alpha1",
            "Rollout",
            "rollouts",
            replicas=_REPLICAS,
            added_labels=("rollouts-pod-template-hash",),
            revision_key="rollouts-pod-template-hash",
            short_names=("ro",),
            built_in=False,
        ),
        Kind(
            "apps.kruise.io/v1alpha1",
            "CloneSet",
            "clonesets",
            replicas=_REPLICAS,
            added_labels=_KRUISE,
            revision_key=REVISION_HASH,
            short_names=("clone",),
            built_in=False,
        ),
        *(
            Kind(
                f"apps.kruise.io/{version}",
                "StatefulSet",
                "statefulsets",
                replicas=_REPLICAS,
                added_labels=_STATEFUL_LABELS,
                possible_labels=("apps.kubernetes.io/pod-index",),
                revision_key=REVISION_HASH,
                built_in=False,
            )
            for version in ("v1alpha1", "v1beta1")
        ),
    )
)
# Has switches of evenkeel; it is not among KINDS, because the API server never sends it.
NAMESPACE = Kind("v1", "Namespace", "namespaces", template=None, constraints=CONSTRAINTS_PATH)
BUILT_IN_KINDS = Kinds(kind for kind in KINDS if kind.built_in)


def parse_path(text: str) -> FieldPath:
    """Return `spec.sets[*].template` as `("spec", "sets", "*", "template")`; `{*}` is a part of its own, too."""
    return tuple(text.replace("[*]", f".{EACH}").replace(EACH_KEY, f".{EACH_KEY}").split("."))


def find_kinds(obj: Mapping[str, object], kinds: Kinds) -> Sequence[Kind]:
    """
    Return the entries for the kind of `obj`: none if it is not known, several if it has Pod templates in several
    places.

    Those of the policy replace a built-in one.
    """
    api_version, name = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(name, str):
        return ()
    return kinds.named(api_version, name)
