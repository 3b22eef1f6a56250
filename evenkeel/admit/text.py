"""The answers to an applied object: as kubectl prints them, as JSON, and the object as it is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import yaml

from evenkeel.admit.api_server import API_SERVER
from evenkeel.admit.dry_run import Applied, mentions_constraints
from evenkeel.terminal.json_forms import fields, finding_json, skipped_json
from webhook.admission.decision import Outcome
from webhook.admission.defaulting import Defaults, Undefaulted
from webhook.admission.request import VALIDATE
from webhook.admission.unknown_labels import HOW_TO_KNOW
from webhook.findings.finding import Finding, Severity
from webhook.findings.wording import LINE_LIMIT, in_full, mark, one_line, short_path
from webhook.kubernetes.fields import as_mapping, path_text, value_at
from webhook.kubernetes.kinds import KINDS, find_kinds
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.kubernetes.operators import with_operators
from webhook.kubernetes.reader import brief
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.scalars import resolve
from webhook.manifests.configurations import NAME, enforced_entry_name, entry_name
from webhook.policy.policy import Policy

STDIN = {"-": "STDIN"}  # as kubectl names it
_UNKNOWN_FIELD = "unknown-field"
NO_CLUSTER = "no cluster is given that shows what selects the Pod, such as --cluster live"


def text(applied: Applied, file: str, policy: Policy | None = None, fail_on: Severity = Severity.ERROR) -> str:
    """
    Return what kubectl prints, then what to write, the findings that fail, the patch and what could not be judged.

    With a policy, also which other webhook entry may deny the object; give none if a controller sends it.
    """
    more = (
        *failing(applied, fail_on),
        *_more(applied),
        *(() if policy is None else _denied_otherwise(applied, policy)),
    )
    return "\n".join(
        (*_kubectl(applied, file), *_fixes(applied), *(one_line(f"  {line}", 8 * LINE_LIMIT) for line in more))
    )


def _kubectl(applied: Applied, file: str) -> Iterator[str]:
    attempt = (
        f'error when {"patching" if applied.updated else "creating"} "{one_line(STDIN.get(file, file), LINE_LIMIT)}"'
    )
    answer = applied.answer
    yield from warnings(applied)
    if applied.refused and applied.refusal is not None:
        printed = applied.refusal.printed(ObjectRef.of(applied.obj), attempt)
        yield from (one_line(line, 2 * LINE_LIMIT) for line in printed.split("\n"))
        return
    if applied.denied_by is None:
        verb = "configured" if applied.updated else "created"
        if applied.unjudged:
            verb = "allowed"
        yield f"{title(applied.obj)} {verb}"
        return
    status = answer.status or {}
    entry = entry_name(applied.kind) if applied.kind is not None else ""
    webhook = f'admission webhook "{entry}" denied the request'
    yield f"Error from server ({status.get('reason')}): {attempt}: {webhook}: {status.get('message')}"


def _fixes(applied: Applied) -> Iterator[str]:
    """Yield what to write for each error of the API server, whose message does not say that."""
    if not applied.refused or applied.refusal is None:
        return
    findings = [
        finding
        for finding in applied.validate.findings
        if finding.rejected_by_api_server or finding.rule == _UNKNOWN_FIELD
    ]
    found = ((path_text(finding.path), finding.fix) for finding in findings)
    fixes = dict.fromkeys((*filter(None, [applied.refusal.selector]), *found))  # two errors may have one fix
    for field, fix in fixes:
        yield one_line(f"  {field}: {fix}" if len(fixes) > 1 else f"  {fix}", LINE_LIMIT)


def findings_to_fail(applied: Applied, fail_on: Severity) -> Sequence[Finding]:
    """Return the findings at or above `fail_on` on an object that is allowed; an error alone need not deny it."""
    if applied.refused or applied.denied_by is not None or fail_on is Severity.ERROR:
        return ()
    return [finding for finding in applied.answer.findings if finding.severity.rank <= fail_on.rank]


def failing(applied: Applied, fail_on: Severity) -> Iterator[str]:
    """Yield each finding that decides the exit code and that no warning of the webhook says."""
    for finding in findings_to_fail(applied, fail_on):
        field, speaker = short_path(finding.path), mark(finding.rule)
        if not any(field in warning and speaker in warning for warning in applied.warnings):
            yield f"fails --fail-on {fail_on}: {in_full(finding)}"


def warnings(applied: Applied) -> Iterator[str]:
    """Yield the warnings of the answers, as kubectl prints them."""
    yield from (f"Warning: {warning}" for warning in applied.warnings)


def _more(applied: Applied) -> Iterator[str]:
    defaulted = applied.mutate.defaulted
    if isinstance(defaulted, Defaults):
        selector = ",".join(dict.fromkeys(map(str, defaulted.selector.requirements)))
        verb = "defaulted" if applied.mutate.patch else "would be defaulted if defaultingMode were Apply"
        yield f"{verb}: selector {selector} from {', '.join(defaulted.source)}"
        yield from (f"  - {json.dumps(constraint, ensure_ascii=False)}" for constraint in defaulted.constraints)
        yield from (f"left out: {reason}" for reason in defaulted.left_out)
    elif isinstance(defaulted, Undefaulted):
        yield f"not defaulted: {_undefaulted(defaulted)}"
    if applied.unjudged:
        yield f"not judged: {applied.unjudged}"
    if applied.unsent:
        yield f"not sent: the API server sends the webhook nothing from {' or '.join(SYSTEM_NAMESPACES)}"
    if namespace := applied.answer.unknown_labels_of:
        yield f"note: the labels of namespace {namespace} are not known; {HOW_TO_KNOW}"
    if applied.passed_over:
        yield _passed_over(applied.obj)


def _passed_over(obj: Mapping[str, object]) -> str:
    kinds = find_kinds(obj, with_operators(KINDS))
    if kinds and kinds[0].operator is not None:
        entry = f"workloads: [{{builtIn: {kinds[0].operator.name}}}]"
        return f"not sent: the API server sends a {obj.get('kind')} only if the policy names it: {entry}"
    kind = f"{obj.get('apiVersion')} {obj.get('kind')}"
    return (
        f"not judged: the policy does not say where a {kind} has its constraints; add it under workloads in the policy"
    )


def _denied_otherwise(applied: Applied, policy: Policy) -> Iterator[str]:
    if applied.refused or applied.denied_by != VALIDATE or applied.kind is None:
        return
    if entry := enforced_entry_name(policy, applied.kind, mentions_constraints(applied.stored)):
        yield "note: judged as if a person sent it, and not a controller"
        yield (
            f"note: after evenkeel manifests --failure-policy-enforced Fail, the error names the entry {entry} in "
            f"ValidatingWebhookConfiguration {NAME}"
        )


def title(obj: Mapping[str, object]) -> str:
    """Return the object as kubectl names it, in one line; a name that is no string is shown as it is."""
    ref, name = ObjectRef.of(obj), value_at(obj, ("metadata", "name"))
    if name is not None and not isinstance(name, str):
        ref = ref._replace(name=brief(name))
    return one_line(ref.in_kubectl, LINE_LIMIT)


def as_json(applied: Applied) -> str:
    """Return one JSON document on one line."""
    metadata, defaulted = as_mapping(applied.obj.get("metadata")), applied.mutate.defaulted
    return json.dumps(
        {
            "object": {
                "apiVersion": applied.obj.get("apiVersion"),
                "kind": applied.obj.get("kind"),
                "namespace": metadata.get("namespace"),
                "name": metadata.get("name"),
            },
            "allowed": not applied.refused and applied.denied_by is None,
            "deniedBy": API_SERVER if applied.refused else applied.denied_by,
            "outcome": Outcome.DENIED if applied.refused else applied.outcome,
            "status": _status(applied),
            "warnings": applied.warnings,
            "patch": applied.mutate.patch,
            "defaulted": _defaulted(defaulted) if applied.mutate.patch else None,
            "auditedDefaults": None if applied.mutate.patch else _defaulted(defaulted),
            "notDefaulted": {"reason": defaulted.reason, "message": _undefaulted(defaulted)}
            if isinstance(defaulted, Undefaulted)
            else None,
            "findings": [finding_json(finding) for finding in applied.validate.findings],
            "unknownLabelsOf": applied.answer.unknown_labels_of or None,
            "notJudged": applied.unjudged or None,
            "skipped": [skipped_json(skipped) for skipped in applied.validate.skipped],
            "auditAnnotations": {**applied.mutate.audit_annotations, **applied.validate.audit_annotations},
        }
    )


def _undefaulted(defaulted: Undefaulted) -> str:
    """Return why there are no defaults; unlike the webhook, a command reads all of a cluster that it is given."""
    return NO_CLUSTER if defaulted.reason == "no-cluster" else str(defaulted)


def _status(applied: Applied) -> Mapping[str, object] | None:
    if applied.refused and applied.refusal is not None:
        return applied.refusal.status(ObjectRef.of(applied.obj))
    return applied.answer.status


def _defaulted(defaulted: Defaults | Undefaulted | None) -> dict[str, object] | None:
    if not isinstance(defaulted, Defaults):
        return None
    return {**fields(defaulted, "constraints", "source", "left_out"), "selector": str(defaulted.selector)}


def as_yaml(applied: Applied) -> str:
    """Return the object as it would be stored, as one YAML document."""
    return f"---\n{dump(applied.stored)}"


def dump(value: object, width: int = 80) -> str:
    """Return YAML that kubectl reads as `value`, in lines of `width` characters where text can be broken."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=False, sort_keys=False, allow_unicode=True, width=width
    )
    return text


class InLine(list[object]):
    """A list that YAML has in one line, in brackets."""


class _Dumper(yaml.SafeDumper):
    """Writes a value in full each time, without anchors and aliases."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    """Quote text in which kubectl would see something else: 1e3 is text to PyYAML, and a number to kubectl."""
    plain = isinstance(resolve(text), str)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _text)


def _in_line(dumper: yaml.SafeDumper, items: InLine) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)


_Dumper.add_representer(InLine, _in_line)
