"""TLS as clients meet it."""

from __future__ import annotations

import ssl


def test_http_2_is_not_offered(server):
    """kube-apiserver's client asks for it, and takes HTTP/1.1."""
    context = ssl.create_default_context(cadata=server.ca)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with context.wrap_socket(server.connect(), server_hostname="localhost") as sock:
        assert sock.selected_alpn_protocol() in {None, "http/1.1"}
