"""TLS without a socket: bytes in, content out, and content in, bytes out."""

from __future__ import annotations

import ssl
from contextlib import suppress

from webhook.transport.limits import RECORD

MUTE = 2 * RECORD  # Bytes without content: as much is sent only to keep OpenSSL busy.


class Tls:
    """A TLS session in memory: on a socket OpenSSL would read on and on, as long as there is anything, unseen by us."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.received, self.to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.received, self.to_send, server_side=True)
        self.established = self.ended = False
        self.mute = 0

    def decrypt(self, data: bytes) -> bytes:
        """What is said in these bytes and those before; at first a handshake, which leaves something to send."""
        self.received.write(data)
        content = b""
        with suppress(ssl.SSLWantReadError):
            if not self.established:
                self.session.do_handshake()
                self.established = True
            while part := self.session.read(RECORD):
                content += part
            self.ended = True  # By the client; to wait for more is an SSLWantReadError.
        self.mute = 0 if content else self.mute + len(data)
        if self.mute > MUTE or (self.ended and not content):
            raise ConnectionAbortedError("TLS without content")
        return content

    def encrypt(self, content: bytearray) -> bytes:
        """All that is to be sent, this content last."""
        if content:
            self.session.write(content)
        return self.to_send.read()

    def end(self) -> None:
        with suppress(ssl.SSLError):  # The client has not said goodbye yet.
            self.session.unwrap()
