"""
List every Pod that kube-scheduler could not place, by workload and cause, with the change that would free most:

    evenkeel pending             those of the context's namespace
    evenkeel pending -A          those of all namespaces
    evenkeel pending -A --cluster cluster.jsonl.gz

Causes are computed as kube-scheduler computes them, for the cluster as it is now. The last line says how often that is
what kube-scheduler itself has said. `evenkeel explain pod/NAME` shows one Pod in full.
Exit code 0: listed, 1: with --fail-on pending, if any Pod waits, with --fail-on not-judged, if for one of them not all
is judged, 2: bad input.
"""

from __future__ import annotations

import argparse
from collections import Counter

from webhook.loading import clusters, inputs, selection
from webhook.objects.fields import Raw, texts_at, value_at
from webhook.objects.labels import labels_in
from webhook.placement.subject import PlacementSubject, of_pod
from webhook.render import pending as render
from webhook.scheduler.profile import Profiles
from webhook.simulation.pending import is_stuck, pending


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_cluster_arguments(parser, inputs.LIVE)
    selection.add_namespace_arguments(parser)
    selection.add_selector_argument(parser)
    selection.add_output_argument(parser)
    parser.add_argument(
        "--fail-on",
        choices=("pending", inputs.NOT_JUDGED),
        help="exit with 1 if any Pod waits; not-judged: if for one of them not all is judged",
    )
    inputs.add_scheduler_argument(parser)
    inputs.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    source, profiles = inputs.source(args), inputs.profiles(args.scheduler_config)
    chosen = selection.selection(args, source)

    def wanted(pod: Raw) -> bool:
        namespace, phase, node = texts_at(pod, "metadata.namespace", "status.phase", "spec.nodeName")
        return (
            not node
            and phase in ("", "Pending")
            and value_at(pod, ("metadata", "deletionTimestamp")) is None
            and chosen.namespace in ("", namespace)
            and chosen.selector.matches(labels_in(pod))
        )

    known = clusters.read(source, args.kubernetes_version, wanted, chosen.namespace, needs_pods=True)
    subjects = [of_pod(pod, known.others) for pod in known.pods]
    waiting = [subject for subject in subjects if is_stuck(subject, profiles)]
    listed = pending(waiting, known.snapshot, known.features, profiles, known.others)
    others = Counter(_other(subject, profiles) for subject in subjects if not is_stuck(subject, profiles))
    notes = known.notes if listed.agree == listed.compared else (*known.notes, *known.assumed)
    if chosen.namespace and not subjects:
        notes = (*notes, f"Only the namespace {chosen.namespace} was looked at; -A looks at all.")
    form = render.as_json if args.output == selection.JSON else render.text
    print(form(listed, others, notes))
    if args.fail_on == inputs.NOT_JUDGED:
        return int(any(group.gaps for group in listed.groups))
    return 1 if args.fail_on and waiting else 0


def _other(subject: PlacementSubject, profiles: Profiles) -> str:
    """Return why a Pod waits that kube-scheduler has not refused."""
    if subject.scheduler not in profiles:
        return f"placed by the scheduler {subject.scheduler}"
    return subject.verdict.reason or "not tried yet"
