"""Keys are written for nobody else, and a file is whole or as it was."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from certs.files import CertificateError, in_memory, read, write
from certs.pem import Pair
from tests.support.certificates import the_leaf


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


class TestFiles:
    def test_come_back_as_they_went(self, tmp_path):
        the_leaf().write(tmp_path / "tls.crt", tmp_path / "tls.key")

        pair = Pair.parse(read(tmp_path / "tls.crt"), read(tmp_path / "tls.key"))
        assert (the_leaf().chain_pem(), the_leaf().key_pem()) == (pair.chain_pem(), pair.key_pem())

    def test_of_keys_are_their_owners_alone(self, tmp_path, umask):
        the_leaf().write(tmp_path / "tls.crt", tmp_path / "tls.key")

        assert (0o600, 0o644 & ~umask) == (mode(tmp_path / "tls.key"), mode(tmp_path / "tls.crt"))

    def test_of_keys_never_were_anybody_elses(self, tmp_path, umask, monkeypatch):
        """A file that others may read is replaced, not filled; what fills up is named otherwise, and closed to them."""
        target, seen = tmp_path / "tls.key", []
        target.write_bytes(b"old")
        target.chmod(0o666)
        sync = os.fsync

        def spy(descriptor):
            seen.extend((path.name, oct(mode(path)), path.read_bytes()) for path in tmp_path.iterdir())
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", spy)
        write(target, b"new", 0o600)

        (filling,) = [one for one in seen if one[0] != "tls.key"]
        assert ("0o600", b"new") == filling[1:]
        assert ("tls.key", "0o666", b"old") in seen
        assert (0o600, b"new", ["tls.key"]) == (mode(target), target.read_bytes(), os.listdir(tmp_path))

    @pytest.mark.parametrize("step", ["open", "fsync", "replace"])
    def test_stay_as_they_were_when_writing_fails(self, tmp_path, monkeypatch, step):
        def full(*args, **kwargs):
            raise OSError(errno.ENOSPC, "No space left on device")

        (tmp_path / "tls.key").write_bytes(b"old")
        with (
            monkeypatch.context() as patched,
            pytest.raises(CertificateError, match=r"tls\.key: No space left on device$"),
        ):
            patched.setattr(os, step, full)
            write(tmp_path / "tls.key", b"new", 0o600)

        assert (["tls.key"], b"old") == (os.listdir(tmp_path), (tmp_path / "tls.key").read_bytes())

    def test_leave_nothing_behind_when_interrupted(self, tmp_path, monkeypatch):
        def interrupt(descriptor):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, "fsync", interrupt)
            write(tmp_path / "tls.key", b"new", 0o600)

        assert [] == os.listdir(tmp_path)

    def test_that_cannot_be_written_or_read_are_named(self, tmp_path):
        (tmp_path / "taken").mkdir()

        with pytest.raises(CertificateError, match=r"taken: Is a directory$"):
            write(tmp_path / "taken", b"new", 0o600)
        with pytest.raises(CertificateError, match=r"nowhere/tls\.key: No such file or directory$"):
            write(tmp_path / "nowhere" / "tls.key", b"new", 0o600)
        with pytest.raises(CertificateError, match=r"taken: Is a directory$"):
            read(tmp_path / "taken")
        with pytest.raises(CertificateError, match=r"tls\.key: No such file or directory$"):
            read(tmp_path / "tls.key")
        assert ["taken"] == os.listdir(tmp_path)


def test_a_file_in_memory_is_nobody_elses_and_gone_afterwards(umask):
    before = os.listdir("/proc/self/fd")
    with in_memory(b"key") as path:
        found = Path(path).stat()
        assert (b"key", 0o600, 0) == (Path(path).read_bytes(), stat.S_IMODE(found.st_mode), found.st_nlink)
        assert not os.get_inheritable(int(Path(path).name))

    assert before == os.listdir("/proc/self/fd")
