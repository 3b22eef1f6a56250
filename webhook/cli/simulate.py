"""
Simulate what happens next: how the Pods of a workload would lie after each of some steps, and how many would wait:

    evenkeel simulate deployment/web scale=12
    evenkeel simulate deployment/web lose=topology.kubernetes.io/zone=a delete=topology.kubernetes.io/zone=a
    evenkeel simulate statefulset/db add=3,pool=new drain=pool=old delete=pool=old --cluster cluster.jsonl.gz
    evenkeel simulate -f deployment.yaml rollout     first applied, then rolled out once more

Steps: rollout, scale=REPLICAS, drain=NODES, cordon=NODES, lose=NODES (nobody reaches them), delete=NODES,
taint=NODES,KEY=VALUE:EFFECT, add=NUMBER[,KEY=VALUE…]; NODES are a NAME, or those with a label KEY=VALUE.
Each run does what kube-scheduler and the controllers do; chance breaks ties, and chooses among Pods that are as good
to delete. A Pod that is bound is ready at once, and available after minReadySeconds. Nothing is changed in the cluster.
Exit code 0: simulated, 1: what --fail-on names comes about in some run, or, for not-judged, not all was simulated,
2: bad input.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence

from webhook.loading import clusters, inputs, progress, selection
from webhook.loading.clusters import Known
from webhook.loading.simulated_runs import all_runs
from webhook.loading.usage import UsageError
from webhook.objects.fields import Raw
from webhook.objects.kinds import Kinds
from webhook.objects.references import ObjectRef
from webhook.objects.times import seconds_at
from webhook.placement.commands import Command, commands, read_template
from webhook.placement.inferred_defaults import given_defaults
from webhook.placement.remedies import Remedy
from webhook.placement.subject import next_replica
from webhook.render import simulation as render
from webhook.render import simulation_page
from webhook.scheduler.preemption import LOWEST_PRIORITY
from webhook.scheduler.profile import Profiles
from webhook.simulation import ties
from webhook.simulation.controllers import SIMULATED, SimulatedCluster
from webhook.simulation.drain_remedies import drain_remedies
from webhook.simulation.planning import Planned, is_simulated, moves_any, planned, wanted
from webhook.simulation.remedies import helping
from webhook.simulation.results import results
from webhook.simulation.step import STEP_FORMS, Step, StepError, parse_step

RUNS, MOST_RUNS, SEED = 200, 100_000, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="TYPE/NAME STEP",
        nargs="*",
        help="a workload, as kubectl names it, and steps in their order",
    )
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        help="a file with a workload, or with what is applied beside it, or - for standard input; repeatable",
    )
    inputs.add_cluster_arguments(parser, inputs.LIVE)
    selection.add_namespace_argument(parser)
    selection.add_output_argument(parser, selection.HTML)
    parser.add_argument("--runs", metavar="N", type=int, default=RUNS, help="how often (default: %(default)s)")
    parser.add_argument(
        "--seed", metavar="N", type=int, default=SEED, help="what chance begins with (default: %(default)s)"
    )
    parser.add_argument(
        "--ties", choices=ties.TIES, help="which of the best nodes is taken (default: as the Kubernetes version does)"
    )
    parser.add_argument(
        "--fail-on",
        choices=COMES_ABOUT,
        help="exit with 1 if in any run a Pod of the workload waits, or is missing, in the end (pending), a rollout or"
        " drain never finishes or fails (stuck), the skew is larger than maxSkew in the end (skew), or Pods are deleted"
        " and not replaced (lost); or if not all was simulated (not-judged)",
    )
    inputs.add_scheduler_argument(parser)
    inputs.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    if not 1 <= args.runs <= MOST_RUNS:
        raise UsageError(f"--runs: found {args.runs}, wanted 1 to {MOST_RUNS:,}")
    source, profiles = inputs.source(args), inputs.profiles(args.scheduler_config)
    names, steps = _words(args.words, bool(args.filename))
    kinds = inputs.policy(None).kinds
    namespace = selection.namespace(args, source)
    objects = _in_file(args, namespace)
    raw, known = _workload(args, source, namespace, names, steps, kinds, objects)
    made = _planned(args, raw, known, steps, kinds, profiles)
    if made.preempting > LOWEST_PRIORITY and not moves_any(steps):  # Then their victims have to be known, too.
        raw, known = _workload(args, source, namespace, names, steps, kinds, objects, made.preempting)
        made = _planned(args, raw, known, steps, kinds, profiles)
    ref = ObjectRef.of(raw)
    outcomes = list(progress.with_bar(all_runs(made.plan, args.seed, args.runs), args.runs, "runs"))
    outcome = results(made.plan, outcomes, drain_remedies(made.plan, args.seed, outcomes))
    helps = helping(made.plan, args.seed, outcomes, ref)
    shown = render.Simulated(
        ref,
        made.plan,
        args.seed,
        args.runs,
        outcome,
        made.not_judged,
        (*known.notes, *_unlisted(raw, known, kinds), *known.assumed, *made.notes),
        helps,
        [_commands(each.remedy, raw, kinds, applied=bool(args.filename)) for each in helps.changes],
    )
    if args.output == selection.HTML:
        print(simulation_page.html(shown, clusters.origin(source, known)))
    else:
        print(render.as_json(shown) if args.output == selection.JSON else render.text(shown))
    return int(bool(args.fail_on and COMES_ABOUT[args.fail_on](shown)))


def _commands(remedy: Remedy, raw: Raw, kinds: Kinds, *, applied: bool) -> tuple[Command, ...]:
    """Return the commands that make a change; the template of a workload from a file is changed in the file."""
    template = None if applied else read_template(raw, {}, kinds)
    of_template = template._replace(pod=template.spec) if template is not None else None
    return commands(remedy.edits, of_template)


def _waits(shown: render.Simulated) -> bool:
    end = shown.results[-1]
    return bool(end.pending.most or end.missing.most)


def _is_stuck(shown: render.Simulated) -> bool:
    return any(step.stuck or step.held for step in shown.results)


def _is_uneven(shown: render.Simulated) -> bool:
    return any(of.exceeds for of in shown.results[-1].constraints)


def _loses(shown: render.Simulated) -> bool:
    end = shown.results[-1]
    return any(step.lost for step in shown.results) or bool(end.missing.most and end.leaving.most)


# What --fail-on may name, and whether it comes about in any run.
COMES_ABOUT: Mapping[str, Callable[[render.Simulated], bool]] = {
    "pending": _waits,
    "stuck": _is_stuck,
    "skew": _is_uneven,
    "lost": _loses,
    inputs.NOT_JUDGED: lambda shown: bool(shown.not_judged),
}


def _planned(
    args: argparse.Namespace, raw: Raw, known: Known, steps: Sequence[Step], kinds: Kinds, profiles: Profiles
) -> Planned:
    """Return the plan; UsageError for a step that does nothing."""
    cluster = SimulatedCluster(known.snapshot, known.features, known.pods, known.others, seconds_at(known.time))
    try:
        return planned(
            raw,
            cluster,
            steps,
            kinds,
            applied=bool(args.filename),
            stored=known.replaced.get(ObjectRef.of(raw).key),
            tie_breaking=args.ties or "",
            defaults=given_defaults(known.pods, known.others),
            profiles=profiles,
        )
    except StepError as error:
        raise UsageError(str(error)) from error


def _unlisted(raw: Raw, known: Known, kinds: Kinds) -> Iterator[str]:
    """Yield what may not be listed of that by which kube-apiserver would add to the next Pods of the workload."""
    for subject in next_replica(raw, known.others, kinds):
        yield from clusters.unlisted_classes(subject.raw, known)


def _words(words: Sequence[str], from_file: bool) -> tuple[list[str], list[Step]]:
    """Return the words that name a workload, and the steps."""
    most = len(words) if from_file else 1 if "/" in "".join(words[:1]) else 2
    first = next((i for i, word in enumerate(words[:most]) if word.partition("=")[0] in STEP_FORMS), most)
    names, written = list(words[:first]), words[first:]
    if from_file and names:
        raise UsageError(f'found "{names[0]}" with -f, wanted steps: {", ".join(STEP_FORMS.values())}')
    if not from_file and not names:
        raise UsageError("wanted either TYPE/NAME, such as deployment/web, or -f FILE")
    if not from_file and not written:
        raise UsageError(f"found no step, wanted {', '.join(STEP_FORMS.values())}")
    try:
        return names, [parse_step(word) for word in written]
    except StepError as error:
        raise UsageError(str(error)) from error


def _in_file(args: argparse.Namespace, namespace: str) -> list[Raw]:
    """Return the objects in the files, none if there is no file."""
    return [clusters.in_namespace(obj, namespace) for obj in inputs.objects_of(args.filename or ())]


def _workload(
    args: argparse.Namespace,
    source: inputs.Source,
    namespace: str,
    names: Sequence[str],
    steps: Sequence[Step],
    kinds: Kinds,
    objects: list[Raw],
    preempting: int = LOWEST_PRIORITY,
) -> tuple[Raw, Known]:
    """
    Return the workload that is named or in the file, and the cluster: with the Pods that steps may move, and those of a
    lower priority than `preempting`.
    """
    if args.filename:
        simulated = [obj for obj in objects if is_simulated(obj)]
        if len(simulated) != 1:
            raise UsageError(f"{', '.join(args.filename)}: found {len(simulated)} workloads, wanted one of {_kinds()}")
        ref = ObjectRef.of(simulated[0])
        asks = wanted(ref, steps, preempting)
        known = clusters.read(source, args.kubernetes_version, asks, ref.namespace, objects)
        return _checked(simulated[0], kinds), known
    ref = selection.typed_name(names, kinds).in_namespace(namespace)
    if (ref.api_version, ref.kind) not in SIMULATED:
        raise UsageError(f"{ref}: is no workload whose controller is simulated, wanted one of {_kinds()}")
    known = clusters.read(source, args.kubernetes_version, wanted(ref, steps, preempting), namespace)
    raw = known.others.get(ref.key)
    if raw is None:
        raise UsageError(clusters.not_found(ref, known))
    return _checked(raw, kinds), known


def _checked(raw: Raw, kinds: Kinds) -> Raw:
    """Return the workload; UsageError if it cannot be read."""
    if wrong := clusters.unreadable(raw, kinds):
        raise UsageError("\n".join(wrong))
    return raw


def _kinds() -> str:
    return ", ".join(kind for _, kind in SIMULATED)
