"""
Report how the Pods of each workload are spread, and what a policy would do to it:

    evenkeel report -A                                         spread, and what the rules find
    evenkeel report -A --policy new.yaml                       what new.yaml would deny or warn of
    evenkeel report -A --policy new.yaml --compare old.yaml    and what differs from old.yaml
    evenkeel report -A --policy new.yaml --by namespace        how many workloads of each team
    evenkeel report -A --summary                               the totals only
    evenkeel report deployment/web -n shop
    evenkeel report deployment/web -n shop --moves             which Pods to delete so that they are even again
    evenkeel report -A --metrics-bind :9090                    serve the skew as metrics, until you stop it
    evenkeel report -A -o html > spread.html                   a page with pictures, and why Pods wait

The policy answers three times for each workload: as if it were created again, at its next update, and for its Pods as
their controller creates them. The worst workload comes first.
Exit code 0: reported, 1: with --fail-on, the policy would deny a workload or warn of it, as the option names,
2: bad input, or nodes cannot be listed, so evenkeel does not know how Pods are spread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shlex import join
from typing import NamedTuple

from evenkeel.clusters import known_cluster, reading, selection, sources
from evenkeel.clusters.known_cluster import Known
from evenkeel.clusters.profiles import load_profiles, profiles_in
from evenkeel.clusters.selection import Candidates
from evenkeel.explain.claims_text import notes_on_pins
from evenkeel.objects.pod_object import read_pod
from evenkeel.placement.created_pods import read_creation
from evenkeel.placement.pod_defaults import defaults_in_force
from evenkeel.report import page as report_page
from evenkeel.report import text as render
from evenkeel.report.inventory import POD, Inventory, key_of
from evenkeel.report.report import Policies, Report, Reporting
from evenkeel.report.waiting_pods import waiting
from evenkeel.scheduler.profile import Profiles
from evenkeel.simulate.controllers import SimulatedCluster
from evenkeel.simulate.moves import NOT_SIMULATED, Hindrance, WayBack
from evenkeel.simulate.ways_back import ways_back
from evenkeel.terminal import inputs, output
from evenkeel.terminal.json_forms import dumped
from evenkeel.terminal.progress import with_bar
from evenkeel.terminal.style import add_color_argument, style_of
from webhook.admission.decision import Outcome
from webhook.cli import options
from webhook.cli.listening import listen
from webhook.cli.usage import UsageError
from webhook.findings.wording import begun
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.kubernetes.references import ObjectKey, ObjectRef
from webhook.kubernetes.times import seconds_at
from webhook.policy.policy import Policy

DENIED_UPDATES, DENIED, WARNED = "denied-updates", "denied", "warned"
LEAST_INTERVAL, MOST_INTERVAL = 5, 3600  # Seconds; the alerts take what is older than an hour for a failure.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    selection.add_object_argument(parser)
    sources.add_cluster_arguments(parser, options.LIVE)
    selection.add_namespace_arguments(parser)
    selection.add_selector_argument(parser)
    output.add_output_argument(parser, output.HTML)
    options.add_quiet_argument(parser)
    add_color_argument(parser)
    parser.add_argument(
        "--metrics-bind",
        metavar="HOST:PORT",
        help="serve metrics of the workloads at /metrics, and /healthz, until you stop it; print nothing",
    )
    parser.add_argument(
        "--metrics-interval",
        metavar="SECONDS",
        type=int,
        default=60,
        help="with --metrics-bind: seconds to wait before the cluster is read again (default: %(default)s)",
    )
    options.add_policy_argument(
        parser, "the policy file that answers (default: the built-in policy, for the findings only)"
    )
    parser.add_argument(
        "--compare", metavar="FILE", type=Path, help="the policy file in force now, to print what changes"
    )
    parser.add_argument(
        "--fail-on",
        choices=(DENIED_UPDATES, DENIED, WARNED),
        help="exit with 1 if the policy would deny a workload: at its next update (denied-updates), or also if "
        "created again (denied), or also if it would warn (warned)",
    )
    parser.add_argument(
        "--by",
        metavar=f"{render.NAMESPACE}|LABEL",
        help="print totals for each namespace, with its owner, or for each value of a label of the workloads",
    )
    parser.add_argument("--summary", action="store_true", help="print only the totals")
    parser.add_argument(
        "--changed", action="store_true", help="print only workloads whose answer differs from that of --compare"
    )
    parser.add_argument(
        "--moves",
        action="store_true",
        help="for workloads beyond maxSkew, print which Pods to delete one after the other until they are even",
    )
    inputs.add_scheduler_argument(parser)
    options.add_version_argument(parser)


class ReportOfCluster(NamedTuple):
    """A report, and what was found out of the cluster for it."""

    report: Report
    known: Known
    inventory: Inventory
    profiles: Profiles
    none_found: str  # why it has no workload; "" if it has one


def run(args: argparse.Namespace) -> int:
    policies, source, profiles = _policies(args), sources.source(args), load_profiles(args.scheduler_config)
    _check(args)
    chosen = selection.selection(args, source)
    kinds = policies.policy.kinds
    ref = selection.typed_name(args.object, kinds).in_namespace(chosen.namespace) if args.object else None
    if args.metrics_bind is not None:
        return _serve(args, lambda: _read_report(args, source, policies, profiles, chosen, ref))
    report, known, inventory, profiles, none_found = _read_report(args, source, policies, profiles, chosen, ref)
    if args.object and none_found:
        raise UsageError(none_found)
    no_workload = f"{begun(none_found)}." if none_found else ""
    policy_notes = _on_policy(policies.policy, source, known) if policies.in_force is not None else ()
    assumed = [profile.assumed for profile in profiles.values() if profile.assumed and report.uses_scheduler_defaults]
    notes = output.noted(args, (*assumed, *_notes(args, report, known), *policy_notes))
    titles = render.Titles(str(args.policy or ""), str(args.compare or ""))
    shown = render.Shown(args.changed, args.summary, args.by or "")
    if args.output == output.HTML:
        keys = {key_of(workload.live) for workload in report.workloads}
        explained = waiting(known.pods, keys, known.others, inventory, known.snapshot, known.features, profiles)
        origin = known_cluster.origin(source, known)
        about_page = (*notes, *known.assumed)
        given = sources.repeated(args)
        print(report_page.html(report, titles, about_page, explained, origin, no_workload, given))
    elif args.output == output.JSON:
        print(dumped(render.as_json(report, titles, (*notes, *filter(None, [no_workload])), shown)))
    else:
        print(render.text(report, titles, shown, style_of(args.color), no_workload, _asking_for_moves(args)))
    if known.without_nodes:
        raise UsageError(known.without_nodes)
    return _exit_code(report, args.fail_on)


def _read_report(
    args: argparse.Namespace,
    source: sources.Source,
    policies: Policies,
    profiles: Profiles,
    chosen: selection.Selection,
    ref: ObjectRef | None,
) -> ReportOfCluster:
    """Read the cluster, and report on the workloads that are chosen."""
    kinds, is_server = policies.policy.kinds, args.metrics_bind is not None  # whose log has no progress
    inventory = Inventory(kinds)

    def through(objects: Iterator[Raw]) -> Iterator[Raw]:
        for raw in objects if is_server else reading.counted(objects):
            inventory.add(raw)
            yield raw

    def wanted(pod: Raw) -> bool:
        if args.output != output.HTML and not args.moves:
            return False
        pod_object = read_pod(pod)
        is_chosen = chosen.namespace in ("", pod_object.namespace)
        return not pod_object.node or is_chosen if args.moves else pod_object.waits and is_chosen

    known = known_cluster.read(
        source,
        args.kubernetes_version,
        wanted,
        chosen.namespace,
        through=through,
        needs_nodes=False,
        kinds=kinds,
    )
    profiles = profiles_in(known.snapshot.nodes, args.scheduler_config, profiles, known.features)
    creation = read_creation(known.others, known.features)
    reporting = Reporting(inventory, known.snapshot, known.features, policies, SYSTEM_NAMESPACES, profiles, creation)
    workloads = [workload for workload in reporting.workloads if chosen.has(workload.ref.namespace, workload.labels)]
    none_found = ""
    if ref is not None:
        ref = known_cluster.in_its_namespace(ref, (*known.others, *map(key_of, reporting.workloads)))
        workloads = [workload for workload in workloads if key_of(workload) == inventory.top(ref.key)]
        of_pod = f"{ref}: found no Pod of this name that has no owner; name what owns it, such as deployment/web"
        none_found = of_pod if ref.kind == POD else known_cluster.not_found(ref, known)
    elif not workloads:
        candidates = [Candidates(workload.ref.namespace, workload.labels) for workload in reporting.workloads]
        none_found = selection.none_found("workload", chosen, candidates, source)
    reported = map(reporting.of, workloads)
    shown = reported if is_server else with_bar(reported, len(workloads), "workloads")
    report = reporting.report(shown, selection.label_of_sums(args))
    if args.moves:
        ways = _ways_back(report, known, policies, profiles)
        report = report._replace(ways_back=ways, kubectl_options=sources.kubectl_options(args))
    return ReportOfCluster(report, known, inventory, profiles, "" if workloads else none_found)


def _asking_for_moves(args: argparse.Namespace) -> str:
    """Return the command that reports the same workloads, with the way back of each."""
    chosen = [*args.object, *(["-A"] if args.all_namespaces else [])]
    given = sources.repeated(args, "namespace", "selector", "policy", "compare")
    return join(["evenkeel", "report", *chosen, "--moves", *given])


def _ways_back(report: Report, known: Known, policies: Policies, profiles: Profiles) -> dict[ObjectKey, WayBack]:
    """Return how the workloads beyond maxSkew are even again."""
    raws = {key_of(workload.live): workload.live.raw for workload in report.workloads if workload.exceeds}
    defaults = defaults_in_force(policies.in_force, known.pods, known.others, known.snapshot)
    cluster = SimulatedCluster(known.snapshot, known.features, known.pods, known.others, seconds_at(known.time))
    unknown = dict.fromkeys(raws, WayBack(hindrance=Hindrance(NOT_SIMULATED)))
    described = [raw for raw in raws.values() if raw is not None]
    ways = with_bar(
        ways_back(described, cluster, policies.policy.kinds, defaults, profiles),
        len(described),
        "workloads",
        timed=True,
    )
    return {**unknown, **{ref.key: way for ref, way in ways}}


def _check(args: argparse.Namespace) -> None:
    """Raise UsageError if the options do not go together."""
    selection.label_of_sums(args)
    without_list = [f"--by {args.by}"] if args.by else []
    if args.summary:
        without_list.append("--summary")
    listing = [option for option, given in (("--changed", args.changed), ("--moves", args.moves)) if given]
    for option in [*without_list, *listing]:
        if args.output not in (output.TEXT, output.JSON):
            raise UsageError(f"{option}: found -o {args.output}, wanted -o text or -o json")
        if args.metrics_bind is not None:
            raise UsageError(f"{option}: found --metrics-bind, which prints nothing; leave out one of the two")
    if args.changed and args.compare is None:
        raise UsageError("--changed: found no --compare, wanted the policy in force now")
    if listing and without_list:
        raise UsageError(f"{listing[0]}: found {without_list[0]}, which lists no workload; leave out one of the two")
    if args.metrics_bind is not None and not LEAST_INTERVAL <= args.metrics_interval <= MOST_INTERVAL:
        wanted = f"{LEAST_INTERVAL} to {MOST_INTERVAL} seconds: each time it reads all Pods"
        raise UsageError(f"--metrics-interval: found {args.metrics_interval}, wanted {wanted}")


def _serve(args: argparse.Namespace, read_report: Callable[[], ReportOfCluster]) -> int:
    """Serve the metrics of reports until the process is ended."""
    from evenkeel.report.metrics_server import ReportError, serve  # Flask takes a while to import.

    def report_and_notes() -> tuple[Report, Sequence[str]]:
        try:
            report, known, *_ = read_report()
        except UsageError as error:
            raise ReportError(str(error)) from error
        return report, () if args.quiet else known.notes

    serve(listen("--metrics-bind", args.metrics_bind), args.metrics_interval, report_and_notes)
    return 0


def _policies(args: argparse.Namespace) -> Policies:
    if args.policy is None and args.compare is not None:
        raise UsageError("--compare: found no --policy, wanted the new policy file")
    if args.policy is None and args.fail_on is not None:
        raise UsageError(f"--fail-on {args.fail_on}: found no --policy, wanted the policy file that answers")
    compare = inputs.policy_of_today(args.compare) if args.compare is not None else None
    return Policies(inputs.policy_of_today(args.policy), compare, args.policy is not None)


def _notes(args: argparse.Namespace, report: Report, known: Known) -> Iterator[str]:
    """Yield what cannot be judged."""
    told_as_error = () if args.output in (output.JSON, output.HTML) else (known.without_nodes,)
    yield from (note for note in known.notes if note not in told_as_error)
    if args.moves and known.snapshot.budgets is None:
        yield "PodDisruptionBudgets are not known, so a deletion may violate one."
    if any(workload.live.claims for workload in report.workloads):
        yield from notes_on_pins(known.snapshot)


def _on_policy(policy: Policy, source: sources.Source, known: Known) -> Iterator[str]:
    """Yield what of the policy the cluster lacks."""
    yield from policy.notes_on(known.snapshot)
    yield from reading.notes_on_kinds(source, policy.kinds)


def _exit_code(report: Report, fail_on: str | None) -> int:
    outcomes = report.summary.outcomes
    denied = report.summary.denied > 0
    warned = any(outcomes.get(outcome) for outcome in (Outcome.WARNED, Outcome.WOULD_BE_DENIED, Outcome.NOT_JUDGED))
    fails = {DENIED_UPDATES: report.summary.denied_updates > 0, DENIED: denied, WARNED: denied or warned}
    return 1 if fail_on and fails[fail_on] else 0
