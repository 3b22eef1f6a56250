"""The caBundle in the webhook configurations: read, injected and repaired, and nothing else is touched."""

from __future__ import annotations

import pytest

from tests.support.registered import MUTATING, VALIDATING, refusing, registered, registration
from webhook.cluster.client import ClusterError
from webhook.manifests.configurations import MUTATING_NAME


def injected(client):
    """How many configurations were changed, and what is in force after that."""
    one = registration(client)
    return one.inject(b"PEM"), one.bundles


def test_every_entry_is_given_the_bundle():
    client = registered()

    assert (2, (b"PEM",) * 8) == injected(client)
    assert (0, (b"PEM",) * 8) == injected(client)


def test_what_is_in_order_is_not_written():
    client = registered(b"PEM")
    registration(client).inject(b"PEM")

    assert [] == client.writes


def test_one_entry_that_was_stripped_is_repaired():
    client = registered(b"PEM")
    del client.objects[VALIDATING]["webhooks"][3]["clientConfig"]["caBundle"]

    assert (1, (b"PEM",) * 8) == injected(client)
    assert [("PUT", VALIDATING)] == client.writes


def test_nothing_but_the_bundle_changes():
    client, before = registered(), registered(b"PEM")
    registration(client).inject(b"PEM")

    assert [one["webhooks"] for one in before.objects.values()] == [one["webhooks"] for one in client.objects.values()]


@pytest.mark.parametrize("left", [[], [VALIDATING]], ids=["neither is there", "a policy without defaults"])
def test_a_configuration_may_be_absent(left):
    client = registered()
    client.objects = {path: client.objects[path] for path in left}

    assert (len(left), (b"PEM",) * 7 * len(left)) == injected(client)


def test_one_that_somebody_changes_meanwhile_is_read_again():
    client = registered()
    client.meanwhile = lambda: client.put(MUTATING, client.objects[MUTATING])

    assert (2, (b"PEM",) * 8) == injected(client)


def test_of_replicas_that_repair_together_all_know_that_it_is_repaired():
    client = registered()
    client.meanwhile = lambda: injected(client)

    assert (0, (b"PEM",) * 8) == injected(client)


def test_one_that_others_change_all_the_time_is_left_for_the_next_time(monkeypatch):
    client = registered()
    real = client.send

    def contested(method, path, body, seconds, query=None):
        if (method, path) == ("PUT", MUTATING):
            client.put(MUTATING, client.objects[MUTATING])
        return real(method, path, body, seconds, query)

    monkeypatch.setattr(client, "send", contested)

    assert (1, (b"",) + (b"PEM",) * 7) == injected(client)


def test_one_that_is_deleted_meanwhile_is_not_missed():
    client = registered()
    client.meanwhile = lambda: client.objects.pop(MUTATING)

    assert (1, (b"PEM",) * 7) == injected(client)


@pytest.mark.parametrize(
    ("webhooks", "in_force"), [(None, []), ([{}], [b"PEM"]), ([{"clientConfig": {"caBundle": "no base64!"}}], [b"PEM"])]
)
def test_odd_configurations_are_repaired_as_far_as_there_is_anything(webhooks, in_force):
    client = registered(b"PEM")
    client.put(VALIDATING, {**client.objects[VALIDATING], "webhooks": webhooks})

    assert (len(in_force), (b"PEM", *in_force)) == injected(client)


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_one_that_cannot_be_given_it_is_told_and_does_not_keep_the_other_from_it(monkeypatch, method):
    client = registered()
    refusing(client, monkeypatch, [(method, MUTATING)])

    with pytest.raises(ClusterError, match=f"{MUTATING_NAME}: 403"):
        registration(client).inject(b"PEM")
    assert [("PUT", VALIDATING)] == client.writes


def test_what_is_in_force_is_what_was_read_where_it_cannot_be_written(monkeypatch):
    client = registered()
    one = registration(client)
    one.inject(b"PEM")
    del client.objects[MUTATING]["webhooks"][0]["clientConfig"]["caBundle"]
    refusing(client, monkeypatch, [("PUT", MUTATING)])

    with pytest.raises(ClusterError):
        one.inject(b"PEM")
    assert (b"",) + (b"PEM",) * 7 == one.bundles


def test_nothing_is_known_until_both_were_read(monkeypatch):
    client = registered()
    one = registration(client)
    refusing(client, monkeypatch, [("GET", MUTATING)])

    with pytest.raises(ClusterError):
        one.inject(b"PEM")
    assert (None, None) == (one.seen, one.bundles)


def test_an_api_server_that_is_away_is_an_error():
    client = registered()
    client.away = True

    with pytest.raises(ClusterError, match="refused"):
        registration(client).inject(b"PEM")


def test_both_are_read():
    client = registered(b"PEM")
    one = registration(client)
    one.read()

    assert ((b"PEM",) * 8, []) == (one.bundles, client.writes)


@pytest.mark.parametrize(("away", "known"), [(True, True), (False, False)], ids=["not reached", "may not be read"])
def test_what_was_read_is_known_while_it_may_be_read(monkeypatch, away, known):
    client = registered(b"PEM")
    one = registration(client)
    one.read()
    if away:
        client.away = True
    else:
        refusing(client, monkeypatch, [("GET", VALIDATING)])
    with pytest.raises(ClusterError):
        one.read()

    assert known == (one.seen is not None)
