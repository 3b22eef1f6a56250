"""
One run over files: judges each, repairs it on request, removes what the baseline accepts, and adds up the rest.

    file ──judge_files──> JudgedFile ──accepted, repair──> FileOutcome
                                              └──────────> LintSummary
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from evenkeel.lint.baseline import Accepted, Baseline, Entry, acceptable, baseline_text, unused_entry
from evenkeel.lint.files import FileReader, defect, judge_files
from evenkeel.lint.judgement import judge
from evenkeel.lint.other_files import OtherFiles
from evenkeel.lint.results import JudgedFile, LintSummary, Located, Problem
from evenkeel.lint.terms import LintTerms
from evenkeel.lint.walk import STANDARD_INPUT, NotFound
from webhook.findings.finding import Severity


class Rewrite(NamedTuple):
    """The text of a file before and after repairs; both are equal if no repair is safe."""

    old: str
    new: str


class FileOutcome(NamedTuple):
    """The result for one file."""

    judged: JudgedFile
    rewrite: Rewrite | None = None  # None if no repair was tried


class Session:
    """Judges files and adds up the results in `summary`."""

    def __init__(
        self,
        terms: LintTerms,
        reader: FileReader,
        baseline: Baseline,
        baseline_file: str = "",  # its name, "" if there is none
        before: Callable[[JudgedFile], JudgedFile] | None = None,  # what a file had before the change; accepted, too
        *,
        repairs: bool = False,  # findings are repaired
        writes: bool = False,  # and the text is written to the file, whose new findings are the outcome; not to stdin
        cpus: int = 1,
    ) -> None:
        self.summary = LintSummary()
        self.repairable = 0  # findings in the summary that have a repair to try
        self._terms, self._reader = terms, reader
        self._baseline, self._baseline_file, self._before = baseline, baseline_file, before
        self._repairs, self._writes = repairs, writes
        self._unused: list[Entry] = []
        self._cpus = cpus
        self._surroundings = OtherFiles(terms.built_by)

    def judge(self, files: Sequence[str], done: Callable[[int], None] = lambda _: None) -> Iterator[FileOutcome]:
        """
        Return the outcome of each file, in the given order.  WorkerDied if a process that judges them was killed.

        `done` is told how many files were judged, before the first outcome.
        """
        return map(self._outcome, judge_files(files, self._terms, self._reader, self._surroundings, done, self._cpus))

    def not_found(self, missing: NotFound) -> FileOutcome:
        """Return the outcome of a path that names no file."""
        return self._outcome(
            JudgedFile(missing.path, problems=[Problem(missing.path, 1, 1, missing.reason, lasting=False)])
        )

    def unused_entries(self) -> FileOutcome | None:
        """
        Return a finding for each baseline entry that accepts nothing, and add them to the summary; None if there are
        none.  Call it after all files were judged.

        Entries of rules that are off or were skipped are left out, because they may still be needed.
        """
        if self._terms.unused is Severity.IGNORE:
            return None
        not_run = {rule for rule, setting in self._terms.policy.settings.items() if setting.severity is Severity.IGNORE}
        not_run |= {skipped.rule for skipped in self.summary.skipped}
        entries = [entry for entry in self._unused if entry.rule not in not_run]
        if not entries:
            return None
        judged = JudgedFile(self._baseline_file)
        judged.found = [unused_entry(entry, judged.file, self._terms.unused) for entry in entries]
        self.summary.add(judged, files=0)  # the baseline is not a manifest
        return FileOutcome(judged)

    def write_baseline(self) -> None:
        """Write a baseline that accepts every finding and lasting problem; OSError if it cannot be written."""
        from evenkeel.lint import file_writing

        accepted = acceptable(self.summary.found, self.summary.problems)
        entries = ((self._name_in_baseline(result.file), result) for result in accepted)
        file_writing.write_new(self._baseline_file, baseline_text(entries))

    def _outcome(self, judged: JudgedFile) -> FileOutcome:
        accepted, rewrite = self._accepted(judged), None
        if self._repairs and self._to_repair(accepted):
            judged, rewrite = self._repaired(judged, self._to_repair(accepted))
            accepted = self._accepted(judged)
        if not judged.problems:  # otherwise an entry may be for what could not be judged
            self._unused += accepted.unused
        judged.found, judged.problems = accepted.new, accepted.problems
        if judged.file == STANDARD_INPUT and not (judged.documents or judged.problems or judged.notes):
            message = "contains no document; did the command before the pipe fail?"
            judged.problems.append(Problem(STANDARD_INPUT, 1, 1, message, lasting=False))
        self.summary.accepted += accepted.count
        self.summary.before += accepted.before
        self.repairable += len(self._to_repair(accepted))
        self.summary.add(judged)
        return FileOutcome(judged, rewrite)

    def _accepted(self, judged: JudgedFile) -> Accepted:
        name = self._name_in_baseline(judged.file) if self._baseline.entries else judged.file
        accepted = self._baseline.accept(name, judged.found, judged.problems)
        if self._before is None or not (accepted.new or accepted.problems or accepted.unused):
            return accepted
        before = self._before(judged)
        return accepted.since(self._baseline.accept(name, before.found, before.problems))

    def _name_in_baseline(self, file: str) -> str:
        """Return the path relative to the folder of the baseline, wherever the command is run."""
        if file == STANDARD_INPUT:
            return file
        folder = os.path.dirname(os.path.realpath(self._baseline_file))
        return os.path.relpath(os.path.realpath(file), folder).replace(os.sep, "/")

    def _repaired(self, judged: JudgedFile, to_repair: Sequence[Located]) -> tuple[JudgedFile, Rewrite | None]:
        """Return the result after the repair was written; else `judged`, with a problem if the repair failed."""
        from evenkeel.lint import file_writing  # Only --fix and --diff need them.
        from evenkeel.lint.repair import repair, repair_once

        text = self._reader.text(judged.file)
        if not isinstance(text, str):
            return judged, None
        try:
            if judged.file in self._terms.judged_as_built:
                repaired = repair_once(judged, text, to_repair)
            else:
                repaired = repair(
                    judged.file, text, self._judge_beside, lambda again: self._to_repair(self._accepted(again))
                )
        except Exception as error:
            judged.problems.append(defect(judged.file, "repaired", error))
            return judged, None
        rewrite = Rewrite(text, repaired.text)
        if not self._writes or not repaired.count or judged.file == STANDARD_INPUT:
            return judged, rewrite
        try:
            file_writing.write_over(judged.file, text, repaired.text)
        except OSError as error:
            judged.problems.append(Problem(judged.file, 1, 1, f"cannot be repaired: {error.strerror}", lasting=False))
            return judged, rewrite
        self.summary.repaired += repaired.cautions
        return repaired.left, rewrite

    def _judge_beside(self, file: str, text: str) -> JudgedFile:
        """Return the findings in a text of this file, with the neighbours that it has in other files."""
        judged = judge(file, text, self._terms)
        around = self._surroundings.around(file, judged.states)
        return judge(file, text, self._terms, around) if around else judged

    def _to_repair(self, accepted: Accepted) -> list[Located]:
        """Return the errors and warnings that have a repair.  To repair an info would roll out again what works."""
        return [
            located
            for located in accepted.new
            if located.finding.edit is not None and located.finding.severity is not Severity.INFO
        ]
