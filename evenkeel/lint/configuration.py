"""
The file of a repository that sets what options of lint set: `.evenkeel.yaml`.

    excludes: [charts/]
    rules: {selector-misses-own-pod: warning}
    policy: platform/policy.yaml
    namespaces: {shop: {team: a}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.findings.finding import UNUSED_SUPPRESSION, Severity
from webhook.findings.wording import CausesError
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.fields import as_list, as_mapping, as_text
from webhook.kubernetes.json_schema import Schema, object_schema
from webhook.kubernetes.labels import DNS_LABEL, Labels, labels_of
from webhook.kubernetes.reader import brief
from webhook.kubernetes.scalars import DocumentError
from webhook.policy.schema import STRING, complaints
from webhook.rules import RULES

CONFIGURATION_NAME = ".evenkeel.yaml"
ALL_OTHERS = "*"  # namespaces


class ConfigurationError(CausesError):
    """A configuration that cannot be used; each cause names its path."""


@dataclass(frozen=True, slots=True)
class LintConfiguration:
    """What a repository sets."""

    excludes: tuple[str, ...] = ()  # patterns of .gitignore
    rules: Mapping[str, Severity] = field(default_factory=dict)
    policy: str = ""  # a path from the folder of the file
    namespaces: Mapping[str, Labels] = field(default_factory=dict)  # labels by name; "" stands for all others


def parse_configuration(text: str) -> LintConfiguration:
    """ConfigurationError names every cause."""
    try:
        documents = read_documents(text)
    except DocumentError as error:
        raise ConfigurationError([str(error)]) from error
    raw = documents[0] if documents else {}
    if len(documents) > 1 or not isinstance(raw, dict):
        value = f"{len(documents)} documents" if len(documents) > 1 else brief(raw)
        raise ConfigurationError([f"found {value}, wanted one object"])
    namespaces = as_mapping(raw.get("namespaces"))
    causes = [*complaints(raw, _schema())]
    causes += (
        f'namespaces: found {brief(name)}, wanted the name of a namespace, or "{ALL_OTHERS}" for all others'
        for name in namespaces
        if name != ALL_OTHERS and not DNS_LABEL.fullmatch(name)
    )
    if causes:
        raise ConfigurationError(causes)
    return LintConfiguration(
        excludes=tuple(map(str, as_list(raw.get("excludes")))),
        rules={rule: Severity(str(severity)) for rule, severity in as_mapping(raw.get("rules")).items()},
        policy=as_text(raw.get("policy")),
        namespaces={"" if name == ALL_OTHERS else name: labels_of(labels) for name, labels in namespaces.items()},
    )


def _schema() -> Schema:
    severities = {rule.id: rule.severities for rule in RULES.values()} | {UNUSED_SUPPRESSION: tuple(Severity)}
    labels: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
    return object_schema(
        excludes={"type": "array", "items": STRING},
        rules=object_schema(**{rule: {"enum": [*map(str, allowed)]} for rule, allowed in severities.items()}),
        policy=STRING,
        namespaces={"type": "object", "additionalProperties": labels},
    )
