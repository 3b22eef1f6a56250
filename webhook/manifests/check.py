"""
What a rule is in CEL: a list of what is wrong in an object, and what is said of an item of it.

    policies/<rule>.py: checks(CelObject) ──> CelCheck ──rule_variables──> variables, validations
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webhook.manifests.cel import bound, in_order
from webhook.manifests.constraint_list import KEYS_TO_MATCH
from webhook.objects.kinds import Kind
from webhook.scheduler.constraint import HARD, SOFT
from webhook.scheduler.features import Features

KEYS, REVISION_KEY = "matchLabelKeys[]", "matchLabelKeys[pod-template-hash]"  # fields of a constraint, too
IS_HARD = f"c.whenUnsatisfiable == '{HARD}' ? 1 : 0"  # the extent of what is worse in a hard constraint
LONGEST_KEY = 253 + 1 + 63  # of a label; more of a key is not told
_MOST_LABELS = 1_000  # The time that `map` takes of a map grows with the square of its size, to seconds for 60,000.


class CelCheck(NamedTuple):
    """
    One field on which a rule reports, all in CEL.

    `items` is the list of what is wrong: constraints, or texts where `whole` says that it is all constraints together.
    The other expressions are about one item, by the name `c`.  `place` is the end of the path where it is not `field`
    alone.  `named`: the message names the value that was found, which is not told again then.
    `said_by_api_server` is a condition: the API server itself warns of such an item, and nobody is warned twice.
    """

    field: str
    items: str
    message: str
    found: str
    fix: str
    extent: str = "0"
    place: str = ""
    whole: bool = False
    named: bool = False
    said_by_api_server: str = ""


class CelObject(NamedTuple):
    """
    The names of what a check looks at, in the object or in the old one; the names of variables end in `suffix`.

    `parameters` are those of the rule, by the parts of the policy: the policy itself, then its overrides.
    """

    rule: str
    suffix: str
    parameters: Sequence[Mapping[str, object]]
    kinds: Sequence[Kind]
    features: Features

    @property
    def root(self) -> str:
        return "dyn(oldObject)" if self.suffix else "dyn(object)"

    def variable(self, name: str) -> str:
        """Return CEL for a variable of the object."""
        return f"variables.{name}{self.suffix}"

    @property
    def labels(self) -> str:
        """CEL for the labels of its Pods, a map."""
        return self.variable("labels")

    @property
    def first_label_keys(self) -> str:
        """CEL for the keys of the first ten labels; none of a Pod that has more than anybody writes."""
        return in_order(f"{self.labels}.size() > {_MOST_LABELS} ? [] : {self.labels}.map(n, n)", 10)

    @property
    def added(self) -> str:
        """CEL for the keys of labels that its controller adds, or may add, a list."""
        return self.variable("added")

    @property
    def constraints(self) -> str:
        return self.variable("constraints")

    def constraints_where(self, condition: str) -> str:
        """Return CEL for the constraints, by the name `c`, of which the condition holds."""
        return f"{self.constraints}.filter(c, {condition})"

    def constraints_for_keys(self, condition: str) -> str:
        """Return CEL for the constraints, by the name `c`, once for each key `k` with the condition."""
        keys = f"{KEYS_TO_MATCH}.filter(k, {condition})"
        return f"{self.constraints}.map(c, {keys}.map(k, c)).flatten()"

    def parameter(self, name: str) -> str:
        """Return CEL for a parameter of the rule."""
        return self.in_part(parameter_variable(self.rule, name))

    def in_part(self, name: str) -> str:
        """Return CEL for a value of the policy, in the part that is in force."""
        return f"variables.{name}" if len(self.parameters) == 1 else f"variables.{name}[{self.variable('part')}]"


def parameter_variable(rule: str, name: str) -> str:
    """Return the name of the variable that holds a parameter of a rule, or its values by the parts of the policy."""
    return f"{rule.replace('-', '_')}_{name}"


def concerns(obj: CelObject) -> str:
    """Return CEL for: the rule applies to the topology key of `c`, because it is listed or none is."""
    keys = obj.parameter("topologyKeys")
    return f"({keys}.size() == 0 || c.topologyKey in {keys})"


def unwanted_action(obj: CelObject, action: str, wanted: str) -> CelCheck:
    """Return the check that whenUnsatisfiable is not `action`, because a platform team wants the other one."""
    removed = "has(c.minDomains) ? ', and remove minDomains' : ''" if wanted == SOFT else "''"
    return CelCheck(
        field="whenUnsatisfiable",
        items=obj.constraints_where(f"c.whenUnsatisfiable == '{action}' && {concerns(obj)}"),
        message=f"'must be {wanted} by this cluster\\'s policy'",
        found=f"'{action}'",
        fix=f"'write whenUnsatisfiable: {wanted}' + ({removed})",
    )


def copying_own_selector(rule_fix: str) -> str:
    """Return CEL for the fix that writes the workload's own selector into `c`; see Subject.copy_own_selector."""
    usable = "variables.own_selector.size() > 0"
    disjoint = f"!{KEYS_TO_MATCH}.exists(k, k in variables.own_selector)"
    written = "'write labelSelector: {matchLabels: ' + variables.own_selector_in_yaml + '}'"
    return f"{usable} && {disjoint} ? {written} : '{rule_fix}'"


def first_where(items: str, condition: str) -> str:
    """Return CEL for the first item, by the name `k`, of which the condition holds."""
    return bound(f"{items}.filter(k, {condition})", "f", "f[0]")
