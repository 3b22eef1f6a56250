"""Errors and notes on standard error, and nowhere else."""

from __future__ import annotations

import sys

import pytest

from webhook.cli.main import main
from webhook.cli.usage import UsageError, print_error, print_notes


def test_without_standard_error_nothing_is_printed(capsys, monkeypatch):
    """Not on standard output, which may be piped into kubectl."""
    monkeypatch.setattr(sys, "stderr", None)
    print_error(UsageError("a"))
    print_notes(["b"])

    assert "" == capsys.readouterr().out


@pytest.mark.parametrize("words", [["x\ny"], ["lint", "--fail-on", "x\ny"], ["rules", "x\ny"]])
def test_a_word_forges_no_line(capsys, words):
    try:
        code = main(words)
    except SystemExit as ended:  # by argparse
        code = ended.code

    assert (2, 1) == (code, capsys.readouterr().err.count("\n"))
