"""A command, run where its files lie, and summaries of lint."""

from tests.support.running import run
from tests.support.summaries import everything, skipping

__all__ = ["everything", "run", "skipping"]
