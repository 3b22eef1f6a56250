"""The inputs of lint besides the manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from evenkeel.lint.builds import Build
from evenkeel.lint.chart import Chart
from evenkeel.lint.declarations import FileNeighbours
from evenkeel.lint.fixtures import fixture_folders
from evenkeel.lint.helm_templates import for_patches
from evenkeel.lint.kustomization import Kustomized
from webhook.admission.review import WorkloadJudge
from webhook.admission.terms import Terms
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Severity
from webhook.findings.neighbours import Neighbours
from webhook.findings.rule import RoomFor
from webhook.kubernetes.references import ScaleTarget, Scaling
from webhook.spread.cluster_view import ClusterView


@dataclass(frozen=True)
class LintTerms(Terms):
    """The terms of a review, and those of lint alone."""

    namespace: str = "default"  # of objects that name none
    never_sent: frozenset[str] = frozenset()  # the namespaces of which the API server sends nothing
    unused: Severity = Severity.WARNING  # of suppressions that suppress nothing
    patches: frozenset[str] = frozenset()  # the files that kustomizations name as patches
    kustomized: Mapping[str, Kustomized] = field(default_factory=dict)  # what kustomizations make of each file
    built_by: Mapping[str, frozenset[str]] = field(default_factory=dict)  # the kustomizations that build from each file
    named: frozenset[str] = frozenset()  # the files on the command line
    # What the webhook does not know: other workloads of the input, the room in a cluster, autoscalers of the input.
    others: Neighbours = field(default_factory=Neighbours)
    room_for: RoomFor | None = None
    scalings: Mapping[ScaleTarget, Scaling] = field(default_factory=dict)
    # The clusters of those `fixture_folders` that have nodes or namespaces of their own, by folder.
    fixtures: Mapping[str, ClusterView | None] = field(default_factory=dict)
    chart: Chart | None = None  # in whose folder the file is
    builds: Mapping[str, Build] = field(default_factory=dict)  # by the file of the kustomization or chart

    @cached_property
    def judged_as_built(self) -> frozenset[str]:
        """The files that are not judged themselves, because their builds are."""
        built = [build for build in self.builds.values() if build.text]
        return frozenset(file for build in built for file in build.sources if file != build.values)

    @cached_property
    def built_values(self) -> frozenset[str]:
        """The files of values with which a chart was built: judged by themselves, too."""
        return frozenset(build.values for build in self.builds.values() if build.text and build.is_chart)

    @cached_property
    def for_builds(self) -> LintTerms:
        """The same for builds, which no kustomization changes any more."""
        return replace(self, kustomized={})

    @cached_property
    def judging(self) -> WorkloadJudge:
        """The function that runs the rules on a workload, with its neighbours in other files."""
        return partial(find_all, others=self.others, room_for=self.room_for)

    def with_context(self, around: FileNeighbours) -> LintTerms:
        """Add the workloads and autoscalers of other files."""
        return replace(self, others=Neighbours(around.others), scalings=around.scalings) if around else self

    def for_file(self, file: str) -> LintTerms:
        """Return the terms for a file: in a folder of tests, they have the cluster of that folder."""
        folders = [folder for folder in fixture_folders(file) if folder in self.fixtures] if self.fixtures else []
        return replace(self, snapshot=self.fixtures[folders[-1]]) if folders else self

    @cached_property
    def for_patches(self) -> LintTerms:
        """The same for a patch: the labels of its Pods are not known."""
        return replace(self, policy=for_patches(self.policy))
