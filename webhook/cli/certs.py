"""
Issue the webhook's serving certificate, or one for its clients, with a CA of its own, or show certificates.

Exit code 0: fine, 1: a certificate is expired, not yet valid, or the key file next to it does not match, 2: bad input.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from pathlib import Path

from certs.authority import CA_LIFETIME, SERVING_LIFETIME, Authority
from certs.files import CertificateError, Pem, read
from certs.pem import Inspection, KeyMismatchError, Pair, describe, inspect, invalid_reason, stamp
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.loading.usage import UsageError

ISSUE = (
    "Write a CA and a certificate that the CA has signed: ca.crt, ca.key, tls.crt and tls.key. "
    "Existing files are kept, unless you give --force. Exit code 0: written, 2: bad input."
)
INSPECT = (
    "Show certificates, and whether the key file next to each matches. "
    "Exit code 0: all are valid, 1: one is expired, not yet valid, or its key does not match, 2: bad input."
)
IN_FOLDER = ("tls.crt", "ca.crt")


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
    seen = "show certificates, and whether the key file next to each matches"
    show = actions.add_parser("inspect", help=seen, description=INSPECT)
    show.add_argument(
        "files",
        metavar="FILE",
        type=Path,
        nargs="+",
        help=f"certificates in PEM, a folder with {' or '.join(IN_FOLDER)}, or - for standard input",
    )
    show.add_argument(
        *("-o", "--output"),
        choices=("text", "json"),
        default="text",
        help="json: a line for each certificate (default: %(default)s)",
    )
    show.set_defaults(act=_inspect)


def run(args: argparse.Namespace, now: datetime | None = None) -> int:
    try:
        code: int = args.act(args, now or datetime.now(UTC))
    except CertificateError as error:
        raise UsageError(str(error)) from error
    return code


def _days(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text[:9]) <= CA_LIFETIME.days):
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


@dataclass(frozen=True)
class _InspectedKey:
    """The key file next to a certificate; `matches` is None if the key cannot be read."""

    file: str
    matches: bool | None
    problem: str | None = None


@dataclass(frozen=True)
class _Seen:
    """One certificate in a file, and what `inspect` prints about it."""

    file: str
    number: int
    count: int
    inspection: Inspection
    problem: str | None
    key: _InspectedKey | None

    @property
    def is_fine(self) -> bool:
        return self.problem is None and (self.key is None or self.key.matches is not False)


def _inspect(args: argparse.Namespace, now: datetime) -> int:
    seen: list[_Seen] = []
    unusable: list[str] = []
    for file in chain.from_iterable(map(_in_folder, args.files)):
        try:
            seen += _look(file, now)
        except CertificateError as error:
            unusable.append(str(error))
    if seen:
        print(("\n" if args.output == "json" else "\n\n").join(map(_json if args.output == "json" else _text, seen)))
    if unusable:
        raise UsageError("\n".join(unusable))
    return 0 if all(certificate.is_fine for certificate in seen) else 1


def _in_folder(path: Path) -> list[Path]:
    """Return the files with certificates in a folder as `issue` writes it, or else the path itself."""
    if str(path) == "-" or not os.path.isdir(path):
        return [path]
    return [path / name for name in IN_FOLDER if os.path.lexists(path / name)] or [path]


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise UsageError("-: standard input is closed")
    return sys.stdin.buffer.read()


def _look(file: Path, now: datetime) -> Iterator[_Seen]:
    if os.path.isdir(file):
        neither = f"holds neither {' nor '.join(IN_FOLDER)}"
        raise CertificateError(f"{file}: {neither}, wanted a file, or a folder that evenkeel certs issue has written")
    pem = Pem("-", _standard_input()) if str(file) == "-" else read(file)
    certificates = inspect(pem)
    for number, inspection in enumerate(certificates, 1):
        key = _key_beside(file, pem) if number == 1 else None  # TLS expects the key to match the first certificate
        yield _Seen(str(file), number, len(certificates), inspection, invalid_reason(inspection, now), key)


def _key_beside(file: Path, pem: Pem) -> _InspectedKey | None:
    path = file.with_suffix(".key")
    if not os.path.exists(path):
        return None
    try:
        Pair.parse(pem, read(path))
    except CertificateError as error:
        return _InspectedKey(str(path), False if isinstance(error, KeyMismatchError) else None, str(error))
    return _InspectedKey(str(path), True)


def _text(seen: _Seen) -> str:
    inspection = seen.inspection
    rows = [
        ("subject", inspection.subject),
        ("issuer", inspection.issuer),
        *zip(chain(["names"], repeat("")), inspection.names or ["none"], strict=False),
        ("not before", stamp(inspection.not_before)),
        ("not after", stamp(inspection.not_after)),
        ("now", seen.problem or "valid"),
        ("serial", inspection.serial),
        ("CA", "yes" if inspection.is_ca else "no"),
        ("SHA-256", inspection.fingerprint),
        ("public key", inspection.public_key),
    ]
    if seen.key is not None:
        rows.append(("key", seen.key.problem or f"{seen.key.file}: matches"))
    title = seen.file if seen.count == 1 else f"{seen.file}: certificate {seen.number} of {seen.count}"
    return "\n".join(one_line(line, LINE_LIMIT) for line in (title, *(f"  {name:<11} {of}" for name, of in rows)))


def _json(seen: _Seen) -> str:
    inspection = seen.inspection
    return json.dumps(
        {
            "file": seen.file,
            "number": seen.number,
            "subject": inspection.subject,
            "issuer": inspection.issuer,
            "names": list(inspection.names),
            "notBefore": stamp(inspection.not_before),
            "notAfter": stamp(inspection.not_after),
            "problem": seen.problem,
            "serial": inspection.serial,
            "isCa": inspection.is_ca,
            "fingerprint": inspection.fingerprint,
            "publicKey": inspection.public_key,
            "key": asdict(seen.key) if seen.key is not None else None,
        }
    )
