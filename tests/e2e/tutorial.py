"""Follows docs/tutorial.md to its end; `python -m tests.e2e.tutorial` writes what it prints on a control plane."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.demo import STARTING, script
from tests.e2e.placement import pods, refusal
from tests.e2e.plane import ControlPlane
from tests.e2e.sessions import NAMESPACE, cluster
from tests.generate.tutorial import EXTRA, PAGE, Shell, follow, shell
from tests.support.serving import Running, until

BEGIN = "make demo"
PATH, SHOWN_PATH = r"(?<=export PATH=)\S+", "/home/you/evenkeel/.venv/bin:$PATH"
FOLDER = r"(?<=export KUBECONFIG=/)\S+(?=/)"  # It differs from run to run.


class Tutorial:
    """A reader of the page, at the control plane of `make demo`."""

    def __init__(self, plane: ControlPlane, running: Running, terminal: Shell):
        self.plane, self.running, self.terminal = plane, running, terminal

    def follow(self, page: str) -> str:
        """Do what the page says; return it with what is printed now, or as it is if only the folder differs."""
        text, extra, more = page.partition(EXTRA)
        follow(text, self.terminal, self.terminal.run)
        now = "".join((text, extra, follow(more, self.terminal, self.give)))
        return page if masked(now) == masked(page) else now

    def give(self, command: str) -> str:
        """Return what a command prints, and wait until nothing moves in the cluster."""
        if command == BEGIN:
            said = script(self.plane, self.running)
            self.terminal.run("\n".join(re.findall(r"^ *(export .*)$", said, re.MULTILINE)))
            return f"{STARTING}\n{re.sub(PATH, SHOWN_PATH, said)}\n"
        printed = self.terminal.run(command)
        until(lambda: still(self.plane), "a cluster in which nothing moves")
        return printed


def masked(text: str) -> str:
    """Return a text without what differs from run to run."""
    return re.sub(FOLDER, "FOLDER", text)


def still(plane: ControlPlane) -> bool:
    """Return whether all controllers, the scheduler and the kubelets have done their work."""
    deployments = plane.api.call("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments")["items"]
    nodes = plane.api.call("GET", "/api/v1/nodes")["items"]
    there = pods(plane, NAMESPACE)
    return (
        all(
            deployment["status"].get("observedGeneration") == deployment["metadata"]["generation"]
            for deployment in deployments
        )
        and all(
            deployment["status"].get("updatedReplicas") == deployment["spec"]["replicas"] for deployment in deployments
        )
        and len(there) == sum(deployment["spec"]["replicas"] for deployment in deployments)
        and all(pod["status"]["phase"] == "Running" or refusal(pod) for pod in there)
        and all(bool(node["spec"].get("taints")) == bool(node["spec"].get("unschedulable")) for node in nodes)
    )


@contextmanager
def tutorial(folder: Path) -> Iterator[Tutorial]:
    """Yield a reader with a home of their own."""
    (home := folder / "home").mkdir()
    with cluster(folder) as (plane, running), shell(home, plane.programs) as terminal:
        yield Tutorial(plane, running, terminal)


def main() -> None:
    """Write what the commands print into the page."""
    with TemporaryDirectory(prefix="evenkeel-demo-") as folder, tutorial(Path(folder)) as reader:
        PAGE.write_text(reader.follow(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
