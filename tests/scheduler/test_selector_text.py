"""Selectors as kubectl's -l takes them."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.selector_text import parse_selector
from webhook.spread.selectors import EVERYTHING

READ = {
    "app=web": "app=web",
    "app==web": "app=web",
    " app = web ": "app=web",
    "app!=web": "app notin (web)",
    "app=": "app=",
    "b=2,a=1": "a=1,b=2",
    "app in (a, b),x": "app in (a,b),x",
    "app notin (a)": "app notin (a)",
    "app in ()": "app in ()",
    "!app , tier": "!app,tier",
    "in in (in)": "in in (in)",
    "in": "in",
    "example.com/app=web": "example.com/app=web",
}


@pytest.mark.parametrize(("text", "found"), READ.items(), ids=READ)
def test_a_selector_is_read(text, found):
    assert found == str(parse_selector(text))


def test_what_is_selected():
    selector = parse_selector("app in (web,db),tier!=front,!canary")

    assert selector.matches({"app": "web"})
    assert not selector.matches({"app": "web", "canary": ""})
    assert not selector.matches({"app": "db", "tier": "front"})


@pytest.mark.parametrize("text", ["", "  "])
def test_nothing_selects_everything(text):
    assert EVERYTHING == parse_selector(text)


FORM = "wanted KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY or !KEY"
WRONG = {
    "app=web,": f'found "", {FORM}',
    ",": f'found ",", {FORM}',
    "a b": f'found "a b", {FORM}',
    "a in b": f'found "a in b", {FORM}',
    "a=(b)": f'found "a=(b)", {FORM}',
    "n=1,a b=c": f'found "a b=c", {FORM}',
    "a>1": 'found "a>1": ',
    "/a=b": 'found "/a=b": prefix part must be non-empty',
    "a=b/c": 'found "a=b/c": a valid label must be',
}


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=WRONG)
def test_what_is_no_selector_is_named(text, message):
    with pytest.raises(ValueError) as caught:
        parse_selector(text)

    assert str(caught.value).startswith(message)
