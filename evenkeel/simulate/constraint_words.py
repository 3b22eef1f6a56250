"""A constraint in words: what it asks, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.placement.subject import FROM_POD, FROM_SCHEDULER, POLICY
from evenkeel.simulate.results import ConstraintResult
from webhook.findings.wording import number_of
from webhook.spread.constraint import HONOR, IGNORE, Constraint

SOURCES = {POLICY: "the default constraints of the policy", FROM_SCHEDULER: "kube-scheduler's own defaults"}
OF_NEWEST = "the constraints that evenkeel gave its newest Pod"


def constraint_words(constraint: Constraint | ConstraintResult) -> Iterator[str]:
    """Yield what a constraint asks, in a few words each."""
    yield f"constraint {constraint.index}"
    yield constraint.topology_key
    yield f"maxSkew {constraint.max_skew}"
    yield constraint.when_unsatisfiable
    if constraint.min_domains > 1:
        yield f"minDomains {constraint.min_domains}"
    if constraint.node_affinity_policy != HONOR:
        yield f"nodeAffinityPolicy {constraint.node_affinity_policy}"
    if constraint.node_taints_policy != IGNORE:
        yield f"nodeTaintsPolicy {constraint.node_taints_policy}"
    yield _selector_words(constraint)


def _selector_words(constraint: Constraint | ConstraintResult) -> str:
    return constraint.selector if isinstance(constraint.selector, str) else constraint.selector.in_words


def counts_none(running: str, constraint: Constraint | ConstraintResult, why: str = "") -> str:
    """Return that a constraint counts none of the running Pods, and why; by default because of its selector."""
    of_selector = "its selector is empty" if _selector_words(constraint) == "{}" else "its selector matches none"
    return f"{running}, and constraint {constraint.index} counts none: {why or of_selector}"


def too_few_domains(constraint: Constraint | ConstraintResult, eligible: int) -> Iterator[str]:
    """Yield that the minimum is 0, if there are fewer eligible domains than minDomains."""
    if constraint.hard and eligible < constraint.min_domains:
        too_few = f"{number_of(eligible, 'eligible domain')}, fewer than minDomains {constraint.min_domains}"
        yield f"{too_few if eligible else 'no domain counts'}: the minimum is 0"


def spreads_nothing(why: str) -> str:
    """Return that a constraint spreads nothing, and why."""
    return f"this constraint spreads nothing: {why}"


def unwritten(source: str, *, named: bool = True) -> Iterator[str]:
    """
    Yield where the constraints in force come from if not from the Pod itself.

    `named`: the user has named the policy.
    """
    if source != FROM_POD:
        yield (
            "It has no constraints of its own. In force: "
            f"{OF_NEWEST if source == POLICY and not named else SOURCES[source]}."
        )
