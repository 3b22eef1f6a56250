"""A page in one file: what it lets run, and what becomes of values in it."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from evenkeel.clusters.known_cluster import Origin
from evenkeel.report.html import SHORT_WIDTH, page, scaled
from evenkeel.report.text import share_text

EMPTY = {
    **{"title": "t", "origin": "o", "titles": type("Titles", (), {"policy": "", "compare": ""})},
    **dict.fromkeys(("notes", "tiles", "sums", "outcomes", "causes", "namespaces", "workloads"), ()),
    **{"zones": ((), 0), "curve": None, "size": "", "most_namespaces": 1},
}


def made(script="report.js", **values):
    return page("report.html", script, **(EMPTY | values))


def hash_of(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_nothing_runs_but_what_the_policy_names_by_its_hash():
    found = made()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', found)
    (style,), (script,) = (re.findall(rf"<{tag}>(.*?)</{tag}>", found, re.DOTALL) for tag in ("style", "script"))

    assert {
        "default-src": "'none'",
        "style-src": hash_of(style),
        "script-src": hash_of(script),
        "base-uri": "'none'",
        "form-action": "'none'",
    } == dict(part.strip().split(" ", 1) for part in policy.replace("&#39;", "'").split(";"))


def test_a_page_without_a_script_lets_none_run():
    found = made(script="")

    assert "script-src &#39;none&#39;" in found
    assert "<script" not in found


def test_it_reads_nothing_from_anywhere():
    assert [] == re.findall(r"https?:|@import|url\(|src=|href=| style=| on\w+=", made())


def test_values_are_escaped():
    assert "<p>&lt;script&gt;&#34;&amp;</p>" in made(origin='<script>"&')


@pytest.mark.parametrize(("share", "said"), [(0, "0%"), (0.001, "1%"), (0.5, "50%"), (0.999, "99%"), (1, "100%")])
def test_a_share_is_never_rounded_to_none_or_all(share, said):
    assert said == share_text(share)


def test_a_length_is_a_share_of_the_longest():
    assert (50, 33.3, 0, 0) == (scaled(1, 2, 100), scaled(1, 3, 100), scaled(0, 2, 100), scaled(0, 0, 100))


def test_a_line_has_nothing_that_is_not_printable():
    assert "<p>a\\u202eb</p>" in made(origin="a\u202eb")
    assert SHORT_WIDTH == 17, "which is what the template has room for"


@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("2026-01-31T10:00:00Z", "2026-01-31 10:00 UTC"),
        ("2026-01-31T11:00:00+01:00", "2026-01-31 10:00 UTC"),
        ("2026-01-31T10:00:00", "2026-01-31 10:00 UTC"),
        ("soon", "at an unknown time"),
    ],
)
def test_where_the_cluster_is_from(time, said):
    assert f"dump\\u000a, {said}, Kubernetes 1.37" == str(Origin("dump\n", 37, time))
