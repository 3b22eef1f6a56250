"""What is served when the files of a certificate change: a whole pair or the one before, at any moment."""

from __future__ import annotations

import re
import ssl
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from certs.authority import Authority
from certs.files import CertificateError
from certs.serving import Served, ServingCertificate
from tests.support.handshakes import HOST, accepted, client_context, shake_hands
from tests.support.serving import certificate

NOW = datetime.now(UTC)


class Version(NamedTuple):
    """What a server accepts from, and what a client speaks; `ciphers` are of TLS 1.2."""

    oldest: str
    version: ssl.TLSVersion
    accepted: bool
    ciphers: str | None = None


@pytest.fixture
def served(tmp_path):
    ca = certificate(tmp_path)
    return ServingCertificate.of_files(tmp_path / "tls.crt", tmp_path / "tls.key"), ca, tmp_path


def handshake(served, ca, *version_and_ciphers):
    """Whether a client that trusts this CA takes what is served; it speaks only this version of TLS, and ciphers."""
    return accepted(client_context(ca, None, *version_and_ciphers), served.context)


def test_a_changed_pair_is_served_once_it_has_stayed_the_same(served):
    serving, ca, folder = served
    assert not serving.reload(NOW)
    another = certificate(folder)

    assert [False, True, False] == [serving.reload(NOW) for _ in range(3)]
    assert [False, True] == [handshake(serving, one) for one in (ca, another)]


def test_a_pair_of_which_one_half_is_written_is_waited_for(served):
    """As what writes two files does it: in between, they do not match."""
    serving, ca, folder = served
    key = (folder / "tls.key").read_bytes()
    another = certificate(folder)
    new_key = (folder / "tls.key").read_bytes()
    (folder / "tls.key").write_bytes(key)
    serving.reload(NOW)
    assert ("", True) == (serving.refused, handshake(serving, ca))

    (folder / "tls.key").write_bytes(new_key)
    serving.reload(NOW)
    assert serving.reload(NOW) and handshake(serving, another)


@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_files_that_cannot_be_used_change_nothing_until_they_can(served, content):
    serving, ca, folder = served
    good, context = (folder / "tls.key").read_bytes(), serving.context
    if content is None:
        (folder / "tls.key").unlink()
    else:
        (folder / "tls.key").write_bytes(content)
    assert [False] * 3 == [serving.reload(NOW) for _ in range(3)]
    assert str(folder / "tls.key") in serving.refused
    assert context is serving.context

    (folder / "tls.key").write_bytes(good)
    for _ in range(2):
        serving.reload(NOW)
    assert ("", True) == (serving.refused, handshake(serving, ca))


def test_the_context_in_use_is_never_changed(served):
    """Else a handshake could meet the new certificate before its key, and a key that does not match would end both."""
    serving, ca, folder = served
    before = serving.context
    certificate(folder)
    for _ in range(2):
        serving.reload(NOW)

    assert before is not serving.context
    assert ssl.TLSVersion.TLSv1_2 == serving.context.minimum_version
    assert all(cipher["aead"] for cipher in serving.context.get_ciphers())
    serving.context = before
    assert handshake(serving, ca)


def test_what_could_not_be_loaded_for_want_of_a_descriptor_is_tried_again(served, monkeypatch):
    """The files are good, and would never change again."""
    serving, _, folder = served
    new = certificate(folder)
    load = ssl.SSLContext.load_cert_chain
    failures = [OSError(24, "Too many open files")]

    def load_cert_chain(context, *files):
        if failures:
            raise failures.pop()
        load(context, *files)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", load_cert_chain)
    reloaded = [serving.reload(NOW) for _ in range(4)]

    assert [False, False, True, False] == reloaded
    assert "" == serving.refused
    assert handshake(serving, new)


def test_a_certificate_that_is_not_valid_now_does_not_replace_one_that_is(served):
    """Whoever renews it may have a wrong clock; it is served once it is valid, or once the one before is not."""
    serving, ca, folder = served
    later, year = NOW + timedelta(days=30), timedelta(days=365)
    future = Authority.create(later)
    future.issue(["localhost"], later).write(folder / "tls.crt", folder / "tls.key")

    assert [False] * 3 == [serving.reload(NOW) for _ in range(3)]
    assert f"{folder / 'tls.crt'}: is not valid before" in serving.refused
    assert handshake(serving, ca)
    assert serving.reload(later)
    assert "" == serving.refused and serving.not_after == future.issue(["x"], later).certificate.not_valid_after_utc

    before = NOW - year
    Authority.create(before).issue(["localhost"], before).write(folder / "tls.crt", folder / "tls.key")
    assert [False] * 3 == [serving.reload(later) for _ in range(3)]
    assert "expired at" in serving.refused
    assert serving.reload(NOW), "where neither is valid, the file counts"


def test_what_was_checked_is_what_is_served(tmp_path, monkeypatch):
    """A Secret may change at any moment, and what nobody has checked is not served."""
    changed, checked, parse = [], [], Served.parse

    def changing(*pair):
        checked.append(pair)
        changed.append(certificate(tmp_path))
        return parse(*pair)

    monkeypatch.setattr(Served, "parse", changing)
    ca = certificate(tmp_path)
    serving = ServingCertificate.of_files(tmp_path / "tls.crt", tmp_path / "tls.key")
    assert handshake(serving, ca)

    assert [False, True] == [serving.reload(NOW) for _ in range(2)]
    assert [True, False] == [handshake(serving, one) for one in changed]
    assert [False, True] == [serving.reload(NOW) for _ in range(2)]
    assert 3 == len(set(checked)) and handshake(serving, changed[1])


def test_a_pair_that_is_handed_over_is_served_and_no_file_is_followed():
    ca = Authority.create(NOW)
    serving = ServingCertificate(*ca.issue([HOST], NOW).pem("--tls-secret"))
    first, another = serving.context, Authority.create(NOW)
    serving.serve(*another.issue([HOST], NOW).pem("--tls-secret"))

    assert not serving.reload(NOW)
    assert [False, True] == [handshake(serving, one.pair.chain_pem().decode()) for one in (ca, another)]
    assert first is not serving.context
    assert serving.problem(NOW) == "" and serving.problem(serving.not_after + timedelta(days=1)).startswith(
        "--tls-secret: expired at "
    )


def test_a_pair_that_is_handed_over_and_cannot_be_used_changes_nothing():
    ca, other = Authority.create(NOW), Authority.create(NOW).issue([HOST], NOW)
    pair = ca.issue([HOST], NOW)
    serving = ServingCertificate(*pair.pem("--tls-secret"))
    with pytest.raises(CertificateError, match=r"^--tls-secret: is not the key of --tls-secret$"):
        serving.serve(pair.pem("--tls-secret")[0], other.pem("--tls-secret")[1])

    assert handshake(serving, ca.pair.chain_pem().decode())


def test_a_certificate_that_only_openssl_can_read_is_refused_by_name(served):
    """DER has one form of "true", and OpenSSL reads others; it is not served from the start, and replaces no other."""
    serving, ca, folder = served
    der = ssl.PEM_cert_to_DER_cert((folder / "tls.crt").read_text())
    broken = ssl.DER_cert_to_PEM_cert(der.replace(b"\x01\x01\xff", b"\x01\x01\x01"))
    (folder / "tls.crt").write_text(broken)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(folder / "tls.crt", folder / "tls.key")
    told = f"{folder / 'tls.crt'}: has a certificate that cannot be read; write it again, as it was issued"
    assert [False] * 2 == [serving.reload(NOW) for _ in range(2)]

    assert told == serving.refused and handshake(serving, ca)
    with pytest.raises(CertificateError, match=f"^{re.escape(told)}$"):
        ServingCertificate.of_files(folder / "tls.crt", folder / "tls.key")


V1_0, V1_2, V1_3 = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
# SECLEVEL=0 lets the client offer what OpenSSL itself calls weak, so that it is the server who refuses.
VERSIONS = [
    Version("1.2", V1_2, True),
    Version("1.2", V1_3, True),
    Version("1.2", V1_2, False, "ECDHE-ECDSA-AES256-SHA:@SECLEVEL=0"),
    Version("1.2", V1_2, False, "ECDHE-ECDSA-AES256-SHA384:@SECLEVEL=0"),
    Version("1.2", V1_2, True, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    Version("1.2", V1_0, False, "ALL:@SECLEVEL=0"),
    Version("1.3", V1_2, False),
    Version("1.3", V1_3, True),
]


@pytest.mark.parametrize("case", VERSIONS, ids=str)
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1 is deprecated:DeprecationWarning")
def test_old_versions_and_ciphers_are_refused(served, case):
    serving, ca, _ = served
    made = ServingCertificate(serving.served.chain, serving.served.key, case.oldest)

    assert case.accepted == handshake(made, ca, case.version, case.ciphers)


@pytest.mark.parametrize("version", [V1_2, V1_3], ids=lambda version: version.name)
def test_no_ticket_is_given(served, version):
    """kube-apiserver keeps none; making one costs more than it saves."""
    serving, ca, _ = served
    ends = shake_hands(client_context(ca, None, version), serving.context)
    ends[1].write(b"x")

    assert b"x" == ends[0].read()
    assert ends[0].session is None or not ends[0].session.has_ticket
