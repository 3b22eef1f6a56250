"""
What silences findings: a comment on the line, an annotation on the object, and what of it silences nothing.

    topologyKey: kubernetes.io/zone  # evenkeel: ignore[misspelt-topology-key]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from webhook.documents.positions import comments
from webhook.findings.evaluation import evaluate, find_all
from webhook.findings.finding import Finding, Severity
from webhook.findings.rule import RuleSetting, RuleSettings
from webhook.lint.results import UNUSED_SUPPRESSION
from webhook.lint.terms import LintTerms
from webhook.objects.fields import FieldPath, as_mapping, value_at
from webhook.objects.labels import labels_of
from webhook.objects.names import IGNORE_ANNOTATION
from webhook.objects.workload import Workload, ignored
from webhook.rules import RULES

_COMMENT = re.compile(r"#[ \t]*evenkeel:[ \t]*ignore(?:\[(?P<rules>[^\]\n]*)\])?")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that silences rules on its line; offsets into the text it stands in."""

    start: int
    end: int
    rules: tuple[str, ...]


def comments_in(text: str) -> list[Comment]:
    """The comments of this kind; those in text, or in a manifest that a ConfigMap embeds, are none."""
    if "evenkeel:" not in text:
        return []
    return [Comment(one.start(), one.end(), tuple(sorted(ignored(one["rules"])))) for one in comments(text, _COMMENT)]


def unused_in_comment(comment: Comment, used: Collection[str], settings: RuleSettings) -> Iterator[Finding]:
    """What to say of a comment, of whose rules those that were `used` silenced something."""
    if not comment.rules:
        yield _unused((), "must name the rules that it silences", "no rule", "write evenkeel: ignore[rule-id]")
    for rule in comment.rules:
        yield from _unused_rule((), rule, {one: _reason(settings[one]) for one in rules_run(settings) - set(used)})


@dataclass(frozen=True, slots=True)
class Silenced:
    """How many findings an object's annotations silence, and what to say of those that silence none."""

    count: int = 0
    unused: tuple[Finding, ...] = ()


def silenced(obj: Mapping[str, object], workloads: Sequence[Workload], terms: LintTerms) -> Silenced:
    """What the annotations of `obj` do, its workloads placed in their namespace."""
    if not any(one.ignored_rules for one in workloads):
        return Silenced()
    count, used, idle = 0, set[str](), dict[str, str]()
    for one in workloads:
        namespaces = terms.snapshot.namespaces if terms.snapshot is not None else {}
        settings = terms.policy.in_force(one, namespaces.get(one.namespace)).settings
        outspoken = replace(one, ignored_rules=frozenset())
        said = evaluate(outspoken, settings, terms.snapshot, terms.features)
        silent = {rule for rule in one.ignored_rules if rule in settings and not settings[rule].enforced}
        count += sum(finding.rule in silent for finding in said.findings)
        found = find_all(outspoken, settings, terms.snapshot, terms.features).findings
        used |= {finding.rule for finding in found if finding.rule in silent}
        run = rules_run(settings) - {skipped.rule for skipped in said.skipped}
        idle |= {rule: _reason(settings[rule]) for rule in run}
    return Silenced(count, tuple(_unused_annotations(obj, workloads, {r: idle[r] for r in idle if r not in used})))


def rules_run(settings: RuleSettings) -> set[str]:
    """The rules that are switched on."""
    return {rule for rule, setting in settings.items() if setting.severity is not Severity.IGNORE}


def _reason(setting: RuleSetting) -> str:
    return "the policy enforces it" if setting.enforced else "it finds nothing here"


def _unused_annotations(
    obj: Mapping[str, object], workloads: Sequence[Workload], idle: Mapping[str, str]
) -> Iterator[Finding]:
    above = {("metadata",), *((*one.path[:-2], "metadata") for one in workloads if one.in_template)}
    for metadata in sorted(above, key=len):
        path: FieldPath = (*metadata, "annotations", IGNORE_ANNOTATION)
        written = labels_of(as_mapping(value_at(obj, path[:-1]))).get(IGNORE_ANNOTATION)
        for rule in sorted(ignored(written)):
            yield from _unused_rule(path, rule, idle)


def _unused_rule(path: FieldPath, rule: str, idle: Mapping[str, str]) -> Iterator[Finding]:
    """A rule that was not run, for want of a cluster say, is not `idle`: it might have found something."""
    if rule not in RULES and rule != UNUSED_SUPPRESSION:
        near = get_close_matches(rule, RULES, 1)
        hint = f"did you mean {near[0]}?" if near else "evenkeel rules lists them"
        yield _unused(path, f"no rule is called {rule}", rule, hint)
    elif rule in idle:
        yield _unused(path, f"silences nothing of {rule}: {idle[rule]}", rule, "remove it")


def _unused(path: FieldPath, message: str, found: str, fix: str) -> Finding:
    return Finding(UNUSED_SUPPRESSION, Severity.WARNING, path, message, found, "what silences a finding", fix)
