"""The response to a client that exceeds a limit."""

from __future__ import annotations

import resource
from http import HTTPStatus

import pytest

from webhook.server.transport.limits import TooFewDescriptors, clients, last_response


def test_a_last_response_closes_the_connection():
    """Status line, and headers for a client that reads on."""
    assert b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" == last_response(408)


def test_who_is_refused_for_what_others_do_is_asked_to_come_again():
    """kube-apiserver calls again after 429 and 5xx if there is a Retry-After, else not."""
    assert [429, 503] == [status for status in HTTPStatus if b"\r\nRetry-After: 1\r\n" in last_response(status)]


NONE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "most", "raised"),
    [
        (1_024, 524_288, 1_000, 1_256),
        (1_024, NONE, 1_000, 1_256),
        (1_024, 1_024, 768, None),
        (300, 500, 244, 500),
        (1_048_576, 1_048_576, 1_000, None),
        (NONE, NONE, 1_000, None),
        (288, 288, 32, None),
    ],
)
def test_clients_leave_descriptors_for_all_else(monkeypatch, soft, hard, most, raised):
    """A container has often a soft limit of 1,024 and a far higher hard one."""
    given = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: given.append(limits))

    assert most == clients()
    assert given == ([(raised, hard)] if raised else [])


def test_without_descriptors_for_clients_nothing_is_served(monkeypatch):
    """It would answer no call, and say nothing."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 287))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: None)

    with pytest.raises(TooFewDescriptors, match="found a hard limit of 287, wanted 288 or more"):
        clients()
