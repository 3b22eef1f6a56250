"""Answers reviews under the policy in force: judges, counts, and logs what was denied or given."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import get_ident

from webhook.admission.defaulting import LEFT_OUT, Defaults, Undefaulted
from webhook.admission.review import CREATE, MUTATE, UPDATE, VALIDATE, Decision, review, unexpected, unjudgeable
from webhook.cluster.cluster import Cluster
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.objects.fields import as_mapping
from webhook.objects.references import Owner, controller_of
from webhook.policy.policy import Policy
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot
from webhook.serving import wire
from webhook.serving.logs import log, logger
from webhook.serving.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status and a body."""

    code: int
    body: bytes


class Reviewer:
    """What changes while the server runs is one reference: `policy`.  A review takes it once and keeps it."""

    def __init__(self, policy: Policy, cluster: Cluster, features: Features, metrics: Metrics) -> None:
        self.policy = policy
        self.cluster = cluster
        self.features = features
        self.metrics = metrics

    def answer(self, phase: str, body: bytes) -> Answer:
        """The answer to the bytes of one review."""
        start = time.perf_counter()
        thread = get_ident()
        self.metrics.answering.add(thread)
        try:
            read = wire.read(body)
            if isinstance(read, wire.Unanswerable):
                return self.refuse(400, read.message, read.uid)
            request = read.body or {}
            decision = self._decide(phase, read)
            answer = Answer(200, wire.answer(read.uid, decision))
        finally:
            self.metrics.answering.discard(thread)
        try:
            owner = controller_of(as_mapping(as_mapping(request.get("object")).get("metadata")))
            owner_kind = owner.kind if owner is not None else "none"
            self.metrics.count(phase, request.get("operation"), owner_kind, decision, time.perf_counter() - start)
            _log(phase, read.uid, request, owner_kind, decision)
        except Exception as error:
            self._unexpected(phase, read.uid, error)
        return answer

    def refuse(self, code: int, message: str, uid: str = "") -> Answer:
        """The answer to what is no review."""
        self.metrics.refused.labels(str(code)).inc()
        log(logging.WARNING, "request refused", code=code, reason=one_line(message, LINE_LIMIT), uid=uid or None)
        return Answer(code, wire.refusal(uid, code, message))

    def _decide(self, phase: str, read: wire.Request) -> Decision:
        policy = self.policy
        if read.body is None:
            return unjudgeable(policy, read.problem, enforced=policy.enforces and phase == VALIDATE)
        try:
            return review(read.body, phase, policy, self._snapshot(phase, read.body), self.features)
        except Exception as error:
            self._unexpected(phase, read.uid, error)
            return unexpected(policy, "an unexpected error, see evenkeel's log")

    def _unexpected(self, phase: str, uid: str, error: Exception) -> None:
        self.metrics.panics.inc()
        log(logging.ERROR, "unexpected error", uid=uid, phase=phase, error=repr(error))
        logger.debug("where it was raised", exc_info=True)

    def _snapshot(self, phase: str, request: Mapping[str, object]) -> Snapshot | None:
        """One view for this review; of what it needs, what has not reached the view yet is looked up now."""
        namespace, operation = request.get("namespace"), request.get("operation")
        if not isinstance(namespace, str) or operation not in (CREATE, UPDATE):
            return self.cluster.view()
        return self.cluster.view_for(namespace, _selecting_owner(phase, request))


def _selecting_owner(phase: str, request: Mapping[str, object]) -> Owner | None:
    """The owner of a Pod that may be given defaults: part of their selector comes from it."""
    obj = as_mapping(request.get("object"))
    defaultable = phase == MUTATE and request.get("operation") == CREATE and obj.get("kind") == "Pod"
    if not defaultable or as_mapping(obj.get("spec")).get("topologySpreadConstraints"):
        return None
    return controller_of(as_mapping(obj.get("metadata")))


def _log(phase: str, uid: str, request: Mapping[str, object], owner: str, decision: Decision) -> None:
    """One line for each request that was or would be denied, given defaults or not judged; the rest is for debug."""
    message = "not judged" if decision.error else "defaulted" if decision.patch else "allowed"
    message = "would be denied" if decision.spared else message if decision.allowed else "denied"
    refused = decision.defaulted if isinstance(decision.defaulted, Undefaulted) else None
    if refused is not None and refused.reason in LEFT_OUT:
        message = "defaults left out"
    level = logging.DEBUG if message == "allowed" else logging.INFO
    if not logger.isEnabledFor(level):
        return
    metadata = as_mapping(as_mapping(request.get("object")).get("metadata"))
    log(
        level,
        message,
        uid=uid,
        phase=phase,
        namespace=request.get("namespace"),
        name=metadata.get("name") or request.get("name"),
        generateName=metadata.get("generateName"),
        owner=owner,
        kind=as_mapping(request.get("kind")).get("kind"),
        operation=request.get("operation"),
        rules=sorted({finding.rule for finding in decision.findings}) or None,
        defaulted=list(decision.defaulted.source) if isinstance(decision.defaulted, Defaults) else None,
        error=decision.error or (str(refused) if message == "defaults left out" else None),
    )
