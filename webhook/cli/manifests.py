"""
Print webhook configurations or ValidatingAdmissionPolicies for a policy; pipe them into kubectl apply -f -

--engine webhook prints the webhook configurations. They send only the objects that the policy needs.
--engine policy prints ValidatingAdmissionPolicies for the rules that CEL can express. The API server evaluates them.
No part of evenkeel runs in the cluster.

The CA comes from a file, or evenkeel or cert-manager writes it later.
With --rbac, a ServiceAccount and its RBAC come first, with the name and namespace of the Service, or else
evenkeel/evenkeel.
With --rbac-viewer, a ClusterRole comes first, for people who run commands on the cluster. It can be printed alone.
With --skip-label-user, --skip-label-group or --ca-bundle-user, a ValidatingAdmissionPolicy and its binding come last.
Exit code 0: printed, 2: an input cannot be used.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from certs.files import CertificateError, read
from certs.pem import ca_bundle
from webhook.cli import options
from webhook.cli.usage import UsageError, print_notes
from webhook.kubernetes.features import LATEST, Features
from webhook.kubernetes.labels import DNS_LABEL
from webhook.kubernetes.names import SKIP_LABEL, SYSTEM_NAMESPACES
from webhook.manifests.admission_policies import VARIABLES_SINCE, WHY_SINCE, admission_policies, notes, unknowable
from webhook.manifests.ca_bundle_guard import ca_bundle_policy
from webhook.manifests.configurations import (
    CONDITIONS_SINCE,
    FAIL,
    IGNORE,
    NAME,
    NEEDED_NAMESPACES,
    POLICIES_SINCE,
    Manifest,
    WebhookTarget,
    configurations,
)
from webhook.manifests.rbac import VIEWER, rbac, viewer
from webhook.manifests.skip_label import skip_label_policy
from webhook.policy.policy import Policy

ENGINE, WEBHOOK, POLICY = "--engine", "webhook", "policy"
CA_BUNDLE, TLS_SECRET, INJECT_CA_OPTION = "--ca-bundle", "--tls-secret", "--inject-ca-from"
WHOSE_CA = f"{CA_BUNDLE}, {TLS_SECRET} or {INJECT_CA_OPTION}"
EXCLUDE_NAMESPACE = "--exclude-namespace"
# Arguments that only a webhook has use for.
_OF_WEBHOOK = (
    *("service", "url", "ca_bundle", "tls_secret", "inject_ca_from", "failure_policy", "failure_policy_enforced"),
    *("rbac", "ca_bundle_user"),
)
SKIP_LABEL_USER, SKIP_LABEL_GROUP, CA_BUNDLE_USER = "--skip-label-user", "--skip-label-group", "--ca-bundle-user"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        ENGINE,
        choices=(WEBHOOK, POLICY),
        default=WEBHOOK,
        help="what judges: the webhook, or ValidatingAdmissionPolicies in the API server (default: %(default)s)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--service", metavar="NS/NAME", help="the Service of the webhook, on port 443")
    where.add_argument("--url", metavar="URL", help="the webhook's https://HOST[:PORT], if it has no Service")
    ca = parser.add_mutually_exclusive_group()
    ca.add_argument(
        CA_BUNDLE, metavar="FILE", type=Path, help="the CA of the webhook's certificate, as PEM, without a key"
    )
    ca.add_argument(
        TLS_SECRET,
        metavar="NS/NAME",
        help="the Secret of evenkeel serve --tls-secret, which writes the CA itself; --rbac prints the rights for that",
    )
    ca.add_argument(
        INJECT_CA_OPTION,
        metavar="NS/NAME",
        help="the Certificate of cert-manager, whose cainjector writes the CA",
    )
    parser.add_argument(
        "--failure-policy",
        choices=(IGNORE, FAIL),
        default=IGNORE,
        help="the failurePolicy for built-in kinds: what holds while no webhook answers (default: %(default)s)",
    )
    parser.add_argument(
        "--failure-policy-enforced",
        choices=(IGNORE, FAIL),
        default=IGNORE,
        help="the failurePolicy for objects that an enforced rule may deny (default: %(default)s). With "
        f"{FAIL}, these objects get webhook entries of their own, which leave out what built-in controllers create, so "
        "Pods still start",
    )
    parser.add_argument(
        EXCLUDE_NAMESPACE,
        metavar="NAME",
        action="append",
        default=[],
        help=f"send nothing from this namespace; repeatable. With --failure-policy {FAIL} or --failure-policy-enforced "
        f"{FAIL}, name each namespace in which something runs without which the webhook cannot start; already excluded "
        f"then: {', '.join(NEEDED_NAMESPACES)}. Always excluded: {', '.join(SYSTEM_NAMESPACES)} and the namespace of "
        "--service",
    )
    parser.add_argument(
        "--rbac", action="store_true", help="also print a ServiceAccount and the RBAC for --cluster live"
    )
    parser.add_argument(
        "--rbac-viewer",
        action="store_true",
        help=f"also print the ClusterRole {VIEWER}: the rights to read what commands read of a live cluster, "
        "with the custom resources in the policy's workloads",
    )
    for option, who in ((SKIP_LABEL_USER, "this user"), (SKIP_LABEL_GROUP, "members of this group")):
        parser.add_argument(
            option,
            metavar="NAME",
            action="append",
            default=[],
            help=f"let only {who} label namespaces {SKIP_LABEL}=true; repeatable",
        )
    parser.add_argument(
        CA_BUNDLE_USER,
        metavar="NAME",
        help="let updates of webhook configurations by this user change only caBundle; name the account of "
        "evenkeel serve --tls-secret: system:serviceaccount:NS:NAME",
    )
    options.add_policy_argument(parser)
    options.add_version_argument(parser, of_cluster=False)
    options.add_quiet_argument(parser)


def run(args: argparse.Namespace) -> int:
    ca = args.ca_bundle or args.tls_secret or args.inject_ca_from
    alone = not (args.service or args.url or ca or args.rbac)
    if args.engine == POLICY:
        _check_unused(args)
    elif not (alone and args.rbac_viewer):
        for value, names in ((args.service or args.url, "--service or --url"), (ca, WHOSE_CA)):
            if not value:
                raise UsageError(f"found no {names}, wanted one of them; only --rbac-viewer works alone")
    features = options.features(args.kubernetes_version, quiet=args.quiet)
    policy = options.policy(args.policy, features)
    viewer_role = (viewer(policy),) if args.rbac_viewer else ()
    if alone and args.engine == WEBHOOK:
        _print(viewer_role)
        return 0
    by_policies = args.engine == POLICY
    judging = _policies(args, policy, features) if by_policies else _of_webhook(args, policy, features.minor)
    _print((*viewer_role, *judging, *_skip_label(args, features.minor), *_ca_bundle(args, features.minor)))
    return 0


def _policies(args: argparse.Namespace, policy: Policy, features: Features) -> tuple[Manifest, ...]:
    """The policies of today for API servers; UsageError if they could crash one, or would judge otherwise."""
    if features.minor < VARIABLES_SINCE:
        raise UsageError(
            f"{ENGINE} {POLICY}: found Kubernetes 1.{features.minor}, wanted 1.{VARIABLES_SINCE} or newer: "
            f"{WHY_SINCE}; use {ENGINE} {WEBHOOK}"
        )
    if problems := [*unknowable(policy)]:
        instead = f"remove this setting, or use {ENGINE} {WEBHOOK}"
        raise UsageError("\n".join(f"{args.policy}: {problem}; {instead}" for problem in problems))
    today = policy.on(options.today())
    policies = admission_policies(today, features, _excluded(args))
    print_notes((*_assumed(args), *_ended(policy, today), *notes(today, policies)), args.quiet)
    return policies


def _of_webhook(args: argparse.Namespace, policy: Policy, minor: int) -> tuple[Manifest, ...]:
    """The configurations of the webhook, after its rights if they are asked for."""
    service = _namespaced("--service", args.service)
    target = WebhookTarget(
        _bundle(args.ca_bundle) if args.ca_bundle else b"",
        service,
        _url(args.url),
        args.failure_policy,
        _enforced_fail(args, policy, minor),
        minor >= CONDITIONS_SINCE,
        _namespaced(INJECT_CA_OPTION, args.inject_ca_from),
        _excluded(args),
    )
    secret = _namespaced(TLS_SECRET, args.tls_secret)
    rights = rbac(*(service or (NAME, NAME)), secret) if args.rbac else ()
    return (*rights, *configurations(policy, target))


def _check_unused(args: argparse.Namespace) -> None:
    """Raise UsageError if there are options that only a webhook has use for."""
    unused = [name for name in _OF_WEBHOOK if getattr(args, name) not in (None, False, IGNORE)]
    if unused:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
        pronoun = "it" if len(unused) == 1 else "them"
        raise UsageError(f"{names}: only for a webhook, and {ENGINE} {POLICY} prints none; leave {pronoun} out")


def _assumed(args: argparse.Namespace) -> Iterator[str]:
    if args.kubernetes_version is None:
        advice = f"set --kubernetes-version if the cluster may be older than 1.{VARIABLES_SINCE}"
        yield f"assuming Kubernetes 1.{LATEST.minor}; {advice}: {WHY_SINCE}"


def _ended(policy: Policy, today: Policy) -> Iterator[str]:
    for override in policy.overrides:
        if override not in today.overrides:
            yield f"override {override.name}: ended on {override.until}, so it is left out"


def _namespaced(option: str, text: str | None) -> tuple[str, str] | None:
    return options.namespaced(option, text) if text else None


def _print(objects: Iterable[Manifest]) -> None:
    print("---\n".join(yaml.safe_dump(obj, sort_keys=False, width=1_000) for obj in objects), end="")


def _enforced_fail(args: argparse.Namespace, policy: Policy, minor: int) -> bool:
    """Whether enforced rules have entries of their own, with failurePolicy Fail; needless if all entries have it."""
    if args.failure_policy_enforced == IGNORE or args.failure_policy == FAIL:
        return False
    if minor < CONDITIONS_SINCE:
        raise UsageError(
            f"--failure-policy-enforced {FAIL}: found Kubernetes 1.{minor}, wanted 1.{CONDITIONS_SINCE} or newer: "
            "without matchConditions the Pods of controllers cannot be told apart; leave --failure-policy-enforced out"
        )
    if not policy.enforced:
        print_notes(
            [
                f"--failure-policy-enforced {FAIL}: the policy has no enforced rule that denies; "
                "leave --failure-policy-enforced out"
            ],
            args.quiet,
        )
    return True


def _excluded(args: argparse.Namespace) -> tuple[str, ...]:
    """The namespaces from which nothing is sent; UsageError if one is not the name of a namespace."""
    for name in args.exclude_namespace:
        if not DNS_LABEL.fullmatch(name):
            raise UsageError(f"{EXCLUDE_NAMESPACE}: found {json.dumps(name)}, wanted the name of a namespace")
    refuses = FAIL in (args.failure_policy, args.failure_policy_enforced)
    return (*args.exclude_namespace, *(NEEDED_NAMESPACES if refuses else ()))


def _skip_label(args: argparse.Namespace, minor: int) -> tuple[Manifest, ...]:
    """The policy by which only the named users and groups may set the skip label; nothing if nobody is named."""
    users, groups = args.skip_label_user, args.skip_label_group
    _check_names(SKIP_LABEL_USER, users, minor)
    _check_names(SKIP_LABEL_GROUP, groups, minor)
    return skip_label_policy(users, groups) if users or groups else ()


def _ca_bundle(args: argparse.Namespace, minor: int) -> tuple[Manifest, ...]:
    """The policy that lets evenkeel's account change caBundle only."""
    if args.ca_bundle_user is None:
        return ()
    _check_names(CA_BUNDLE_USER, [args.ca_bundle_user], minor)
    return ca_bundle_policy(args.ca_bundle_user)


def _check_names(option: str, names: Sequence[str], minor: int) -> None:
    """Raise UsageError if a ValidatingAdmissionPolicy cannot be about these users or groups."""
    for name in names:
        if not (name.strip() and name.isprintable()):
            raise UsageError(f"{option}: found {json.dumps(name)}, wanted a name as kubectl auth whoami prints it")
    if names and minor < POLICIES_SINCE:
        raise UsageError(
            f"{option}: found Kubernetes 1.{minor}, wanted 1.{POLICIES_SINCE} or newer: "
            f"without ValidatingAdmissionPolicies the API server cannot refuse anybody; leave {option} out"
        )


def _bundle(path: Path) -> bytes:
    try:
        return ca_bundle(read(path))
    except CertificateError as error:
        raise UsageError(f"{CA_BUNDLE}: {error}") from error


def _url(text: str | None) -> str:
    """Check that the API server accepts the URL: https, without user, query, fragment (webhook.ValidateWebhookURL)."""
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
