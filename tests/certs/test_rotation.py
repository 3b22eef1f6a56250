"""Certificates that several replicas renew in one store: what is due, who wins, and that no call is ever lost."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certs.authority import CLOCK_SKEW, Authority
from certs.files import CertificateError, Pem
from certs.pem import certificates, describe, invalid_reason
from certs.rotation import (
    CA_CERT,
    CA_KEY,
    CERT,
    KEY,
    SECRET_RESTORED,
    TRUSTED,
    HeldCertificates,
    Lifetimes,
    entries,
    leaf_reason,
    parse,
    renewal_reason,
    renewed,
    rotate,
    verifies,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NAMES = ["keel.guard.svc"]
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
LIVES = Lifetimes(ca=90 * DAY, leaf=9 * DAY)


@dataclass
class Shelf:
    """A store in memory; `rivals` are what others put there, each just before one of our own attempts."""

    content: dict[str, bytes] = field(default_factory=dict)
    version: int = 0
    rivals: list[dict[str, bytes]] = field(default_factory=list)

    def read(self):
        return dict(self.content), str(self.version or "")

    def put(self, content):
        self.content, self.version = dict(content), self.version + 1

    def replace(self, content, version):
        if self.rivals:
            self.put(self.rivals.pop(0))
        if version != str(self.version or ""):
            return False
        self.put(content)
        return True


@cache
def fresh():
    """What the first replica makes."""
    return renewed(HeldCertificates(), NAMES, NOW, (), LIVES).held


def another_key():
    """The key of another CA."""
    return entries(renewed(HeldCertificates(), NAMES, NOW, None, LIVES).held)[CA_KEY]


def bundles(held):
    return (held.ca_bundle, b"# another\n" + held.ca_bundle)


def after(held, time, in_force=None, names=NAMES):
    return renewed(held, names, NOW + time, in_force, LIVES)


def test_the_first_replica_makes_a_ca_and_what_it_serves():
    rotation = renewed(HeldCertificates(), NAMES, NOW, None, LIVES)
    held = rotation.held

    assert ("CA: renewed: there was none", "certificate: renewed: there was none") == rotation.reasons
    assert (1, None) == (len(held.cas), held.trusted)
    assert verifies(held.leaf.certificate, held.cas)
    assert tuple(NAMES) == describe(held.leaf.certificate).names


def test_what_is_written_is_what_is_read():
    held = replace(fresh(), trusted=NOW)
    again = parse(entries(held))

    assert (held.cas, held.leaf.chain, held.trusted) == (again.cas, again.leaf.chain, again.trusted)
    assert entries(held) == entries(again)


@pytest.mark.parametrize(
    ("time", "due"),
    [
        *((-HOUR, False), (0 * DAY, False), (6 * DAY - SECOND, False)),
        *((6 * DAY, True), (10 * DAY, True), (-HOUR - SECOND, True)),
    ],
    ids=["a clock an hour behind", "new", "nearly two thirds", "two thirds", "expired", "not valid yet"],
)
def test_a_certificate_is_renewed_at_two_thirds_of_its_life_and_where_it_is_not_valid_yet(time, due):
    assert due == bool(renewal_reason(fresh().leaf.certificate, NOW + time))


def test_there_may_be_no_certificate():
    assert "there was none" == renewal_reason(None, NOW)


def test_lives_of_minutes_are_counted_from_the_issue():
    """Not from an hour earlier, where a certificate begins."""
    lives = Lifetimes(ca=timedelta(minutes=30), leaf=timedelta(minutes=3), settling=timedelta(seconds=20))
    held = renewed(HeldCertificates(), NAMES, NOW, None, lives).held

    assert () == renewed(held, NAMES, NOW + timedelta(minutes=1.9), None, lives).reasons
    assert renewal_reason(held.leaf.certificate, NOW + timedelta(minutes=2.1))


def test_a_leaf_is_renewed_once_its_ca_has_settled():
    held = after(fresh(), 5 * DAY, bundles(fresh())).held
    rotation = after(held, 6.1 * DAY, bundles(fresh()))

    assert NOW + 5 * DAY == held.trusted
    assert [f"certificate: renewed: due for renewal since {NOW + 6 * DAY:%Y-%m-%dT%H:%M:%SZ}"] == list(rotation.reasons)
    assert rotation.held.leaf.certificate != held.leaf.certificate
    assert rotation.held.cas == held.cas


@pytest.mark.parametrize(
    ("in_force", "trusted"),
    [
        (lambda bundle: None, False),
        (lambda bundle: (), True),
        (lambda bundle: (b"",), False),
        (lambda bundle: (bundle,), True),
        (lambda bundle: (bundle, b""), False),
        (lambda bundle: (bundle, bundle), True),
    ],
    ids=["not known", "no configuration", "stripped", "one", "one of two", "both"],
)
def test_a_ca_is_trusted_once_it_is_in_every_configuration(in_force, trusted):
    assert trusted == (after(fresh(), DAY, in_force(fresh().ca_bundle)).held.trusted == NOW + DAY)


def test_a_new_ca_signs_nothing_for_an_hour():
    old = replace(after(fresh(), 59 * DAY).held, trusted=NOW)
    old = replace(old, leaf=old.authority.issue(NAMES, NOW + 55 * DAY, LIVES.leaf))
    new = after(old, 60.1 * DAY, bundles(old)).held
    waiting = after(new, 61 * DAY, bundles(new)).held
    almost = after(waiting, 61 * DAY + timedelta(hours=1.9), bundles(new)).held
    settled = after(waiting, 61 * DAY + timedelta(hours=2.1), bundles(new))

    assert (2, None) == (len(new.cas), new.trusted)
    assert old.cas[0] == new.cas[1], "the old one stays until it expires"
    assert old.leaf == new.leaf == waiting.leaf == almost.leaf
    assert settled.held.leaf != old.leaf
    assert verifies(settled.held.leaf.certificate, settled.held.cas[:1])


@pytest.mark.parametrize("behind", [timedelta(), HOUR], ids=["of one clock", "of two that differ by an hour"])
def test_an_hour_is_an_hour(behind):
    """Who notes that a new CA is trusted may be an hour behind whoever lets it sign."""
    old = replace(after(fresh(), 59 * DAY).held, trusted=NOW)
    old = replace(old, leaf=old.authority.issue(NAMES, NOW + 55 * DAY, LIVES.leaf))
    new = after(old, 60.1 * DAY, bundles(old)).held
    waiting = after(new, 61.5 * DAY - behind, bundles(new)).held

    assert old.leaf == after(waiting, 61.5 * DAY + timedelta(minutes=59), bundles(new)).held.leaf
    assert old.leaf != after(waiting, 61.5 * DAY + timedelta(minutes=121), bundles(new)).held.leaf


def test_a_new_ca_does_not_wait_where_nothing_else_can_be_served():
    """An expired certificate is refused for certain; the new CA may be trusted by now."""
    late = after(fresh(), 9.5 * DAY).held

    assert fresh().cas == late.cas
    assert invalid_reason(describe(late.leaf.certificate), NOW + 9.5 * DAY) is None


def test_an_old_ca_leaves_when_it_expires():
    held = after(fresh(), 61 * DAY, bundles(fresh())).held

    assert 2 == len(after(held, 89.9 * DAY, bundles(held)).held.cas)
    assert held.cas[:1] == after(held, 90.1 * DAY, bundles(held)).held.cas


def test_other_names_need_another_leaf_at_once():
    rotation = after(fresh(), HOUR, None, names=[*NAMES, "keel.guard.svc.cluster.local"])

    assert ("certificate: renewed: lacks the names keel.guard.svc.cluster.local",) == rotation.reasons
    assert leaf_reason(rotation.held, NAMES, NOW) is None, "further names do no harm"


def test_replicas_that_are_told_other_names_do_not_replace_each_other_s_leaf():
    """As while a rollout gives them another; the old name goes when the leaf is due."""
    other = ["boat.guard.svc"]
    both = after(fresh(), HOUR, names=other).held

    assert {*other, *NAMES} == {*describe(both.leaf.certificate).names}
    assert () == after(both, HOUR).reasons
    assert tuple(other) == describe(after(both, 9.5 * DAY, names=other).held.leaf.certificate).names


def test_a_name_that_evenkeel_does_not_issue_is_not_taken_over(monkeypatch):
    """Of a leaf that somebody else has put there; it kept the next one from being issued."""
    with monkeypatch.context() as patched:
        patched.setattr("certs.authority._DNS_NAME", re.compile(".+"))
        held = replace(fresh(), leaf=fresh().authority.issue(["keel_guard~svc", "boat.guard.svc"], NOW))

    assert [*NAMES, "boat.guard.svc"] == [*describe(after(held, HOUR).held.leaf.certificate).names]


@pytest.mark.parametrize(
    ("name", "value", "made"),
    [
        (CA_CERT, b"", ["CA", "certificate"]),
        (CA_CERT, b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", ["CA", "certificate"]),
        (CA_KEY, b"garbage", ["CA"]),
        (CA_KEY, another_key, ["CA"]),
        (CERT, b"\xff\xfe", ["certificate"]),
        (KEY, b"", ["certificate"]),
        (TRUSTED, b"\xff", []),
        (TRUSTED, b"yesterday", []),
        (TRUSTED, b"2999-01-01T00:00:00Z", []),
        (TRUSTED, b"0001-01-01T00:00:00+14:00", []),
        (TRUSTED, b"9999-12-31T23:59:59-14:00", []),
    ],
)
def test_what_is_damaged_is_made_anew(name, value, made):
    damaged = parse({**entries(fresh()), name: value() if callable(value) else value})
    rotation = after(damaged, HOUR)

    assert made == [reason.partition(":")[0] for reason in rotation.reasons]
    assert verifies(rotation.held.leaf.certificate, rotation.held.cas)
    assert rotation.held.trusted is None


def test_a_leaf_whose_ca_has_gone_is_replaced():
    stranger = Authority.create(NOW).issue(NAMES, NOW, LIVES.leaf)
    rotation = after(replace(fresh(), leaf=stranger), HOUR)

    assert ("certificate: renewed: was signed by a CA that is no longer trusted",) == rotation.reasons


def test_of_replicas_that_start_together_one_wins():
    shelf = Shelf(rivals=[entries(fresh())])
    rotation = rotate(shelf, NAMES, NOW, None, LIVES)

    assert entries(fresh()) == shelf.content
    assert (fresh().cas, ()) == (rotation.held.cas, rotation.reasons)


def test_what_is_in_order_is_not_written():
    shelf = Shelf()
    rotate(shelf, NAMES, NOW, None, LIVES)
    rotate(shelf, NAMES, NOW + HOUR, None, LIVES)

    assert 1 == shelf.version


def test_a_store_that_is_emptied_is_filled_again():
    shelf = Shelf()
    rotate(shelf, NAMES, NOW, None, LIVES)
    shelf.put({})

    assert ("CA: renewed: there was none", "certificate: renewed: there was none") == rotate(
        shelf, NAMES, NOW, None, LIVES
    ).reasons
    assert entries(parse(shelf.content)) == shelf.content


@pytest.mark.parametrize("left", [{}, {CA_CERT: b"", KEY: b""}], ids=["deleted", "emptied"])
def test_who_knows_what_a_store_held_puts_it_back(left):
    """Another CA would be trusted before every replica served what it has signed."""
    shelf, last = Shelf(left), replace(fresh(), trusted=NOW)
    rotation = rotate(shelf, NAMES, NOW + HOUR, None, LIVES, last)

    assert (
        "the Secret was deleted or emptied; evenkeel has written its last CA and certificate back",
    ) == rotation.reasons
    assert entries(last) == shelf.content
    assert () == rotate(shelf, NAMES, NOW + HOUR, None, LIVES, last).reasons


def test_what_is_put_back_is_renewed_where_that_is_due():
    shelf = Shelf()
    rotation = rotate(shelf, NAMES, NOW + 10 * DAY, None, LIVES, fresh())

    assert [SECRET_RESTORED, "certificate"] == [reason.partition(":")[0] for reason in rotation.reasons]
    assert fresh().cas == parse(shelf.content).cas


def test_what_somebody_else_has_put_there_since_is_not_undone():
    shelf = Shelf(rivals=[entries(fresh())])
    rotation = rotate(shelf, NAMES, NOW, None, LIVES, renewed(HeldCertificates(), NAMES, NOW, None, LIVES).held)

    assert ((), entries(fresh())) == (rotation.reasons, shelf.content)


@pytest.mark.parametrize("content", [{CERT: b"PEM", KEY: b"PEM"}, {"password": b"secret"}], ids=["TLS", "another"])
def test_a_store_of_somebody_else_is_left_alone(content):
    """A Secret of cert-manager's, say, which would put its own back again and again."""
    shelf = Shelf(content)

    with pytest.raises(CertificateError, match=f'found {", ".join(content)} without "trusted"'):
        rotate(shelf, NAMES, NOW, None, LIVES, fresh())
    assert content == shelf.content


def test_replicas_that_never_let_one_another_win_are_an_error():
    class Contested(Shelf):
        def replace(self, content, version):
            return False

    with pytest.raises(CertificateError, match="another client replaced the Secret during each of 5 attempts"):
        rotate(Contested(), NAMES, NOW, None, LIVES)


def test_who_wins_the_last_of_five_attempts_has_won():
    """Each of four others wants another name in the certificate."""
    other = entries(renewed(HeldCertificates(), ["boat.guard.svc"], NOW, None, LIVES).held)
    rotation = rotate(Shelf(rivals=[other] * 4), NAMES, NOW, None, LIVES)

    assert ("certificate: renewed: lacks the names keel.guard.svc",) == rotation.reasons


@pytest.mark.parametrize(("ahead", "kept"), [(HOUR, True), (HOUR + SECOND, False)])
def test_a_clock_may_be_an_hour_ahead_of_another(ahead, kept):
    assert kept == (after(replace(fresh(), trusted=NOW + ahead), 0 * DAY).held.trusted is not None)


@pytest.mark.parametrize(("since", "renews"), [(2 * HOUR - SECOND, False), (2 * HOUR, True)])
def test_a_ca_signs_from_the_moment_on_at_which_it_has_settled(since, renews):
    due = replace(fresh(), trusted=NOW + 6 * DAY)

    assert renews == bool(after(due, 6 * DAY + since).reasons)


def test_a_leaf_of_the_ca_before_is_as_good():
    new = Authority.create(NOW, lifetime=LIVES.ca)
    held = replace(fresh(), cas=(new.pair.certificate, *fresh().cas), authority=new)

    assert leaf_reason(held, NAMES, NOW) is None


@pytest.mark.parametrize("broken", [CA_CERT, CA_KEY])
def test_a_ca_without_its_key_is_not_known_to_be_trusted(broken):
    content = entries(replace(fresh(), trusted=NOW))

    assert (NOW, None) == (parse(content).trusted, parse({**content, broken: b""}).trusted)


def test_what_the_store_keeps_of_cas_is_bounded():
    """Where clocks stay wrong, each replica would add one for ever."""
    held = fresh()
    for _ in range(12):
        held = renewed(replace(held, authority=None), NAMES, NOW, None, LIVES).held

    assert (8, held.authority.pair.certificate) == (len(held.cas), held.cas[0])


def test_no_key_is_shown():
    held = fresh()
    shown = repr(held) + repr(held.authority.pair) + str(rotate(Shelf(), NAMES, NOW, None, LIVES))

    assert "PRIVATE" not in shown
    assert not any(line in shown for line in entries(held)[KEY].decode().splitlines()[1:-1])


steps = st.tuples(
    st.integers(min_value=1, max_value=40),  # hours that pass
    st.sampled_from(("inject", "inject", "inject", "inject", "lost", "stripped")),
    st.integers(min_value=-59, max_value=59),  # minutes by which the clock of the replica at work is off
)


@given(st.lists(steps, min_size=30, max_size=80))
def test_whatever_happens_no_call_is_lost_to_a_certificate(story):
    """
    The API server trusts what was injected last; what is served must verify by that, but right after a strip.

    A CA that was injected two hours ago may sign; the API server may be lost for days, not for a third of a life.
    """
    shelf, now, in_force = Shelf(), NOW, None
    lives = Lifetimes(ca=40 * DAY, leaf=15 * DAY)
    for hours, event, minutes in story:
        now += timedelta(hours=hours)
        known = in_force if event != "lost" else None
        held = rotate(shelf, NAMES, now + timedelta(minutes=minutes), known and (known,), lives).held
        served = held.leaf.certificate
        assert invalid_reason(describe(served), now) is None
        assert verifies(served, held.cas)
        assert all(one.not_valid_after_utc + CLOCK_SKEW >= now for one in held.cas)
        if in_force:
            assert verifies(served, certificates(Pem("in force", in_force)))
        if event != "lost":
            in_force = held.ca_bundle if event == "inject" else b""


YEAR = 365 * DAY
ROUND = HOUR  # of each replica, in turns


@dataclass
class Fleet:
    """
    Two replicas and an API server, whose clock is right.

    `lost` counts the calls that it would lose each time that both replicas have had a round.
    """

    lives: Lifetimes = field(default_factory=Lifetimes)
    shelf: Shelf = field(default_factory=Shelf)
    now: datetime = NOW
    in_force: bytes = b""
    served: dict = field(default_factory=dict)
    lost: int = 0

    def round(self, replica, off=timedelta()):
        """A round of a replica whose clock is that far off: it serves what it finds, and has it trusted."""
        known = (self.in_force,) if self.in_force else (b"",)
        held = rotate(self.shelf, NAMES, self.now + off, known, self.lives).held
        self.served[replica], self.in_force = held.leaf.certificate, held.ca_bundle

    def run(self, time, off=timedelta()):
        """Both replicas at work for so long; the clock of the second is that far off."""
        until = self.now + time
        while self.now < until:
            self.round("one")
            self.round("other", off)
            self.now += ROUND
            self.lost += sum(not self.takes(leaf) for leaf in self.served.values())

    def takes(self, leaf):
        """Whether the API server takes what is served."""
        cas = certificates(Pem("in force", self.in_force))
        signers = [ca for ca in cas if verifies(leaf, [ca]) and invalid_reason(describe(ca), self.now) is None]
        return bool(signers) and invalid_reason(describe(leaf), self.now) is None

    def well(self):
        """Whether all is as if nothing had been."""
        held = parse(self.shelf.content)
        due = [renewal_reason(one, self.now) for one in (held.leaf.certificate, held.cas[0])]
        valid = [invalid_reason(describe(ca), self.now) for ca in held.cas]
        return due == [None, None] and not any(valid) and all(map(self.takes, self.served.values()))


JUMPS = [-55 * YEAR, -11 * YEAR, -60 * DAY, -DAY, -2 * HOUR, HOUR, 2 * HOUR, DAY, 60 * DAY, 7 * YEAR, 11 * YEAR]


@pytest.mark.parametrize("age", [timedelta(), DAY, 59 * DAY, 6.6 * YEAR], ids=["new", "a day", "59 days", "6.6 years"])
@pytest.mark.parametrize("jump", JUMPS, ids=str)
def test_a_day_after_a_clock_was_wrong_for_one_round_all_is_well(jump, age):
    """As after a reset, or where a node's battery is empty."""
    fleet = Fleet()
    fleet.run(3 * HOUR)
    fleet.now += age
    fleet.run(3 * HOUR)
    fleet.round("other", jump)
    fleet.run(DAY)

    assert fleet.well()
    assert fleet.lost == 0


@pytest.mark.parametrize("jump", JUMPS, ids=str)
def test_a_day_after_a_clock_was_wrong_for_a_day_all_is_well(jump):
    fleet = Fleet()
    fleet.run(6 * HOUR)
    fleet.run(DAY, jump)
    assert len(parse(fleet.shelf.content).cas) <= 8

    fleet.run(DAY)
    assert fleet.well()


@given(
    st.lists(st.tuples(st.integers(-20 * 365, 20 * 365), st.integers(1, 3), st.integers(1, 90)), min_size=1, max_size=3)
)
def test_however_often_a_clock_is_wrong_a_day_later_all_is_well(story):
    fleet = Fleet()
    fleet.run(3 * HOUR)
    for days, rounds, later in story:
        for _ in range(rounds):
            fleet.round("other", days * DAY)
        fleet.run(DAY)
        assert fleet.well()
        fleet.now += later * DAY
        fleet.run(HOUR)
