"""
Explain where a Pod can run, what refuses it on the other nodes, and which changes would let it run:

    evenkeel explain pod/web-7d4b9-x2x5p
    evenkeel explain deployment/web -n shop          its next Pod
    evenkeel explain -f deployment.yaml              each Pod template in a file

evenkeel counts, filters and scores as kube-scheduler does. It has tried each change that it names.
--cluster FILE reads the cluster from a file of evenkeel dump.
Exit code 0: each Pod has a node that passes, 1: a Pod has none, 2: bad input, 3: as 0, but not all is judged.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from shlex import join

from evenkeel.clusters import known_cluster, selection, sources
from evenkeel.clusters.known_cluster import Known
from evenkeel.clusters.profiles import load_profiles, profiles_in
from evenkeel.explain import as_json, text
from evenkeel.explain.explained import Explained, Proposal
from evenkeel.objects.pod_object import priority_of, read_pod
from evenkeel.objects.pod_templates import replica_sets
from evenkeel.objects.workload_object import reach_of_template, read_workload_object
from evenkeel.pending.groups import helped, is_stuck
from evenkeel.placement.contradiction import contradiction
from evenkeel.placement.created_pods import read_creation
from evenkeel.placement.explanation import explain, unjudged
from evenkeel.placement.gaps import PLACEMENT
from evenkeel.placement.inferred_defaults import DefaultsOf, newest_pods
from evenkeel.placement.kubectl_commands import Command, Template, commands, deleting, reaching, read_template
from evenkeel.placement.new_replica_sets import replica_sets_to_come, with_replica_set
from evenkeel.placement.node_makers import makers_note
from evenkeel.placement.obstacles import kept_room, obstacles
from evenkeel.placement.pod_defaults import defaults_in_force, suited
from evenkeel.placement.remedies import NOW, Remedy, remedies
from evenkeel.placement.subject import (
    UNSCHEDULABLE_REASON,
    PlacementSubject,
    alone,
    attempt,
    foreign,
    ignoring_placer,
    next_replica,
    of_new_pod,
    of_pod,
)
from evenkeel.placement.successors import changed_since, made_again, with_new_claims, with_successors
from evenkeel.scheduler.pod_counts import FINISHED
from evenkeel.scheduler.profile import USUAL_PROFILE, Profiles
from evenkeel.simulate.constraint_words import counts_none
from evenkeel.simulate.controllers import SimulatedCluster
from evenkeel.simulate.rollout_check import Rollout, simulated_rollouts
from evenkeel.simulate.waiting import Runs
from evenkeel.terminal import inputs, output
from evenkeel.terminal.style import add_color_argument, style_of
from webhook.cli import options
from webhook.cli.usage import UsageError
from webhook.findings.wording import first_of, number_of
from webhook.kubernetes.fields import Raw, texts_at, value_at
from webhook.kubernetes.kinds import CONSTRAINTS_PATH, Kinds
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.times import seconds_at
from webhook.policy.policy import Policy
from webhook.spread.constraint import Constraint

POD = "Pod"
NOT_JUDGED_CODE = 3
KNOWN_BELOW = 0  # Pods of a lower priority, such as placeholders, are all read: rollouts may preempt them.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    selection.add_object_argument(parser)
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        help="a file or folder with Pods or workloads, or - for standard input; repeatable",
    )
    sources.add_cluster_arguments(parser, options.LIVE)
    selection.add_namespace_argument(parser)
    output.add_output_argument(parser)
    parser.add_argument(
        "--patch", action="store_true", help="print how to change a template as a command of kubectl, not as YAML"
    )
    options.add_quiet_argument(parser)
    add_color_argument(parser)
    inputs.add_policy_of_new_pods_argument(parser)
    inputs.add_scheduler_argument(parser)
    options.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    if bool(args.object) == bool(args.filename):
        raise UsageError("wanted either TYPE/NAME, such as pod/web-0, or -f FILE")
    source = sources.source(args)
    policy = inputs.policy_of_today(args.policy) if args.policy else None
    profiles = load_profiles(args.scheduler_config)
    kinds = (policy or options.policy(None)).kinds
    read_subjects = _in_file if args.filename else _in_cluster
    subjects, known, errors = read_subjects(args, source, selection.namespace(args, source), kinds)
    profiles = profiles_in(known.snapshot.nodes, args.scheduler_config, profiles, known.features)
    known = known._replace(notes=output.noted(args, known.notes))
    defaults = defaults_in_force(policy, known.pods, known.others, known.snapshot)
    explained = list[Explained]()
    newest = {} if all(subject.exists for subject in subjects) else newest_pods(map(read_pod, known.pods), known.others)
    given = sources.repeated(args, "policy")
    target = [*args.object, *[word for name in args.filename or () for word in ("-f", name)]]
    again = join(("evenkeel", "explain", *target, *(("-n", args.namespace) if args.namespace else ()), *given))
    for subject in subjects:
        try:
            placer = ignoring_placer(subject, newest, known.snapshot.nodes)
            result = _explained(subject, known, defaults, profiles, kinds, bool(args.filename), placer)
            left_out = () if policy is None else _left_out(subject, policy, known)
            notes = (*result.notes, *left_out)
            proposals = [
                proposal._replace(commands=reaching(proposal.commands, sources.kubectl_options(args)))
                for proposal in result.proposals
            ]
            named = policy is not None
            explained.append(result._replace(named=named, notes=notes, options=given, again=again, proposals=proposals))
        except UsageError as error:
            errors.append(str(error))
    if args.output == output.JSON and explained:
        print(as_json.all_as_json(explained))
    elif explained:
        now, style = known_cluster.origin(source, known).read, style_of(args.color)
        print("\n\n".join(text.text(result, now, style, patch=args.patch) for result in explained))
    if errors:
        raise UsageError("\n".join(errors))
    if not all(result.explanation.feasibility.feasible or result.placer for result in explained):
        return 1
    return NOT_JUDGED_CODE if any(result.explanation.gaps for result in explained) else 0


def _in_cluster(
    args: argparse.Namespace, source: sources.Source, namespace: str, kinds: Kinds
) -> tuple[list[PlacementSubject], Known, list[str]]:
    """Return the Pod that is named, or the next Pods of the workload; no errors, which only files have."""
    named = selection.typed_name(args.object, kinds).in_namespace(namespace)
    within = _within(namespace)

    def wanted(pod: Raw) -> bool:
        return not namespace or within(pod) or texts_at(pod, "metadata.name")[0] == named.name

    known = known_cluster.read(source, args.kubernetes_version, wanted, namespace)
    ref = known_cluster.in_its_namespace(named, (*known.others, *map(known_cluster.place, known.pods)))
    if ref.kind == POD:
        subjects = [of_pod(pod, known.others) for pod in known.pods if known_cluster.place(pod) == ref.key]
    elif ref.key in known.others:
        if wrong := known_cluster.unreadable(known.others[ref.key], kinds):
            raise UsageError("\n".join(wrong))
        if any(replica_sets(ref, known.others)):  # Else they are perhaps not in the dump, rather than to come.
            known = _with_replica_sets_to_come([known.others[ref.key]], known)
        creation = read_creation(known.others, known.features)
        subjects = list(next_replica(known.others[ref.key], known.others, kinds, creation))
    else:
        subjects = []
    if not subjects:
        raise UsageError(
            f"{ref}: has no Pod template" if ref.key in known.others else known_cluster.not_found(ref, known)
        )
    return subjects, known._replace(pods=tuple(filter(_within(ref.namespace), known.pods))), []


def _within(*namespaces: str) -> Callable[[Raw], bool]:
    """Return a predicate for Pods of these namespaces, Pods that wait, and Pods that any other may preempt."""

    def within(pod: Raw) -> bool:
        namespace, node = texts_at(pod, "metadata.namespace", "spec.nodeName")
        return namespace in namespaces or not node or priority_of(pod) < KNOWN_BELOW

    return within


def _in_file(
    args: argparse.Namespace, source: sources.Source, namespace: str, kinds: Kinds
) -> tuple[list[PlacementSubject], Known, list[str]]:
    """Return each Pod and each Pod template in the files, as if applied now, and why others cannot be read."""
    default = selection.namespace_to_apply_in(args, source)
    objects = [known_cluster.in_namespace(obj, default) for obj in inputs.objects_of(args.filename)]
    known = known_cluster.read(
        source,
        args.kubernetes_version,
        _within(*[texts_at(obj, "metadata.namespace")[0] for obj in objects]),
        namespace,
        [obj for obj in objects if obj.get("kind") != POD],
        applied=objects,
    )
    known = _with_replica_sets_to_come(objects, known)
    subjects, errors = list[PlacementSubject](), list[str]()
    creation = read_creation(known.others, known.features)
    for obj in objects:
        if wrong := known_cluster.unreadable(obj, kinds):
            errors += wrong
        elif obj.get("kind") == POD:
            subjects.append(of_new_pod(obj, known.others, creation))
        else:
            subjects += next_replica(obj, known.others, kinds, creation)
    if not (subjects or errors):
        raise UsageError(
            f"{', '.join(args.filename)}: holds no Pod, and no object that is known to have a Pod template"
        )
    return subjects, known, errors


def _with_replica_sets_to_come(raws: Iterable[Raw], known: Known) -> Known:
    """Return what is known of the cluster once each of the Deployments has a ReplicaSet with its template."""
    to_come = [*replica_sets_to_come(raws, known.others)]
    others = {**known.others, **{replica_set.ref.key: replica_set.raw for replica_set in to_come}}
    return known._replace(others=others, snapshot=reduce(with_replica_set, to_come, known.snapshot))


def _explained(
    subject: PlacementSubject,
    known: Known,
    defaults: DefaultsOf,
    profiles: Profiles,
    kinds: Kinds,
    in_file: bool,
    placer: str,  # what places the Pod and ignores its constraints; else ""
) -> Explained:
    snapshot = alone(subject, known.snapshot, known.features)
    tried = attempt(
        subject, snapshot, known.features, defaults(subject), profiles.get(subject.scheduler, USUAL_PROFILE)
    )
    if tried.errors:
        raise UsageError("\n".join(f"{subject.ref}: {error}" for error in tried.errors))
    if placer:
        explanation = unjudged(tried.cycle, f"{PLACEMENT}{placer}")
        return Explained(subject, explanation, tried.source, (), known.notes, placer=placer)
    explanation = explain(tried.cycle, subject.unmodelled)
    fixes: tuple[Remedy, ...] = ()
    changed = changed_since(subject, known.others)
    if not (explanation.feasibility.feasible or subject.node):
        successors = made_again([subject], tried.cycle, known.others, defaults, profiles)
        changes = remedies(tried.cycle, explanation.feasibility)
        fixes = with_successors(changes, successors, outdated=bool(changed))
        if not changed and (renewed := with_new_claims(subject, tried.cycle, known.others)) is not None:
            fixes = (*fixes, renewed)
    verdict, message = subject.verdict, explanation.message
    compared = message and verdict.reason == UNSCHEDULABLE_REASON and verdict.states_cause
    notes = (
        *foreign(subject, profiles),
        *((f"The template of {changed} has changed since this Pod was created.",) if changed else ()),
        *known.notes,
        *(() if subject.exists else known_cluster.unlisted_classes(subject.raw, known)),
        *_counting_none(subject, tried.cycle.constraints, known),
        *_shared_selectors(subject, tried.cycle.constraints, known),
    )
    maker = known.others.get(subject.made_by.key) if subject.made_by is not None else None
    template = read_template(maker, subject.pod.spec, kinds)
    time = seconds_at(known.time)
    cluster = SimulatedCluster(known.snapshot, known.features, known.pods, known.others, time, KNOWN_BELOW)
    rollouts = simulated_rollouts(fixes, tried.cycle, maker, cluster, kinds, profiles, defaults)
    refusing = obstacles(tried.cycle, explanation.feasibility)
    reserved = kept_room(tried.cycle, explanation.feasibility)
    is_tried = subject.exists and subject.scheduler in profiles and not subject.pod.scheduling_gates
    stuck, runs = _helped(subject, fixes, known, profiles)
    waiting, pods = ((), 0) if in_file or subject.is_pod else _waiting(subject, known, profiles)
    own_stuck = _stuck(_own(subject.made_by, known), profiles) if subject.made_by is not None and not in_file else ()
    to_delete = sorted({*own_stuck, *([subject.ref.name] if subject.exists else [])})
    proposals = [
        Proposal(fix, rollout, _commands(fix, rollout, subject.ref.namespace, to_delete, template, in_file), run_then)
        for fix, rollout, run_then in zip(fixes, rollouts, runs, strict=True)
    ]
    return Explained(
        subject,
        explanation,
        tried.source,
        sorted(proposals, key=_rank),
        notes,
        tried=is_tried,
        contradiction=contradiction(replace(tried.cycle, snapshot=known.snapshot), maker),
        obstacles=refusing,
        kept_room=reserved,
        stuck=stuck,
        assumed=(
            *(known.assumed if compared and not explanation.agrees(verdict.message) else ()),
            *(() if explanation.feasibility.feasible else makers_note(known.snapshot)),
        ),
        waiting=waiting,
        pods=pods,
        reach=reach_of_template(maker) if maker is not None else "",
        premise=tried.assumed,
    )


def _counting_none(subject: PlacementSubject, constraints: Sequence[Constraint], known: Known) -> Iterator[str]:
    """Yield which constraints count none of the workload's Pods that run."""
    missing = [constraint for constraint in constraints if not constraint.selector.matches(subject.pod.labels)]
    if subject.made_by is None or not missing:
        return
    running = [pod.pod.labels for pod in _own(subject.made_by, known) if pod.node]
    for constraint in missing:
        if running and not any(map(constraint.selector.matches, running)):
            yield f"{counts_none(number_of(len(running), 'Pod runs', 'Pods run'), constraint)}."


def _shared_selectors(subject: PlacementSubject, constraints: Sequence[Constraint], known: Known) -> Iterator[str]:
    """Yield which other workloads have Pods on nodes that the constraints count, too."""
    groups = known.snapshot.pods.get(subject.ref.namespace, {}).values()
    selectors = {constraint.index: constraint.selector for constraint in constraints}
    if subject.made_by is None or not any(
        selector.matches(group.labels) for selector in selectors.values() for group in groups
    ):
        return
    on_nodes = [
        pod for pod in (of_pod(raw, known.others) for raw in known.pods) if pod.node and pod.phase not in FINISHED
    ]
    for index, selector in selectors.items():
        counted = Counter(
            pod.workload
            for pod in on_nodes
            if pod.ref.namespace == subject.ref.namespace
            and pod.made_by is not None
            and pod.made_by.key in known.others  # Else what made it may have an owner that is not known.
            and pod.made_by.key != subject.made_by.key
            and not pod.pod.terminating
            and selector.matches(pod.pod.labels)
        )
        if counted:
            others = first_of(f"{number_of(number, 'Pod')} of {name}" for name, number in sorted(counted.items()))
            yield f"Constraint {index} also counts {others}: its selector matches them, too."


def _waiting(subject: PlacementSubject, known: Known, profiles: Profiles) -> tuple[tuple[str, ...], int]:
    """Return which Pods of a workload wait, by name, and how many it has or is to have."""
    own = _own(subject.ref, known)
    replicas = read_workload_object(known.others[subject.ref.key]).replicas or 0
    return _stuck(own, profiles), max(replicas, len(own))


def _own(ref: ObjectRef, known: Known) -> list[PlacementSubject]:
    """Return the Pods that a workload, or what it owns, has and is to keep."""
    own = list[PlacementSubject]()
    for pod in (of_pod(raw, known.others) for raw in known.pods):
        owner, made_by = pod.pod.owner, pod.made_by
        makers = (owner and owner.key(pod.ref.namespace), made_by and made_by.key)
        if ref.key in makers and pod.phase not in FINISHED and not pod.pod.terminating:
            own.append(pod)
    return own


def _stuck(pods: Sequence[PlacementSubject], profiles: Profiles) -> tuple[str, ...]:
    return tuple(sorted(pod.ref.name for pod in pods if is_stuck(pod, profiles)))


def _commands(
    fix: Remedy,
    rollout: Rollout | None,
    namespace: str,
    waiting: Sequence[str],
    template: Template | None,
    in_file: bool,
) -> tuple[Command, ...]:
    """Return the commands that make a change, and delete waiting Pods if the rollout goes on only then."""
    change_commands = commands(fix.edits, template)
    if in_file:
        change_commands = tuple(
            [command if command.patch is None else Command((), command.patch) for command in change_commands]
        )
    if not change_commands or rollout is None or not waiting or rollout.finishes == 1 or rollout.replaced < 1:
        return change_commands
    return (*change_commands, *commands((deleting(namespace, *waiting),), None))


def _helped(
    subject: PlacementSubject, fixes: Sequence[Remedy], known: Known, profiles: Profiles
) -> tuple[int, list[Runs | None]]:
    """Return how many Pods of the namespace wait, and how many of them run after each of the changes."""
    pods = [of_pod(pod, known.others) for pod in known.pods] if fixes and subject.exists else []
    waiting = [pod for pod in pods if is_stuck(pod, profiles)]
    is_waiting = any(pod.ref == subject.ref for pod in waiting)
    namespace = subject.ref.namespace
    return helped(fixes, waiting if is_waiting else [], namespace, known.snapshot, known.features, profiles)


def _rank(proposal: Proposal) -> tuple[tuple[bool, bool], bool, bool, tuple[int, int], float]:
    """
    Return the sort key of a proposal, the best first.

    Best is that for which nothing is to be changed, then changes in the cluster, then those after which most Pods run.
    Last are the last resorts, and one that loses data.
    """
    rollout = proposal.rollout
    ends = rollout.finishes + rollout.replaced if rollout is not None else 0
    remedy = proposal.remedy
    last = remedy.loses_data, remedy.last_resort
    return last, not remedy.remade, remedy.where != NOW, _most_runs_first(proposal.runs), -ends


def _most_runs_first(runs: Runs | None) -> tuple[int, int]:
    """Return the sort key by which more Pods that run come first."""
    return (0, 0) if runs is None else (-runs.least, -runs.most)


def _left_out(subject: PlacementSubject, policy: Policy, known: Known) -> Iterator[str]:
    """Yield why a Pod without constraints does not get some, or any, of the built-in defaults."""
    defaults = suited(subject, policy, known.snapshot)
    if defaults.lacking and not value_at(subject.raw, CONSTRAINTS_PATH):
        which = "One of the built-in defaults is" if defaults.constraints else "The built-in defaults are"
        yield f"{which} left out: {defaults.lacking}."
