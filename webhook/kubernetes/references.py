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
    """One object: `namespace` and `name` are empty where it has none; prints as `Deployment shop/web`."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, obj: Mapping[str, object]) -> ObjectRef:
        """Return the names in a raw object; what is no string reads as empty, and generateName stands in for a name."""
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

    def key(self, namespace: str) -> ObjectKey:
        """Return the object that it names, as one of this namespace."""
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
    """The fewest and the most replicas that an autoscaler sets; `most` is None where that is not known."""

    least: int
    most: int | None

    def widened(self, other: Scaling) -> Scaling:
        """Return the bounds where it is not known which of two autoscalers holds."""
        most = None if self.most is None or other.most is None else max(self.most, other.most)
        return Scaling(min(self.least, other.least), most)

    def bounded(self, replicas: int) -> int:
        """
        Return the replicas that a HorizontalPodAutoscaler sets at once, whatever its metrics; with 0 it is off.

        upstream: horizontal.go:HorizontalController.reconcileAutoscaler (v1.37)
        """
        if not replicas or self.most is None:
            return replicas
        return max(self.least, min(replicas, self.most))


class ScaleTarget(NamedTuple):
    """What is scaled; the version of its API does not matter."""

    namespace: str
    api_group: str
    kind: str
    name: str


Identity = tuple[str, str, str, str]  # apiVersion, kind, namespace and name.


def identity_of(obj: Mapping[str, object], namespace: str) -> Identity:
    """Return the names that an update of an object cannot change; `namespace` is that of an object that names none."""
    metadata = as_mapping(obj.get("metadata"))
    return (
        str(obj.get("apiVersion")),
        str(obj.get("kind")),
        str(metadata.get("namespace") or namespace),
        str(metadata.get("name")),
    )
