"""
What constraints and their matchLabelKeys are to be once every finding on an object is repaired.

One fix must not lead into the next finding, or into what the API server refuses: whatever a rule tells to write is
held against what stands beside it, and against what other rules tell to write there.
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
from webhook.kubernetes.likeness import LONGEST_COMPARED, likely_meant, nearest
from webhook.kubernetes.names import HOSTNAME, TEMPLATE_HASH, ZONE
from webhook.spread.constraint import ACTIONS, HARD, SOFT, Constraint, WrittenConstraint

MOST_GUESSED = 20  # constraints, and matchLabelKeys of each, that are held against the labels
_MODES = {"hard-constraint": SOFT, "soft-constraint": HARD}  # The rules that forbid a mode, and the one they ask for.


class Pair(NamedTuple):
    """What the API server accepts in one constraint only."""

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
        candidates = [self._candidates(one) for one in written]
        before = [Pair(one.topology_key, one.when_unsatisfiable) for one in written]

        def changes(index: int) -> tuple[bool, bool, int]:
            pairs, pair = candidates[index], before[index]
            # Of those that repeat a pair the API server reports all but the last.
            return pairs != [pair], pair.topology_key not in [key for key, _ in pairs], -index

        pairs: list[Pair | None] = [None] * len(written)
        taken: set[Pair] = set()
        for index in sorted(range(len(written)), key=changes):
            pairs[index] = next((pair for pair in candidates[index] if pair not in taken), None)
            if (pair := pairs[index]) is not None:
                taken.add(pair)
        return pairs

    @cached_property
    def _index_of(self) -> Mapping[Pair, int]:
        """The constraint that is to have a pair."""
        return {pair: index for index, pair in enumerate(self.pairs) if pair is not None}

    def _candidates(self, written: WrittenConstraint) -> list[Pair]:
        return [Pair(key, mode) for key in self._keys(written.topology_key) for mode in self._modes(key, written)]

    def _keys(self, written: str) -> Sequence[str]:
        """Return the keys that a constraint with this one may have, the best first."""
        key = self.meant_key(written)
        if key and not self._forbids(key):
            return [key]
        if key and not self._allowed:
            return [key]  # Only its author knows another one.
        have, carried = self.subject.reading.topology_keys, self.subject.nodes.label_keys
        keys = [allowed for allowed in self._allowed or (ZONE, HOSTNAME) if not self._forbids(allowed)]
        if not carried.isdisjoint(keys):
            keys = [allowed for allowed in keys if allowed in carried]
        return sorted(keys, key=lambda allowed: not (self.asks_for(allowed) and allowed not in have))

    def _modes(self, key: str, written: WrittenConstraint) -> Sequence[str]:
        if (mode := self.required_mode(key)) is not None:
            return [mode]
        mode = written.when_unsatisfiable
        meant = mode if mode in ACTIONS else nearest(mode, ACTIONS)
        return ACTIONS if meant is None else [meant]

    def _is_free(self, constraint: Constraint, pair: Pair) -> bool:
        """Return whether no other constraint has this pair, or is to have it."""
        own = pair == Pair(constraint.topology_key, constraint.when_unsatisfiable)
        return self._index_of.get(pair, constraint.index) == constraint.index and self._there[pair] <= own

    @cached_property
    def _there(self) -> Counter[Pair]:
        return Counter(Pair(one.topology_key, one.when_unsatisfiable) for one in self.subject.reading.written)

    def meant_key(self, key: str) -> str:
        """Return the topology key that was meant, as the rules on malformed and misspelt ones have it."""
        if key in self.subject.nodes.label_keys or len(key) > LONGEST_COMPARED:
            return key
        stripped = key.strip()
        if label_key_errors(key):
            right = likely_meant(key) or (key if label_key_errors(stripped) else stripped)
            return right if self._runs("malformed-topology-key") else key
        return (likely_meant(key) or key) if self._runs("misspelt-topology-key") else key

    def required_mode(self, key: str) -> str | None:
        """Return the value of whenUnsatisfiable that the policy asks for; None if it leaves the choice."""
        for rule, mode in _MODES.items():
            if self._runs(rule) and (not (keys := self._parameter(rule, "topologyKeys")) or key in keys):
                return mode
        return None

    def asks_for(self, key: str) -> bool:
        """Return whether the policy asks for a constraint with this key."""
        return self._runs("missing-constraints") and key in self._parameter("missing-constraints", "topologyKeys")

    def is_needed(self, constraint: Constraint) -> bool:
        """Return whether the policy would miss a constraint that is removed."""
        if not self.asks_for_any or self._keys_there[constraint.topology_key] > 1:
            return False
        return len(self.subject.constraints) == 1 or self.asks_for(constraint.topology_key)

    @property
    def asks_for_any(self) -> bool:
        """Whether the policy asks for constraints."""
        return self._runs("missing-constraints")

    @cached_property
    def _keys_there(self) -> Counter[str]:
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
        return self._written(constraint, changes)

    def of_mode(self, constraint: Constraint) -> str:
        """Return the fix that gives a constraint the mode that the policy asks for."""
        pair, mode = self.pairs[constraint.index], self.required_mode(constraint.topology_key)
        if pair is None:
            return self.removal(constraint)
        return self._written(constraint, {"whenUnsatisfiable": mode or pair.when_unsatisfiable})[0]

    def _written(self, constraint: Constraint, changes: Mapping[str, str]) -> tuple[str, Edit | None]:
        before = {"topologyKey": constraint.topology_key, "whenUnsatisfiable": constraint.when_unsatisfiable}
        pair = self.pairs[constraint.index]
        if pair is not None and self._there[Pair(*{**before, **changes}.values())]:
            changes = dict(zip(before, pair, strict=True))
        changed = {name: value for name, value in changes.items() if value != before[name]}
        words = f"write {' and '.join(f'{name}: {value}' for name, value in changed.items())}"
        has_min_domains = self.subject.reading.written[constraint.index].min_domains is not None
        if has_min_domains and changed.get("whenUnsatisfiable") == SOFT:
            return f"{words}, and remove minDomains", None
        edits = [Edit(self.subject.at(constraint, name), value) for name, value in changed.items()]
        return words, edits[0] if len(edits) == 1 else None

    def removal(self, constraint: Constraint) -> str:
        """Return the fix of a constraint whose place another one has, or of any where the policy allows no key."""
        keys = self._keys(constraint.topology_key)
        return f"remove the constraint: there is already one for {keys[0]}" if keys else "remove the constraint"

    def of_forbidden_key(self, constraint: Constraint) -> str | None:
        """Return the fix of a constraint whose key is none of those that the policy allows."""
        keys = self._other_keys(constraint)
        if not keys:
            return self.of_key(constraint)[0]
        return f"use one of {', '.join(keys)}" if len(keys) > 1 else f"use {keys[0]}"

    def of_absent_key(self, constraint: Constraint) -> str:
        """Return the fix of a constraint without a key."""
        keys = self._other_keys(constraint)
        return (
            f"set it to {' or '.join(keys[:2])}" if keys else self.of_key(constraint)[0] or "set it to a node label key"
        )

    def _other_keys(self, constraint: Constraint) -> Sequence[str]:
        """Return the keys that a constraint may have with its mode, the one that it is to have first, or none."""
        mode, pair = constraint.when_unsatisfiable, self.pairs[constraint.index]
        keys = [key for key in self._keys(constraint.topology_key) if self.required_mode(key) in (None, mode)]
        keys = [key for key in keys if self._is_free(constraint, Pair(key, mode))]
        if pair is None or pair.topology_key not in keys:
            return []
        return [pair.topology_key, *[key for key in keys if key != pair.topology_key]]

    def of_invalid_mode(self, constraint: Constraint) -> tuple[str, Edit | None]:
        """Return the fix of a constraint with a mode that there is not, in words and as an edit."""
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
            return self._written(constraint, {"whenUnsatisfiable": pair.when_unsatisfiable})
        return f"set it to {' or '.join(modes)}", None

    def of_min_domains(self, constraint: Constraint, usual: str) -> str:
        """Return the fix of minDomains that the API server refuses, the `usual` one if the constraint may be hard."""
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
        """What is worked out already, by the index of the constraint."""
        return {}

    def _right_label_keys(self, constraint: Constraint) -> Sequence[str]:
        subject, written = self.subject, constraint.match_label_keys
        right = [key if key in subject.carries else "" for key in written]
        used = set(constraint.label_selector.keys) if constraint.label_selector is not None else set[str]()
        for i, key in enumerate(right):
            if key in used:
                right[i] = ""
            elif key:
                used.add(key)
        used |= subject.own_selector.keys()  # All of its Pods have these.
        for i, key in enumerate(written):
            if key not in subject.carries:
                guessed = constraint.index < MOST_GUESSED and i < MOST_GUESSED
                meant = nearest(key, self._spreading) if guessed else None
                candidates = [self.revision_key] if meant is None or key == TEMPLATE_HASH else [meant]
                if not subject.workload.labels_known:
                    candidates = [key.strip()]
                right[i] = next((one for one in candidates if one is not None and one not in used), "")
                used.add(right[i])
        return right

    @cached_property
    def _spreading(self) -> frozenset[str]:
        """The label keys of its Pods by which a constraint can tell them apart, other than each from each."""
        workload = self.subject.workload
        revision = {self.revision_key} if self.revision_key else set[str]()
        return frozenset(islice(workload.labels.keys() - workload.kind.addable, MOST_GUESSED)) | revision

    @property
    def revision_key(self) -> str | None:
        """The label key that differs between the revisions of the workload, if its Pods carry one."""
        key = self.subject.workload.kind.revision_key
        return key if key in self.subject.carries else None
