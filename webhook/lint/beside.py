"""The workloads that stand in one file, so that a selector is held against the labels of the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.documents.reading import items_of, read_documents
from webhook.documents.scalars import DocumentError
from webhook.findings.others import Others
from webhook.lint.chunks import chunks
from webhook.lint.terms import LintTerms
from webhook.objects.kinds import FIELD, Kinds
from webhook.objects.workload import Workload


def others_in(text: str, terms: LintTerms) -> Others:
    """The workloads in `text`; none unless there are constraints and several of them, for it is read twice."""
    named = _naming(tuple(sorted({kind.kind for kind in terms.policy.kinds})))
    several = FIELD in text and len(named.findall(text)) > 1
    return Others(_workloads(text, named, terms.policy.kinds, terms.namespace) if several else ())


@cache
def _naming(kinds: tuple[str, ...]) -> re.Pattern[str]:
    """What stands wherever an object of these kinds does."""
    return re.compile(rf"""kind["']?\s*:\s*["']?(?:{"|".join(map(re.escape, kinds))})(?:List)?\b""")


def _workloads(text: str, named: re.Pattern[str], kinds: Kinds, namespace: str) -> Iterator[Workload]:
    for chunk in chunks(text):
        if not named.search(chunk.text):
            continue
        try:
            documents = read_documents(chunk.text, [])
        except DocumentError:
            continue
        for _, obj in (item for document in documents for item in items_of(document)):
            if isinstance(obj, dict):
                yield from AdmissionRequest.of(obj, phase=VALIDATE, kinds=kinds, namespace=namespace).workloads
