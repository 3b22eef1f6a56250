"""
The locked requirements are those of what setup.cfg and pyproject.toml ask for now.

Nothing is asked of an index: `make lock` rewrites them, and `make release-check` installs them.
"""

from __future__ import annotations

import pytest
from packaging.utils import canonicalize_name

from tests.release.lock import BUILD, RUN, header, pins, wanted_to_build, wanted_to_run

LOCKS = {RUN: wanted_to_run, BUILD: wanted_to_build}
BY_NAME = {"ids": lambda value: getattr(value, "name", "")}


@pytest.mark.parametrize("lock", LOCKS, **BY_NAME)
def test_a_lock_is_made_of_what_is_wanted_now(lock):
    assert header(LOCKS[lock]()) == "".join(
        line for line in lock.read_text("utf-8").splitlines(keepends=True) if line.startswith("#")
    ), "make lock"


@pytest.mark.parametrize("lock", LOCKS, **BY_NAME)
def test_every_pin_has_hashes_and_a_wanted_version(lock):
    found = {pin.name: pin for pin in pins(lock.read_text("utf-8"))}

    assert all(pin.hashes for pin in found.values())
    for wanted in LOCKS[lock]():
        assert wanted.specifier.contains(found[canonicalize_name(wanted.name)].version), wanted


@pytest.mark.parametrize(
    "line",
    [
        "flask==3.1.3\n",
        "flask>=3.1 \\\n    --hash=sha256:" + "0" * 64 + "\n",
        "flask==3.1.3 \\\n    --hash=md5:" + "0" * 32 + "\n",
        "--index-url https://example.test\n",
    ],
)
def test_what_is_no_pin_is_refused(line):
    with pytest.raises(ValueError, match="wanted NAME==VERSION"):
        pins(RUN.read_text("utf-8") + line)


def test_another_requirement_is_noticed():
    """Or the first test could not fail."""
    assert header(wanted_to_run()) != header(wanted_to_run()[1:])
    assert header(wanted_to_run()) != header([*wanted_to_run()[:-1], *wanted_to_build()])
