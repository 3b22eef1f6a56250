"""
The lines that the findings on a build come from.

    finding on a build ──in_sources──> the one line of base/web.yaml with that value, or the first of the kustomization
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import eq

from webhook.documents.positions import spans
from webhook.documents.reading import items_of, read_documents
from webhook.documents.scalars import DocumentError
from webhook.findings.finding import Finding
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


def in_sources(judged: JudgedFile, build: Build, own: Sequence[Located], read_file: ReadFile) -> JudgedFile:
    """
    Return the result of a build with each finding at the line that it comes from.

    `own` are the findings on the text of the kustomization itself, which may have patches.  Where no line, or more than
    one, has the value that was found, a finding stands at the beginning of the template or of the kustomization.  A
    comment at the line suppresses it.  No finding keeps a repair, which may not fit other builds.
    """
    findings, suppressed = list[Located](), judged.suppressed
    for located in judged.found:
        located = located._replace(finding=located.finding._replace(edit=None))
        moved = _where_certain(located, build, own, read_file)
        if moved is None:
            findings.append(_at_beginning(located, build, read_file))
        elif _is_suppressed(moved, read_file(moved.file) or ""):
            suppressed += 1
        else:
            findings.append(moved._replace(source=" ".join(build.command)))
    notes = [note._replace(line=1, column=1) for note in judged.notes]
    problems = [problem._replace(line=1, column=1) for problem in judged.problems]
    return replace(judged, found=findings, suppressed=suppressed, notes=notes, problems=problems)


Agree = Callable[[object, object], bool]  # whether the value in a source may become the one that is built


def _where_certain(located: Located, build: Build, own: Sequence[Located], read_file: ReadFile) -> Located | None:
    """Return the finding at the one place of the sources with the same value, or else one to which a build adds."""
    for agree in (eq, _is_within):
        places = {(moved.file, moved.line): moved for moved in _moved(located, build, read_file, agree)}
        if places:
            return next(iter(places.values())) if len(places) == 1 else None
    of_patch = [patched for patched in own if _says_the_same(patched.finding, located.finding)]
    if len(of_patch) != 1:
        return None
    (patched,) = of_patch
    return patched._replace(finding=located.finding, object=located.object, identity=located.identity, address=None)


def _is_within(source: object, built: object) -> bool:
    """Return whether a build adds nothing but members of objects."""
    if isinstance(source, dict) and isinstance(built, dict):
        return all(name in built and _is_within(value, built[name]) for name, value in source.items())
    return source == built


def _says_the_same(finding: Finding, other: Finding) -> bool:
    return (finding.rule, finding.found, finding.path[-1:]) == (other.rule, other.found, other.path[-1:])


def _moved(located: Located, build: Build, read_file: ReadFile, agree: Agree) -> Iterator[Located]:
    """Yield the finding at each place of the sources from which it may come."""
    if build.is_chart:
        yield from _in_template(located, build, read_file)
    if located.address is None:
        return
    built = located.address
    document = read_documents(build.text[built.start : built.end], [])[built.document]
    obj = as_mapping(value_at(document, built.path))
    for file in build.sources:
        text = read_file(file)
        if text is None or (FIELD in located.finding.path and FIELD not in text):
            continue
        for chunk in chunks(text):
            for address, path in _same_values(obj, located.finding.path, chunk, agree):
                finding = located.finding._replace(path=path)
                root = spans(chunk.text, [(*address.path, *path)])[address.document]
                yield placed(file, NumberedLines(text), chunk, root, address, finding, located.object, located.identity)


def _same_values(
    obj: Mapping[str, object], path: FieldPath, chunk: Chunk, agree: Agree
) -> Iterator[tuple[Address, FieldPath]]:
    """Yield each place in a chunk of a source whose value agrees with that of the object that is built at `path`."""
    try:
        documents = read_documents(chunk.text, [])
    except DocumentError:  # a template
        return
    for number, document in enumerate(documents):
        for at, item in items_of(document):
            if "kind" in as_mapping(item) and not _may_become(as_mapping(item), obj):
                continue
            places = _in_constraints(obj, path, item, agree) if FIELD in path[:-1] else _at_path(obj, path, item, agree)
            yield from ((Address(chunk.start, chunk.end, number, at), place) for place in places)


def _may_become(source: Mapping[str, object], obj: Mapping[str, object]) -> bool:
    """Return whether an object may be built from another; a name may get a prefix and a suffix."""
    (kind, name), (of_kind, of_name) = (texts_at(each, "kind", "metadata.name") for each in (source, obj))
    return kind == of_kind and name in of_name


def _at_path(obj: Mapping[str, object], path: FieldPath, item: object, agree: Agree) -> Iterator[FieldPath]:
    there = _there(obj, path)
    if "kind" in as_mapping(item) and there and agree(value_at(item, there), value_at(obj, there)):
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


def _in_template(located: Located, build: Build, read_file: ReadFile) -> Iterator[Located]:
    """Yield the finding at each line of its template that is the line that was rendered."""
    file = _template(located, build)
    for number, line in enumerate((read_file(file) or "").splitlines() if file else (), 1):
        if line.strip() == located.quoted.strip():
            column = len(line) - len(line.lstrip()) + 1
            end = len(line.rstrip()) + 1
            yield located._replace(file=file, line=number, column=column, end_column=end, quoted=line, address=None)


def _template(located: Located, build: Build) -> str:
    """Return the file of the template, which helm names below the chart's name; "" if it is not in the input."""
    file = build.beside(located.source.partition("/")[2])
    return file if file in build.sources else ""


def _at_beginning(located: Located, build: Build, read_file: ReadFile) -> Located:
    file = (build.is_chart and _template(located, build)) or build.file
    quoted = (read_file(file) or "").split("\n", 1)[0].rstrip()
    source = f"{' '.join(build.command)}, line {located.line}"
    end = max(len(quoted), 1) + 1
    return located._replace(file=file, line=1, column=1, end_column=end, quoted=quoted, address=None, source=source)


def _is_suppressed(located: Located, text: str) -> bool:
    """Return whether a comment at the line of the finding suppresses it."""
    lines = NumberedLines(text)
    for chunk in chunks(text) if "evenkeel:" in text and not located.finding.enforced else ():
        try:
            on_line = by_line(comments_in(chunk.text), chunk, lines).get(located.line, ())
        except DocumentError:
            continue
        if any(located.finding.rule in comment.rules for comment in on_line):
            return True
    return False


def by_source(results: Sequence[JudgedFile]) -> Iterator[JudgedFile]:
    """Yield the results with each finding in that of its file; once, and the gravest, where several builds have it."""
    by_file: dict[str, dict[tuple[object, ...], Located]] = {judged.file: {} for judged in results}
    for judged in results:
        times = Counter[tuple[object, ...]]()
        for located in judged.found:
            at_top, finding = (located.line, located.column) == (1, 1), located.finding
            what = (finding.rule, finding.message, located.identity if at_top else "")
            place = (located.file, located.line, located.column, *what)
            times[place] += 1
            key, of_file = (*place, times[place]), by_file[located.file if located.file in by_file else judged.file]
            if finding.severity.rank < of_file.setdefault(key, located).finding.severity.rank:
                of_file[key] = located
    for judged in results:
        of_place = sorted(by_file[judged.file].values(), key=lambda located: (located.line, located.column))
        yield replace(judged, found=of_place)
