"""TLS without a socket: encrypted bytes in and content out, content in and encrypted bytes out."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Set
from contextlib import suppress
from typing import Any

from webhook.server.transport.limits import RECORD

# Why a client's certificate is not accepted.  The last: when a session is resumed, no certificate is verified again.
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

PARDON = 32  # Bytes of overhead that a byte of content makes up for: as many as a record of one byte has.
MUTE = 2 * RECORD  # Most bytes in a row without content; a client that sends more only keeps OpenSSL busy.
RECORDS = 32  # Decrypted at a time, each in 20 µs if new keys come before it: 16 KiB may hold 700 of one byte.
# Bytes of a handshake after which it is given up: three RSA certificates have 5 KB.
HANDSHAKE = 8 << 10
# Read at a time during a handshake, so that what may follow it does not count.  With HANDSHAKE that makes 12 KiB, in
# which no chain takes longer than 6 ms to be refused.
PIECE = 4 << 10


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
        Decrypt the records that `data` completes, RECORDS at most; empty during the handshake.

        The rest is `behind`, and comes with the next data, which may be empty.  Call `encrypt` afterwards: TLS itself
        may have bytes to send.

        ssl.SSLError if `data` is not TLS; ConnectionAbortedError if the client ends TLS, or sends more than MUTE or
        HANDSHAKE bytes without content; ClientRefused if its certificate is not accepted: then none of its content
        was decrypted.
        """
        if not self.established and self.mute > HANDSHAKE:
            raise ConnectionAbortedError(f"TLS handshake of more than {HANDSHAKE} bytes")
        self.received.write(data)
        content, remaining = b"", RECORDS
        with suppress(ssl.SSLWantReadError):
            if not self.established:
                self._shake_hands()
            while self.received.pending and remaining:  # There is another record, or a part of one.
                remaining -= 1
                part = self.session.read(RECORD)
                content += part
                if not part:  # The client has ended TLS; if data is only missing, read() raises SSLWantReadError.
                    self.ended = True
                    break
        self.mute = max(0, self.mute + len(data) - PARDON * len(content))
        if self.mute > MUTE or (self.ended and not content):
            raise ConnectionAbortedError("TLS without content")
        return content

    @property
    def behind(self) -> int:
        """Bytes of records that were received, but not decrypted yet: they came with too many others."""
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
        """Encrypt `content`; return it after whatever else there is to send."""
        if content:
            self.session.write(content)
        return self.to_send.read()

    def end(self) -> None:
        """Add a close_notify to the bytes to send."""
        with suppress(ssl.SSLError):  # The client has not sent its own close_notify yet.
            self.session.unwrap()


def _reason(error: ssl.SSLError) -> str | None:
    """The reason if a handshake failed because of the client's certificate."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return EXPIRED if error.verify_code == _VERIFY_EXPIRED else UNTRUSTED
    return NO_CERTIFICATE if error.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE" else None


def _names(certificate: Mapping[str, Any]) -> set[str]:
    """The common names and the DNS names in a certificate, as `getpeercert` returns it."""
    subject = (pair for part in certificate.get("subject", ()) for pair in part)
    common = {value for name, value in subject if name == "commonName"}
    return common | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
