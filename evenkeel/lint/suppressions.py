"""
Suppressions: a comment on the line, or an annotation on the object.  One that suppresses nothing is itself a finding.

    topologyKey: kubernetes.io/zone  # evenkeel: ignore[misspelt-topology-key]
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evenkeel.lint.chunks import Chunk, NumberedLines
from evenkeel.lint.terms import LintTerms
from evenkeel.lint.yaml_positions import comments
from webhook.findings.evaluation import evaluate
from webhook.findings.finding import UNUSED_SUPPRESSION, Finding, Severity
from webhook.findings.rule import RuleSetting, RuleSettings
from webhook.kubernetes.fields import FieldPath, value_at
from webhook.kubernetes.labels import labels_of
from webhook.kubernetes.likeness import nearest
from webhook.kubernetes.names import IGNORE_ANNOTATION
from webhook.kubernetes.workload import Workload, ignored
from webhook.rules import RULES

_IGNORE_COMMENT = re.compile(r"#[ \t]*evenkeel:[ \t]*ignore(?:\[(?P<rules>[^\]\n]*)\])?")


class Comment(NamedTuple):
    """A comment that suppresses the findings of rules on its line; `start` and `end` are offsets into the text."""

    start: int
    end: int
    rules: tuple[str, ...]


def comments_in(text: str) -> list[Comment]:
    """Return the comments that suppress findings; text in a scalar, as in a ConfigMap, is no comment."""
    if "evenkeel:" not in text:
        return []
    matches = comments(text, _IGNORE_COMMENT)
    return [Comment(match.start(), match.end(), tuple(sorted(ignored(match["rules"])))) for match in matches]


def by_line(comments: Sequence[Comment], chunk: Chunk, lines: NumberedLines) -> Mapping[int, Sequence[Comment]]:
    """
    Return the comments by the line that they are about: their own, or that below if they stand alone on theirs.

    Comment lines and empty lines in between are passed over.
    """
    comments_by_line, target_of = defaultdict[int, list[Comment]](list), dict[int, int]()
    for comment in reversed(comments):  # so that each line is looked at once
        own_line, column = lines.position(chunk.place(comment.start, comment.start)[0])
        line = own_line
        if not lines.line(own_line)[: column - 1].strip():
            while line < lines.count and lines.line(line).lstrip()[:1] in ("#", ""):
                line += 1
                if line in target_of:
                    line = target_of[line]
                    break
            target_of[own_line] = line
        comments_by_line[line].append(comment)
    return comments_by_line


def unused_in_comment(comment: Comment, used: Collection[str], settings: RuleSettings) -> Iterator[Finding]:
    """Yield a finding for each rule in a comment that suppressed nothing; `used` are the others."""
    if not comment.rules:
        yield _unused(
            (), "this comment must name the rules that it suppresses", "no rule", "write evenkeel: ignore[rule-id]"
        )
    idle = {name: _reason(name, settings[name]) for name in rules_run(settings) - set(used)}
    for rule in comment.rules:
        if rule not in RULES and rule != UNUSED_SUPPRESSION:
            near = nearest(rule, RULES)
            hint = f"write {near}" if near else "remove it; evenkeel rules lists all rules"
            yield _unused((), f"there is no rule {rule}" + (f": did you mean {near}?" if near else ""), rule, hint)
        yield from _unused_rule((), rule, idle)


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What the annotations of an object suppress."""

    count: int = 0
    unused: tuple[Finding, ...] = ()  # for each rule id that suppresses nothing


def suppressed_by_annotations(obj: Mapping[str, object], workloads: Sequence[Workload], terms: LintTerms) -> Suppressed:
    """Return what the annotations of `obj` suppress; `workloads` are its workloads, each with its namespace."""
    if not any(workload.ignored_rules for workload in workloads):
        return Suppressed()
    count, used, idle = 0, set[str](), dict[str, str]()
    for workload in workloads:
        labels, counts = terms.namespace_labels(workload.namespace), [0]
        for policy in terms.policy.possible(workload.namespace, labels).values():
            settings = policy.in_force(workload, labels).settings
            unsuppressed = replace(workload, ignored_rules=frozenset())
            evaluation = evaluate(unsuppressed, settings, terms.snapshot, terms.features, terms.others, terms.room_for)
            suppressing = {rule for rule in workload.ignored_rules if rule in settings and not settings[rule].enforced}
            counts.append(sum(finding.rule in suppressing for finding in evaluation.findings))
            findings = terms.judging(unsuppressed, settings, terms.snapshot, terms.features).findings
            used |= {finding.rule for finding in findings if finding.rule in suppressing}
            run = rules_run(settings) - {skipped.rule for skipped in evaluation.skipped}
            # An annotation that names an enforced rule is reported by idle-switch.
            idle |= {rule: _reason(rule, settings[rule]) for rule in run if not settings[rule].enforced}
        count += max(counts)  # only one of the possible policies is in force
    unused = {rule: reason for rule, reason in idle.items() if rule not in used}
    return Suppressed(count, tuple(_unused_annotations(obj, workloads, unused)))


def rules_run(settings: RuleSettings) -> set[str]:
    """Return the ids of the rules whose severity is not ignore."""
    return {rule for rule, setting in settings.items() if setting.severity is not Severity.IGNORE}


def _reason(rule: str, setting: RuleSetting) -> str:
    if setting.enforced:
        return f"cannot suppress {rule}: the policy enforces this rule"
    return f"suppresses no finding of {rule}: it finds nothing here"


def _unused_annotations(
    obj: Mapping[str, object], workloads: Sequence[Workload], idle: Mapping[str, str]
) -> Iterator[Finding]:
    above = {("metadata",), *((*workload.path[:-2], "metadata") for workload in workloads if workload.in_template)}
    for metadata in sorted(above, key=len):
        path: FieldPath = (*metadata, "annotations", IGNORE_ANNOTATION)
        written = labels_of(value_at(obj, path[:-1])).get(IGNORE_ANNOTATION)
        for rule in sorted(ignored(written)):
            yield from _unused_rule(path, rule, idle)


def _unused_rule(path: FieldPath, rule: str, idle: Mapping[str, str]) -> Iterator[Finding]:
    """
    Yield a finding if `rule` is among the `idle`: the rules that ran and found nothing, each with the words for it.

    A rule that did not run is not reported.  An annotation that names no rule is reported by idle-switch.
    """
    if rule in idle:
        subject = "" if path else "this comment "  # a path names the annotation
        yield _unused(path, f"{subject}{idle[rule]}", rule, "remove it")


def _unused(path: FieldPath, message: str, value: str, fix: str) -> Finding:
    wanted = "a rule that finds something here, and is not enforced"
    return Finding(UNUSED_SUPPRESSION, Severity.WARNING, path, message, value, wanted, fix)
