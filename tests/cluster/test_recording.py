"""A recording is read as it was written, also where it is cut off; another file is named, with what is wanted."""

from __future__ import annotations

import gzip
import json
import sys
from itertools import count

import pytest

from tests.support.build import namespace, pod, service
from webhook.cluster import recording
from webhook.cluster.cluster import Contents
from webhook.cluster.dump import DumpError, contents, load
from webhook.cluster.recording import Recording, read
from webhook.verification.watch_event import WatchEvent

OBJECTS = [namespace(), service(), *(pod(name=f"web-{i}") for i in range(3))]
EVENTS = [
    WatchEvent(0.25, "ADDED", 11, pod(name="web-3")),
    WatchEvent(1.5, "MODIFIED", 12, pod(name="web-3", spec={"nodeName": "n1"})),
    WatchEvent(61.125, "DELETED", 15, pod(name="web-3", spec={"nodeName": "n1"})),
]
OF_A_CLUSTER = Contents(iter(()), {}, "", "v1.37.1", "2026-01-31T10:00:00Z")
HEADER = {
    "kind": "ClusterRecording",
    "version": 1,
    "kubernetesVersion": "v1.37.1",
    "time": "2026-01-31T10:00:00Z",
}


def write_section(out, objects=OBJECTS, events=EVENTS, version=10, missing=()):
    out.begin(OF_A_CLUSTER)
    for obj in objects:
        out.add_object(obj)
    out.end_objects(version, dict(missing))
    out.add_events(events)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "day.jsonl.gz"


@pytest.fixture
def whole(path):
    """The bytes of a recording."""
    with Recording(path) as out:
        write_section(out)
    return path.read_bytes()


def sections(path):
    """The objects, events, version and missing kinds of each section."""
    return [
        (list(section.contents.objects), list(section.events), section.version, section.contents.missing)
        for section in read(path)
    ]


def test_a_recording_is_read_as_it_was_written(path, whole):
    (section,) = read(path)

    assert ("v1.37.1", "2026-01-31T10:00:00Z") == (section.contents.kubernetes_version, section.contents.time)
    assert [(OBJECTS, EVENTS, 10, {})] == sections(path)


def test_it_has_the_form_that_is_described(whole):
    lines = [json.loads(line) for line in gzip.decompress(whole).splitlines()]
    last = EVENTS[-1]

    assert [HEADER, *OBJECTS, {"listed": 10, "missing": {}}] == lines[: len(OBJECTS) + 2]
    assert {"seconds": last.seconds, "type": "DELETED", "version": 15, "object": last.raw} == lines[-1]


def test_a_plain_file_is_read_too(path, whole):
    path.write_bytes(gzip.decompress(whole))

    assert [(OBJECTS, EVENTS, 10, {})] == sections(path)


def test_after_an_interruption_another_section_follows(path):
    with Recording(path) as out:
        write_section(out)
        write_section(out, OBJECTS[:1], EVENTS[:1], 20, {"pods": "403"})
        write_section(out, [], [], 30)

    assert [
        (OBJECTS, EVENTS, 10, {}),
        (OBJECTS[:1], EVENTS[:1], 20, {"pods": "403"}),
        ([], [], 30, {}),
    ] == sections(path)


def test_a_list_that_failed_leaves_a_section_without_events(path):
    with Recording(path) as out:
        out.begin(OF_A_CLUSTER)
        out.add_object(OBJECTS[0])
        write_section(out)

    assert [(OBJECTS[:1], [], 0, {}), (OBJECTS, EVENTS, 10, {})] == sections(path)


def test_a_header_without_objects_is_passed_over(path):
    """As where nothing could be listed at first."""
    with Recording(path) as out:
        out.begin(OF_A_CLUSTER._replace(time="2026-01-31T09:00:00Z"))
        write_section(out)
    (section,) = read(path)

    assert OF_A_CLUSTER.time == section.contents.time


def test_what_is_passed_over_of_a_section_does_not_keep_the_next(path):
    """Nor need the objects be gone through for the events."""
    with Recording(path) as out:
        write_section(out)
        write_section(out, version=20)
    first, second = (section for section in read(path))
    assert first.version == 10

    events = []
    for section in read(path):
        next(section.contents.objects)
        events += section.events
    assert [*EVENTS, *EVENTS] == events
    assert second.version == 20


@pytest.mark.parametrize("form", [bytes, gzip.decompress], ids=["gzipped", "plain"])
def test_a_file_that_is_cut_off_is_read_up_to_its_last_whole_line(path, whole, form):
    written = form(whole)
    all_events = []
    for end in range(form(whole).index(b"\n") + 1 if form is not bytes else len(written) - 60, len(written)):
        path.write_bytes(written[:end])
        ((objects, events, version, _),) = sections(path)
        all_events.append(events)

        assert objects == OBJECTS[: len(objects)]
        assert events == EVENTS[: len(events)]
        assert version == (10 if events else version)
    assert EVENTS[:-1] in all_events


def test_of_a_process_that_is_killed_all_but_the_last_seconds_can_be_read(path, monkeypatch):
    monkeypatch.setattr(recording, "FLUSH_SECONDS", 0.0)
    out = Recording(path)
    write_section(out, events=EVENTS[:2])
    assert [(OBJECTS, EVENTS[:2], 10, {})] == sections(path)

    monkeypatch.setattr(recording, "FLUSH_SECONDS", 3600.0)
    out.add_events(EVENTS[2:])
    assert [(OBJECTS, EVENTS[:2], 10, {})] == sections(path)

    monkeypatch.setattr(recording, "FLUSH_SECONDS", 0.0)
    out.add_events([])
    assert [(OBJECTS, EVENTS, 10, {})] == sections(path)
    out.__exit__()


def interrupted(number):
    """A trace that interrupts, as Ctrl-C does, before a line of what writes the file; 1 is the first."""
    lines = count(1)

    def trace(frame, event, _):
        if frame.f_code.co_filename not in (recording.__file__, gzip.__file__):
            return None
        if event == "line" and next(lines) == number:
            raise KeyboardInterrupt
        return trace

    return trace


def test_whenever_it_is_interrupted_the_file_is_a_whole_one_of_what_was_before(path, monkeypatch):
    monkeypatch.setattr(recording, "FLUSH_SECONDS", 0.0)
    numbers, before = [], sys.gettrace()
    for number in count(1):
        try:
            with Recording(path) as out:
                out.begin(OF_A_CLUSTER)
                sys.settrace(interrupted(number))
                for obj in OBJECTS:
                    out.add_object(obj)
                out.end_objects(10, {})
                for event in EVENTS:
                    out.add_events([event])
                sys.settrace(before)
        except KeyboardInterrupt:
            ((objects, events, _, _),) = sections(path)
            gzip.decompress(path.read_bytes())

            assert (objects, events) == (OBJECTS[: len(objects)], EVENTS[: len(events)])
            numbers.append(len(objects) + len(events))
        else:
            break

    assert numbers[-1] == len(OBJECTS) + len(EVENTS)


def line(value):
    return json.dumps(value).encode() + b"\n"


EVENT = {"seconds": 1.5, "type": "ADDED", "version": 11, "object": OBJECTS[0]}
LISTED = {"listed": 10, "missing": {}}
DUMP = line({"kind": "ClusterDump", "version": 1})
WRITES = "wanted what evenkeel verify --record writes; record first"
CHANGED = "the file was changed, so record again"
NO_EVENT = f"line 3: must have the seconds, type, version and object of an event; {CHANGED}"
OTHERS = {
    "nothing": (b"", f"is empty, {WRITES}"),
    "nothing but the beginning of gzip": (gzip.compress(b"")[:10], f"is empty, {WRITES}"),
    "a dump": (gzip.compress(DUMP), f"is a dump, {WRITES}"),
    "YAML": (b"apiVersion: v1\nkind: List\n", f'line 1: found "apiVersion: v1", {WRITES}'),
    "one long line": (b"x" * 100_000, f'line 1: found "{"x" * 58}…, {WRITES}'),
    "bytes that are no text": (b"\xff\x00\n", 'line 1: found "'),
    "another version": (line(HEADER | {"version": 2}), "version: found 2, wanted 1; read it with the evenkeel that"),
    "a line that is no JSON": (line(HEADER) + b"hello\n" + line(LISTED), f"line 2: must be a JSON object; {CHANGED}"),
    "an event before the lists end": (line(HEADER) + line(EVENT), f"line 2: does not belong here; {CHANGED}"),
    "an object among events": (
        b"".join(map(line, (HEADER, LISTED, EVENT, OBJECTS[0]))),
        f"line 4: does not belong here; {CHANGED}",
    ),
    **{
        f"an event whose {name} is {value!r}": (line(HEADER) + line(LISTED) + line(EVENT | {name: value}), NO_EVENT)
        for name, value in {"seconds": "1", "type": "BOOKMARK", "version": None, "object": []}.items()
    },
    "what is gzipped only at first sight": (b"\x1f\x8bhello, this is no gzip at all", "is damaged ("),
}


@pytest.mark.parametrize(("content", "message"), OTHERS.values(), ids=OTHERS)
def test_a_file_of_another_form_is_named_in_one_line(path, content, message):
    path.write_bytes(content)
    with pytest.raises(DumpError) as caught:
        sections(path)

    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_a_recording_that_was_changed_is_named(path, whole):
    path.write_bytes(whole[:-8] + b"xxxxxxxx")
    with pytest.raises(DumpError, match=r": is damaged \(.*\); record again$"):
        sections(path)


def test_a_folder_and_what_is_not_there_are_named(tmp_path):
    wanted = "is a folder, wanted a file that evenkeel verify --record wrote; name the file"
    for path, message in ((tmp_path, wanted), (tmp_path / "none", "No such file or directory")):
        with pytest.raises(DumpError) as caught:
            sections(path)

        assert f"{path}: {message}" == str(caught.value)


@pytest.mark.parametrize("form", [bytes, gzip.decompress], ids=["gzipped", "plain"])
def test_a_command_that_wants_a_dump_says_what_a_recording_is_for(path, whole, form):
    path.write_bytes(form(whole))
    for wants_dump in (load, contents):
        with pytest.raises(DumpError) as caught:
            wants_dump(path)

        said = "is a recording of evenkeel verify, wanted a dump; judge it with evenkeel verify --replay"
        assert f"{path}: {said}" == str(caught.value)
