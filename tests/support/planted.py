"""Objects in which every field that the API has is set, each string to its own path: what is kept of them is seen."""

from __future__ import annotations

import re

PLANTED = "planted:"
CLASSES = {"autoscaling/v2": "V2"}


def planted(api_version, kind):
    """An object of this kind with every field of Kubernetes' own description of it."""
    from kubernetes import client

    model = getattr(client, f"{CLASSES.get(api_version, 'V1')}{kind}")
    return _object(model, "") | {"apiVersion": api_version, "kind": kind}


def _object(model, path):
    return {
        name: _value(of, f"{path}.{name}".lstrip("."))
        for field, of in model.openapi_types.items()
        if (name := model.attribute_map[field])
    }


def _value(of, path):
    from kubernetes import client

    if of == "bool":
        return True
    if of in ("int", "float"):
        return 7
    if found := re.fullmatch(r"[Ll]ist\[(.+)\]", of):
        return _conditions(found[1], path) if path.endswith(".conditions") else [_value(found[1], f"{path}[]")]
    if found := re.fullmatch(r"[Dd]ict[\[(]str, (.+)[\])]", of):
        return {f"{PLANTED}{path}": _value(found[1], path)}
    model = getattr(client, of, None)
    return f"{PLANTED}{path}" if model is None else _object(model, path)


def _conditions(of, path):
    """One of the kind that is read, and one of another."""
    one = _value(of, f"{path}[]")
    return [one | {"type": "PodScheduled"}, dict.fromkeys(one, f"{PLANTED}{path}[other]")]


def kept(obj):
    """The paths of the fields that an object still has, of its texts, numbers and empty objects."""
    return frozenset(_kept(obj, ""))


def _kept(value, path):
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _kept(inner, f"{path}.{name}".lstrip(".") if not name.startswith(PLANTED) else path)
    elif isinstance(value, list):
        for item in value:
            yield from _kept(item, f"{path}[]")
    else:
        yield path
