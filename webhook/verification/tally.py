"""How many decisions agree with what is computed, by what took part in them, and how much that is worth."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from webhook.verification.computation import PARTS
from webhook.verification.judgement import AGREES, DIFFERS, Judged


@dataclass
class PartTally:
    """
    Decisions that were compared.

    `chosen` are those in which a node was chosen, and it is known how many others would have been called wrong: the sum
    of these shares is `power`; it is 0 in those that are `powerless`.
    """

    agree: int = 0
    differ: int = 0
    chosen: int = 0
    power: float = 0.0
    powerless: int = 0

    @property
    def compared(self) -> int:
        return self.agree + self.differ

    @property
    def mean_power(self) -> float | None:
        """The mean power of the decisions in which a node was chosen, None if there is none."""
        return self.power / self.chosen if self.chosen else None

    def add(self, judged: Judged) -> None:
        """Count a decision that was compared."""
        self.agree += judged.verdict == AGREES
        self.differ += judged.verdict == DIFFERS
        if judged.power is not None:
            self.chosen += 1
            self.power += judged.power
            self.powerless += judged.power == 0


@dataclass
class Tally:
    """
    All decisions so far: those in which a node was chosen are `placed`, those in which none was are `refused`, and all
    are counted by what took part in `parts`.

    `in_other_states` agree in another state than the first.  Of those where only some of the nodes were scored,
    `scored` is the number, and `win` is that of those whose node has the best score in a window.  `not_compared` counts
    the others by the reason, and `skipped` those for which there was no time.
    """

    every: PartTally = field(default_factory=PartTally)
    placed: PartTally = field(default_factory=PartTally)
    refused: PartTally = field(default_factory=PartTally)
    parts: dict[str, PartTally] = field(default_factory=lambda: {part: PartTally() for part in PARTS})
    not_compared: Counter[str] = field(default_factory=Counter)
    in_other_states: int = 0
    scored: int = 0
    win: int = 0
    skipped: int = 0

    def add(self, judged: Judged) -> None:
        """Count a decision."""
        if not judged.is_compared:
            self.not_compared[judged.verdict] += 1
            return
        self.in_other_states += judged.verdict == AGREES and judged.states > 1
        if judged.wins is not None:
            self.scored += 1
            self.win += judged.wins
        of_kind = self.placed if judged.decision.node else self.refused
        for counted in (self.every, of_kind, *[self.parts[part] for part in judged.parts]):
            counted.add(judged)
