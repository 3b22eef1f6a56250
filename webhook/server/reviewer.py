"""Answers reviews under the policy in force: judges, counts, and logs what was denied or given."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import get_ident
from typing import NamedTuple

from webhook.admission.decision import Decision, unexpected
from webhook.admission.ownership import CONTROLLERS
from webhook.admission.request import AdmissionRequest
from webhook.admission.review import about, review
from webhook.admission.terms import Terms
from webhook.cluster.cluster import Cluster
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.kubernetes.features import Features
from webhook.policy.policy import Policy
from webhook.server import wire
from webhook.server.decision_log import log_decision
from webhook.server.logs import log, logger
from webhook.server.metrics import Metrics
from webhook.server.transport.limits import Limits
from webhook.spread.cluster_view import ClusterView

REPORT_IT = "report it: this is a defect of evenkeel"
PAUSE = 1  # Seconds for each second of CPU that the large review before took.


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status and a body."""

    code: int
    body: bytes


class _OfDay(NamedTuple):
    """A policy, and what of it is in force on a day; `day` is "" for a policy of which nothing ends."""

    policy: Policy
    day: str
    in_force: Policy


class Reviewer:
    """
    Only `policy` and `features` change while the server runs.  A review reads each, and the day in UTC, once.

    `policy` is whole; what has ended of it by `today` is not in force.
    """

    def __init__(
        self,
        policy: Policy,
        cluster: Cluster,
        features: Features,
        metrics: Metrics,
        today: Callable[[], str] = lambda: datetime.now(UTC).date().isoformat(),
    ) -> None:
        self.today = today
        self._of_day = _of_day(policy, today())
        self.policy = policy
        self.cluster = cluster
        self.features = features
        self.metrics = metrics
        self._next_large = 0.0

    def answer(self, phase: str, body: bytes) -> Answer:
        """
        Return the answer to the bytes of one review.

        All but small ones, which the worker answers one after another, pause, for no other thread runs while one is
        parsed.
        """
        if len(body) <= Limits.small_bytes:
            return self._read_and_answer(phase, body)
        time.sleep(max(0.0, self._next_large - time.monotonic()))
        began = time.thread_time()
        try:
            return self._read_and_answer(phase, body)
        finally:
            self._next_large = time.monotonic() + PAUSE * (time.thread_time() - began)

    def _read_and_answer(self, phase: str, body: bytes) -> Answer:
        start, thread, policy = time.perf_counter(), get_ident(), self._policy_of_today()
        self.metrics.answering.add(thread)
        try:
            request = wire.read(body, phase, policy.kinds)
            if isinstance(request, wire.Unanswerable):
                return self.refuse(400, request.message, request.uid)
            decision, answer = self._answer(request, policy)
        finally:
            self.metrics.answering.discard(thread)
        try:
            self.metrics.count(request, decision, time.perf_counter() - start)
            log_decision(request, decision)
        except Exception as error:
            self._report(request, error)
        return answer

    def _policy_of_today(self) -> Policy:
        known, policy = self._of_day, self.policy
        if known.policy is not policy or (known.day and known.day != self.today()):
            self._of_day = known = _of_day(policy, self.today())
        return known.in_force

    def refuse(self, code: int, message: str, uid: str = "") -> Answer:
        """Return the answer to a request that is not a review."""
        self.metrics.refused.labels(str(code)).inc()
        log(logging.WARNING, "request refused", code=code, reason=one_line(message, LINE_LIMIT), uid=uid or None)
        return Answer(code, wire.refusal(uid, code, message))

    def _answer(self, request: AdmissionRequest, policy: Policy) -> tuple[Decision, Answer]:
        """Return the decision and its encoding; those of an unexpected error if either fails."""
        try:
            if request.defect is not None:
                raise request.defect
            decision = review(request, Terms(policy, self._snapshot(request), self.features))
            return decision, Answer(200, wire.answer(request.uid, decision))
        except Exception as error:
            self._report(request, error)
            decision = unexpected(policy, about(request))
            return decision, Answer(200, wire.answer(request.uid, decision))

    def _snapshot(self, request: AdmissionRequest) -> ClusterView | None:
        """
        Return one view for this review, if it needs one; what the view lacks is requested from the API server.

        An owner is requested for a controller only: of anyone else each made-up name would cost a request.
        """
        if not request.workloads:
            return None
        new = request.lacks_constraints and request.user in CONTROLLERS
        return self.cluster.view_for(request.namespace, request.owner if new else None)

    def _report(self, request: AdmissionRequest, error: Exception) -> None:
        self.metrics.panics.inc()
        log(logging.ERROR, "unexpected error", uid=request.uid, phase=request.phase, error=repr(error), fix=REPORT_IT)
        logger.debug("where it was raised", exc_info=error)


def _of_day(policy: Policy, day: str) -> _OfDay:
    ends = any(override.until for override in policy.overrides)
    return _OfDay(policy, day if ends else "", policy.on(day))
