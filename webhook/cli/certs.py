"""
Issue the webhook's serving certificate, or one for its clients, with a CA of its own.

Exit code 0: written, 2: bad input.
"""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs.authority import CA_LIFETIME, SERVING_LIFETIME, Authority
from certs.files import CertificateError, read
from certs.pem import Inspection, describe, invalid_reason, stamp
from webhook.cli.usage import UsageError

ISSUE = (
    "Write a CA and a certificate that the CA has signed: ca.crt, ca.key, tls.crt and tls.key. "
    "Existing files are kept, unless you give --force. Exit code 0: written, 2: bad input."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    issue = actions.add_parser("issue", help="write ca.crt, ca.key, tls.crt and tls.key", description=ISSUE)
    issue.add_argument(
        "--name",
        metavar="NAME",
        nargs="+",
        action="extend",
        required=True,
        help="the names under which the API server calls the webhook: DNS names such as SERVICE.NAMESPACE.svc, or IP "
        "addresses",
    )
    issue.add_argument(
        "--dir", metavar="DIR", type=Path, required=True, help="the folder to write to; created if missing"
    )
    issue.add_argument("--ca-dir", metavar="DIR", type=Path, help="sign with ca.crt and ca.key in DIR, and write no CA")
    issue.add_argument(
        "--client",
        action="store_true",
        help="issue a client certificate, for the API server, if evenkeel serve has --client-ca",
    )
    issue.add_argument(
        "--days",
        metavar="N",
        type=_days,
        default=SERVING_LIFETIME.days,
        help="how many days the certificate is valid (default: %(default)s)",
    )
    issue.add_argument("--force", action="store_true", help="replace existing files, including the CA")
    issue.set_defaults(act=_issue)


def run(args: argparse.Namespace, now: datetime | None = None) -> int:
    try:
        code: int = args.act(args, now or datetime.now(UTC))
    except CertificateError as error:
        raise UsageError(str(error)) from error
    return code


def _days(text: str) -> int:
    # The length comes first, because int() refuses thousands of digits.
    if not (text.isdecimal() and len(text) < 10 and 1 <= int(text) <= CA_LIFETIME.days):
        raise argparse.ArgumentTypeError(f'must be 1 to {CA_LIFETIME.days}, found "{text}"')
    return int(text)


def _issue(args: argparse.Namespace, now: datetime) -> int:
    ca = Authority.create(now) if args.ca_dir is None else _existing(args.ca_dir, now)
    pairs = {"tls": ca.issue(args.name, now, timedelta(days=args.days), client=args.client)}
    if args.ca_dir is None:
        pairs = {"ca": ca.pair, **pairs}
    _make_room(args.dir, [f"{stem}.{suffix}" for stem in pairs for suffix in ("crt", "key")], args.force)
    for stem, pair in pairs.items():
        pair.write(args.dir / f"{stem}.crt", args.dir / f"{stem}.key")
        print(f"wrote {args.dir / f'{stem}.crt'}: {_summary(describe(pair.certificate), ca)}")
        print(f"wrote {args.dir / f'{stem}.key'}: its key")
    return 0


def _existing(folder: Path, now: datetime) -> Authority:
    ca = Authority.parse(read(folder / "ca.crt"), read(folder / "ca.key"))
    if reason := invalid_reason(describe(ca.pair.certificate), now):
        raise UsageError(f"{folder / 'ca.crt'}: {reason}")
    return ca


def _make_room(folder: Path, files: list[str], force: bool) -> None:
    """Create the folder.  UsageError if files exist and `force` is not given, or the folder cannot be created."""
    in_the_way = [folder / file for file in files if os.path.lexists(folder / file)]
    if in_the_way and not force:
        keep = f"to sign with it: --ca-dir {folder}; "
        raise UsageError(
            "\n".join(
                f"{file}: exists; {keep if file.stem == 'ca' else ''}to replace it: --force" for file in in_the_way
            )
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "is a file, wanted a folder" if isinstance(error, FileExistsError) else error.strerror
        raise UsageError(f"{folder}: {reason}") from error


def _summary(inspection: Inspection, ca: Authority) -> str:
    if inspection.is_ca:
        return f"a new CA, until {stamp(inspection.not_after)}"
    clipped = ", which is the end of its CA" if inspection.not_after == ca.pair.certificate.not_valid_after_utc else ""
    return f"for {', '.join(inspection.names)}, until {stamp(inspection.not_after)}{clipped}"
