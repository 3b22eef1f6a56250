"""
List the custom resources of operators that `evenkeel lint` judges, and the fields that hold their constraints.

The API server sends such a resource to the webhook only if the policy names it:

    workloads: [{builtIn: strimzi-kafka}]

A field that the operator fills in may be absent. In a label that the operator gives its Pods, NAME is the name of the
object, and ITEM that of the list's item, or the key. With ?= the object itself may give another value. [*] is each item
of a list, {*} each key of an object.

Exit code 0: printed.
"""

from __future__ import annotations

import argparse

from evenkeel.catalogue import kinds_text as render
from evenkeel.terminal import output
from webhook.kubernetes.operators import places


def add_arguments(parser: argparse.ArgumentParser) -> None:
    output.add_output_argument(parser)


def run(args: argparse.Namespace) -> int:
    print(render.as_json(places()) if args.output == output.JSON else render.text(places()))
    return 0
