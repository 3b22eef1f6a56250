"""
Builds the image and runs containers of it, by buildah, podman and runc, as root.

The base is `BASE`, or one that debootstrap makes of Debian's packages, once on a machine: that needs no registry.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support import ROOT
from tests.support.kubernetes_source import MissingError, cache

PROGRAMS = ("buildah", "podman", "runc", "debootstrap")
SUITE = "bookworm"
IMAGE, LOCAL_BASE = "localhost/evenkeel:check", "localhost/evenkeel-base:check"
# What pip needs of the machine to reach its index from within a build.
OF_THE_MACHINE = ("/etc/pip.conf", "/etc/ssl/certs")
# Less than a user may have: without CAP_SYS_RESOURCE no limit can be raised to what podman wants.
LIMITS = ("--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")


class Engine:
    """Images and containers in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
            raise MissingError(f"the image cannot be built: apt install {' '.join(missing)}")
        self._storage = [f"--root={folder}/root", f"--runroot={folder}/run", "--storage-driver=vfs"]

    def buildah(self, *words: object) -> str:
        return run("buildah", *self._storage, *words)

    def podman(self, *words: object) -> str:
        return run("podman", *self._storage, "--cgroup-manager=cgroupfs", f"--runtime={shutil.which('runc')}", *words)

    def build(self) -> None:
        """The image of the Dockerfile, on BASE or on a base that is made here."""
        volumes = [f"--volume={path}:{path}:ro" for path in OF_THE_MACHINE if Path(path).exists()]
        base = os.environ.get("BASE") or self._local_base()
        arguments = [f"--build-arg=BASE={base}", "--build-arg=REVISION=check", f"--tag={IMAGE}"]
        self.buildah("bud", "--isolation=chroot", "--network=host", *volumes, *arguments, ROOT)

    def _local_base(self) -> str:
        container = self.buildah("from", "scratch").strip()
        self.buildah("add", "--quiet", container, base_folder(), "/")
        self.buildah("commit", "--quiet", container, LOCAL_BASE)
        return LOCAL_BASE

    @contextmanager
    def container(self, *words: object) -> Iterator[str]:
        """A container of the image that runs in the background, by its id."""
        found = self.podman("run", "--detach", "--network=host", *LIMITS, *words).strip()
        try:
            yield found
        finally:
            self.podman("rm", "--force", "--time=0", found)


def run(*command: object) -> str:
    """What a command prints; MissingError with all that it says if it fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        raise MissingError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def base_folder() -> Path:
    """The root of a base as Docker's image of Python: Debian, `python`, pip in /usr/local; whole or not at all."""
    target = cache() / f"image-base-{SUITE}"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
            made = Path(temporary, "base")
            run("debootstrap", "--variant=minbase", "--include=ca-certificates,python3,python3-venv", SUITE, made)
            (library,) = made.glob("usr/lib/python3.*[0-9]")
            (library / "EXTERNALLY-MANAGED").unlink()
            (made / "usr/bin/python").symlink_to("python3")
            packages = made / "usr/local/lib" / library.name / "dist-packages"
            run(sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, "pip")
            made.rename(target)
    return target
