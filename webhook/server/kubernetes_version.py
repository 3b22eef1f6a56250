"""Asks a live cluster for its version: an upgrade changes what its API server and scheduler do."""

from __future__ import annotations

import logging

from webhook.cluster.client import Client, ClusterError
from webhook.kubernetes.features import parse_version, unknown
from webhook.server.health import Check
from webhook.server.logs import log
from webhook.server.reviewer import Reviewer


class KubernetesVersion:
    """Has reviews judged by the version that the API server last gave, or by the newest known version until it does."""

    def __init__(self, client: Client, reviewer: Reviewer) -> None:
        self.client, self.reviewer = client, reviewer
        self.version = ""  # As the API server last gave it.
        self.problem = ""  # Why it did not give it the last time.

    def look(self) -> None:
        """Ask once; log a version that was not known, and the first of several failures."""
        try:
            text = self.client.version()
            features = parse_version(text)
        except (ClusterError, ValueError) as error:
            self._fail(str(error))
            return
        self.problem = ""
        if text == self.version:
            return
        self.version, self.reviewer.features = text, features
        log(logging.WARNING if unknown(features) else logging.INFO, "Kubernetes version", **self._fields())

    def _fail(self, problem: str) -> None:
        if not self.problem:
            minor = self.reviewer.features.minor
            log(logging.WARNING, "cannot find out the Kubernetes version", problem=problem, judging_by=f"1.{minor}")
        self.problem = problem

    def _fields(self) -> dict[str, str]:
        note = unknown(self.reviewer.features)
        return {"version": self.version, **({"note": note} if note else {})}

    def check(self) -> Check:
        """Ready once the API server has answered or has failed to: by then it is settled by which version to judge."""
        if self.version:
            return Check("kubernetes", True, "; ".join(self._fields().values()))
        reason = f": {self.problem}" if self.problem else ""
        rules = f"evenkeel uses the rules of 1.{self.reviewer.features.minor}"
        return Check("kubernetes", bool(self.problem), f"not known{reason}; {rules}")
