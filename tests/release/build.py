"""
`python -m tests.release.build FOLDER [--key KEY] [--url URL]` builds a release: wheel, sdist, chart, the one file for
each platform, and what the wheel runs with.

Beside them are the checksums of all. With the GnuPG key KEY they are signed, and so is the chart, for `helm verify`. A
release is made of the files that git tracks, as they are, with the time of the commit, so the same files make the same
wheel. It needs git, Helm, and what setup.cfg has for `release`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.helm import RefusedError, helm
from tests.generate.chart import FOLDER as CHART
from tests.release.lock import BUILD, RUN
from tests.release.one_file import add_one_file
from tests.support import ROOT
from tests.support.kubernetes_source import MissingError
from webhook import __version__

WHEEL, SDIST = f"evenkeel-{__version__}-py3-none-any.whl", f"evenkeel-{__version__}.tar.gz"
PACKAGED, SBOM = f"evenkeel-{__version__}.tgz", f"evenkeel-{__version__}.cdx.json"
SUMS, PROVENANCE = "SHA256SUMS", f"{PACKAGED}.prov"
PLACE = f"https://example.com/evenkeel/v{__version__}"  # where nobody has said which it is
LOCKED = ("--require-hashes", "--only-binary", ":all:", "--requirement")


def build(folder: Path, environment: Path, key: str = "", url: str = PLACE) -> None:
    """
    Fill a folder, and install the wheel and what is locked into a new environment, of which the bill of materials is.

    `url` is where the files will be published, which krew.yaml says.
    CalledProcessError, RefusedError or MissingError if a tool fails or is not there.
    """
    with TemporaryDirectory(prefix="evenkeel-release-") as temporary:
        source = Path(temporary, "source")
        copy_tracked(source)
        build_python(source, folder)
        chart = source / CHART.relative_to(ROOT)
        helm("package", chart, "--destination", folder)
        if key:
            provenance = Path(temporary, PROVENANCE)
            sums = f"files:\n  {PACKAGED}: sha256:{digest(folder / PACKAGED)}\n"
            provenance.write_text(f"{(chart / 'Chart.yaml').read_text('utf-8')}\n...\n{sums}", "utf-8")
            # By gpg, for `helm package --sign` reads the secret key of a file, to which it would have to be exported.
            run(*_signed_by(key), "--clear-sign", "--output", folder / PROVENANCE, provenance)
    install(environment, *LOCKED, RUN)
    install(environment, "--no-deps", folder / WHEEL)
    (folder / SBOM).write_text(bill_of(environment), "utf-8")
    add_one_file(folder, folder / WHEEL, url, commit_time())
    files = sorted(folder.iterdir())
    (folder / SUMS).write_text("".join(f"{digest(file)}  {file.name}\n" for file in files), "utf-8")
    if key:
        run(*_signed_by(key), "--armor", "--detach-sign", folder / SUMS)


def _signed_by(key: str) -> tuple[str, ...]:
    return ("gpg", "--batch", "--local-user", key)


def install(environment: Path, *what: object) -> None:
    """Into a virtual environment without pip, which is made if it is not there."""
    if not environment.exists():
        run(sys.executable, "-m", "venv", "--without-pip", environment)
    quietly = ["--quiet", "--disable-pip-version-check"]
    run(sys.executable, "-m", "pip", "--python", environment, "install", *quietly, *what)


def copy_tracked(target: Path) -> None:
    """The files that git tracks, as they are now."""
    for name in run("git", "-C", ROOT, "ls-files", "-z").rstrip("\0").split("\0"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)


def build_python(source: Path, folder: Path) -> None:
    """The sdist of a source tree, and the wheel of that sdist, by the setuptools that is locked."""
    with TemporaryDirectory(prefix="evenkeel-tools-") as temporary:
        tools = Path(temporary, "tools")
        install(tools, *LOCKED, BUILD)
        run(
            *(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source),
            PYTHONPATH=next(tools.glob("lib/python3.*/site-packages")),
            SOURCE_DATE_EPOCH=commit_time(),
        )


def commit_time() -> int:
    """The time that files in the release have, in seconds since the epoch."""
    return int(run("git", "-C", ROOT, "log", "-1", "--format=%ct"))


def bill_of(environment: Path) -> str:
    """The CycloneDX bill of materials of an environment in which evenkeel is installed; evenkeel is its subject."""
    bill = json.loads(run(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", environment))
    (subject,) = (one for one in bill["components"] if one["name"] == "evenkeel")
    bill["components"].remove(subject)
    del subject["externalReferences"]  # Where the wheel lay on this machine.
    bill["metadata"]["component"] = subject | {"type": "application"}
    return json.dumps(bill, indent=2) + "\n"


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def run(*command: object, **variables: object) -> str:
    """What a command prints; CalledProcessError if it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {name: str(value) for name, value in variables.items()}
    return subprocess.run([*map(str, command)], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.release.build")
    options.add_argument("folder", type=Path, help="where to put the files; it must not be there, or be empty")
    options.add_argument("--key", default="", help="the GnuPG key that signs the checksums and the chart")
    options.add_argument("--url", default=PLACE, help="where the files will be published, which krew.yaml says")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if any(given.folder.iterdir()):
        print(f"{given.folder}: is not empty; remove it, or name another folder", file=sys.stderr)
        return 2
    try:
        with TemporaryDirectory(prefix="evenkeel-release-") as temporary:
            build(given.folder, Path(temporary, "environment"), given.key, given.url)
    except (MissingError, RefusedError) as error:
        print(error, file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"{error.cmd[0]} failed, see above: {' '.join(error.cmd)}", file=sys.stderr)
        return 1
    print((given.folder / SUMS).read_text("utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
