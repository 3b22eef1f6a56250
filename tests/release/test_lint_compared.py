"""The findings of two commits: what is gone and what is new, by file."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.release.lint_compared import differing, fixtures, lines_of, main, written
from tests.support import ROOT
from webhook.rules import RULES


def document(*findings, notes=()):
    return {"findings": [*findings], "problems": [], "notes": [*notes]}


def finding(file="/x/a.yaml", line=3, severity="error", **fields):
    said = {"rule": "empty-selector", "field": "spec.labelSelector", "message": "must select Pods", "fix": "do it"}
    return {"file": file, "line": line, "column": 1, "severity": severity, **said, **fields}


NOTE = {"file": "/x/a.yaml", "line": 1, "column": 1, "message": "template passed over"}
LINE = "3:1 error empty-selector spec.labelSelector: must select Pods; do it"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (document(), document(), ["0 new and 0 gone in 0 of 0 files with findings"]),
        (document(finding()), document(finding()), ["0 new and 0 gone in 0 of 1 files with findings"]),
        (
            document(finding()),
            document(),
            ["x/a.yaml", f"  - {LINE}", "0 new and 1 gone in 1 of 1 files with findings"],
        ),
        (
            document(finding()),
            document(finding(), finding()),
            ["x/a.yaml", f"  + {LINE}", "1 new and 0 gone in 1 of 1 files with findings"],
        ),
        (
            document(finding(), finding("/x/b.yaml")),
            document(finding(severity="warning"), finding("/x/b.yaml"), notes=[NOTE]),
            [
                "x/a.yaml",
                f"  - {LINE}",
                "  + 1:1 note: template passed over",
                f"  + {LINE.replace('error', 'warning')}",
                "2 new and 1 gone in 1 of 2 files with findings",
            ],
        ),
    ],
    ids=["none", "the same", "gone", "twice", "another severity"],
)
def test_what_differs_is_said_by_file(before, after, expected):
    assert expected == [*differing(*(lines_of(said, {"/x": "x"}) for said in (before, after)))]


def test_each_rule_has_its_examples_among_the_fixtures(tmp_path):
    made = dict(fixtures())

    assert {f"{rule}/{name}.yaml" for rule in RULES for name in ("bad", "good")} <= made.keys()
    assert len(made) == len([*written(made.items(), tmp_path).rglob("manifest.*")])


def test_two_commits_are_compared(capsys, tmp_path):
    """The code of today may be further than HEAD, but not in what a manifest without a fault shows."""
    shutil.copy(ROOT / "docs" / "examples" / "web.yaml", tmp_path)

    assert 0 == main("HEAD", [str(tmp_path)])
    assert "0 new and 0 gone" in capsys.readouterr().out
    with pytest.raises(subprocess.CalledProcessError):
        main("no-such-commit", [str(ROOT / "docs")])
