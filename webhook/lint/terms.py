"""What manifests are judged by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from webhook.admission.terms import Terms
from webhook.findings.finding import Severity
from webhook.lint.passing_over import for_patches


@dataclass(frozen=True)
class LintTerms(Terms):
    """
    What a request is judged by, and what lint knows besides.

    `namespace` is that of objects that name none; nothing in the namespaces that are `never_sent` reaches the webhook.
    `unused` is the severity of suppressions that suppress nothing; `patches` are the files that a kustomization names
    as such.
    """

    namespace: str = "default"
    never_sent: frozenset[str] = frozenset()
    unused: Severity = Severity.WARNING
    patches: frozenset[str] = frozenset()

    @cached_property
    def for_patches(self) -> LintTerms:
        """The same for a patch: the labels that its Pods will have are not known."""
        return replace(self, policy=for_patches(self.policy))
