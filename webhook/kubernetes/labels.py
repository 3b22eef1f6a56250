"""Label sets, and the syntax of label keys and values, as k8s.io/apimachinery checks it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from webhook.kubernetes.fields import Raw

Labels = Mapping[str, str]
# The domains of labels that a kubelet, a cloud or a node autoscaler gives each node.
_NODE_LABEL_DOMAINS = (
    *("kubernetes.io", "k8s.io", "karpenter.sh", "k8s.aws", "csi.aws.com", "amazonaws.com"),
    *("cloud.google.com", "gke.io", "azure.com"),
)
DNS_LABEL = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # the name of a namespace, for one
MOST_ANNOTATION_BYTES = 256 << 10  # of all annotations of an object


class LabelWords(NamedTuple):
    """Words of label errors that differ by the version of Kubernetes: the unit of lengths, and what a key is called."""

    unit: str
    key: str


SINCE_35 = LabelWords("bytes", "a valid label key")
BEFORE_35 = LabelWords("characters", "a qualified name")


def labels_of(value: object) -> dict[str, str]:
    """Return a JSON object as a label set: a null value is "", as Go decodes it, and other types are left out."""
    if not isinstance(value, dict):
        return {}
    return {key: v or "" for key, v in value.items() if isinstance(v, str) or v is None}


def labels_in(obj: Raw) -> dict[str, str]:
    """Return the labels of an object or a Pod template."""
    metadata = obj.get("metadata")
    return labels_of(metadata.get("labels")) if isinstance(metadata, dict) else {}


def is_given_to_nodes(key: str) -> bool:
    """Return whether nodes get the label `key` from a kubelet or a cloud, and not from whoever manages them."""
    domain, slash, _ = key.rpartition("/")
    return bool(slash) and f".{domain}".endswith(tuple(f".{suffix}" for suffix in _NODE_LABEL_DOMAINS))


def annotation_bytes(annotations: Mapping[str, object]) -> int:
    """
    Return the size of annotations as the API server holds it against MOST_ANNOTATION_BYTES.

    upstream: objectmeta.go:ValidateAnnotationsSize (v1.37)
    """
    return sum(_bytes(key) + _bytes(value) for key, value in annotations.items() if isinstance(value, str))


QUALIFIED_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL_PATTERN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{_DNS_LABEL_PATTERN}(\.{_DNS_LABEL_PATTERN})*"
_ALPHANUMERIC = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_ERROR = (
    f"must {_ALPHANUMERIC} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{QUALIFIED_NAME}')"
)
_VALUE_ERROR = (
    f"a valid label must be an empty string or {_ALPHANUMERIC} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({QUALIFIED_NAME})?')"
)
_SUBDOMAIN_ERROR = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
)
_name = re.compile(QUALIFIED_NAME)
# Together the same as SUBDOMAIN, in linear time.
_subdomain = re.compile("[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
_NOT_IN_SUBDOMAIN = ("..", ".-", "-.")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def is_subdomain(text: str) -> bool:
    """Return whether `text` is an RFC 1123 subdomain, as the names of most objects are."""
    return len(text) <= 253 and _has_form_of_subdomain(text)


def _has_form_of_subdomain(text: str) -> bool:
    return _subdomain.fullmatch(text) is not None and not any(wrong in text for wrong in _NOT_IN_SUBDOMAIN)


def _prefix_errors(prefix: str, words: LabelWords) -> Iterator[str]:
    if not prefix:
        yield "prefix part must be non-empty"
        return
    if _bytes(prefix) > 253:
        yield f"prefix part must be no more than 253 {words.unit}"
    if not _has_form_of_subdomain(prefix):
        yield f"prefix part {_SUBDOMAIN_ERROR}"


def _is_name(text: str) -> bool:
    return len(text) <= 63 and _name.fullmatch(text) is not None  # Only ASCII matches: bytes are characters.


def _name_errors(name: str, words: LabelWords) -> Iterator[str]:
    if not name:
        yield "name part must be non-empty"
    elif _bytes(name) > 63:
        yield f"name part must be no more than 63 {words.unit}"
    if not _name.fullmatch(name):
        yield f"name part {_NAME_ERROR}"


LONGEST_KEPT = 320  # The longest valid key has 317 bytes.  Longer ones are not cached: they would fill the memory.


def label_key_errors(key: str, words: LabelWords = SINCE_35) -> tuple[str, ...]:
    """Return every reason why `key` is no valid label key, as content.IsLabelKey words them; () if it is one."""
    return _key_errors(key, words) if len(key) <= LONGEST_KEPT else _key_errors.__wrapped__(key, words)


def label_value_errors(value: str, words: LabelWords = SINCE_35) -> tuple[str, ...]:
    """Return every reason why `value` is no valid label value, as content.IsLabelValue words them; () if it is one."""
    return _value_errors(value, words) if len(value) <= LONGEST_KEPT else _value_errors.__wrapped__(value, words)


@lru_cache(maxsize=4096)
def _key_errors(key: str, words: LabelWords) -> tuple[str, ...]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        prefixed = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"{words.key} {_NAME_ERROR} {prefixed}",)
    prefix_errors: Iterable[str] = _prefix_errors(prefix, words) if slash else ()
    name_errors: Iterable[str] = () if _is_name(name) else _name_errors(name, words)
    return (*prefix_errors, *name_errors)


@lru_cache(maxsize=4096)
def _value_errors(value: str, words: LabelWords) -> tuple[str, ...]:
    if _is_name(value):
        return ()
    too_long = (f"must be no more than 63 {words.unit}",) if _bytes(value) > 63 else ()
    return too_long if not value or _name.fullmatch(value) else (*too_long, _VALUE_ERROR)


_CHARACTERS = "letters, digits, '-', '_' and '.', with a letter or a digit at both ends"
_IN_FEW_WORDS = {  # by the beginning of the error: the first that fits, so that longer ones come first
    "prefix part must be non-empty": "something before the '/', or no '/'",
    "prefix part must be no more": "at most 253 bytes before the '/'",
    "prefix part": "lower case letters, digits, '-' and '.' before the '/'",
    "name part must be non-empty": "a name, after the '/' if there is one",
    "name part must be no more": "a name of at most 63 bytes",
    "name part": f"a name of {_CHARACTERS}",
    "must be no more": "at most 63 bytes",
    "a valid label must": _CHARACTERS,
    "": "at most one '/'",
}


def wanted_instead(error: str) -> str:
    """Return what an error of a label key or value asks for, in few words."""
    return next(words for beginning, words in _IN_FEW_WORDS.items() if error.startswith(beginning))
