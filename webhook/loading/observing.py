"""
Judges the decisions in the log of a live cluster, which may be recorded, or in a recording.

    live ──list, watch──> section: objects, then events ──> recording
    recording ──────────> section: objects, then events, as they were heard
    section ──Verifier──> each decision judged ──> Tally
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import NamedTuple, cast

from webhook.cluster.client import Client
from webhook.cluster.cluster import Contents
from webhook.cluster.recording import Recording, read
from webhook.cluster.watching import LogInterrupted, Watching
from webhook.loading import clusters, inputs
from webhook.loading.usage import UsageError
from webhook.objects.fields import Raw
from webhook.scheduler.features import LATEST
from webhook.scheduler.profile import Profiles
from webhook.verification.judgement import Judged
from webhook.verification.tally import Tally
from webhook.verification.verifier import Verifier
from webhook.verification.watch_event import WatchEvent

# A decision is judged so many seconds after it is heard of: then all is known that kube-scheduler knew.
JUDGING_DELAY = 2.5
RELIST_SECONDS = 5.0  # A cluster is listed no more often than that, whatever its API server answers to a watch.
NEEDED_RESOURCES = ("nodes", "pods")
LISTENING_SECONDS = 0.2  # Seconds for which a live log is listened to at once.
CPU_SHARE, CPU_SECONDS = 0.5, 5.0  # What judging may take of a CPU, and the most of that which is saved for later.


class Heard(NamedTuple):
    """Events, and the time up to which decisions can be judged once they are known, in seconds after the beginning."""

    events: Iterable[WatchEvent]
    until: float


class ObservedSection(NamedTuple):
    """
    A part of a log without gaps: the objects of `contents`, to be gone through first, and then what is `heard`.

    Then `version` is the resourceVersion up to which decisions are not judged.
    """

    contents: Contents
    version: Callable[[], int]
    heard: Iterator[Heard]


def live(client: Client, is_over: Callable[[], bool], recording: Recording | None = None) -> Iterator[ObservedSection]:
    """
    Yield the log of a cluster: one section, and another each time that the log has a gap.

    Once all is listed, it is asked whether the log `is_over`.  ClusterError if the API server does not answer, or
    refuses.
    """
    over = False
    while not over:
        watching = Watching(client)
        contents = watching.begin()
        if recording is not None:
            recording.begin(contents)
            contents = contents._replace(objects=_recorded(contents.objects, recording, watching, contents.missing))
        try:
            yield ObservedSection(contents, partial(getattr, watching, "version"), _heard(watching, is_over, recording))
        finally:
            watching.stop()
        while not (over := is_over()) and monotonic() - watching.begun < RELIST_SECONDS:
            sleep(LISTENING_SECONDS)


def _recorded(
    objects: Iterator[Raw], recording: Recording, watching: Watching, missing: Mapping[str, str]
) -> Iterator[Raw]:
    for raw in objects:
        recording.add_object(raw)
        yield raw
    recording.end_objects(watching.version, missing)


def over_after(seconds: float) -> Callable[[], bool]:
    """
    Return a function that says whether so many seconds have passed since it was first asked, and those after which the
    last decision in them can be judged.
    """
    end: float | None = None

    def is_over() -> bool:
        nonlocal end
        end = end or monotonic() + seconds + JUDGING_DELAY
        return monotonic() >= end

    return is_over


def _heard(watching: Watching, is_over: Callable[[], bool], recording: Recording | None) -> Iterator[Heard]:
    """Yield what is heard; while a kind is not watched, and until it has caught up, what others do is kept back."""
    events, kept_until = list[WatchEvent](), 0.0
    while not is_over():
        try:
            events += watching.events(LISTENING_SECONDS)
        except LogInterrupted:
            return
        if watching.problem:
            kept_until = monotonic() + JUDGING_DELAY
        if monotonic() < kept_until:
            continue
        events.sort(key=lambda event: event.version)
        if recording is not None:
            recording.add_events(events)
        yield Heard(events, monotonic() - watching.begun - JUDGING_DELAY)
        events = []


def recorded(path: Path) -> Iterator[ObservedSection]:
    """Yield the log in a recording, which is judged to its end; DumpError if it is none."""
    for section in read(path):
        yield ObservedSection(section.contents, partial(getattr, section, "version"), _read(section.events))


def _read(events: Iterable[WatchEvent]) -> Iterator[Heard]:
    last = 0.0
    for event in events:
        last = max(last, event.seconds)
        yield Heard((event,), event.seconds - JUDGING_DELAY)
    yield Heard((), last)


def half_a_cpu(used: Callable[[], float] = process_time) -> Callable[[], bool]:
    """
    Return a function that says whether less than half a CPU was used since it was first asked.

    `used` returns the seconds of a CPU.  Of what is left at one time, CPU_SECONDS at most may be used later.
    """
    left, last = CPU_SECONDS, cast(tuple[float, float] | None, None)

    def may_judge() -> bool:
        nonlocal left, last
        now = monotonic(), used()
        last = last or now
        left = min(CPU_SECONDS, left + CPU_SHARE * (now[0] - last[0]) - (now[1] - last[1]))
        last = now
        return left >= 0

    return may_judge


class Observer:
    """
    Judges the decisions of a namespace, or of all if it is "", section by section.

    `version` is that of the cluster where the log does not tell it.  `may_judge` says whether there is time for it, and
    `on_judged` is called with each judgement, while the verifier is at that place of the log.  `tally` counts on, where
    one is given.  UsageError if nodes or Pods may not be listed.
    """

    def __init__(
        self,
        profiles: Profiles,
        version: str | None,
        namespace: str = "",
        *,
        may_judge: Callable[[], bool] = lambda: True,
        on_judged: Callable[[Judged, Verifier], None] = lambda *_: None,
        tally: Tally | None = None,
    ) -> None:
        self._profiles, self._version, self._namespace = profiles, version, namespace
        self._may_judge, self._on_judged = may_judge, on_judged
        self.tally, self.seconds, self.sections, self.unreadable = tally or Tally(), 0.0, 0, 0
        self.contents = Contents(iter(()), {})

    @property
    def kubernetes_version(self) -> str:
        return self._version or self.contents.kubernetes_version

    def take(self, section: ObservedSection) -> Iterator[None]:
        """Judge a section as far as it is heard; yields after each part of it."""
        contents = self.contents = section.contents
        known = inputs.given_features(self.kubernetes_version) if self.kubernetes_version else LATEST
        verifier = Verifier(
            contents.objects, known, self._profiles, namespace=self._namespace, missing=lambda: contents.missing
        )
        for resource in NEEDED_RESOURCES:
            if resource in contents.missing:
                raise UsageError(f"{clusters.cannot_be_listed(resource, contents.missing[resource])}; {inputs.ASK}")
        verifier.version = section.version()
        self.sections += 1
        begun = self.seconds
        yield
        for heard in section.heard:
            for event in heard.events:
                verifier.add(event)
            self.seconds = max(self.seconds, begun + heard.until)
            for judged in verifier.judged(heard.until, self._may_judge):
                self.tally.add(judged)
                self._on_judged(judged, verifier)
            self.tally.skipped += verifier.skipped
            self.unreadable += verifier.unreadable
            verifier.skipped = verifier.unreadable = 0
            yield
