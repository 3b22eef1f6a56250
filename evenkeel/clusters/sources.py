"""Where a command reads a cluster: the current one, or a dump."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from webhook.cli.options import LIVE
from webhook.cli.usage import UsageError


class Source(NamedTuple):
    """Where a cluster is read."""

    cluster: str = ""  # LIVE, a file, a folder, or "" for none
    # Only for LIVE:
    kubeconfig: str = ""
    context: str = ""

    @property
    def live(self) -> bool:
        return self.cluster == LIVE

    @property
    def in_words(self) -> str:
        return "the cluster" if self.live else self.cluster


NO_CLUSTER = Source()
OF_KUBECTL = ("kubeconfig", "context")
WHOLE_CLUSTER = "kubectl get nodes,pods,… -A -o yaml, or evenkeel dump, writes a whole cluster"


def add_cluster_arguments(parser: argparse.ArgumentParser, default: str = "") -> None:
    parser.add_argument(
        "--cluster",
        metavar="live|FILE|DIR",
        default=default or None,
        help="live: the cluster that kubectl uses; FILE or DIR: a dump of a cluster, from evenkeel dump or kubectl"
        f" get nodes,namespaces,services,replicasets,statefulsets,… -A -o yaml (default: {default or 'none'})",
    )
    add_access_arguments(parser)


def add_access_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --kubeconfig and --context."""
    parser.add_argument(
        "--kubeconfig", metavar="FILE", default="", help="the kubeconfig for --cluster live (default: kubectl's)"
    )
    parser.add_argument(
        "--context", metavar="NAME", default="", help="the context for --cluster live (default: the current one)"
    )


def repeated(args: argparse.Namespace, *more: str) -> tuple[str, ...]:
    """Return the options with which another command reads the same cluster, and `more`, as far as they are given."""
    return _given(args, "cluster", *OF_KUBECTL, "scheduler_config", "kubernetes_version", *more)


def kubectl_options(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the options with which kubectl reaches the same cluster, as far as they are given."""
    return _given(args, *OF_KUBECTL)


def _given(args: argparse.Namespace, *names: str) -> tuple[str, ...]:
    given = [(name, str(getattr(args, name))) for name in names if getattr(args, name)]
    return tuple(
        [
            word
            for name, value in given
            if (name, value) != ("cluster", LIVE)
            for word in (f"--{name.replace('_', '-')}", value)
        ]
    )


def source(args: argparse.Namespace) -> Source:
    """Return the source of the cluster that the arguments name."""
    if args.cluster == "":
        raise UsageError('--cluster: found "", wanted live, a file or a folder')
    chosen = Source(args.cluster or "", args.kubeconfig, args.context)
    for option, value in (("--kubeconfig", chosen.kubeconfig), ("--context", chosen.context)):
        if value and not chosen.live:
            found = f"--cluster {chosen.cluster}; write" if chosen.cluster else "no --cluster; add"
            raise UsageError(f"{option}: found {found} --cluster live, or leave {option} out")
    return chosen
