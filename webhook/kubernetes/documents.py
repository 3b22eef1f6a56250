"""Read YAML and JSON text into JSON values, as kubectl does with sigs.k8s.io/yaml."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import NoReturn

import yaml

from webhook.kubernetes.fields import FieldPath, children, path_text, texts_at
from webhook.kubernetes.json_values import DEEPEST, NESTED_TOO_DEEP, build
from webhook.kubernetes.reader import brief
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.scalars import DocumentError, Repeated, SyntaxFault, error_at, skip_space

_NESTED_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"


def encoding(content: bytes) -> str:
    """
    Return the encoding that the byte order mark tells, by Python's name for it; to decode with it keeps the mark.

    PowerShell writes what is piped into a file as UTF-16, and kubectl reads it.
    """
    if content.startswith(b"\xff\xfe"):
        return "utf-16-le"
    return "utf-16-be" if content.startswith(b"\xfe\xff") else "utf-8"


def decoded(content: bytes) -> str:
    """Return the text, without a byte order mark; UnicodeDecodeError if it is not text."""
    return content.decode(encoding(content)).removeprefix("\ufeff")


def read_documents(text: str, repeated: list[Repeated] | None = None) -> tuple[object, ...]:
    """
    Return the value of each document in `text` that is not empty; DocumentError if it cannot be read.

    A duplicate key is added to `repeated`, and its last value counts; without such a list it is an error.
    """
    try:
        return tuple(_documents(text, repeated))
    except yaml.MarkedYAMLError as error:
        raise _fault(error, text).quoting(text) from error
    except DocumentError as error:
        raise error.quoting(text) from None
    except yaml.reader.ReaderError as error:
        found = yaml.reader.Reader.NON_PRINTABLE.search(text)
        index = found.start() if found else None
        raise SyntaxFault(str(error).splitlines()[0], index).quoting(text) from error
    except (yaml.YAMLError, ValueError) as error:
        raise SyntaxFault(str(error).splitlines()[0]) from error


def _fault(error: yaml.MarkedYAMLError, text: str) -> DocumentError:
    message, mark = str(error.problem or error.context), error.problem_mark or error.context_mark
    if message == _NESTED_TOO_DEEP_FOR_LIBYAML:  # libyaml scans ahead, so its own limit may come before DEEPEST
        return error_at(mark, NESTED_TOO_DEEP)
    # What stays open is found only at the end of the text, where there is nothing to see.
    if mark is None:
        return SyntaxFault(message)
    if text[mark.index :].strip():
        advice = "; write spaces in place of the tab" if text[mark.index] == "\t" else ""
        return SyntaxFault(f"{message}{advice}", mark.index)
    if error.context_mark is not None and text[error.context_mark.index :].strip():
        return SyntaxFault(f"{message} {error.context}", error.context_mark.index)
    return SyntaxFault(message, len(text.rstrip()))


def read_objects(text: str) -> Iterator[Mapping[str, object]]:
    """Yield every Kubernetes object in `text`, each item of a `List` by itself; DocumentError if it cannot be read."""
    for number, document in enumerate(read_documents(text), 1):
        try:
            yield from objects_of(document)
        except DocumentError as error:
            raise DocumentError(f"document {number}: {error}") from error


def read_one(text: str, noun: str, *kinds: str) -> Mapping[str, object]:
    """Return the only object in `text`, a `noun` of one of these kinds; DocumentError says what is there instead."""
    documents = read_documents(text)
    if len(documents) == 1 and isinstance(documents[0], dict) and documents[0].get("kind") in kinds:
        return documents[0]
    names = [*map(_name, documents[:3]), *([f"{len(documents) - 3:,} more"] if len(documents) > 3 else [])]
    raise DocumentError(f"is no {noun}: found {', '.join(names) or 'nothing'}, wanted one {' or '.join(kinds)}")


def _name(document: object) -> str:
    if not isinstance(document, dict):
        return brief(document)
    ref = ObjectRef.of(document)
    return str(ref) if ref.kind else "an object without kind"


def objects_of(document: object) -> Iterator[Mapping[str, object]]:
    """Yield `document` itself, or the items of a `List` kind; DocumentError names an item that is not an object."""
    for path, obj in items_of(document):
        if not isinstance(obj, dict):
            where = f"{path_text(path)}: " if path else ""
            wanted = "an object; remove it" if path else "an object with apiVersion and kind"
            raise DocumentError(f"{where}found {brief(obj)}, wanted {wanted}")
        if _is_list(obj):
            items = brief(obj["items"]) if "items" in obj else "none"
            wanted = "an array of objects, as kubectl get -o yaml prints"
            raise DocumentError(f"{path_text((*path, 'items'))}: found {items}, wanted {wanted}")
        yield obj


def _is_list(obj: Mapping[str, object]) -> bool:
    """
    Return whether it is a List, or a list of one kind such as NodeList.

    Only in Kubernetes' own groups, those without a dot, does a kind that ends with List tell that.
    """
    api_version, kind = texts_at(obj, "apiVersion", "kind")
    return kind == "List" or (kind.endswith("List") and api_version != "" and "." not in api_version)


def is_json(text: str) -> bool:
    """Return whether `text` is one JSON value or several."""
    try:
        return bool([*_json(text, dict)])
    except (ValueError, RecursionError):
        return False


def items_of(document: object, path: FieldPath = ()) -> Iterator[tuple[FieldPath, object]]:
    """Yield `document` itself, or the items of one of a `List` kind, each with its path in the document."""
    members = document if isinstance(document, dict) else {}
    kind, items = members.get("kind"), members.get("items", "absent")  # Null items are an empty list, absent ones none.
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list | None):
        yield path, document
        return
    for i, item in enumerate(items or ()):
        if isinstance(item, dict) and "kind" not in item and kind != "List":  # a typed list, a NodeList say
            item = {"apiVersion": members.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from items_of(item, (*path, "items", i))


def _documents(text: str, repeated: list[Repeated] | None) -> list[object]:
    if text.lstrip()[:1] != "{":
        return _yaml(text, repeated)
    # JSON first: it is faster to read, and YAML refuses some of it.
    values_and_ends: list[tuple[object, int]] = []
    try:
        values_and_ends.extend(_json(text, _without_duplicates))  # After an error it has what was read before.
    except json.JSONDecodeError as error:
        return _yaml_after(text, repeated, values_and_ends, error)
    except RecursionError:
        raise DocumentError(NESTED_TOO_DEEP) from None
    except _DuplicateKey as error:
        return _with_repeated(text, repeated, DocumentError(str(error)))
    if text.count("{") + text.count("[") > DEEPEST:  # With fewer brackets nothing can nest too deep.
        _check_depth([value for value, _ in values_and_ends])
    return [value for value, _ in values_and_ends if value is not None]


def _json(text: str, object_hook: Callable[[list[tuple[str, object]]], object]) -> Iterator[tuple[object, int]]:
    """Yield each value of a stream of JSON values, and the offset where it ends; `object_hook` makes the objects."""
    decoder = json.JSONDecoder(object_pairs_hook=object_hook, parse_constant=_no_number, parse_float=_finite)
    start = skip_space(text, 0)
    while start < len(text):
        value, end = decoder.raw_decode(text, start)
        yield value, end
        start = skip_space(text, end)


def _yaml(text: str, repeated: list[Repeated] | None) -> list[object]:
    return [value for value in build(text, repeated) if value is not None]


def _yaml_after(
    text: str, repeated: list[Repeated] | None, values_and_ends: list[tuple[object, int]], error: json.JSONDecodeError
) -> list[object]:
    """
    Read as YAML what begins with a brace and is not JSON.

    If it is not YAML either, and the JSON values that could be read are followed by another object, the fault is the
    JSON `error` there.
    """
    try:
        return _yaml(text, repeated)
    except yaml.YAMLError:
        if values_and_ends and text.startswith("{", skip_space(text, values_and_ends[-1][1])):
            raise SyntaxFault(error.msg, error.pos) from None
        raise


def _with_repeated(text: str, repeated: list[Repeated] | None, error: DocumentError) -> list[object]:
    """Read JSON with a duplicate key as YAML, to know the line of the key; if YAML refuses it, `error` has no line."""
    try:
        return _yaml(text, repeated)
    except yaml.YAMLError:  # YAML refuses some of what JSON allows.
        if repeated is None:
            raise error from None
    repeated[:] = [Repeated(None, (), error)]
    values = [value for value, _ in _json(text, dict)]
    _check_depth(values)
    return [value for value in values if value is not None]


class _DuplicateKey(ValueError):
    """An object has a key twice."""


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _DuplicateKey(f'duplicate key "{key[:100]}"')
    return members


def _finite(text: str) -> float:
    value = float(text)  # infinite for 1e999
    return value if isfinite(value) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise DocumentError(f"{text} is no number that JSON has")


def _check_depth(documents: list[object]) -> None:
    """DocumentError if any value nests deeper than DEEPEST."""
    level = documents
    for _ in range(DEEPEST):
        level = [child for value in level for child in children(value) if isinstance(child, dict | list)]
        if not level:
            return
    raise DocumentError(NESTED_TOO_DEEP)
