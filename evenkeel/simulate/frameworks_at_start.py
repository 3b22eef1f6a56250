"""The frameworks with the Pods that there are before any step: made once, and copied by each run."""

from __future__ import annotations

from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.plugins.nodes_by_usage import ChangingUsage
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.storage import NO_STORAGE
from evenkeel.scheduler.volumes import NO_MOUNTS
from evenkeel.simulate.pod import PodClass
from webhook.kubernetes.features import Features


class FrameworksAtStart:
    """The frameworks, one for each class of Pods, on the nodes of one step, with the Pods from before any step."""

    def __init__(self) -> None:
        self._frameworks: dict[PodClass, Framework] = {}
        self._snapshot: Snapshot | None = None

    def __reduce__(self) -> tuple[type[FrameworksAtStart], tuple[()]]:
        return FrameworksAtStart, ()  # Each process makes its own.

    def usage(self, snapshot: Snapshot) -> ChangingUsage:
        """Return what is used of the nodes in the snapshot with which each run begins."""
        if self._snapshot is None:
            self._snapshot, self._usage = snapshot, ChangingUsage(snapshot.nodes, snapshot.usage)
        return self._usage

    def of(self, of_class: PodClass, features: Features) -> Framework:
        """
        Return the framework of a class, to be copied and not to be changed.

        It has filtered and scored all nodes already, so that no run has to do that again.
        """
        framework = self._frameworks.get(of_class)
        if framework is None:
            assert self._snapshot is not None
            framework = Framework(of_class.cycle(self._snapshot, features), self._usage)
            framework.spread.hard  # noqa: B018 -- It counts from now on, also where the profile does not run it.
            unbound = framework.for_volumes(NO_MOUNTS, self._snapshot.storage or NO_STORAGE)
            unbound.best(unbound.feasible())
            self._frameworks[of_class] = framework
        return framework
