"""docs/messages.txt has what a user may read, and nothing else of the code."""

from __future__ import annotations

import pytest

from tests.generate import messages
from tests.support import ROOT

SHOWN = {
    'raise ValueError("is not a list")': "is not a list",
    'log.info("policy reloaded")': "policy reloaded",
    'f"{name}: found {brief(value)}, wanted {wanted}"': "{name}: found {brief(value)}, wanted {wanted}",
    'f"{count} nodes"': "{count} nodes",
    "f\"{'one node' if alone else 'no node'}\"": "one node",
    'part = " of its Pods"': " of its Pods",
    'parser.add_argument("-q", help="print no notes")': "print no notes",
    'usage = "usage: {}\\n\\nJudge, explain and simulate."': "usage: {}\n\nJudge, explain and simulate.",
}
NOT_SHOWN = [
    'def check():\n    """Return whether it is so."""',
    '"""Says what a module does."""',
    "def check(x: 'a list of texts') -> 'a list of texts': ...",
    're.compile(r"^one two \\S+$")',
    'RULE = "apiVersion: v1\\nkind: Pod of a team\\n"',
    'name = "Content-Type"',
    'key = "topology.kubernetes.io/zone"',
]
CEL = {
    "\"variables.owner.size() == 0 ? '' : 'change ' + name + ', its owner: '\"": True,
    "\"'use one of ' + {carried} + ' instead, or remove the key'\"": True,
    '"k in variables.labels || k in variables.added"': False,
    '"type(c) == map ? c : {}"': False,
}


@pytest.mark.parametrize("code", SHOWN)
def test_a_text_is_in_the_list(code):
    assert SHOWN[code] in [*messages.texts_in(code)]


@pytest.mark.parametrize("code", NOT_SHOWN)
def test_what_no_user_reads_is_not_in_the_list(code):
    assert [] == [*messages.texts_in(code)]


@pytest.mark.parametrize("code", CEL)
def test_of_cel_only_messages_are_in_the_list(code):
    assert CEL[code] == bool([*messages.texts_in(f"text = {code}", cel=True)])


@pytest.mark.parametrize(
    "file",
    [
        "webhook/rules/rollout_skew.py",
        "webhook/cli/lint.py",
        "webhook/manifests/policies/empty_selector.py",
        "webhook/render/templates/report.html",
        "charts/evenkeel/templates/deployment.yaml",
        "charts/evenkeel/templates/NOTES.txt",
        "charts/evenkeel/files/alerts.yaml",
        "evenkeel explain --help",
        "evenkeel rules empty-selector",
    ],
)
def test_the_list_has_texts_of_each_kind_of_source(file):
    assert [text for name, texts in messages.every_text() if name == file for text in texts]


def test_a_changed_message_changes_the_list(monkeypatch):
    """So that the list which is checked in is out of date."""
    source = (ROOT / "webhook" / "rules" / "empty_selector.py").read_text("utf-8")
    (shown, *_) = messages.texts_in(source)

    assert f"    {shown}\n" in messages.page()
    assert shown not in [*messages.texts_in(source.replace(shown, f"{shown} now"))]
