"""
The commands of kubectl that make a change, ready to paste.

    Remedy ──its edits, in the order in which they are made──> Command, once for each object

A template is changed by a JSON patch that first tests what is there, with each list written whole: a strategic merge
patch merges constraints by `topologyKey` alone, and custom resources take none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import join
from typing import NamedTuple

from evenkeel.objects.workload_object import UNCHANGEABLE, reach_of_template
from webhook.kubernetes.fields import FieldPath, Raw, as_list, as_mapping, value_at
from webhook.kubernetes.kinds import KINDS, Kinds
from webhook.kubernetes.labels import is_subdomain, label_key_errors, label_value_errors
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.workload import parse_workloads

SpecEdit = Callable[[Raw], Raw]  # Returns the Pod spec of a template as it is wanted; the same one if it cannot be.


class JsonPatch(NamedTuple):
    """A JSON patch (RFC 6902) of an object."""

    ref: ObjectRef
    operations: tuple[Mapping[str, object], ...]


class ClusterEdit(NamedTuple):
    """
    What kubectl does to objects of the cluster: its verb with what follows, and the `names` of all objects in it.

    `values` are keys and values of labels or taints in it, "" for one without a value, `patch` a JSON patch in it.
    """

    arguments: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    patch: JsonPatch | None = None


ObjectEdit = ClusterEdit | SpecEdit


class Template(NamedTuple):
    """The Pod `spec` in the template of a workload, at a path of the object; `pod` is that of the Pod which waits."""

    ref: ObjectRef
    path: FieldPath
    spec: Raw
    pod: Raw


class Command(NamedTuple):
    """One command: what follows `kubectl`; `patch` is that which it applies, if it applies one."""

    arguments: tuple[str, ...]
    patch: JsonPatch | None = None

    def __str__(self) -> str:
        """Return it as a shell reads it."""
        return join(("kubectl", *self.arguments))


def read_template(raw: Raw | None, pod: Raw, kinds: Kinds = KINDS) -> Template | None:
    """Return the template of a workload that has one, for a Pod with a spec; None where it may not be changed."""
    if raw is None:
        return None
    ref = ObjectRef.of(raw)
    workloads = parse_workloads(raw, kinds)
    if len(workloads) != 1 or ref.kind == "Pod" or reach_of_template(raw) == UNCHANGEABLE:
        return None
    path = workloads[0].path[:-1]
    spec = as_mapping(value_at(raw, path))
    return Template(ref, path, spec, pod) if "containers" in spec else None


def commands(edits: Sequence[ObjectEdit] | None, template: Template | None) -> tuple[Command, ...]:
    """Return the commands that make all these edits; none where one of them cannot be written as a command."""
    made: list[Command] = []
    of_spec = [edit for edit in edits or () if not isinstance(edit, ClusterEdit)]
    for edit in edits or ():
        if isinstance(edit, ClusterEdit):
            if not _is_valid(edit):
                return ()
            made.append(Command(edit.arguments, edit.patch))
        elif edit is of_spec[0]:  # One patch makes all changes of the template.
            patch = _patch(template, of_spec) if template is not None else None
            if patch is None:
                return ()
            made.append(_patching(patch))
    return tuple(made)


def deleting(namespace: str, *names: str) -> ClusterEdit:
    """Return how Pods are deleted."""
    return ClusterEdit(("delete", "pod", *names, "-n", namespace), (namespace, *names))


def patching(ref: ObjectRef, *operations: Mapping[str, object]) -> ClusterEdit:
    """Return how an object is patched."""
    command = _patching(JsonPatch(ref, operations))
    return ClusterEdit(command.arguments, (ref.namespace, ref.name), patch=command.patch)


def asking(namespace: str, pod: str) -> str:
    """Return the command that explains a Pod, as a shell reads it; without the Pod if nobody could name it."""
    named = (f"pod/{pod}", "-n", namespace) if is_subdomain(pod) and is_subdomain(namespace) else ()
    return join(("evenkeel", "explain", *named))


def _is_valid(edit: ClusterEdit) -> bool:
    """Return whether Kubernetes has objects of these names: those of a file may be anything."""
    keys, values = edit.values[::2], edit.values[1::2]
    return (
        bool(edit.names)
        and all(map(is_subdomain, edit.names))
        and not any(label_key_errors(key) for key in keys)
        and not any(value and label_value_errors(value) for value in values)
    )


def _patch(template: Template, edits: Sequence[SpecEdit]) -> JsonPatch | None:
    """Return the patch that makes the edits in a template; None where one of them cannot be made there."""
    ref, spec = template.ref, template.spec
    if not all(map(is_subdomain, (ref.name, ref.namespace, ref.kind.lower(), *filter(None, (ref.group,))))):
        return None  # A file may name its objects as it likes.
    for edit in edits:
        before, spec = spec, edit(spec)
        if spec == before:
            return None
    if not all(
        _is_of_template(name, template)
        for name in spec.keys() | template.spec.keys()
        if spec.get(name) != template.spec.get(name)
    ):
        return None
    path = "".join(f"/{part}" for part in template.path)
    return JsonPatch(ref, tuple(_operations(path, template.spec, spec)))


def _is_of_template(name: str, template: Template) -> bool:
    """
    Return whether the Pod has this field from the template, as far as a change of it depends on what is there.

    A Pod of an old revision has another, and so has one to which admission has added something.
    """
    written, of_pod = template.spec.get(name), template.pod.get(name)
    if name in ("affinity", "nodeSelector"):
        return (written or {}) == (of_pod or {})
    if name != "containers":
        return True
    requests = {
        as_mapping(container).get("name"): value_at(container, ("resources", "requests"))
        for container in as_list(of_pod)
        if isinstance(as_mapping(container).get("name"), str)
    }
    return all(
        requests.get(as_mapping(container).get("name")) == value_at(container, ("resources", "requests"))
        for container in as_list(written)
        if isinstance(as_mapping(container).get("name"), str)
    )


def _operations(path: str, before: Raw, after: Raw) -> Iterator[dict[str, object]]:
    """
    Yield how one object becomes the other; a field that is absent tests as null.

    Of containers only some fields are read, so these are no list that may be written whole.
    """
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        at = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _operations(at, old, new)
        elif name == "containers":
            for i, (container, changed) in enumerate(zip(as_list(old), as_list(new), strict=True)):
                yield from _operations(f"{at}/{i}", as_mapping(container), as_mapping(changed))
        else:
            yield {"op": "test", "path": at, "value": old}
            how = {"op": "remove"} if new is None else {"op": "add" if old is None else "replace"}
            yield {**how, "path": at, **({} if new is None else {"value": new})}


def _patching(patch: JsonPatch) -> Command:
    operations = json.dumps(patch.operations, separators=(",", ":"))
    return Command(("patch", patch.ref.in_kubectl, "-n", patch.ref.namespace, "--type=json", "-p", operations), patch)
