"""
Print what the webhook answers when you apply an object.

The object goes through /mutate and then /validate, as kube-apiserver sends it. No cluster is needed; --cluster gives
one, or a dump of one. The object counts as sent by a person: what a built-in controller creates may only be audited.
If the file holds an AdmissionReview, evenkeel answers its request as it is.
Exit code 0: allowed, 1: an object is denied, or has a finding that --fail-on warning or info names, 2: bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping

from evenkeel.admit import text as render
from evenkeel.admit.dry_run import Applied, dry_run
from evenkeel.admit.recorded_reviews import Recorded, is_review, read_recorded
from evenkeel.clusters import reading, sources
from evenkeel.terminal import inputs, output
from webhook.admission.decision import ALLOWED
from webhook.admission.ownership import CONTROLLERS
from webhook.admission.terms import Terms
from webhook.cli import options
from webhook.cli.usage import UsageError, print_notes
from webhook.findings.finding import Severity, Skipped
from webhook.kubernetes.fields import as_mapping
from webhook.kubernetes.labels import Labels, labels_of
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.kubernetes.references import Identity, ObjectRef, identity_of
from webhook.policy.policy import Policy

NAMESPACE_TYPE = ("", "Namespace")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        required=True,
        action="append",
        help="a file with objects or AdmissionReviews, a folder of these, or - for standard input; repeatable",
    )
    inputs.add_namespace_argument(parser, "the namespace of objects without one")
    parser.add_argument("--old", metavar="FILE", help="the object before the change; the request is then an update")
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json", "yaml"),
        default="text",
        help="text: what kubectl prints; json: a line for each object; yaml: the objects as they are stored",
    )
    inputs.add_fail_on_argument(parser)
    options.add_quiet_argument(parser)
    inputs.add_namespace_labels_argument(parser)
    sources.add_cluster_arguments(parser)
    options.add_policy_argument(parser)
    options.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    if [*args.filename, args.old].count("-") > 1:
        raise UsageError("-f and --old: standard input can be read only once")
    files = [file for name in args.filename for file in inputs.files(name)]
    requests = [(file, review) for file in files for review in _requests(file, args)]
    old_objects = inputs.objects(args.old) if args.old is not None else None
    old = {identity_of(obj, args.namespace): obj for obj in old_objects} if old_objects is not None else None
    source = sources.source(args)
    features = reading.features(args.kubernetes_version, source, quiet=args.quiet)
    policy = inputs.policy_of_today(args.policy, features)
    labels = inputs.namespace_labels(args)
    if "" not in labels:
        labels = {**_namespaces(recorded.obj for _, recorded in requests), **labels}
    cluster = reading.cluster(source)
    terms = Terms(policy, cluster, features, labels, foresees=True)
    code, skipped = 0, list[Skipped]()
    for file, (obj, before, namespace, user, unjudged) in requests:
        if unjudged:
            applied = Applied(
                obj,
                updated=False,
                mutate=ALLOWED,
                validate=ALLOWED,
                stored=obj,
                refusal=None,
                kind=None,
                unjudged=unjudged,
            )
        else:
            before = before or _before(obj, old, args)
            applied = dry_run(obj, before, terms, namespace=namespace, never_sent=SYSTEM_NAMESPACES, user=user)
        fail_on = Severity(args.fail_on)
        _print(applied, file, args.output, None if user in CONTROLLERS else policy, fail_on)
        if applied.refused or applied.denied_by is not None or render.findings_to_fail(applied, fail_on):
            code = 1
        skipped += () if applied.refused else applied.validate.skipped
    if args.output == output.TEXT:
        print_notes(output.not_run(skipped), args.quiet)
    return code


def _namespaces(objects: Iterable[Mapping[str, object]]) -> dict[str, Labels]:
    """Return the labels of the namespaces among the objects, by their names."""
    refs_and_metadata = ((ObjectRef.of(obj), as_mapping(obj.get("metadata"))) for obj in objects)
    return {ref.name: labels_of(obj.get("labels")) for ref, obj in refs_and_metadata if ref.key[:2] == NAMESPACE_TYPE}


def _requests(file: str, args: argparse.Namespace) -> Iterator[Recorded]:
    """Yield a request for each object in a file, or the request of each review."""
    for number, obj in enumerate(inputs.objects(file), 1):
        if not is_review(obj):
            yield Recorded(obj, None, args.namespace, "")
            continue
        where = f"{file}: object {number}: AdmissionReview"
        if args.old is not None:
            raise UsageError(f"{where}: already holds its old object; leave --old out")
        try:
            yield read_recorded(obj)
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from error


def _before(
    obj: Mapping[str, object], old: Mapping[Identity, Mapping[str, object]] | None, args: argparse.Namespace
) -> Mapping[str, object] | None:
    """Return the old object, None for a creation."""
    if old is None:
        return None
    key = identity_of(obj, args.namespace)
    if key not in old:
        raise UsageError(f"{args.old}: has no {render.title(obj)} in namespace {key[2]}")
    return old[key]


def _print(applied: Applied, file: str, output: str, policy: Policy | None, fail_on: Severity) -> None:
    if output == "json":
        print(render.as_json(applied))
    elif output == "text":
        print(render.text(applied, file, policy, fail_on))
    else:
        unstored = applied.refused or applied.denied_by or applied.unjudged
        said = (*render.warnings(applied), *render.failing(applied, fail_on))
        lines = render.text(applied, file, policy) if unstored else "\n".join(said)
        print(lines, end="\n" if lines else "", file=sys.stderr)
        print("" if unstored else render.as_yaml(applied), end="")
