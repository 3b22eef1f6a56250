"""
What constraints and their matchLabelKeys are to be once every finding on an object is repaired.

A fix must not lead to the next finding, or to what the API server refuses.  So what a rule tells to write is compared
with the other constraints, and with what other rules tell to write there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from webhook.findings.finding import Edit, Severity
from webhook.findings.rule import Subject
from webhook.findings.wording import short_path
from webhook.kubernetes.labels import label_key_errors
from webhook.kubernetes.likeness import LONGEST_COMPARED, REPLACED, likely_meant, nearest
from webhook.kubernetes.names import HOSTNAME, REGION, TEMPLATE_HASH, ZONE
from webhook.spread.constraint import ACTIONS, HARD, SOFT, Constraint, WrittenConstraint

MOST_GUESSED = 20  # constraints, and matchLabelKeys of each, that are compared with the labels: that takes time
_MODES = {"hard-constraint": SOFT, "soft-constraint": HARD}  # Rules that forbid a mode, with the mode they ask for.


class Pair(NamedTuple):
    """What must differ between constraints: the API server accepts each pair once."""

    topology_key: str
    when_unsatisfiable: str


@dataclass(frozen=True)
class Repairs:
    """The repairs of all constraints of an object, worked out only where a rule asks for one."""

    subject: Subject

    @cached_property
    def pairs(self) -> Sequence[Pair | None]:
        """The pair that each constraint is to have; None if it is to be removed, because another has or gets it."""
        written = self.subject.reading.written
        candidates = [self._candidates(constraint) for constraint in written]
        before = [Pair(constraint.topology_key, constraint.when_unsatisfiable) for constraint in written]

        def least_changed_first(index: int) -> tuple[bool, bool, int]:
            possible, pair = candidates[index], before[index]
            # Of those that repeat a pair, the last keeps it: the API server reports all others.
            return possible != [pair], pair.topology_key not in [key for key, _ in possible], -index

        pairs: list[Pair | None] = [None] * len(written)
        taken: set[Pair] = set()
        for index in sorted(range(len(written)), key=least_changed_first):
            pairs[index] = next((pair for pair in candidates[index] if pair not in taken), None)
            if (pair := pairs[index]) is not None:
                taken.add(pair)
        return pairs

    @cached_property
    def _index_of(self) -> Mapping[Pair, int]:
        """The index of the constraint that is to have a pair."""
        return {pair: index for index, pair in enumerate(self.pairs) if pair is not None}

    def _candidates(self, written: WrittenConstraint) -> list[Pair]:
        return [Pair(key, mode) for key in self._keys(written.topology_key) for mode in self._modes(key, written)]

    def _keys(self, written: str) -> Sequence[str]:
        """Return the keys that a constraint may have whose key is `written`, the best first."""
        key = self.meant_key(written)
        if key and not self._forbids(key):
            return [key]
        if key and not self._allowed:
            return [key]  # Only its author knows another one.
        written_keys, node_keys = self.subject.reading.topology_keys, self.subject.nodes.label_keys
        keys = [allowed for allowed in self._allowed or (ZONE, HOSTNAME) if not self._forbids(allowed)]
        if not node_keys.isdisjoint(keys):
            keys = [allowed for allowed in keys if allowed in node_keys]
        # First those that the policy asks for and no constraint has.
        return sorted(keys, key=lambda allowed: not (self.asks_for(allowed) and allowed not in written_keys))

    def _modes(self, key: str, written: WrittenConstraint) -> Sequence[str]:
        required = self.required_mode(key)
        if required is not None:
            return [required]
        mode = written.when_unsatisfiable
        meant = mode if mode in ACTIONS else nearest(mode, ACTIONS)
        return ACTIONS if meant is None else [meant]

    def _is_free(self, constraint: Constraint, pair: Pair) -> bool:
        """Return whether no other constraint has this pair, or is to have it."""
        is_own = pair == Pair(constraint.topology_key, constraint.when_unsatisfiable)
        most = 1 if is_own else 0
        return self._index_of.get(pair, constraint.index) == constraint.index and self._pair_counts[pair] <= most

    @cached_property
    def _pair_counts(self) -> Counter[Pair]:
        """How many constraints have a pair, as they are written."""
        written = self.subject.reading.written
        return Counter(Pair(constraint.topology_key, constraint.when_unsatisfiable) for constraint in written)

    def meant_key(self, key: str) -> str:
        """Return the right topology key, as the rules on malformed, misspelt and deprecated keys tell it."""
        if key in self.subject.nodes.label_keys or len(key) > LONGEST_COMPARED:
            return key
        if key in REPLACED:
            return REPLACED[key] if self._runs("deprecated-topology-key") else key
        if label_key_errors(key):
            if not self._runs("malformed-topology-key"):
                return key
            stripped = key.strip()
            return likely_meant(key) or (key if label_key_errors(stripped) else stripped)
        return (likely_meant(key) or key) if self._runs("misspelt-topology-key") else key

    def required_mode(self, key: str) -> str | None:
        """Return the value of whenUnsatisfiable that the policy asks for; None if it leaves the choice for this key."""
        for rule, mode in _MODES.items():
            if self._runs(rule) and (not (keys := self._parameter(rule, "topologyKeys")) or key in keys):
                return mode
        return None

    def asks_for(self, key: str) -> bool:
        """Return whether the policy asks for a constraint with this key."""
        return self._runs("missing-constraints") and key in self._parameter("missing-constraints", "topologyKeys")

    def asks_for_min_domains(self, key: str) -> bool:
        """Return whether the policy asks for minDomains in a hard constraint with this key."""
        rule = "missing-min-domains"
        return self._runs(rule) and (not (keys := self._parameter(rule, "topologyKeys")) or key in keys)

    def is_needed(self, constraint: Constraint) -> bool:
        """Return whether the policy would miss a constraint that is removed."""
        if not self.asks_for_any or self._key_counts[constraint.topology_key] > 1:
            return False
        return len(self.subject.constraints) == 1 or self.asks_for(constraint.topology_key)

    @property
    def asks_for_any(self) -> bool:
        """Whether the policy asks for constraints."""
        return self._runs("missing-constraints")

    @cached_property
    def _key_counts(self) -> Counter[str]:
        return Counter(constraint.topology_key for constraint in self.subject.constraints)

    @cached_property
    def _allowed(self) -> Sequence[str]:
        rule = "forbidden-topology-key"
        return sorted(self._parameter(rule, "allowedTopologyKeys")) if self._runs(rule) else ()

    def _forbids(self, key: str) -> bool:
        rule = "forbidden-topology-key"
        if not self._runs(rule):
            return False
        return key in self._parameter(rule, "topologyKeys") or (bool(self._allowed) and key not in self._allowed)

    def _runs(self, rule: str) -> bool:
        setting = self.subject.settings.get(rule)
        return setting is not None and setting.severity is not Severity.IGNORE

    def _parameter(self, rule: str, name: str) -> frozenset[str]:
        value = self.subject.settings[rule].parameters.get(name)
        return frozenset(value) if isinstance(value, list) else frozenset()

    def of_key(self, constraint: Constraint) -> tuple[str | None, Edit | None]:
        """Return the fix that gives a constraint its right key, in words and, if nothing else changes, as an edit."""
        pair = self.pairs[constraint.index]
        if pair is None:
            return self.removal(constraint), None
        if self._forbids(pair.topology_key):
            return None, None
        changes = {"topologyKey": pair.topology_key}
        # Where the written key needs another mode, too, the rule on that says so.
        if constraint.when_unsatisfiable in ACTIONS and self.required_mode(constraint.topology_key) is None:
            changes |= {"whenUnsatisfiable": pair.when_unsatisfiable}
        return self._to_write(constraint, changes)

    def of_mode(self, constraint: Constraint) -> str:
        """Return the fix that gives a constraint the mode that the policy asks for."""
        pair, mode = self.pairs[constraint.index], self.required_mode(constraint.topology_key)
        if pair is None:
            return self.removal(constraint)
        return self._to_write(constraint, {"whenUnsatisfiable": mode or pair.when_unsatisfiable})[0]

    def _to_write(self, constraint: Constraint, changes: Mapping[str, str]) -> tuple[str, Edit | None]:
        """Return the fix that writes `changes`, in words and as an edit; the whole pair if they repeat another one."""
        before = {"topologyKey": constraint.topology_key, "whenUnsatisfiable": constraint.when_unsatisfiable}
        after = {**before, **changes}
        pair = self.pairs[constraint.index]
        if pair is not None and self._pair_counts[Pair(after["topologyKey"], after["whenUnsatisfiable"])]:
            changes = {"topologyKey": pair.topology_key, "whenUnsatisfiable": pair.when_unsatisfiable}
        changed = {name: value for name, value in changes.items() if value != before[name]}
        words = f"write {' and '.join(f'{name}: {value}' for name, value in changed.items())}"
        has_min_domains = self.subject.reading.written[constraint.index].min_domains is not None
        if has_min_domains and changed.get("whenUnsatisfiable") == SOFT:
            return f"{words}, and remove minDomains", None
        edits = [Edit(self.subject.at(constraint, name), value) for name, value in changed.items()]
        return words, edits[0] if len(edits) == 1 else None

    def removal(self, constraint: Constraint) -> str:
        """Return the fix that removes a constraint: another one has its pair, or the policy allows no key."""
        keys = self._keys(constraint.topology_key)
        return f"remove the constraint: there is already one for {keys[0]}" if keys else "remove the constraint"

    def domain_keys(self, constraint: Constraint) -> Sequence[str]:
        """Return the well-known keys that divide the nodes into domains, and that a constraint of its mode may have."""
        mode, domains = constraint.when_unsatisfiable, self.subject.nodes.domains
        return [
            key
            for key in (HOSTNAME, ZONE, REGION)
            if len(domains(key)) > 1
            and not self._forbids(key)
            and self.required_mode(key) in (None, mode)
            and self._is_free(constraint, Pair(key, mode))
        ]

    def of_forbidden_key(self, constraint: Constraint) -> str | None:
        """Return the fix of a constraint whose key is none of those that the policy allows."""
        keys = self._other_keys(constraint)
        if not keys:
            return self.of_key(constraint)[0]
        return f"use one of {', '.join(keys)}" if len(keys) > 1 else f"use {keys[0]}"

    def of_absent_key(self, constraint: Constraint) -> str:
        """Return the fix of a constraint without a key."""
        keys = self._other_keys(constraint)
        if keys:
            return f"set it to {' or '.join(keys[:2])}"
        return self.of_key(constraint)[0] or "set it to a node label key"

    def _other_keys(self, constraint: Constraint) -> Sequence[str]:
        """Return the keys that a constraint may have with its mode, that of its pair first; none if that is taken."""
        mode, pair = constraint.when_unsatisfiable, self.pairs[constraint.index]
        keys = [key for key in self._keys(constraint.topology_key) if self.required_mode(key) in (None, mode)]
        keys = [key for key in keys if self._is_free(constraint, Pair(key, mode))]
        if pair is None or pair.topology_key not in keys:
            return []
        return [pair.topology_key, *[key for key in keys if key != pair.topology_key]]

    def of_invalid_mode(self, constraint: Constraint) -> tuple[str, Edit | None]:
        """Return the fix of a constraint whose mode does not exist, in words and as an edit."""
        pair, written = self.pairs[constraint.index], self.subject.reading.written[constraint.index]
        if pair is None:
            return self.removal(constraint), None
        key, meant = pair.topology_key, nearest(written.when_unsatisfiable, ACTIONS)
        keys = (key, constraint.topology_key)
        modes = [mode for mode in self._modes(key, written) if self._are_free(constraint, keys, mode)]
        if written.min_domains is not None and HARD in modes:
            modes = [HARD]
        if modes == [meant] and not (meant == SOFT and written.min_domains is not None):
            return f"write {meant}", Edit(self.subject.at(constraint, "whenUnsatisfiable"), meant)
        if modes == [SOFT] and written.min_domains is not None:
            return "set it to ScheduleAnyway, and remove minDomains", None
        if not modes:
            return self._to_write(constraint, {"whenUnsatisfiable": pair.when_unsatisfiable})
        return f"set it to {' or '.join(modes)}", None

    def of_min_domains(self, constraint: Constraint, usual: str) -> str:
        """Return the fix of minDomains that the API server refuses: `usual` if the constraint may be hard."""
        pair = self.pairs[constraint.index]
        keys = {constraint.topology_key} | ({pair.topology_key} if pair is not None else set())
        may_be_hard = all(self.required_mode(key) in (None, HARD) for key in keys)
        return usual if may_be_hard and self._are_free(constraint, keys, HARD) else "remove minDomains"

    def _are_free(self, constraint: Constraint, keys: Iterable[str], mode: str) -> bool:
        return all(self._is_free(constraint, Pair(key, mode)) for key in keys)

    def of_missing_key(self, topology_key: str) -> str:
        """Return the fix that gives an existing constraint a key that it is to have; "" if none is to have it."""
        for constraint in self.subject.constraints:
            pair = self.pairs[constraint.index]
            if pair is not None and pair.topology_key == topology_key:
                return f"{self.of_key(constraint)[0]} in {short_path(self.subject.at(constraint))}"
        return ""

    def label_keys(self, constraint: Constraint) -> Sequence[str]:
        """Return what each of the matchLabelKeys is to be, "" if it is to be removed."""
        keys = self._label_keys.get(constraint.index)
        if keys is None:
            keys = self._label_keys[constraint.index] = self._right_label_keys(constraint)
        return keys

    @cached_property
    def _label_keys(self) -> dict[int, Sequence[str]]:
        """What `label_keys` has worked out, by the index of the constraint."""
        return {}

    def _right_label_keys(self, constraint: Constraint) -> Sequence[str]:
        subject, written = self.subject, constraint.match_label_keys
        right = [key if key in subject.carries else "" for key in written]
        # The API server refuses a key twice, or also in the labelSelector.
        used = set(constraint.label_selector.keys) if constraint.label_selector is not None else set[str]()
        for i, key in enumerate(right):
            if key in used:
                right[i] = ""
            elif key:
                used.add(key)
        used |= subject.own_selector.keys()  # All of its Pods have the same values of these.
        for i, key in enumerate(written):
            if key not in subject.carries:
                guessed = constraint.index < MOST_GUESSED and i < MOST_GUESSED
                meant = nearest(key, self._spreading) if guessed else None
                candidates = [self.revision_key] if meant is None or key == TEMPLATE_HASH else [meant]
                if not subject.workload.labels_known:
                    candidates = [key.strip()]
                right[i] = next((candidate for candidate in candidates if candidate and candidate not in used), "")
                used.add(right[i])
        return right

    @cached_property
    def _spreading(self) -> frozenset[str]:
        """The label keys that may divide its Pods into groups; of its controller's, only that of the revision."""
        workload = self.subject.workload
        revision = {self.revision_key} if self.revision_key else set[str]()
        return frozenset(islice(workload.labels.keys() - workload.kind.addable, MOST_GUESSED)) | revision

    @property
    def revision_key(self) -> str | None:
        """The label key that differs between the revisions of the workload, if its Pods carry one."""
        key = self.subject.workload.kind.revision_key
        return key if key in self.subject.carries else None
