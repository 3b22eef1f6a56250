"""`TYPE/NAME` and `TYPE NAME` as kubectl reads them, for every kind that has a Pod template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from webhook.kubernetes.kinds import KINDS, Kind, Kinds
from webhook.kubernetes.labels import is_subdomain
from webhook.kubernetes.likeness import most_like
from webhook.kubernetes.references import ObjectRef

FORM = "TYPE/NAME or TYPE NAME"


class TypedName(NamedTuple):
    """One object, without its namespace."""

    api_version: str
    kind: str
    resource: str  # The plural in the API's paths.
    name: str

    def in_namespace(self, namespace: str) -> ObjectRef:
        return ObjectRef(self.api_version, self.kind, namespace, self.name)


class TypedNameError(ValueError):
    """Words that name no object of a kind that has Pods: what was found, what was wanted, and the fix."""


def parse_typed_name(words: Sequence[str], kinds: Kinds = KINDS) -> TypedName:
    """
    Return the object that one or two arguments name; TypedNameError if they name none.

    The type is the singular, the plural, the kind or a short name, in any case, and may have its group, or version and
    group, after it: `deploy`, `Deployment`, `deployments.apps`, `deployments.v1.apps`.
    """
    text = " ".join(words)
    if len(words) == 2 and "/" not in text:
        type_name, name = words
    elif len(words) == 1 and words[0].count("/") == 1:
        type_name, _, name = words[0].partition("/")
    elif text and len(words) == 1 and "/" not in text:
        is_type = any(text.lower().partition(".")[0] in _names(kind) for kind in kinds)
        fault, fix = ("name", f"{text}/NAME") if is_type else ("type", f"pod/{text} or deployment/{text}")
        raise TypedNameError(f'found "{text}" without a {fault}, wanted {FORM}; write {fix}')
    else:
        fix = "name one object, and its namespace with -n"
        raise TypedNameError(f'found "{text}", wanted {FORM}; {fix}')
    kind = _kind(type_name, name, kinds)
    if not is_subdomain(name):
        wanted = "a name of lower case letters, digits, '-' and '.'"
        raise TypedNameError(f'found "{text}", wanted {FORM} with {wanted}; see kubectl get {kind.resource}')
    return TypedName(kind.api_version, kind.kind, kind.resource, name)


def _kind(type_name: str, name: str, kinds: Kinds) -> Kind:
    word, _, suffix = type_name.lower().partition(".")
    matching = [kind for kind in kinds if word in _names(kind) and (not suffix or suffix in _suffixes(kind))]
    if not matching:
        close = most_like(word, dict.fromkeys(type_word for kind in kinds for type_word in _names(kind)))
        fix = f"did you mean {close}/{name or 'NAME'}?" if close else "name a Pod or a workload that creates Pods"
        raise TypedNameError(f'found type "{type_name}", wanted one of {", ".join(_listed(kinds))}; {fix}')
    # Built-in kinds come first, and win; custom resources of several groups are ambiguous.
    groups = list(dict.fromkeys(kind.api_group for kind in matching if not kind.built_in))
    if matching[0].built_in or len(groups) == 1:
        return matching[0] if matching[0].built_in else matching[-1]  # Versions are in their order, the newest last.
    full = " or ".join(f"{word}.{group}" for group in groups)
    raise TypedNameError(f'found type "{type_name}", which may mean {full}; write one of these')


def _names(kind: Kind) -> tuple[str, ...]:
    return (kind.kind.lower(), kind.resource, *kind.short_names)


def _suffixes(kind: Kind) -> tuple[str, ...]:
    version = kind.api_version.rpartition("/")[2]
    return (kind.api_group, f"{version}.{kind.api_group}".rstrip("."))


def _listed(kinds: Kinds) -> Iterator[str]:
    """Yield the types, each once, with their short names."""
    by_singular: dict[str, Kind] = {}
    for kind in kinds:
        by_singular.setdefault(kind.kind.lower(), kind)
    for singular, kind in by_singular.items():
        yield f"{singular} ({', '.join(kind.short_names)})" if kind.short_names else singular
