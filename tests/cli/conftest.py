"""A command, run where its files lie."""

from tests.support.commands import run

__all__ = ["run"]
