"""
What a policy would do to a workload that runs: the webhook's own answers to future requests.

    the object, created anew by a person ──────────────┐
    its next update, that of `kubectl rollout restart` ┼──dry_run──> Impact
    the next Pod, as its controller makes it ──────────┘
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from evenkeel.admit.dry_run import Applied, dry_run
from evenkeel.report.inventory import POD, LiveWorkload
from evenkeel.report.next_pods import MadePod
from webhook.admission.decision import Outcome
from webhook.admission.defaulting import Defaults
from webhook.admission.ownership import account_of
from webhook.admission.terms import Terms
from webhook.findings.finding import Finding
from webhook.findings.wording import LINE_LIMIT, in_short, one_line
from webhook.kubernetes.fields import Raw, as_mapping, with_value
from webhook.kubernetes.kinds import BATCH
from webhook.kubernetes.references import owner_of
from webhook.kubernetes.workload import parse_workloads

# The worst first; what is denied for real comes before all of these.
GRAVITY = (
    Outcome.DENIED,
    Outcome.ERROR,
    Outcome.NOT_JUDGED,
    Outcome.WOULD_BE_DENIED,
    Outcome.WARNED,
    Outcome.DEFAULTED,
    Outcome.WOULD_BE_DEFAULTED,
    Outcome.ALLOWED,
)
DENIED, WARNED = "denied", "warned"
JOB = (BATCH, "Job")  # Its template cannot be changed.
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """What the webhook answers to one request."""

    outcome: Outcome
    allowed: bool
    message: str  # the gravest error of a denial, or the first warning, or ""
    findings: tuple[Finding, ...]
    not_sent: bool  # the API server asks no webhook about objects of this namespace

    @property
    def gravity(self) -> int:
        """0 for what is denied, more for what is less grave."""
        return 1 + GRAVITY.index(self.outcome) if self.allowed else 0


@dataclass(frozen=True, slots=True)
class Impact:
    """The answers to future requests about a workload; None where there is no such request."""

    create: WebhookAnswer | None  # by a person
    update: WebhookAnswer | None  # by a person; None for a Pod, whose updates are not judged
    pods: WebhookAnswer | None  # the worst answer to the Pods that its controller makes
    defaults: tuple[tuple[Mapping[str, object], ...], ...] = ()  # constraints that Pods are given, by template
    audited_defaults: tuple[Defaults, ...] = ()  # that Pods are not given, as the policy only audits its defaults

    @property
    def worst(self) -> WebhookAnswer:
        return min(
            filter(None, (self.create, self.update, self.pods)), key=lambda answer: answer.gravity, default=NEVER_ASKED
        )

    @property
    def denies_create(self) -> bool:
        """Whether the object is denied if it is created anew."""
        return self.create is not None and not self.create.allowed

    @property
    def denies_update(self) -> bool:
        """Whether the next update is denied, or a Pod that comes of it."""
        return any(answer is not None and not answer.allowed for answer in (self.update, self.pods))

    @property
    def gives_defaults(self) -> bool:
        """Whether Pods of any template are given constraints."""
        return any(self.defaults)


NEVER_ASKED = WebhookAnswer(Outcome.ALLOWED, allowed=True, message="", findings=(), not_sent=False)


def impact(workload: LiveWorkload, next_pods: Iterable[MadePod], terms: Terms, never_sent: Collection[str]) -> Impact:
    """
    Return the webhook's answers about a workload, as its objects are in the cluster now.

    `never_sent`: namespaces from which no request reaches the webhook.
    """

    def asked(obj: Raw, old: Raw | None = None, user: str = "") -> Applied:
        return dry_run(obj, old, terms, namespace=workload.ref.namespace, never_sent=never_sent, user=user)

    by_controller = [asked(pod.sent, user=_maker(pod.sent)) for pod in next_pods]
    pods = min(map(_answer, by_controller), key=lambda answer: answer.gravity, default=None)
    defaults = tuple([_defaults(applied) for applied in by_controller])
    audited = tuple(chain.from_iterable(map(_audited_defaults, by_controller)))
    if workload.is_pod:
        return Impact(pods, None, None, defaults, audited)
    if workload.raw is None:
        return Impact(None, None, pods, defaults, audited)
    create = _answer(asked(workload.raw))
    update = _answer(asked(restarted(workload.raw, terms), workload.raw))
    return Impact(create, update, pods, defaults, audited)


def _maker(pod: Raw) -> str:
    """Return the account of the controller that makes a Pod; "" if it is no built-in one."""
    owner = owner_of(pod)
    return (account_of(POD, owner) if owner is not None else None) or ""


def restarted(raw: Raw, terms: Terms) -> Raw:
    """Return the object as `kubectl rollout restart` changes it: an annotation in each template that can change."""
    changed = raw
    for workload in parse_workloads(raw, terms.policy.kinds):
        if workload.in_template and (workload.kind.api_version, workload.kind.kind) != JOB:
            annotation_path = (*workload.path[:-2], "metadata", "annotations", RESTARTED_AT)
            changed = as_mapping(with_value(changed, annotation_path, "now"))
    return changed


def _answer(applied: Applied) -> WebhookAnswer:
    status, findings = as_mapping(applied.answer.status), applied.answer.findings
    message = str(status.get("message", "")) or next(iter(applied.warnings), "")
    if message and findings:
        message = in_short(min(findings, key=lambda finding: finding.severity.rank))
    return WebhookAnswer(
        applied.outcome,
        allowed=applied.denied_by is None,
        message=one_line(message, LINE_LIMIT),
        findings=applied.answer.findings,
        not_sent=applied.unsent,
    )


def _defaults(applied: Applied) -> tuple[Mapping[str, object], ...]:
    defaulted = applied.mutate.defaulted
    return defaulted.constraints if isinstance(defaulted, Defaults) and applied.mutate.patch else ()


def _audited_defaults(applied: Applied) -> tuple[Defaults, ...]:
    defaulted = applied.mutate.defaulted
    return (defaulted,) if isinstance(defaulted, Defaults) and not applied.mutate.patch else ()
