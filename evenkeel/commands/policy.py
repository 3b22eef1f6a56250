"""
Check a policy file, show the settings for one Pod, test what a policy does, export it, or print the JSON Schema.

Exit code 0: fine, 1: a test has failed or a copy differs, 2: the policy or another input cannot be used.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import yaml

from evenkeel.clusters import reading, sources
from evenkeel.clusters.profiles import check_served, load_profiles, notes_on_clouds
from evenkeel.policy import check_text, in_force_text
from evenkeel.policy import export as scheduler_defaults
from evenkeel.policy.check_text import ComparedCopy
from evenkeel.policy.contradictions import contradictions
from evenkeel.policy.export import KARPENTER, KUBE_SCHEDULER
from evenkeel.policy.serving_replicas import notes_on, replicas_behind, services_with_failure_policy_fail
from evenkeel.policy_test import text as policy_test
from evenkeel.policy_test.running import SUFFIX, files_of, run_file
from evenkeel.policy_test.writing import write
from evenkeel.terminal import inputs, output
from webhook.admission.terms import Terms
from webhook.cli import options
from webhook.cli.usage import UsageError, print_notes
from webhook.cluster.ca_bundle import Registration
from webhook.cluster.client import ClusterError
from webhook.kubernetes.features import LATEST, Features
from webhook.kubernetes.names import DEFAULT_SCHEDULER
from webhook.kubernetes.workload import parse_workloads
from webhook.manifests import rbac
from webhook.manifests.configurations import MUTATING_NAME, NAME, new_entries
from webhook.policy import override_reach
from webhook.policy.defaults import suited_defaults
from webhook.policy.policy import Policy
from webhook.policy.scheduler_configuration import unserved
from webhook.policy.schema import schema
from webhook.spread.nodes import Nodes

CHECK = (
    "Check a policy file; print its errors, and notes on settings that may surprise you. "
    "Exit code 0: it can be used, 1: it contradicts itself, or the copy that --against names differs, "
    "2: it cannot be used."
)
SHOW = "Show the settings that a policy has for one Pod. Exit code 0: shown, 2: an input cannot be used."
TEST = """
Test a policy: compute the webhook's answer to each object in *.evenkeel-test.yaml, and compare it with the expected.

    evenkeel policy test PATH…          run the tests in files and folders
    evenkeel policy test --init NEW.evenkeel-test.yaml --policy FILE PATH…
                                        write a test of what the policy answers to these manifests today

If a file, or a case in it, cannot be used, the others are still tested.
Exit code 0: every answer is as expected, 1: one is not, 2: a file, or a case of it, cannot be used.
"""
OUTPUT_FORMS = {"text": policy_test.text, "json": policy_test.as_json, "junit": policy_test.as_xml}
EXPORT = (
    "Print the policy's default constraints as a KubeSchedulerConfiguration, with which kube-scheduler applies them "
    "itself, or for Karpenter's --scheduler-config; notes on what these lack go to standard error. "
    "Exit code 0: printed, 2: an input cannot be used."
)
EXPORTED = {
    KUBE_SCHEDULER: scheduler_defaults.configuration,
    KARPENTER: scheduler_defaults.karpenter_configuration,
}
READ_BY = {
    KUBE_SCHEDULER: "Merge the profiles into the file that kube-scheduler reads by --config",
    KARPENTER: "Give this to Karpenter, 1.15 or later, by --scheduler-config",
}
SCHEMA_HELP = "Print the JSON Schema of a policy file, for completion in an editor. Exit code 0: printed."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="check a policy file, and print errors and notes", description=CHECK)
    check.add_argument("file", metavar="FILE", type=Path, help="a policy file")
    check.add_argument(
        "--compare", metavar="FILE", type=Path, help="the policy file in force now, to print what changes"
    )
    check.add_argument(
        "--against",
        metavar="FILE",
        type=Path,
        help="the KubeSchedulerConfiguration, or what Karpenter reads by --scheduler-config, to print where its "
        "default constraints differ",
    )
    options.add_version_argument(check, of_cluster=False)
    options.add_quiet_argument(check)
    sources.add_cluster_arguments(check)
    output.add_output_argument(check)
    check.set_defaults(act=_check)
    show = actions.add_parser("show", help="show the settings for one Pod", description=SHOW)
    inputs.add_namespace_argument(show, "the Pod's namespace")
    inputs.add_namespace_labels_argument(show)
    show.add_argument("--labels", metavar="KEY=VALUE,…", default="", help="the Pod's labels")
    show.add_argument(
        "--scheduler-name",
        metavar="NAME",
        default=DEFAULT_SCHEDULER,
        help="the Pod's schedulerName (default: %(default)s)",
    )
    options.add_policy_argument(show)
    sources.add_cluster_arguments(show)
    output.add_output_argument(show)
    show.set_defaults(act=_show)
    test = actions.add_parser(
        "test",
        help="run the tests of policies, or write one",
        description=TEST,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_test_arguments(test)
    test.set_defaults(act=_test)
    export = actions.add_parser(
        "export", help="print the default constraints for kube-scheduler or Karpenter", description=EXPORT
    )
    export.add_argument("--for", dest="program", choices=[*EXPORTED], required=True, help="the program that reads it")
    options.add_policy_argument(export)
    options.add_quiet_argument(export)
    export.set_defaults(act=_export)
    schema_parser = actions.add_parser("schema", help="print the JSON Schema of a policy file", description=SCHEMA_HELP)
    schema_parser.set_defaults(act=_schema)


def _add_test_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="PATH", nargs="+", help=f"tests, and folders with *{SUFFIX}; with --init, manifests"
    )
    parser.add_argument(
        "-o", "--output", choices=tuple(OUTPUT_FORMS), default="text", help="the output format (default: text)"
    )
    parser.add_argument(
        "--init", metavar="FILE", help="write a test with a case for each judged object in PATH; - prints it"
    )
    parser.add_argument("--policy", metavar="FILE", help="with --init: the policy (default: the built-in policy)")
    parser.add_argument(
        "--cluster",
        metavar="FILE|DIR",
        help="with --init: a dump of a cluster, from evenkeel dump or kubectl get",
    )
    parser.add_argument("--kubernetes-version", metavar="VERSION", help="with --init: the version of the cluster")


def run(args: argparse.Namespace) -> int:
    code: int = args.act(args)
    return code


def _test(args: argparse.Namespace) -> int:
    if args.init is not None:
        write(args.init, args.path, args.policy, args.cluster, args.kubernetes_version)
        return 0
    for option in ("policy", "cluster", "kubernetes_version"):
        if getattr(args, option) is not None:
            name = option.replace("_", "-")
            raise UsageError(f"--{name}: works only with --init; write it into the test file, or leave it out")
    results = [run_file(file) for file in files_of(args.path)]
    problems = [problem for tested in results for problem in tested.problems]
    if args.output != "text" or any(tested.results for tested in results):
        print(OUTPUT_FORMS[args.output](results))
    if problems:
        raise UsageError("\n".join(problems))
    return 1 if any(tested.failed for tested in results) else 0


def _check(args: argparse.Namespace) -> int:
    features = reading.features(args.kubernetes_version, quiet=args.quiet)
    policy = options.policy(args.file, features)
    if cause := unserved(policy.scheduler_api, features):
        raise UsageError(f"{args.file}: {cause}")
    before = options.policy(args.compare, features) if args.compare is not None else None
    entries = _new_entries(policy, before) if before is not None else ()
    rights = _new_rights(policy, before) if before is not None else ()
    source = sources.source(args)
    snapshot = reading.cluster(source)
    on_nodes = (*policy.notes_on(snapshot), *notes_on_clouds(snapshot.nodes)) if snapshot is not None else ()
    on_replicas = _on_replicas(source, snapshot.nodes) if snapshot is not None and source.live else ()
    ends = chain.from_iterable(override_reach.ends(policy, options.today()).values())
    on_kinds = reading.notes_on_kinds(source, policy.kinds)
    self_defeats = [*contradictions(policy, Terms(policy, snapshot, features))]
    errors = [str(contradiction) for contradiction in self_defeats if contradiction.error]
    surprises = [str(contradiction) for contradiction in self_defeats if not contradiction.error]
    notes = (*surprises, *policy.notes, *ends, *on_kinds, *on_nodes, *on_replicas, *entries, *rights)
    copy = _compared(policy.on(options.today()), args.against, features) if args.against is not None else None
    form = check_text.as_json if args.output == output.JSON else check_text.text
    print(form(str(args.file), errors, notes, copy))
    return 1 if errors or (copy is not None and copy.differences) else 0


def _on_replicas(source: sources.Source, nodes: Nodes) -> Iterator[str]:
    """Yield notes on replicas in a live cluster that may be lost together, if the API server refuses calls then."""
    client = reading.client(source=source)
    registration = Registration(client, MUTATING_NAME, NAME)
    try:
        registration.read()
        for namespace, name in services_with_failure_policy_fail(registration.seen or ()):
            if (replicas := replicas_behind(client, namespace, name)) is not None:
                yield from notes_on(replicas, nodes, namespace)
    except ClusterError as error:
        yield f"evenkeel cannot find where its replicas run: {error}"


def _compared(policy: Policy, path: Path, features: Features) -> ComparedCopy:
    """Compare the policy with a copy of its default constraints; UsageError if its program would not start with it."""
    if (document := scheduler_defaults.karpenter_document(options.text(path))) is not None:
        constraints, causes = scheduler_defaults.karpenter_constraints(document)
        if causes:
            raise UsageError("\n".join(f"{path}: {cause}; Karpenter does not start with it" for cause in causes))
        differences = scheduler_defaults.karpenter_differences(policy, constraints)
        return ComparedCopy(str(path), KARPENTER, (), [*differences])
    check_served(load_profiles(path), path, features)
    copy = options.policy(path)
    differences = scheduler_defaults.differences(policy, copy)
    return ComparedCopy(str(path), KUBE_SCHEDULER, copy.notes, [*differences])


def _new_entries(policy: Policy, before: Policy) -> Iterator[str]:
    """Yield a note on webhook entries that the new policy needs besides those of the policy before."""
    for enforced_fail, condition, option in (
        (False, "", ""),
        (True, "with failurePolicyEnforced: Fail, ", " --failure-policy-enforced Fail"),
    ):
        if names := new_entries(policy, before, enforced_fail):
            todo = f"helm upgrade, or apply what evenkeel manifests{option} prints"
            yield f"{condition}this policy needs new webhook entries ({', '.join(names)}): {todo}"
            return


def _new_rights(policy: Policy, before: Policy) -> Iterator[str]:
    """Yield a note on resources that people who run commands must read besides those for the policy before."""
    if resources := rbac.new_resources(rbac.viewer_rules(policy), rbac.viewer_rules(before)):
        todo = "helm upgrade, or apply what evenkeel manifests --rbac-viewer prints"
        yield f"with this policy, people who run commands must read more ({', '.join(resources)}): {todo}"


def _show(args: argparse.Namespace) -> int:
    policy, snapshot = inputs.policy_of_today(args.policy), reading.cluster(sources.source(args))
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": args.namespace, "labels": inputs.labels("--labels", args.labels)},
        "spec": {"schedulerName": args.scheduler_name},
    }
    namespace_labels = Terms(policy, snapshot, LATEST, labels=inputs.namespace_labels(args)).namespace_labels(
        args.namespace
    )
    form = in_force_text.as_json if args.output == output.JSON else in_force_text.text
    workload = parse_workloads(raw)[0]
    in_force = policy.in_force(workload, namespace_labels)
    if snapshot is not None and in_force.defaulting is not None:
        suited = suited_defaults(in_force.defaulting, workload, snapshot)
        in_force = replace(in_force, defaulting=in_force.defaulting._replace(constraints=suited.constraints))
        print_notes([f"defaulting: left out: {suited.lacking}"] if suited.lacking else ())
    print(form(policy, in_force))
    return 0


def _export(args: argparse.Namespace) -> int:
    policy, today = options.policy(args.policy), options.today()
    print_notes(scheduler_defaults.losses(policy, today, args.program), args.quiet)
    print(f"# {READ_BY[args.program]}; see docs/policy.md.")
    print(yaml.safe_dump(EXPORTED[args.program](policy.on(today)), sort_keys=False, width=1_000), end="")
    return 0


def _schema(args: argparse.Namespace) -> int:
    print(json.dumps(schema(), indent=2))
    return 0
