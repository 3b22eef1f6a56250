"""Reads what commands are given besides a cluster: manifests, labels, namespaces.  UsageErrors name file or option."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from webhook.cli.options import add_policy_argument, policy, text, today
from webhook.cli.usage import UsageError
from webhook.findings.finding import Severity
from webhook.kubernetes import operators
from webhook.kubernetes.documents import decoded, read_objects
from webhook.kubernetes.features import LATEST, Features
from webhook.kubernetes.labels import DNS_LABEL, Labels
from webhook.kubernetes.scalars import DocumentError
from webhook.policy.policy import Policy

NAMESPACE_LABELS = "--namespace-labels"
MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")
NOT_JUDGED = "not-judged"  # What --fail-on of pending and simulate may name.


def policy_of_today(path: Path | None, features: Features = LATEST) -> Policy:
    """Return the policy at `path` without the overrides that have ended."""
    return policy(path, features).on(today())


def add_namespace_labels_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        NAMESPACE_LABELS,
        metavar="[NAMESPACE:]KEY=VALUE,…",
        action="append",
        default=[],
        help="the labels of one namespace, or of all; repeatable (default: those in the input or in --cluster)",
    )


def namespace_labels(args: argparse.Namespace) -> dict[str, Labels]:
    """Return what --namespace-labels says, by the name of the namespace; "" stands for all others."""
    by_namespace: dict[str, Labels] = {}
    for value in args.namespace_labels:
        namespace, colon, pairs = value.rpartition(":")
        if colon and not DNS_LABEL.fullmatch(namespace):
            raise UsageError(f'{NAMESPACE_LABELS}: found "{value}", wanted NAMESPACE:KEY=VALUE,…')
        by_namespace[namespace] = {**by_namespace.get(namespace, {}), **labels(NAMESPACE_LABELS, pairs)}
    return by_namespace


def labels(option: str, text: str) -> dict[str, str]:
    """Return the labels in `text`, the value KEY=VALUE,… of an option."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    if wrong := [key for key, equals, _ in pairs if not (key and equals)]:
        raise UsageError(f'{option}: found "{wrong[0]}", wanted KEY=VALUE')
    return {key.strip(): value.strip() for key, _, value in pairs}


def add_fail_on_argument(parser: argparse.ArgumentParser) -> None:
    choices = [str(severity) for severity in Severity if severity is not Severity.IGNORE]
    parser.add_argument(
        "--fail-on",
        metavar="SEVERITY",
        choices=choices,
        default="error",
        help=f"exit with 1 if there are findings of this severity or higher: {', '.join(choices)} "
        "(default: %(default)s)",
    )


def with_operators(policy: Policy) -> Policy:
    """Return the policy, with the kinds of operators that it does not describe: for what judges files."""
    return replace(policy, kinds=operators.with_operators(policy.kinds))


def add_namespace_argument(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add -n for commands that read manifests, which know no context."""
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        type=namespace,
        default="default",
        help=f"{purpose} (default: %(default)s)",
    )


def namespace(text: str, advice: str = "") -> str:
    """Return the name of one namespace, the value of -n; UsageError, which ends in the advice, if it is none."""
    if not DNS_LABEL.fullmatch(text):
        raise UsageError(f'--namespace: found "{text}", wanted the name of one namespace{advice}')
    return text


def objects(name: str) -> tuple[Mapping[str, object], ...]:
    """Return every Kubernetes object in a file, or on standard input for `-`."""
    if not name:
        raise UsageError('found "", wanted a file, or - for standard input')
    try:
        read = tuple(read_objects(_stdin() if name == "-" else text(Path(name))))
    except DocumentError as error:
        raise UsageError(f"{name}: {error}") from error
    for number, obj in enumerate(read, 1):
        if not all(isinstance(obj.get(field), str) and obj[field] for field in ("apiVersion", "kind")):
            raise UsageError(f"{name}: object {number}: must have apiVersion and kind")
    if not read:
        empty = "standard input: found no object; did the command before the pipe fail?"
        raise UsageError(empty if name == "-" else f"{name}: found no object")
    return read


def objects_of(names: Sequence[str]) -> list[Mapping[str, object]]:
    """Return every Kubernetes object in several files and folders, of which one may be `-`."""
    if names.count("-") > 1:
        raise UsageError("-f: standard input can be read only once")
    return [obj for name in names for file in files(name) for obj in objects(file)]


def files(name: str) -> list[str]:
    """Return the manifests in a folder and in those below it, but for hidden ones; of a file its own name."""
    folder = Path(name)
    if not (name and folder.is_dir()):
        return [name]
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in MANIFEST_SUFFIXES and path.is_file())
    manifests = [
        str(path) for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not manifests:
        raise UsageError(f"-f {name}: found no file that ends in {', '.join(MANIFEST_SUFFIXES)}")
    return manifests


def _stdin() -> str:
    if sys.stdin is None:
        raise UsageError("-: standard input is closed")
    try:
        return decoded(sys.stdin.buffer.read())
    except UnicodeDecodeError as error:
        raise UsageError(f"-: is not {error.encoding.upper()}") from error


def add_policy_of_new_pods_argument(parser: argparse.ArgumentParser) -> None:
    add_policy_argument(
        parser,
        "a policy file (default: new Pods get the default constraints that evenkeel gave the newest Pod of the "
        "workload, else kube-scheduler's)",
    )


def add_scheduler_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scheduler-config",
        metavar="FILE",
        type=Path,
        help="the KubeSchedulerConfiguration of the cluster's kube-scheduler (default: its default profile)",
    )
