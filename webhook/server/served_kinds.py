"""
Asks a live cluster what it serves: the policy's kinds, which are judged only if they are served, and Karpenter's
NodePools.
"""

from __future__ import annotations

import logging

from webhook.cluster.client import Client, ClusterError
from webhook.cluster.discovery import read_served
from webhook.kubernetes.kinds import NO_KINDS, Kinds
from webhook.policy.unserved import groups_of, unserved
from webhook.server.health import Check
from webhook.server.logs import log
from webhook.server.reviewer import Reviewer
from webhook.spread.cluster_view import NODE_POOL


class ServedKinds:
    """Compares the policy in force with what the API server serves, as it last answered."""

    def __init__(self, client: Client, reviewer: Reviewer) -> None:
        self.client, self.reviewer = client, reviewer
        self.problem = ""
        # The kinds that were last asked for, and a line for each that is not served.
        self._compared: tuple[Kinds, tuple[str, ...]] = NO_KINDS, ()
        self._logged: tuple[str, ...] = ()
        self._karpenter_notes: tuple[str, ...] | None = None
        reviewer.metrics.unserved.samples = self._samples

    @property
    def unserved(self) -> tuple[str, ...] | None:
        """A line for each kind that is not served; None while that is not known of the policy in force."""
        kinds, lines = self._compared
        return lines if kinds == self.reviewer.policy.kinds else None

    def look(self) -> None:
        """Ask once; log the kinds that are not served when they change, and the first of several failures."""
        kinds = self.reviewer.policy.kinds
        try:
            served = read_served(self.client, groups_of(kinds) | {NODE_POOL[0]})
        except ClusterError as error:
            if not self.problem:
                log(logging.WARNING, "cannot find out which kinds the cluster serves", problem=str(error))
            self.problem = str(error)
            return
        self.problem, lines = "", tuple(unserved(kinds, served))
        self._compared = kinds, lines
        if lines and lines != self._logged:
            log(logging.WARNING, "the cluster does not serve kinds of the policy", kinds=list(lines))
        self._logged = lines
        self._note_karpenter(served.has(*NODE_POOL))

    def _note_karpenter(self, serves_node_pools: bool) -> None:
        """Tell the cluster whether there is Karpenter; log what it does with the policy's constraints."""
        self.reviewer.cluster.note_node_pools(serves_node_pools)
        notes = tuple(self.reviewer.policy.karpenter_notes()) if serves_node_pools else None
        if notes is not None and notes != self._karpenter_notes:
            log(logging.WARNING if notes else logging.INFO, "Karpenter makes nodes here", notes=list(notes) or None)
        self._karpenter_notes = notes

    def _samples(self) -> dict[tuple[str, ...], float]:
        lines = self.unserved
        return {} if lines is None else {(): len(lines)}

    def check(self) -> Check:
        """Always ready: other kinds are judged all the same."""
        lines = self.unserved
        if lines is None:
            return Check("kinds", True, f"not known: {self.problem}" if self.problem else "not known yet")
        return Check("kinds", True, "; ".join(lines) or "all that the policy names")
