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
EACH, EACH_KEY = "*", "{*}"  # In a path: each item of a list, and each value in an object.
WILDCARDS = frozenset({EACH, EACH_KEY})
PREFIXED_JOB_LABELS = frozenset({"batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"})  # Since 1.27.
JOB_LABELS = (*sorted(PREFIXED_JOB_LABELS), "job-name", "controller-uid")


NAME, ITEM = "NAME", "ITEM"  # In the value of a GivenLabel.


class GivenLabel(NamedTuple):
    """A label that an operator gives the Pods of a custom resource."""

    key: str
    value: str = NAME  # NAME is the name of the custom resource, ITEM that of the place's list item, or its key
    yields: bool = False  # A label of this key that the custom resource itself sets takes its place.
    unless: str = ""  # A field of the custom resource by which the operator gives another value.
    item: str = ""  # The label is only given at the place of this list item or key; "" is any.

    def __str__(self) -> str:
        return f"{self.key}{'?' if self.yields else ''}={self.value}{f' at {self.item}' if self.item else ''}"


class Operator(NamedTuple):
    """What the operator of a kind does with the constraints in its objects when it makes the Pods."""

    name: str  # of the kind in a policy
    fills: frozenset[str] | None = None  # fields that it fills in where they are absent, "" or 0; None: not known
    sets: frozenset[str] = frozenset()  # fields that it overwrites with its own values
    # Fields that its constraints have besides the API's.  With any of them the operator adds labels to the selector.
    own_fields: frozenset[str] = frozenset()
    gives: tuple[GivenLabel, ...] = ()
    others: tuple[GivenLabel, ...] = ()  # that it gives to Pods that do something else

    def may_fill(self, field: str) -> bool:
        """Return whether a constraint without `field` may get it from the operator."""
        return self.fills is None or field in self.fills or field in self.sets


@dataclass(frozen=True)
class Kind:
    """A kind, or one of its places for Pods.  Its paths may have the wildcards EACH and EACH_KEY."""

    api_version: str
    kind: str
    resource: str
    template: FieldPath | None = TEMPLATE_PATH  # () for a Pod; None if the constraints are outside a Pod template
    replicas: FieldPath | None = None
    added_labels: tuple[str, ...] = ()  # keys of labels that its controller adds to every Pod
    possible_labels: tuple[str, ...] = ()  # keys of labels that its controller may add
    revision_key: str | None = None  # the added label that differs between revisions
    constraints: FieldPath | None = None  # instead of `template`
    labels: FieldPath | None = None  # of the Pods, for a kind without a template; None if it is not known
    short_names: tuple[str, ...] = ()  # as kubectl takes them
    built_in: bool = True
    from_policy: bool = False
    # For a kind whose Pods have labels that only its operator knows, unless there are `added_labels`.
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
        in_object = self.operator is None or bool(self.added_labels)
        return in_object and (self.template is not None or self.labels is not None)

    @cached_property
    def anchor(self) -> FieldPath:
        """The path whose wildcards decide how many workloads an object holds."""
        return self.template if self.template is not None else cast(FieldPath, self.constraints)


FurtherKinds = Callable[[str, str], Iterable[Kind]]


class Kinds(tuple[Kind, ...]):
    """A tuple of kinds, with an index that is built once."""

    further: FurtherKinds | None  # looks up kinds that are not in the tuple, by apiVersion and kind

    def __new__(cls, kinds: Iterable[Kind] = (), further: FurtherKinds | None = None) -> Kinds:
        instance = super().__new__(cls, kinds)
        instance.further = further
        return instance

    @cached_property
    def addable(self) -> frozenset[str]:
        """The label keys that any of their controllers adds, or may add."""
        return frozenset[str]().union(*[kind.addable for kind in self])

    @cached_property
    def by_name(self) -> Mapping[tuple[str, str], Sequence[Kind]]:
        """The kinds by (apiVersion, kind), as `_preferred` leaves them."""
        kinds_by_name: dict[tuple[str, str], list[Kind]] = {}
        for kind in self:
            kinds_by_name.setdefault((kind.api_version, kind.kind), []).append(kind)
        return {name: _preferred(kinds) for name, kinds in kinds_by_name.items()}

    def named(self, api_version: str, kind: str) -> Sequence[Kind]:
        """Return the kinds of this name, one for each place; `further` only adds places that are not described here."""
        own = self.by_name.get((api_version, kind), ())
        if self.further is None:
            return own
        anchors = {place.anchor for place in own}
        return (*own, *(place for place in self.further(api_version, kind) if place.anchor not in anchors))


NO_KINDS = Kinds()


class Served(NamedTuple):
    """What an API server serves."""

    versions: Mapping[str, Sequence[str]]  # of each API group, the preferred one first
    resources: Mapping[str, Mapping[str, str]]  # kinds by apiVersion and resource, of the groups that were asked for

    def has(self, group: str, kind: str) -> bool:
        """Return whether a kind is served in any version of the group; KeyError if the group was not asked for."""
        return any(kind in self.resources[f"{group}/{version}"].values() for version in self.versions.get(group, ()))


def _preferred(kinds: Sequence[Kind]) -> Sequence[Kind]:
    """
    Return the kinds without those that the policy replaces: if it describes any, all others without an operator.

    Of a kind with an operator each entry is one place, and the policy may describe some of them.
    """
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
# It may carry labels and annotations of evenkeel.  It is not in KINDS, because the API server never sends it.
NAMESPACE = Kind("v1", "Namespace", "namespaces", template=None, constraints=CONSTRAINTS_PATH)
BUILT_IN_KINDS = Kinds(kind for kind in KINDS if kind.built_in)


def parse_path(text: str) -> FieldPath:
    """Return `spec.sets[*].template` as `("spec", "sets", "*", "template")`; `{*}` is a part of its own, too."""
    return tuple(text.replace("[*]", f".{EACH}").replace(EACH_KEY, f".{EACH_KEY}").split("."))


def find_kinds(obj: Mapping[str, object], kinds: Kinds) -> Sequence[Kind]:
    """Return the entries for the kind of `obj`: one for each place of Pods, none if the kind is not known."""
    api_version, name = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(name, str):
        return ()
    return kinds.named(api_version, name)
