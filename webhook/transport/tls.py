"""TLS without a socket: encrypted bytes in and content out, content in and encrypted bytes out."""

from __future__ import annotations

import ssl
from contextlib import suppress

from webhook.transport.limits import RECORD

MUTE = 2 * RECORD  # Most bytes in a row without content; a client that sends more only keeps OpenSSL busy.


class Tls:
    """A TLS session in memory; on a socket, OpenSSL would read without bound for as long as the client sends."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.received, self.to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.received, self.to_send, server_side=True)
        self.established = self.ended = False
        self.mute = 0  # Bytes received since the last content.

    def decrypt(self, data: bytes) -> bytes:
        """
        The content of the records that `data` completes; empty during the handshake.

        Call `encrypt` afterwards: TLS itself may have bytes to send.  ssl.SSLError if `data` is not TLS;
        ConnectionAbortedError if the client ends TLS, or sends more than MUTE bytes without content.
        """
        self.received.write(data)
        content = b""
        with suppress(ssl.SSLWantReadError):
            if not self.established:
                self.session.do_handshake()
                self.established = True
            while part := self.session.read(RECORD):
                content += part
            self.ended = True  # An empty read means that the client has ended TLS; no data yet is an SSLWantReadError.
        self.mute = 0 if content else self.mute + len(data)
        if self.mute > MUTE or (self.ended and not content):
            raise ConnectionAbortedError("TLS without content")
        return content

    def encrypt(self, content: bytearray) -> bytes:
        """All bytes to send; those of `content` come last."""
        if content:
            self.session.write(content)
        return self.to_send.read()

    def end(self) -> None:
        """Add a close_notify to the bytes to send."""
        with suppress(ssl.SSLError):  # The client has not sent its own close_notify yet.
            self.session.unwrap()
