"""Read YAML and JSON text into JSON values, as kubectl does with sigs.k8s.io/yaml."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NoReturn

import yaml

from webhook.documents.build import DEEPEST, TOO_DEEP, build
from webhook.documents.scalars import DocumentError, SyntaxFault
from webhook.objects.fields import FieldPath, children


def read_documents(text: str) -> tuple[object, ...]:
    """The value of each document in `text` that is not empty; DocumentError if it cannot be read."""
    try:
        return tuple(document for document in _documents(text) if document is not None)
    except yaml.MarkedYAMLError as error:
        message = str(error.problem or error.context)
        raise SyntaxFault(message, error.problem_mark or error.context_mark) from error
    except DocumentError:
        raise
    except (yaml.YAMLError, ValueError) as error:
        raise SyntaxFault(str(error).splitlines()[0]) from error


def read_objects(text: str) -> Iterator[Mapping[str, object]]:
    """Every Kubernetes object in `text`, each item of a `List` kind by itself; DocumentError if it cannot be read."""
    for number, document in enumerate(read_documents(text), 1):
        for path, obj in items_of(document):
            if not isinstance(obj, dict):
                where = "".join(f": items[{i}]" for i in path[1::2])
                raise DocumentError(f"document {number}{where}: must be an object")
            yield obj


def items_of(document: object, path: FieldPath = ()) -> Iterator[tuple[FieldPath, object]]:
    """`document` itself, or the items of one of a `List` kind, each with its path in the document."""
    found = document if isinstance(document, dict) else {}
    kind, items = found.get("kind"), found.get("items", "absent")
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list | None):
        yield path, document
        return
    for i, item in enumerate(items or ()):
        if isinstance(item, dict) and "kind" not in item and kind != "List":  # a typed list, a NodeList say
            item = {"apiVersion": found.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from items_of(item, (*path, "items", i))


def _documents(text: str) -> list[object]:
    if text.lstrip()[:1] == "{":
        try:
            document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite)
        except json.JSONDecodeError:
            pass  # YAML may begin with a brace, too
        except RecursionError:
            raise DocumentError(TOO_DEEP) from None
        except DocumentError as error:
            raise _with_position(error, text) from None
        else:
            if text.count("{") + text.count("[") > DEEPEST:
                _check_depth(document)
            return [document]
    return list(build(text))


def _with_position(error: DocumentError, text: str) -> DocumentError:
    """The error with its line, which only YAML's parser knows; without, where YAML refuses what JSON allows."""
    try:
        list(build(text))
    except DocumentError as positioned:
        return positioned
    except yaml.YAMLError:
        pass
    return error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise DocumentError(f'duplicate key "{key[:100]}" in an object')
    return found


def _finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise DocumentError(f"{text} is no number that JSON has")


def _check_depth(document: object) -> None:
    level = [document]
    for _ in range(DEEPEST):
        level = [child for value in level for child in children(value) if isinstance(child, dict | list)]
        if not level:
            return
    raise DocumentError(TOO_DEEP)
