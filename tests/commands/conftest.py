"""A command, run where its files lie."""

from tests.support.running import run

__all__ = ["run"]
