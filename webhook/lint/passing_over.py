"""What is no manifest yet, and what of it can be judged: templates, and patches that kustomize merges into others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from webhook.documents.scalars import DocumentError, SyntaxFault
from webhook.findings.finding import Finding
from webhook.findings.rule import INVALID_CONSTRAINT
from webhook.objects.fields import as_list, as_mapping, children, value_at
from webhook.objects.kinds import FIELD, Kind
from webhook.objects.workload import Workload
from webhook.policy.policy import Policy

_MARKS = ("{{", "{%", "<%", "${")
_LOOKS_LIKE_AN_OBJECT = re.compile(r"""^[\s{,-]*["']?apiVersion["']?\s*:""", re.MULTILINE)
_REQUIRED = {"maxSkew", "topologyKey", "whenUnsatisfiable"}
_TIED_BY_SELECTOR = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"})


def has_placeholders(text: str) -> bool:
    """Whether something is still to be put into `text`; what is no YAML yet may become some."""
    return any(mark in text for mark in _MARKS)


def should_parse(text: str, file: str, error: DocumentError) -> bool:
    """
    Whether it matters that `text` cannot be read: it is a manifest, or a YAML file that is no YAML.

    JSON with comments, or a key twice in some tool's configuration, are no business of Kubernetes.
    """
    if _LOOKS_LIKE_AN_OBJECT.search(text):
        return True
    return isinstance(error, SyntaxFault) and not file.endswith(".json")


def is_unrendered(workload: Workload) -> bool:
    """Whether what rules look at still has placeholders in it."""
    if not workload.has_constraints:
        return False
    left: list[object] = [workload.raw_constraints, workload.labels, workload.selector]
    while left:
        one = left.pop()
        if isinstance(one, str) and has_placeholders(one):
            return True
        left += children(one)
        left += one if isinstance(one, dict) else ()
    return False


def is_patch(workload: Workload, obj: Mapping[str, object]) -> bool:
    """Whether a template lacks what no complete one does: it is to be merged into one that has it."""
    if workload.is_pod or not workload.in_template or workload.labels or workload.kind.from_policy:
        return False  # of a kind that a policy describes, the operator fills in what it likes
    spec = as_mapping(value_at(obj, workload.path[:-1]))
    tied = workload.kind.kind in _TIED_BY_SELECTOR and not workload.selector
    return tied or not as_list(spec.get("containers"))


def for_patches(policy: Policy) -> Policy:
    """The policy for patches: the labels that their Pods will have are not known."""
    return replace(policy, kinds=tuple(_without_labels(policy.kinds)))


def holds_for_patch(finding: Finding, obj: Mapping[str, object]) -> bool:
    """Whether a finding holds of what is merged with something else: it is about what stands there."""
    if value_at(obj, finding.path) is None:
        return False
    end = finding.path.index(FIELD) + 2 if FIELD in finding.path else len(finding.path)
    constraint = as_mapping(value_at(obj, finding.path[:end]))
    whole = _REQUIRED <= constraint.keys() and "$patch" not in constraint
    return whole or finding.rule != INVALID_CONSTRAINT


def _without_labels(kinds: Iterable[Kind]) -> Iterable[Kind]:
    for kind in kinds:
        template = kind.template
        if template is None or template == ():
            yield kind
        else:
            path = (*template, "spec", FIELD)
            yield replace(kind, template=None, constraints=path, built_in=False)
