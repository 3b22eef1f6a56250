"""How often a review passes from file to file: bounded, so that whoever reads after it need not leaf back and forth."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.edge import ROOT, imported
from tests.house.layers import HOUSE, entry_of
from tests.house.walk import REVIEWS, walk
from tests.support.commands import nobody_reads

# Of the application, without the worker; these may only be lowered.
MOST_CROSSINGS = {"a denied Deployment": 40, "a defaulted Pod": 32}

# A rule registers itself with what runs it.
CALLED_FROM = {"webhook.rules": "webhook.findings.evaluation"}

# What stands for two files that call each other: webhook/there.py and webhook/back.py.
THERE = "def there(times, back):\n    return times and back(times, there)"
BACK = "def back(times, there):\n    return there(times - 1, back)"
DETOUR = "def detour(*arguments):\n    there(times, back)\n    return straight(*arguments)"


@pytest.fixture(params=REVIEWS, ids=lambda review: review.name)
def review(request):
    return request.param


def excess(review, crossings):
    """How many crossings are too many."""
    return max(0, crossings - MOST_CROSSINGS[review.name])


def row(file):
    """The row of the house in which a file lies, or that of what calls it although it does not import it."""
    entry = entry_of(file.removesuffix(".py").replace("/", "."))
    return -1 if entry == "webhook.transport" else HOUSE.rows[CALLED_FROM.get(entry, entry)]


def path(function):
    """The file in which a function is written, from the root."""
    return function.__code__.co_filename.removeprefix(f"{ROOT}/")


def planted(name, source, **known):
    """The function of this name as if it stood in a file of its own in webhook/."""
    names = dict(known)
    exec(compile(source, str(ROOT / "webhook" / f"{name}.py"), "exec"), names)
    return names[name]


def test_the_reviews_are_what_they_are_said_to_be():
    """One is denied, one is given defaults."""
    denied, defaulted = (walk(review).response for review in REVIEWS)

    assert (False, True) == (denied["allowed"], defaulted["allowed"])
    assert "patch" in defaulted


def test_a_review_crosses_between_files_no_more_than_it_did(review):
    """A change that makes it cross more often shows that a stage asks another for what it could be handed."""
    assert 0 == excess(review, walk(review).of_application.crossings)


def test_two_walks_are_the_same(review):
    """To the last call: no clock, no thread and no cache has a say."""
    assert walk(review).calls == walk(review).calls


def test_a_review_begins_at_the_edge(review):
    """The worker, then the application, then who answers."""
    house, files = imported(), list(walk(review).files)
    edge = [house.Loop.turn, house.Worker.answer, house.create_app, house.Reviewer.answer]
    places = [files.index(path(function)) for function in edge]

    assert 0 == places[0]
    assert sorted(places) == places


def test_a_review_goes_down(review):
    """Each file is first reached from one that lies in its row of the layers, or above."""
    reached = set()
    rising = []
    for call in walk(review).calls:
        if call.file not in reached and call.crosses and row(call.caller) > row(call.file):
            rising.append((call.caller, call.file))
        reached.add(call.file)

    assert [] == rising


def test_a_detour_is_counted(review, monkeypatch):
    """Two files that call each other back and forth are seen, each time, and are too many."""
    straight, times = walk(review).of_application, MOST_CROSSINGS[review.name]
    reviewer, there, back = imported().Reviewer, planted("there", THERE), planted("back", BACK)
    detour = planted("detour", DETOUR, straight=reviewer.answer, there=there, back=back, times=times)
    monkeypatch.setattr(reviewer, "answer", detour)
    found = walk(review).of_application

    assert straight.crossings + 2 + 2 * times == found.crossings  # to the detour, to there, and then to back and there
    assert len(straight.files) + 3 == len(found.files)
    assert excess(review, found.crossings)


@pytest.mark.parametrize(
    "program", [["tests.house.walk"], ["tests.conformance", "validation"]], ids=lambda program: program[0]
)
def test_a_program_that_prints_for_head_ends_without_a_trace(program):
    with nobody_reads() as closed:
        done = subprocess.run(
            [sys.executable, "-m", *program], cwd=ROOT, stdout=closed, stderr=subprocess.PIPE, text=True, check=False
        )

    assert "" == done.stderr
