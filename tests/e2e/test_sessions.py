"""The kubectl sessions in docs/transcripts are what kubectl prints."""

from __future__ import annotations

import pytest

from tests.e2e import programs
from tests.e2e.sessions import SESSIONS, cluster, transcript
from tests.generate.documents import TRANSCRIPTS
from tests.support.kubernetes_source import NEWEST

pytestmark = pytest.mark.slow  # `make transcripts` writes them again.


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster")) as (plane, _):
        yield plane


@pytest.mark.parametrize("name", SESSIONS)
def test_a_transcript_is_up_to_date(plane, name):
    """`make transcripts` rewrites it."""
    if name == "default" and (version := programs.version()) != NEWEST:
        pytest.skip(f"Kubernetes {version} gives the template another hash than {NEWEST}, and Pods are named by it")
    assert (TRANSCRIPTS / f"{name}.txt").read_text("utf-8") == transcript(plane, SESSIONS[name])


def test_there_is_no_other_transcript():
    assert {f"{name}.txt" for name in SESSIONS} == {path.name for path in TRANSCRIPTS.iterdir()}
