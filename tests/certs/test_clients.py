"""Which clients are accepted, and what a changed file of CAs changes."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from certs.authority import Authority
from certs.clients import Clients
from certs.files import CertificateError
from certs.serving import ServingCertificate
from tests.support.certificates import foreign
from tests.support.handshakes import accepted, client_certificate, client_context, shake_hands
from tests.support.serving import certificate

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
every_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)


class Guarded:
    """A server that demands certificates of the CA in `folder`/clients/ca.crt."""

    def __init__(self, folder):
        self.folder, self.ca = folder / "clients", certificate(folder)
        self.client_ca = client_certificate(self.folder)
        self.clients = Clients(self.folder / "ca.crt")
        self.serving = ServingCertificate.of_files(folder / "tls.crt", folder / "tls.key", clients=self.clients)

    def accepts(self, folder=None, version=None):
        return accepted(client_context(self.ca, folder, version), self.serving.context)

    def reload(self):
        """As it is done every second; a change counts at the second reading."""
        for _ in range(2):
            self.clients.reload(self.serving.demand)
            self.serving.reload(datetime.now(UTC))


@pytest.fixture
def guarded(tmp_path):
    return Guarded(tmp_path)


@every_version
def test_a_certificate_of_the_ca_is_accepted_and_no_certificate_is_not(guarded, version):
    assert [True, False] == [guarded.accepts(folder, version) for folder in (guarded.folder, None)]


@every_version
def test_a_certificate_of_another_ca_is_refused(guarded, tmp_path, version):
    """Of the same name, too."""
    client_certificate(tmp_path / "foreign")

    assert not guarded.accepts(tmp_path / "foreign", version)


@every_version
def test_an_expired_certificate_is_refused(guarded, version):
    client_certificate(guarded.folder, ca=guarded.client_ca, lifetime=-timedelta(minutes=1))

    assert not guarded.accepts(guarded.folder, version)


@every_version
def test_a_certificate_of_a_server_is_refused(guarded, version):
    client_certificate(guarded.folder, ca=guarded.client_ca, client=False)

    assert not guarded.accepts(guarded.folder, version)


def test_a_ca_that_another_ca_signed_is_enough(tmp_path):
    """As for --client-ca-file of kube-apiserver, each CA in the file is trusted for itself."""
    now = datetime.now(UTC)
    root = foreign(ec.generate_private_key(ec.SECP256R1()), now, identifier=b"root")
    below = foreign(ec.generate_private_key(ec.SECP256R1()), now, above=root)
    guarded = Guarded(tmp_path)
    client_certificate(guarded.folder, ca=below)
    guarded.clients.ca_file.write_bytes(below.pair.chain_pem().partition(b"-----END CERTIFICATE-----\n")[0] + END)
    guarded.reload()

    assert ("", 1, True) == (
        guarded.clients.refused,
        len(guarded.clients.cas.contents),
        guarded.accepts(guarded.folder),
    )


END = b"-----END CERTIFICATE-----\n"


def test_a_changed_ca_replaces_the_one_before(guarded, tmp_path):
    before = guarded.folder
    client_certificate(tmp_path / "new")
    guarded.clients.ca_file.write_bytes((tmp_path / "new" / "ca.crt").read_bytes())
    assert guarded.accepts(before), "a change counts at the second reading"
    guarded.reload()

    assert [False, True] == [guarded.accepts(folder) for folder in (before, tmp_path / "new")]


def test_a_pair_that_is_handed_over_is_served_to_clients_of_the_cas_of_now(guarded, tmp_path):
    client_certificate(tmp_path / "new")
    guarded.clients.ca_file.write_bytes((tmp_path / "new" / "ca.crt").read_bytes())
    guarded.reload()
    guarded.serving.serve(guarded.serving.served.chain, guarded.serving.served.key)

    assert [False, True] == [guarded.accepts(folder) for folder in (guarded.folder, tmp_path / "new")]


def test_several_cas_are_accepted(guarded, tmp_path):
    """As while one replaces another."""
    client_certificate(tmp_path / "new")
    with guarded.clients.ca_file.open("ab") as file:
        file.write((tmp_path / "new" / "ca.crt").read_bytes())
    guarded.reload()

    assert guarded.accepts(guarded.folder) and guarded.accepts(tmp_path / "new")


@pytest.mark.parametrize("content", [b"", b"garbage", None, "tls.crt"], ids=str)
def test_a_file_that_cannot_be_used_changes_nothing_until_it_can(guarded, content):
    good, file = guarded.clients.ca_file.read_bytes(), guarded.clients.ca_file
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content if isinstance(content, bytes) else (guarded.folder / content).read_bytes())
    guarded.reload()
    assert str(file) in guarded.clients.refused
    assert [True, False] == [guarded.accepts(folder) for folder in (guarded.folder, None)]

    file.write_bytes(good)
    guarded.reload()
    assert ("", True) == (guarded.clients.refused, guarded.accepts(guarded.folder))


def test_a_broken_ca_file_does_not_keep_a_new_certificate_from_being_served(guarded, tmp_path):
    guarded.clients.ca_file.write_bytes(b"garbage")
    guarded.ca = certificate(tmp_path)
    guarded.reload()

    assert guarded.clients.refused
    assert [True, False] == [guarded.accepts(folder) for folder in (guarded.folder, None)]


def test_a_removed_ca_is_out_of_force_although_the_certificate_files_cannot_be_used(guarded, tmp_path):
    """It may be removed because its key is stolen; the last good pair is kept in memory for that."""
    client_certificate(tmp_path / "new")
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).write_bytes(b"garbage")
    guarded.reload()
    guarded.clients.ca_file.write_bytes((tmp_path / "new" / "ca.crt").read_bytes())
    guarded.reload()

    assert guarded.serving.refused and not guarded.clients.refused
    assert [False, True] == [guarded.accepts(folder) for folder in (guarded.folder, tmp_path / "new")]


def test_cas_that_no_context_could_be_made_with_are_tried_again(guarded, tmp_path, monkeypatch):
    """The file is good, and would never change again; until then nothing says that it is in use."""
    before = guarded.clients.cas
    client_certificate(tmp_path / "new")
    guarded.clients.ca_file.write_bytes((tmp_path / "new" / "ca.crt").read_bytes())
    with monkeypatch.context() as patch:
        patch.setattr("certs.files.os.memfd_create", failing(OSError(24, "Too many open files")))
        guarded.reload()
        assert guarded.clients.refused.endswith("cannot be served: Too many open files")
        assert before is guarded.clients.cas and guarded.accepts(guarded.folder)
    guarded.reload()

    assert ("", False) == (guarded.clients.refused, guarded.accepts(guarded.folder))


def failing(error):
    def fail(*_arguments, **_options):
        raise error

    return fail


def test_cas_that_openssl_refuses_change_nothing_and_are_told(guarded, tmp_path, monkeypatch):
    """It may read more strictly than what has read them before."""
    client_certificate(tmp_path / "new")
    guarded.clients.ca_file.write_bytes((tmp_path / "new" / "ca.crt").read_bytes())
    with monkeypatch.context() as patch:
        refusing = failing(ssl.SSLError(1, "not enough data"))
        patch.setattr(ssl.SSLContext, "load_verify_locations", refusing)
        guarded.reload()

    assert f"{guarded.clients.ca_file}: cannot be used: not enough data" == guarded.clients.refused
    assert [True, False] == [guarded.accepts(folder) for folder in (guarded.folder, tmp_path / "new")]


def test_a_file_that_is_not_there_or_is_of_no_ca_is_an_error(tmp_path):
    client_certificate(tmp_path)

    with pytest.raises(CertificateError, match="No such file"):
        Clients(tmp_path / "none")
    with pytest.raises(CertificateError, match="which is not a CA"):
        Clients(tmp_path / "tls.crt")


def test_cas_that_have_all_expired_are_a_problem(tmp_path):
    now, day = datetime.now(UTC), timedelta(days=1)
    old, new = (Authority.create(now - 3 * day, lifetime=days * day).pair.chain_pem() for days in (1, 9))
    (tmp_path / "ca.crt").write_bytes(old + new)
    clients = Clients(tmp_path / "ca.crt")

    assert "" == clients.problem(now)
    assert clients.problem(now + 30 * day).count("expired at") == 2


def test_the_names_of_the_certificate_come_from_a_verified_one(guarded):
    """What transport reads once the handshake is done."""
    _, server = shake_hands(client_context(guarded.ca, guarded.folder), guarded.serving.context)

    assert (("DNS", "kube-apiserver"),) == server.getpeercert()["subjectAltName"]
