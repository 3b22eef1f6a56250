"""
The lines that the findings on a build come from.

    finding on a build ──in_sources──> the one line of base/web.yaml with that value, or the first of the kustomization
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from operator import eq
from typing import NamedTuple

from evenkeel.lint.builds import Build
from evenkeel.lint.chunks import Chunk, NumberedLines, chunks
from evenkeel.lint.fragments import Fragment, fragments_in
from evenkeel.lint.kustomization import ReadFile
from evenkeel.lint.places import placed
from evenkeel.lint.results import Address, JudgedFile, Located
from evenkeel.lint.suppressions import by_line, comments_in
from evenkeel.lint.yaml_positions import spans
from webhook.findings.finding import UNUSED_SUPPRESSION, Edit, Finding
from webhook.kubernetes.documents import items_of, read_documents
from webhook.kubernetes.fields import FieldPath, as_mapping, texts_at, value_at
from webhook.kubernetes.kinds import FIELD
from webhook.kubernetes.scalars import DocumentError

JudgeSource = Callable[[str], Sequence[Located]]
Agree = Callable[[object, object], bool]  # whether the value in a source may become the one that is built


class _SourceValue(NamedTuple):
    """An object of a source, or its only value, such as that of a file of values."""

    file: str
    lines: NumberedLines
    chunk: Chunk
    address: Address
    value: object


class _SourceLine(NamedTuple):
    """A line from which a finding may come, and whether a comment suppresses the finding there."""

    located: Located
    suppressed: bool = False


def in_sources(judged: JudgedFile, build: Build, read_file: ReadFile, judge_source: JudgeSource) -> JudgedFile:
    """
    Return the result of a build with each finding at the line that it comes from.

    If no line, or more than one, may have caused a finding, it stands at the beginning of the template or of the
    kustomization.  A comment at the line suppresses it.  A repair stays if only one object is built from the object
    with the line, and `judge_source` finds the same there, with the same repair.
    """
    sources = _Sources(build, read_file, judge_source)
    findings, suppressed = list[Located](), judged.suppressed
    for located in judged.found:
        place = sources.place_of(located) or sources.beginning(located)
        if place.suppressed and not located.finding.enforced:
            suppressed += 1
        else:
            findings.append(place.located)
    notes = [note._replace(line=1, column=1) for note in judged.notes]
    problems = [problem._replace(line=1, column=1) for problem in judged.problems]
    return replace(judged, found=findings, suppressed=suppressed, notes=notes, problems=problems)


class _Sources:
    """The sources of a build, each of which is read once."""

    def __init__(self, build: Build, read_file: ReadFile, judge_source: JudgeSource) -> None:
        self._build, self._read_file, self._command = build, read_file, " ".join(build.command)
        self._judge_source = cache(judge_source)
        self._documents = cache(lambda start, end: read_documents(build.text[start:end], []))
        self._commented = cache(_commented)

    def place_of(self, located: Located) -> _SourceLine | None:
        """Return the one place in the sources with the same value, or else the one with a part of it."""
        for agree in (eq, _is_within):
            places = {(place.located.file, place.located.line): place for place in self._places(located, agree)}
            if places:
                return next(iter(places.values())) if len(places) == 1 else None
        return None

    def beginning(self, located: Located) -> _SourceLine:
        """Return the first line of the template or of the kustomization."""
        file = self._template(located) or self._build.file
        text = self._read_file(file) or ""
        quoted = text.split("\n", 1)[0].rstrip()
        source, end = f"{self._command}, line {located.line}", max(len(quoted), 1) + 1
        first = located._replace(file=file, line=1, column=1, end_column=end, quoted=quoted, source=source)
        first = _unrepaired(first)
        return _SourceLine(first, self._is_suppressed(first, text))

    def _places(self, located: Located, agree: Agree) -> Iterator[_SourceLine]:
        """Yield each place from which the finding may come."""
        yield from self._in_template(located)
        if located.address is None:
            return
        path, obj = located.finding.path, self._built(located.address)
        paths_in_source = _in_constraints if FIELD in path[:-1] else _at_path
        for item in self._items:
            if not self._may_become(item.value, obj):
                continue
            for source_path in paths_in_source(obj, path, item.value, agree):
                root = spans(item.chunk.text, [(*item.address.path, *source_path)])[item.address.document]
                edit = self._edit_of(item, located.finding, source_path) if agree is eq else None
                finding = located.finding._replace(path=source_path, edit=edit)
                moved = placed(
                    item.file, item.lines, item.chunk, root, item.address, finding, located.object, located.identity
                )
                moved = moved._replace(source=self._command)
                yield _SourceLine(moved, self._is_suppressed(moved, item.lines.text))

    def _edit_of(self, item: _SourceValue, finding: Finding, source_path: FieldPath) -> Edit | None:
        """Return the repair of the same finding on an object of a source; None if it may not repair the build."""
        if finding.edit is None or sum(self._may_become(item.value, obj) for obj in self._objects_built) != 1:
            return None
        for judged in self._judge_source(item.file):
            rule, path, edit = judged.finding.rule, judged.finding.path, judged.finding.edit
            same = (judged.address, rule, path) == (item.address, finding.rule, source_path)
            if same and edit is not None and edit.value == finding.edit.value:
                return edit
        return None

    def _in_template(self, located: Located) -> Iterator[_SourceLine]:
        """Yield each line of the template that equals the rendered line, if the template makes one object only."""
        file = self._template(located)
        if not file or self._build.text.count(f"# Source: {located.source}\n") > 1:
            return
        lines = NumberedLines(self._read_file(file) or "")
        for number in range(1, lines.count + 1):
            line = lines.line(number)
            if line.strip() == located.quoted.strip():
                column, end = len(line) - len(line.lstrip()) + 1, len(line.rstrip()) + 1
                moved = located._replace(file=file, line=number, column=column, end_column=end, quoted=line)
                # Helm keeps comments: one that suppresses the finding is in the build, too.
                yield _SourceLine(_unrepaired(moved._replace(source=self._command)))

    def _template(self, located: Located) -> str:
        """Return the file of the template, which helm names below the chart's name; "" if there is none."""
        file = self._build.beside(located.source.partition("/")[2])
        return file if self._build.is_chart and file in self._build.sources else ""

    @cached_property
    def _items(self) -> Sequence[_SourceValue]:
        """The values of the sources that can be read; a template often cannot."""
        items = list[_SourceValue]()
        for file in self._build.sources:
            text = self._read_file(file) or ""
            lines = NumberedLines(text)
            for chunk in chunks(text):
                try:
                    documents = read_documents(chunk.text, [])
                except DocumentError:
                    continue
                items += (
                    _SourceValue(file, lines, chunk, Address(chunk.start, chunk.end, number, path), value)
                    for number, document in enumerate(documents)
                    for path, value in items_of(document)
                )
        return items

    def _built(self, address: Address) -> Mapping[str, object]:
        return as_mapping(value_at(self._documents(address.start, address.end)[address.document], address.path))

    @cached_property
    def _objects_built(self) -> Sequence[Mapping[str, object]]:
        documents = (self._documents(chunk.start, chunk.end) for chunk in chunks(self._build.text))
        return [as_mapping(obj) for parts in documents for part in parts for _, obj in items_of(part)]

    def _may_become(self, source: object, obj: Mapping[str, object]) -> bool:
        """Return whether the object may be built from a value, which is one of its kind and name, or none at all."""
        if "kind" not in as_mapping(source):
            return True
        kind, name = texts_at(source, "kind", "metadata.name")
        built_kind, built_name = texts_at(obj, "kind", "metadata.name")
        renamed = self._renames and bool(name) and name in built_name
        return kind == built_kind and (name == built_name or renamed)

    @cached_property
    def _renames(self) -> bool:
        """Whether a kustomization gives names a prefix or a suffix."""
        return any(any(texts_at(item.value, "namePrefix", "nameSuffix")) for item in self._items)

    def _is_suppressed(self, located: Located, text: str) -> bool:
        """Return whether a comment at the line of the finding suppresses it."""
        return located.finding.rule in self._commented(text).get(located.line, ())


def _commented(text: str) -> Mapping[int, frozenset[str]]:
    """Return the rules that comments suppress, by line; what cannot be read, such as a template, has none."""
    rules, lines = dict[int, frozenset[str]](), NumberedLines(text)
    for chunk in chunks(text) if "evenkeel:" in text else ():
        try:
            read_documents(chunk.text, [])
        except DocumentError:
            continue
        for line, comments in by_line(comments_in(chunk.text), chunk, lines).items():
            rules[line] = frozenset(rule for comment in comments for rule in comment.rules)
    return rules


def _is_within(source: object, built: object) -> bool:
    """Return whether the built value is the source's, but for members that the build adds to objects."""
    if isinstance(source, dict) and isinstance(built, dict):
        return all(name in built and _is_within(value, built[name]) for name, value in source.items())
    return source == built


def _at_path(obj: Mapping[str, object], path: FieldPath, item: object, agree: Agree) -> Iterator[FieldPath]:
    """Yield the path if `item` is an object that has the same value there, or lacks it as `obj` does."""
    present = _present_part(obj, path)
    same = agree(value_at(item, path), value_at(obj, path)) if present == path else _present_part(item, path) == present
    if "kind" in as_mapping(item) and same:
        yield path


def _in_constraints(obj: Mapping[str, object], path: FieldPath, item: object, agree: Agree) -> Iterator[FieldPath]:
    """
    Yield the path of the same value in each constraint of `item` with the same topologyKey and whenUnsatisfiable.

    If the field is absent, yield its path in each such constraint that lacks it.
    """
    constraint_path = _constraint_in(path)
    constraint, below = value_at(obj, constraint_path), path[len(constraint_path) :]
    present = _present_part(constraint, below)
    for fragment in fragments_in(item, every_text=False):
        for i, written in enumerate(fragment.constraints if isinstance(fragment, Fragment) else ()):
            if _pair(written) != _pair(constraint):
                continue
            if present:
                same = agree(value_at(written, present), value_at(constraint, present))
            else:
                same = not _present_part(written, below)
            if same:
                yield (*fragment.path, i, *below)


def _present_part(value: object, path: FieldPath) -> FieldPath:
    """Return the longest beginning of a path that leads to something in a value."""
    while path and value_at(value, path) is None:
        path = path[:-1]
    return path


def _unrepaired(located: Located) -> Located:
    """Return the finding without a place in an object, and so without a repair."""
    return located._replace(finding=located.finding._replace(edit=None), address=None)


def _constraint_in(path: FieldPath) -> FieldPath:
    """Return the path of the constraint that a path leads into, () if it leads into none."""
    return path[: path.index(FIELD) + 2] if FIELD in path[:-1] else ()


def _pair(constraint: object) -> tuple[str, str]:
    """Return the keys by which kustomize merges a constraint; "" for a key that is not there."""
    key, when = texts_at(constraint, "topologyKey", "whenUnsatisfiable")
    return key, when


def by_source(results: Sequence[JudgedFile], builds: Iterable[Build]) -> Iterator[JudgedFile]:
    """
    Yield the results, with each finding moved to that of its file.  If several builds have it, the gravest one stays.

    That something has no effect is reported only where all builds say so.  A repair stays only where all builds agree
    on it, those that failed included.
    """
    by_file: dict[str, dict[tuple[object, ...], Located]] = {judged.file: {} for judged in results}
    builds = [*builds]
    built_from = Counter(file for build in builds if build.text for file in build.sources)
    goes_into = Counter(file for build in builds for file in build.sources)
    idle, repairs = Counter[object](), defaultdict[object, list[Edit | None]](list)
    for judged in results:
        repeats = Counter[tuple[object, ...]]()
        for located in judged.found:
            finding = located.finding
            at_beginning = (located.line, located.column) == (1, 1)
            told = (finding.rule, finding.message, located.identity if at_beginning else "")
            place = (located.file, located.line, located.column, *told)
            # The second of two equal findings of one build is another finding, not the first once more.
            repeats[place] += 1
            key = (*place, repeats[place])
            findings_in_file = by_file[located.file if located.file in by_file else judged.file]
            says_idle = bool(finding.idle) or finding.rule == UNUSED_SUPPRESSION
            if says_idle and built_from[located.file]:
                idle[key] += 1
            repairs[key].append(finding.edit)
            if finding.severity.rank < findings_in_file.setdefault(key, located).finding.severity.rank:
                findings_in_file[key] = located
    for judged in results:
        findings = [
            located if _all_repair(repairs[key], goes_into[located.file]) else _unrepaired(located)
            for key, located in by_file[judged.file].items()
            if idle[key] in (0, built_from[located.file])
        ]
        yield replace(judged, found=sorted(findings, key=lambda located: (located.line, located.column)))


def _all_repair(edits: Sequence[Edit | None], builds: int) -> bool:
    """Return whether all builds have the same repair; for a file that goes into none, its own is enough."""
    return all(edit == edits[0] for edit in edits) and len(edits) == max(builds, 1)
