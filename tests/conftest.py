"""What every run says at its end: how many tests it did not run, and why."""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """One line per reason, or that there is none."""
    stats = terminalreporter.stats
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in stats.get("skipped", []))
    reasons["deselected"] += len(stats.get("deselected", []))
    lines = [f"{count} — {reason}" for reason, count in sorted(reasons.items()) if count]
    if terminalreporter.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        lines.append("tests/e2e — needs a control plane: make e2e")
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        lines.append("the rest — interrupted")
    for line in lines or ["nothing"]:
        terminalreporter.write_line(f"not run: {line}")
