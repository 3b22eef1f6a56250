"""Each document of a text has a receiver of its own, which takes its events in order."""

from __future__ import annotations

import pytest
import yaml

from webhook.kubernetes.yaml_events import events, received


class Log:
    """Notes what it receives."""

    def __init__(self):
        self.calls = []

    def scalar(self, event):
        self.calls.append(event.value)

    def begin(self, event):
        self.calls.append("{" if isinstance(event, yaml.MappingStartEvent) else "[")

    def end(self, event):
        self.calls.append("}" if isinstance(event, yaml.MappingEndEvent) else "]")

    def alias(self, event):
        self.calls.append(f"*{event.anchor}")


def test_each_document_has_a_receiver():
    logs = [log.calls for log in received("a: [1, &x b]\nc: *x\n---\n---\nd\n", Log)]

    assert [["{", "a", "[", "1", "b", "]", "c", "*x", "}"], [""], ["d"]] == logs


def test_an_empty_text_has_no_document():
    assert [] == [*received("# nothing", Log)]


def test_the_documents_before_an_error_are_received():
    documents = received("a\n---\n[", Log)

    assert ["a"] == next(documents).calls
    with pytest.raises(yaml.YAMLError):
        next(documents)


def test_events_end_with_the_text():
    found = [*events("a")]

    assert (yaml.StreamStartEvent, yaml.StreamEndEvent) == (type(found[0]), type(found[-1]))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[fd00::]", ["fd00::"]),
        ("[fd00::, b]", ["fd00::", "b"]),
        ("{a: fd00::}", ["a", "fd00::"]),
        ("[a, \ue000, fd00::]", ["a", "\ue000", "fd00::"]),
    ],
)
def test_a_colon_before_the_end_of_an_item_is_part_of_it(text, values):
    assert values == [event.value for event in events(text) if isinstance(event, yaml.ScalarEvent)]
