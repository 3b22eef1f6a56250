"""
Simulate steps, and print what each does to the Pods of workloads: how many find a node, how many wait, and why.

    evenkeel simulate rollout deployment/web
    evenkeel simulate scale deployment/web --replicas 12
    evenkeel simulate lose eu-west-1a delete zone=eu-west-1a deployment/web
    evenkeel simulate add 3,pool=new drain pool=old delete pool=old statefulset/db --cluster cluster.jsonl.gz
    helm template shop | evenkeel simulate rollout -f - --cluster cluster.jsonl.gz --fail-on stuck,pending
    evenkeel simulate lose eu-west-1a -A

Steps: rollout, scale, drain NODES, cordon NODES, lose NODES (they become unreachable), delete NODES,
taint NODES KEY=VALUE:EFFECT, add NUMBER[,KEY=VALUE…]. NODES is the name of a node, a zone, or a label KEY=VALUE of
nodes; zone=VALUE is short for topology.kubernetes.io/zone=VALUE. Without a step, rollout.
Without a name, a rollout and a scale are of all workloads that -n, -A and -l choose. Other steps are of nodes: all
workloads are simulated, and -n, -A and -l choose which of them are printed.
Each run does what kube-scheduler and the controllers do. Chance decides ties, and which of equal Pods is deleted.
A Pod is ready as soon as it has a node, and available after minReadySeconds. Nothing in the cluster changes.
Exit code 0: simulated, 1: what --fail-on names happens in at least one run; with not-judged, something was not
simulated, 2: bad input.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from shlex import join
from typing import NamedTuple

from evenkeel.clusters import known_cluster, selection, sources
from evenkeel.clusters.known_cluster import Known
from evenkeel.clusters.profiles import load_profiles, profiles_in
from evenkeel.clusters.selection import Selection
from evenkeel.explain.as_json import command_json
from evenkeel.objects.pod_object import read_pod
from evenkeel.objects.workload_object import read_workload_object
from evenkeel.placement.inferred_defaults import newest_pods
from evenkeel.placement.kubectl_commands import commands, reaching
from evenkeel.placement.node_makers import makers_note
from evenkeel.placement.pod_defaults import defaults_in_force
from evenkeel.placement.subject import ignoring_placer, next_replica
from evenkeel.scheduler.preemption import LOWEST_PRIORITY
from evenkeel.scheduler.profile import Profiles
from evenkeel.simulate import text as render
from evenkeel.simulate.applied_workloads import check_job, check_namespaces, is_applied, is_as_stored
from evenkeel.simulate.controllers import SIMULATED, SimulatedCluster
from evenkeel.simulate.cures import closed, cures, explained
from evenkeel.simulate.outcomes import StepOutcome
from evenkeel.simulate.outcomes import run as run_once
from evenkeel.simulate.planning import (
    Planned,
    is_simulated,
    moves_any,
    planned_workloads,
    strategy_error,
    takes,
    unknown_fields,
    wanted,
)
from evenkeel.simulate.results import CureResult, Simulation, WayBackResult, ranged, results
from evenkeel.simulate.run import Plan
from evenkeel.simulate.simulated_runs import all_runs, until_unchanged
from evenkeel.simulate.step import ROLLOUT, SCALE, Step, StepError, parse_step, parse_words
from evenkeel.simulate.ways_back import deletions_after
from evenkeel.terminal import inputs, output, progress
from evenkeel.terminal.style import add_color_argument, style_of
from webhook.cli import options
from webhook.cli.usage import UsageError, not_among
from webhook.findings.wording import ignores_constraints
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.kinds import Kinds
from webhook.kubernetes.labels import labels_in
from webhook.kubernetes.references import ObjectKey, ObjectRef, owner_of
from webhook.kubernetes.times import seconds_at
from webhook.policy.policy import Policy

RUNS, MOST_RUNS, SEED = 200, 100_000, 1
OF_SELECTION = {"-A": "all_namespaces", "-l": "selector"}
NO_PODS = "No workload has Pods, so no Pod can be lost."
PODS_IN_ALL_RUNS = 100_000  # that steps touch
RUNS_IN_WORDS = f"fewer if steps touch more than {PODS_IN_ALL_RUNS // RUNS:,} Pods"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="STEP TYPE/NAME",
        nargs="*",
        help="steps in order, and workloads, as in kubectl; without steps: rollout",
    )
    parser.add_argument("--replicas", metavar="N", type=int, help="the number of replicas of the step scale")
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        help="a file or folder to apply first, or - for standard input: its workloads are rolled out; repeatable",
    )
    sources.add_cluster_arguments(parser, options.LIVE)
    inputs.add_policy_of_new_pods_argument(parser)
    selection.add_namespace_arguments(parser)
    selection.add_selector_argument(parser)
    output.add_output_argument(parser)
    options.add_quiet_argument(parser)
    add_color_argument(parser)
    parser.add_argument(
        "--runs",
        metavar="N",
        type=int,
        help=f"the number of runs (default: {RUNS}, or half if more change nothing; {RUNS_IN_WORDS})",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=int,
        default=SEED,
        help="the number that random choices start from (default: %(default)s)",
    )
    parser.add_argument(
        "--fail-on",
        metavar="WHAT[,WHAT…]",
        type=_fail_on,
        default=(),
        help="exit with 1 if any of these is true in any run; pending: in the end, a Pod waits or is missing; "
        "stuck: in any step, a rollout or drain does not finish on the nodes that are there, or a drain fails; "
        "skew: in the end, the skew is larger than maxSkew; lost: a deleted Pod is not replaced; "
        "not-judged: something was not simulated",
    )
    inputs.add_scheduler_argument(parser)
    options.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    if args.runs is not None and not 1 <= args.runs <= MOST_RUNS:
        raise UsageError(f"--runs: found {args.runs}, wanted 1 to {MOST_RUNS:,}")
    policy = inputs.policy_of_today(args.policy) if args.policy else None
    source, profiles = sources.source(args), load_profiles(args.scheduler_config)
    kinds = (policy or options.policy(None)).kinds
    names, steps = _words(args)
    if names and (selecting := [option for option in ("-A", "-l") if vars(args)[OF_SELECTION[option]]]):
        raise UsageError(f"{' and '.join(selecting)}: leave out TYPE/NAME to choose workloads by namespace or labels")
    selected = selection.selection(args, source)
    written = inputs.objects_of(args.filename or ())
    default = selection.namespace_to_apply_in(args, source)
    files = [known_cluster.in_namespace(obj, default) for obj in written]
    file_refs = _workloads_in(files, args.filename, selected, alone=not names)
    refs = _named(names, selected.namespace, kinds, file_refs) if names else file_refs
    rolls_out_first = bool(refs) and {*refs} <= {*file_refs} and (not steps or steps[0].action == ROLLOUT)
    if rolls_out_first:  # To apply them is the first rollout.
        steps = steps[1:]
    known, refs = _read(args, source, selected.namespace, refs, steps, files)
    profiles = profiles_in(known.snapshot.nodes, args.scheduler_config, profiles, known.features)
    if not refs and any(step.action in (ROLLOUT, SCALE) for step in steps):
        refs = _selected_workloads(args, known, selected, steps)
    if not args.namespace:
        check_namespaces(written, files, known)
    raws = [_readable(ref, known, kinds) for ref in refs]
    unchanged_refs = [ref for ref in refs if ref in file_refs and is_as_stored(ref, known, files)]
    applied_keys = {ref.key for ref in refs if ref in file_refs and ref not in unchanged_refs}
    for ref in file_refs:
        check_job(ref, known)
    if names and rolls_out_first and not applied_keys:  # What the files change is perhaps not read.
        first_rollout = [parse_step(ROLLOUT)]
        if all(takes(raw, first_rollout, known.features) for raw in raws):
            steps = [*first_rollout, *steps]
    gaps = _without_controller(files, known, kinds)
    if not names and not files:  # A rollout is of all workloads that are chosen.
        gaps += _not_rolled_out(known, selected, steps)
    unchanged_notes = list[str]()
    if unchanged_refs and not steps:  # Steps are simulated also of workloads that the files do not change.
        unchanged_notes = [render.unchanged(len(unchanged_refs))]
        raws = [raw for raw in raws if ObjectRef.of(raw) not in unchanged_refs]
    left_out = dict(_left_out(raws, known, kinds, applied_keys))
    gaps += left_out.values()
    raws = [raw for raw in raws if str(ObjectRef.of(raw)) not in left_out]
    if (unchanged_notes or left_out) and not raws:
        version, not_judged, unchanged = f"1.{known.features.minor}", tuple(gaps), tuple(unchanged_notes)
        nothing = Simulation(kubernetes_version=version, seed=args.seed, not_judged=not_judged, notes=unchanged)
        as_json = args.output == output.JSON
        print(render.as_json(nothing) if as_json else render.nothing_changes(unchanged, gaps))
        return int(bool(gaps) and inputs.NOT_JUDGED in args.fail_on)
    plan_inputs = _PlanInputs(args, steps, kinds, policy, profiles, applied_keys)
    planned = _planned(plan_inputs, raws, known)
    if raws and planned.preemptor_priority > LOWEST_PRIORITY and not moves_any(steps):  # Victims are to be read, too.
        known, _ = _read(args, source, selected.namespace, refs, steps, files, planned.preemptor_priority)
        planned = _planned(plan_inputs, raws, known)
    plan = planned.plan
    shown = {str(ref) for ref in map(ObjectRef.of, raws)} or _shown(args, plan, selected)
    runs = args.runs or max(2, min(RUNS, PODS_IN_ALL_RUNS // max(1, plan.touched)))

    def printed_form(outcomes: Sequence[tuple[StepOutcome, ...]]) -> object:
        step_results = results(plan, outcomes, shown)
        return step_results if args.output == output.JSON else render.steps_lines(plan, step_results)

    # Without --runs, it stops once the second half of the runs changes nothing that is printed.
    def is_unchanged(half: Sequence[tuple[StepOutcome, ...]], done: Sequence[tuple[StepOutcome, ...]]) -> bool:
        return args.runs is None and printed_form(half) == printed_form(done)

    outcomes_by_run = progress.with_bar(all_runs(run_once, plan, args.seed, runs), runs, "runs", timed=True)
    outcomes = until_unchanged(outcomes_by_run, is_unchanged)
    now, *after = results(plan, outcomes, shown)
    notes = [
        *output.noted(args, (*planned.assumed, *known.notes, *known.assumed)),
        *dict.fromkeys(note for raw in raws or _with_pods(known) for note in _unlisted(raw, known, kinds)),
        *planned.notes,
        *([] if plan.workloads else [NO_PODS]),
        *unchanged_notes,
        *(makers_note(known.snapshot) if any(step_result.waits for step_result in after) else ()),
        *map(str, closed(plan, args.seed, outcomes)),
    ]
    waiting = explained(plan, args.seed, outcomes)
    kubectl_options = sources.kubectl_options(args)
    cure_results = [
        CureResult(
            workload=f"{ref.kind}/{ref.name}",
            api_group=ref.group,
            namespace=ref.namespace,
            change=cure.change,
            commands=tuple(map(command_json, reaching(commands(cure.edits, None), kubectl_options))),
        )
        for ref, cures_of_ref in cures(plan, args.seed, outcomes, applied=bool(applied_keys)).items()
        for cure in cures_of_ref
    ]
    is_small = plan.touched <= PODS_IN_ALL_RUNS // RUNS
    ways_back = [
        WayBackResult(f"{ref.kind}/{ref.name}", ref.group, ref.namespace, ranged(numbers), _naming_moves(args, ref))
        for ref, numbers in (deletions_after(planned, args.seed, outcomes) if is_small else ())
    ]
    simulation = Simulation(
        kubernetes_version=f"1.{plan.start.features.minor}",
        seed=args.seed,
        runs=len(outcomes),
        early=len(outcomes) < runs,
        now=now,
        steps=tuple(after),
        cures=tuple(cure_results),
        ways_back=tuple(ways_back),
        explain=_explaining(args, waiting, applied_keys) if waiting is not None else "",
        not_judged=tuple(dict.fromkeys((*planned.not_judged, *gaps))),
        notes=tuple(notes),
    )
    as_json = args.output == output.JSON
    style, of_policy = style_of(args.color), policy is not None
    print(render.as_json(simulation) if as_json else render.text(simulation, plan, style, of_policy=of_policy))
    return int(any(COMES_ABOUT[word](simulation, bool(raws)) for word in args.fail_on))


class _PlanInputs(NamedTuple):
    """What a plan is made by, besides the workloads and the cluster."""

    args: argparse.Namespace
    steps: Sequence[Step]
    kinds: Kinds
    policy: Policy | None
    profiles: Profiles
    applied: Set[ObjectKey]  # the workloads that come from files


def _left_out(raws: Sequence[Raw], known: Known, kinds: Kinds, applied: Set[ObjectKey]) -> Iterator[tuple[str, str]]:
    """
    Yield the workloads whose Pods something else than kube-scheduler places, or to which a file gives a strategy that
    is not known, with what is not judged.
    """
    newest = newest_pods(map(read_pod, known.pods), known.others)
    for raw in raws:
        ref = ObjectRef.of(raw)
        error = strategy_error(read_workload_object(raw), known.features)
        if error and ref.key in applied:
            yield str(ref), f"{ref} ({error.removeprefix(f'{ref}: ')})"
            continue
        for subject in next_replica(raw, known.others, kinds):
            if placer := ignoring_placer(subject, newest, known.snapshot.nodes):
                yield str(subject.ref), f"{subject.ref} ({ignores_constraints(placer)})"


def _selected_workloads(
    args: argparse.Namespace, known: Known, selected: Selection, steps: Sequence[Step]
) -> list[ObjectRef]:
    """Return the workloads that -n, -A and -l choose, that the steps change, and that no other object owns."""
    refs = [
        ObjectRef.of(raw) for raw in _chosen(known, selected) if is_simulated(raw) and takes(raw, steps, known.features)
    ]
    if not refs:
        candidates = [
            selection.Candidates(ObjectRef.of(raw).namespace, labels_in(raw))
            for raw in known.others.values()
            if owner_of(raw) is None and is_simulated(raw) and takes(raw, steps, known.features)
        ]
        step = next(step for step in steps if step.action in (ROLLOUT, SCALE))
        none_found = selection.none_found("workload that it changes", selected, candidates, sources.source(args))
        raise UsageError(f"{step.text}: {none_found}")
    return sorted(refs)


def _chosen(known: Known, selected: Selection) -> Iterator[Raw]:
    """Yield the objects that -n, -A and -l choose, and that no other object owns."""
    for raw in known.others.values():
        if owner_of(raw) is None and selected.has(ObjectRef.of(raw).namespace, labels_in(raw)):
            yield raw


def _not_rolled_out(known: Known, selected: Selection, steps: Sequence[Step]) -> Iterator[str]:
    """Yield what makes Pods and whose rollout is not simulated, where all workloads are to be rolled out."""
    if any(step.action == ROLLOUT for step in steps):
        for raw in filter(is_simulated, _chosen(known, selected)):
            yield from unknown_fields(raw, known.features)
        makers = {ObjectRef.of(raw).key for raw in _with_pods(known)}
        refs = [ObjectRef.of(raw) for raw in _chosen(known, selected) if not is_simulated(raw)]
        yield from sorted({f"rollouts of the kind {ref.kind}" for ref in refs if ref.key in makers})


def _shown(args: argparse.Namespace, plan: Plan, selected: Selection) -> set[str]:
    """Return the names of the workloads that -n, -A and -l choose; UsageError if there are only others."""
    workloads = plan.workloads
    shown = {name for name, workload in workloads.items() if selected.has(workload.ref.namespace, workload.labels)}
    if workloads and not shown:
        candidates = [selection.Candidates(workload.ref.namespace, workload.labels) for workload in workloads.values()]
        raise UsageError(selection.none_found("workload that has Pods", selected, candidates, sources.source(args)))
    return shown


def _with_pods(known: Known) -> list[Raw]:
    """Return the objects that own Pods."""
    owners = {
        owner.key(known_cluster.place(pod).namespace) for pod in known.pods if (owner := owner_of(pod)) is not None
    }
    return [known.others[key] for key in sorted(owners & known.others.keys())]


def _cluster(known: Known) -> SimulatedCluster:
    return SimulatedCluster(known.snapshot, known.features, known.pods, known.others, seconds_at(known.time))


def _explaining(args: argparse.Namespace, ref: ObjectRef, applied: Set[ObjectKey]) -> str:
    """Return the command that explains a Pod, or the next one of a workload, as a shell reads it."""
    files = args.filename if ref.key in applied else ()
    target = [word for name in files for word in ("-f", name)] or [ref.in_kubectl]
    given_options = sources.repeated(args, *(() if ref.kind == "Pod" else ("policy",)))
    return join(["evenkeel", "explain", *target, "-n", ref.namespace, *given_options])


def _naming_moves(args: argparse.Namespace, ref: ObjectRef) -> str:
    """Return the command that names the Pods to delete in the cluster itself, once the steps are done."""
    in_cluster = argparse.Namespace(**{**vars(args), "cluster": options.LIVE, "kubernetes_version": None})
    given_options = sources.repeated(in_cluster, "policy")
    return join(["evenkeel", "report", ref.in_kubectl, "-n", ref.namespace, "--moves", *given_options])


def _waits(simulation: Simulation, named: bool) -> bool:
    """
    Return whether in the end a Pod waits, or is missing and will be made.

    Of workloads that are not named, only Pods that did not wait before count.  In workloads that are not printed, Pods
    of a negative priority may wait: they are placeholders.
    """
    end = simulation.steps[-1]
    judged = (*end.workloads, *(workload for workload in end.elsewhere if workload.priority >= 0))
    numbers = [
        number
        for workload in judged
        for number in (workload.more, workload.leaving, workload.queued, workload.stranded)
    ]
    if named:
        numbers += [workload.waiting for workload in end.workloads]
    return any(number.most for number in numbers)


def _is_stuck(simulation: Simulation, _: bool) -> bool:
    rollouts = (workload.rollout for step in simulation.steps for workload in step.workloads)
    return any(step.held for step in simulation.steps) or any(
        rollout is not None and rollout.stuck for rollout in rollouts
    )


def _is_uneven(simulation: Simulation, _: bool) -> bool:
    """Return whether in the end, after the last step that changed a workload, its skew is larger than maxSkew."""
    last = {str(workload): workload for step in simulation.steps for workload in step.workloads}
    return any(constraint.exceeds_max_skew for workload in last.values() for constraint in workload.constraints)


def _loses(simulation: Simulation, _: bool) -> bool:
    """Return whether a Pod that a step deletes is not replaced."""
    ends = [workload for step in simulation.steps for workload in (*step.workloads, *step.elsewhere)]
    return any(workload.gone.most for workload in ends) or any(
        workload.leaving.most for workload in simulation.steps[-1].workloads
    )


# What --fail-on may name, and whether it happens in any run.  The second argument: workloads are named.
COMES_ABOUT: Mapping[str, Callable[[Simulation, bool], bool]] = {
    "pending": _waits,
    "stuck": _is_stuck,
    "skew": _is_uneven,
    "lost": _loses,
    inputs.NOT_JUDGED: lambda simulation, _: bool(simulation.not_judged),
}


def _planned(plan_inputs: _PlanInputs, raws: Sequence[Raw], known: Known) -> Planned:
    """Return the plan; UsageError for a step that does nothing."""
    keyed = [(ObjectRef.of(raw).key, raw) for raw in raws]
    try:
        return planned_workloads(
            [raw if key in plan_inputs.applied else known.replaced.get(key, raw) for key, raw in keyed],
            _cluster(known),
            plan_inputs.steps,
            plan_inputs.kinds,
            applied=plan_inputs.applied,
            stored=known.replaced,
            defaults=defaults_in_force(plan_inputs.policy, known.pods, known.others, known.snapshot),
            profiles=plan_inputs.profiles,
        )
    except StepError as error:
        raise UsageError(str(error)) from error


def _unlisted(raw: Raw, known: Known, kinds: Kinds) -> Iterator[str]:
    """Yield a note for each kind that may not be listed, and from which kube-apiserver would fill in the next Pods."""
    for subject in next_replica(raw, known.others, kinds):
        yield from known_cluster.unlisted_classes(subject.raw, known)


def _words(args: argparse.Namespace) -> tuple[list[str], list[Step]]:
    """Return the words that name a workload, and the steps: a rollout if none is written."""
    try:
        names, steps = parse_words(args.words, args.replicas)
    except StepError as error:
        raise UsageError(str(error)) from error
    if not (names or steps or args.filename or args.all_namespaces or args.selector):
        of_all = "or steps of the nodes of a whole cluster, such as drain NODE"
        of_one = "a step and TYPE/NAME, such as rollout deployment/web, or -f FILE"
        raise UsageError(f"found no workload and no step; wanted {of_one}, {of_all}")
    return names, steps or ([] if args.filename else [parse_step(ROLLOUT)])


def _fail_on(text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    if unknown := [word for word in words if word not in COMES_ABOUT]:
        raise argparse.ArgumentTypeError(not_among(unknown[0], COMES_ABOUT))
    return words


def _workloads_in(
    files: Sequence[Raw], names: Sequence[str] | None, selected: Selection, *, alone: bool
) -> list[ObjectRef]:
    """
    Return the workloads in files that -l chooses.

    UsageError if two are the same, or if there is none and the files `alone` are simulated.
    """
    applied = [obj for obj in files if is_applied(obj) and owner_of(obj) is None]
    refs = [ObjectRef.of(obj) for obj in applied if selected.selector.matches(labels_in(obj))]
    where = ", ".join(names or ())
    if names and alone and not refs:
        labelled = " with the labels that -l wants" if applied else ""
        hooks = "; hooks of Helm and Argo CD are left out" if any(map(is_simulated, files)) and not applied else ""
        raise UsageError(f"{where}: found no workload{labelled}, wanted one of the kinds {_kinds()}{hooks}")
    if twice := [ref for ref, number in Counter(refs).items() if number > 1]:
        raise UsageError(f"{where}: found {twice[0]} twice, wanted each workload once; leave one out")
    return refs


def _named(names: Sequence[str], namespace: str, kinds: Kinds, file_refs: Sequence[ObjectRef]) -> list[ObjectRef]:
    """UsageError for a workload whose controller is not simulated."""
    names_of_each = [[name] for name in names] if "/" in names[0] else [list(names)]
    keys = [ref.key for ref in file_refs]
    refs = [
        known_cluster.in_its_namespace(selection.typed_name(words, kinds).in_namespace(namespace), keys)
        for words in names_of_each
    ]
    for ref in refs:
        if (ref.api_version, ref.kind) not in SIMULATED:
            raise UsageError(f"{ref}: its controller cannot be simulated, wanted one of {_kinds()}")
    return list(dict.fromkeys(refs))


def _read(
    args: argparse.Namespace,
    source: sources.Source,
    namespace: str,
    refs: list[ObjectRef],
    steps: Sequence[Step],
    files: Sequence[Raw],
    preemptor_priority: int = LOWEST_PRIORITY,
) -> tuple[Known, list[ObjectRef]]:
    """
    Return the cluster with the objects of the files, and the workloads, each in its namespace.

    It has the Pods that steps may move, and those of a lower priority than `preemptor_priority`.
    """
    namespaces = {ref.namespace for ref in refs}
    only = namespaces.pop() if source.live and len(namespaces) == 1 else namespace
    # Where a workload names no namespace, which Pods are wanted is only known once all are read.
    at_first = _wanted(refs, steps, preemptor_priority) if refs and all(ref.namespace for ref in refs) else _any_pod
    known = known_cluster.read(source, args.kubernetes_version, at_first, only, files, applied=files)
    in_namespaces = [known_cluster.in_its_namespace(ref, known.others) for ref in refs]
    if in_namespaces != refs:
        known = known._replace(pods=tuple(filter(_wanted(in_namespaces, steps, preemptor_priority), known.pods)))
    return known, in_namespaces


def _any_pod(_: Raw) -> bool:
    return True


def _wanted(refs: Sequence[ObjectRef], steps: Sequence[Step], preemptor_priority: int) -> Callable[[Raw], bool]:
    asks = [wanted(ref, steps, preemptor_priority) for ref in {ref.namespace: ref for ref in refs}.values()]
    return lambda pod: any(ask(pod) for ask in asks)


def _readable(ref: ObjectRef, known: Known, kinds: Kinds) -> Raw:
    """Return a workload of the cluster or the files; UsageError if it is not there, or cannot be read."""
    raw = known.others.get(ref.key)
    if raw is None:
        raise UsageError(known_cluster.not_found(ref, known))
    return _checked(raw, kinds)


def _without_controller(files: Sequence[Raw], known: Known, kinds: Kinds) -> list[str]:
    """Return the objects in the files that make Pods, and whose controller is not simulated."""
    others = [obj for obj in files if not is_applied(obj) and ObjectRef.of(obj).kind != "Pod"]
    return [str(ObjectRef.of(obj)) for obj in others if any(next_replica(obj, known.others, kinds))]


def _checked(raw: Raw, kinds: Kinds) -> Raw:
    """Return the workload; UsageError if it cannot be read."""
    if wrong := known_cluster.unreadable(raw, kinds):
        raise UsageError("\n".join(wrong))
    return raw


def _kinds() -> str:
    return ", ".join(kind for _, kind in SIMULATED)
