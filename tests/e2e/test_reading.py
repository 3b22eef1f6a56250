"""Whatever file kubectl reads, lint reads, to the same values; what kubectl refuses, lint refuses, too."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from evenkeel.lint.chunks import chunks
from evenkeel.lint.files import FileReader
from tests.e2e import programs
from tests.e2e.corpus import HEAD, Maker
from webhook.kubernetes.documents import items_of, read_documents
from webhook.kubernetes.scalars import DocumentError

pytestmark = pytest.mark.slow  # It needs kubectl alone; tests/documents has the rules.

MANIFESTS = 400
REFUSED = "refused"


def as_kubectl_reads(path):
    """The `spec` of each object that kubectl finds in a file, without a cluster."""
    command = [programs.folder() / "kubectl", "annotate", "--local", "-f", path, "read=yes", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return specs(read_documents(done.stdout)) if done.returncode == 0 else REFUSED


def as_lint_reads(path):
    text = FileReader().text(str(path))
    try:
        return specs([document for chunk in chunks(text) for document in read_documents(chunk.text, [])])
    except DocumentError:
        return REFUSED


def specs(documents):
    """The numbers as floats: kubectl prints 1.0 as 1, and integers beyond 64 bits as floats."""
    objects = [obj for document in documents for _, obj in items_of(document)]
    return [json.loads(json.dumps(obj.get("spec")), parse_int=float) for obj in objects]


class Case(NamedTuple):
    name: str
    spec: str
    encoding: str = "utf-8"


CASES = [
    Case("an alias as a key", "{a: &app web, *app : {b: 1}}"),
    Case("an alias of a number as a key", "{a: &port 8080, *port : {b: 1}}"),
    Case("IPv6 in a list", "{cidrs: [10.0.0.0/8, fd00::]}"),
    Case("IPv6 before a comma", "{cidrs: [fd00::, 10.0.0.0/8]}"),
    Case("IPv6 at the end of an object", "{cidr: fd00::}"),
    Case("a merge after a key", "{a: 1, <<: {a: 2}}"),
    Case("a key twice", "{a: 1, a: 2}"),
    Case("a number that JSON does not have", "{a: .nan}"),
    Case("null as a key", "{~: 1}"),
    Case("UTF-16, little end first", "{a: é😀}\n", "utf-16"),
    Case("UTF-16, big end first", "\n  a: é😀\n", "utf-16-be"),
    Case("a byte order mark", "{a: 1}", "utf-8-sig"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_reads_as_with_kubectl(tmp_path, case):
    mark = "\ufeff" if case.encoding == "utf-16-be" else ""
    (tmp_path / "a.yaml").write_bytes(f"{mark}{HEAD}spec: {case.spec}".encode(case.encoding))

    assert as_kubectl_reads(tmp_path / "a.yaml") == as_lint_reads(tmp_path / "a.yaml")


def test_any_file_reads_as_with_kubectl(tmp_path):
    for seed in range(MANIFESTS):
        (tmp_path / f"{seed}.yaml").write_bytes(Maker(seed).manifest())
    paths = [tmp_path / f"{seed}.yaml" for seed in range(MANIFESTS)]
    with ThreadPoolExecutor(2) as pool:
        kubectl = dict(zip(paths, pool.map(as_kubectl_reads, paths), strict=True))
    differing = {path.name: (found, as_lint_reads(path)) for path, found in kubectl.items()}

    assert {} == {name: both for name, both in differing.items() if both[0] != both[1]}
    assert MANIFESTS * 0.4 < sum(found != REFUSED for found in kubectl.values()) < MANIFESTS * 0.9
