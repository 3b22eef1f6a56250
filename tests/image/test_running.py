"""The image runs as the chart's Deployment has it run, answers over TLS, and can do nothing else."""

from __future__ import annotations

import json
import re
import shlex
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from tests.e2e.helm import render
from tests.image.engine import IMAGE, IMAGES, LIMITS, MACHINES, NO_EMULATOR, Engine, runs
from tests.support import ROOT
from tests.support.admission_reviews import raw, review
from tests.support.build import constraint, pod
from tests.support.kubernetes_source import MissingError
from tests.support.serving import Running, certificate, free_ports, until
from webhook import __version__

MIB = 1 << 20
SERVICE = "evenkeel.guard.svc"
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"  # no matter which: nothing here calls the Service


@pytest.fixture(scope="module")
def engine():
    """Once built; not in a folder of pytest's, into which user 65532 may not look."""
    with TemporaryDirectory(prefix="evenkeel-image-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        engine = Engine(Path(folder))
        engine.build()
        yield engine
        engine.buildah("rmi", "--all", "--force")


class Chart(NamedTuple):
    """What the chart says of its Pods."""

    pod: dict
    container: dict


@pytest.fixture(scope="module")
def chart():
    values = {"certificate": {"mode": "own", "existingSecret": "tls", "caBundle": CA}}
    (deployment,) = (one for one in render(values) if one["kind"] == "Deployment")
    found = deployment["spec"]["template"]["spec"]
    return Chart(found, found["containers"][0])


def options(chart):
    """What podman calls the same; an option of the chart that is not known here is an error."""
    assert {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}} == chart.pod["securityContext"]
    assert chart.container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"memory": "512Mi"} == chart.container["resources"]["limits"]
    alone = ["--read-only", "--read-only-tmpfs=false", "--cap-drop=all", "--security-opt=no-new-privileges"]
    return [*alone, "--memory=512m", "--memory-swap=512m"]


@pytest.fixture(scope="module")
def running(engine, chart):
    """A container that serves, and a client that trusts it."""
    with TemporaryDirectory(prefix="evenkeel-image-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        ca, (port, health) = certificate(folder, names=("localhost", "127.0.0.1", SERVICE)), free_ports(2)
        (folder / "tls.key").chmod(0o644)
        (folder / "policy.yaml").write_text("apiVersion: config.evenkeel.dev/v1alpha1\nkind: SpreadPolicy\n")
        mounts = {one["name"]: one["mountPath"] for one in chart.container["volumeMounts"]}
        assert {"policy", "tls"} == set(mounts)
        binds = {"--bind": f"127.0.0.1:{port}", "--health-bind": f"127.0.0.1:{health}"}
        given = dict(one.partition("=")[::2] for one in chart.container["args"][1:]) | binds
        assert "live" == given.pop("--cluster")
        words = [
            *options(chart),
            *(f"--volume={folder}:{mounts[one]}:ro" for one in ("policy", "tls")),
            "--tmpfs=/dev/shm:size=64m,mode=1777",  # which a kubelet's runtime gives to every Pod
            *(IMAGE, chart.container["args"][0], *(f"{flag}={value}" for flag, value in given.items())),
        ]
        with engine.container(*words) as container:
            server = Running((), {}, "127.0.0.1", port, ca, folder / "log", health=health)
            inspect = partial(inspected, engine, container)
            until(lambda: answers(server, inspect), "a container that is ready")
            yield SimpleNamespace(
                server=server,
                inspect=inspect,
                process=inspect()["State"]["Pid"],
                execute=lambda *command: engine.podman("exec", container, *command),
                ca=ca,
                stop=lambda: engine.podman("stop", container),
            )


def inspected(engine, container):
    return json.loads(engine.podman("inspect", container))[0]


def answers(server, inspect):
    assert inspect()["State"]["Running"], inspect()["State"]
    try:
        return server.probe("/readyz")[0] == 200
    except OSError:
        return False


def test_a_review_is_answered_over_tls(running):
    status, response = running.server.review("/validate", raw())

    assert (200, "r1", False) == (status, response["uid"], response["allowed"])
    assert "empty-selector" in response["status"]["message"]


ASK = """
import http.client, ssl, sys
context = ssl.create_default_context(cadata=sys.argv[2])
connection = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=context)
connection.request("POST", "/validate", sys.argv[3], {"Content-Type": "application/json"})
print(connection.getresponse().read().decode())
"""


def test_a_review_is_answered_from_inside(running):
    """By the python of the image, as its own user."""
    asked = json.dumps(review(pod(constraint())))
    found = json.loads(running.execute("python", "-c", ASK, running.server.port, running.ca, asked))

    assert ("r1", True) == (found["response"]["uid"], found["response"]["allowed"])


def test_it_is_nobody_who_may_do_nothing(running):
    lines = Path(f"/proc/{running.process}/status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)

    assert ["65532"] * 4 == status["Uid"].split() == status["Gid"].split()
    assert {0} == {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    assert ("1", "2") == (status["NoNewPrivs"].strip(), status["Seccomp"].strip())


@pytest.mark.parametrize("path", ["/x", "/opt/evenkeel/x", "/tmp/x", "/etc/evenkeel/x"])
def test_nothing_can_be_written(running, path):
    with pytest.raises(MissingError, match=r"Read-only file system|Permission denied"):
        running.execute("python", "-c", f"open({path!r}, 'w')")


def test_what_may_be_written_is_memory(running):
    assert "tmpfs" in running.execute("python", "-c", "print(open('/proc/mounts').read())").split("/dev/shm ")[1][:6]


@pytest.mark.parametrize("name", ["pip", "setuptools", "ensurepip"])
def test_the_image_has_nothing_to_install_with(running, name):
    """Neither in the virtual environment nor in the Python that it is made of."""
    base = running.execute("python", "-c", "import sys; print(sys._base_executable)").strip()
    for python in ("python", base):
        with pytest.raises(MissingError, match="No module named"):
            running.execute(python, "-c", f"import {name}")


def test_the_largest_reviews_fit_in_its_memory(running):
    """Four of 36 MiB, as kube-apiserver sends them at most."""
    body = raw(x="@").replace(b'"@"', b'"' + b"\\u003c" * (36 * MIB // 6) + b'"')
    for _ in range(4):
        status, response = running.server.review("/validate", body)
        assert (200, "r1") == (status, response["uid"])

    state, host = running.inspect()["State"], running.inspect()["HostConfig"]
    assert (512 * MIB, False, True) == (host["Memory"], state["OOMKilled"], state["Running"])


def test_the_image_says_what_it_is(engine, running):
    config = json.loads(engine.podman("image", "inspect", IMAGE))[0]["Config"]

    assert (__version__, "check") == (
        config["Labels"]["org.opencontainers.image.version"],
        config["Labels"]["org.opencontainers.image.revision"],
    )
    assert "65532:65532" == config["User"]


def test_it_lints_as_the_page_on_the_command_line_shows(engine):
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    (line,) = re.findall(
        rf'^\$ docker run (--rm --volume "\$PWD:.+) evenkeel:{__version__}-tools (lint .+)$', page, re.MULTILINE
    )
    given, words = (shlex.split(part.replace("$PWD", str(ROOT))) for part in line)
    with pytest.raises(MissingError, match=r"exit code 1\n(.|\n)*empty-selector"):
        engine.podman("run", *LIMITS, *given, IMAGES["tools"], *words)


def test_it_ends_when_it_is_told_to(running):
    running.stop()

    assert 0 == running.inspect()["State"]["ExitCode"]


@pytest.fixture(params=MACHINES)
def machine(engine, request):
    """Each machine that there is an image for, which is any of which there is a base."""
    listed = json.loads(engine.buildah("manifest", "inspect", IMAGE))["manifests"]
    built = {image["platform"]["architecture"] for image in listed}
    if request.param not in built:
        pytest.skip(f"{NO_EMULATOR}, or set BASE")
    return request.param


ELF_MACHINE = {"amd64": 62, "arm64": 183}


def test_all_programs_of_an_image_are_for_its_machine(engine, machine):
    """Its libraries above all, which were installed on another."""
    with engine.mounted(machine) as root:
        heads = {file: file.read_bytes()[:20] for file in root.glob("opt/evenkeel/lib/**/*.so")}
        heads[root / "usr/bin/env"] = (root / "usr/bin/env").read_bytes()[:20]

    assert len(heads) > 10
    assert set() == {file for file, head in heads.items() if head[18:] != ELF_MACHINE[machine].to_bytes(2, "little")}


def test_an_image_runs_on_its_machine(engine, machine):
    if not runs(machine):
        pytest.skip(NO_EMULATOR)
    options = ["--rm", f"--platform=linux/{machine}", "--network=none", f"--volume={ROOT}/docs/examples:/examples:ro"]
    script = "uname -m && evenkeel admit -f /examples/default.yaml --cluster /examples/cluster.yaml"
    printed = engine.podman("run", *options, *LIMITS, "--entrypoint=sh", IMAGES["tools"], "-c", script)

    assert MACHINES[machine] == printed.splitlines()[0]
    assert "defaulted: selector" in printed
