"""
How one AdmissionReview goes through our files, from the socket to the answer.

    python -m tests.house.walk            the figures, and the files in the order in which they are reached
    python -m tests.house.walk --calls    every call as well, indented by depth
    python -m tests.house.walk --pairs    from which file to which, how often, and to which functions

The real worker answers over a TLS connection, driven by hand (edge.py).  Left out are the arbiter, `Worker.run` and
the sweep of what is late.

What counts, so that two people count the same:

* Only frames whose code lies in webhook/ or certs/: what dataclasses generate lies nowhere.  A caller is the nearest
  such frame, whatever library stands between.
* A *call* is every frame that begins or goes on: functions, comprehensions and generators, these once for each item.
  (From Python 3.12 on comprehensions are no frames; crossings do not depend on it.)
* A *crossing* is a call from one file to another.  Its return is not counted again.
* One review of the same kind was answered before on the same connection: what is imported late is imported, and the
  caches are warm.
* The level of the log is `warning`: no line is written.  At `info` both reviews write one.

The figures of the *application* leave out the worker's folder and the one call from there into the application, which
gets the WSGI environment that the worker makes.  They are the ones that are bounded in test_walk.py.
"""

from __future__ import annotations

import argparse
import inspect
import json
import logging
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NamedTuple

from tests.house.edge import EXAMPLE, ROOT, Edge, imported
from tests.support.commands import until_closed

OURS = tuple(f"{ROOT / top}/" for top in ("webhook", "certs"))


class Review(NamedTuple):
    """One of the example's reviews."""

    name: str
    path: str
    object: str  # its name, or what its name begins with


REVIEWS = (
    Review("a denied Deployment", "/validate", "checkout"),
    Review("a defaulted Pod", "/mutate", "web-74d759446f-"),
)


@dataclass(frozen=True, slots=True)
class Call:
    """A frame of ours that begins or goes on; `caller` is the file of the one beneath it, None where there is none."""

    depth: int
    caller: str | None
    file: str
    function: str

    @property
    def crosses(self) -> bool:
        return self.caller not in (None, self.file)


@dataclass(frozen=True, slots=True)
class Walk:
    """The calls of one review, and the response that came of them."""

    calls: tuple[Call, ...]
    response: dict[str, object]

    @property
    def files(self) -> dict[str, str]:
        """The files in the order in which they are reached, with the first function called in each."""
        first: dict[str, str] = {}
        for call in self.calls:
            first.setdefault(call.file, call.function)
        return first

    @property
    def crossings(self) -> int:
        return sum(call.crosses for call in self.calls)

    @property
    def pairs(self) -> dict[tuple[str, str], list[str]]:
        """For each two files, the functions that the one calls in the other, as often as it does."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for call in self.calls:
            if call.crosses:
                found[str(call.caller), call.file].append(call.function)
        return found

    @property
    def of_application(self) -> Walk:
        """The same without the worker's folder, as if the WSGI call were the first."""
        folder = f"{_relative(inspect.getfile(imported().Worker)).rpartition('/')[0]}/"
        kept = (call for call in self.calls if not call.file.startswith(folder))
        return Walk(tuple(_without_caller_in(folder, call) for call in kept), self.response)


def _without_caller_in(folder: str, call: Call) -> Call:
    entered = call.caller is not None and call.caller.startswith(folder)
    return Call(call.depth, None, call.file, call.function) if entered else call


def _relative(file: str) -> str:
    return Path(file).relative_to(ROOT).as_posix()


class Recorder:
    """Takes down the calls of ours while it is entered."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __enter__(self) -> Recorder:
        self.before = sys.getprofile()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self.before)

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(OURS):
            return
        callers = [one.f_code.co_filename for one in _beneath(frame) if one.f_code.co_filename.startswith(OURS)]
        caller, code = _relative(callers[0]) if callers else None, frame.f_code
        function = code.co_qualname.replace(".<locals>", "")
        self.calls.append(Call(len(callers), caller, _relative(code.co_filename), function))


def _beneath(frame: FrameType) -> Iterator[FrameType]:
    below = frame.f_back
    while below is not None:
        yield below
        below = below.f_back


@contextmanager
def _quiet() -> Iterator[None]:
    """The level of our log at `warning`, whatever it was."""
    logger = logging.getLogger("evenkeel")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)


def _body(review: Review) -> bytes:
    """The review as it stands in the example."""
    for line in (EXAMPLE / "reviews.jsonl").read_text("utf-8").splitlines():
        found = json.loads(line)
        metadata = found["review"]["request"]["object"]["metadata"]
        if found["path"] == review.path and review.object in (metadata.get("name"), metadata.get("generateName")):
            return json.dumps(found["review"]).encode()
    raise LookupError(f"no {review.object} for {review.path} in the example")


def walk(review: Review) -> Walk:
    """The way of a review through our files, after one of the same kind."""
    body = _body(review)
    with _quiet(), TemporaryDirectory() as folder, closing(Edge(Path(folder))) as edge:
        edge.ask(review.path, body)
        with Recorder() as recorder:
            response = edge.ask(review.path, body)
    return Walk(tuple(recorder.calls), response)


def _figures(of: Walk) -> str:
    return f"{len(of.files)} files, {of.crossings} crossings, {len(of.calls)} calls"


def _path(of: Walk) -> Iterator[str]:
    yield from (f"{number:4}  {file}: {function}" for number, (file, function) in enumerate(of.files.items(), 1))


def _calls(of: Walk) -> Iterator[str]:
    yield from (f"    {'  ' * call.depth}{call.file}: {call.function}" for call in of.calls)


def _pairs(of: Walk) -> Iterator[str]:
    for (caller, file), functions in sorted(of.pairs.items(), key=lambda pair: -len(pair[1])):
        counted = (f"{name} {functions.count(name)}" for name in dict.fromkeys(functions))
        yield f"{len(functions):4}  {caller} -> {file}: {', '.join(counted)}"


def report(review: Review, parts: Sequence[Callable[[Walk], Iterator[str]]]) -> Iterator[str]:
    """What is printed of one review."""
    found = walk(review)
    yield f"{review.name} at {review.path}"
    yield f"  application: {_figures(found.of_application)}"
    yield f"  from the socket: {_figures(found)}"
    for part in parts:
        yield ""
        yield from part(found)
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.house.walk", description="How a review goes through us.")
    parser.add_argument("--calls", action="store_true", help="every call, indented by depth")
    parser.add_argument("--pairs", action="store_true", help="the crossings from file to file")
    given = parser.parse_args()
    parts = [_path, *([_pairs] if given.pairs else []), *([_calls] if given.calls else [])]
    with until_closed():
        for review in REVIEWS:
            print("\n".join(report(review, parts)))


if __name__ == "__main__":
    main()
