"""The inputs of lint besides the manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from webhook.admission.review import WorkloadJudge
from webhook.admission.terms import Terms
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Severity
from webhook.findings.neighbours import Neighbours
from webhook.lint.declarations import FileNeighbours
from webhook.lint.kustomization import Built
from webhook.lint.templates import for_patches
from webhook.objects.references import ScaleTarget, Scaling


@dataclass(frozen=True)
class LintTerms(Terms):
    """
    The terms of a review, and those of lint alone.

    `namespace` is the namespace of objects that name none; the API server sends nothing in the namespaces `never_sent`.
    `unused` is the severity of suppressions that suppress nothing; `patches` are the files that kustomizations name as
    patches, and `built` is what they make of the objects in other files.  `named` are the files that the command line
    names.  `others` are the other workloads of the input, and `scalings` what the autoscalers in it give workloads: the
    webhook knows of neither.
    """

    namespace: str = "default"
    never_sent: frozenset[str] = frozenset()
    unused: Severity = Severity.WARNING
    patches: frozenset[str] = frozenset()
    built: Mapping[str, Built] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    others: Neighbours = field(default_factory=Neighbours)
    scalings: Mapping[ScaleTarget, Scaling] = field(default_factory=dict)

    @cached_property
    def judging(self) -> WorkloadJudge:
        """The function that runs the rules on a workload, with its neighbours in other files."""
        return partial(find_all, others=self.others)

    def with_context(self, around: FileNeighbours) -> LintTerms:
        """Add the workloads and autoscalers of other files."""
        return replace(self, others=Neighbours(around.others), scalings=around.scalings) if around else self

    @cached_property
    def for_patches(self) -> LintTerms:
        """The same for a patch: the labels of its Pods are not known."""
        return replace(self, policy=for_patches(self.policy))
