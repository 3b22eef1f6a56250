"""
What ValidatingAdmissionPolicies told of an object, and whether a test expects that.

    Trial ──read_told──> Told(outcome, rules, lines) ──compare──> CaseResult

Policies tell less than the webhook: the first denial, one warning of a rule, and nothing that only the audit log has.
What they cannot tell is left out of both sides, with a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import NamedTuple

from webhook.admission.decision import COULD_NOT_JUDGE, MAKE_SMALLER, Outcome
from webhook.cluster.trial import Trial
from webhook.findings.wording import help_for_all, mark, with_helps
from webhook.manifests.acting import Export, acting_checks
from webhook.manifests.admission_policies import POLICY_NAMES
from webhook.manifests.policies import CHECKS
from webhook.manifests.rule_variables import TOO_LARGE
from webhook.objects.fields import Raw, as_list
from webhook.policy.policy import AUDIT, DENY, WARN
from webhook.policy_test.form import CaseResult
from webhook.rules import RULES

WARNED_BY = (
    f"Validation failed for ValidatingAdmissionPolicy '{POLICY_NAMES[WARN]}' with binding '{POLICY_NAMES[WARN]}': "
)
CUT_AT = 256  # Characters of a warning, where all of them together have more than 4,096.
STRICTNESS = {Outcome.ALLOWED: 0, Outcome.WARNED: 1, Outcome.DENIED: 2}
_DENIED_BY = f"ValidatingAdmissionPolicy '{POLICY_NAMES[DENY]}' with binding '{POLICY_NAMES[DENY]}' denied request: "

# Notes.
DEFAULTS_LEFT = "defaults are not compared: policies give Pods no constraints"
DEFAULTED_LEFT = "outcome defaulted is not compared, nor rules that defaults might change: policies give no constraints"
WARNINGS_LEFT = "warnings are not compared: the API server puts the name of the policy before them"
WOULD_BE = (
    "would-be-denied is compared as warned, or as allowed with enforcement Audit: policies do not tell them apart"
)
FIRST_ONLY = "of several rules that deny, only the first is named"
AUDITED = "a rule may be missing if only the audit log has its finding"
SAID_ALREADY = "a rule may be missing if the API server itself warns"
CUT = "rules are not compared: the API server has cut the warnings, because they are too long"
UNCHECKED = "not compared, because CEL cannot check it: {}"
UNTOLD = "not compared, because it neither denies nor warns: {}"
MILDER = "outcome is not compared: it may depend on a rule that CEL cannot check"


class Told(NamedTuple):
    """
    What the policies said of an object; `lines` is all that the API server said, as kubectl prints it.

    `cut`: of a warning the rule is not known.  `other_warnings`: some are not from the policies.
    """

    outcome: Outcome
    rules: frozenset[str]
    lines: tuple[str, ...]
    cut: bool = False
    other_warnings: bool = False


def read_told(trial: Trial, export: Export) -> Told | None:
    """Return what the policies said; None if the API server refuses the object for another reason."""
    denied = trial.status == HTTPStatus.FORBIDDEN and _DENIED_BY in trial.message
    if not denied and not trial.admitted:
        return None
    told = [text.removeprefix(WARNED_BY) for text in trial.warnings if text.startswith(WARNED_BY)]
    warned = [text for text in told if text != help_for_all(export.policy.help)]
    cut = any(len(WARNED_BY) + len(text) >= CUT_AT and not rule_of(text, export) for text in warned)
    messages = [*([trial.message.partition(_DENIED_BY)[2]] if denied else []), *warned]
    rules = frozenset(rule for text in messages if (rule := rule_of(text, export)))
    last = f"Error from server ({trial.reason}): {trial.message}" if denied else "created (server dry run)"
    return Told(
        _outcome(messages[0], denied, export) if messages else Outcome.ALLOWED,
        rules,
        (*(f"Warning: {text}" for text in trial.warnings), last),
        cut,
        len(told) < len(trial.warnings),
    )


def _outcome(message: str, denies: bool, export: Export) -> Outcome:
    if not rule_of(message, export) and any(text in message for text in (COULD_NOT_JUDGE, MAKE_SMALLER, TOO_LARGE)):
        return Outcome.NOT_JUDGED
    if denies:
        return Outcome.DENIED if rule_of(message, export) else Outcome.ERROR
    return Outcome.WARNED


def rule_of(message: str, export: Export) -> str:
    """Return the rule whose id ends a message, before the helps that the policy has; "" if there is none."""
    ends = {
        with_helps(mark(rule), of_rule, of_all): rule
        for part in export.parts
        for rule in CHECKS
        for of_rule in ("", part.settings[rule].help)
        for of_all in ("", export.policy.help)
    }
    return ends[max(known, key=len)] if (known := [end for end in ends if message.endswith(end)]) else ""


def incomparable(expect: Raw) -> str:
    """Return why nothing that is expected can be compared with what policies tell; "" if something can."""
    if expect.get("outcome") == Outcome.ERROR:
        return "expects error, which only the webhook answers"
    left = {"defaults", "warnings"} | ({"outcome"} if expect.get("outcome") == Outcome.DEFAULTED else set())
    return "" if expect.keys() - left else f"expects only {', '.join(expect)}, which policies cannot answer"


def compare(name: str, expect: Raw, told: Told, export: Export, owned: bool) -> CaseResult:
    """Compare what was told with what is expected; the object is `owned` if it has a controller."""
    comparison = _Comparison(expect, told, export, owned)
    notes = dict.fromkeys(comparison.notes())
    return CaseResult(name, comparison.expected(), comparison.found(), told=told.lines, notes=tuple(notes))


class _Comparison:
    """Both sides of a case, without what policies cannot tell."""

    def __init__(self, expect: Raw, told: Told, export: Export, owned: bool) -> None:
        self._expect, self._told, self._export = expect, told, export
        self._audited = owned and any(part.owned_objects != DENY for part in export.parts)
        self._wanted = frozenset(map(str, as_list(expect.get("rules"))))
        self._unchecked = self._wanted - CHECKS.keys()
        self._acts = {rule: {action for action in POLICY_NAMES if export.acting_in(rule, action)} for rule in CHECKS}
        self._untold = frozenset(rule for rule in self._wanted & CHECKS.keys() if not self._acts[rule])
        self._excused = {rule: why for rule in self._missing() if (why := self._excuse(rule))}

    def _missing(self) -> frozenset[str]:
        return self._wanted - self._unchecked - self._untold - self._told.rules

    def _excuse(self, rule: str) -> str:
        """Return why a rule that is expected may not be told, "" if it has to be."""
        acts = self._acts[rule]
        if self._told.outcome is Outcome.DENIED and DENY in acts:
            return FIRST_ONLY
        if AUDIT in acts or self._audited:
            return AUDITED
        said = {each.rule for each in acting_checks(self._export, WARN) if each.check.said_by_api_server}
        return SAID_ALREADY if self._told.other_warnings and rule in said else ""

    @property
    def _defaulted(self) -> bool:
        return self._expect.get("outcome") == Outcome.DEFAULTED or bool(self._expect.get("defaults"))

    @property
    def _outcome(self) -> str:
        """The outcome that policies have to tell, "" if it is not compared."""
        if "outcome" not in self._expect or self._expect["outcome"] == Outcome.DEFAULTED:
            return ""
        wanted, told = Outcome(str(self._expect["outcome"])), self._told.outcome
        if wanted == Outcome.WOULD_BE_DEFAULTED:
            wanted = Outcome.ALLOWED
        elif wanted == Outcome.WOULD_BE_DENIED:
            audits = any(part.enforcement == AUDIT for part in self._export.parts)
            wanted = Outcome.ALLOWED if audits and told is Outcome.ALLOWED else Outcome.WARNED
        rests_on_others = self._unchecked and wanted in STRICTNESS and told in STRICTNESS
        return "" if rests_on_others and STRICTNESS[told] < STRICTNESS[wanted] else str(wanted)

    @property
    def _rules(self) -> frozenset[str]:
        """The rules that policies have to tell."""
        return self._wanted - self._unchecked - self._untold - self._excused.keys()

    def expected(self) -> Raw:
        return self._limited(self._outcome, self._rules)

    def found(self) -> Raw:
        rules = {rule for rule in self._told.rules if not self._defaulted or RULES[rule].kept_by_defaults}
        return self._limited(str(self._told.outcome) if self._outcome else "", rules)

    def _limited(self, outcome: str, rules: frozenset[str] | set[str]) -> Raw:
        compared = "rules" in self._expect and not self._told.cut
        left_out = not rules and self._wanted and not self._rules  # nobody has written that there are none
        shown = {"rules": sorted(rules)} if compared and not left_out else {}
        return {**({"outcome": outcome} if outcome else {}), **shown}

    def notes(self) -> Iterator[str]:
        outcome = self._expect.get("outcome")
        yield from (DEFAULTS_LEFT for _ in self._expect.keys() & {"defaults"})
        yield from (WARNINGS_LEFT for _ in self._expect.keys() & {"warnings"})
        if outcome == Outcome.DEFAULTED:
            yield DEFAULTED_LEFT
        elif outcome and not self._outcome:
            yield MILDER
        elif outcome == Outcome.WOULD_BE_DENIED:
            yield WOULD_BE
        yield from (UNCHECKED.format(rule) for rule in sorted(self._unchecked))
        yield from (UNTOLD.format(rule) for rule in sorted(self._untold))
        yield from self._excused.values()
        yield from (CUT for _ in self._expect.keys() & {"rules"} if self._told.cut)
