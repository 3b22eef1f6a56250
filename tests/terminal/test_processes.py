"""The CPUs of this process."""

from __future__ import annotations

import os

from evenkeel.terminal.processes import cpus


def test_the_cpus_are_those_that_this_process_may_use():
    assert 1 <= cpus() <= (os.cpu_count() or 1)
