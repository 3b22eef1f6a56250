"""What all requests together hold, and whose turn it is to send a large body."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import ExitStack

from tests.support.clients import LARGE, MB, Server, drip, post, suppressed
from tests.support.serving import until


def test_large_bodies_take_turns_and_small_ones_do_not_wait(tmp_path):
    """20 clients stop in the middle of a large body: memory stays bounded, and even a large review gets its turn."""
    with Server(tmp_path, limits={"body": 30.0}) as server, ExitStack() as crowd:
        before = server.usage()
        stuck = [crowd.enter_context(server.client()) for _ in range(20)]
        senders = [
            threading.Thread(target=suppressed, args=(OSError, client.send, post(LARGE)[: -len(LARGE) // 2]))
            for client in stuck
        ]
        for sender in senders:
            sender.start()

        with server.client() as client:
            assert b"2000" == client.ask(post(b"x" * 2000)).body
            begin = time.monotonic()
            assert b"%d" % len(LARGE) == client.ask(post(LARGE)).body
            assert time.monotonic() - begin < 10
        assert server.usage().megabytes < before.megabytes + 80
        for client in stuck:
            suppressed(OSError, socket.socket.shutdown, client.sock, socket.SHUT_RDWR)
        for sender in senders:
            sender.join()


def test_large_bodies_that_drip_make_room(tmp_path):
    """A byte now and then does not keep a turn that others wait for."""
    with Server(tmp_path, limits={"body": 30.0}) as server, ExitStack() as crowd:
        dripping = [crowd.enter_context(server.client()) for _ in range(2)]
        for client in dripping:
            client.ask(post())  # Reads what TLS sends at first, so that what comes now is the answer.
            client.send(post(LARGE)[:1_100_000])
        stop = threading.Event()
        dripper = threading.Thread(target=drip, args=(dripping, stop))
        dripper.start()
        with server.client() as client:
            begin = time.monotonic()
            assert b"%d" % len(LARGE) == client.ask(post(LARGE)).body
            assert time.monotonic() - begin < 10
        stop.set()
        dripper.join()
        given_up = [client for client in dripping if select.select([client.sock], [], [], 0)[0]]
        assert {408} == {client.answer().status for client in given_up}


def test_many_large_bodies_at_once_are_all_served(server):
    """They wait for each other, not for ever."""
    answers = []

    def ask() -> None:
        with server.client() as client:
            answers.append(client.ask(post(LARGE)).body)

    senders = [threading.Thread(target=ask) for _ in range(8)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()

    assert [b"%d" % len(LARGE)] * 8 == answers


def test_bytes_held_are_bounded(tmp_path):
    """The oldest go first, so that a review that is being sent does not."""
    with Server(tmp_path, limits={"held_bytes": 2 * MB}) as server, server.client() as client, ExitStack() as crowd:
        client.ask(post())
        before = server.usage()
        stuck = [crowd.enter_context(server.client()) for _ in range(10)]
        for other in stuck:
            other.send(post(b"x" * 900_000)[:-1])
        until(lambda: server.usage().descriptors <= before.descriptors + 2, "all but two to be dropped", 5)
        assert b"900000" == client.ask(post(b"x" * 900_000)).body
        until(lambda: server.usage().descriptors <= before.descriptors + 2, "the others to be dropped", 5)


def test_answers_that_nobody_reads_are_bounded_too(tmp_path):
    """60 clients leave 360 MB unread: the stalled are dropped, and whoever reads is served."""
    with Server(tmp_path, limits={"held_bytes": 32 << 20}) as server, ExitStack() as crowd:
        before = server.usage()
        for _ in range(60):
            crowd.enter_context(server.client()).send(post(path=f"/give/{6 * MB}"))
        with server.client() as client:
            assert MB == len(client.ask(post(path=f"/give/{MB}")).body)

        assert server.usage().descriptors < before.descriptors + 25  # The kernel takes some megabytes of each.
