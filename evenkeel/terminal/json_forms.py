"""What the forms that programs read have in common: docs/programs.md documents them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from webhook.findings.finding import Finding, Skipped
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.names import OUTPUT_API_VERSION
from webhook.kubernetes.references import ObjectRef


def form(kind: str, members: Mapping[str, object]) -> dict[str, object]:
    return {"apiVersion": OUTPUT_API_VERSION, "kind": kind, **members}


def dumped(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=2)


def fields(value: object, *names: str) -> dict[str, object]:
    """Return attributes of a value, by their names in camel case."""
    return {_camel(name): getattr(value, name) for name in names}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def ref_json(ref: ObjectRef) -> dict[str, object]:
    return fields(ref, *ObjectRef._fields)


def finding_json(finding: Finding) -> dict[str, object]:
    helped = ("help",) if finding.help else ()
    return {
        **fields(finding, "rule", "severity"),
        "field": path_text(finding.path),
        **fields(finding, "message", "found", "wanted", "fix", *helped),
    }


def skipped_json(skipped: Skipped) -> dict[str, object]:
    return fields(skipped, *Skipped._fields)
