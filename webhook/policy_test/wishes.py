"""What is wanted of a policy, and the options of `evenkeel policy init` that say it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from webhook.findings.finding import Severity
from webhook.findings.rule import LARGEST_NUMBER
from webhook.loading.usage import UsageError
from webhook.objects.labels import Labels, label_key_errors
from webhook.objects.likeness import likely_meant
from webhook.objects.names import NAMESPACE_NAME, SKIP_LABEL, SYSTEM_NAMESPACES, ZONE
from webhook.objects.reading import brief
from webhook.objects.times import days_at
from webhook.policy.policy import AUDIT, WARN
from webhook.policy.schema import CONTACT_LIMIT, ENFORCEMENTS
from webhook.rules import RULES
from webhook.rules.missing_constraints import MISSING
from webhook.scheduler.constraint import ACTIONS, HARD, SOFT
from webhook.scheduler.selector_text import parse_selector
from webhook.scheduler.selectors import EQUALS, selecting

REQUIRED_BY = {HARD: "soft-constraint", SOFT: "hard-constraint"}  # The rule that finds the other action.
# The rules that deny only if a policy says so, and that need no more than that.
DENIABLE = tuple(
    rule.id
    for rule in RULES.values()
    if Severity.ERROR in rule.severities and rule.severity is not Severity.ERROR and not rule.required
    if rule.id not in (MISSING, *REQUIRED_BY.values())
)
USUAL_REPLICAS = int(str(RULES[MISSING].parameters["minReplicas"]["default"]))
WITHOUT_DEFAULTS = "none"
REQUIRING = ("--require", "--when-unsatisfiable", "--deny")
# Options that say more of others, of which one must be given, too.
COMPANIONS = (
    ("--min-replicas", ("--require",)),
    ("--namespace-selector", REQUIRING),
    ("--exempt", REQUIRING),
    ("--exempt", ("--until",)),
    ("--until", ("--exempt",)),
)


class Wishes(NamedTuple):
    """
    What is wanted of a policy, in the namespaces with the labels `selected`, and until a day not in those `exempt`.

    Workloads with `min_replicas` or more must have a constraint for each of the `topology_keys`; the constraints for
    these keys, or for all if there are none, must have the `action`; the rules `denied` are errors.  `defaults` are the
    topology keys of the default constraints, or None for the built-in ones.  Warnings say the day `deny_from` and the
    `contact`.
    """

    topology_keys: tuple[str, ...]
    min_replicas: int
    action: str
    denied: tuple[str, ...]
    selected: Labels
    exempt: Labels
    until: str
    defaults: tuple[str, ...] | None
    enforcement: str
    deny_from: str
    contact: str

    @property
    def after(self) -> str:
        """The first day on which no namespace is exempt."""
        return str(date.fromisoformat(self.until) + timedelta(days=1))


def add_wish_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--require", metavar="KEY", action="append", help="a topology key that needs a constraint; repeatable"
    )
    parser.add_argument(
        "--min-replicas",
        metavar="N",
        type=int,
        help=f"--require applies to workloads with N replicas or more (default: {USUAL_REPLICAS})",
    )
    parser.add_argument(
        "--when-unsatisfiable",
        choices=ACTIONS,
        help="what the constraints for the keys of --require must have; without --require, all constraints",
    )
    parser.add_argument(
        "--deny",
        metavar="ID",
        choices=DENIABLE,
        action="append",
        help=f"a rule to make an error; repeatable: {', '.join(DENIABLE)}",
    )
    parser.add_argument(
        "--namespace-selector",
        metavar="KEY=VALUE,…",
        help="the labels of the namespaces to which --require, --when-unsatisfiable and --deny apply (default: all)",
    )
    parser.add_argument(
        "--exempt",
        metavar="KEY=VALUE,…",
        help="the labels of namespaces in which --require, --when-unsatisfiable and --deny only warn, until --until",
    )
    parser.add_argument("--until", metavar="DAY", help="the last day of --exempt, in UTC, such as 2027-06-30")
    parser.add_argument(
        "--default-constraints",
        metavar=f"KEY,…|{WITHOUT_DEFAULTS}",
        help="the topology keys of the default constraints, which are soft (default: the built-in constraints)",
    )
    parser.add_argument(
        "--enforcement", choices=ENFORCEMENTS, default=WARN, help="what errors do (default: %(default)s)"
    )
    parser.add_argument(
        "--deny-from",
        metavar="DAY",
        help="the day from which errors deny, as the warnings say it; only with --enforcement Warn",
    )
    parser.add_argument("--contact", metavar="TEXT", help="whom the warnings say to ask, such as platform@example.com")


def wishes_of(args: argparse.Namespace) -> Wishes:
    """Return what the options say; UsageError if one is wrong, or does not go with another."""
    given = {f"--{name.replace('_', '-')}" for name, value in vars(args).items() if value is not None}
    for option, others in COMPANIONS:
        if option in given and given.isdisjoint(others):
            fix = f"add {'one' if others[1:] else 'it'}, or leave {option} out"
            raise UsageError(f"{option}: found no {' or '.join(others)}; {fix}")
    if args.enforcement != WARN:
        fault = f"found --enforcement {args.enforcement}, wanted {WARN}"
        if "--deny-from" in given:
            raise UsageError(f"--deny-from: {fault}; leave --deny-from out")
        if "--contact" in given and args.enforcement == AUDIT:
            raise UsageError(f"--contact: found --enforcement {AUDIT}, under which nothing warns; leave --contact out")
        if "--contact" in given and "--exempt" not in given:
            fault = f"found --enforcement {args.enforcement} without --exempt"
            raise UsageError(f"--contact: {fault}; set --enforcement {WARN}, add --exempt, or leave --contact out")
    selected, exempt = _labels("--namespace-selector", args.namespace_selector), _labels("--exempt", args.exempt)
    _check_exempt(selected, exempt)
    return Wishes(
        topology_keys=_keys("--require", args.require or ()),
        min_replicas=_replicas(args.min_replicas),
        action=args.when_unsatisfiable or "",
        denied=tuple(dict.fromkeys(args.deny or ())),
        selected=selected,
        exempt=exempt,
        until=_day("--until", args.until),
        defaults=_defaults(args.default_constraints),
        enforcement=args.enforcement,
        deny_from=_day("--deny-from", args.deny_from),
        contact=_contact(args.contact),
    )


def _keys(option: str, keys: Sequence[str]) -> tuple[str, ...]:
    for key in keys:
        if label_key_errors(key) or likely_meant(key):
            raise UsageError(f"{option}: found {brief(key)}, wanted a topology key such as {likely_meant(key) or ZONE}")
    return tuple(dict.fromkeys(keys))


def _replicas(number: int | None) -> int:
    if number is not None and not 1 <= number <= LARGEST_NUMBER:
        raise UsageError(f"--min-replicas: found {number}, wanted 1 to {LARGEST_NUMBER}")
    return USUAL_REPLICAS if number is None else number


def _defaults(text: str | None) -> tuple[str, ...] | None:
    if text in (None, WITHOUT_DEFAULTS):
        return None if text is None else ()
    return _keys("--default-constraints", text.split(","))


def _labels(option: str, text: str | None) -> Labels:
    if text is None:
        return {}
    try:
        requirements = parse_selector(text).requirements
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
    labels = {key: values[0] for key, operator, values in requirements if operator == EQUALS}
    if not labels or len(labels) < len(requirements):
        raise UsageError(f"{option}: found {brief(text)}, wanted KEY=VALUE,…; write other selectors into the policy")
    if labels.get(SKIP_LABEL) == "true" or labels.get(NAMESPACE_NAME) in SYSTEM_NAMESPACES:
        raise UsageError(
            f"{option}: found {brief(text)}, wanted namespaces in which evenkeel judges; give other labels"
        )
    return labels


def _check_exempt(selected: Labels, exempt: Labels) -> None:
    """Raise UsageError if no namespace that is selected can be exempt, or all are."""
    both = f"--exempt: found {selecting(exempt)} with --namespace-selector {selecting(selected)}"
    if any(exempt.get(key, value) != value for key, value in selected.items()):
        raise UsageError(f"{both}: no namespace can have all of these labels; give labels that fit together")
    if exempt and (NAMESPACE_NAME in selected or exempt.items() <= selected.items()):
        raise UsageError(
            f"{both}: this exempts all of these namespaces, or none; give labels that only some of them have"
        )


def _day(option: str, text: str | None) -> str:
    if text is None:
        return ""
    if days_at(text) is None or not "0001" <= text < "9999-12-31":
        raise UsageError(f"{option}: found {brief(text)}, wanted a day such as 2027-06-30")
    return text


def _contact(text: str | None) -> str:
    if text is not None and not (text.isprintable() and 1 <= len(text) <= CONTACT_LIMIT):
        wanted = f"1 to {CONTACT_LIMIT} characters that can be printed"
        raise UsageError(f"--contact: found {brief(text)}, wanted {wanted}, such as platform@example.com")
    return text or ""
