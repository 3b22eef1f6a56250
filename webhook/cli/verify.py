"""
Watch the decisions of the cluster's kube-scheduler, compute each one, and count how many agree:

    evenkeel verify --for 1h                       each Pod that gets a node, and each Pod that gets none
    evenkeel verify -n shop                        those of one namespace, until Ctrl-C
    evenkeel verify --record day.jsonl.gz          and record what is seen
    evenkeel verify --replay day.jsonl.gz          judge the record again, with this version of evenkeel

A decision agrees in two cases: the chosen node passes and has one of the highest scores, or no node passes and the
message is the same. Each decision that differs is written to a file, with the command that explains it. Nothing is
written to the cluster.
Exit code 0: all agree, 1: some differ, 2: bad input, 3: nothing could be compared.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from webhook.cluster.cluster import Contents
from webhook.cluster.contents import time_at
from webhook.cluster.dump_file import CompressedLines, write
from webhook.cluster.recording import Recording
from webhook.loading import clusters, inputs, selection
from webhook.loading.observing import ObservedSection, Observer, half_a_cpu, live, over_after, recorded
from webhook.loading.progress import line
from webhook.loading.usage import UsageError
from webhook.objects.times import duration, seconds_at
from webhook.render import verification as render
from webhook.render.verification import Difference, Observation
from webhook.verification.judgement import DIFFERS, Judged
from webhook.verification.verifier import Verifier

NOTHING_COMPARED = 3  # The exit code.
MOST_CASES = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="duration",
        metavar="TIME",
        help="how long to watch, such as 90s, 15m or 1h (default: until Ctrl-C)",
    )
    selection.add_namespace_arguments(parser, "all namespaces")
    inputs.add_access_arguments(parser)
    parser.add_argument("--record", metavar="FILE", type=Path, help="record the events to this file")
    parser.add_argument("--replay", metavar="FILE", type=Path, help="judge a file that --record has written")
    parser.add_argument(
        "--cases",
        metavar="DIR",
        type=Path,
        default=Path("verify-out"),
        help=f"the folder for a dump of each decision that differs, {MOST_CASES} at most (default: %(default)s)",
    )
    selection.add_output_argument(parser)
    inputs.add_quiet_argument(parser)
    inputs.add_scheduler_argument(parser)
    inputs.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    seconds, profiles = _seconds(args.duration), inputs.profiles(args.scheduler_config)
    source = inputs.Source("" if args.replay else inputs.LIVE, args.kubeconfig, args.context)
    _check(args)
    if args.kubernetes_version:
        inputs.given_features(args.kubernetes_version)
    namespace = selection.namespace(args, source, default="")
    options = [word for option in ("scheduler_config", "kubernetes_version") for word in _option(args, option)]
    differences: list[Difference] = []  # The first of them, which have a file.

    def on_judged(judged: Judged, verifier: Verifier) -> None:
        if judged.verdict != DIFFERS:
            return
        difference = Difference(judged)
        if len(differences) < MOST_CASES:
            difference = Difference(judged, _write_case(args.cases, judged, verifier, observer.contents))
            differences.append(difference)
        if args.output == selection.TEXT:
            show("")
            print(render.in_words(difference, options), flush=True)

    may_judge = (lambda: True) if args.replay else half_a_cpu()
    observer = Observer(profiles, args.kubernetes_version, namespace, may_judge=may_judge, on_judged=on_judged)
    notes: list[str] = []
    with line() as show:
        try:
            with _ended_by_sigterm(), _sections(args, source, seconds) as sections:
                for section in sections:
                    for _ in observer.take(section):
                        show(render.progress(observer.tally))
        except KeyboardInterrupt:
            if args.replay is not None:
                notes.append("Interrupted: the rest of the recording was not judged.")
        except UsageError as error:
            if not observer.tally.every.compared:
                raise
            notes.append(f"Ended early: {error}")
        notes = [*_notes(observer), *notes]
    observed = Observation(observer.kubernetes_version, observer.seconds, namespace, selection.noted(args, notes))
    if args.output == selection.JSON:
        print(render.as_json(observer.tally, observed, differences, options))
    else:
        print(render.text(observer.tally, observed))
    every = observer.tally.every
    return int(every.differ > 0) if every.compared else NOTHING_COMPARED


def _check(args: argparse.Namespace) -> None:
    """Raise UsageError if the options do not go together."""
    if args.replay is None:
        return
    for option in ("record", "duration", "kubeconfig", "context"):
        if getattr(args, option):
            name = "for" if option == "duration" else option
            raise UsageError(f"--{name}: found --replay, which asks no cluster; leave out one of the two")


def _seconds(text: str | None) -> float | None:
    """Return how many seconds --for says, None for no end."""
    if text is None:
        return None
    seconds = duration(text)
    if seconds is None:
        raise UsageError(f'--for: found "{text}", wanted a time such as 90s, 15m or 1h')
    return float(seconds)


def _option(args: argparse.Namespace, name: str) -> list[str]:
    value = getattr(args, name)
    return [f"--{name.replace('_', '-')}", str(value)] if value else []


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, by which containers and `timeout` end a program, do what Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _sections(
    args: argparse.Namespace, source: inputs.Source, seconds: float | None
) -> Iterator[Iterator[ObservedSection]]:
    """Yield the log of the cluster, or in the recording; errors in it are UsageErrors."""
    with inputs.usage_errors("verify"), ExitStack() as opened:
        if args.replay is not None:
            yield recorded(args.replay)
            return
        recording = opened.enter_context(Recording(args.record)) if args.record is not None else None
        client = inputs.client("verify", source, inputs.PATIENCE)
        yield live(client, (lambda: False) if seconds is None else over_after(seconds), recording)


def _write_case(folder: Path, judged: Judged, verifier: Verifier, contents: Contents) -> str:
    """Write a dump of the moment of a decision, and return the name of the file."""
    lines = CompressedLines()
    for raw in verifier.objects(judged):
        lines.add(raw)
    if (begun := seconds_at(contents.time)) is not None:
        contents = contents._replace(time=time_at(begun + judged.seconds))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(file.name[:4]) for file in folder.glob("[0-9][0-9][0-9][0-9].jsonl.gz")), default=0)
        path = folder / f"{number:04}.jsonl.gz"
        try:
            with path.open("wb") as file:
                write(file, contents, lines)
        except BaseException:  # Also an interrupt leaves no part of a file.
            path.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: {error.strerror}") from error
    return str(path)


def _notes(observer: Observer) -> list[str]:
    notes = [clusters.cannot_be_listed(resource, why) for resource, why in observer.contents.missing.items()]
    if observer.sections > 1:
        gaps = observer.sections - 1
        how_often = "once" if gaps == 1 else f"{gaps:,} times"
        notes.append(f"The watch was interrupted {how_often}; decisions in between were not seen.")
    if observer.unreadable:
        notes.append(f"{observer.unreadable:,} events were left out: their object has a field of a wrong type.")
    return notes
