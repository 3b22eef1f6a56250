"""
What a policy would do to a workload that runs: the webhook's own answers to the requests that are to come.

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

# The worst first.  What is denied comes before all of them.
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
    """
    What the webhook answers to one request; `message` is the gravest error of a denial, or the first warning, or "".

    An object that is `not_sent` is in a namespace from which the API server asks no webhook.
    """

    outcome: Outcome
    allowed: bool
    message: str
    findings: tuple[Finding, ...]
    not_sent: bool

    @property
    def gravity(self) -> int:
        """0 for what is denied, more for what is less grave."""
        return 1 + GRAVITY.index(self.outcome) if self.allowed else 0


@dataclass(frozen=True, slots=True)
class Impact:
    """
    The answers to what is to come; None where there is no such request.

    `create` and `update` are made by a person; a Pod has no update that is judged.  `pods` is the worst answer to the
    Pods that its controller makes.  `defaults` are the constraints that these are given, by template; one is empty
    where the policy gives none.  `audited_defaults` are those that they are not given, because the policy only audits
    its defaults.
    """

    create: WebhookAnswer | None
    update: WebhookAnswer | None
    pods: WebhookAnswer | None
    defaults: tuple[tuple[Mapping[str, object], ...], ...] = ()
    audited_defaults: tuple[Defaults, ...] = ()

    @property
    def worst(self) -> WebhookAnswer:
        """The gravest of the answers."""
        return min(
            filter(None, (self.create, self.update, self.pods)), key=lambda answer: answer.gravity, default=NEVER_ASKED
        )

    @property
    def denies_create(self) -> bool:
        """Return whether the object is denied if it is created anew."""
        return self.create is not None and not self.create.allowed

    @property
    def denies_update(self) -> bool:
        """Return whether the next update is denied, or the Pods that come of it."""
        return any(answer is not None and not answer.allowed for answer in (self.update, self.pods))

    @property
    def gives_defaults(self) -> bool:
        """Whether Pods of any template are given constraints."""
        return any(self.defaults)


NEVER_ASKED = WebhookAnswer(Outcome.ALLOWED, True, "", (), False)


def impact(workload: LiveWorkload, made: Iterable[MadePod], terms: Terms, never_sent: Collection[str]) -> Impact:
    """
    Return the webhook's answers about a workload; no request from namespaces that are `never_sent` reaches it.

    Objects are as they are in the cluster now.
    """

    def asked(obj: Raw, old: Raw | None = None, user: str = "") -> Applied:
        return dry_run(obj, old, terms, namespace=workload.ref.namespace, never_sent=never_sent, user=user)

    by_controller = [asked(pod.sent, user=_maker(pod.sent)) for pod in made]
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
            at = (*workload.path[:-2], "metadata", "annotations", RESTARTED_AT)
            changed = as_mapping(with_value(changed, at, "now"))
    return changed


def _answer(applied: Applied) -> WebhookAnswer:
    status, findings = as_mapping(applied.answer.status), applied.answer.findings
    said = str(status.get("message", "")) or next(iter(applied.warnings), "")
    if said and findings:
        said = in_short(min(findings, key=lambda finding: finding.severity.rank))
    return WebhookAnswer(
        applied.outcome,
        applied.denied_by is None,
        one_line(said, LINE_LIMIT),
        applied.answer.findings,
        applied.unsent,
    )


def _defaults(applied: Applied) -> tuple[Mapping[str, object], ...]:
    defaulted = applied.mutate.defaulted
    return defaulted.constraints if isinstance(defaulted, Defaults) and applied.mutate.patch else ()


def _audited_defaults(applied: Applied) -> tuple[Defaults, ...]:
    defaulted = applied.mutate.defaulted
    return (defaulted,) if isinstance(defaulted, Defaults) and not applied.mutate.patch else ()
