"""TLS as clients meet it."""

from __future__ import annotations

import ssl
from contextlib import suppress
from datetime import timedelta

import pytest

from certs.clients import Clients
from certs.serving import ServingCertificate
from tests.support.handshakes import client_certificate, client_context
from tests.support.serving import certificate
from webhook.server.transport.limits import RECORD
from webhook.server.transport.tls import (
    EXPIRED,
    NO_CERTIFICATE,
    PIECE,
    RECORDS,
    SESSION_RESUMED,
    UNTRUSTED,
    WRONG_NAME,
    ClientRefused,
    Tls,
    _names,
)

every_version = pytest.mark.parametrize(
    "version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=lambda version: version.name
)


def test_http_2_is_not_offered(server):
    """kube-apiserver's client asks for it, and takes HTTP/1.1."""
    context = ssl.create_default_context(cadata=server.ca)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with context.wrap_socket(server.connect(), server_hostname="localhost") as sock:
        assert sock.selected_alpn_protocol() in {None, "http/1.1"}


class Server:
    """TLS of a server in memory that demands certificates, and its client's end."""

    def __init__(self, folder, names=()):
        self.folder, self.ca = folder / "client", certificate(folder)
        self.client_ca = client_certificate(self.folder, "kube-apiserver", "other.name")
        clients = Clients(self.folder / "ca.crt")
        self.context = ServingCertificate.of_files(folder / "tls.crt", folder / "tls.key", clients=clients).context
        self.names, self.content = frozenset(names), b"secret"

    def meet(self, context, session=None):
        """The content that arrives of a client that sends as soon as it may, and the client's end."""
        self.tls, inbox, outbox = Tls(self.context, self.names), ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(inbox, outbox, server_hostname="localhost", session=session)
        content = b""
        for _ in range(3):
            with suppress(ssl.SSLWantReadError):
                client.do_handshake()
                client.write(self.content)
            while data := outbox.read(PIECE):
                content += self.tls.decrypt(data)
            inbox.write(self.tls.encrypt(bytearray()))
        self.client, self.outbox = client, outbox
        return content, client

    def sent(self, content):
        """The record in which the client that was met sends this."""
        self.client.write(content)
        return self.outbox.read()


ACCEPTED = [
    ("any certificate where no name is wanted", ()),
    ("its common name", ("kube-apiserver",)),
    ("a DNS name", ("other.name",)),
    ("one of several", ("nobody", "other.name")),
]


@every_version
@pytest.mark.parametrize("names", [names for _, names in ACCEPTED], ids=[name for name, _ in ACCEPTED])
def test_a_client_is_accepted_by_name(tmp_path, names, version):
    server = Server(tmp_path, names)

    assert b"secret" in server.meet(client_context(server.ca, server.folder, version))[0]


REFUSED = [
    ("another name", {}, ("kube-apiserver-kubelet-client",), WRONG_NAME),
    ("part of a name", {}, ("kube",), WRONG_NAME),
    ("a name in another case", {}, ("Kube-Apiserver",), WRONG_NAME),
    ("a certificate that is over", {"lifetime": -timedelta(minutes=1)}, (), EXPIRED),
    ("a certificate of a server", {"client": False}, (), UNTRUSTED),
    ("another CA", {"ca": None}, (), UNTRUSTED),
    ("no certificate", None, (), NO_CERTIFICATE),
]


@every_version
@pytest.mark.parametrize(
    ("options", "names", "reason"), [rest for _, *rest in REFUSED], ids=[name for name, *_ in REFUSED]
)
def test_a_client_is_refused_with_a_reason_and_nothing_of_it_is_read(tmp_path, options, names, reason, version):
    """Although in TLS 1.3 its request came together with its certificate."""
    server = Server(tmp_path, names)
    if options is not None:
        client_certificate(server.folder, **{"ca": server.client_ca, **options})
    context = client_context(server.ca, server.folder if options is not None else None, version)
    with pytest.raises(ClientRefused) as caught:
        server.meet(context)

    assert (reason, False) == (caught.value.reason, server.tls.established)


def test_a_failure_of_another_kind_is_no_refusal_of_a_client(tmp_path):
    server = Server(tmp_path)

    with pytest.raises(ssl.SSLError):
        Tls(server.context).decrypt(b"GET / HTTP/1.1\r\n\r\n")


def test_no_session_is_resumed(tmp_path):
    """Its certificate would not be verified again, though it may be over by then; TLS 1.3 would need a ticket."""
    server = Server(tmp_path)
    context = client_context(server.ca, server.folder, ssl.TLSVersion.TLSv1_2)
    _, client = server.meet(context)
    server.tls.end()  # OpenSSL forgets a session that ends without.
    with pytest.raises(ClientRefused) as caught:
        server.meet(context, client.session)

    assert SESSION_RESUMED == caught.value.reason


@every_version
@pytest.mark.parametrize(("names", "verified"), [(100, True), (400, False)])
def test_a_chain_too_long_is_not_verified(tmp_path, names, verified, version):
    """Each certificate takes time to read, and a client may send as many as it likes; 100 names have 6 KB."""
    server = Server(tmp_path)
    client_certificate(server.folder, *(f"{number}.{'a' * 50}" for number in range(names)), ca=server.client_ca)
    context = client_context(server.ca, server.folder, version)
    if verified:
        assert b"secret" in server.meet(context)[0]
    else:
        with pytest.raises(ConnectionAbortedError, match="TLS handshake of more than 8192 bytes"):
            server.meet(context)


@every_version
def test_what_follows_a_handshake_does_not_count(tmp_path, version):
    """A client may send its whole request right behind."""
    server = Server(tmp_path)
    server.content = b"x" * 30_000

    assert server.content in server.meet(client_context(server.ca, server.folder, version))[0]


class Scripted:
    """Stands for a session that finds one byte of content in whatever it is given."""

    def __init__(self, received):
        self.received = received

    def read(self, _size):
        self.received.read()
        return b"x"


@pytest.mark.parametrize(("size", "endures"), [(23, True), (RECORD, False)])
def test_a_byte_of_content_does_not_pardon_whole_records_without(size, endures):
    """Records of one byte are clumsy, but 16 KiB of updates of keys before each are an attack."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls = Tls(context)
    tls.established, tls.session = True, Scripted(tls.received)
    if endures:
        assert {b"x"} == {tls.decrypt(bytes(size)) for _ in range(10_000)}
    else:
        with pytest.raises(ConnectionAbortedError):
            for _ in range(10):
                tls.decrypt(bytes(size))


@every_version
def test_so_many_records_are_decrypted_at_a_time(tmp_path, version):
    """Each takes as long as another of 16 KiB, and longer with new keys before it."""
    server = Server(tmp_path)
    server.meet(client_context(server.ca, server.folder, version))
    many = b"".join(server.sent(bytes([number])) for number in range(100))

    found = [server.tls.decrypt(many)]
    assert server.tls.behind
    while server.tls.behind:
        found.append(server.tls.decrypt(b""))

    assert [RECORDS, RECORDS, RECORDS, 100 % RECORDS] == [len(each) for each in found]
    assert bytes(range(100)) == b"".join(found)


@every_version
@pytest.mark.parametrize("content", [b"", b"x"], ids=["at once", "after a byte"])
def test_a_client_that_ends_tls_is_answered_only_what_it_has_asked(tmp_path, version, content):
    server = Server(tmp_path)
    server.meet(client_context(server.ca, server.folder, version))
    sent = server.sent(content) if content else b""
    with suppress(ssl.SSLError):
        server.client.unwrap()
    sent += server.outbox.read()
    if not content:
        with pytest.raises(ConnectionAbortedError, match="TLS without content"):
            server.tls.decrypt(sent)
        return
    assert (content, True) == (server.tls.decrypt(sent), server.tls.ended)


def test_names_are_common_names_and_dns_names_of_whatever_there_is():
    subject = ((("countryName", "DE"), ("commonName", "a")), (("commonName", "b"),))
    others = (("DNS", "c"), ("IP Address", "10.0.0.1"), ("email", "d@e"), ("DNS", "f"))

    assert {"a", "b", "c", "f"} == _names({"subject": subject, "subjectAltName": others})
    assert set() == _names({})
