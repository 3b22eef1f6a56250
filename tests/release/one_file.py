"""
The one file, `evenkeel.pyz`: evenkeel and what it needs, for a python3 that is there; and what krew installs it by.

It has the wheel, and what is locked for each of PYTHONS side by side, as compiled modules have the version in their
names. What no command imports is left out: tests hold each way to a cluster by the file itself, so that a new version
of the `kubernetes` package that needs more is noticed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from tests.release.lock import RUN, pins
from tests.support import ROOT
from webhook import __version__

FILE, KREW, PACKAGES = "evenkeel.pyz", "krew.yaml", "packages"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# As krew names them, and as uv does. `cryptography` has no wheel for darwin-amd64 since its version 49.
PLATFORMS = {
    "linux-amd64": "x86_64-manylinux_2_28",
    "linux-arm64": "aarch64-manylinux_2_28",
    "darwin-arm64": "aarch64-apple-darwin",
}
ARCHIVES = {platform: f"evenkeel-{__version__}-{platform}.tar.gz" for platform in PLATFORMS}

# Of the `kubernetes` package: what reads kubeconfigs, and what that imports.
KUBERNETES = {
    *(f"kubernetes/client/{name}.py" for name in ("configuration", "exceptions", "rest")),
    *(f"kubernetes/config/{name}.py" for name in ("__init__", "config_exception", "dateutil", "exec_provider")),
    *(f"kubernetes/config/{name}.py" for name in ("incluster_config", "kube_config")),
    *(f"kubernetes/utils/{name}.py" for name in ("_retry_base", "keepalive", "retry")),
}
CLIENT = Path(__file__).with_name("kubernetes_client.py")
# What only the rest of it imports.
UNUSED = {
    *("aiohappyeyeballs", "aiohttp", "aiohttp-retry", "aiosignal", "frozenlist", "multidict", "propcache", "yarl"),
    *("annotated-types", "pydantic", "pydantic-core", "typing-inspection"),
    *("durationpy", "python-dateutil", "tzdata", "websocket-client"),
}
# Scripts, and what tells of an installation.
NOT_PACKED = re.compile(
    r"bin/|\.lock$|.*\.dist-info/(direct_url\.json|INSTALLER|RECORD|REQUESTED|uv_cache\.json|WHEEL)$"
)
COMPILED = re.compile(r"\.cpython-\d+-[\w-]+\.so$")


def add_one_file(folder: Path, wheel: Path, url: str, epoch: int) -> None:
    """Add an archive for each platform, and krew.yaml, which has `url` as the place of the archives."""
    for platform, archive in ARCHIVES.items():
        with TemporaryDirectory(prefix="evenkeel-one-file-") as temporary:
            content = zipped(collected(platform, wheel, Path(temporary)), platform, epoch)
        (folder / archive).write_bytes(packed({FILE: content, "LICENSE": (ROOT / "LICENSE").read_bytes()}, epoch))
    sums = {platform: hashlib.sha256((folder / name).read_bytes()).hexdigest() for platform, name in ARCHIVES.items()}
    (folder / KREW).write_text(yaml.safe_dump(manifest(sums, url), sort_keys=False, width=120), "utf-8")


def collected(platform: str, wheel: Path, folder: Path) -> dict[str, bytes]:
    """What is unpacked on a platform by the name of its file; `folder` is for what is installed meanwhile."""
    wanted = folder / "requirements"
    wanted.write_text("".join(pin.line() for pin in pins(RUN.read_text("utf-8")) if pin.name not in UNUSED), "utf-8")
    files = {"kubernetes/client/__init__.py": CLIENT.read_bytes()}
    for python in PYTHONS:
        target, given = folder / python, ("--python-platform", PLATFORMS[platform], "--python-version", python)
        uv("--target", target, *given, "--require-hashes", "--only-binary", ":all:", "--requirement", wanted)
        uv("--target", target, *given, wheel)
        for file in sorted(path for path in target.rglob("*") if path.is_file()):
            name, content = file.relative_to(target).as_posix(), file.read_bytes()
            if NOT_PACKED.match(name) or (name.startswith("kubernetes/") and name not in KUBERNETES):
                continue
            if files.setdefault(name, content) != content:
                raise ValueError(f"{name}: is another one for Python {python} on {platform}, so it needs two places")
    return files


def uv(*options: object) -> None:
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", *map(str, options)]
    subprocess.run(command, check=True)


def zipped(files: Mapping[str, bytes], platform: str, epoch: int) -> bytes:
    """The archive that Python runs: the same one of the same files."""
    suffixes = sorted({compiled[0] for name in files if (compiled := COMPILED.search(name))})
    digest = hashlib.sha256(b"".join(name.encode() + b"\0" + files[name] for name in sorted(files))).hexdigest()
    wanted = f"CPython {PYTHONS[0]} to {PYTHONS[-1]} on {platform}"
    name = f"{__version__}-{digest[:16]}"
    built = {"NAME": name, "PACKAGES": PACKAGES, "SUFFIXES": (*suffixes,), "WANTED": wanted}
    content = {
        "__main__.py": Path(__file__).with_name("start.py").read_bytes(),
        "built.py": "".join(f"{name} = {value!r}\n" for name, value in built.items()).encode(),
        **{f"{PACKAGES}/{name}": files[name] for name in sorted(files)},
    }
    stream = io.BytesIO(b"#!/usr/bin/env python3\n")
    stream.seek(0, io.SEEK_END)
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def packed(files: Mapping[str, bytes], epoch: int) -> bytes:
    """A .tar.gz: the same one of the same files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), epoch, 0o755 if name == FILE else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(stream.getvalue(), mtime=epoch)


def manifest(sums: Mapping[str, str], url: str) -> dict[str, object]:
    """What krew reads: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/."""
    places = {platform: dict(zip(("os", "arch"), platform.split("-"), strict=True)) for platform in sums}
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "evenkeel"},
        "spec": {
            "version": f"v{__version__}",
            "shortDescription": "Explain and lint topology spread constraints",
            "description": (
                "Says why a Pod is Pending and what would let it in, what a drain or a lost zone would come to, and\n"
                "which topologySpreadConstraints of manifests and workloads do not do what their owners meant.\n"
            ),
            "caveats": f"It runs by python3, which must be CPython {PYTHONS[0]} to {PYTHONS[-1]}.\n",
            "platforms": [
                {
                    "selector": {"matchLabels": places[platform]},
                    "uri": f"{url.rstrip('/')}/{ARCHIVES[platform]}",
                    "sha256": digest,
                    "bin": FILE,
                }
                for platform, digest in sums.items()
            ],
        },
    }
