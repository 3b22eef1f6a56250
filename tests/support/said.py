"""What a line that evenkeel says is about."""

from __future__ import annotations

import re

RULE = re.compile(r" \(evenkeel ([a-z-]+)\)(?:; .*)?$")
NOT_JUDGED = "evenkeel could not judge it"


def rule_in(line):
    """The rule that a warning or a line of a denial names; NOT_JUDGED if it says that."""
    found = RULE.search(line)
    return found[1] if found else line.split(": ")[1].removesuffix(", so it passes unjudged")
