"""A diff is one that `patch -p1` takes, also where the last line has no end."""

from __future__ import annotations

import subprocess

import pytest

from evenkeel.terminal.diff import as_diff

OLD = "".join(f"{number}\n" for number in range(10))


def test_the_changed_lines_stand_with_three_around_them():
    diff = "--- a/x.yaml\n+++ b/x.yaml\n@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"

    assert diff == as_diff("x.yaml", OLD, OLD.replace("5", "five"))


def test_nothing_changed_is_no_diff():
    assert "" == as_diff("x.yaml", OLD, OLD)


NEW = {
    "a line": OLD.replace("5", "five"),
    "the last line's end": OLD.rstrip("\n"),
    "the last line": OLD.replace("9\n", "nine"),
    "all": "",
}
FORMS = {
    "as it is": OLD,
    "no end": OLD.rstrip("\n"),
    "line ends of Windows": OLD.replace("\n", "\r\n"),
    "what only Python takes for line ends": OLD.replace("\n", "\u2028\x0c\r\n"),
}


@pytest.mark.parametrize("new", NEW.values(), ids=NEW)
@pytest.mark.parametrize("old", FORMS.values(), ids=FORMS)
def test_a_diff_applies(tmp_path, old, new):
    (tmp_path / "x.yaml").write_bytes(old.encode())
    diff = as_diff("x.yaml", old, new)
    command = ["patch", "-p1", "--binary", "--posix"]
    subprocess.run(command, cwd=tmp_path, input=diff.encode(), capture_output=True, check=True)

    assert new == ((tmp_path / "x.yaml").read_bytes().decode() if (tmp_path / "x.yaml").exists() else "")


def test_a_name_that_cannot_be_printed_is_quoted_as_git_quotes_it():
    diff = as_diff('\x1b[31mé"\\.yaml', "a\n", "b\n")

    assert ['--- "a/\\033[31mé\\042\\134.yaml"', '+++ "b/\\033[31mé\\042\\134.yaml"'] == diff.splitlines()[:2]
