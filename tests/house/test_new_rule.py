"""A new rule is one file: beside it there is only what `make docs` writes, and `make quick` passes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.support import ROOT

RULE = '''\
"""ample-domains: minDomains of more than ten."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Subject, rule


@rule(
    title="minDomains is more than 10",
    severity=Severity.WARNING,
    fix="lower minDomains to 10 or less",
    bad="minDomains: 11",
    good="minDomains: 3",
)
def ample_domains(subject: Subject) -> Iterator[Cause]:
    """Few clusters have more than ten zones."""
    for constraint in subject.constraints:
        if (constraint.min_domains or 0) > 10:
            found = str(constraint.min_domains)
            yield Cause(subject.at(constraint, "minDomains"), "should be 10 or less", found=found, wanted="10 or less")
'''
APART = shutil.ignore_patterns(".git", ".venv", ".hypothesis", ".*_cache", "__pycache__", "build", "*.egg-info")


# Coverage is of the tree itself.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


@pytest.mark.slow
def test_a_new_rule_is_one_file(tmp_path):
    """Made in a copy of the tree, with this Python and what is installed for it."""
    copy = shutil.copytree(ROOT, tmp_path / "evenkeel", ignore=APART)
    (copy / "webhook" / "rules" / "ample_domains.py").write_text(RULE, "utf-8")
    make = ["make", "--assume-old=.venv/test", f"PYTHON={sys.executable}"]
    pages = ["tests/house/test_documents.py", "tests/house/test_chart_values.py"]

    for command in ([*make, "docs"], [*make, "quick"], [sys.executable, "-m", "pytest", "-q", *pages]):
        done = subprocess.run(command, cwd=copy, env=ENVIRONMENT | {"PYTHONPATH": str(copy)}, capture_output=True)
        assert 0 == done.returncode, done.stdout.decode()
    assert "## ample-domains" in (copy / "docs" / "rules.md").read_text("utf-8")
