"""YAML and JSON text into JSON values, as kubectl's own reader (sigs.k8s.io/yaml) takes them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NoReturn

import yaml

from webhook.documents.build import DEEPEST, TOO_DEEP, build
from webhook.documents.scalars import DocumentError, at

__all__ = ["DocumentError", "read", "read_objects"]


def read(text: str) -> tuple[object, ...]:
    """The documents in `text`, empty ones left out."""
    try:
        return tuple(document for document in _documents(text) if document is not None)
    except yaml.MarkedYAMLError as error:
        raise at(error.problem_mark or error.context_mark, str(error.problem or error.context)) from error
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(str(error).splitlines()[0]) from error


def read_objects(text: str) -> Iterator[Mapping[str, object]]:
    """Every Kubernetes object in `text`, the items of `List` kinds one by one."""
    for number, document in enumerate(read(text), 1):
        yield from _objects(document, f"document {number}")


def _objects(document: object, where: str) -> Iterator[Mapping[str, object]]:
    if not isinstance(document, dict):
        raise DocumentError(f"{where}: must be an object")
    kind, items = document.get("kind"), document.get("items", "absent")
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list | None):
        yield document
        return
    for i, item in enumerate(items or ()):
        if isinstance(item, dict) and "kind" not in item and kind != "List":  # a typed list, a NodeList say
            item = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from _objects(item, f"{where}: items[{i}]")


def _documents(text: str) -> list[object]:
    if text.lstrip()[:1] == "{":
        try:
            document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite)
        except json.JSONDecodeError:
            pass  # YAML may begin with a brace, too
        except RecursionError:
            raise DocumentError(TOO_DEEP) from None
        else:
            if text.count("{") + text.count("[") > DEEPEST:
                _check_depth(document)
            return [document]
    return list(build(text))


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise DocumentError(f'key "{key[:100]}" stands twice in an object')
    return found


def _finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise DocumentError(f"{text} is no number that JSON has")


def _check_depth(document: object) -> None:
    level = [document]
    for _ in range(DEEPEST):
        level = [child for one in level for child in _children(one)]
        if not level:
            return
    raise DocumentError(TOO_DEEP)


def _children(value: object) -> list[object]:
    children = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [child for child in children if isinstance(child, dict | list)]
