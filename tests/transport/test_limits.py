"""The response to a client that exceeds a limit."""

from __future__ import annotations

from http import HTTPStatus

from webhook.transport.limits import last_response


def test_a_last_response_closes_the_connection():
    """Status line, and headers for a client that reads on."""
    assert b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" == last_response(408)


def test_who_is_refused_for_what_others_do_is_asked_to_come_again():
    """kube-apiserver calls again after 429 and 5xx if there is a Retry-After, else not."""
    assert [429, 503] == [status for status in HTTPStatus if b"\r\nRetry-After: 1\r\n" in last_response(status)]
