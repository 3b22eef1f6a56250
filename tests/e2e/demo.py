"""`make demo`: a control plane with evenkeel and nodes in three zones on this machine, to try kubectl on."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.component import ComponentError
from tests.e2e.plane import ControlPlane
from tests.e2e.sessions import NAMESPACE, SESSIONS, cluster
from tests.support.kubernetes_source import MissingError
from tests.support.serving import Running

STARTING = "starting a control plane and evenkeel, in less than a minute"


def main() -> int:
    """Run until Ctrl-C, which leaves no process and no folder behind; errors are one line."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        with TemporaryDirectory(prefix="evenkeel-demo-") as folder:
            run(Path(folder))
    except KeyboardInterrupt:  # the way to stop it
        return 0
    except (MissingError, ComponentError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run(folder: Path) -> None:
    print(STARTING, flush=True)
    with cluster(folder) as (plane, running):
        try:
            print(script(plane, running), flush=True)
            while True:
                plane.check()
                time.sleep(1)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is impatient must not keep us from tidying up
            print("\nstopping", flush=True)


def script(plane: ControlPlane, running: Running) -> str:
    """What to type, in another terminal."""
    path = [Path(sys.executable).parent, *([] if shutil.which("kubectl") else [plane.programs])]
    exports = [f"export KUBECONFIG={plane.kubeconfig}", f"export PATH={os.pathsep.join(map(str, path))}:$PATH"]
    steps = [step for session in SESSIONS.values() for step in (f"# {session.title}:", *session.commands, "")]
    lines = [*steps, "# All that was tried:", f"kubectl delete deployment,statefulset,service --all -n {NAMESPACE}"]
    return "\n".join(
        (
            "\nevenkeel with its built-in policy, and six nodes in three zones. In another terminal:\n",
            *(f"  {line}" for line in exports),
            "\nThen follow docs/tutorial.md, or try, from this folder:\n",
            *(f"  {line}".rstrip() for line in lines),
            f"\nevenkeel logs to {running.log_file}. Ctrl-C stops all and removes it.",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
