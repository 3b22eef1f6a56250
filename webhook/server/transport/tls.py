"""TLS without a socket: encrypted bytes in and content out, content in and encrypted bytes out."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Set
from contextlib import suppress
from typing import Any

from webhook.server.transport.limits import RECORD

# Why a client's certificate is not accepted: there is none, it is not of a known CA or not for clients, it is over,
# it has another name, or the client asked to resume a session, whose certificate would not be verified again.
NO_CERTIFICATE, UNTRUSTED, EXPIRED, WRONG_NAME, SESSION_RESUMED = NOT_ACCEPTED = (
    "none",
    "untrusted",
    "expired",
    "name",
    "resumed",
)
_IN_WORDS = {
    NO_CERTIFICATE: "the client sent none",
    UNTRUSTED: "is not signed by a CA of --client-ca, or is not for clients",
    EXPIRED: "has expired",
    WRONG_NAME: "has none of the names in --client-names",
    SESSION_RESUMED: "the client asked to resume a session",
}
_VERIFY_EXPIRED = 10  # X509_V_ERR_CERT_HAS_EXPIRED

PARDON = 32  # Bytes without content for each byte of content: as much as a record of one byte has besides.
MUTE = 2 * RECORD  # Most bytes in a row without content; a client that sends more only keeps OpenSSL busy.
RECORDS = 32  # Decrypted at a time, each with 20 µs for new keys before it: 16 KiB may hold 700 of one byte.
# A handshake is read in pieces, so that what may follow it does not count, and given up once more than this came
# before: three RSA certificates have 5 KB, and in 12 KiB no chain takes longer than 6 ms to be refused.
HANDSHAKE, PIECE = 8 << 10, 4 << 10


class ClientRefused(ConnectionAbortedError):
    """The client's certificate is not accepted; `reason` is one of NOT_ACCEPTED."""

    def __init__(self, reason: str, detail: object) -> None:
        super().__init__(f"client certificate: {_IN_WORDS[reason]}: {detail}")
        self.reason = reason


class Tls:
    """A TLS session in memory; on a socket, OpenSSL would read without bound for as long as the client sends."""

    def __init__(self, context: ssl.SSLContext, client_names: Set[str] = frozenset()) -> None:
        """Begin a handshake; without `client_names` any certificate that the context demands is accepted."""
        self.client_names = client_names
        self.received, self.to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.received, self.to_send, server_side=True)
        self.demanding = context.verify_mode == ssl.CERT_REQUIRED
        self.established = self.ended = False
        self.mute = 0  # Bytes received since the last content.

    def decrypt(self, data: bytes) -> bytes:
        """
        Return the content of the records that `data` completes, of RECORDS at most; empty during the handshake.

        The rest is `behind`, and comes with the next data, which may be empty.  Call `encrypt` afterwards: TLS itself
        may have bytes to send.  ssl.SSLError if `data` is not TLS; ConnectionAbortedError if the client ends TLS, or
        sends more than MUTE or HANDSHAKE bytes without content; ClientRefused if its certificate is not accepted: then
        none of its content was decrypted.
        """
        if not self.established and self.mute > HANDSHAKE:
            raise ConnectionAbortedError(f"TLS handshake of more than {HANDSHAKE} bytes")
        self.received.write(data)
        content, left = b"", RECORDS
        with suppress(ssl.SSLWantReadError):
            if not self.established:
                self._shake_hands()
            while self.received.pending and left:  # Only then is there another record, or a part of one.
                left -= 1
                part = self.session.read(RECORD)
                content += part
                if not part:  # The client has ended TLS; no data yet is an SSLWantReadError.
                    self.ended = True
                    break
        self.mute = max(0, self.mute + len(data) - PARDON * len(content))
        if self.mute > MUTE or (self.ended and not content):
            raise ConnectionAbortedError("TLS without content")
        return content

    @property
    def behind(self) -> int:
        """Bytes of records that were received and not looked at, because they came with too many others."""
        return self.received.pending if self.established else 0

    def _shake_hands(self) -> None:
        try:
            self.session.do_handshake()
        except ssl.SSLError as error:
            if reason := _reason(error):
                raise ClientRefused(reason, error) from error
            raise
        if self.demanding:
            if self.session.session_reused:
                raise ClientRefused(SESSION_RESUMED, "wanted a whole handshake")
            names = _names(self.session.getpeercert() or {})
            if self.client_names and not self.client_names & names:
                raise ClientRefused(WRONG_NAME, f"found {sorted(names)}")
        self.established = True

    def encrypt(self, content: bytearray) -> bytes:
        """Return all bytes to send; those of `content` come last."""
        if content:
            self.session.write(content)
        return self.to_send.read()

    def end(self) -> None:
        """Add a close_notify to the bytes to send."""
        with suppress(ssl.SSLError):  # The client has not sent its own close_notify yet.
            self.session.unwrap()


def _reason(error: ssl.SSLError) -> str | None:
    """Return the reason if a handshake failed for the client's certificate."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return EXPIRED if error.verify_code == _VERIFY_EXPIRED else UNTRUSTED
    return NO_CERTIFICATE if error.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE" else None


def _names(certificate: Mapping[str, Any]) -> set[str]:
    """Return the common names and the DNS names in a certificate, as `getpeercert` returns it."""
    subject = (pair for part in certificate.get("subject", ()) for pair in part)
    common = {value for name, value in subject if name == "commonName"}
    return common | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
