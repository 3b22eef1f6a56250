"""A dump of objects, in the form of `evenkeel dump`, for tests and benches that made the objects themselves."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from evenkeel.clusters.dump_format import DUMP_KIND, VERSION
from tests.support.kubernetes_source import NEWEST


def write_dump(file: Path, objects: Iterable[Mapping]) -> Path:
    """Write the objects, with the newest version of Kubernetes; return the file."""
    head = {"kind": DUMP_KIND, "version": VERSION, "kubernetesVersion": str(NEWEST)}
    with gzip.open(file, "wt", compresslevel=1, encoding="utf-8") as lines:
        for obj in (head, *objects):
            lines.write(json.dumps(obj) + "\n")
    return file
