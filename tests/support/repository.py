"""A git repository of its own."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

WHO = ("-c", "user.name=a", "-c", "user.email=a@example.com")
WITHOUT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def git(folder, *arguments):
    """What git prints in a folder, whatever repository the tests are run in."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    command = ["git", "-C", folder, *WHO, "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=WITHOUT).stdout


def commit(folder):
    """Commit all files there, in a repository that is made if need be; its branch is main."""
    git(folder, "init", "-q", "-b", "main") if not (folder / ".git").exists() else None
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "--allow-empty", "-m", "a")
