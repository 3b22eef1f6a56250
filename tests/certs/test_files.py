"""Keys are written for nobody else, and a file is whole or as it was."""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from certs.files import CertificateError, in_memory, read, write_pair
from certs.pem import Pair
from tests.support.certificates import NOW, the_ca, the_leaf

CHAIN, KEY = "tls.crt", "tls.key"


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
        target, seen = tmp_path / KEY, []
        target.write_bytes(b"old")
        target.chmod(0o666)
        sync = os.fsync

        def spy(descriptor):
            seen.extend((path.name, oct(mode(path)), path.read_bytes()) for path in tmp_path.iterdir())
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", spy)
        write_pair(tmp_path / CHAIN, b"new chain", target, b"new")

        assert {"0o600"} == {found for name, found, content in seen if content == b"new" and name != KEY}
        assert (KEY, "0o666", b"old") in seen
        assert (0o600, b"new", [CHAIN, KEY]) == (mode(target), target.read_bytes(), sorted(os.listdir(tmp_path)))

    @pytest.mark.parametrize("step", ["open", "fsync"])
    def test_stay_as_they_were_when_writing_fails(self, tmp_path, monkeypatch, step):
        def full(*args, **kwargs):
            raise OSError(errno.ENOSPC, "No space left on device")

        the_leaf().write(tmp_path / CHAIN, tmp_path / KEY)
        with (
            monkeypatch.context() as patched,
            pytest.raises(CertificateError, match=r"tls\.crt: No space left on device$"),
        ):
            patched.setattr(os, step, full)
            another_leaf().write(tmp_path / CHAIN, tmp_path / KEY)

        assert [CHAIN, KEY] == sorted(os.listdir(tmp_path))
        assert the_leaf().chain == found(tmp_path).chain

    def test_of_others_stay(self, tmp_path):
        """What a killed process has left has 16 digits in its name."""
        others = [f".{CHAIN}.backup", f".{CHAIN}.0123456789abcdeg", f"{CHAIN}.0123456789abcdef"]
        for name in (*others, f".{CHAIN}.0123456789abcdef"):
            (tmp_path / name).write_bytes(b"x")
        the_leaf().write(tmp_path / CHAIN, tmp_path / KEY)

        assert sorted([*others, CHAIN, KEY]) == sorted(os.listdir(tmp_path))

    def test_leave_nothing_behind_when_interrupted(self, tmp_path, monkeypatch):
        def interrupt(descriptor):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, "fsync", interrupt)
            the_leaf().write(tmp_path / CHAIN, tmp_path / KEY)

        assert [] == os.listdir(tmp_path)

    def test_that_cannot_be_written_or_read_are_named(self, tmp_path):
        (tmp_path / "taken").mkdir()

        with pytest.raises(CertificateError, match=r"taken: Is a directory$"):
            the_leaf().write(tmp_path / CHAIN, tmp_path / "taken")
        with pytest.raises(CertificateError, match=r"nowhere/tls\.key: No such file or directory$"):
            the_leaf().write(tmp_path / CHAIN, tmp_path / "nowhere" / KEY)
        with pytest.raises(CertificateError, match=r"taken: Is a directory$"):
            read(tmp_path / "taken")
        with pytest.raises(CertificateError, match=r"tls\.key: No such file or directory$"):
            read(tmp_path / KEY)
        assert ["taken"] == os.listdir(tmp_path)


def test_a_file_in_memory_is_nobody_elses_and_gone_afterwards(umask):
    before = os.listdir("/proc/self/fd")
    with in_memory(b"key") as path:
        found = Path(path).stat()
        assert (b"key", 0o600, 0) == (Path(path).read_bytes(), stat.S_IMODE(found.st_mode), found.st_nlink)
        assert not os.get_inheritable(int(Path(path).name))

    assert before == os.listdir("/proc/self/fd")


def killed_at(step, work):
    """Whether `work`, in a process of its own, was killed just before that many of its steps with files were done."""
    child = os.fork()
    if child == 0:
        left = step

        def hook(event, _):
            nonlocal left
            if event in ("open", "os.mkdir", "os.rename", "os.symlink", "os.remove", "os.rmdir"):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(hook)
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def found(folder):
    """The pair in a folder, None if it has no certificate; CertificateError if a key is another's."""
    return Pair.parse(read(folder / CHAIN), read(folder / KEY)) if (folder / CHAIN).exists() else None


def test_two_files_that_are_written_one_after_the_other_never_are_of_two_pairs(tmp_path):
    """Wherever the process is killed; what it has left goes when the same file is written again."""
    old, new, last = the_leaf(), another_leaf(), another_leaf()
    steps, whole, killed = 0, set(), True
    while killed:
        folder = tmp_path / str(steps)
        folder.mkdir()
        files = folder / CHAIN, folder / KEY
        old.write(*files)

        killed = killed_at(steps, lambda files=files: new.write(*files))

        pair = found(folder)
        whole.add(pair.chain if pair else None)
        last.write(*files)
        assert [CHAIN, KEY] == sorted(os.listdir(folder))
        assert found(folder).chain == last.chain
        steps += 1

    assert {old.chain, None, new.chain} == whole


def another_leaf():
    return the_ca().issue(["web.shop.svc"], NOW)
