"""A slow or hostile client takes no thread, little memory, and none of the others' time."""

from __future__ import annotations

import os
import platform
import signal
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest
from gunicorn.arbiter import Arbiter

from tests.support.clients import CROWD, LARGE, LATE, OTHER, Busy, Server, drip, latencies, post
from tests.support.serving import until
from webhook.server.transport.limits import Limits
from webhook.server.transport.worker import HEARD, IGNORED


@pytest.mark.parametrize("path", ["/raise", "/exit", "/break"])
def test_an_application_that_fails_is_answered_for(tmp_path, path):
    """Whether it raises, exits or breaks off: 500, and the same worker serves on."""
    with Server(tmp_path) as server:
        worker = server.worker
        with server.client() as client:
            answer = client.ask(post(path=path))
            assert (500, "close") == (answer.status, answer.headers["connection"])
        with server.client() as client:
            assert b"2" == client.ask(post()).body
        assert worker == server.worker
    assert "Error handling request" in server.log.read_text()


@pytest.mark.alone
def test_a_crowd_of_slow_clients_keeps_nobody_waiting(tmp_path):
    """200 silent, 20 with half a body, 20 that drip; then they are gone, and all they took is back."""
    limits = {"greeting": 4.0, "head": 4.0, "body": 4.0}
    with Server(tmp_path, limits=limits) as server, ExitStack() as crowd, server.client() as kept:
        for _ in range(20):
            kept.ask(post(b"x" * 2000))
        before = server.usage()
        begin = time.monotonic()
        silent = [crowd.enter_context(server.connect()) for _ in range(200)]
        halves = [crowd.enter_context(server.client()) for _ in range(20)]
        dripping = [crowd.enter_context(server.client()) for _ in range(20)]
        for client in halves:
            client.send(post(b"x" * 20_000)[:-10_000])
        for client in dripping:
            client.send(b"POST / HTTP/1.1\r\nX: ")
        stop = threading.Event()
        dripper = threading.Thread(target=drip, args=(dripping, stop))
        dripper.start()

        def ask_anew() -> None:
            with server.client() as client:
                client.ask(post(b"x" * 2000))

        until(lambda: server.usage().descriptors >= before.descriptors + 240, "all to be connected")
        taken = latencies(lambda: kept.ask(post(b"x" * 2000))) + latencies(ask_anew)
        assert server.usage().descriptors >= before.descriptors + 240, "the crowd was there all the time"
        assert statistics.median(taken) < 100
        assert max(taken) < 1000

        for sock in silent:
            assert b"" == sock.recv(1)
        for client in halves:
            assert 408 == client.answer().status
        until(lambda: server.usage().descriptors <= before.descriptors, "the crowd to be dropped")
        assert time.monotonic() - begin < 4.0 + Limits.linger + 2 * LATE
        stop.set()
        dripper.join()
        after = server.usage()
        assert after.threads <= before.threads + 4
        assert after.megabytes <= before.megabytes + 30
        assert b"2" == kept.ask(post()).body


def test_connections_are_bounded(tmp_path):
    """The silent make room for those that come after them, and those that have been served are the last to go."""
    with Server(tmp_path, worker_connections=20) as server, server.client() as kept, ExitStack() as crowd:
        kept.ask(post())
        before = server.usage()
        for _ in range(100):
            crowd.enter_context(server.connect())
        for _ in range(30):
            crowd.enter_context(server.client())

        with server.client() as client:
            assert b"2" == client.ask(post()).body
        assert b"2" == kept.ask(post()).body
        assert server.usage().descriptors <= before.descriptors + 20


def test_sigterm_finishes_what_is_in_flight_and_nothing_else(tmp_path):
    """Idle connections are closed at once, new ones refused, the request under way is answered, the exit status 0."""
    with Busy(tmp_path) as busy, busy.server.client() as idle, busy.server.client() as half:
        idle.ask(post())
        half.ask(post())
        half.send(post(b"hello")[:-1])
        begin = time.monotonic()
        os.kill(busy.server.process.pid, signal.SIGTERM)

        assert idle.closed()
        assert time.monotonic() - begin < LATE
        until(lambda: refused(busy.server), "new connections to be refused")
        half.send(b"o")
        answer = half.answer()
        assert (b"5", "close") == (answer.body, answer.headers["connection"])
        assert busy.server.process.poll() is None
        busy.finish()
        answer = busy.client.answer()
        assert (200, "close") == (answer.status, answer.headers["connection"])
        busy.client.close()
        half.close()
        assert 0 == busy.server.process.wait(5)


def test_sigterm_leaves_a_new_client_the_time_to_ask(tmp_path):
    """It has just connected, and would not try again."""
    with Server(tmp_path) as server, server.client() as kept, server.client() as client:
        kept.ask(post())
        server.process.terminate()
        assert kept.closed()

        answer = client.ask(post(b"hello"))
        assert (b"5", "close") == (answer.body, answer.headers["connection"])
        client.close()
        assert 0 == server.process.wait(5)


def refused(server: Server) -> bool:
    try:
        server.connect().close()
    except ConnectionRefusedError:
        return True
    return False


def test_sigterm_with_nothing_in_flight_is_quick(tmp_path):
    """Neither idle connections nor silent ones hold it up."""
    with Server(tmp_path) as server, server.client() as idle, server.connect(), server.client():
        idle.ask(post())
        begin = time.monotonic()
        server.process.terminate()

        assert 0 == server.process.wait(10)
        assert time.monotonic() - begin < 3 + LATE


def test_a_request_that_never_ends_ends_with_the_graceful_timeout(tmp_path):
    """Exit status 0 all the same."""
    with Busy(tmp_path, graceful_timeout=2) as busy:
        begin = time.monotonic()
        busy.server.process.terminate()

        assert 0 == busy.server.process.wait(10)
        assert time.monotonic() - begin < 2 + 2 * LATE


def test_what_waits_keeps_nobody_waiting(tmp_path):
    """More requests wait than there are threads; who need not wait is served meanwhile, and they afterwards."""
    with Busy(tmp_path, threads=1) as busy, ExitStack() as crowd:
        more = {tmp_path / str(number): crowd.enter_context(busy.server.client()) for number in range(3)}
        for pipe, client in more.items():
            os.mkfifo(pipe)
            client.send(post(path=f"/wait{pipe}"))
        with busy.server.client() as client:
            assert 200 == client.ask(post()).status
        busy.finish()
        assert 200 == busy.client.answer().status
        with ThreadPoolExecutor(len(more)) as writers:  # Whichever request comes first.
            list(writers.map(lambda pipe: os.close(os.open(pipe, os.O_WRONLY)), more))
        assert [200] * 3 == [client.answer().status for client in more.values()]


def test_a_large_request_keeps_nobody_waiting(tmp_path):
    """It is answered in a thread, whatever the application does with it."""
    with Server(tmp_path) as server, server.client() as large, server.client(OTHER) as small:
        small.ask(post())
        large.send(post(b"x" * (Limits.small_bytes + 1), path="/work/2000"))
        time.sleep(0.2)
        begin = time.monotonic()
        assert 200 == small.ask(post()).status
        assert time.monotonic() - begin < 1
        assert 200 == large.answer().status


def test_large_requests_are_answered_one_after_another_and_keep_no_thread_from_small_ones(tmp_path):
    """Each takes much memory; two crowds wait, one for its large request, the other for its three small ones."""
    limits = {"small_bytes": 10}
    with Busy(tmp_path, threads=2, limits=limits) as busy, ExitStack() as crowd:
        pipes = [tmp_path / f"large-{number}" for number in range(3)]
        large = [crowd.enter_context(busy.server.client()) for _ in pipes]
        for pipe, client in zip(pipes, large, strict=True):
            os.mkfifo(pipe)
            client.send(post(b"x" * 11, path=f"/wait{pipe}"))
        first = until(lambda: opened(pipes), "one to be answered")
        time.sleep(0.1)
        assert not opened([pipe for pipe in pipes if pipe != first[0]]), "no other is"
        small = tmp_path / "small"
        os.mkfifo(small)
        with busy.server.client() as client:
            client.send(post(path=f"/wait{small}"))
            os.close(until(lambda: opened([small]), "a small one to be answered")[1])
            assert 200 == client.answer().status
        os.close(first[1])
        left = [pipe for pipe in pipes if pipe != first[0]]
        while left:
            pipe, writer = until(lambda: opened(left), "the next to be answered")
            left.remove(pipe)
            os.close(writer)
        assert [200] * 3 == [client.answer().status for client in large]


def opened(pipes):
    """The first of them that is being read by the application, and the descriptor of its other end."""
    for pipe in pipes:
        with suppress(OSError):
            return pipe, os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    return None


def test_a_large_request_waits_for_one_of_another_peer_and_not_for_all(tmp_path):
    """
    Twelve clients of one peer have one each, of 100 ms, for the one thread that answers large ones.

    The other peer asks while the second is answered; then one more of the twelve has its turn.
    """
    limits, order = {"small_bytes": 10}, []
    with Server(tmp_path, threads=4, limits=limits) as server, ExitStack() as crowd, server.client(OTHER) as other:
        other.ask(post())
        clients = [crowd.enter_context(server.client(CROWD)) for _ in range(12)]

        def ask(name, client):
            assert 200 == client.ask(post(b"x" * 11, path="/work/100")).status
            order.append(name)

        with ThreadPoolExecutor(len(clients) + 1) as pool:
            asked = [pool.submit(ask, CROWD, client) for client in clients]
            until(lambda: order, "the first response")
            asked.append(pool.submit(ask, OTHER, other))
            for each in asked:
                each.result()
    assert order.index(OTHER) <= 3


# What gunicorn's arbiter and the worker do together: signals, and a worker that dies or hangs.


@pytest.mark.parametrize("after_sigterm", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_sigint_and_sigquit_wait_for_nothing(tmp_path, number, after_sigterm):
    """Not even for a thread at work, and not after SIGTERM either, which does."""
    with Busy(tmp_path) as busy:
        process = busy.server.process
        if after_sigterm:
            process.terminate()
            until(lambda: "Handling signal: term" in busy.server.log.read_text(), "a stop")
        begin = time.monotonic()
        process.send_signal(number)

        assert 0 == process.wait(10)
        assert time.monotonic() - begin < 3 + LATE


def test_sigterm_amid_the_start_is_heard(tmp_path):
    """A worker that had not heard it would be waited for until the graceful timeout."""
    for attempt in range(5):
        (tmp_path / str(attempt)).mkdir()
        with Server(tmp_path / str(attempt)) as server:
            until(lambda: server.workers(server.process.pid), "a worker")
            server.process.terminate()

            assert 0 == server.process.wait(10)


def test_other_signals_change_nothing(server):
    """No second worker, no second arbiter, no end: each could be meant for a shell's whole process group."""
    worker = server.worker
    for number in IGNORED:
        server.process.send_signal(number)
        os.kill(worker, number)
    time.sleep(1.5)  # The arbiter looks every second whether it has as many workers as it should.

    assert [worker] == server.workers(server.process.pid)
    with server.client() as client:
        assert b"2" == client.ask(post()).body


def test_every_signal_of_gunicorn_has_been_thought_of():
    assert {*IGNORED, *HEARD} == set(Arbiter.SIGNALS)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGKILL, "Worker (pid:{}) was sent SIGKILL! Perhaps out of memory?"),
        (signal.SIGSTOP, "WORKER TIMEOUT (pid:{})"),
    ],
    ids=["dies", "hangs"],
)
def test_a_worker_that_is_lost_is_replaced_and_who_comes_meanwhile_waits(tmp_path, number, said):
    with Server(tmp_path, timeout=2) as server:
        with server.client() as client:
            assert b"2" == client.ask(post()).body
        first = server.worker
        os.kill(first, number)
        with server.client() as client:
            assert b"2" == client.ask(post()).body

        assert first != server.worker
        assert said.format(first) in server.log.read_text()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another libc gives memory back by itself, or cannot")
@pytest.mark.alone
def test_the_memory_of_large_requests_goes_back(tmp_path):
    """Whatever the environment says to glibc, which by default keeps it."""
    with Server(tmp_path) as server:

        def ask():
            with server.client() as client:
                assert 200 == client.ask(post(LARGE)).status

        with server.client() as client:
            client.ask(post())
        before = server.usage().megabytes
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        until(lambda: server.usage().megabytes < before + 10, "its memory to go back", 5)
