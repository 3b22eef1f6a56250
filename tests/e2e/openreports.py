"""The CustomResourceDefinitions of OpenReports, those of its Go module."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.plane import ControlPlane
from tests.support.serving import until

MODULE = "github.com/openreports/reports-api@v0.2.1"
PATH = "/apis/openreports.io/v1alpha1/namespaces/{}/reports"


def define(plane: ControlPlane, folder: Path) -> None:
    """Define them, and wait until they are served; without Go, or the module, the tests are skipped."""
    if shutil.which("go") is None:
        pytest.skip("needs Go, to download OpenReports: https://go.dev/dl/")
    subprocess.run(["go", "mod", "init", "evenkeel.dev/openreports"], cwd=folder, capture_output=True, check=True)
    done = subprocess.run(["go", "mod", "download", "-json", MODULE], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"{MODULE} cannot be downloaded: {done.stdout.decode()}")
    files = Path(json.loads(done.stdout)["Dir"]) / "config" / "crd"
    output = plane.kubectl("apply", "--server-side", "-f", str(files))
    assert 0 == output.code, output
    until(lambda: plane.kubectl("get", "reports.openreports.io").code == 0, "reports to be served")
