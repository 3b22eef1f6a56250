"""What is to be printed of one Pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from evenkeel.placement.contradiction import Contradiction
from evenkeel.placement.explanation import Explanation
from evenkeel.placement.kubectl_commands import Command
from evenkeel.placement.obstacles import Obstacle
from evenkeel.placement.remedies import Remedy
from evenkeel.placement.subject import PlacementSubject
from evenkeel.simulate.rollout_check import Rollout
from evenkeel.simulate.waiting import Runs


class Proposal(NamedTuple):
    """A remedy, and what comes of it."""

    remedy: Remedy
    rollout: Rollout | None = None  # that it starts; None if it starts none, or one that cannot be simulated
    commands: Sequence[Command] = ()  # that make the change; none where no command can
    runs: Runs | None = None  # waiting Pods that run then; None if not simulated

    @property
    def futile(self) -> bool:
        """Whether it is known that the rollout never ends."""
        rollout = self.rollout
        return rollout is not None and rollout.known and not (rollout.finishes or rollout.replaced)


class Explained(NamedTuple):
    """All that is to be printed of one Pod."""

    subject: PlacementSubject
    explanation: Explanation
    source: str  # where its constraints come from
    proposals: Sequence[Proposal]
    notes: Sequence[str] = ()
    simulated: bool = True  # rollouts of the proposals were simulated, as far as they can be
    named: bool = True  # a policy was named; False: defaults are those that evenkeel gave the newest Pod
    tried: bool = True  # kube-scheduler has tried to place the Pod, or will
    contradiction: Contradiction | None = None  # hard constraints that never let in all Pods of the workload
    obstacles: Sequence[Obstacle] = ()  # terms and ports for which nodes are refused
    kept_room: Mapping[str, Sequence[str]] = MappingProxyType({})  # by node, Pods but for which it would take this one
    stuck: int = 0  # waiting Pods that do not run without a change, this one among them; 0 = unknown
    assumed: Sequence[str] = ()  # of the cluster; printed last
    waiting: Sequence[str] = ()  # names of the Pods of the workload that wait
    pods: int = 0  # of the workload, or its replicas
    reach: str = ""  # which Pods a change of the template reaches; "" where only the kind is known
    options: Sequence[str] = ()  # with which another command reads the same cluster
    again: str = ""  # the command that has explained it
    placer: str = ""  # what places the Pod and ignores its constraints, so that nothing is computed
    premise: str = ""  # what is assumed of the scheduler, and may change the verdict; printed first
