"""
What every run says at its end: how many tests it did not run, and why.

Generated examples are the same in every run, few of them, and many with `--hypothesis-profile many`;
`FUZZ_EXAMPLES=20000 pytest` hunts longer, and elsewhere each time.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

EXAMPLES = os.environ.get("FUZZ_EXAMPLES")
# Time says nothing of what is tested: the machine may be busy.
TIMELESS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("few", max_examples=15, derandomize=True, database=None, **TIMELESS)
settings.register_profile("many", max_examples=150, derandomize=True, database=None, **TIMELESS)
settings.register_profile("hunt", max_examples=int(EXAMPLES or 1), database=None, **TIMELESS)
settings.load_profile("hunt" if EXAMPLES else "few")
for variable in ("FORCE_COLOR", "NO_COLOR"):  # What commands print is held without, also where CI sets one of them.
    os.environ.pop(variable, None)
BY_NAME = {
    Path(__file__).parent / "browser": "needs Chromium: make browser",
    Path(__file__).parent / "e2e": "needs a control plane: make e2e",
    Path(__file__).parent / "image": "needs root, buildah, podman and runc: make image-check",
    Path(__file__).parent / "release": "needs an index of packages: make release-check",
}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """One line per reason, or that there is none."""
    stats = terminalreporter.stats
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in stats.get("skipped", []))
    reasons["deselected"] += len(stats.get("deselected", []))
    lines = [f"{count} — {reason}" for reason, count in sorted(reasons.items()) if count]
    lines += [f"tests/{folder.name} — {reason}" for folder, reason in left_out(terminalreporter.config).items()]
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        lines.append("the rest — interrupted")
    for line in lines or ["nothing"]:
        terminalreporter.write_line(f"not run: {line}")


def left_out(config: pytest.Config) -> dict[Path, str]:
    """Of BY_NAME, which are run only where they are named, those that lie in a folder that was asked for."""
    asked = {Path(config.invocation_params.dir, argument.partition("::")[0]).resolve() for argument in config.args}
    return {folder: reason for folder, reason in BY_NAME.items() if not asked.isdisjoint(folder.parents)}
