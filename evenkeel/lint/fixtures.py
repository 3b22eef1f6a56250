"""
Folders of tests and of others' code: what stands in them is judged, and says nothing of the files outside.

    vendor/operator/testdata/nodes.yaml ──> vendor, vendor/operator/testdata
"""

from __future__ import annotations

FIXTURE_FOLDERS = frozenset(
    {
        *(".chainsaw", ".chainsaw-test", "__fixtures__", "fixtures", "test-fixtures", "testdata"),
        *("node_modules", "third_party", "vendor"),
    }
)


def fixture_folders(file: str) -> tuple[str, ...]:
    """Return the folders of tests or of others' code that a file is in, from the outermost one; "/" parts its path."""
    parts = file.split("/")
    return tuple(["/".join(parts[:end]) for end in range(1, len(parts)) if parts[end - 1] in FIXTURE_FOLDERS])
