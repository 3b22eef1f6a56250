"""Tests are collected without running what they test: a defect fails tests, and keeps none of them from being run."""

from __future__ import annotations

import subprocess
import sys

from tests.support import ROOT

RUN = """
from webhook.admission.review import review
from webhook.policy.parsing import built_in

BUILT_IN = built_in()
FOUND = review(None, None)
"""


def collected(*files):
    """The exit code, and the calls that were made meanwhile."""
    command = [sys.executable, "-m", "tests.house.collection", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith("calls ")], done.stdout


def test_every_test_is_collected_while_review_is_broken_and_nothing_of_the_code_is_called():
    code, calls, printed = collected()

    assert [] == calls
    assert 0 == code, printed


def test_what_runs_as_a_file_is_imported_is_named(tmp_path):
    file = tmp_path / "test_eager.py"
    file.write_text(RUN)
    code, calls, printed = collected(file)

    assert ["calls webhook/policy/parsing.py built_in"] == [call.partition(",")[0] for call in calls]
    assert (2, True) == (code, "RuntimeError: broken on purpose" in printed)
