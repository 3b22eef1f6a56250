"""
What every run says at its end: how many tests it did not run, and why.

Generated examples are the same in every run; `FUZZ_EXAMPLES=20000 pytest` hunts longer, and elsewhere each time.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

EXAMPLES = os.environ.get("FUZZ_EXAMPLES")
settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.register_profile("hunt", max_examples=int(EXAMPLES or 1), database=None, deadline=None)
settings.load_profile("hunt" if EXAMPLES else "steady")
E2E = Path(__file__).parent / "e2e"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """One line per reason, or that there is none."""
    stats = terminalreporter.stats
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in stats.get("skipped", []))
    reasons["deselected"] += len(stats.get("deselected", []))
    lines = [f"{count} — {reason}" for reason, count in sorted(reasons.items()) if count]
    if leaves_out_e2e(terminalreporter.config):
        lines.append("tests/e2e — needs a control plane: make e2e")
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        lines.append("the rest — interrupted")
    for line in lines or ["nothing"]:
        terminalreporter.write_line(f"not run: {line}")


def leaves_out_e2e(config: pytest.Config) -> bool:
    """Whether a folder was asked for that E2E lies in; that one is run only where it is named."""
    asked = {Path(config.invocation_params.dir, argument.partition("::")[0]).resolve() for argument in config.args}
    return not asked.isdisjoint(E2E.parents)
