"""Prints what a report finds as objects for the cluster, or writes them there."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from http import HTTPStatus

from webhook.loading import inputs
from webhook.loading.selection import Selection
from webhook.loading.usage import UsageError
from webhook.objects.fields import texts_at
from webhook.render import openreports
from webhook.render.openreports import MANAGED_BY, REPORT_FORMS, SOURCE, Form, Objects
from webhook.report.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--apply",
        action="store_true",
        help=f"with -o {' or '.join(REPORT_FORMS)}: write the objects into the cluster, "
        "and delete those without findings",
    )


def check(args: argparse.Namespace, source: inputs.Source) -> None:
    """UsageError if the options do not go together."""
    if args.apply and args.output not in REPORT_FORMS:
        raise UsageError(f"--apply: found -o {args.output}, wanted -o {' or -o '.join(REPORT_FORMS)}")
    if args.apply and not source.live:
        raise UsageError(f"--apply: found --cluster {source.cluster}, wanted --cluster live; leave it out to print")


def publish(args: argparse.Namespace, source: inputs.Source, chosen: Selection, report: Report, *, whole: bool) -> None:
    """Print the objects, or with --apply write them and say how many; only a `whole` report lets any be deleted."""
    form = REPORT_FORMS[args.output]
    found = openreports.objects(report, form, int(time.time()))
    if found.left_out:
        print(f"evenkeel: {found.left_out:,} findings are left out, those of the last workloads", file=sys.stderr)
    if not args.apply:
        print(openreports.dumped(found))
        return
    about: frozenset[str] | None = frozenset()
    if whole:
        about = _reported(report) if args.object or args.selector else None
    else:
        print("note: what has no findings now is not deleted, because not all could be read", file=sys.stderr)
    _write(source, form, found, chosen.namespace, about)


def _reported(report: Report) -> frozenset[str]:
    return frozenset(texts_at(one.live.raw, "metadata.uid")[0] for one in report.workloads)


def _write(source: inputs.Source, form: Form, found: Objects, namespace: str, about: frozenset[str] | None) -> None:
    """Objects that are not about these workloads are not deleted; None: about any."""
    from webhook.cluster.client import ClusterError
    from webhook.cluster.published_reports import publish
    from webhook.cluster.watched_resources import Watched

    def may_go(obj: Mapping[str, object]) -> bool:
        return about is None or texts_at(obj, "scope.uid")[0] in about

    kind = Watched(form.api_version, form.kind, form.resource, "", query={"labelSelector": f"{MANAGED_BY}={SOURCE}"})
    try:
        client = inputs.client(source=source, patience=inputs.PATIENCE)
        done = publish(client, kind, found.items, namespace, openreports.same, may_go)
    except ClusterError as error:
        raise UsageError(f"--apply: {error}{_advice(error, kind.name)}") from error
    print(f"{done.written} {kind.name} written, {done.unchanged} unchanged, {done.deleted} deleted")


def _advice(error: Exception, name: str) -> str:
    status = getattr(error, "status", 0)
    if status == HTTPStatus.NOT_FOUND:
        return f"; install the CustomResourceDefinition {name}"
    return f"; ask for the rights to list, create, patch and delete {name}" if status == HTTPStatus.FORBIDDEN else ""
