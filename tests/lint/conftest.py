"""Files in a folder of their own."""

from __future__ import annotations

import pytest

from tests.support.summaries import everything, skipping

__all__ = ["everything", "skipping"]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Make files, and go where they are."""

    def tree(*names, **contents):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("")
        for name, content in contents.items():
            (tmp_path / name.replace("DOT", ".")).write_text(content)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return tree
