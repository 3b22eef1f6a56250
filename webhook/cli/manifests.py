"""
Print the webhook configurations that a policy needs; pipe them into kubectl apply -f -

They send only what the policy needs.  The CA bundle is public; no private key is needed.
With --rbac, a ServiceAccount and RBAC come first, named like the Service in its namespace, or else evenkeel/evenkeel.
Exit code 0: printed, 2: an input cannot be used.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from certs.files import CertificateError, read
from certs.pem import ca_bundle
from webhook.cli import inputs
from webhook.cli.usage import UsageError
from webhook.manifests.configurations import CONDITIONS_SINCE, FAIL, IGNORE, NAME, Target, configurations
from webhook.manifests.rbac import rbac


def add_arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--service", metavar="NS/NAME", help="the webhook's Service, on port 443")
    where.add_argument("--url", metavar="URL", help="https://HOST[:PORT], if there is no Service")
    parser.add_argument("--ca-bundle", metavar="FILE", type=Path, required=True, help="CA certificates, as PEM")
    parser.add_argument(
        "--failure-policy",
        choices=(IGNORE, FAIL),
        default=IGNORE,
        help="failurePolicy for built-in kinds, which applies while no webhook answers (default: %(default)s)",
    )
    parser.add_argument(
        "--failure-policy-enforced",
        choices=(IGNORE, FAIL),
        default=IGNORE,
        help="Fail gives what an enforced rule may deny entries of its own, with this failurePolicy; what a built-in "
        "controller creates is not among it, so that Pods start while no webhook answers (default: %(default)s)",
    )
    parser.add_argument(
        "--rbac", action="store_true", help="also print a ServiceAccount and the RBAC for --cluster live"
    )
    inputs.add_policy_argument(parser)
    inputs.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    policy, service = inputs.policy(args.policy), inputs.namespaced("--service", args.service) if args.service else None
    minor = inputs.features(args.kubernetes_version).minor
    target = Target(
        _bundle(args.ca_bundle),
        service,
        _url(args.url),
        args.failure_policy,
        _fails(args, minor),
        minor >= CONDITIONS_SINCE,
    )
    rights = rbac(policy, *(service or (NAME, NAME))) if args.rbac else ()
    found = (*rights, *configurations(policy, target))
    print("---\n".join(yaml.safe_dump(obj, sort_keys=False, width=1_000) for obj in found), end="")
    return 0


def _fails(args: argparse.Namespace, minor: int) -> bool:
    """Whether enforced rules have entries of their own; not needed where all entries have their failurePolicy."""
    if args.failure_policy_enforced == IGNORE or args.failure_policy == FAIL:
        return False
    if minor < CONDITIONS_SINCE:
        raise UsageError(
            f"--failure-policy-enforced {FAIL}: found Kubernetes 1.{minor}, wanted 1.{CONDITIONS_SINCE} or newer: "
            "without matchConditions the Pods of controllers cannot be told apart"
        )
    return True


def _bundle(path: Path) -> bytes:
    try:
        return ca_bundle(read(path))
    except CertificateError as error:
        raise UsageError(f"--ca-bundle: {error}") from error


def _url(text: str | None) -> str:
    """A URL that the API server accepts: https, without user, query or fragment (webhook.ValidateWebhookURL)."""
    if text is None:
        return ""
    try:
        url = urlsplit(text)
        usable = url.scheme == "https" and url.hostname and (url.port is None or url.port > 0)
    except ValueError:
        usable = False
    if not usable or url.username or url.query or url.fragment:
        raise UsageError(f'--url: found "{text}", wanted https://HOST[:PORT]')
    return text
