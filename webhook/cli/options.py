"""Options of `serve`, `manifests` and the commands of tools: a policy, a version, a cluster."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from webhook.cli.usage import UsageError, print_notes
from webhook.cluster.client import Client, ClusterError, access
from webhook.kubernetes.documents import decoded, read_objects
from webhook.kubernetes.features import LATEST, NEWEST, Features, parse_version, unknown
from webhook.kubernetes.labels import DNS_LABEL
from webhook.kubernetes.scalars import DocumentError
from webhook.policy.parsing import built_in, parse_policy
from webhook.policy.policy import Policy, PolicyError
from webhook.spread.cluster_view import ClusterView, SnapshotError, view_of

LIVE = "live"  # Give a dump in a file of this name as ./live.
LIVE_OPTION = f"--cluster {LIVE}"
DUMP_KIND = "ClusterDump"  # What evenkeel dump writes, for the tools.
VERSION_OPTION = "--kubernetes-version"


def add_policy_argument(
    parser: argparse.ArgumentParser, purpose: str = "a policy file (default: the built-in policy)"
) -> None:
    parser.add_argument("--policy", metavar="FILE", type=Path, help=purpose)


def add_quiet_argument(
    parser: argparse.ArgumentParser, purpose: str = "print no notes, only the result and errors"
) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help=purpose)


def add_version_argument(parser: argparse.ArgumentParser, of_cluster: bool = True) -> None:
    """Add --kubernetes-version; with `of_cluster` the command has --cluster, which may tell the version."""
    from_cluster = "that of the live cluster or the evenkeel dump, else " if of_cluster else ""
    help_text = f"the version of the cluster (default: {from_cluster}1.{NEWEST})"
    parser.add_argument(VERSION_OPTION, metavar="VERSION", help=help_text)


def policy(path: Path | None, features: Features = LATEST) -> Policy:
    """Read the policy in a file, or the built-in one, for a version with these features."""
    if path is None:
        return built_in()
    try:
        return parse_policy(text(path), features)
    except PolicyError as error:
        raise UsageError("\n".join(f"{path}: {cause}" for cause in error.causes)) from error


def today() -> str:
    """The day, in UTC, such as 2027-01-31."""
    return datetime.now(UTC).date().isoformat()


def features(version: str | None, option: str = VERSION_OPTION, *, quiet: bool = False) -> Features:
    """
    The features of a Kubernetes version such as 1.34, by default of the newest.

    `option` is the name of the option that gives the version.  Of a version that is too new, a note says so.
    """
    if not version:
        return LATEST
    known_features = given_features(version, option)
    print_notes(filter(None, [unknown(known_features)]), quiet)
    return known_features


def given_features(version: str, option: str = VERSION_OPTION) -> Features:
    """The features of a Kubernetes version such as 1.34, the value of `option`."""
    try:
        return parse_version(version)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


def namespaced(option: str, text: str) -> tuple[str, str]:
    """The namespace and name in `text`, the value NS/NAME of an option."""
    namespace, _, name = text.partition("/")
    if not (DNS_LABEL.fullmatch(namespace) and DNS_LABEL.fullmatch(name)):
        raise UsageError(f'{option}: found "{text}", wanted NAMESPACE/NAME')
    return namespace, name


def client(option: str = LIVE_OPTION, kubeconfig: str = "", context: str = "", patience: float = 0.0) -> Client:
    """A client of the cluster that kubectl uses; errors name `option`, and `patience` is that of `Client`."""
    try:
        return Client(partial(access, kubeconfig, context), patience)
    except ClusterError as error:
        raise UsageError(f"{option}: {error}") from error


def view(path: Path) -> ClusterView:
    """What the webhook keeps of the objects in a file, which has what `kubectl get -o yaml` prints."""
    wanted = "wanted what kubectl get -o yaml prints"
    try:
        objects = tuple(read_objects(text(path)))
        if not objects or objects[0].get("kind") == DUMP_KIND:
            raise UsageError(f"{path}: found {'a dump' if objects else 'no object'}")
        return view_of(objects)
    except UsageError as error:
        raise UsageError(f"{error}, {wanted}") from error
    except (DocumentError, SnapshotError) as error:
        raise UsageError(f"{path}: {error}") from error


def text(path: Path) -> str:
    """Read a file in UTF-8."""
    try:
        return decoded(path.read_bytes())
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not {error.encoding.upper()}") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
