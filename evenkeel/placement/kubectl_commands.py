"""
The commands of kubectl that make a change, ready to paste.

    Remedy ──its edits, in the order in which they are made──> Command, once for each object

A template is changed by a JSON patch that first tests what is there, with each list written whole: a strategic merge
patch merges constraints by `topologyKey` alone, and custom resources take none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from shlex import join
from typing import NamedTuple

from evenkeel.objects.workload_object import UNCHANGEABLE, reach_of_template
from webhook.kubernetes.fields import FieldPath, Raw, as_list, as_mapping, value_at
from webhook.kubernetes.kinds import KINDS, Kinds
from webhook.kubernetes.labels import is_subdomain, label_key_errors, label_value_errors
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.workload import parse_workloads

SpecEdit = Callable[[Raw], Raw]  # Changes the Pod spec of a template; returns the same one if it cannot.


class JsonPatch(NamedTuple):
    """A JSON patch (RFC 6902) of an object."""

    ref: ObjectRef
    operations: tuple[Mapping[str, object], ...]


class ClusterEdit(NamedTuple):
    """What kubectl does to objects of the cluster."""

    arguments: tuple[str, ...]  # What follows `kubectl`.
    # Parts of the arguments that are checked before the command is printed: those of a file may be anything.
    names: tuple[str, ...]
    values: tuple[str, ...] = ()  # Keys and values of labels or taints in turn; "" for no value.
    patch: JsonPatch | None = None  # The JSON patch in the arguments.


ObjectEdit = ClusterEdit | SpecEdit


class Template(NamedTuple):
    """The template of a workload of which a Pod waits."""

    ref: ObjectRef
    path: FieldPath  # That of the Pod spec in the object.
    spec: Raw  # The Pod spec of the template.
    pod: Raw  # The spec of the Pod that waits.


class Command(NamedTuple):
    """One command of kubectl, or a change of a template in a file, which no command makes."""

    arguments: tuple[str, ...]  # What follows `kubectl`; none for a template in a file.
    patch: JsonPatch | None = None  # The JSON patch in them.

    def __str__(self) -> str:
        """The command as a shell reads it."""
        return join(("kubectl", *self.arguments))


def read_template(raw: Raw | None, pod: Raw, kinds: Kinds = KINDS) -> Template | None:
    """Return the template of a workload for a Pod with this spec; None if there is not one that may be changed."""
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
    """Return the commands that make all these edits; none if one of them cannot be written as a command."""
    written: list[Command] = []
    spec_edits = [edit for edit in edits or () if not isinstance(edit, ClusterEdit)]
    for edit in edits or ():
        if isinstance(edit, ClusterEdit):
            if not _is_valid(edit):
                return ()
            written.append(Command(edit.arguments, edit.patch))
        elif edit is spec_edits[0]:  # One patch makes all changes of the template.
            patch = _template_patch(template, spec_edits) if template is not None else None
            if patch is None:
                return ()
            written.append(_patch_command(patch))
    return tuple(written)


def reaching(commands: Iterable[Command], options: Sequence[str]) -> tuple[Command, ...]:
    """Return the commands with options of kubectl that say which cluster they are for."""
    return tuple(
        [
            command._replace(arguments=(*command.arguments, *options)) if command.arguments else command
            for command in commands
        ]
    )


def deleting(namespace: str, *names: str) -> ClusterEdit:
    return ClusterEdit(("delete", "pod", *names, "-n", namespace), (namespace, *names))


def patching(ref: ObjectRef, *operations: Mapping[str, object]) -> ClusterEdit:
    command = _patch_command(JsonPatch(ref, operations))
    return ClusterEdit(command.arguments, (ref.namespace, ref.name), patch=command.patch)


def asking(namespace: str, pod: str, options: Sequence[str] = ()) -> str:
    """
    Return the command that explains a Pod, as a shell reads it; without the Pod if its name is not valid.

    `options`: those that say which cluster it is in.
    """
    pod_arguments = (f"pod/{pod}", "-n", namespace) if is_subdomain(pod) and is_subdomain(namespace) else ()
    return join(("evenkeel", "explain", *pod_arguments, *options))


def _is_valid(edit: ClusterEdit) -> bool:
    """Whether Kubernetes accepts these names, keys and values: those of a file may be anything."""
    keys, values = edit.values[::2], edit.values[1::2]
    return (
        bool(edit.names)
        and all(map(is_subdomain, edit.names))
        and not any(label_key_errors(key) for key in keys)
        and not any(value and label_value_errors(value) for value in values)
    )


def _template_patch(template: Template, edits: Sequence[SpecEdit]) -> JsonPatch | None:
    """Return the patch that makes the edits in a template; None if one of them cannot be made there."""
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
    Whether the Pod has this field from the template, as far as a change of it depends on the old value.

    A Pod of an old revision has another value, and so has one to which admission has added something.
    """
    in_template, in_pod = template.spec.get(name), template.pod.get(name)
    if name in ("affinity", "nodeSelector"):
        return (in_template or {}) == (in_pod or {})
    if name != "containers":
        return True
    requests = {
        as_mapping(container).get("name"): value_at(container, ("resources", "requests"))
        for container in as_list(in_pod)
        if isinstance(as_mapping(container).get("name"), str)
    }
    return all(
        requests.get(as_mapping(container).get("name")) == value_at(container, ("resources", "requests"))
        for container in as_list(in_template)
        if isinstance(as_mapping(container).get("name"), str)
    )


def _operations(path: str, before: Raw, after: Raw) -> Iterator[dict[str, object]]:
    """
    Yield the operations that make one object the other; the test of an absent field is for null.

    The list of containers is not written whole: of containers only some fields are read.
    """
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        field_path = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _operations(field_path, old, new)
        elif name == "containers":
            for i, (container, changed) in enumerate(zip(as_list(old), as_list(new), strict=True)):
                yield from _operations(f"{field_path}/{i}", as_mapping(container), as_mapping(changed))
        else:
            yield {"op": "test", "path": field_path, "value": old}
            if new is None:
                yield {"op": "remove", "path": field_path}
            else:
                yield {"op": "add" if old is None else "replace", "path": field_path, "value": new}


def _patch_command(patch: JsonPatch) -> Command:
    operations = json.dumps(patch.operations, separators=(",", ":"))
    return Command(("patch", patch.ref.in_kubectl, "-n", patch.ref.namespace, "--type=json", "-p", operations), patch)
