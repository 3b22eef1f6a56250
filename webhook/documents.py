"""YAML and JSON text into JSON values, as the API server's own reader would take them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

import yaml

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DEEPEST = 500
MOST_VALUES = 20_000_000
_DEEP_BLOCK = re.compile(rf"^[\s?:-]{{{DEEPEST}}}", re.MULTILINE)


class DocumentError(ValueError):
    """Text that is neither YAML nor JSON, or that no API server would take; the message says where."""


class _JsonLoader(_Loader):  # type: ignore[misc, valid-type]
    """Safe YAML without what JSON does not have: dates stay strings, and a key stands once."""


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[str, object]:
    written = [loader.construct_object(key) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
    loader.flatten_mapping(node)
    seen: set[str] = set()
    for key in written:
        if not isinstance(key, str | int | float | None):
            raise yaml.constructor.ConstructorError(None, None, "a key must be a string", node.start_mark)
        if _key(key) in seen:
            raise yaml.constructor.ConstructorError(None, None, f'key "{_key(key)}" stands twice', node.start_mark)
        seen.add(_key(key))
    construct = loader.construct_object
    return {_key(construct(key, deep=True)): construct(value, deep=True) for key, value in node.value}


def _key(key: object) -> str:
    """A key that is no string, as the conversion to JSON writes it."""
    return key if isinstance(key, str) else json.dumps(key)


_JsonLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
for _tag in ("timestamp", "binary"):
    _JsonLoader.add_constructor(f"tag:yaml.org,2002:{_tag}", lambda loader, node: loader.construct_scalar(node))


def read(text: str) -> tuple[object, ...]:
    """The documents in `text`, empty ones left out."""
    try:
        return tuple(document for document in _documents(text) if document is not None)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise DocumentError(f"{where}{error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, OverflowError, TypeError) as error:
        raise DocumentError(str(error).splitlines()[0]) from error
    except RecursionError:
        raise DocumentError(f"nested more than {DEEPEST} levels deep") from None


def _documents(text: str) -> list[object]:
    if text.lstrip()[:1] == "{":
        try:
            return [json.loads(text)]
        except json.JSONDecodeError:
            pass  # YAML may begin with a brace, too
    return list(_yaml(text))


def _yaml(text: str) -> Iterator[object]:
    _check_nesting(text)
    for document in yaml.load_all(text, Loader=_JsonLoader):
        if "&" in text and "*" in text:
            _check_size(document)
        yield document


def _check_size(document: object) -> None:
    """Refuse what could not be written out again: an alias counts in full at every place that names it."""
    measured: dict[int, tuple[int, int]] = {}  # id -> objects and arrays in it, levels
    stack = [document]
    while stack:
        children = _children(stack[-1])
        waiting = [child for child in children if id(child) not in measured]
        if waiting:
            stack.extend(waiting)
            continue
        below = [measured[id(child)] for child in children]
        size, depth = 1 + sum(size for size, _ in below), 1 + max((depth for _, depth in below), default=0)
        if size > MOST_VALUES or depth > DEEPEST:
            raise DocumentError(f"more than {MOST_VALUES:,} objects and arrays in it, or {DEEPEST} levels")
        measured[id(stack.pop())] = size, depth


def _children(value: object) -> list[object]:
    children = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [child for child in children if isinstance(child, dict | list)]


def _check_nesting(text: str) -> None:
    """Refuse what nests too deep before libyaml composes it: it follows nesting on the C stack and overruns it."""
    if text.count("[") + text.count("{") < DEEPEST and not _DEEP_BLOCK.search(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise RecursionError


def read_objects(text: str) -> Iterator[Mapping[str, object]]:
    """Every Kubernetes object in `text`, the items of `List` kinds one by one."""
    for number, document in enumerate(read(text), 1):
        if not isinstance(document, dict):
            raise DocumentError(f"document {number}: must be an object")
        if isinstance(document.get("items"), list) and str(document.get("kind", "")).endswith("List"):
            for i, item in enumerate(document["items"]):
                if not isinstance(item, dict):
                    raise DocumentError(f"document {number}: items[{i}]: must be an object")
                yield _with_kind(item, document)
        else:
            yield document


def _with_kind(item: Mapping[str, object], listed: Mapping[str, object]) -> Mapping[str, object]:
    """The items of a typed list, a NodeList say, carry no kind of their own."""
    kind = cast(str, listed["kind"]).removesuffix("List")
    return {"apiVersion": listed.get("apiVersion"), "kind": kind, **item} if kind and "kind" not in item else item
