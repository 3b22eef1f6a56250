"""
Builds the images and runs containers of them, by buildah, podman and runc, as root.

The base is `BASE`, or one that debootstrap makes of Debian's packages, once on a machine: that needs no registry. But
debootstrap runs programs of the machine that a base is for, so of another machine it makes one only by an emulator.
"""

from __future__ import annotations

import os
import platform
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
IMAGES = {name: f"localhost/evenkeel-{name}:check" for name in ("webhook", "tools")}
IMAGE, LOCAL_BASE = IMAGES["webhook"], "localhost/evenkeel-base:check"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}  # As an image calls it, and as Linux does.
EMULATORS = Path("/proc/sys/fs/binfmt_misc")
NO_EMULATOR = "no emulator runs its programs here: apt install qemu-user-static"
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
        """The images of the Dockerfile, as `make images` builds them, on BASE or on bases that are made here."""
        volumes = [f"--volume={path}:{path}:ro" for path in OF_THE_MACHINE if Path(path).exists()]
        base = os.environ.get("BASE")
        for_machines = ",".join(f"linux/{name}" for name in MACHINES if base or runs(name))
        here = self.buildah("info", "--format", "{{.host.os}}/{{.host.arch}}")
        given = {"BASE": base or self._local_base(), "REVISION": "check", "BUILDPLATFORM": here}
        arguments = [f"--build-arg={name}={value}" for name, value in given.items()]
        for target, image in IMAGES.items():
            options = [f"--platform={for_machines}", f"--manifest={image}", f"--target={target}"]
            self.buildah("build", "--isolation=chroot", "--network=host", *volumes, *arguments, *options, ROOT)

    def _local_base(self) -> str:
        """An index of a base for each machine whose programs run here."""
        self.buildah("manifest", "create", LOCAL_BASE)
        for name in filter(runs, MACHINES):
            container = self.buildah("from", f"--arch={name}", "scratch").strip()
            self.buildah("add", "--quiet", container, base_folder(name), "/")
            self.buildah("commit", "--quiet", "--rm", f"--manifest={LOCAL_BASE}", container)
        return LOCAL_BASE

    @contextmanager
    def mounted(self, name: str) -> Iterator[Path]:
        """The files of the image for a machine, whether its programs run here or not."""
        container = self.buildah("from", f"--platform=linux/{name}", IMAGE).strip()
        try:
            yield Path(self.buildah("mount", container).strip())
        finally:
            self.buildah("rm", container)

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


def runs(name: str) -> bool:
    """Whether programs for a machine run on this one, by an emulator perhaps."""
    return MACHINES[name] == platform.machine() or (EMULATORS / f"qemu-{MACHINES[name]}").exists()


def base_folder(name: str) -> Path:
    """The root of a base as Docker's image of Python: Debian, `python`, pip in /usr/local; whole or not at all."""
    target = cache() / f"image-base-{SUITE}-{name}"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
            made = Path(temporary, "base")
            packages = "--include=ca-certificates,python3,python3-venv"
            run("debootstrap", f"--arch={name}", "--variant=minbase", packages, SUITE, made)
            (library,) = made.glob("usr/lib/python3.*[0-9]")
            (library / "EXTERNALLY-MANAGED").unlink()
            (made / "usr/bin/python").symlink_to("python3")
            pip = made / "usr/local/lib" / library.name / "dist-packages"
            run(sys.executable, "-m", "pip", "install", "--quiet", "--target", pip, "pip")
            made.rename(target)
    return target
