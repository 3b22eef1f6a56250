"""
Simulate steps, and print where the Pods of a workload are after each step, and how many wait for a node. Without a
workload, print which workloads of the whole cluster lose Pods:

    evenkeel simulate rollout deployment/web
    evenkeel simulate scale deployment/web --replicas 12
    evenkeel simulate lose eu-west-1a delete zone=eu-west-1a deployment/web
    evenkeel simulate add 3,pool=new drain pool=old delete pool=old statefulset/db --cluster cluster.jsonl.gz
    helm template shop | evenkeel simulate rollout -f - --cluster cluster.jsonl.gz --fail-on stuck,pending
    evenkeel simulate lose eu-west-1a -A

Steps: rollout, scale, drain NODES, cordon NODES, lose NODES (they become unreachable), delete NODES,
taint NODES KEY=VALUE:EFFECT, add NUMBER[,KEY=VALUE…]. NODES is the name of a node, a zone, or a label KEY=VALUE of
nodes; zone=VALUE is short for topology.kubernetes.io/zone=VALUE. Without a step, rollout.
Each run does what kube-scheduler and the controllers do. Chance decides ties, and which of equal Pods is deleted.
A Pod is ready as soon as it has a node, and available after minReadySeconds. Nothing in the cluster changes.
Without a workload, all workloads are simulated together; -n, -A and -l choose which of them are printed.
Exit code 0: simulated, 1: what --fail-on names happens in at least one run; with not-judged, something was not
simulated, 2: bad input.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import join

from webhook.cluster.reduction import only_read
from webhook.findings.wording import first_of
from webhook.loading import clusters, inputs, progress, selection
from webhook.loading.clusters import Known
from webhook.loading.pod_defaults import defaults_in_force
from webhook.loading.selection import Selection
from webhook.loading.simulated_runs import all_runs, until_unchanged
from webhook.loading.usage import UsageError
from webhook.objects.fields import Raw, as_mapping, value_at
from webhook.objects.kinds import JOB_LABELS, Kinds
from webhook.objects.labels import labels_in
from webhook.objects.references import ObjectRef, owner_of
from webhook.objects.times import seconds_at
from webhook.placement.commands import commands
from webhook.placement.subject import next_replica
from webhook.policy.policy import Policy
from webhook.render import simulation as render
from webhook.render.explanation import command_json
from webhook.render.style import TextLine, add_color_argument, style_of
from webhook.scheduler.preemption import LOWEST_PRIORITY
from webhook.scheduler.profile import Profiles
from webhook.simulation.controllers import JOB, SIMULATED, SimulatedCluster
from webhook.simulation.outcomes import StepOutcome
from webhook.simulation.outcomes import run as run_once
from webhook.simulation.planning import Planned, is_simulated, moves_any, planned_workloads, takes, wanted
from webhook.simulation.remedies import cures, explained
from webhook.simulation.results import CureResult, Simulation, results
from webhook.simulation.run import Plan
from webhook.simulation.step import ROLLOUT, SCALE, Step, StepError, parse_step, parse_words

RUNS, MOST_RUNS, SEED = 200, 100_000, 1
MOST_CHOICES = 10  # namespaces, or workloads
HOOKS = ("helm.sh/hook", "argocd.argoproj.io/hook")  # Annotations of Helm and Argo CD.
COMPARED = ("template", "selector", "podManagementPolicy", "serviceName")  # A change of the last three is refused.
API_DEFAULTS = {  # of fields of these
    "podManagementPolicy": "OrderedReady",
    "schedulerName": "default-scheduler",
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "protocol": "TCP",
    "nodeAffinityPolicy": "Honor",
    "nodeTaintsPolicy": "Ignore",
}
OF_SELECTION = {"-A": "all_namespaces", "-l": "selector"}
NO_PODS = "No workload has Pods, so no Pod can be lost."
PODS_IN_ALL_RUNS = 100_000  # that steps of a whole cluster touch
RUNS_IN_WORDS = f"fewer without a workload, if steps touch more than {PODS_IN_ALL_RUNS // RUNS:,} Pods"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="STEP TYPE/NAME",
        nargs="*",
        help="steps in order, and a workload, as in kubectl; without: the whole cluster; without steps: rollout",
    )
    parser.add_argument("--replicas", metavar="N", type=int, help="the number of replicas of the step scale")
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        help="a file or folder to apply first, or - for standard input: its workloads are rolled out; repeatable",
    )
    inputs.add_cluster_arguments(parser, inputs.LIVE)
    inputs.add_policy_argument(
        parser, "the policy whose defaults new Pods get (default: what evenkeel gave the newest Pod of each workload)"
    )
    selection.add_namespace_arguments(parser)
    selection.add_selector_argument(parser)
    selection.add_output_argument(parser)
    inputs.add_quiet_argument(parser)
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
        "stuck: in any step, a rollout or drain never finishes, or a drain fails; skew: in the end, the skew is larger "
        "than maxSkew; lost: a deleted Pod is not replaced; not-judged: something was not simulated",
    )
    inputs.add_scheduler_argument(parser)
    inputs.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    if args.runs is not None and not 1 <= args.runs <= MOST_RUNS:
        raise UsageError(f"--runs: found {args.runs}, wanted 1 to {MOST_RUNS:,}")
    policy = inputs.policy_of_today(args.policy) if args.policy else None
    source, profiles, kinds = (
        inputs.source(args),
        inputs.profiles(args.scheduler_config),
        (policy or inputs.policy(None)).kinds,
    )
    names, steps = _words(args)
    if names and (chosen := [option for option in ("-A", "-l") if vars(args)[OF_SELECTION[option]]]):
        raise UsageError(f"{' and '.join(chosen)}: leave out TYPE/NAME to choose workloads by namespace or labels")
    selected = selection.selection(args, source)
    namespace = selected.namespace or "default"
    files = [clusters.in_namespace(obj, namespace) for obj in inputs.objects_of(args.filename or ())]
    refs = _named(names, files, namespace, kinds) if names else _workloads_in(files, args.filename, selected)
    known = _read(args, source, selected.namespace, refs, steps, files)
    if not refs and any(step.action in (ROLLOUT, SCALE) for step in steps):
        refs = _selected_workloads(known, selected, steps)
    raws = [_found(ref, known, kinds) for ref in refs]
    changed = [raw for raw in raws if steps or not is_as_stored(raw, known.replaced.get(ObjectRef.of(raw).key))]
    for raw in changed:
        _check_job(raw, known.replaced.get(ObjectRef.of(raw).key))
    gaps = _without_controller(files, known, kinds)
    if raws and not changed:
        nothing = Simulation(
            kubernetes_version=f"1.{known.features.minor}",
            seed=args.seed,
            not_judged=tuple(gaps),
            notes=(render.unchanged(len(raws)),),
        )
        print(render.as_json(nothing) if args.output == selection.JSON else render.nothing_changes(len(raws), gaps))
        return int(bool(gaps) and inputs.NOT_JUDGED in args.fail_on)
    made = _planned(args, changed, known, steps, kinds, policy, profiles)
    if (
        made.preempting > LOWEST_PRIORITY and changed and not moves_any(steps)
    ):  # Then their victims have to be known, too.
        known = _read(args, source, selected.namespace, refs, steps, files, made.preempting)
        made = _planned(args, changed, known, steps, kinds, policy, profiles)
    plan = made.plan
    shown = {str(ref) for ref in map(ObjectRef.of, changed)} or _shown(args, plan, selected)
    runs = args.runs or max(2, min(RUNS, PODS_IN_ALL_RUNS // max(1, plan.touched)))

    def lines(outcomes: Sequence[tuple[StepOutcome, ...]]) -> Sequence[TextLine]:
        return render.steps_lines(plan, results(plan, outcomes, shown))

    def is_unchanged(half: Sequence[tuple[StepOutcome, ...]], done: Sequence[tuple[StepOutcome, ...]]) -> bool:
        return args.runs is None and lines(half) == lines(done)

    of_runs = progress.with_bar(all_runs(run_once, plan, args.seed, runs), runs, "runs", timed=True)
    outcomes = until_unchanged(of_runs, is_unchanged)
    now, *after = results(plan, outcomes, shown)
    notes = [
        *selection.noted(args, (*known.notes, *known.assumed)),
        *dict.fromkeys(note for raw in changed or _with_pods(known) for note in _unlisted(raw, known, kinds)),
        *made.notes,
        *([] if plan.workloads else [NO_PODS]),
        *([render.unchanged(len(raws) - len(changed))] if len(changed) < len(raws) else []),
    ]
    waiting = explained(plan, args.seed, outcomes)
    found = [
        CureResult(
            f"{ref.kind}/{ref.name}",
            ref.group,
            ref.namespace,
            cure.change,
            tuple([command_json(command) for command in commands(cure.edits, None)]),
        )
        for ref, each in cures(plan, args.seed, outcomes, applied=bool(args.filename)).items()
        for cure in each
    ]
    simulation = Simulation(
        kubernetes_version=f"1.{plan.start.features.minor}",
        seed=args.seed,
        runs=len(outcomes),
        early=len(outcomes) < runs,
        now=now,
        steps=tuple(after),
        cures=tuple(found),
        explain=_explaining(args, waiting) if waiting is not None else "",
        not_judged=tuple(dict.fromkeys((*made.not_judged, *gaps))),
        notes=tuple(notes),
    )
    as_json = args.output == selection.JSON
    print(render.as_json(simulation) if as_json else render.text(simulation, plan, style_of(args.color)))
    return int(any(COMES_ABOUT[word](simulation, bool(changed)) for word in args.fail_on))


def _selected_workloads(known: Known, selected: Selection, steps: Sequence[Step]) -> list[ObjectRef]:
    """Return the workloads that -n, -A and -l choose and that take the steps, but for those of others."""
    refs = [
        ObjectRef.of(raw)
        for raw in known.others.values()
        if is_simulated(raw) and owner_of(raw) is None and takes(raw, steps)
        if selected.has(ObjectRef.of(raw).namespace, labels_in(raw))
    ]
    if not refs:
        where = f" in {selected.namespace}" if selected.namespace else ""
        raise UsageError(
            f"found no workload{where}, wanted one of the kinds {_kinds()}; -A chooses from all namespaces"
        )
    return sorted(refs)


def _shown(args: argparse.Namespace, plan: Plan, selected: Selection) -> set[str]:
    """Return the names of the workloads that -n, -A and -l choose of all; UsageError if there are others alone."""
    workloads = plan.workloads
    shown = {name for name, found in workloads.items() if selected.has(found.ref.namespace, found.labels)}
    if workloads and not shown:
        there = sorted({found.ref.namespace for found in workloads.values()})
        labelled = f", and with the labels {args.selector} on the workload itself" if args.selector else ""
        where = f" in {selected.namespace}" if selected.namespace else ""
        raise UsageError(
            f"found no workload with Pods{where}{labelled}; these namespaces have some: {first_of(there, MOST_CHOICES)}"
        )
    return shown


def _with_pods(known: Known) -> list[Raw]:
    """Return all that have made Pods."""
    owners = {owner.key(clusters.place(pod).namespace) for pod in known.pods if (owner := owner_of(pod)) is not None}
    return [known.others[key] for key in sorted(owners & known.others.keys())]


def _cluster(known: Known) -> SimulatedCluster:
    return SimulatedCluster(known.snapshot, known.features, known.pods, known.others, seconds_at(known.time))


def _explaining(args: argparse.Namespace, ref: ObjectRef) -> str:
    """Return the command that explains a Pod, or the next one of a workload, as a shell reads it."""
    of_files = args.filename if ref.kind != "Pod" else None
    what = [word for name in of_files for word in ("-f", name)] if of_files else [ref.in_kubectl]
    options = {
        "--cluster": args.cluster if args.cluster != inputs.LIVE else "",
        "--kubeconfig": args.kubeconfig,
        "--context": args.context,
        "--policy": args.policy if ref.kind != "Pod" else None,
        "--scheduler-config": args.scheduler_config,
        inputs.VERSION_OPTION: args.kubernetes_version,
    }
    given = [word for option, value in options.items() if value for word in (option, str(value))]
    return join(["evenkeel", "explain", *what, "-n", ref.namespace, *given])


def _waits(simulation: Simulation, named: bool) -> bool:
    """Return whether in the end a Pod is missing or waits; of workloads that are not named, one that did not before."""
    return any(
        workload.missing.most > workload.gone.most or (workload.waiting if named else workload.more).most
        for workload in simulation.steps[-1].workloads
    )


def _is_stuck(simulation: Simulation, _: bool) -> bool:
    rollouts = (workload.rollout for step in simulation.steps for workload in step.workloads)
    return any(step.held for step in simulation.steps) or any(of is not None and of.stuck for of in rollouts)


def _is_uneven(simulation: Simulation, _: bool) -> bool:
    workloads = simulation.steps[-1].workloads
    return any(constraint.exceeds_max_skew for workload in workloads for constraint in workload.constraints)


def _loses(simulation: Simulation, named: bool) -> bool:
    """Return whether a Pod that a step deletes is not replaced; where a workload is named, also one of others."""
    lost = [of for step in simulation.steps for of in (*step.workloads, *(step.elsewhere if named else ()))]
    return any(of.gone.most for of in lost) or any(of.leaving.most for of in simulation.steps[-1].workloads)


# What --fail-on may name, and whether it comes about in any run; of workloads that are named, or of all.
COMES_ABOUT: Mapping[str, Callable[[Simulation, bool], bool]] = {
    "pending": _waits,
    "stuck": _is_stuck,
    "skew": _is_uneven,
    "lost": _loses,
    inputs.NOT_JUDGED: lambda simulation, _: bool(simulation.not_judged),
}


def _planned(
    args: argparse.Namespace,
    raws: Sequence[Raw],
    known: Known,
    steps: Sequence[Step],
    kinds: Kinds,
    policy: Policy | None,
    profiles: Profiles,
) -> Planned:
    """Return the plan; UsageError for a step that does nothing."""
    try:
        return planned_workloads(
            raws,
            _cluster(known),
            steps,
            kinds,
            applied=bool(args.filename),
            stored=known.replaced,
            defaults=defaults_in_force(policy, known),
            profiles=profiles,
        )
    except StepError as error:
        raise UsageError(str(error)) from error


def _unlisted(raw: Raw, known: Known, kinds: Kinds) -> Iterator[str]:
    """Yield what may not be listed of that by which kube-apiserver would add to the next Pods of the workload."""
    for subject in next_replica(raw, known.others, kinds):
        yield from clusters.unlisted_classes(subject.raw, known)


def _words(args: argparse.Namespace) -> tuple[list[str], list[Step]]:
    """Return the words that name a workload, and the steps: a rollout if none is written."""
    try:
        names, steps = parse_words(args.words, args.replicas)
    except StepError as error:
        raise UsageError(str(error)) from error
    if not (names or steps or args.filename):
        of_all = "or steps of the nodes of a whole cluster, such as drain NODE"
        of_one = "a step and TYPE/NAME, such as rollout deployment/web, or -f FILE"
        raise UsageError(f"found no workload and no step; wanted {of_one}, {of_all}")
    if args.filename:  # To apply them is the first rollout.
        return names, steps[1:] if steps and steps[0].action == ROLLOUT else steps
    return names, steps or [parse_step(ROLLOUT)]


def _fail_on(text: str) -> tuple[str, ...]:
    """Return what --fail-on names."""
    words = tuple(text.split(","))
    if unknown := [word for word in words if word not in COMES_ABOUT]:
        raise argparse.ArgumentTypeError(f'found "{unknown[0]}", wanted any of {",".join(COMES_ABOUT)}')
    return words


def _workloads_in(files: Sequence[Raw], names: Sequence[str] | None, selected: Selection) -> list[ObjectRef]:
    """Return the workloads in files that -l chooses; UsageError if there is none, or two have one name."""
    refs = [
        ObjectRef.of(obj)
        for obj in files
        if _is_applied(obj) and owner_of(obj) is None and selected.selector.matches(labels_in(obj))
    ]
    where = ", ".join(names or ())
    if names is not None and not refs:
        raise UsageError(f"{where}: found no workload, wanted one of the kinds {_kinds()}")
    if twice := [ref for ref, number in Counter(refs).items() if number > 1]:
        raise UsageError(f"{where}: found {twice[0]} twice, wanted each workload once; leave one out")
    return refs


def _is_applied(raw: Raw) -> bool:
    """Return whether a workload of a file is applied and simulated; a hook is deleted and made again, by its tool."""
    annotations = as_mapping(value_at(raw, ("metadata", "annotations")))
    return is_simulated(raw) and annotations.keys().isdisjoint(HOOKS)


def _named(names: Sequence[str], files: Sequence[Raw], namespace: str, kinds: Kinds) -> list[ObjectRef]:
    """Return the workloads that are named; UsageError if one is not in the files, if there are any."""
    each = [[name] for name in names] if "/" in names[0] else [list(names)]
    refs = [selection.typed_name(words, kinds).in_namespace(namespace) for words in each]
    there = [ObjectRef.of(obj) for obj in files if is_simulated(obj)]
    for ref in refs:
        if (ref.api_version, ref.kind) not in SIMULATED:
            raise UsageError(f"{ref}: its controller cannot be simulated, wanted one of {_kinds()}")
        if there and ref not in there:
            raise UsageError(
                f"{ref}: not found in the files; their workloads are {first_of(sorted(map(str, there)), MOST_CHOICES)}"
            )
    return list(dict.fromkeys(refs))


def _read(
    args: argparse.Namespace,
    source: inputs.Source,
    namespace: str,
    refs: Sequence[ObjectRef],
    steps: Sequence[Step],
    files: Sequence[Raw],
    preempting: int = LOWEST_PRIORITY,
) -> Known:
    """
    Return the cluster with the objects of the files, and with the Pods that steps may move, and those of a lower
    priority than `preempting`.
    """
    namespaces = {ref.namespace: ref for ref in refs}
    asks = [wanted(ref, steps, preempting) for ref in namespaces.values()]
    if not refs:
        return clusters.read(source, args.kubernetes_version, lambda _: True, namespace, files)
    only = refs[0].namespace if len(namespaces) == 1 else namespace
    return clusters.read(source, args.kubernetes_version, lambda pod: any(ask(pod) for ask in asks), only, files)


def _found(ref: ObjectRef, known: Known, kinds: Kinds) -> Raw:
    """Return a workload of the cluster or the files; UsageError if it is not there, or cannot be read."""
    raw = known.others.get(ref.key)
    if raw is None:
        raise UsageError(clusters.not_found(ref, known))
    return _checked(raw, kinds)


def is_as_stored(raw: Raw, stored: Raw | None) -> bool:
    """Return whether a workload of a file has the template and replicas that the cluster has, of what a dump holds."""
    if stored is None:
        return False
    (new, replicas), (old, there) = (_template_and_replicas(workload) for workload in (raw, stored))
    return new == old and replicas in (None, there)


def _check_job(raw: Raw, stored: Raw | None) -> None:
    """Raise UsageError for a Job of a file with another template than the cluster's: the API server refuses it."""
    ref = ObjectRef.of(raw)
    if ref.kind == JOB and stored is not None and _template_and_replicas(raw)[0] != _template_and_replicas(stored)[0]:
        found = "found another template than in the cluster, wanted the same: field is immutable"
        raise UsageError(f"{ref}: spec.template: {found}; delete the Job first, or give it another name")


def _template_and_replicas(raw: Raw) -> tuple[object, object]:
    """Return what a rollout compares of a workload; of a Job without the selector and labels that it is given."""
    spec = as_mapping(only_read(raw).get("spec"))
    if ObjectRef.of(raw).kind == JOB:
        template = as_mapping(spec.get("template"))
        labels = {key: value for key, value in labels_in(template).items() if key not in JOB_LABELS}
        metadata = {**as_mapping(template.get("metadata")), "labels": labels}
        spec = {**spec, "selector": None, "template": {**template, "metadata": metadata}}
    return _without_defaults({name: spec.get(name) for name in COMPARED}), spec.get("replicas", spec.get("parallelism"))


def _without_defaults(value: object) -> object:
    """Return a Pod template without fields that have the API's default, or are empty."""
    if isinstance(value, dict):
        items = {key: _without_defaults(item) for key, item in value.items() if item != API_DEFAULTS.get(key)}
        return {key: item for key, item in items.items() if item not in (None, {}, [])}
    return [_without_defaults(item) for item in value] if isinstance(value, list) else value


def _without_controller(files: Sequence[Raw], known: Known, kinds: Kinds) -> list[str]:
    """Return what makes Pods in the files, and is not simulated."""
    others = [obj for obj in files if not _is_applied(obj) and ObjectRef.of(obj).kind != "Pod"]
    return [str(ObjectRef.of(obj)) for obj in others if any(next_replica(obj, known.others, kinds))]


def _checked(raw: Raw, kinds: Kinds) -> Raw:
    """Return the workload; UsageError if it cannot be read."""
    if wrong := clusters.unreadable(raw, kinds):
        raise UsageError("\n".join(wrong))
    return raw


def _kinds() -> str:
    return ", ".join(kind for _, kind in SIMULATED)
