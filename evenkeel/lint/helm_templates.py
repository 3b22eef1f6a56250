"""Detects templates and kustomize patches, and decides what can be judged in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from evenkeel.lint.openshift import TEMPLATE_API
from webhook.findings.finding import Finding
from webhook.kubernetes.fields import as_list, as_mapping, texts_within, value_at
from webhook.kubernetes.kinds import FIELD, FurtherKinds, Kind, Kinds
from webhook.kubernetes.scalars import DocumentError, SyntaxFault
from webhook.kubernetes.workload import Workload
from webhook.policy.policy import Policy

_MARKS = ("{{", "{%", "<%", "${", "%{")
_KEY_OF_LINE = r"""["']?{}["']?[ \t]*:"""
_IN_LINES = [re.compile(f"^{_KEY_OF_LINE.format(name)}", re.MULTILINE) for name in ("apiVersion", "kind")]
_IN_BRACES = [
    re.compile(rf"(?:^|[{{,])[ \t]*{_KEY_OF_LINE.format(name)}", re.MULTILINE) for name in ("apiVersion", "kind")
]
_HELM_COMMENT = re.compile(r"\{\{-?\s*/\*(?:.*?\*/\s*-?\}\}|(.*))", re.DOTALL)  # one without an end is none
_COMMENT = re.compile(r"""^([^"'\n]*?)(?<!\S)#.*""", re.MULTILINE)  # behind a quote, # may be part of a text
_SLASH_COMMENT = re.compile(r"(?:^|[\s,\[{])/[/*]")  # of JSON with comments
# Kinds with Helm values, and all kinds that carry texts.
_RENDERED = frozenset({"HelmRelease", "HelmChart", "HelmChartConfig", "Application", "ApplicationSet"})
_CARRIERS = _RENDERED | {"Kustomization", "Component"}
# A finding on the first field rests on the others, too.
_RESTS_ON = {
    "minDomains": ("whenUnsatisfiable",),
    "labelSelector": ("matchLabelKeys",),
    "matchLabelKeys": ("labelSelector",),
}
# Their Pods are found by a selector, which the API server demands.
_TIED_BY_SELECTOR = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Rollout", "CloneSet"})
# A constraint that no rule complains about.
_ANY: Mapping[str, object] = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {},
}


def has_placeholders(text: str) -> bool:
    """Return whether `text` has placeholders of a template engine; such text need not be valid YAML."""
    return any(mark in text for mark in _MARKS)


def without_comments(text: str) -> str:
    """Return `text` without comments of Helm and of YAML."""
    return _COMMENT.sub(r"\1", _HELM_COMMENT.sub(r"\1", text))


def looks_like_a_manifest(text: str) -> bool:
    """Return whether `text`, which need not be valid, has both apiVersion and kind at its top; in braces, anywhere."""
    keys = _IN_BRACES if text.lstrip("\ufeff \t\r\n").startswith("{") else _IN_LINES
    return all(key.search(text) for key in keys)


def should_report(text: str, file: str, error: DocumentError, named: bool = False) -> bool:
    """
    Return whether it is a problem that `text` cannot be read, by the `error` that it has.

    It is if the text looks like a manifest, or if its file was `named` on the command line and has a syntax error.
    JSON with comments, a tool's configuration, is no manifest although it is named.
    """
    if looks_like_a_manifest(text):
        return True
    is_configuration = file.endswith(".json") and _SLASH_COMMENT.search(text)
    return named and isinstance(error, SyntaxFault) and not is_configuration


def advice_for_template(text: str) -> str:
    """Return advice on what to lint instead of a text with placeholders."""
    if TEMPLATE_API in text:
        return "process it first: oc process --local -f FILE -o yaml | evenkeel lint -"
    if "{{" in text:
        return "render it first: helm template CHART | evenkeel lint -"
    if "${" in text:
        return "substitute first: flux build kustomization NAME --path FOLDER | evenkeel lint -"
    return "render it first, and lint the result"


def advice_for_kind(kind: str) -> str:
    """Return what to do about an object that has constraints in a place that the policy does not describe."""
    if has_values(kind):
        return "render the objects from it, and lint these"
    return "describe the kind under workloads in a policy"


def has_values(kind: str) -> bool:
    """Return whether an object of the kind has values of Helm in it, from which others are rendered."""
    return kind in _RENDERED


def carries_texts(kind: str) -> bool:
    """Return whether an object of the kind has values of Helm or patches of kustomize in it, also as texts."""
    return kind in _CARRIERS


def is_unrendered(workload: Workload) -> bool:
    """Return whether constraints, labels, the selector or switches still have placeholders."""
    values = (workload.raw_constraints, workload.labels, workload.selector) if workload.has_constraints else ()
    return any(map(_unrendered, (*values, *(value for _, value in workload.switches))))


def rendered_part(workload: Workload) -> Workload:
    """Return the workload, in which labels with placeholders may have any value; a key with one may be any key."""
    rendered_labels = {key: value for key, value in workload.labels.items() if not has_placeholders(value)}
    return replace(
        workload,
        labels=rendered_labels,
        labels_known=workload.labels_known and not any(map(has_placeholders, workload.labels)),
        addable=workload.addable | workload.labels.keys(),
        surges=workload.surges and not has_placeholders(workload.strategy),
    )


def holds_unrendered(finding: Finding, obj: Mapping[str, object]) -> bool:
    """Return whether a finding holds whatever the placeholders become: none is in a field that it rests on."""
    if FIELD not in finding.path:
        return not _unrendered(value_at(obj, finding.path))
    end = finding.path.index(FIELD) + 2
    constraint, field = finding.path[:end], finding.path[end : end + 1]  # no field: it is on the whole constraint
    rests_on = [field]
    if field:
        rests_on += [(name,) for name in _RESTS_ON.get(str(field[0]), ())]
    return not any(_unrendered(value_at(obj, (*constraint, *names))) for names in rests_on)


def _unrendered(value: object) -> bool:
    return any(map(has_placeholders, texts_within(value)))


def is_patch(workload: Workload, obj: Mapping[str, object]) -> bool:
    """Return whether an object lacks what the API server demands of its kind, and so is to be merged into another."""
    if workload.is_pod or not workload.in_template:
        return False
    kind = workload.kind
    if not kind.labels_known or (kind.from_policy and kind.operator is None):
        return False  # the operator of a custom resource may fill in what is missing
    spec = as_mapping(obj.get("spec"))
    tied = kind.kind in _TIED_BY_SELECTOR
    if (tied and spec.get("selector") is None) or (kind.kind == "CronJob" and spec.get("schedule") is None):
        return True
    containers = as_list(as_mapping(workload.pod_spec).get("containers"))
    return not workload.labels and ((tied and not workload.selector) or not containers)


def for_patches(policy: Policy) -> Policy:
    """Return the policy for patches: no kind has Pod labels, because the labels of a patched Pod are not known."""
    further = policy.kinds.further and partial(_further_without_labels, policy.kinds.further)
    return replace(policy, kinds=Kinds(_without_labels(policy.kinds), further))


def completed(workload: Workload) -> Workload:
    """Return the workload of a patch, with good values for required fields that its constraints may get elsewhere."""
    raw = workload.raw_constraints
    return replace(workload, raw_constraints=[*map(_completed, raw)]) if isinstance(raw, list) else workload


def _completed(constraint: object) -> object:
    """Return a constraint with good values for the fields that it lacks."""
    if not isinstance(constraint, dict):
        return constraint
    if "$patch" in constraint:  # A directive such as `$patch: delete` is no constraint: nothing in it is judged.
        return _ANY
    return {**_ANY, **constraint}


def holds_for_patch(finding: Finding, obj: Mapping[str, object]) -> bool:
    """Return whether a finding on a patch with `completed` constraints is about a field that the patch itself has."""
    field = finding.path[finding.path.index(FIELD) + 2 :] if FIELD in finding.path else finding.path
    return field != () and value_at(obj, finding.path) is not None


def _further_without_labels(further: FurtherKinds, api_version: str, kind: str) -> Iterable[Kind]:
    return _without_labels(further(api_version, kind))


def _without_labels(kinds: Iterable[Kind]) -> Iterable[Kind]:
    for kind in kinds:
        path = kind.constraints if kind.template is None else (*kind.template, "spec", FIELD)
        operator = kind.operator._replace(gives=()) if kind.operator and not kind.labels_known else None
        built_in = kind.built_in and kind.template is None
        yield replace(kind, template=None, constraints=path, replicas=None, built_in=built_in, operator=operator)
