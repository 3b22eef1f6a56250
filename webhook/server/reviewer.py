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
PAUSE = 1  # Seconds before a large review, for each second of CPU time that the previous large one took.


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status and a body."""

    code: int
    body: bytes


class _DailyPolicy(NamedTuple):
    """A policy, and what of it is in force on a day."""

    policy: Policy
    day: str  # "" if nothing in the policy ends.
    in_force: Policy


class Reviewer:
    """
    Answers reviews.

    Only `policy` and `features` change while the server runs.  A review reads each of them, and the day in UTC, once.
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
        self._daily = _policy_on(policy, today())
        self.policy = policy  # Whole, with the overrides that have ended.
        self.cluster = cluster
        self.features = features
        self.metrics = metrics
        self._next_large = 0.0

    def answer(self, phase: str, body: bytes) -> Answer:
        """
        Answer the bytes of one review.

        No other thread runs while a review is parsed, so large ones, which come one after another, pause in between.
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
        daily, policy = self._daily, self.policy
        if daily.policy is not policy or (daily.day and daily.day != self.today()):
            self._daily = daily = _policy_on(policy, self.today())
        return daily.in_force

    def refuse(self, code: int, message: str, uid: str = "") -> Answer:
        """Count and log a request that is not a review, and return the answer to it."""
        self.metrics.refused.labels(str(code)).inc()
        log(logging.WARNING, "request refused", code=code, reason=one_line(message, LINE_LIMIT), uid=uid or None)
        return Answer(code, wire.refusal(uid, code, message))

    def _answer(self, request: AdmissionRequest, policy: Policy) -> tuple[Decision, Answer]:
        """The decision and its encoding; those of an unexpected error if either fails."""
        try:
            if request.defect is not None:
                raise request.defect
            decision = review(request, Terms(policy, self._view(request), self.features))
            return decision, Answer(200, wire.answer(request.uid, decision))
        except Exception as error:
            self._report(request, error)
            decision = unexpected(policy, about(request))
            return decision, Answer(200, wire.answer(request.uid, decision))

    def _view(self, request: AdmissionRequest) -> ClusterView | None:
        """
        The one view for this review, if it needs one; what the view lacks is requested from the API server.

        The owner is requested only for a Pod that a controller sends: anyone else could make up names, and each would
        cost a request.
        """
        if not request.workloads:
            return None
        needs_owner = request.lacks_constraints and request.user in CONTROLLERS
        return self.cluster.view_for(request.namespace, request.owner if needs_owner else None)

    def _report(self, request: AdmissionRequest, error: Exception) -> None:
        self.metrics.panics.inc()
        log(logging.ERROR, "unexpected error", uid=request.uid, phase=request.phase, error=repr(error), fix=REPORT_IT)
        logger.debug("where it was raised", exc_info=error)


def _policy_on(policy: Policy, day: str) -> _DailyPolicy:
    ends = any(override.until for override in policy.overrides)
    return _DailyPolicy(policy, day if ends else "", policy.on(day))
