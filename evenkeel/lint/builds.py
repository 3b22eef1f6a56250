"""What is built of kustomizations and charts, and the files that it is built from."""

from __future__ import annotations

from dataclasses import dataclass

NEVER_BUILT, AUTO = BUILD_CHOICES = ("never", "auto")
CHART, VALUES_FILE = "Chart.yaml", "values.yaml"


@dataclass(frozen=True, slots=True)
class Build:
    """
    What a command makes of the kustomization or chart in `file`.

    `sources` are the files of the input that it is built from.  `text` is "" if it was not built, for `reason`.
    """

    file: str
    sources: tuple[str, ...]
    command: tuple[str, ...] = ()
    text: str = ""
    reason: str = ""

    @property
    def is_chart(self) -> bool:
        """Whether it is built from a chart."""
        return self.file.rpartition("/")[2] == CHART

    @property
    def values(self) -> str:
        """The file of the chart's values, of which more may be wrong than the chart uses by default."""
        return self.beside(VALUES_FILE) if self.is_chart else ""

    def beside(self, name: str) -> str:
        """Return a file in the folder of the kustomization or chart."""
        folder, slash, _ = self.file.rpartition("/")
        return f"{folder}{slash}{name}"

    def renders(self, template: str) -> bool:
        """Return whether helm says that it rendered a template, the file of which is a source."""
        lines = (line for line in self.text.splitlines() if line.startswith("# Source: "))
        return any(self.beside(line.partition("/")[2].rstrip()) == template for line in lines)
