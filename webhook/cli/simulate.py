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
from pathlib import Path
from shlex import join

from webhook.cluster.reduction import only_read
from webhook.findings.wording import first_of
from webhook.lint.walk import MANIFEST_SUFFIXES
from webhook.loading import clusters, inputs, progress, selection
from webhook.loading.clusters import Known
from webhook.loading.simulated_runs import OfRun, OneRun, all_runs, until_unchanged
from webhook.loading.usage import UsageError
from webhook.objects.fields import Raw, as_mapping, value_at
from webhook.objects.kinds import JOB_LABELS, Kinds
from webhook.objects.labels import labels_in
from webhook.objects.references import ObjectRef, owner_of
from webhook.objects.times import seconds_at
from webhook.placement.inferred_defaults import given_defaults
from webhook.placement.subject import next_replica
from webhook.render import cluster_simulation
from webhook.render import simulation as render
from webhook.render.cluster_simulation import ClusterSimulated
from webhook.render.style import add_color_argument, style_of
from webhook.scheduler.preemption import LOWEST_PRIORITY
from webhook.scheduler.profile import Profiles
from webhook.simulation.cluster_results import WorkloadResult, cluster_results
from webhook.simulation.cluster_run import ClusterOutcome, run_cluster
from webhook.simulation.controllers import JOB, SIMULATED, Makers, SimulatedCluster
from webhook.simulation.planning import (
    Planned,
    is_simulated,
    moves_any,
    planned_cluster,
    planned_workloads,
    wanted,
)
from webhook.simulation.remedies import cures, explained
from webhook.simulation.results import StepResult, results
from webhook.simulation.run import Plan, StepOutcome, run_named
from webhook.simulation.step import ROLLOUT, Step, StepError, parse_step, parse_words

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
    source, profiles = inputs.source(args), inputs.profiles(args.scheduler_config)
    names, steps = _words(args)
    kinds = inputs.policy(None).kinds
    if not (names or args.filename):
        return _run_cluster(args, source, steps, kinds, profiles)
    _check_of_workload(args, " ".join(names) or "-f")
    runs = args.runs or RUNS
    namespace = selection.namespace(args, source)
    files = _in_files(args, namespace)
    refs = _named(names, files, namespace, kinds) if names else _workloads_in(files, args.filename)
    known = _read(args, source, namespace, refs, steps, files)
    raws = [_found(ref, known, kinds) for ref in refs]
    changed = [raw for raw in raws if steps or not is_as_stored(raw, known.replaced.get(ObjectRef.of(raw).key))]
    for raw in changed:
        _check_job(raw, known.replaced.get(ObjectRef.of(raw).key))
    same, raws = len(raws) - len(changed), changed
    gaps = _without_controller(files, known, kinds)
    if not raws:
        print(render.as_json() if args.output == selection.JSON else render.nothing_changes(same, gaps))
        return int(bool(gaps) and inputs.NOT_JUDGED in args.fail_on)
    made = _planned(args, raws, known, steps, kinds, profiles)
    if made.preempting > LOWEST_PRIORITY and not moves_any(steps):  # Then their victims have to be known, too.
        known = _read(args, source, namespace, refs, steps, files, made.preempting)
        made = _planned(args, raws, known, steps, kinds, profiles)
    those = [ObjectRef.of(raw) for raw in raws]

    def come_to(outcomes: Sequence[Sequence[Mapping[str, StepOutcome]]]) -> list[tuple[StepResult, ...]]:
        return [
            results(made.plan, [[step[str(ref)] for step in of_run] for of_run in outcomes], str(ref)) for ref in those
        ]

    outcomes = _outcomes(args, run_named, made.plan, runs, come_to)
    unlisted = dict.fromkeys(note for raw in raws for note in _unlisted(raw, known, kinds))
    cured = cures(made.plan, args.seed, outcomes, those, applied=bool(args.filename))
    waiting = explained(made.plan, args.seed, outcomes, those)
    asking = _explaining(args, waiting) if waiting is not None else ""
    notes = [*selection.noted(args, (*known.notes, *known.assumed)), *unlisted, *made.notes]
    if same:
        notes.append(render.unchanged(same))
    shown = [
        render.Simulated(
            ref,
            made.plan,
            args.seed,
            len(outcomes),
            result,
            (*made.not_judged, *gaps),
            notes,
            cured.get(ref, ()),
            asking,
            len(outcomes) < runs,
        )
        for ref, result in zip(those, come_to(outcomes), strict=True)
    ]
    as_json = args.output == selection.JSON
    print(render.as_json(*shown) if as_json else render.text(*shown, style=style_of(args.color)))
    return int(any(COMES_ABOUT[word](one) for word in args.fail_on for one in shown))


def _check_of_workload(args: argparse.Namespace, workload: str) -> None:
    """Raise UsageError if options are for a whole cluster, and `workload` is named."""
    of_cluster = {
        "-A": args.all_namespaces,
        "-l": bool(args.selector),
    }
    if given := [option for option, is_given in of_cluster.items() if is_given]:
        them = "it" if len(given) == 1 else "them"
        options = " and ".join(given)
        raise UsageError(f"{options}: for a whole cluster only; leave {them} out, or leave {workload} out")


def _run_cluster(
    args: argparse.Namespace, source: inputs.Source, steps: Sequence[Step], kinds: Kinds, profiles: Profiles
) -> int:
    """Simulate all workloads of a cluster together."""
    chosen = selection.selection(args, source)
    known = clusters.read(source, args.kubernetes_version, lambda _: True, chosen.namespace)
    try:
        makers = Makers(_cluster(known), kinds, given_defaults(known.pods, known.others), profiles)
        made = planned_cluster(makers, steps)
    except StepError as error:
        raise UsageError(str(error)) from error
    plan, workloads = made.plan, made.plan.workloads
    shown = {name: of for name, of in workloads.items() if chosen.has(of.ref.namespace, of.labels)}
    if workloads and not shown:
        there = sorted({of.ref.namespace for of in workloads.values()})
        labelled = f", and with the labels {args.selector} on the workload itself" if args.selector else ""
        where = f" in {chosen.namespace}" if chosen.namespace else ""
        raise UsageError(
            f"found no workload with Pods{where}{labelled}; these namespaces have some: {first_of(there, MOST_CHOICES)}"
        )
    groups = {name: of.ref.namespace for name, of in shown.items()}
    of_run = selection.noted(args, (*known.notes, *known.assumed))
    notes = (*of_run, *_unlisted_of_all(known, kinds), *(() if workloads else (NO_PODS,)))
    runs = args.runs or max(2, min(RUNS, PODS_IN_ALL_RUNS // max(1, plan.touched)))

    def simulated(outcomes: Sequence[Sequence[ClusterOutcome]]) -> ClusterSimulated:
        return ClusterSimulated(
            plan,
            args.seed,
            len(outcomes),
            cluster_results(plan, outcomes, groups),
            made.not_judged,
            (*notes, *made.notes),
            chosen.namespace,
            args.selector,
            len(shown),
            early=len(outcomes) < runs,
        )

    outcomes = _outcomes(
        args, run_cluster, plan, runs, lambda outcomes: cluster_simulation.numbers(simulated(outcomes))
    )
    of_cluster = simulated(outcomes)
    if args.output == selection.JSON:
        print(cluster_simulation.as_json(of_cluster))
    else:
        print(cluster_simulation.text(of_cluster, style_of(args.color)))
    return int(any(COMES_ABOUT_IN_CLUSTER[word](of_cluster) for word in args.fail_on))


def _outcomes(
    args: argparse.Namespace,
    run: OneRun[OfRun],
    plan: Plan,
    runs: int,
    come_to: Callable[[Sequence[OfRun]], object],
) -> list[OfRun]:
    """Return the outcomes of the runs; unless --runs is given, of so many as change what they `come_to`."""

    def is_unchanged(half: Sequence[OfRun], done: Sequence[OfRun]) -> bool:
        return args.runs is None and come_to(half) == come_to(done)

    of_runs = all_runs(run, plan, args.seed, runs)
    return until_unchanged(progress.with_bar(of_runs, runs, "runs", timed=True), is_unchanged)


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
        "--scheduler-config": args.scheduler_config,
        inputs.VERSION_OPTION: args.kubernetes_version,
    }
    given = [word for option, value in options.items() if value for word in (option, str(value))]
    return join(["evenkeel", "explain", *what, "-n", ref.namespace, *given])


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


def _at_end(shown: ClusterSimulated) -> Iterator[WorkloadResult]:
    """Yield what is in the end of each workload that is not as it was before."""
    yield from (*shown.steps[-1].hurt, *shown.steps[-1].whole)


# The same of all workloads that are shown.
COMES_ABOUT_IN_CLUSTER: Mapping[str, Callable[[ClusterSimulated], bool]] = {
    "pending": lambda shown: any(
        of.more.most or of.leaving.most or of.queued.most or of.stranded.most for of in _at_end(shown)
    ),
    "stuck": lambda shown: any(step.held for step in shown.steps),
    "skew": lambda shown: any(of.uneven for of in _at_end(shown)),
    "lost": lambda shown: any(of.gone.most or of.leaving.most for of in _at_end(shown)),
    inputs.NOT_JUDGED: lambda shown: bool(shown.not_judged),
}


def _planned(
    args: argparse.Namespace, raws: Sequence[Raw], known: Known, steps: Sequence[Step], kinds: Kinds, profiles: Profiles
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
            defaults=given_defaults(known.pods, known.others),
            profiles=profiles,
        )
    except StepError as error:
        raise UsageError(str(error)) from error


def _unlisted(raw: Raw, known: Known, kinds: Kinds) -> Iterator[str]:
    """Yield what may not be listed of that by which kube-apiserver would add to the next Pods of the workload."""
    for subject in next_replica(raw, known.others, kinds):
        yield from clusters.unlisted_classes(subject.raw, known)


def _unlisted_of_all(known: Known, kinds: Kinds) -> list[str]:
    """Return the same for the next Pods of all that have made Pods."""
    owners = {owner.key(clusters.place(pod).namespace) for pod in known.pods if (owner := owner_of(pod)) is not None}
    notes = (
        note for key in sorted(owners & known.others.keys()) for note in _unlisted(known.others[key], known, kinds)
    )
    return list(dict.fromkeys(notes))


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


def _in_files(args: argparse.Namespace, namespace: str) -> list[Raw]:
    """Return the objects in the files and folders, none if there is no file."""
    names = list[str]()
    for name in args.filename or ():
        found = (path for path in sorted(Path(name).rglob("*")) if path.suffix in MANIFEST_SUFFIXES)
        in_folder = [str(path) for path in found if path.is_file()]
        if Path(name).is_dir() and not in_folder:
            raise UsageError(f"-f {name}: found no file that ends in {', '.join(MANIFEST_SUFFIXES)}")
        names += in_folder or [name]
    return [clusters.in_namespace(obj, namespace) for obj in inputs.objects_of(names)]


def _workloads_in(files: Sequence[Raw], names: Sequence[str]) -> list[ObjectRef]:
    """Return the workloads in files; UsageError if there is none, or two have one name."""
    refs = [ObjectRef.of(obj) for obj in files if _is_applied(obj) and owner_of(obj) is None]
    if not refs:
        raise UsageError(f"{', '.join(names)}: found no workload, wanted one of the kinds {_kinds()}")
    if twice := [ref for ref, number in Counter(refs).items() if number > 1]:
        raise UsageError(f"{', '.join(names)}: found {twice[0]} twice, wanted each workload once; leave one out")
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
