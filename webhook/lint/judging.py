"""Judges one file: each object as the webhook judges its creation, each finding with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from webhook.admission.decision import Decision, Outcome
from webhook.admission.dry_run import mentions_constraints
from webhook.admission.ratchet import identity
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.admission.review import review
from webhook.documents.positions import spans
from webhook.documents.reading import items_of, read_documents
from webhook.documents.scalars import DocumentError
from webhook.documents.spans import Span
from webhook.findings.finding import Finding, Severity
from webhook.lint.chunks import Chunk, Lines, chunks
from webhook.lint.passing_over import holds_for_patch, is_patch, is_unrendered, should_parse
from webhook.lint.results import PATCH, SYSTEM, TEMPLATE, Address, Judged, Located, Problem
from webhook.lint.suppressions import Comment, comments_in, suppressed_by_annotations, unused_in_comment
from webhook.lint.terms import LintTerms
from webhook.objects.fields import FieldPath, path_text
from webhook.objects.kinds import find_kinds
from webhook.objects.references import ObjectRef
from webhook.objects.workload import Workload


def judge(file: str, text: str, terms: LintTerms) -> Judged:
    """The findings and problems in the manifests in `text`; `file` is the name to report them under."""
    return _File(file, text, terms).judged()


@dataclass(frozen=True, slots=True)
class _Unlocated:
    """A finding before its line is known; `path` is the path of the object in its document."""

    finding: Finding
    object: ObjectRef
    identity: str
    document: int
    path: FieldPath


class _File:
    """One file while it is judged."""

    def __init__(self, file: str, text: str, terms: LintTerms) -> None:
        self.text, self.terms, self.result = text, terms, Judged(file)
        self._lines: Lines | None = None

    @property
    def lines(self) -> Lines:
        if self._lines is None:
            self._lines = Lines(self.text)
        return self._lines

    def judged(self) -> Judged:
        for chunk in chunks(self.text):
            try:
                documents = read_documents(chunk.text)
            except DocumentError as error:
                self._unreadable(chunk, error)
                continue
            self.result.documents += len(documents)
            self._chunk(chunk, documents)
        self.result.found.sort(key=lambda located: (located.line, located.column))
        return self.result

    def _unreadable(self, chunk: Chunk, error: DocumentError) -> None:
        if chunk.has_placeholders:
            self.result.passed_over[TEMPLATE] += 1
        elif should_parse(chunk.text, self.result.file, error):
            first, _ = self.lines.position(chunk.start)
            line, column = first + (error.line or 1) - 1, error.column or 1
            self.result.problems.append(Problem(self.result.file, line, column, f"cannot be read: {error.message}"))

    def _chunk(self, chunk: Chunk, documents: Sequence[object]) -> None:
        unlocated = list[_Unlocated]()
        before = self.result.passed_over.total()
        for number, document in enumerate(documents):
            for path, obj in items_of(document):
                if not isinstance(obj, dict) or not all(isinstance(obj.get(n), str) for n in ("apiVersion", "kind")):
                    continue
                self.result.objects += 1
                unlocated += (replace(found, document=number, path=path) for found in self._object(obj, chunk))
        # If an object was passed over, unused comments cannot be determined.
        all_judged = before == self.result.passed_over.total()
        suppressing = comments_in(chunk.text) if all_judged else []
        if unlocated or suppressing:
            self._locate(chunk, unlocated, suppressing)

    def _object(self, obj: Mapping[str, object], chunk: Chunk) -> Iterator[_Unlocated]:
        """The findings on one object; problems and counts are added to the result."""
        terms = self.terms
        if not find_kinds(obj, terms.policy.kinds):
            if chunk.may_have_constraints and mentions_constraints(obj):
                self.result.unjudged[str(obj["apiVersion"]), str(obj["kind"])] += 1
            return
        request = _request(obj, terms)
        workloads = request.workloads
        if not self._is_judged(chunk, workloads, request.namespace in terms.never_sent):
            return
        patch = self.result.file in terms.patches or any(is_patch(workload, obj) for workload in workloads)
        decision = review(_request(obj, terms.for_patches), terms.for_patches) if patch else review(request, terms)
        yield from self._findings(obj, chunk, workloads, decision, patch)
        if not patch:
            yield from self._suppressed(obj, workloads)

    def _is_judged(self, chunk: Chunk, workloads: Sequence[Workload], never_sent: bool) -> bool:
        """Whether the webhook would judge the workloads of an object.  Counts those that are passed over."""
        if not workloads or (workloads[0].uid and workloads[0].owner is not None):
            return False
        if never_sent:
            required = self.terms.policy.judges_without_constraints
            self.result.passed_over[SYSTEM] += required or any(workload.has_constraints for workload in workloads)
            return False
        if chunk.has_placeholders and any(map(is_unrendered, workloads)):
            self.result.passed_over[TEMPLATE] += 1
            return False
        return True

    def _findings(
        self,
        obj: Mapping[str, object],
        chunk: Chunk,
        workloads: Sequence[Workload],
        decision: Decision,
        patch: bool,
    ) -> Iterator[_Unlocated]:
        """The findings of the rules; for a patch, only those that do not depend on its base."""
        named = ObjectRef.of(obj)
        if decision.outcome in (Outcome.NOT_JUDGED, Outcome.ERROR):
            self._unjudgeable(chunk, named, decision.error)
        if patch:
            self.result.passed_over[PATCH] += any(workload.has_constraints for workload in workloads)
        else:
            self.result.skipped |= dict.fromkeys(decision.skipped)
        for finding in decision.findings:
            if not patch or holds_for_patch(finding, obj):
                yield _Unlocated(finding, named, _identity(named, workloads, finding), 0, ())

    def _suppressed(self, obj: Mapping[str, object], workloads: Sequence[Workload]) -> Iterator[_Unlocated]:
        """Count the findings that annotations suppress; yield a finding for each unused suppression."""
        terms, named = self.terms, ObjectRef.of(obj)
        suppressed = suppressed_by_annotations(obj, workloads, terms)
        self.result.suppressed += suppressed.count
        for unused in suppressed.unused if terms.unused is not Severity.IGNORE else ():
            finding = unused._replace(severity=terms.unused)
            yield _Unlocated(finding, named, _identity_text(named, finding.rule, finding.found), 0, ())

    def _unjudgeable(self, chunk: Chunk, named: ObjectRef, error: str) -> None:
        line, column = self.lines.position(chunk.start)
        self.result.problems.append(Problem(self.result.file, line, column, f"{named}: {error}"))

    def _locate(self, chunk: Chunk, unlocated: Sequence[_Unlocated], suppressing: Sequence[Comment]) -> None:
        """Find the line of each finding, and drop those that a comment on the line suppresses."""
        roots = spans(chunk.text, [(*found.path, *found.finding.path) for found in unlocated]) if unlocated else ()
        used: dict[Comment, set[str]] = {comment: set() for comment in suppressing}
        on_line = {self.lines.position(chunk.start + comment.start)[0]: comment for comment in suppressing}
        for found in unlocated:
            located = self._located(chunk, found, roots[found.document])
            comment = on_line.get(located.line)
            if comment is not None and found.finding.rule in comment.rules and not found.finding.enforced:
                used[comment].add(found.finding.rule)
                self.result.suppressed += 1
            else:
                self.result.found.append(located)
        for comment in suppressing if self.terms.unused is not Severity.IGNORE else ():
            skipped = {skipped.rule for skipped in self.result.skipped}
            run = {rule: setting for rule, setting in self.terms.policy.settings.items() if rule not in skipped}
            for unused in unused_in_comment(comment, used[comment], run):
                self.result.found.append(self._at_comment(chunk, comment, unused))

    def _located(self, chunk: Chunk, found: _Unlocated, root: Span) -> Located:
        """The finding at its field, from the key to the end of the value, or at the nearest parent if it is absent."""
        span = root.spans_to((*found.path, *found.finding.path))[-1]
        start, end = (span.start, span.end) if span.key is None else (span.key.start, span.end)
        if span.key is not None and "\n" in chunk.text[start:end]:
            end = span.key.end
        address = Address(chunk.start, chunk.end, found.document, found.path)
        located = self._at(chunk.start + start, chunk.start + end, found.finding, found.object, found.identity, address)
        return replace(located, source=chunk.source) if chunk.source else located

    def _at_comment(self, chunk: Chunk, comment: Comment, unused: Finding) -> Located:
        finding = unused._replace(severity=self.terms.unused)
        identity = _identity_text(None, finding.rule, finding.found)
        return self._at(chunk.start + comment.start, chunk.start + comment.end, finding, None, identity, None)

    def _at(
        self, start: int, end: int, finding: Finding, named: ObjectRef | None, identity: str, address: Address | None
    ) -> Located:
        line, column = self.lines.position(start)
        quoted = self.lines.line(line)
        last = min(column + max(end - start, 1), len(quoted.rstrip()) + 1)
        return Located(self.result.file, line, column, max(last, column + 1), quoted, finding, named, identity, address)


def _request(obj: Mapping[str, object], terms: LintTerms) -> AdmissionRequest:
    """The request that kube-apiserver would send to validate the creation of `obj`."""
    return AdmissionRequest.of(obj, phase=VALIDATE, kinds=terms.policy.kinds, namespace=terms.namespace)


def _identity(named: ObjectRef, workloads: Sequence[Workload], finding: Finding) -> str:
    """The same parts as `admission.ratchet.identity`: constraints and lines move, the topology key stays."""
    workload = next((each for each in workloads if finding.path[: len(each.path)] == each.path), workloads[0])
    rule, key, action, names = identity(workload, finding)
    return _identity_text(named, rule, key, action, path_text(names))


def _identity_text(named: ObjectRef | None, *parts: str) -> str:
    of_object = (named.api_version, named.kind, named.namespace, named.name) if named is not None else ()
    return "\n".join((*of_object, *parts))
