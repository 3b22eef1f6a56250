"""The inputs of lint besides the manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from evenkeel.lint.builds import Build
from evenkeel.lint.declarations import FileNeighbours
from evenkeel.lint.fixtures import fixture_folders
from evenkeel.lint.helm_templates import for_patches
from evenkeel.lint.kustomization import Kustomized
from webhook.admission.review import WorkloadJudge
from webhook.admission.terms import Terms
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Evaluation, Severity
from webhook.findings.neighbours import Neighbours
from webhook.findings.rule import RoomFor, RuleSettings
from webhook.kubernetes.features import Features
from webhook.kubernetes.references import ScaleTarget, Scaling
from webhook.kubernetes.workload import Workload
from webhook.spread.cluster_view import ClusterView


@dataclass(frozen=True)
class LintTerms(Terms):
    """
    The terms of a review, and those of lint alone.

    `namespace` is the namespace of objects that name none; the API server sends nothing in the namespaces `never_sent`.
    `unused` is the severity of suppressions that suppress nothing; `patches` are the files that kustomizations name as
    patches, `kustomized` is what they make of the objects in other files, and `built_by` which of them build from a
    file.  `named` are the files that the command line names.
    `others` are the other workloads of the input, `room_for` finds the room of a cluster, and `scalings` what the
    autoscalers in the input give: the webhook knows of
    neither.  `fixtures` are the clusters of `fixture_folders`, by folder, where they are others.  `builds` are the
    builds to judge, by the file of their kustomization or chart.
    """

    namespace: str = "default"
    never_sent: frozenset[str] = frozenset()
    unused: Severity = Severity.WARNING
    patches: frozenset[str] = frozenset()
    kustomized: Mapping[str, Kustomized] = field(default_factory=dict)
    built_by: Mapping[str, frozenset[str]] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    others: Neighbours = field(default_factory=Neighbours)
    room_for: RoomFor | None = None
    scalings: Mapping[ScaleTarget, Scaling] = field(default_factory=dict)
    fixtures: Mapping[str, ClusterView | None] = field(default_factory=dict)
    builds: Mapping[str, Build] = field(default_factory=dict)

    @cached_property
    def judged_as_built(self) -> frozenset[str]:
        """The files of which builds are judged in their place."""
        built = [build for build in self.builds.values() if build.text]
        return frozenset(file for build in built for file in build.sources if file != build.values)

    @cached_property
    def built_values(self) -> frozenset[str]:
        """The files of values that are judged once more where their chart was built with them."""
        return frozenset(build.values for build in self.builds.values() if build.text and build.is_chart)

    @cached_property
    def for_builds(self) -> LintTerms:
        """The same for what is built: nothing changes it further."""
        return replace(self, kustomized={})

    @cached_property
    def judging(self) -> WorkloadJudge:
        """The function that runs the rules on a workload, with its neighbours in other files."""
        return partial(_judge, others=self.others, room_for=self.room_for)

    def with_context(self, around: FileNeighbours) -> LintTerms:
        """Add the workloads and autoscalers of other files."""
        return replace(self, others=Neighbours(around.others), scalings=around.scalings) if around else self

    def for_file(self, file: str) -> LintTerms:
        """Return those for a file: in a folder of tests, with the cluster of that folder."""
        folders = [folder for folder in fixture_folders(file) if folder in self.fixtures] if self.fixtures else []
        return replace(self, snapshot=self.fixtures[folders[-1]]) if folders else self

    @cached_property
    def for_patches(self) -> LintTerms:
        """The same for a patch: the labels of its Pods are not known."""
        return replace(self, policy=for_patches(self.policy))


def _judge(
    workload: Workload,
    settings: RuleSettings,
    snapshot: ClusterView | None,
    features: Features,
    others: Neighbours,
    room_for: RoomFor | None,
) -> Evaluation:
    """Return what the rules find; what breaks the workload is an error, unless the policy gives the rule a severity."""
    evaluation = find_all(workload, settings, snapshot, features, others, room_for)
    if not any(finding.breaks for finding in evaluation.findings):
        return evaluation
    graver = [
        finding._replace(severity=Severity.ERROR) if finding.breaks else finding for finding in evaluation.findings
    ]
    return evaluation._replace(findings=tuple(graver))
