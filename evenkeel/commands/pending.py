"""
List the Pods that wait for a node, by workload and cause, with the change that would place most of them:

    evenkeel pending             those of the context's namespace
    evenkeel pending -A          those of all namespaces
    evenkeel pending --cluster cluster.jsonl.gz

evenkeel computes the causes as kube-scheduler does, for the cluster as it is now. The last line says for how many Pods
kube-scheduler has said the same, if not for all. `evenkeel explain pod/NAME` shows one Pod in full.
Exit code 0: listed, 1: with --fail-on pending, a Pod waits; with --fail-on not-judged, a waiting Pod is not fully
judged, 2: bad input.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from evenkeel.clusters import known_cluster, selection, sources
from evenkeel.clusters.known_cluster import Known
from evenkeel.clusters.profiles import load_profiles, profiles_in
from evenkeel.clusters.selection import Candidates, Selection
from evenkeel.objects.pod_object import read_pod
from evenkeel.pending import text as render
from evenkeel.pending.groups import is_stuck, pending
from evenkeel.placement.kubectl_commands import reaching
from evenkeel.placement.node_makers import makers_note
from evenkeel.placement.subject import PlacementSubject, of_pod
from evenkeel.scheduler.profile import Profiles
from evenkeel.terminal import inputs, output
from evenkeel.terminal.style import Look, Styled, add_color_argument, style_of
from webhook.cli import options
from webhook.findings.wording import begun, ignores_constraints, number_of
from webhook.kubernetes.fields import Raw, texts_at


def add_arguments(parser: argparse.ArgumentParser) -> None:
    sources.add_cluster_arguments(parser, options.LIVE)
    selection.add_namespace_arguments(parser)
    selection.add_selector_argument(parser)
    output.add_output_argument(parser)
    options.add_quiet_argument(parser)
    add_color_argument(parser)
    parser.add_argument(
        "--fail-on",
        choices=("pending", inputs.NOT_JUDGED),
        help="when to exit with 1; pending: if any Pod waits; not-judged: if a Pod that waits is not fully judged",
    )
    inputs.add_scheduler_argument(parser)
    options.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    source, profiles = sources.source(args), load_profiles(args.scheduler_config)
    chosen = selection.selection(args, source)

    known = known_cluster.read(source, args.kubernetes_version, _waits, chosen.namespace, needs_pods=True)
    profiles = profiles_in(known.snapshot.nodes, args.scheduler_config, profiles, known.features)
    all_pods = [of_pod(pod, known.others) for pod in known.pods]
    subjects = [pod for pod in all_pods if chosen.has(pod.ref.namespace, pod.pod.labels)]
    not_chosen = [pod for pod in all_pods if not chosen.has(pod.ref.namespace, pod.pod.labels)]
    waiting, competing = ([pod for pod in pods if is_stuck(pod, profiles)] for pods in (subjects, not_chosen))
    listed = pending(waiting, known.snapshot, known.features, profiles, known.others, competing=competing)
    kubectl_options = sources.kubectl_options(args)
    groups = tuple([group._replace(commands=reaching(group.commands, kubectl_options)) for group in listed.groups])
    listed = listed._replace(groups=groups)
    assumed = [profile.assumed for profile in profiles.values() if profile.assumed]
    others = Counter(_other_reason(subject, profiles) for subject in subjects if not is_stuck(subject, profiles))
    around = render.Surroundings(
        none_listed="" if waiting else _none_listed(chosen, source, known, all_pods, competing),
        elsewhere=Counter(pod.ref.namespace for pod in competing if chosen.selector.matches(pod.pod.labels)),
        notes=(*(assumed if any(not pod.pod.constraints for pod in waiting) else ()), *known.notes),
        assumed=(
            *(() if listed.agree == listed.compared else known.assumed),
            *(makers_note(known.snapshot) if listed.groups else ()),
        ),
        options=sources.repeated(args),
    )
    around = around._replace(notes=output.noted(args, around.notes))
    if args.output == output.JSON:
        print(render.as_json(listed, others, around))
    else:
        print(render.text(listed, others, around, style_of(args.color)))
    if args.fail_on == inputs.NOT_JUDGED:
        return int(any(group.gaps for group in listed.groups))
    return 1 if args.fail_on and waiting else 0


def _none_listed(
    chosen: Selection,
    source: sources.Source,
    known: Known,
    all_pods: Sequence[PlacementSubject],
    competing: Sequence[PlacementSubject],
) -> str:
    """Return that no Pod is listed: where others wait, how many Pods were looked at, or why there are none."""
    waiting = [Candidates(pod.ref.namespace, pod.pod.labels) for pod in competing]
    on_nodes = [
        Candidates(namespace, group.labels, sum(group.nodes.values()))
        for namespace, groups in known.snapshot.pods.items()
        for group in groups.values()
    ]
    pods = [*on_nodes, *(Candidates(pod.ref.namespace, pod.pod.labels) for pod in all_pods)]
    number = sum(candidates.number for candidates in pods if chosen.has(candidates.namespace, candidates.labels))
    if number and not waiting:
        return Styled(
            Look.GOOD, f"No Pod waits for lack of a node; looked at {number_of(number, 'Pod')}{chosen.in_words}."
        )
    what, candidates = ("Pod that waits for lack of a node", waiting) if waiting else ("Pod that runs or waits", pods)
    return f"{begun(selection.none_found(what, chosen, candidates, source))}."


def _waits(pod: Raw) -> bool:
    # Most Pods have a node, and are not read further.
    return not texts_at(pod, "spec.nodeName")[0] and read_pod(pod).waits


def _other_reason(subject: PlacementSubject, profiles: Profiles) -> str:
    """Return why a Pod waits that kube-scheduler has not refused."""
    if subject.ignored_by:
        return ignores_constraints(subject.ignored_by, "such Pods")
    if subject.scheduler not in profiles:
        return f"placed by the scheduler {subject.scheduler}"
    return subject.verdict.reason or "not tried yet"
