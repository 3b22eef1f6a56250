"""
Judge manifests as evenkeel's webhook would, each finding at its line, before anything reaches a cluster.

Reads YAML and JSON files, all those in folders save what .gitignore names, patterns, and standard input:

    evenkeel lint deploy/
    helm template CHART | evenkeel lint -
    kustomize build FOLDER | evenkeel lint -
    kubectl get deploy,sts,ds,cj -A -o yaml | evenkeel lint -

A comment at the end of a line silences a rule there:  # evenkeel: ignore[rule-id]

Exit code 0: nothing found, 1: findings at or above --fail-on, 2: bad usage, or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from webhook.cli import inputs
from webhook.cli.rules import suggestion
from webhook.cli.usage import UsageError
from webhook.findings.finding import Severity
from webhook.lint import files as judging
from webhook.lint import writing
from webhook.lint.baseline import Accepted, Baseline, BaselineError, Entry, read_baseline, said_of
from webhook.lint.baseline import baseline_text as write_baseline
from webhook.lint.files import FileReader
from webhook.lint.repair import repair
from webhook.lint.results import UNUSED_SUPPRESSION, Judged, Problem, Summary
from webhook.lint.terms import LintTerms
from webhook.lint.walk import STANDARD_INPUT, NotFound, find
from webhook.manifests.configurations import SYSTEM_NAMESPACES
from webhook.policy.policy import PolicyError
from webhook.render import github, lint_json, lint_text, progress
from webhook.render.diff import as_diff
from webhook.rules import RULES

FORMATS = ("text", "json", "sarif", "github", "junit")
SEVERITIES = [str(severity) for severity in Severity if severity is not Severity.IGNORE]
PATIENCE = 1.0  # seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="a file, a folder, a pattern such as 'apps/**/*.yaml', or -"
    )
    parser.add_argument(
        "-o",
        "--output",
        "--format",
        metavar="FORMAT",
        choices=FORMATS,
        default="text",
        help=f"{', '.join(FORMATS)} (default: %(default)s)",
    )
    parser.add_argument("--fix", action="store_true", help="repair what has exactly one right answer, in the files")
    parser.add_argument("--diff", action="store_true", help="show what --fix changes; without it, change nothing")
    parser.add_argument(
        "--rule", metavar="ID=SEVERITY", action="append", default=[], help="a severity, or ignore; repeatable"
    )
    parser.add_argument(
        "--fail-on",
        metavar="SEVERITY",
        choices=SEVERITIES,
        default="error",
        help=f"exit 1 for findings as grave as this: {', '.join(SEVERITIES)} (default: %(default)s)",
    )
    parser.add_argument("--baseline", metavar="FILE", help="accept the findings that stand in FILE")
    parser.add_argument("--write-baseline", action="store_true", help="accept all of today's: write them to --baseline")
    parser.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        default=[],
        help="in folders, what this line of a .gitignore names; repeatable",
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", default="default", help="of objects that name none (default: %(default)s)"
    )
    inputs.add_cluster_argument(parser)
    inputs.add_policy_argument(parser)
    inputs.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    _check(args)
    files, missing = _files(args)
    reader, baseline = FileReader(), _baseline(args)
    lint = _Lint(args, _terms(args, files, reader), reader, baseline)
    for one in missing:
        lint.take(Judged(one.path, problems=[Problem(one.path, 1, 1, one.reason)]))
    try:
        for judged in _with_progress(judging.judge_files(files, lint.terms, reader), len(files)):
            lint.take(judged)
    except judging.Died as error:
        raise UsageError(str(error)) from error
    if args.write_baseline:
        return _write_baseline(args, lint.summary)
    lint.conclude()
    code = _exit_code(lint.summary, Severity(args.fail_on))
    _print(args, lint, [*(one.path for one in missing), *files], code)
    return code


def _check(args: argparse.Namespace) -> None:
    if args.write_baseline and args.baseline is None:
        raise UsageError("--write-baseline: needs --baseline FILE to write to")
    if args.write_baseline and (args.fix or args.diff):
        raise UsageError("--write-baseline: cannot be combined with --fix or --diff; repair first")
    if args.fix and STANDARD_INPUT in args.paths:
        raise UsageError("--fix: standard input cannot be repaired; give files, or --diff to see the repair")


def _files(args: argparse.Namespace) -> tuple[list[str], list[NotFound]]:
    """What is to be judged, and what cannot be found; to have nothing to judge is bad usage."""
    files, missing = find(args.paths, args.exclude)
    if missing and not files:
        raise UsageError("\n".join(map(str, missing)))
    return files, missing


def _terms(args: argparse.Namespace, files: list[str], reader: FileReader) -> LintTerms:
    severities = dict(map(_severity, args.rule))
    unused = severities.pop(UNUSED_SUPPRESSION, Severity.WARNING)
    try:
        policy = inputs.policy(args.policy).with_severities(severities)
    except PolicyError as error:
        raise UsageError("\n".join(f"--rule: {cause}" for cause in error.causes)) from error
    cluster = inputs.cluster(args.cluster)
    context = judging.context(files, reader)
    return LintTerms(
        policy,
        context.snapshot(cluster),
        inputs.features(args.kubernetes_version),
        namespace=args.namespace,
        never_sent=frozenset(SYSTEM_NAMESPACES),
        unused=unused,
        patches=frozenset(context.patches),
    )


def _severity(text: str) -> tuple[str, Severity]:
    rule, equals, severity = text.partition("=")
    if not equals or severity not in list(Severity):
        raise UsageError(f'--rule: found "{text}", wanted ID=SEVERITY, a severity being {", ".join(Severity)}')
    if rule not in RULES and rule != UNUSED_SUPPRESSION:
        raise UsageError(f'--rule: found "{rule}", wanted a rule; {suggestion(rule)}')
    return rule, Severity(severity)


def _baseline(args: argparse.Namespace) -> Baseline:
    if args.baseline is None or args.write_baseline:
        return Baseline()
    try:
        return read_baseline(inputs.text(Path(args.baseline)))
    except BaselineError as error:
        raise UsageError(f"{args.baseline}: {error}") from error


def _write_baseline(args: argparse.Namespace, summary: Summary) -> int:
    text = write_baseline((_named(one.file, args.baseline), one) for one in summary.found)
    try:
        writing.replace(os.path.realpath(args.baseline), text)
    except OSError as error:
        raise UsageError(f"{args.baseline}: {error.strerror}") from error
    files = lint_text.many(len({one.file for one in summary.found}), "file")
    print(f"{args.baseline}: accepts {lint_text.many(len(summary.found), 'finding')} in {files}")
    for problem in summary.problems:
        print(f"evenkeel: {problem.file}:{problem.line}:{problem.column}: {problem.message}", file=sys.stderr)
    return 2 if summary.problems else 0


def _named(file: str, baseline: str) -> str:
    """A file as the baseline names it: from its own folder, wherever it is used from."""
    if file == STANDARD_INPUT:
        return file
    folder = os.path.dirname(os.path.realpath(baseline))
    return os.path.relpath(os.path.realpath(file), folder).replace(os.sep, "/")


class _Lint:
    """Takes in what came of each file; text is printed as it comes, anything else at the end."""

    def __init__(self, args: argparse.Namespace, terms: LintTerms, reader: FileReader, baseline: Baseline) -> None:
        self.args, self.terms, self.reader, self.baseline = args, terms, reader, baseline
        self.summary, self.style = Summary(), lint_text.Style(_coloured())
        self.repairable = 0
        self.idle: list[Entry] = []

    def take(self, judged: Judged) -> None:
        accepted = self._accepted(judged)
        if (self.args.fix or self.args.diff) and any(one.finding.edit is not None for one in accepted.new):
            judged = self._repaired(judged)
            accepted = self._accepted(judged)
        judged.found = accepted.new
        if judged.file == STANDARD_INPUT and not (judged.documents or judged.problems or judged.passed_over):
            judged.problems.append(Problem(STANDARD_INPUT, 1, 1, "holds no document: did what writes to it fail?"))
        self.idle += accepted.idle if not judged.problems else []
        self.summary.accepted += accepted.count
        self.repairable += sum(one.finding.edit is not None for one in accepted.new)
        self._add(judged)

    def conclude(self) -> None:
        """Say what of the baseline accepts nothing; of rules that are off or were skipped it cannot be known."""
        off = {rule for rule, one in self.terms.policy.settings.items() if one.severity is Severity.IGNORE}
        off |= {skipped.rule for skipped in self.summary.skipped}
        judged = Judged(self.args.baseline or "")
        if self.terms.unused is not Severity.IGNORE:
            told = (entry for entry in self.idle if entry.rule not in off)
            judged.found = [said_of(entry, judged.file, self.terms.unused) for entry in told]
        if judged.found:
            self._add(judged)
            self.summary.files -= 1

    def _add(self, judged: Judged) -> None:
        self.summary.add(judged)
        if self.args.output == "text" and not self.args.write_baseline and (said := lint_text.file(judged, self.style)):
            print(said)

    def _accepted(self, judged: Judged) -> Accepted:
        name = _named(judged.file, self.args.baseline) if self.baseline.entries else judged.file
        return self.baseline.accept(name, judged.found)

    def _repaired(self, judged: Judged) -> Judged:
        """What is to be said of a file once it is repaired; without --fix, what was to be said before."""
        text = self.reader.text(judged.file)
        if not isinstance(text, str):
            return judged
        try:
            repaired = repair(judged.file, text, self.terms, lambda again: self._accepted(again).new)
        except Exception as error:
            judged.problems.append(judging.defect(judged.file, "repaired", error))
            return judged
        if self.args.diff:
            print(
                as_diff(judged.file, text, repaired.text), file=sys.stdout if self.args.output == "text" else sys.stderr
            )
        if not self.args.fix or not repaired.count:
            return judged
        try:
            writing.write(judged.file, text, repaired.text)
        except OSError as error:
            judged.problems.append(Problem(judged.file, 1, 1, f"cannot be repaired: {error.strerror}"))
            return judged
        self.summary.repaired += repaired.count
        return repaired.left


def _exit_code(summary: Summary, fail_on: Severity) -> int:
    if summary.problems:
        return 2
    return int(any(one.finding.severity.rank <= fail_on.rank for one in summary.found))


def _print(args: argparse.Namespace, lint: _Lint, files: list[str], code: int) -> None:
    summary = lint.summary
    if args.output == "text":
        print(lint_text.summary(summary, lint.style, 0 if args.fix else lint.repairable))
    elif args.output == "json":
        print(lint_json.as_json(summary))
    elif args.output == "sarif":
        from webhook.render import sarif

        print(sarif.as_sarif(summary, code))
    elif args.output == "github":
        if said := github.as_commands(summary):
            print(said)
    else:
        from webhook.render import junit

        print(junit.as_xml(summary, files))


def _coloured() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _with_progress(results: Iterable[Judged], total: int) -> Iterator[Judged]:
    """Each result, and on a terminal how far it has come once that takes longer than a second."""
    stream, begun, shown = sys.stderr, time.monotonic(), 0.0
    watched = stream is not None and stream.isatty()
    for done, judged in enumerate(results, 1):
        now = time.monotonic()
        if shown:
            progress.clear(stream)
        yield judged
        if watched and now - begun > PATIENCE and (shown or now - shown > PATIENCE):
            progress.show(stream, done, total)
            shown = now
    if shown:
        progress.clear(stream)
