"""
Serve the webhook: /mutate and /validate over TLS, and /healthz, /readyz and /metrics on another port.

An environment variable can set each flag: EVENKEEL_LOG_LEVEL sets --log-level.
Exit code 0: stopped by a signal, 1: it cannot go on, 2: a certificate, policy, cluster or address cannot be used.
"""

# The first process only starts and watches the one that serves: it imports nothing of the application.
from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from webhook.cli.listening import address, listen
from webhook.cli.usage import TOO_DEEP, UsageError, not_among, print_error
from webhook.server import logs
from webhook.server.settings import SETTINGS, Setting, SettingsError
from webhook.server.transport.limits import TooFewDescriptors, clients

if TYPE_CHECKING:
    from webhook.cluster.client import Client
    from webhook.server.webhook import Webhook
    from webhook.spread.cluster_view import ClusterView

TRUE, FALSE = ("true", "1", "yes"), ("", "false", "0", "no")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for setting in SETTINGS:
        default = f" (default: {setting.default})" if setting.default else ""
        text = f"{setting.help}{default} [{setting.variable}]".replace("%", "%%")
        if setting.metavar is None:
            parser.add_argument(setting.flag, action="store_const", const="true", help=text)
        else:
            parser.add_argument(setting.flag, metavar=setting.metavar, help=text)


def run(args: argparse.Namespace) -> int:
    """
    Serve until a signal.

    This process checks only what it needs itself: a worker, which it forks, imports, reads and checks the rest.
    """
    try:
        return _run(args)
    except BrokenPipeError:  # Of standard output: `main` handles it for every command.
        raise
    except OSError as error:
        return _cannot_go_on(error)


def _cannot_go_on(error: OSError) -> int:
    logs.log(logging.ERROR, "stopping: cannot go on; see the field problem", problem=str(error))
    return 1


def _run(args: argparse.Namespace) -> int:
    values = {setting.name: value_of(setting, args) for setting in SETTINGS}
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))  # until gunicorn's arbiter sets its own
    logs.configure(values["log-level"])
    from webhook.server.gunicorn_server import Server

    threads, bind, health_bind = _threads(values["threads"]), values["bind"], values["health-bind"]
    listener = listen("--bind", bind)
    if bind == health_bind and address("--bind", bind)[1]:
        raise UsageError(f'--health-bind: found "{health_bind}", which is that of --bind, wanted another port')
    health = listen("--health-bind", health_bind)
    server = Server(
        partial(_webhook_or_exit, values),
        listener,
        health,
        threads=threads,
        connections=_connections(),
        log_level=values["log-level"],
    )
    return server.serve()


def _connections() -> int:
    try:
        return clients()
    except TooFewDescriptors as error:
        raise UsageError(str(error)) from error


def _webhook_or_exit(values: Mapping[str, str]) -> Webhook:
    """Make the webhook, in the worker; if that fails, say why, and have gunicorn's arbiter end, too."""
    from webhook.server.gunicorn_server import EXIT_FAILED, UNUSABLE

    try:
        return _make_webhook(values)
    except UsageError as error:
        print_error(error)
        sys.exit(UNUSABLE)
    except RecursionError:
        print_error(TOO_DEEP)
        sys.exit(UNUSABLE)
    except OSError as error:
        _cannot_go_on(error)
        sys.exit(EXIT_FAILED)


def value_of(setting: Setting, args: argparse.Namespace) -> str:
    """The flag, else the environment variable, else the default; "true" or "" for a switch.  Else UsageError."""
    flag = getattr(args, setting.name.replace("-", "_"))
    value = str(flag) if flag is not None else os.environ.get(setting.variable, setting.default)
    if setting.metavar is None:
        if value.lower() not in (*TRUE, *FALSE):
            raise UsageError(f'{setting.variable}: found "{value}", wanted true or false')
        return "true" if value.lower() in TRUE else ""
    if setting.choices and value not in setting.choices:
        raise UsageError(f"{setting.flag}: {not_among(value, setting.choices)}")
    return value


def _make_webhook(values: Mapping[str, str]) -> Webhook:
    """Read and check all that the settings name, and make the webhook of it; UsageError if something cannot be used."""
    from webhook.cli import options
    from webhook.kubernetes.features import LATEST
    from webhook.server import certificate
    from webhook.server.webhook import Config, Webhook

    policy_file = Path(values["policy"]) if values["policy"] else None
    version = values["kubernetes-version"]
    features = options.given_features(version) if version else LATEST
    policy = options.policy(policy_file, features)
    cluster: Client | ClusterView | None = None
    if values["cluster"] == options.LIVE:
        cluster = options.client()
    elif values["cluster"]:
        cluster = options.view(Path(values["cluster"]))
    host, _ = address("--bind", values["bind"])
    secret = options.namespaced("--tls-secret", values["tls-secret"]) if values["tls-secret"] else None
    try:
        chosen = certificate.choose(values, host, secret, partial(options.client, "--tls-secret"))
    except SettingsError as error:
        raise UsageError(str(error)) from error
    config = Config(
        policy=policy,
        policy_file=policy_file,
        cluster=cluster,
        features=features,
        asks_version=not version,
        certificate=chosen.serving,
        renewal=chosen.renewal,
    )
    return Webhook(config)


def _threads(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 64:
        raise UsageError(f'--threads: found "{text}", wanted a number from 1 to 64')
    return int(text)
