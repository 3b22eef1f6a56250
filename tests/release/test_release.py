"""What is built can be installed by the lock alone, into an environment that is empty, and used there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.e2e.helm import RefusedError, helm
from tests.release.build import PACKAGED, PROVENANCE, SBOM, SDIST, SUMS, WHEEL, build, build_python, copy_tracked, run
from tests.release.lock import RUN, pins
from tests.release.one_file import ARCHIVES, KREW
from tests.support import ROOT
from tests.support.action import INSTALL, LINT, OF_GITHUB, run_step
from tests.support.serving import free_ports
from webhook import __version__


@pytest.fixture(scope="module")
def keyring(tmp_path_factory):
    """A GnuPG key of one's own, `release@example.test`."""
    folder = tmp_path_factory.mktemp("gpg")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNUPGHOME", str(folder))
        gpg("--passphrase", "", "--quick-gen-key", "release@example.test", "ed25519", "sign", "1d")
        yield
        subprocess.run(["gpgconf", "--kill", "all"], check=True)


def gpg(*arguments):
    return subprocess.run(["gpg", "--batch", *map(str, arguments)], capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Empty, until the release is installed into it."""
    return tmp_path_factory.mktemp("installed") / "environment"


@pytest.fixture(scope="module")
def release(tmp_path_factory, environment, keyring):
    folder = tmp_path_factory.mktemp("dist")
    build(folder, environment, key="release@example.test")
    return folder


@pytest.fixture(scope="module")
def installed(environment, release):
    """The programs of the environment that has the wheel, and what is locked."""
    return environment / "bin"


EXAMPLE = ROOT / "tests" / "example" / "__main__.py"  # as `make run` runs it


def told(*command, code=0):
    """What a command prints, in a folder that has no sources; `code` is the exit status it must have."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"})
    assert code == done.returncode, done.stdout + done.stderr
    return done.stdout


def test_there_is_all_that_is_released_and_the_checksums_hold(release):
    names = {WHEEL, SDIST, PACKAGED, PROVENANCE, SBOM, KREW, *ARCHIVES.values()}

    assert names | {SUMS, f"{SUMS}.asc"} == {file.name for file in release.iterdir()}
    check = subprocess.run(["sha256sum", "--check", SUMS], cwd=release, capture_output=True, text=True, check=True)
    assert {f"{name}: OK" for name in names} == {*check.stdout.splitlines()}


def test_the_signature_is_of_these_checksums_and_no_others(release, tmp_path):
    gpg("--verify", release / f"{SUMS}.asc", release / SUMS)

    shutil.copytree(release, tmp_path, dirs_exist_ok=True)
    sums = tmp_path / SUMS
    sums.write_text(sums.read_text().replace("0", "1"))
    with pytest.raises(subprocess.CalledProcessError):
        gpg("--verify", tmp_path / f"{SUMS}.asc", sums)


def test_helm_verifies_the_chart_with_the_public_key_and_no_other_chart(release, tmp_path):
    gpg("--export", "--output", tmp_path / "keyring.gpg")
    shutil.copytree(release, tmp_path, dirs_exist_ok=True)
    verify = ["verify", tmp_path / PACKAGED, "--keyring", tmp_path / "keyring.gpg"]

    assert "Signed by: release@example.test" in helm(*verify)

    with (tmp_path / PACKAGED).open("ab") as package:
        package.write(b"\0")
    with pytest.raises(RefusedError, match="sha256 sum does not match"):
        helm(*verify)


def test_the_same_files_make_the_same_wheel(release, tmp_path):
    copy_tracked(tmp_path / "source")
    build_python(tmp_path / "source", tmp_path / "again")

    assert (release / WHEEL).read_bytes() == (tmp_path / "again" / WHEEL).read_bytes()


def test_what_is_installed_is_what_is_locked(installed):
    listed = told(sys.executable, "-m", "pip", "--python", installed / "python", "list", "--format", "json")
    found = {canonicalize_name(one["name"]): one["version"] for one in json.loads(listed)}

    assert __version__ == found.pop("evenkeel")
    assert found.items() <= {(pin.name, pin.version) for pin in pins(RUN.read_text("utf-8"))}
    told(sys.executable, "-m", "pip", "--python", installed / "python", "check")


def test_the_bill_of_materials_names_all_that_is_installed(installed, release):
    bill = json.loads((release / SBOM).read_text())
    listed = told(sys.executable, "-m", "pip", "--python", installed / "python", "freeze")
    named = {canonicalize_name(one["name"]) for one in bill["components"]}

    assert ("CycloneDX", "evenkeel", __version__) == (
        bill["bomFormat"],
        *(bill["metadata"]["component"][key] for key in ("name", "version")),
    )
    assert named == {canonicalize_name(line.partition("==")[0]) for line in listed.splitlines() if "==" in line}
    assert all(one["purl"].startswith("pkg:pypi/") and one["licenses"] for one in bill["components"])
    assert "file://" not in json.dumps(bill), "where it lay on this machine"


def test_the_commands_run_where_only_the_wheel_is(installed):
    examples = ROOT / "docs" / "examples"

    assert "empty-selector" in told(installed / "evenkeel", "lint", examples / "reject.yaml", code=1)
    assert "defaulted: selector" in told(
        *(installed / "kubectl-evenkeel", "admit", "-f", examples / "default.yaml"),
        *("--cluster", examples / "cluster.yaml"),
    )
    assert "enforcement    Deny" in told(installed / "evenkeel", "policy", "show")
    assert "strimzi-kafka" in told(installed / "evenkeel", "kinds")  # of a file that is no module


def test_it_serves_and_answers_over_tls(installed):
    """What `make run` shows."""
    (port,) = free_ports(1)
    shown = told(sys.executable, EXAMPLE, "--program", installed / "evenkeel", "--once", "--port", port)

    assert shown.count("POST /validate") == 2
    assert "CREATE Deployment checkout: denied" in shown
    assert "add /spec/topologySpreadConstraints" in shown


SHOWN = re.compile(r"^<!-- (?P<how>.+) -->\n```console\n(?P<lines>(?:.*\n)*?)```$", re.MULTILINE)
PAGE = (ROOT / "docs" / "install.md").read_text("utf-8").partition("### Completion")[0]


def test_what_the_page_on_the_command_line_shows_can_be_run(release, tmp_path):
    """In a clone in which a release was made; each block says how it is held, or that it needs a published one."""
    how = [block["how"] for block in SHOWN.finditer(PAGE)]
    assert PAGE.count("```console") == len(how)
    assert {"run by: make release-check", "run by: make image-check", "needs a published release"} == {*how}
    clone, home = tmp_path / "clone", tmp_path / "home"
    copy_tracked(clone)
    shutil.copytree(release, clone / "build" / "release")
    programs = [home / ".local" / "bin" / name for name in ("evenkeel", "kubectl-evenkeel")]
    python = {"UV_PYTHON": sys.executable, "PIPX_DEFAULT_PYTHON": sys.executable}
    caches = {"UV_CACHE_DIR": run(sys.executable, "-m", "uv", "cache", "dir").strip()}
    path = f"{Path(sys.executable).parent}:{programs[0].parent}:/usr/bin:/bin"
    environment = {**os.environ, **python, **caches, "HOME": str(home), "PATH": path}

    for block in SHOWN.finditer(PAGE):
        if block["how"] == "run by: make release-check":
            for program in programs:
                program.unlink(missing_ok=True)
            shell(block["lines"].replace("$ ", ""), clone, environment)
            assert f"evenkeel {__version__}\n" == shell(f"{programs[0]} --version", "/", environment)
            assert shell(f"{programs[1]} --help", "/", environment).startswith("usage: kubectl evenkeel ")


PIPX = "pipx() { uv tool run --quiet --from 'pipx >=1.7,<2' pipx \"$@\"; }\n"


def shell(script, folder, environment):
    """What a shell prints that knows pipx."""
    command = ["bash", "-euc", PIPX + script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def test_the_action_installs_what_is_locked_and_lints(tmp_path):
    """Its steps, one after the other, as GitHub's runner takes them."""
    output = tmp_path / "output"
    checked_out = tmp_path / "action"
    copy_tracked(checked_out)
    python = Path(sys.executable).resolve().parent
    done = run_step(
        *(INSTALL, {"github.action_path": str(checked_out)}, {}),
        **{"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(output), "PATH": f"{python}:/usr/bin:/bin"},
    )
    assert 0 == done.returncode, done.stderr
    name, _, folder = output.read_text().strip().partition("=")

    linted = run_step(
        LINT, {f"steps.install.outputs.{name}": folder, **OF_GITHUB}, {"paths": "docs/examples/reject.yaml"}
    )
    assert (1, True) == (linted.returncode, linted.stdout.startswith("::error file=docs/examples/reject.yaml"))
