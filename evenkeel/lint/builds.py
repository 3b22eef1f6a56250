"""What is built of kustomizations and charts, and the files that it is built from."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.kubernetes.kinds import FIELD

NEVER_BUILT, AUTO = BUILD_CHOICES = ("never", "auto")
CHART, VALUES_FILE, PARTIAL_SUFFIX = "Chart.yaml", "values.yaml", ".tpl"


@dataclass(frozen=True, slots=True)
class Build:
    """What a command makes of a kustomization or chart."""

    file: str  # kustomization.yaml or Chart.yaml
    sources: tuple[str, ...]  # the files of the input that it is built from
    command: tuple[str, ...] = ()  # () if none was run
    text: str = ""  # "" if it was not built
    reason: str = ""  # why it was not built

    @property
    def is_chart(self) -> bool:
        """Whether it is built from a chart."""
        return self.file.rpartition("/")[2] == CHART

    @property
    def values(self) -> str:
        """The file of the chart's values.  Values that the chart does not use by default may be wrong, too."""
        return self.beside(VALUES_FILE) if self.is_chart else ""

    def beside(self, name: str) -> str:
        """Return a file in the folder of the kustomization or chart."""
        folder, slash, _ = self.file.rpartition("/")
        return f"{folder}{slash}{name}"

    def renders(self, template: str) -> bool:
        """Return whether helm says that it rendered the file of a template; a partial is named nowhere."""
        if template.rpartition("/")[2].startswith("_"):
            return FIELD in self.text
        lines = (line for line in self.text.splitlines() if line.startswith("# Source: "))
        return any(self.beside(line.partition("/")[2].rstrip()) == template for line in lines)
