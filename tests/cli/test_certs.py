"""`evenkeel certs`: what it writes, what it prints, and when it refuses."""

from __future__ import annotations

import argparse
import logging
import os
import stat
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs.files import read
from certs.pem import Pair
from webhook.cli import certs
from webhook.cli import main as cli
from webhook.cli.usage import UsageError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
ALL = ["ca.crt", "ca.key", "tls.crt", "tls.key"]


def run(*words, now=NOW):
    parser = argparse.ArgumentParser()
    certs.add_arguments(parser)
    return certs.run(parser.parse_args([str(word) for word in words]), now)


def refusal(*words, now=NOW):
    with pytest.raises(UsageError) as caught:
        run(*words, now=now)
    return str(caught.value)


def pair(folder, stem):
    return Pair.parse(read(folder / f"{stem}.crt"), read(folder / f"{stem}.key"))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def issued(tmp_path, capsys):
    """A folder with a CA and a certificate for web.shop.svc, issued at NOW."""
    folder = tmp_path / "issued"
    run("issue", "--name", "web.shop.svc", "--dir", folder)
    capsys.readouterr()
    return folder


class TestIssue:
    def test_writes_a_ca_and_what_it_signed(self, tmp_path, capsys):
        folder = tmp_path / "deep" / "down"

        assert 0 == run("issue", "--name", "web.shop.svc", "web", "--name", "10.0.0.1", "--dir", folder)

        assert ALL == sorted(os.listdir(folder))
        pair(folder, "tls").certificate.verify_directly_issued_by(pair(folder, "ca").certificate)
        assert [
            f"wrote {folder}/ca.crt: a new CA, until 2036-02-27T12:00:00Z",
            f"wrote {folder}/ca.key: its key",
            f"wrote {folder}/tls.crt: for web.shop.svc, web, 10.0.0.1, until 2026-05-30T12:00:00Z",
            f"wrote {folder}/tls.key: its key",
        ] == capsys.readouterr().out.splitlines()

    @pytest.mark.parametrize("umask", [0o000, 0o077], ids=oct)
    def test_lets_nobody_else_read_the_keys(self, tmp_path, umask):
        before = os.umask(umask)
        try:
            run("issue", "--name", "web", "--dir", tmp_path)
        finally:
            os.umask(before)

        modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in tmp_path.iterdir()}
        public = oct(0o644 & ~umask)
        assert {"ca.crt": public, "ca.key": "0o600", "tls.crt": public, "tls.key": "0o600"} == modes

    def test_refuses_to_replace_what_is_there_and_says_what(self, issued):
        before = contents(issued)
        (issued / "ca.crt").unlink()

        assert [
            f"{issued}/ca.key: exists; to sign with it: --ca-dir {issued}; to replace it: --force",
            f"{issued}/tls.crt: exists; to replace it: --force",
            f"{issued}/tls.key: exists; to replace it: --force",
        ] == refusal("issue", "--name", "web", "--dir", issued).splitlines()
        assert {**contents(issued), "ca.crt": before["ca.crt"]} == before

    def test_refuses_to_replace_a_link_that_leads_nowhere(self, tmp_path):
        (tmp_path / "tls.key").symlink_to(tmp_path / "nowhere")

        assert "tls.key: exists" in refusal("issue", "--name", "web", "--dir", tmp_path)

    def test_replaces_everything_when_forced(self, issued):
        before = contents(issued)

        assert 0 == run("issue", "--name", "web", "--dir", issued, "--force")

        assert ALL == sorted(name for name, content in contents(issued).items() if content != before[name])
        assert pair(issued, "ca") and pair(issued, "tls")

    def test_signs_with_a_ca_that_is_there_and_leaves_it_alone(self, issued, tmp_path, capsys):
        before = contents(issued)

        assert 0 == run("issue", "--name", "other", "--dir", tmp_path / "other", "--ca-dir", issued)

        assert before == contents(issued)
        assert ["tls.crt", "tls.key"] == sorted(os.listdir(tmp_path / "other"))
        pair(tmp_path / "other", "tls").certificate.verify_directly_issued_by(pair(issued, "ca").certificate)
        assert "for other, until 2026-05-30T12:00:00Z\n" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("options", "usage"),
        [((), ExtendedKeyUsageOID.SERVER_AUTH), (("--client",), ExtendedKeyUsageOID.CLIENT_AUTH)],
    )
    def test_issues_for_a_server_or_for_a_client(self, tmp_path, options, usage):
        run("issue", "--name", "kube-apiserver", "--dir", tmp_path, *options)

        found = pair(tmp_path, "tls").certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert [usage] == list(found)

    def test_renews_a_certificate_beside_its_ca(self, issued, capsys):
        before, later = contents(issued), NOW + 3600 * DAY

        assert 0 == run("issue", "--name", "web", "--dir", issued, "--ca-dir", issued, "--force", now=later)

        changed = sorted(name for name, content in contents(issued).items() if content != before[name])
        assert ["tls.crt", "tls.key"] == changed
        assert "until 2036-02-27T12:00:00Z, which is the end of its CA\n" in capsys.readouterr().out

    def test_counts_days_from_now(self, tmp_path):
        run("issue", "--name", "web", "--dir", tmp_path, "--days", 7)

        assert NOW + 7 * DAY == pair(tmp_path, "tls").certificate.not_valid_after_utc

    @pytest.mark.parametrize("days", ["0", "-1", "3651", "0000000019999", "9" * 5000, "ninety", "1.5", ""])
    def test_refuses_days_that_no_certificate_lasts(self, tmp_path, days, capsys):
        with pytest.raises(SystemExit, match="2"):
            run("issue", "--name", "web", "--dir", tmp_path, f"--days={days}")

        assert "argument --days: must be 1 to 3650" in capsys.readouterr().err

    @pytest.mark.parametrize("missing", [["--dir", "x"], ["--name", "web"]])
    def test_needs_a_name_and_a_place(self, missing, capsys):
        with pytest.raises(SystemExit, match="2"):
            run("issue", *missing)

    def test_refuses_names_and_writes_nothing(self, tmp_path):
        told = refusal("issue", "--name", "web", "a b", "10.0.0.256", "--dir", tmp_path / "new")

        assert ['"a b"', '"10.0.0.256"'] == [line.partition(":")[0] for line in told.splitlines()]
        assert not (tmp_path / "new").exists()

    def test_refuses_a_folder_that_cannot_be_made(self, tmp_path):
        (tmp_path / "file").write_text("")

        assert f"{tmp_path}/file: is a file, wanted a folder" == refusal(
            "issue", "--name", "web", "--dir", tmp_path / "file"
        )
        assert "file/sub: Not a directory" in refusal("issue", "--name", "web", "--dir", tmp_path / "file" / "sub")


class TestIssueWithACa:
    def refusal(self, folder, now=NOW):
        return refusal("issue", "--name", "web", "--dir", folder / "new", "--ca-dir", folder, now=now)

    def test_that_is_missing(self, tmp_path):
        assert f"{tmp_path}/ca.crt: No such file or directory" == self.refusal(tmp_path)

    def test_whose_key_is_anothers(self, issued):
        (issued / "ca.key").write_bytes((issued / "tls.key").read_bytes())

        assert f"{issued}/ca.key: is not the key of {issued}/ca.crt" == self.refusal(issued)

    def test_that_is_none(self, issued):
        for suffix in ("crt", "key"):
            (issued / f"ca.{suffix}").write_bytes((issued / f"tls.{suffix}").read_bytes())

        assert f"{issued}/ca.crt: is not the certificate of a CA" == self.refusal(issued)

    def test_that_is_expired(self, issued):
        told = self.refusal(issued, now=NOW + 3651 * DAY)

        assert f"{issued}/ca.crt: expired at 2036-02-27T12:00:00Z; the time is now 2036-02-28T12:00:00Z" == told
        assert not (issued / "new").exists()


class TestCommand:
    @pytest.fixture(autouse=True)
    def registered(self, monkeypatch):
        monkeypatch.setitem(cli.COMMANDS, "certs", "issue certificates")

    def test_issues_by_the_clock(self, tmp_path):
        assert 0 == cli.main(["certs", "issue", "--name", "localhost", "--dir", str(tmp_path)])

        begun = (
            datetime.now(UTC) - x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes()).not_valid_before_utc
        )
        assert timedelta(hours=1) <= begun < timedelta(hours=2)

    def test_shows_no_key(self, tmp_path, capsys, caplog):
        """Whatever it does: issue, refuse, and mistake a key for a certificate."""
        caplog.set_level(logging.DEBUG)
        for _ in range(2):
            cli.main(["certs", "issue", "--name", "web", "--dir", str(tmp_path)])
        (tmp_path / "ca.crt").write_bytes((tmp_path / "ca.key").read_bytes())
        cli.main(["certs", "issue", "--name", "web", "--dir", str(tmp_path / "new"), "--ca-dir", str(tmp_path)])

        captured = capsys.readouterr()
        shown = captured.out + captured.err + caplog.text
        secret = [line for name in ("ca.key", "tls.key") for line in (tmp_path / name).read_text().splitlines()[1:-1]]
        assert "tls.key" in shown and len(secret) == 6
        assert [] == [line for line in secret if line in shown or line[8:24] in shown]
