"""
The lines that the findings on a build come from.

    finding on a build ──in_sources──> the one line of base/web.yaml with that value, or the first of the kustomization
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from operator import eq
from typing import NamedTuple

from webhook.documents.positions import spans
from webhook.documents.reading import items_of, read_documents
from webhook.documents.scalars import DocumentError
from webhook.findings.finding import UNUSED_SUPPRESSION
from webhook.lint.builds import Build
from webhook.lint.chunks import Chunk, NumberedLines, chunks
from webhook.lint.fragments import Fragment, fragments_in
from webhook.lint.kustomization import ReadFile
from webhook.lint.patched_fields import pair
from webhook.lint.places import placed
from webhook.lint.results import Address, JudgedFile, Located
from webhook.lint.suppressions import by_line, comments_in
from webhook.objects.fields import FieldPath, as_mapping, texts_at, value_at
from webhook.objects.kinds import FIELD
from webhook.objects.references import ObjectRef

_What = tuple[str, str]  # the rule, and what was found
Agree = Callable[[object, object], bool]  # whether the value in a source may become the one that is built


class _SourceValue(NamedTuple):
    """An object of a source, or its only value, such as that of a file of values."""

    file: str
    lines: NumberedLines
    chunk: Chunk
    address: Address
    value: object


class OwnFindings(NamedTuple):
    """The findings on the text of a kustomization, which may have patches; those that a comment suppresses apart."""

    kept: Sequence[Located] = ()
    suppressed: Sequence[Located] = ()


class _SourceLine(NamedTuple):
    """A line from which a finding may come, and whether a comment suppresses the finding there."""

    located: Located
    suppressed: bool = False


def in_sources(judged: JudgedFile, build: Build, own: OwnFindings, read_file: ReadFile) -> JudgedFile:
    """
    Return the result of a build with each finding at the line that it comes from.

    Where no line, or more than one, may have caused a finding, it stands at the beginning of the template or of the
    kustomization.  A comment at the line suppresses it.  No finding keeps a repair, which may not fit other builds.
    """
    sources = _Sources(build, read_file)
    findings, suppressed = list[Located](), judged.suppressed
    alike = Counter(map(_what, judged.found))
    for located in judged.found:
        located = located._replace(finding=located.finding._replace(edit=None))
        place = sources.place_of(located) or sources.of_patch(located, own, alike) or sources.beginning(located)
        if place.suppressed and not located.finding.enforced:
            suppressed += 1
        else:
            findings.append(place.located)
    notes = [note._replace(line=1, column=1) for note in judged.notes]
    problems = [problem._replace(line=1, column=1) for problem in judged.problems]
    return replace(judged, found=findings, suppressed=suppressed, notes=notes, problems=problems)


class _Sources:
    """The sources of a build, each of which is read once."""

    def __init__(self, build: Build, read_file: ReadFile) -> None:
        self._build, self._read_file, self._command = build, read_file, " ".join(build.command)
        self._documents = cache(lambda start, end: read_documents(build.text[start:end], []))
        self._commented = cache(_commented)

    def place_of(self, located: Located) -> _SourceLine | None:
        """Return the one place of the sources with the same value, or else the one to which the build adds."""
        for agree in (eq, _is_within):
            places = {(place.located.file, place.located.line): place for place in self._places(located, agree)}
            if places:
                return next(iter(places.values())) if len(places) == 1 else None
        return None

    def of_patch(self, located: Located, own: OwnFindings, alike: Mapping[_What, int]) -> _SourceLine | None:
        """
        Return the one place of a patch in the kustomization on which a finding says the same.

        Of a JSON patch nobody knows here for which objects it is: then nothing else that is built must say the same.
        """
        places = [
            _SourceLine(patched, suppressed)
            for of_text, suppressed in ((own.kept, False), (own.suppressed, True))
            for patched in of_text
            if _what(patched) == _what(located) and _is_of(patched.object, located.object, alike[_what(located)])
        ]
        if len(places) != 1:
            return None
        ((patched, suppressed),) = places
        moved = patched._replace(finding=located.finding, object=located.object, identity=located.identity)
        return _SourceLine(moved._replace(address=None, source=self._command), suppressed)

    def beginning(self, located: Located) -> _SourceLine:
        """Return the first line of the template or of the kustomization."""
        file = self._template(located) or self._build.file
        text = self._read_file(file) or ""
        quoted = text.split("\n", 1)[0].rstrip()
        source, end = f"{self._command}, line {located.line}", max(len(quoted), 1) + 1
        first = located._replace(
            file=file, line=1, column=1, end_column=end, quoted=quoted, address=None, source=source
        )
        return _SourceLine(first, self._is_suppressed(first, text))

    def _places(self, located: Located, agree: Agree) -> Iterator[_SourceLine]:
        """Yield each place from which the finding may come."""
        yield from self._in_template(located)
        if located.address is None:
            return
        path, obj = located.finding.path, self._built(located.address)
        if self._build.is_chart and self._times_built(obj, path) > 1:
            return
        for item in self._items:
            if not self._may_become(item.value, obj):
                continue
            for there in (_in_constraints if FIELD in path[:-1] else _at_path)(obj, path, item.value, agree):
                root = spans(item.chunk.text, [(*item.address.path, *there)])[item.address.document]
                what = located.finding._replace(path=there), located.object, located.identity
                moved = placed(item.file, item.lines, item.chunk, root, item.address, *what)
                moved = moved._replace(source=self._command)
                yield _SourceLine(moved, self._is_suppressed(moved, item.lines.text))

    def _in_template(self, located: Located) -> Iterator[_SourceLine]:
        """Yield each line of the template that is the line that was rendered, if the template makes one object."""
        file = self._template(located)
        if not file or self._build.text.count(f"# Source: {located.source}\n") > 1:
            return
        for number, line in enumerate((self._read_file(file) or "").splitlines(), 1):
            if line.strip() == located.quoted.strip():
                column, end = len(line) - len(line.lstrip()) + 1, len(line.rstrip()) + 1
                there = located._replace(file=file, line=number, column=column, end_column=end, quoted=line)
                yield _SourceLine(there._replace(address=None, source=self._command))  # Helm keeps comments.

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
    def _constraints_built(self) -> Sequence[object]:
        """Every constraint that is built."""
        fragments = (
            fragment
            for chunk in chunks(self._build.text)
            if chunk.may_have_constraints
            for document in self._documents(chunk.start, chunk.end)
            for fragment in fragments_in(document, every_text=False)
        )
        return [each for fragment in fragments if isinstance(fragment, Fragment) for each in fragment.constraints]

    def _times_built(self, obj: Mapping[str, object], path: FieldPath) -> int:
        """Return how often the constraint at a path is built: values may go into several objects."""
        constraint = value_at(obj, path[: path.index(FIELD) + 2]) if FIELD in path[:-1] else None
        return sum(each == constraint for each in self._constraints_built)

    def _may_become(self, source: object, obj: Mapping[str, object]) -> bool:
        """Return whether the object may be built from a value, which is one of its kind and name, or none at all."""
        if "kind" not in as_mapping(source):
            return True
        (kind, name), (of_kind, of_name) = (texts_at(each, "kind", "metadata.name") for each in (source, obj))
        return kind == of_kind and (name == of_name or (self._renames and bool(name) and name in of_name))

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
    """Return whether a build adds nothing but members of objects."""
    if isinstance(source, dict) and isinstance(built, dict):
        return all(name in built and _is_within(value, built[name]) for name, value in source.items())
    return source == built


def _at_path(obj: Mapping[str, object], path: FieldPath, item: object, agree: Agree) -> Iterator[FieldPath]:
    """Yield the path if its value is there in an object, too; where it is absent, if it is absent in both."""
    there = _there(obj, path)
    same = agree(value_at(item, path), value_at(obj, path)) if there == path else _there(item, path) == there
    if "kind" in as_mapping(item) and same:
        yield path


def _in_constraints(obj: Mapping[str, object], path: FieldPath, item: object, agree: Agree) -> Iterator[FieldPath]:
    """
    Yield the path of the same value in a constraint with the same keys; where the field is absent, that of each such
    constraint without it.
    """
    at = path.index(FIELD) + 2
    constraint, below = value_at(obj, path[:at]), path[at:]
    there = _there(constraint, below)
    for fragment in fragments_in(item, every_text=False):
        for i, written in enumerate(fragment.constraints if isinstance(fragment, Fragment) else ()):
            if pair(written) != pair(constraint):
                continue
            if agree(value_at(written, there), value_at(constraint, there)) if there else not _there(written, below):
                yield (*fragment.path, i, *below)


def _there(value: object, path: FieldPath) -> FieldPath:
    """Return as much of a path as there is in a value."""
    while path and value_at(value, path) is None:
        path = path[:-1]
    return path


def _what(located: Located) -> _What:
    return located.finding.rule, located.finding.found


def _is_of(patched: ObjectRef | None, built: ObjectRef | None, alike: int) -> bool:
    if patched is None or built is None or patched.kind != built.kind:
        return alike == 1
    return patched.name == built.name


def by_source(results: Sequence[JudgedFile], builds: Iterable[Build]) -> Iterator[JudgedFile]:
    """
    Yield the results with each finding in that of its file; once, and the gravest, where several builds have it.

    What does something on one build is of use: that it does nothing is reported only where all builds agree.
    """
    by_file: dict[str, dict[tuple[object, ...], Located]] = {judged.file: {} for judged in results}
    built_from = Counter(file for build in builds if build.text for file in build.sources)
    idle = Counter[object]()
    for judged in results:
        times = Counter[tuple[object, ...]]()
        for located in judged.found:
            first, finding = (located.line, located.column) == (1, 1), located.finding
            what = (finding.rule, finding.message, located.identity if first else "")
            place = (located.file, located.line, located.column, *what)
            times[place] += 1
            key, of_file = (*place, times[place]), by_file[located.file if located.file in by_file else judged.file]
            says_idle = bool(finding.idle) or finding.rule == UNUSED_SUPPRESSION
            idle[key] += says_idle and bool(built_from[located.file])
            if finding.severity.rank < of_file.setdefault(key, located).finding.severity.rank:
                of_file[key] = located
    for judged in results:
        kept = [located for key, located in by_file[judged.file].items() if idle[key] in (0, built_from[located.file])]
        yield replace(judged, found=sorted(kept, key=lambda located: (located.line, located.column)))
