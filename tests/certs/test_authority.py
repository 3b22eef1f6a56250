"""Certificates say what they should, verifiers take the right ones and no other, and keys stay unseen."""

from __future__ import annotations

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.authority import CA_LIFETIME, CLOCK_SKEW, SERVING_LIFETIME, Authority
from certs.files import CertificateError
from certs.pem import describe, invalid_reason
from tests.support.certificates import DAY, NOW, chain, extension, foreign, key, the_ca, the_leaf

SECOND = timedelta(seconds=1)
USAGES = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")


def usages(pair):
    usage, critical = extension(pair, x509.KeyUsage)
    return {name for name in (*USAGES, "key_cert_sign", "crl_sign") if getattr(usage, name)}, critical


def common_name(pair):
    return pair.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value


class TestCa:
    def test_is_a_ca_above_leaves_only(self):
        assert (x509.BasicConstraints(ca=True, path_length=0), True) == extension(the_ca().pair, x509.BasicConstraints)
        assert ({"key_cert_sign", "crl_sign"}, True) == usages(the_ca().pair)

    def test_vouches_for_itself(self):
        the_ca().pair.certificate.verify_directly_issued_by(the_ca().pair.certificate)

        own, _ = extension(the_ca().pair, x509.SubjectKeyIdentifier)
        assert own.digest == extension(the_ca().pair, x509.AuthorityKeyIdentifier)[0].key_identifier

    def test_lives_from_an_hour_ago_to_its_lifetime(self):
        ca = describe(the_ca().pair.certificate)

        assert (NOW - CLOCK_SKEW, NOW + CA_LIFETIME) == (ca.not_before, ca.not_after)

    def test_two_of_them_differ_in_key_and_serial_number(self):
        other = Authority.create(NOW).pair.certificate

        assert the_ca().pair.certificate.serial_number != other.serial_number
        assert the_ca().pair.certificate.public_key() != other.public_key()


class TestLeaf:
    def test_is_a_leaf_for_servers(self):
        assert (x509.BasicConstraints(ca=False, path_length=None), True) == extension(the_leaf(), x509.BasicConstraints)
        assert ({"digital_signature"}, True) == usages(the_leaf())
        assert [ExtendedKeyUsageOID.SERVER_AUTH] == list(extension(the_leaf(), x509.ExtendedKeyUsage)[0])

    @pytest.mark.parametrize("client", [False, True])
    def test_of_a_client_is_none_for_servers(self, client):
        usage, critical = extension(the_ca().issue(["web"], NOW, client=client), x509.ExtendedKeyUsage)

        expected = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        assert ([expected], False) == (list(usage), critical)

    def test_is_signed_by_its_ca_and_names_its_key(self):
        the_leaf().certificate.verify_directly_issued_by(the_ca().pair.certificate)

        signer, _ = extension(the_leaf(), x509.AuthorityKeyIdentifier)
        assert extension(the_ca().pair, x509.SubjectKeyIdentifier)[0].digest == signer.key_identifier

    def test_lives_from_an_hour_ago_to_its_lifetime(self):
        leaf = describe(the_leaf().certificate)

        assert (NOW - CLOCK_SKEW, NOW + SERVING_LIFETIME) == (leaf.not_before, leaf.not_after)

    def test_lies_within_the_life_of_its_ca(self):
        ca = Authority.create(NOW, lifetime=10 * DAY)
        leaf = describe(ca.issue(["web"], NOW - CLOCK_SKEW / 2, lifetime=11 * DAY).certificate)

        assert (NOW - CLOCK_SKEW, NOW + 10 * DAY) == (leaf.not_before, leaf.not_after)

    def test_is_p256_and_sha256(self):
        for pair in (the_ca().pair, the_leaf()):
            assert "secp256r1" == pair.key.curve.name
            assert isinstance(pair.certificate.signature_hash_algorithm, hashes.SHA256)

    def test_has_a_random_serial_number(self):
        serials = {the_ca().issue(["web"], NOW).certificate.serial_number for _ in range(5)}

        assert 5 == len(serials)
        assert all(0 < serial < 1 << 159 for serial in serials)

    @pytest.mark.parametrize("now", [NOW - CLOCK_SKEW - SECOND, NOW + CA_LIFETIME + SECOND], ids=["before", "after"])
    def test_is_not_issued_outside_the_life_of_its_ca(self, now):
        with pytest.raises(CertificateError, match=r'the CA "CN=evenkeel CA" (is not valid before|expired at) '):
            the_ca().issue(["web"], now)


class TestNames:
    @pytest.mark.parametrize(
        "given, sans",
        [
            (["web.shop.svc", "localhost"], "web.shop.svc localhost"),
            (["*.shop.svc"], "*.shop.svc"),
            (["Web.Shop.SVC", "web.shop.svc"], "web.shop.svc"),
            (["10.0.0.1", "2001:DB8::0001"], "10.0.0.1 2001:db8::1"),
            (["xn--bcher-kva.example", "1.a", "a-b"], "xn--bcher-kva.example 1.a a-b"),
            (["a" * 63 + ".svc"], "a" * 63 + ".svc"),
        ],
    )
    def test_are_dns_names_and_ip_addresses(self, given, sans):
        leaf = the_ca().issue(given, NOW).certificate

        assert tuple(sans.split()) == describe(leaf).names

    def test_of_each_kind_stand_where_verifiers_look(self):
        sans, _ = extension(the_leaf(), x509.SubjectAlternativeName)

        assert ["web.shop.svc"] == sans.get_values_for_type(x509.DNSName)
        assert ["10.0.0.1", "2001:db8::1"] == list(map(str, sans.get_values_for_type(x509.IPAddress)))

    @pytest.mark.parametrize(
        "name",
        [
            *("", "*", "a..b", ".a", "a.", "a b", "a\n", "-a", "a-", "a_b", "a.*.b", "https://a", "a:443"),
            *("10.0.0.256", "10.0.0.0/8", "[::1]", "fe80::1%eth0", "bücher.example", "\N{KELVIN SIGN}ube.svc"),
            *("a" * 64, "a." * 127 + "a"),
        ],
    )
    def test_are_nothing_else(self, name):
        with pytest.raises(CertificateError, match="must be a DNS name or an IP address"):
            the_ca().issue([name], NOW)

    def test_that_are_wrong_are_all_told(self):
        with pytest.raises(CertificateError, match=r'^"a b": must .*\n"\*": must .*$'):
            the_ca().issue(["a b", "fine", "*"], NOW)

    def test_are_at_least_one(self):
        with pytest.raises(CertificateError, match="must have a name"):
            the_ca().issue([], NOW)

    def test_too_long_for_a_common_name_are_cut_there_only(self):
        name = f"{'a' * 60}.{'b' * 60}.svc"
        leaf = the_ca().issue([name], NOW)

        assert (name[:64], (name,)) == (common_name(leaf), describe(leaf.certificate).names)
        assert "c" * 64 == common_name(Authority.create(NOW, name="c" * 65).pair)


def verify(ca, leaf, name, now):
    """Judge a certificate as of any time: cryptography's own verifier, a second opinion beside OpenSSL's."""
    store = verification.Store([ca.pair.certificate])
    builder = verification.PolicyBuilder().store(store).time(now)
    builder.build_server_verifier(x509.DNSName(name)).verify(leaf.certificate, list(leaf.chain[1:]))


class TestTime:
    @pytest.mark.parametrize("now", [NOW - CLOCK_SKEW, NOW, NOW + SERVING_LIFETIME], ids=str)
    def test_within_a_life_there_is_no_reason_to_refuse(self, now):
        verify(the_ca(), the_leaf(), "web.shop.svc", now)

        assert invalid_reason(describe(the_leaf().certificate), now) is None

    @pytest.mark.parametrize(
        "now, reason",
        [
            (
                NOW - CLOCK_SKEW - SECOND,
                "is not valid before 2026-03-01T11:00:00Z; the time is now 2026-03-01T10:59:59Z",
            ),
            (NOW + SERVING_LIFETIME + SECOND, "expired at 2026-05-30T12:00:00Z; the time is now 2026-05-30T12:00:01Z"),
        ],
    )
    def test_outside_it_there_is(self, now, reason):
        with pytest.raises(verification.VerificationError):
            verify(the_ca(), the_leaf(), "web.shop.svc", now)

        assert reason == invalid_reason(describe(the_leaf().certificate), now)


class Handshake:
    """Real ones: OpenSSL on both ends of a socket, by today's clock, strict about RFC 5280."""

    def __init__(self, folder):
        self.folder, self.now = folder, datetime.now(UTC)
        self.ca = Authority.create(self.now - 30 * DAY)

    def __call__(self, name, leaf, *trusted, version=ssl.TLSVersion.TLSv1_3):
        """The version of TLS that was spoken; raises what the client has against the server."""
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        leaf.write(self.folder / "tls.crt", self.folder / "tls.key")
        server.load_cert_chain(self.folder / "tls.crt", self.folder / "tls.key")
        bundle = b"".join(ca.pair.chain_pem() for ca in trusted or (self.ca,))
        client = ssl.create_default_context(cadata=bundle.decode())
        client.verify_flags |= ssl.VERIFY_X509_STRICT
        client.minimum_version = client.maximum_version = version
        here, there = socket.socketpair()
        with here, there, ThreadPoolExecutor(1) as pool:
            here.settimeout(10)
            there.settimeout(10)
            pool.submit(self.serve, there, server)
            with client.wrap_socket(here, server_hostname=name) as spoken:
                return spoken.version()

    @staticmethod
    def serve(there, server):
        with suppress(OSError), server.wrap_socket(there, server_side=True) as spoken:
            spoken.recv(1)


@pytest.fixture
def handshake(tmp_path):
    return Handshake(tmp_path)


class TestHandshake:
    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    @pytest.mark.parametrize("name", ["web.shop.svc", "any.wild.svc", "10.0.0.1", "2001:db8::1"])
    def test_succeeds_by_every_name(self, handshake, name, version):
        leaf = handshake.ca.issue(["web.shop.svc", "*.wild.svc", "10.0.0.1", "2001:db8::1"], handshake.now)

        assert version.name == handshake(name, leaf, version=version).replace(".", "_")

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    @pytest.mark.parametrize("name", ["web.other.svc", "a.b.wild.svc", "10.0.0.2", "2001:db8::2"])
    def test_fails_by_another_name(self, handshake, name, version):
        leaf = handshake.ca.issue(["web.shop.svc", "*.wild.svc", "10.0.0.1", "2001:db8::1"], handshake.now)

        with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
            handshake(name, leaf, version=version)

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    def test_fails_with_another_ca_of_the_same_name(self, handshake, version):
        leaf = handshake.ca.issue(["web"], handshake.now)

        with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer certificate"):
            handshake("web", leaf, Authority.create(handshake.now), version=version)

    def test_succeeds_with_a_bundle_of_cas_in_any_order(self, handshake):
        """As caBundle is while a CA is renewed, each of the same name."""
        old, new = handshake.ca, Authority.create(handshake.now)

        for ca in (old, new):
            for bundle in ((old, new), (new, old)):
                assert "TLSv1.3" == handshake("web", ca.issue(["web"], handshake.now), *bundle)

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    def test_fails_with_an_expired_leaf(self, handshake, version):
        leaf = handshake.ca.issue(["web"], handshake.now - 2 * DAY, lifetime=DAY)

        with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
            handshake("web", leaf, version=version)

    def test_fails_with_an_expired_ca(self, handshake):
        ca = Authority.create(handshake.now - 2 * DAY, lifetime=DAY)

        with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
            handshake("web", ca.issue(["web"], handshake.now - 2 * DAY), ca)

    def test_fails_before_its_time_and_succeeds_within_the_skew(self, handshake):
        ahead = handshake.now + CLOCK_SKEW

        assert "TLSv1.3" == handshake("web", handshake.ca.issue(["web"], ahead - timedelta(minutes=1)))
        with pytest.raises(ssl.SSLCertVerificationError, match="certificate is not yet valid"):
            handshake("web", handshake.ca.issue(["web"], ahead + timedelta(minutes=1)))

    def test_fails_with_a_ca_below_the_ca(self, handshake):
        """The path length is 0: who steals a leaf's place cannot issue."""
        below = foreign(ec.generate_private_key(ec.SECP256R1()), handshake.now, above=handshake.ca)

        with pytest.raises(ssl.SSLCertVerificationError, match="path length constraint exceeded"):
            handshake("web", below.issue(["web"], handshake.now))


class TestForeignCa:
    @pytest.mark.parametrize("identifier", [b"not a hash", None], ids=["identifier", "no-identifier"])
    @pytest.mark.parametrize(
        "make",
        [
            lambda: rsa.generate_private_key(65537, 2048),
            lambda: ec.generate_private_key(ec.SECP384R1()),
            ed25519.Ed25519PrivateKey.generate,
        ],
        ids=["rsa", "p384", "ed25519"],
    )
    def test_issues_as_ours_does(self, make, identifier):
        now = datetime.now(UTC)
        ca = foreign(make(), now, identifier=identifier)
        ca = Authority.parse(chain(ca.pair), key(ca.pair))

        leaf = ca.issue(["web"], now)

        leaf.certificate.verify_directly_issued_by(ca.pair.certificate)
        signer, _ = extension(leaf, x509.AuthorityKeyIdentifier)
        hashed = x509.SubjectKeyIdentifier.from_public_key(ca.pair.key.public_key()).digest
        assert (identifier or hashed) == signer.key_identifier

    def test_between_a_leaf_and_the_root_is_sent_along(self, handshake):
        root = foreign(rsa.generate_private_key(65537, 2048), handshake.now)
        between = foreign(ec.generate_private_key(ec.SECP256R1()), handshake.now, above=root, path_length=0)

        leaf = between.issue(["web"], handshake.now)

        assert (between.pair.certificate,) == leaf.chain[1:]
        assert "TLSv1.3" == handshake("web", leaf, root)

    def test_must_be_a_ca(self):
        with pytest.raises(CertificateError, match=r"^tls\.crt: is not the certificate of a CA$"):
            Authority.parse(chain(the_leaf()), key(the_leaf()))
