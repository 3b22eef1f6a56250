"""
Print how the webhook answers when an object is applied.

Takes the object through /mutate, then /validate, as kube-apiserver does, with or without a cluster or a dump of one.
It is judged as sent by a person: what a built-in controller creates may only be audited.
Exit code 0: allowed, 1: denied, 2: bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping

from webhook.admission.dry_run import Applied, dry_run
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.admission.terms import Terms
from webhook.cli import inputs
from webhook.cli.usage import UsageError
from webhook.findings.others import Others
from webhook.manifests.configurations import SYSTEM_NAMESPACES
from webhook.objects.autoscalers import read_autoscaler, scalings
from webhook.objects.fields import as_mapping
from webhook.objects.labels import Labels, labels_of
from webhook.objects.references import ObjectRef
from webhook.objects.workload import Workload
from webhook.policy.policy import Policy
from webhook.render import applied as render

NAMESPACE = ("", "Namespace")
Identity = tuple[object, object, object, object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        required=True,
        action="append",
        help="a file with the objects, or - for standard input; repeatable",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        default="default",
        help="the namespace of objects that name none (default: %(default)s)",
    )
    parser.add_argument("--old", metavar="FILE", help="the old object; makes the request an update")
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json", "yaml"),
        default="text",
        help="text: what kubectl prints; json: a line for each object; yaml: the objects as they are stored",
    )
    inputs.add_namespace_labels_argument(parser)
    inputs.add_cluster_arguments(parser)
    inputs.add_policy_argument(parser)
    inputs.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    if [*args.filename, args.old].count("-") > 1:
        raise UsageError("-f and --old: standard input can be read only once")
    objects = [(file, obj) for file in args.filename for obj in inputs.objects(file)]
    given = inputs.objects(args.old) if args.old is not None else None
    old = {identity(obj, args.namespace): obj for obj in given} if given is not None else None
    source = inputs.source(args)
    features = inputs.features(args.kubernetes_version, source)
    policy = inputs.with_operators(inputs.policy_of_today(args.policy, features))
    cluster = inputs.cluster(source, features, policy.watch_pods)
    others = Others.of(_workloads(objects, policy, args.namespace))
    autoscalers = filter(None, (read_autoscaler(obj, args.namespace) for _, obj in objects))
    labels = inputs.namespace_labels(args)
    if "" not in labels:
        labels = {**_namespaces(obj for _, obj in objects), **labels}
    terms = Terms(policy, cluster, features, others, scalings(autoscalers), labels, foresees=True)
    code = 0
    for file, obj in objects:
        before = _before(obj, old, args)
        applied = dry_run(obj, before, terms, namespace=args.namespace, never_sent=SYSTEM_NAMESPACES)
        _print(applied, file, args.output, terms.policy)
        code = code if applied.denied_by is None else 1
    return code


def _namespaces(objects: Iterable[Mapping[str, object]]) -> dict[str, Labels]:
    """Return the labels of the namespaces among the objects, by their names."""
    named = ((ObjectRef.of(obj), as_mapping(obj.get("metadata"))) for obj in objects)
    return {ref.name: labels_of(found.get("labels")) for ref, found in named if ref.key[:2] == NAMESPACE}


def _workloads(
    objects: Iterable[tuple[str, Mapping[str, object]]], policy: Policy, namespace: str
) -> Iterator[Workload]:
    for _, obj in objects:
        yield from AdmissionRequest.of(obj, phase=VALIDATE, kinds=policy.kinds, namespace=namespace).workloads


def _before(
    obj: Mapping[str, object], old: Mapping[Identity, Mapping[str, object]] | None, args: argparse.Namespace
) -> Mapping[str, object] | None:
    """The old object, None for a creation."""
    if old is None:
        return None
    known_by = identity(obj, args.namespace)
    if known_by not in old:
        raise UsageError(f"{args.old}: has no {render.title(obj)} in namespace {known_by[2]}")
    return old[known_by]


def identity(obj: Mapping[str, object], namespace: str) -> Identity:
    """What an update cannot change: apiVersion, kind, namespace and name."""
    metadata = as_mapping(obj.get("metadata"))
    return (
        str(obj.get("apiVersion")),
        str(obj.get("kind")),
        str(metadata.get("namespace") or namespace),
        str(metadata.get("name")),
    )


def _print(applied: Applied, file: str, output: str, policy: Policy) -> None:
    if output == "json":
        print(render.as_json(applied))
    elif output == "text":
        print(render.text(applied, file, policy))
    else:
        said = render.text(applied, file, policy) if applied.denied_by else "\n".join(render.warnings(applied))
        print(said, end="\n" if said else "", file=sys.stderr)
        print("" if applied.denied_by else render.as_yaml(applied), end="")
