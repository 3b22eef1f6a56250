"""
What of the code under test runs while tests are collected: python -m tests.house.collection [FILE …]

`review` is broken on purpose meanwhile.  Prints a line for each call, and exits as pytest does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType

import pytest

from tests.support import ROOT
from webhook.admission import review

TESTS, CODE = f"{ROOT}/tests/", (f"{ROOT}/webhook/", f"{ROOT}/certs/")


class Calls:
    """A plugin that notes every call into the code until all tests are collected."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}

    def pytest_collection_finish(self) -> None:
        sys.setprofile(None)

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and is_code(frame) and frame.f_code.co_name != "<module>":
            caller = nearest(frame.f_back)
            if not is_code(caller):  # else it is called by the code, or as that is imported
                self.found[f"calls {named(frame)}, from {named(caller)}:{caller.f_lineno}"] = None


def is_code(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(CODE)


def nearest(frame: FrameType) -> FrameType:
    """The nearest frame that is ours: of the code, or of the tests, as `main` is at last."""
    while not frame.f_code.co_filename.startswith((*CODE, TESTS)):
        frame = frame.f_back
    return frame


def named(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename.removeprefix(f'{ROOT}/')} {frame.f_code.co_qualname}"


def broken(*_: object) -> None:
    raise RuntimeError("broken on purpose")


def main(arguments: Sequence[str]) -> int:
    review.review = broken
    calls = Calls()
    sys.setprofile(calls.profile)
    code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *arguments], plugins=[calls])
    sys.setprofile(None)
    print(*calls.found, sep="\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
