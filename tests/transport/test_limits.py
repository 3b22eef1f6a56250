"""The response to a client that exceeds a limit."""

from __future__ import annotations

from webhook.transport.limits import last_response


def test_a_last_response_closes_the_connection():
    """Status line, and headers for a client that reads on."""
    assert b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" == last_response(408)
