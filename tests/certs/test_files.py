"""Keys are written for nobody else, and a file is whole or as it was."""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from certs.files import CertificateError, in_memory, read, write
from certs.pem import Pair
from tests.support.certificates import NOW, the_ca, the_leaf


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


CHAIN, KEY = "tls.crt", "tls.key"


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


def keys(folder):
    """All files with a key, by whatever way."""
    return [
        path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and b"KEY" in path.read_bytes()
    ]


def test_files_that_are_replaced_together_are_each_as_they_were_meant(tmp_path, umask):
    for pair in (the_leaf(), another_leaf()):
        pair.replace(tmp_path / CHAIN, tmp_path / KEY)

        assert (pair.chain, pair.key_pem()) == (found(tmp_path).chain, found(tmp_path).key_pem())
        assert (0o600, 0o644 & ~umask) == (mode(tmp_path / KEY), mode(tmp_path / CHAIN))
        assert 1 == len(keys(tmp_path))


@pytest.mark.parametrize("before", ["nothing", "links", "files"])
def test_wherever_a_process_is_killed_a_key_is_never_beside_the_certificate_of_another(tmp_path, before):
    """And what is left behind goes with the next pair."""
    old, new, last = the_leaf(), another_leaf(), another_leaf()
    steps, whole = 0, set()
    killed = True
    while killed:
        folder = tmp_path / str(steps)
        folder.mkdir()
        files = folder / CHAIN, folder / KEY
        if before != "nothing":
            (old.replace if before == "links" else old.write)(*files)

        killed = killed_at(steps, lambda files=files: new.replace(*files))

        pair = found(folder)
        assert pair is not None or before != "links"
        whole.add(pair.chain if pair else None)
        last.replace(*files)
        assert found(folder).chain == last.chain
        assert 1 == len(keys(folder))
        assert 4 == len([*folder.iterdir()])
        steps += 1

    assert steps > 10
    assert whole == {new.chain, *([old.chain] if before != "nothing" else []), *([None] if before != "links" else [])}


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


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_pair_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch, step):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    the_leaf().replace(tmp_path / CHAIN, tmp_path / KEY)
    with monkeypatch.context() as patched, pytest.raises(CertificateError, match=r"tls\.key: No space left on device$"):
        patched.setattr(os, step, full)
        another_leaf().replace(tmp_path / CHAIN, tmp_path / KEY)

    assert the_leaf().chain == found(tmp_path).chain
    assert 1 == len(keys(tmp_path))


def another_leaf():
    return the_ca().issue(["web.shop.svc"], NOW)
