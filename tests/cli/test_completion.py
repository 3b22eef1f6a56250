"""`evenkeel completion`: the script of a shell; the shells themselves run it in tests/render/test_shells.py."""

from __future__ import annotations

import pytest

from webhook.render.shells import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_prints_the_script_and_how_to_install_it(run, shell):
    code, out, err = run(f"completion {shell}")

    assert (0, SHELLS[shell], "") == (code, out, err)
    assert 2 == out.count(f"evenkeel completion {shell}")


def test_an_unknown_shell_is_told_in_one_line(run):
    wanted = 'SHELL: found "tcsh", wanted bash, zsh, fish; see evenkeel completion --help'

    assert (2, "", f"evenkeel completion: {wanted}\n") == run("completion tcsh")
