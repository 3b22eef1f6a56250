"""TLS in memory: both ends of a handshake without a socket, a thread or a clock."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

from certs.authority import Authority

HOST = "localhost"


def client_certificate(folder, *names, ca=None, **options):
    """The CA that issued the certificate in `folder`, for a client with these names."""
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    ca = ca or Authority.create(now, "client CA")
    pair = ca.issue(names or ("kube-apiserver",), now, **{"client": True, **options})
    pair.write(folder / "tls.crt", folder / "tls.key")
    (folder / "ca.crt").write_bytes(ca.pair.chain_pem())
    return ca


def client_context(ca, folder=None, version=None, ciphers=None):
    """
    A client that trusts this CA, in PEM, and presents the certificate in `folder`, if there is one.

    It speaks only this version of TLS, and these ciphers.
    """
    context = ssl.create_default_context(cadata=ca)
    if folder is not None:
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    if version is not None:
        context.minimum_version = context.maximum_version = version
    if ciphers is not None:
        context.set_ciphers(ciphers)
    return context


def shake_hands(client, server, session=None):
    """Both ends after a handshake of these contexts, the client first; ssl.SSLError of the end that refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=HOST, session=session),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for _ in range(2):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ends


def accepted(client, server):
    """Whether both ends complete a handshake."""
    try:
        shake_hands(client, server)
    except ssl.SSLError:
        return False
    return True
