"""The steps of the Dockerfile, taken here: the environment they make serves from a tree that nobody can write to."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.dockerfile import FILE, of, stages
from tests.support.serving import PATIENCE, Running, certificate, free_ports, ready, until

STAGES = stages()
BUILD, FINAL = STAGES["build"], STAGES["image"]


@pytest.fixture(scope="module")
def open_folder():
    """A folder into which others than its owner may look, which those of pytest are not."""
    with TemporaryDirectory(prefix="evenkeel-image-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture(scope="module", params=["build", "build-tools"], ids=["webhook", "tools"])
def tree(open_folder, request):
    """What is in an image beside the base: /src is gone, and nobody may write to /opt/evenkeel."""
    source, installed = open_folder / request.param / "src", open_folder / request.param / "opt" / "evenkeel"
    source.mkdir(parents=True)
    environment = os.environ | dict(pair.split("=", 1) for pair in of(BUILD, "ENV")[0].split())
    environment["TARGETARCH"] = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    # The first copy and the first run are of the base.
    steps = [BUILD[0], *[one for one in BUILD if one.name in ("COPY", "RUN")][2:]]
    steps += STAGES["build-tools"] if request.param == "build-tools" else []
    for step in steps:
        if step.name == "COPY":
            *names, target = step.rest.split()
            for name in names:
                whole = shutil.copytree if (FILE.parent / name).is_dir() else shutil.copy
                whole(FILE.parent / name, source / (name if target == "./" else target))
        elif step.name == "RUN":
            here = step.rest.replace("/opt/", f"{installed.parent}/").replace("python -", f"{sys.executable} -")
            done = subprocess.run(["sh", "-ec", here], cwd=source, env=environment, capture_output=True, text=True)
            assert 0 == done.returncode, done.stdout + done.stderr
    shutil.rmtree(source)
    subprocess.run(["chmod", "-R", "a-w", installed], check=True)
    yield installed
    subprocess.run(["chmod", "-R", "u+w", installed], check=True)


def test_what_is_installed_is_what_runs(tree):
    (packages,) = (tree / "lib").glob("python3.*/site-packages")
    names = {path.name.partition("-")[0].lower() for path in packages.glob("*.dist-info")}

    assert {"evenkeel", "flask", "gunicorn", "kubernetes", "cryptography"} <= names
    assert not names & {"pip", "setuptools", "wheel", "pytest", "hypothesis", "mypy", "ruff"}
    packages_of_ours = [name for name in ("webhook", "certs", "evenkeel") if (packages / name).exists()]
    assert ("evenkeel" in packages_of_ours) == ("tools" in str(tree))
    for package in packages_of_ours:
        sources, compiled = (len(list((packages / package).rglob(f"*.{ending}"))) for ending in ("py", "pyc"))
        assert sources == compiled > 1


def test_the_image_of_the_webhook_says_where_the_tools_are(tree):
    done = subprocess.run([tree / "bin" / "evenkeel", "rules"], cwd="/", capture_output=True, text=True)
    if "tools" in str(tree):
        assert (0, "") == (done.returncode, done.stderr)
    else:
        assert (2, 1) == (done.returncode, done.stderr.count("\n"))


@pytest.mark.parametrize("words", ["manifests -q --rbac-viewer", "certs issue --name a --dir tls", "--help"])
def test_both_images_have_what_runs_in_the_cluster(tree, tmp_path, words):
    done = subprocess.run([tree / "bin" / "evenkeel", *words.split()], cwd=tmp_path, capture_output=True, text=True)

    assert (0, "") == (done.returncode, done.stderr)


def test_it_serves_as_nobody_in_particular(tree, open_folder):
    """As another user than root, with one folder to write to, and in no environment but the image's."""
    run = tree.parent.parent / "run"
    run.mkdir()
    run.chmod(0o777)
    ca, (port, health) = certificate(open_folder), free_ports(2)
    (open_folder / "tls.key").chmod(0o644)
    environment = dict(pair.split("=", 1) for pair in of(FINAL, "ENV")[0].split()) | {"TMPDIR": str(run)}
    environment["PATH"] = environment["PATH"].replace("/opt/evenkeel", str(tree)).replace("$PATH", os.environ["PATH"])
    (user,), (entry,) = of(FINAL, "USER"), json.loads(of(FINAL, "ENTRYPOINT")[0])
    uid, gid = user.split(":")
    become = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs"] * (os.geteuid() == 0)
    tls = ["--tls-cert", open_folder / "tls.crt", "--tls-key", open_folder / "tls.key"]
    bind = ["--bind", f"127.0.0.1:{port}", "--health-bind", f"127.0.0.1:{health}"]
    command = [*become, shutil.which(entry, path=environment["PATH"]), "serve", *bind, *tls]
    with (open_folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd="/", env=environment, stdout=log, stderr=log)
    running = Running((), {}, "127.0.0.1", port, ca, open_folder / "log", process, health=health)
    try:
        until(lambda: ready(running), "a server that is ready")
        status = Path(f"/proc/{running.worker()}/status").read_text()
        assert (uid in status.split("Uid:")[1].split()[:4]) == bool(become)
        assert not become or 0 == int(status.split("CapEff:")[1].split()[0], 16)
    finally:
        process.terminate()
        assert 0 == process.wait(PATIENCE)
    assert [] == [*run.iterdir()], "what it wrote there is gone"
