"""What to try with kubectl, in the demo and in docs/transcripts, which `python -m tests.e2e.sessions` writes."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.e2e.configuration import SWITCHED_OFF
from tests.e2e.kubelet import create_zones
from tests.e2e.plane import ControlPlane
from tests.e2e.webhook import installed
from tests.generate.documents import TRANSCRIPTS
from tests.support import ROOT
from tests.support.serving import Running

NAMESPACE = "shop"
COLUMNS = "docs/examples/spread.columns"


class Session(NamedTuple):
    """Commands, as they are typed in the project's folder, and what they show."""

    title: str
    commands: Sequence[str]


SESSIONS = {
    "reject": Session("An empty selector is refused", ["kubectl apply -f docs/examples/reject.yaml"]),
    "default": Session(
        "The Pods of a Deployment without constraints get defaults, and land in three zones",
        [
            "kubectl apply -f docs/examples/web.yaml",
            f"kubectl wait -n {NAMESPACE} --for=condition=Available deployment/web",
            f"kubectl get pods -n {NAMESPACE} -l app=web --sort-by=.spec.nodeName -o custom-columns-file={COLUMNS}",
        ],
    ),
    "warn": Session("A selector that misses its own Pods is warned of", ["kubectl apply -f docs/examples/warn.yaml"]),
}
# A controller taints nodes that are cordoned, as in any cluster. No node is lost in a week: nobody renews its Lease.
FLAGS = {
    "kube-controller-manager": {
        "controllers": ",".join(["*", *(f"-{name}" for name in SWITCHED_OFF if name != "node-lifecycle-controller")]),
        **{"node-monitor-grace-period": "168h", "node-startup-grace-period": "168h"},
    },
}
POD_NAME = re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}(?= )")  # what the API server adds to generateName


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[ControlPlane, Running]]:
    """A control plane with evenkeel, six nodes in three zones, and an empty namespace for the sessions."""
    webhook = folder / "webhook"
    webhook.mkdir()
    with ControlPlane(folder, FLAGS) as plane:
        create_zones(plane.api, {"a": 2, "b": 2, "c": 2})
        plane.create_namespace(NAMESPACE)
        with installed(plane, webhook) as running:
            yield plane, running


def transcript(plane: ControlPlane, session: Session) -> str:
    """The commands with what they print; what is random in it is not."""
    with contextlib.chdir(ROOT):
        parts = [f"$ {command}\n{printed(plane, command)}" for command in session.commands]
    return POD_NAME.sub("xxxxx", "".join(parts))


def printed(plane: ControlPlane, command: str) -> str:
    """Warnings and errors come first, as kubectl prints them."""
    output = plane.kubectl(*shlex.split(command)[1:])
    return output.stderr + output.stdout


def main() -> None:
    """Write docs/transcripts."""
    with TemporaryDirectory() as folder, cluster(Path(folder)) as (plane, _):
        for name, session in SESSIONS.items():
            (TRANSCRIPTS / f"{name}.txt").write_text(transcript(plane, session), "utf-8")


if __name__ == "__main__":
    main()
