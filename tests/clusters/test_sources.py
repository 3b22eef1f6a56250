"""The options that say which cluster is read, for the next command."""

from __future__ import annotations

import argparse

import pytest

from evenkeel.clusters.sources import add_cluster_arguments, repeated
from evenkeel.terminal.inputs import add_scheduler_argument
from webhook.cli import options


@pytest.mark.parametrize(
    ("given", "more", "wanted"),
    [
        ("", (), ""),
        ("--cluster live", (), ""),
        ("--cluster dump.gz", (), "--cluster dump.gz"),
        ("--context prod --kubeconfig k --cluster live", (), "--kubeconfig k --context prod"),
        (
            "--kubernetes-version 1.36 --scheduler-config s --policy p --cluster d",
            (),
            "--cluster d --scheduler-config s --kubernetes-version 1.36",
        ),
        ("--policy p", ("policy",), "--policy p"),
    ],
)
def test_options_are_repeated_as_they_are_given(given, more, wanted):
    parser = argparse.ArgumentParser()
    add_cluster_arguments(parser, options.LIVE)
    add_scheduler_argument(parser)
    options.add_policy_argument(parser)
    options.add_version_argument(parser)

    assert tuple(wanted.split()) == repeated(parser.parse_args(given.split()), *more)
