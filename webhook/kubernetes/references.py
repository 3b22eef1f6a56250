"""The names by which a person knows an object, and references from one object to another: owners, autoscalers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webhook.kubernetes.fields import Raw, as_mapping, texts_at


class ObjectKey(NamedTuple):
    """One object; versions of its API group are not told apart."""

    group: str
    kind: str
    namespace: str
    name: str


class ObjectRef(NamedTuple):
    """One object; prints as `Deployment shop/web`."""

    api_version: str
    kind: str
    namespace: str  # "" if it has none
    name: str  # "" if it has none

    @classmethod
    def of(cls, obj: Mapping[str, object]) -> ObjectRef:
        """Read the names in a raw object, generateName if it has no name; anything but a string reads as ""."""
        api_version, kind, namespace, name, generated_from = texts_at(
            obj, "apiVersion", "kind", "metadata.namespace", "metadata.name", "metadata.generateName"
        )
        return cls(api_version, kind, namespace, name or generated_from)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}".rstrip()

    @property
    def group(self) -> str:
        """The API group; "" is the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.group, self.kind, self.namespace, self.name)

    @property
    def in_kubectl(self) -> str:
        """As kubectl names it: `deployment.apps/web`, `pod/web`."""
        return f"{'.'.join(filter(None, (self.kind.lower(), self.group)))}/{self.name}"


class Owner(NamedTuple):
    """The owner reference with `controller: true`."""

    api_version: str
    kind: str
    name: str
    uid: str = ""

    @property
    def is_custom(self) -> bool:
        """Whether it is a custom resource: the API group of one is a domain."""
        return "." in self.api_version.partition("/")[0]

    def key(self, namespace: str) -> ObjectKey:
        """Return the key of the owner, which is taken to be in the namespace of what it owns."""
        return ObjectKey(self.api_version.rpartition("/")[0], self.kind, namespace, self.name)


def controller_of(metadata: Mapping[str, object]) -> Owner | None:
    """Return the first owner reference with `controller: true`, as metav1.GetControllerOf does."""
    references = metadata.get("ownerReferences")
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True:
            return Owner(*texts_at(reference, "apiVersion", "kind", "name", "uid"))
    return None


def owner_of(obj: Raw) -> Owner | None:
    """Return the controller of an object, None if it has none."""
    return controller_of(as_mapping(obj.get("metadata")))


class Scaling(NamedTuple):
    """The fewest and the most replicas that an autoscaler sets."""

    least: int
    most: int | None  # None: not known

    def widened(self, other: Scaling) -> Scaling:
        """Return bounds that hold for either of two autoscalers, if it is not known which is in force."""
        most = None if self.most is None or other.most is None else max(self.most, other.most)
        return Scaling(min(self.least, other.least), most)

    def bounded(self, replicas: int) -> int:
        """
        Return the replicas that a HorizontalPodAutoscaler sets at once, whatever its metrics; at 0 it does nothing.

        upstream: horizontal.go:HorizontalController.reconcileAutoscaler (v1.37)
        """
        if not replicas or self.most is None:
            return replicas
        return max(self.least, min(replicas, self.most))


class ScaleTarget(NamedTuple):
    """The object that an autoscaler scales; the version of its API does not matter."""

    namespace: str
    api_group: str
    kind: str
    name: str


Identity = tuple[str, str, str, str]  # apiVersion, kind, namespace and name.


def identity_of(obj: Mapping[str, object], namespace: str) -> Identity:
    """Return the names of an object, which no update can change; `namespace` is for an object that names none."""
    metadata = as_mapping(obj.get("metadata"))
    return (
        str(obj.get("apiVersion")),
        str(obj.get("kind")),
        str(metadata.get("namespace") or namespace),
        str(metadata.get("name")),
    )
