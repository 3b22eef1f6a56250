"""Judges one file: each object as the webhook judges its creation, each finding with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, TypeGuard

from evenkeel.admit.dry_run import mentions_constraints, places_of_constraints
from evenkeel.lint.chunks import Chunk, NumberedLines, chunks
from evenkeel.lint.declarations import NOTHING_AROUND, Declarations, DeclaredWorkload, FileNeighbours, standing, within
from evenkeel.lint.fragments import (
    UNKNOWN_FIELD,
    Fragment,
    TextWithin,
    decoded,
    findings_on,
    fragments_in,
    fragments_of,
    is_field,
    names_field,
    unread_by,
    unread_value,
)
from evenkeel.lint.helm_templates import (
    advice_for_kind,
    advice_for_template,
    carries_texts,
    has_values,
    is_patch,
    is_unrendered,
    looks_like_a_manifest,
    should_report,
)
from evenkeel.lint.kustomization import KUSTOMIZATIONS, NOT_KUSTOMIZED
from evenkeel.lint.notes import (
    BUILT,
    KIND_NOT_JUDGED,
    LABELS_UNKNOWN,
    OWNED,
    PATCH,
    REPEATED_KEY,
    SKIPPED_NAMESPACE,
    SYSTEM_NAMESPACE,
    UNREAD,
    UNRENDERED_TEMPLATE,
    VALUES,
    Note,
)
from evenkeel.lint.open_fields import OpenFields
from evenkeel.lint.openshift import as_object, configures_monitoring, objects_in
from evenkeel.lint.places import in_lines, placed
from evenkeel.lint.results import Address, JudgedFile, JudgedPlaces, Located, Problem
from evenkeel.lint.spans import Span
from evenkeel.lint.suppressions import Comment, by_line, comments_in, suppressed_by_annotations, unused_in_comment
from evenkeel.lint.terms import LintTerms
from evenkeel.lint.yaml_positions import spans
from evenkeel.objects.autoscalers import Autoscaler, read_autoscaler
from webhook.admission.decision import Decision, Outcome
from webhook.admission.ownership import made_by_controller
from webhook.admission.ratchet import identity
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.admission.review import review
from webhook.admission.unknown_labels import HOW_TO_KNOW
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Finding, Severity
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.fields import FieldPath, as_mapping, path_text, value_at, with_value
from webhook.kubernetes.kinds import FIELD, NAMESPACE, Kind, Kinds, find_kinds
from webhook.kubernetes.names import SKIP_LABEL
from webhook.kubernetes.references import ObjectRef
from webhook.kubernetes.scalars import DocumentError, Repeated
from webhook.kubernetes.workload import Workload, scaling_of
from webhook.spread.new_pod import PLACING

IDLE_SWITCH, CRD = "idle-switch", "CustomResourceDefinition"
NEVER_SENT = "the webhook gets none of them; --include-system judges them"
NOT_SKIPPED = f"without the label {SKIP_LABEL} of their namespace they are judged"
OF_TEXT = "write the text to a file, and lint that"
OF_OWNER = "their constraints come from their owners: lint these"
BUILD, NO_BUILD = "judge the built objects: --build auto", "the kustomization was not built"
RENDER = "render it first: helm template CHART | evenkeel lint -"


def judge(file: str, text: str, terms: LintTerms, around: FileNeighbours | None = None) -> JudgedFile:
    """
    Return the findings and problems in the manifests in `text`; `file` is the name to report them under.

    `around` are workloads and autoscalers of other files; None if the file is judged alone.
    """
    terms = terms.for_file(file)
    judged = _File(file, text, terms.with_context(around or NOTHING_AROUND)).judged()
    if around is None and (neighbours := within(judged.states)):
        return _File(file, text, terms.with_context(neighbours)).judged()
    return judged


def unread(file: str, line: int, column: int, reason: str) -> Note:
    """Return the note on a file that cannot be read, and does not look like a manifest."""
    return Note(file, line, column, UNREAD, f"unreadable text ({reason})", "passed over", "no manifest was found in it")


class _Unlocated(NamedTuple):
    """A finding before its line is known."""

    finding: Finding
    object: ObjectRef | None
    identity: str
    document: int  # index in the chunk
    path: FieldPath  # of the object in its document


class _JudgedText(NamedTuple):
    """A text in a document that may hold constraints."""

    document: int  # index in the chunk
    path: FieldPath
    text: str
    carrier: ObjectRef | None  # the object that the text is in


class _File:
    """One file while it is judged."""

    def __init__(self, file: str, text: str, terms: LintTerms) -> None:
        self.text, self.terms, self.result = text, terms, JudgedFile(file)
        self._kustomized = terms.kustomized.get(file, NOT_KUSTOMIZED)
        self._lines: NumberedLines | None = None
        self._passed_over = 0
        self._noted_repeated = False
        self._workloads, self._autoscalers = list[DeclaredWorkload](), list[Autoscaler]()

    @property
    def lines(self) -> NumberedLines:
        if self._lines is None:
            self._lines = NumberedLines(self.text)
        return self._lines

    @property
    def _is_named(self) -> bool:
        return self.result.file in self.terms.named

    @property
    def _advice_on_builds(self) -> str:
        return NO_BUILD if self.terms.builds else BUILD

    @cached_property
    def _is_manifest(self) -> bool:
        return looks_like_a_manifest(self.text)

    def judged(self) -> JudgedFile:
        for chunk in chunks(self.text):
            repeated = list[Repeated]()
            try:
                documents = read_documents(chunk.text, repeated)
            except DocumentError as error:
                self._unreadable(chunk, error)
                continue
            self.result.documents += len(documents)
            self._judge_chunk(chunk, documents, repeated)
        self.result.found.sort(key=lambda located: (located.line, located.column))
        self.result.states = Declarations(self._workloads, self._autoscalers)
        return self.result

    def _unreadable(self, chunk: Chunk, error: DocumentError) -> None:
        file, (line, column) = self.result.file, self._where(chunk, error)
        if chunk.has_placeholders:
            self._note(chunk, UNRENDERED_TEMPLATE, "template", "passed over", advice_for_template(chunk.text))
        elif not chunk.within and (self._is_manifest or should_report(chunk.text, file, error, self._is_named)):
            self._unreadable_line(line, column, error)
        elif chunk.within or self._is_named or chunk.may_have_constraints:
            self._count(int(chunk.may_have_constraints))
            self.result.notes.append(unread(file, line, column, error.message))

    def _unreadable_line(self, line: int, column: int, error: DocumentError) -> None:
        quoted = self.lines.line(line) if error.index is not None else ""
        message = f"cannot be read: {error.message}"
        self.result.problems.append(Problem(self.result.file, line, column, message, quoted=quoted))

    def _where(self, chunk: Chunk, error: DocumentError) -> tuple[int, int]:
        return self.lines.position(chunk.start + (0 if chunk.within else error.index or 0))

    def _judge_chunk(
        self,
        chunk: Chunk,
        documents: Sequence[object],
        repeated: Sequence[Repeated],
        carrier: ObjectRef | None = None,
    ) -> None:
        """Judge the documents of a chunk; `carrier` is the object that it is a text of."""
        unlocated, texts = list[_Unlocated](), list[_JudgedText]()
        before = self._passed_over
        for number, document in enumerate(documents):
            for path, obj in objects_in(document):
                if not _is_object(obj):
                    ref, every_text = carrier, self.result.file.endswith(KUSTOMIZATIONS)
                else:
                    if not chunk.within:
                        self.result.objects += 1
                    twice = [repetition for repetition in repeated if _concerns(repetition, number, path)]
                    if twice and not self._may_be_judged(chunk, obj, path, twice):
                        continue
                    ref = ObjectRef.of(obj)
                    carries = carries_texts(str(obj["kind"])) or configures_monitoring(ref)
                    if not carries or find_kinds(obj, self.terms.policy.kinds):
                        unlocated += (part._replace(document=number, path=path) for part in self._object(obj, chunk))
                        continue
                    every_text = True
                if chunk.may_have_constraints:
                    document_parts = [*fragments_in(obj, every_text)]
                    if not document_parts and not chunk.within and names_field(obj, is_object=ref is not None):
                        self._note_text(chunk, "text with constraints", ref)
                    if ref is None and not chunk.within:
                        unread = self._unread(document_parts)
                        unlocated += (part._replace(document=number, path=path) for part in unread)
                        paths = tuple(part.finding.path for part in unread)
                        document_parts = [part for part in document_parts if not _is_below(part.path, paths)]
                    parts_to_read = (part for part in document_parts if isinstance(part, TextWithin))
                    texts += [_JudgedText(number, (*path, *part.path), part.text, ref) for part in parts_to_read]
                    fragments = [part for part in document_parts if isinstance(part, Fragment)]
                    parts = self._fragments(fragments, chunk, ref)
                    unlocated += (part._replace(document=number, path=path) for part in parts)
        suppressing = comments_in(chunk.text)
        if unlocated or suppressing:
            self._locate(chunk, unlocated, suppressing, all_judged=before == self._passed_over)
        if chunk.within:
            for _ in texts:
                self._note_text(chunk, "text within a text with constraints", carrier)
        elif texts:
            self._judge_texts(chunk, texts)

    def _unread(self, parts: Sequence[Fragment | TextWithin]) -> Sequence[_Unlocated]:
        """Return the findings on values that no template of their chart reads."""
        setting = self.terms.policy.settings[UNKNOWN_FIELD]
        paths = () if setting.severity is Severity.IGNORE else unread_by(self.terms.chart, parts)
        self._count(len(paths), without_labels=len(paths))
        findings = (unread_value(path, setting) for path in paths)
        return [
            _Unlocated(finding, None, _identity_text(None, finding.rule, finding.found), 0, ()) for finding in findings
        ]

    def _judge_texts(self, chunk: Chunk, texts: Sequence[_JudgedText]) -> None:
        """Judge texts within scalars of the chunk."""
        roots = spans(chunk.text, [text.path for text in texts])
        for number, path, text, carrier in texts:
            whole = chunk.inside(roots[number].spans_to(path)[-1], text)
            for inner in map(whole.part, chunks(text)):
                counted, noted = self.result.places, len(self.result.notes)
                try:
                    documents = read_documents(inner.text, [])
                except DocumentError as error:
                    self._unreadable(inner, error)
                    continue
                if carrier is not None and configures_monitoring(carrier):
                    documents = tuple(as_object(carrier, document) for document in documents)
                if is_field(path[-1]):
                    self._judge_lists(inner, documents, carrier)
                else:
                    self._judge_chunk(inner, documents, [], carrier)
                if (counted, noted) == (self.result.places, len(self.result.notes)) and any(
                    names_field({path[-1]: document}) for document in documents
                ):
                    self._note_text(inner, "text with constraints", carrier)

    def _judge_lists(self, chunk: Chunk, documents: Sequence[object], carrier: ObjectRef | None) -> None:
        """Judge lists of constraints."""
        located = [
            part._replace(document=i)
            for i, document in enumerate(documents)
            for part in self._fragments([*fragments_of(document)], chunk, carrier)
        ]
        self._locate(chunk, located, comments_in(chunk.text), all_judged=False)

    def _fragments(self, fragments: Sequence[Fragment], chunk: Chunk, ref: ObjectRef | None) -> Iterator[_Unlocated]:
        """Yield the findings on constraints outside a Pod template that hold whatever these are merged into."""
        if any(fragment.values and fragment.constraints for fragment in fragments):
            advice = advice_for_kind(ref.kind) if ref is not None and has_values(ref.kind) else RENDER
            self._note(chunk, VALUES, "values", "judged in part", advice)
        elif fragments and not fragments[0].values:
            self._note(chunk, PATCH, "kustomize patch", "judged in part", self._advice_on_builds)
        self._count(len(fragments), without_labels=len(fragments))
        for fragment in fragments:
            unsettled = OpenFields(patch=True, change=self._kustomized.change, template=chunk.has_placeholders)
            for finding, moved in findings_on(fragment, self.terms, unsettled, self.terms.judging):
                yield _Unlocated(moved, ref, _identity(ref, [fragment.workload], finding), document=0, path=())

    def _count(self, total: int, in_full: int = 0, without_labels: int = 0) -> None:
        self.result.places = self.result.places.and_also(JudgedPlaces(total, in_full, without_labels))

    def _note(self, chunk: Chunk, why: str, what: str, done: str, advice: str) -> None:
        line, column = self.lines.position(chunk.place(chunk.begin, chunk.begin)[0])
        passed_over = why == UNRENDERED_TEMPLATE and done == "passed over" and chunk.may_have_constraints
        if passed_over or why == KIND_NOT_JUDGED:
            self._count(1)
        if why in (UNRENDERED_TEMPLATE, PATCH, VALUES, BUILT, SYSTEM_NAMESPACE, SKIPPED_NAMESPACE, OWNED):
            self._passed_over += 1
        self.result.notes.append(Note(self.result.file, line, column, why, what, done, advice))

    def _note_text(self, chunk: Chunk, what: str, carrier: ObjectRef | None) -> None:
        advice = advice_for_kind(carrier.kind) if carrier is not None and has_values(carrier.kind) else OF_TEXT
        self._note(chunk, KIND_NOT_JUDGED, what, "not judged", advice)

    def _may_be_judged(
        self, chunk: Chunk, obj: Mapping[str, object], path: FieldPath, twice: Sequence[Repeated]
    ) -> bool:
        """
        Return whether the object at `path` of its document, with repeated keys, may be judged.

        It may not if a rule reads such a key: then each such key is a problem.  Keys that no rule reads are noted once
        in each file.  An unrendered template is noted, and not judged.
        """
        if chunk.has_placeholders:
            self._note(chunk, UNRENDERED_TEMPLATE, "template", "passed over", advice_for_template(chunk.text))
            return False
        problems = len(self.result.problems)
        for repetition in twice:
            error = repetition.error
            file, (line, column) = self.result.file, self._where(chunk, error)
            if self._is_read(repetition, obj, path):
                self._unreadable_line(line, column, error)
            elif not self._noted_repeated:
                self._noted_repeated = True
                done, advice = "judged with the last value, as kubectl takes it", "write the key once"
                self.result.notes.append(Note(file, line, column, REPEATED_KEY, error.message, done, advice))
        return len(self.result.problems) == problems

    def _is_read(self, repeated: Repeated, obj: Mapping[str, object], path: FieldPath) -> bool:
        """
        Return whether a rule reads the repeated key, of the object at `path` or above it.

        Rules read a key if they would read something else without it.
        """
        kinds, inside = find_kinds(obj, self.terms.policy.kinds), repeated.path[len(path) :]
        if not inside:
            return bool(kinds) or mentions_constraints(obj)
        (*above, key), members = inside, value_at(obj, inside[:-1])
        if not isinstance(members, dict) or key not in members:  # It was in a value that another has replaced.
            return False
        if not kinds:
            return FIELD in inside or mentions_constraints({"value": members[key]})
        if any(workload.path[: len(inside)] == inside for workload in _request(obj, self.terms).workloads):
            return True
        without = with_value(obj, tuple(above), {name: value for name, value in members.items() if name != key})
        return _what_rules_read(obj, self.terms) != _what_rules_read(as_mapping(without), self.terms)

    def _object(self, written: Mapping[str, object], chunk: Chunk) -> Iterator[_Unlocated]:
        """Yield the findings on one object; add its notes, problems and suppressed findings to the result."""
        terms, obj = self.terms, self._in_namespace(written)
        kinds = find_kinds(obj, terms.policy.kinds)
        if not kinds:
            yield from self._switches_of_namespace(written, chunk)
            self._note_unknown_kind(chunk, obj)
            if (autoscaler := read_autoscaler(obj, terms.namespace)) is not None:
                self._autoscalers.append(autoscaler)
            return
        request = _request(obj, terms)
        workloads = request.workloads
        if not workloads:
            self._note_other_places(obj, chunk, kinds[0], ())
        if not self._is_judged(chunk, workloads):
            return
        unsettled = self._unsettled(chunk, request)
        if unsettled.labels_unknown:
            terms = terms.for_patches
            request = _misplacing(_request(obj, terms), workloads)
        for workload in [workload for workload in workloads if workload.has_constraints]:
            unlabelled = unsettled.labels_unknown or not workload.labels_known
            in_full = unsettled.nothing and not unlabelled
            self._count(1, in_full=int(in_full), without_labels=int(unlabelled))
        self._note_other_places(obj, chunk, kinds[0], workloads)
        decision = _decision(request, unsettled, terms)
        if decision.unknown_labels_of:
            what = f"object in namespace {decision.unknown_labels_of} with unknown labels"
            self._note(chunk, LABELS_UNKNOWN, what, "judged under each override that may apply", HOW_TO_KNOW)
        if not unsettled.patch:
            self._declare(request, unsettled, decision)
        yield from self._findings(written, chunk, workloads, decision, unsettled)
        if unsettled.nothing:
            yield from self._suppressed(written, request.workloads)

    def _switches_of_namespace(self, obj: Mapping[str, object], chunk: Chunk) -> Iterator[_Unlocated]:
        """Yield the findings on labels and annotations of evenkeel in a Namespace, which the webhook never gets."""
        request = AdmissionRequest.of(obj, phase=VALIDATE, kinds=Kinds((NAMESPACE,)), namespace="")
        switched = [workload for workload in request.workloads if workload.switches]
        if switched:
            unsettled, settings = self._unsettled(chunk, request), self.terms.policy.settings
            evaluation = find_all(switched[0], {IDLE_SWITCH: settings[IDLE_SWITCH]}, None, self.terms.features)
            for finding in evaluation.findings:
                if (held := unsettled.holding(finding, obj)) is not None:
                    ref = ObjectRef.of(obj)
                    yield _Unlocated(held, ref, _identity(ref, switched, held), document=0, path=())

    def _in_namespace(self, obj: Mapping[str, object]) -> Mapping[str, object]:
        """Return the object in the namespace that kustomizations give it."""
        namespace = self._kustomized.namespace
        return as_mapping(with_value(obj, ("metadata", "namespace"), namespace)) if namespace else obj

    def _unsettled(self, chunk: Chunk, request: AdmissionRequest) -> OpenFields:
        """Return what kustomize and templates may change; add a note on it if there are constraints."""
        file, workloads = self.result.file, request.workloads
        is_known_patch = (
            chunk.within and not configures_monitoring(ObjectRef.of(request.obj))
        ) or file in self.terms.patches
        patch = is_known_patch or any(is_patch(workload, request.obj) for workload in workloads)
        change = self._kustomized.change
        template = chunk.has_placeholders and any(map(is_unrendered, workloads))
        if any(workload.has_constraints for workload in workloads):
            if patch:
                self._note(chunk, PATCH, "kustomize patch", "judged in part", self._advice_on_builds)
            elif change:
                self._note(chunk, BUILT, "object changed by a kustomization", "judged in part", self._advice_on_builds)
            elif template:
                self._note(chunk, UNRENDERED_TEMPLATE, "template", "judged in part", advice_for_template(chunk.text))
        return OpenFields(patch, change, template)

    def _declare(self, request: AdmissionRequest, unsettled: OpenFields, decision: Decision) -> None:
        """Add the workloads to what the file states for other files."""
        judged = decision.outcome not in (Outcome.NOT_JUDGED, Outcome.ERROR)
        snapshot = self.terms.snapshot
        always = self.terms.policy.judges_without_constraints or (snapshot is not None and snapshot.knows_pods)
        for workload in next(unsettled.readings(request.workloads)):
            asks = judged and (always or workload.has_constraints)
            self._workloads.append(standing(workload, request.obj, self.terms.features, asks))

    def _note_unknown_kind(self, chunk: Chunk, obj: Mapping[str, object]) -> None:
        """Note that an object of a kind that is not known has constraints."""
        what = f"{obj['apiVersion']} {obj['kind']} with constraints"
        readable = decoded(obj)
        if not (chunk.may_have_constraints or readable is not obj):
            return
        if mentions_constraints(obj):
            self._note(chunk, KIND_NOT_JUDGED, what, "not judged", advice_for_kind(str(obj["kind"])))
        elif obj["kind"] != CRD and names_field({name: readable[name] for name in readable if name != "metadata"}):
            self._note(chunk, KIND_NOT_JUDGED, f"{what} in a text", "not judged", OF_TEXT)

    def _note_other_places(
        self, obj: Mapping[str, object], chunk: Chunk, kind: Kind, workloads: Sequence[Workload]
    ) -> None:
        """Note that a custom resource may have constraints where none are described."""
        if chunk.may_have_constraints and not kind.built_in:
            described = [workload.raw_constraints for workload in workloads]
            if any(
                all(place is not described_place for described_place in described)
                for place in places_of_constraints(obj)
            ):
                what = f"{obj['apiVersion']} {obj['kind']} with constraints at another path"
                self._note(chunk, KIND_NOT_JUDGED, what, "not judged there", advice_for_kind(str(obj["kind"])))

    def _is_judged(self, chunk: Chunk, workloads: Sequence[Workload]) -> bool:
        """Return whether the webhook would judge the workloads of an object; count those that are passed over."""
        if not workloads:
            return False
        first, policy = workloads[0], self.terms.policy
        labels = self.terms.namespace_labels(first.namespace) or {}
        if first.uid and first.owner is not None and made_by_controller(first):
            why, what, advice = OWNED, f"object of a {first.owner.kind}", OF_OWNER
        elif first.namespace in self.terms.never_sent:
            why, what, advice = SYSTEM_NAMESPACE, f"object in {first.namespace}", NEVER_SENT
        elif labels.get(SKIP_LABEL) == "true":
            why, what, advice = SKIPPED_NAMESPACE, f"object in {first.namespace}", NOT_SKIPPED
        else:
            return True
        places = sum(workload.has_constraints for workload in workloads)
        if places or (policy.judges_without_constraints and why == SYSTEM_NAMESPACE):
            self._count(places)
            self._note(chunk, why, what, "passed over", advice)
        return False

    def _findings(
        self,
        obj: Mapping[str, object],
        chunk: Chunk,
        workloads: Sequence[Workload],
        decision: Decision,
        unsettled: OpenFields,
    ) -> Iterator[_Unlocated]:
        """Yield the findings of the rules that hold whatever kustomize and templates change."""
        ref = ObjectRef.of(obj)
        if decision.outcome in (Outcome.NOT_JUDGED, Outcome.ERROR):
            self._unjudgeable(chunk, ref, decision.error)
        if unsettled.nothing:
            self.result.skipped |= dict.fromkeys(decision.skipped)
        for finding in decision.findings:
            if (held := unsettled.holding(finding, obj)) is not None:
                yield _Unlocated(held, ref, _identity(ref, workloads, held), document=0, path=())

    def _suppressed(self, obj: Mapping[str, object], workloads: Sequence[Workload]) -> Iterator[_Unlocated]:
        """Count the findings that annotations suppress; yield a finding for each unused suppression."""
        terms, ref = self.terms, ObjectRef.of(obj)
        suppressed = suppressed_by_annotations(obj, workloads, terms)
        self.result.suppressed += suppressed.count
        if terms.unused is Severity.IGNORE:
            return
        for unused in suppressed.unused:
            finding = unused._replace(severity=terms.unused)
            yield _Unlocated(finding, ref, _identity_text(ref, finding.rule, finding.found), document=0, path=())

    def _unjudgeable(self, chunk: Chunk, ref: ObjectRef, error: str) -> None:
        line, column = self.lines.position(chunk.place(0, 0)[0])
        self.result.problems.append(Problem(self.result.file, line, column, f"{ref}: {error}"))

    def _locate(
        self, chunk: Chunk, unlocated: Sequence[_Unlocated], suppressing: Sequence[Comment], all_judged: bool
    ) -> None:
        """
        Find the line of each finding, and drop those that a comment on the line suppresses.

        Unless all is judged, an unused comment may still be of use, and is not reported.
        """
        roots = (
            spans(chunk.text, [(*unplaced.path, *unplaced.finding.path) for unplaced in unlocated]) if unlocated else ()
        )
        used: dict[Comment, set[str]] = {comment: set() for comment in suppressing}
        on_line = by_line(suppressing, chunk, self.lines)
        for unplaced in unlocated:
            located = self._located(chunk, unplaced, roots[unplaced.document])
            silencing = [comment for comment in on_line.get(located.line, ()) if unplaced.finding.rule in comment.rules]
            if silencing and not unplaced.finding.enforced:
                for comment in silencing:
                    used[comment].add(unplaced.finding.rule)
                self.result.suppressed += 1
            else:
                self.result.found.append(located)
        if not all_judged or self.terms.unused is Severity.IGNORE:
            return
        for comment in suppressing:
            skipped = {skipped.rule for skipped in self.result.skipped}
            run = {rule: setting for rule, setting in self.terms.policy.settings.items() if rule not in skipped}
            for unused in unused_in_comment(comment, used[comment], run):
                self.result.found.append(self._at_comment(chunk, comment, unused))

    def _located(self, chunk: Chunk, unplaced: _Unlocated, root: Span) -> Located:
        address = Address(chunk.start, chunk.end, unplaced.document, unplaced.path)
        finding, ref = unplaced.finding, unplaced.object
        if chunk.within:
            finding = finding._replace(edit=None)
        return placed(self.result.file, self.lines, chunk, root, address, finding, ref, unplaced.identity)

    def _at_comment(self, chunk: Chunk, comment: Comment, unused: Finding) -> Located:
        finding = unused._replace(severity=self.terms.unused)
        identity = _identity_text(None, finding.rule, finding.found)
        start, end = chunk.place(comment.start, comment.end)
        return in_lines(self.result.file, self.lines, start, end, finding, None, identity, None)


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("apiVersion", "kind"))


def _is_below(path: FieldPath, parents: Sequence[FieldPath]) -> bool:
    return any(path[: len(parent)] == parent for parent in parents)


def _concerns(repeated: Repeated, document: int, path: FieldPath) -> bool:
    """Return whether the key stands in the object at `path`, or in one above it."""
    holder = repeated.path[:-1]
    common = min(len(path), len(holder))
    return repeated.document in (None, document) and holder[:common] == path[:common]


def _what_rules_read(obj: Mapping[str, object], terms: LintTerms) -> object:
    """Return everything in an object of a judged kind that a finding may rest on; only to be compared."""
    workloads = _request(obj, terms).workloads
    placing = [{name: (workload.pod_spec or {}).get(name) for name in PLACING} for workload in workloads]
    return (
        workloads,
        placing,
        [(workload.spec.get("replicas"), workload.spec.get("strategy")) for workload in workloads],
    )


def _request(obj: Mapping[str, object], terms: LintTerms) -> AdmissionRequest:
    """Return the request that kube-apiserver sends to validate a new `obj`, with what autoscalers give it."""
    request = AdmissionRequest.of(obj, phase=VALIDATE, kinds=terms.policy.kinds, namespace=terms.namespace)
    scaling = scaling_of(request.workloads, terms.scalings)
    return request if scaling is None else request._replace(workloads=(request.workloads[0].scaled(scaling),))


def _misplacing(request: AdmissionRequest, workloads: Sequence[Workload]) -> AdmissionRequest:
    """Return a request by the terms for patches with what is misplaced, which they cannot see without Pod templates."""
    misplaced = {workload.path: workload.misplaced for workload in workloads}
    misplacing = (replace(workload, misplaced=misplaced.get(workload.path, ())) for workload in request.workloads)
    return request._replace(workloads=tuple(misplacing))


def _decision(request: AdmissionRequest, unsettled: OpenFields, terms: LintTerms) -> Decision:
    """Return a decision with the findings that are the same in each reading of what is not settled."""
    decision, *others = (
        review(request._replace(workloads=read), terms, terms.judging) for read in unsettled.readings(request.workloads)
    )
    for other in others:
        found_elsewhere = {(finding.rule, finding.path) for finding in other.findings}
        findings = [finding for finding in decision.findings if (finding.rule, finding.path) in found_elsewhere]
        decision = decision._replace(findings=tuple(findings))
    return decision


def _identity(ref: ObjectRef | None, workloads: Sequence[Workload], finding: Finding) -> str:
    """
    Return the same parts as `admission.ratchet.identity`: constraints and lines move, the topology key stays.

    Baselines keep it.  For a finding on a whole workload it has the text `wanted`, so other words make another finding.
    """
    workload = next(
        (candidate for candidate in workloads if finding.path[: len(candidate.path)] == candidate.path), workloads[0]
    )
    rule, key, action, names = identity(workload, finding)
    return _identity_text(ref, rule, key, action, path_text(names))


def _identity_text(ref: ObjectRef | None, *parts: str) -> str:
    object_parts = (ref.api_version, ref.kind, ref.namespace, ref.name) if ref is not None else ()
    return "\n".join((*object_parts, *parts))
