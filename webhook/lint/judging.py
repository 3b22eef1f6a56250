"""One file judged: each object in it as the webhook would judge its creation, each finding at its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from webhook.admission.dry_run import in_system_namespace, mentions_constraints, request_of
from webhook.admission.review import VALIDATE, identity, in_namespace, review
from webhook.documents.positions import spans
from webhook.documents.reading import items_of, read_documents
from webhook.documents.scalars import DocumentError
from webhook.documents.spans import Span
from webhook.findings.finding import Finding, Severity
from webhook.lint.chunks import Chunk, Lines, chunks
from webhook.lint.passing_over import is_patch, is_unrendered, should_parse, tells_of_a_patch
from webhook.lint.results import PATCH, SYSTEM, TEMPLATE, Address, Judged, Located, Named, Problem
from webhook.lint.suppressions import Comment, comments_in, silenced, unused_in_comment
from webhook.lint.terms import Terms
from webhook.objects.fields import FieldPath, as_mapping, path_text
from webhook.objects.kinds import find_kinds
from webhook.objects.workload import Workload, parse_workloads


def judge(file: str, text: str, terms: Terms) -> Judged:
    """What is to be said of the manifests in `text`; `file` is the name to say it under."""
    return _File(file, text, terms).judged()


@dataclass(frozen=True, slots=True)
class _Said:
    """A finding on an object, before its line is known."""

    finding: Finding
    object: Named
    identity: str
    document: int
    path: FieldPath


class _File:
    """One file while it is judged."""

    def __init__(self, file: str, text: str, terms: Terms) -> None:
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
        self.result.found.sort(key=lambda one: (one.line, one.column))
        return self.result

    def _unreadable(self, chunk: Chunk, error: DocumentError) -> None:
        if chunk.has_placeholders:
            self.result.passed_over[TEMPLATE] += 1
        elif should_parse(chunk.text, self.result.file, error):
            first, _ = self.lines.position(chunk.start)
            line, column = first + (error.line or 1) - 1, error.column or 1
            self.result.problems.append(Problem(self.result.file, line, column, f"cannot be read: {error.message}"))

    def _chunk(self, chunk: Chunk, documents: Sequence[object]) -> None:
        said, whole = list[_Said](), True
        for number, document in enumerate(documents):
            for path, obj in items_of(document):
                if not isinstance(obj, dict) or not all(isinstance(obj.get(n), str) for n in ("apiVersion", "kind")):
                    continue
                self.result.objects += 1
                before = self.result.passed_over.total()
                for one in self._object(obj, chunk):
                    said.append(replace(one, document=number, path=path))
                whole = whole and before == self.result.passed_over.total()
        silencing = comments_in(chunk.text) if whole else []
        if said or silencing:
            self._place(chunk, said, silencing)

    def _object(self, obj: Mapping[str, object], chunk: Chunk) -> Iterator[_Said]:
        """What is said of one object, and what is to be noted of it."""
        terms = self.terms
        if not find_kinds(obj, terms.policy.kinds):
            if chunk.may_have_constraints and mentions_constraints(obj):
                self.result.unjudged[str(obj["apiVersion"]), str(obj["kind"])] += 1
            return
        request = request_of(obj, None, terms.namespace)
        workloads = [in_namespace(one, request) for one in parse_workloads(obj, terms.policy.kinds)]
        if not workloads or (workloads[0].uid and workloads[0].owner is not None):
            return
        if in_system_namespace(request):
            missed = terms.policy.judges_without_constraints or any(one.has_constraints for one in workloads)
            self.result.passed_over[SYSTEM] += missed
            return
        if chunk.has_placeholders and any(map(is_unrendered, workloads)):
            self.result.passed_over[TEMPLATE] += 1
            return
        patch = self.result.file in terms.patches or any(is_patch(one, obj) for one in workloads)
        policy = terms.policy_for_patches if patch else terms.policy
        decision = review(request, VALIDATE, policy, terms.snapshot, terms.features)
        named = _named(obj)
        if decision.error is not None:
            self._unjudgeable(chunk, named, decision.error)
        if patch:
            self.result.passed_over[PATCH] += any(one.has_constraints for one in workloads)
        else:
            self.result.skipped |= dict.fromkeys(decision.skipped)
        for finding in decision.findings:
            if not patch or tells_of_a_patch(finding, obj):
                yield _Said(finding, named, _identity(named, workloads, finding), 0, ())
        if not patch:
            muted = silenced(obj, workloads, terms)
            self.result.suppressed += muted.count
            for unused in muted.unused if terms.unused is not Severity.IGNORE else ():
                finding = replace(unused, severity=terms.unused)
                yield _Said(finding, named, _known_by(named, finding.rule, finding.found), 0, ())

    def _unjudgeable(self, chunk: Chunk, named: Named, error: str) -> None:
        line, column = self.lines.position(chunk.start)
        self.result.problems.append(Problem(self.result.file, line, column, f"{named}: {error}"))

    def _place(self, chunk: Chunk, said: Sequence[_Said], silencing: Sequence[Comment]) -> None:
        roots = spans(chunk.text, [(*one.path, *one.finding.path) for one in said]) if said else ()
        used: dict[Comment, set[str]] = {comment: set() for comment in silencing}
        on_line = {self.lines.position(chunk.start + one.start)[0]: one for one in silencing}
        for one in said:
            located = self._located(chunk, one, roots[one.document])
            comment = on_line.get(located.line)
            if comment is not None and one.finding.rule in comment.rules and not one.finding.enforced:
                used[comment].add(one.finding.rule)
                self.result.suppressed += 1
            else:
                self.result.found.append(located)
        for comment in silencing if self.terms.unused is not Severity.IGNORE else ():
            run = {rule: s for rule, s in self.terms.policy.settings.items() if rule not in self._skipped_rules()}
            for unused in unused_in_comment(comment, used[comment], run):
                self.result.found.append(self._at_comment(chunk, comment, unused))

    def _skipped_rules(self) -> set[str]:
        return {skipped.rule for skipped in self.result.skipped}

    def _located(self, chunk: Chunk, said: _Said, root: Span) -> Located:
        """At the field itself, from its key to the end of its value; or in its parent where it is absent."""
        full = (*said.path, *said.finding.path)
        place = root.spans_to(full)[-1]
        start, end = (place.start, place.end) if place.key is None else (place.key.start, place.end)
        if place.key is not None and "\n" in chunk.text[start:end]:
            end = place.key.end
        address = Address(chunk.start, chunk.end, said.document, said.path)
        located = self._at(chunk.start + start, chunk.start + end, said.finding, said.object, said.identity, address)
        return replace(located, source=chunk.source) if chunk.source else located

    def _at_comment(self, chunk: Chunk, comment: Comment, unused: Finding) -> Located:
        finding = replace(unused, severity=self.terms.unused)
        known_by = _known_by(None, finding.rule, finding.found)
        return self._at(chunk.start + comment.start, chunk.start + comment.end, finding, None, known_by, None)

    def _at(
        self, start: int, end: int, finding: Finding, named: Named | None, known_by: str, address: Address | None
    ) -> Located:
        line, column = self.lines.position(start)
        quoted = self.lines.line(line)
        last = min(column + max(end - start, 1), len(quoted.rstrip()) + 1)
        return Located(self.result.file, line, column, max(last, column + 1), quoted, finding, named, known_by, address)


def _named(obj: Mapping[str, object]) -> Named:
    metadata = as_mapping(obj.get("metadata"))
    name = metadata.get("name") or metadata.get("generateName")
    texts = (obj.get("apiVersion"), obj.get("kind"), metadata.get("namespace"), name)
    return Named(*(text if isinstance(text, str) else "" for text in texts))


def _identity(named: Named, workloads: Sequence[Workload], finding: Finding) -> str:
    """As the webhook knows an old finding again: constraints and lines move, their topology key stays."""
    of = next((one for one in workloads if finding.path[: len(one.path)] == one.path), workloads[0])
    rule, key, action, names = identity(of, finding)
    return _known_by(named, rule, key, action, path_text(names))


def _known_by(named: Named | None, *parts: str) -> str:
    whom = (named.api_version, named.kind, named.namespace, named.name) if named is not None else ()
    return "\n".join((*whom, *parts))
