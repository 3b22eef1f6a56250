"""
Judge manifests as the webhook does, and report findings with file and line.

Reads YAML and JSON from files, folders (without what .gitignore excludes), patterns, and standard input:

    evenkeel lint deploy/
    helm template CHART | evenkeel lint -
    kustomize build FOLDER | evenkeel lint -
    kubectl get deploy,sts,ds,cj -A -o yaml | evenkeel lint -

To suppress a rule on a line, write a comment on that line or on the line above:  # evenkeel: ignore[rule-id]

A file .evenkeel.yaml can set the same as the options. It lies at the top of the git repository, or in the folder that
you name.

Exit code 0: no finding at or above --fail-on, 1: such findings, 2: bad usage, a file that cannot be read, or nothing to
judge.
"""

# A hook starts lint for each commit: what few runs need is imported in the functions that need it.
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evenkeel.catalogue.markdown import suggestion
from evenkeel.clusters import sources
from evenkeel.lint import text as lint_text
from evenkeel.lint.baseline import Baseline, BaselineError, read_baseline
from evenkeel.lint.builds import AUTO, BUILD_CHOICES, NEVER_BUILT, Build
from evenkeel.lint.configuration import (
    CONFIGURATION_NAME,
    ConfigurationError,
    LintConfiguration,
    parse_configuration,
)
from evenkeel.lint.files import FileReader, WorkerDied, judge_files, read_context, read_overlays
from evenkeel.lint.gitignore import Ignore, parse_gitignore
from evenkeel.lint.openshift import with_monitoring
from evenkeel.lint.other_files import OtherFiles
from evenkeel.lint.overlays import Overlays
from evenkeel.lint.results import JudgedFile, LintSummary
from evenkeel.lint.session import FileOutcome, Session
from evenkeel.lint.terms import LintTerms
from evenkeel.lint.walk import STANDARD_INPUT, NotFound, find, root_of
from evenkeel.terminal import inputs, progress
from evenkeel.terminal.processes import cpus
from evenkeel.terminal.style import UNCOLOURED, Style, add_color_argument, style_of
from webhook.cli import options
from webhook.cli.usage import UsageError, not_among, print_notes
from webhook.findings.finding import UNUSED_SUPPRESSION, Severity
from webhook.findings.rule import RoomFor
from webhook.findings.wording import LINE_LIMIT, number_of, one_line
from webhook.kubernetes.features import Features
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.kubernetes.reader import brief
from webhook.policy.policy import Policy, PolicyError
from webhook.rules import RULES
from webhook.spread.cluster_view import ClusterView

DOCUMENTS = ("json", "sarif", "junit")  # are read by programs, which take no empty file
FORMATS = ("text", "concise", "json", "sarif", "github", "junit")
DOCS = "EVENKEEL_DOCS"  # is the URL of the folder docs
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"  # names a file
MISNAMED_CONFIGURATION = CONFIGURATION_NAME.replace(".yaml", ".yml")


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
    options.add_quiet_argument(parser, "print only findings and problems, no notes and no totals")
    add_color_argument(parser)
    parser.add_argument(
        "--fix", action="store_true", help="repair, in the files, errors and warnings that have exactly one fix"
    )
    parser.add_argument("--diff", action="store_true", help="print what --fix would change, and change no file")
    parser.add_argument(
        "--rule",
        metavar="ID=SEVERITY",
        action="append",
        default=[],
        help="set the severity of a rule, or ignore; repeatable",
    )
    inputs.add_fail_on_argument(parser)
    parser.add_argument(
        "--allow-none",
        action="store_true",
        help="exit with 0 if there is no Kubernetes object and no constraint to judge",
    )
    parser.add_argument(
        "--build",
        choices=BUILD_CHOICES,
        default=NEVER_BUILT,
        help="auto: run kustomize and helm on kustomizations and charts, and judge what they build "
        "(default: %(default)s)",
    )
    parser.add_argument("--baseline", metavar="FILE", help="accept the findings and problems listed in FILE")
    parser.add_argument(
        "--write-baseline", action="store_true", help="write all findings and problems to --baseline FILE"
    )
    parser.add_argument(
        "--since",
        metavar="REF",
        help="report only what is new since the last commit that HEAD shares with this commit, branch or tag",
    )
    parser.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        default=[],
        help="exclude files in folders by a .gitignore pattern; files that you name are judged anyway; repeatable",
    )
    parser.add_argument(
        "--include-system",
        action="store_true",
        help=f"also judge objects in {' and '.join(SYSTEM_NAMESPACES)}; the webhook gets no object of these namespaces",
    )
    inputs.add_namespace_argument(parser, "the namespace of objects without one")
    inputs.add_namespace_labels_argument(parser)
    sources.add_cluster_arguments(parser)
    options.add_policy_argument(parser)
    options.add_version_argument(parser)


def run(args: argparse.Namespace) -> int:
    _check(args)
    configured = _configured(args.paths)
    if not configured.file:
        print_notes(_misnamed(args.paths), args.quiet)
    files, missing = _files(args, configured)
    reader, baseline = FileReader(), _baseline(args)
    terms = _terms(args, configured)
    before = _before(args, configured, files, terms)
    style = style_of(args.color)

    def begin() -> Session:
        return Session(
            _with_input(args, terms, files, args.paths, reader),
            reader,
            baseline,
            args.baseline or "",
            before,
            repairs=args.fix or args.diff,
            writes=args.fix and not args.diff,
            cpus=cpus(),
        )

    try:
        repaired, session, outcomes = _repaired_sources(args, begin, files)
        for path in missing:
            _print_outcome(args, style, session.not_found(path))
        for outcome in outcomes:
            _print_outcome(args, style, outcome)
        session.summary.repaired += repaired
    except WorkerDied as error:
        raise UsageError(str(error)) from error
    judged_files = [*(path.path for path in missing), *files]
    if session.summary.holds_nothing and not args.allow_none:
        if args.output in DOCUMENTS and not args.write_baseline:
            _print_summary(args, style, session, judged_files, 2)
        raise UsageError(lint_text.nothing_to_judge(session.summary))
    if args.write_baseline:
        return _write_baseline(args, session)
    if unused := session.unused_entries():
        _print_outcome(args, style, unused)
    code = _exit_code(session.summary, Severity(args.fail_on))
    _print_summary(args, style, session, judged_files, code)
    return code


def _repaired_sources(
    args: argparse.Namespace, begin: Callable[[], Session], files: Sequence[str]
) -> tuple[list[str], Session, Iterable[FileOutcome]]:
    """
    Return the cautions of the repairs in sessions before, the last session, and the outcomes of the files in it.

    A repair of a source may change any build, so with --build auto all is built again in a new session.
    """
    repaired, rounds = list[str](), 0
    if args.fix and not args.diff and args.build == AUTO:
        from evenkeel.lint.repair import MOST_ROUNDS

        rounds = MOST_ROUNDS
    for _ in range(rounds):
        session = begin()
        outcomes = [*_outcomes(session, files)]
        if not session.summary.repaired:
            return repaired, session, outcomes
        repaired += session.summary.repaired
    session = begin()
    return repaired, session, _outcomes(session, files)


def _outcomes(session: Session, files: Sequence[str]) -> Iterator[FileOutcome]:
    with progress.bar(len(files), "files") as done:
        yield from session.judge(files, done)


def _check(args: argparse.Namespace) -> None:
    if args.write_baseline and args.baseline is None:
        raise UsageError("--write-baseline: needs --baseline FILE to write to")
    if args.write_baseline and (args.fix or args.diff):
        raise UsageError("--write-baseline: cannot be combined with --fix or --diff; repair first")
    if args.write_baseline and args.since is not None:
        raise UsageError("--write-baseline: cannot be combined with --since; a baseline holds all findings")
    if args.since is not None and STANDARD_INPUT in args.paths:
        raise UsageError("--since: git does not know what standard input was before; give files or folders")
    if args.fix and not args.diff and STANDARD_INPUT in args.paths:
        raise UsageError("--fix: standard input cannot be repaired; give files, or add --diff to see the repair")


class _Configured(NamedTuple):
    """The configuration of the repository."""

    file: str = ""  # its name, "" if there is none
    settings: LintConfiguration = LintConfiguration()

    def excluding(self, folder: str = "") -> list[Ignore]:
        """Return the patterns to exclude, relative to `folder`, or else to the folder of the file."""
        folder = folder or os.path.dirname(os.path.realpath(self.file))
        return [parse_gitignore("\n".join(self.settings.excludes), folder)] if self.settings.excludes else []

    @property
    def policy(self) -> Path | None:
        """The path of its policy, None if it names none.  UsageError if there is no such file."""
        if not self.settings.policy:
            return None
        path = Path(self.file).parent / self.settings.policy
        if not path.is_file():
            value = f"policy: found {brief(self.settings.policy)}"
            raise UsageError(f"{self.file}: {value}, wanted a file; the path is relative to the folder of this file")
        return path


def _configured(paths: Sequence[str]) -> _Configured:
    """Return the configuration for the paths; UsageError if they have several, or it cannot be used."""
    candidates = (os.path.join(root_of(path), CONFIGURATION_NAME) for path in paths)
    files = [os.path.relpath(file) for file in dict.fromkeys(candidates) if os.path.isfile(file)]
    if len(files) > 1:
        raise UsageError(f"found {' and '.join(files)}, wanted one; lint them in separate runs")
    if not files:
        return _Configured()
    (file,) = files
    try:
        return _Configured(file, parse_configuration(options.text(Path(file))))
    except ConfigurationError as error:
        raise UsageError("\n".join(f"{file}: {cause}" for cause in error.causes)) from error


def _misnamed(paths: Sequence[str]) -> Iterator[str]:
    """Yield a note for each file whose name is nearly that of a configuration."""
    for file in dict.fromkeys(os.path.join(root_of(path), MISNAMED_CONFIGURATION) for path in paths):
        if os.path.isfile(file):
            yield f"{os.path.relpath(file)}: is not read; rename it {CONFIGURATION_NAME}"


def _files(args: argparse.Namespace, configured: _Configured) -> tuple[list[str], list[NotFound]]:
    """Return the files to judge, and the paths that were not found.  UsageError if there is no file at all."""
    files, missing = find(args.paths, args.exclude, configured.excluding())
    if missing and not files:
        raise UsageError("\n".join(map(str, missing)))
    return files, missing


def _terms(args: argparse.Namespace, configured: _Configured) -> LintTerms:
    """Return the terms for any input: the policy, the cluster and what options set."""
    severities = dict(map(_severity, args.rule))
    in_file = dict(configured.settings.rules)
    unused_in_file = in_file.pop(UNUSED_SUPPRESSION, Severity.WARNING)
    unused = severities.pop(UNUSED_SUPPRESSION, unused_in_file)
    source = sources.source(args)
    features = _features(args, source)
    policy = inputs.with_operators(inputs.policy_of_today(args.policy or configured.policy, features))
    policy = replace(policy, kinds=with_monitoring(policy.kinds))
    if args.policy:  # a policy on the command line wins over the configuration
        in_file = {rule: severity for rule, severity in in_file.items() if not policy.gives(rule)}
    policy = _with_severities(policy, in_file, f"{configured.file}: rules.")
    policy = _with_severities(policy, severities, "--rule: ")
    snapshot, room_for = _cluster(source, features)
    return LintTerms(
        policy,
        snapshot,
        features,
        room_for=room_for,
        labels={**configured.settings.namespaces, **inputs.namespace_labels(args)},
        foresees=True,
        namespace=args.namespace,
        never_sent=frozenset() if args.include_system else frozenset(SYSTEM_NAMESPACES),
        unused=unused,
    )


def _features(args: argparse.Namespace, source: sources.Source) -> Features:
    if not source.cluster:
        return options.features(args.kubernetes_version, quiet=args.quiet)
    from evenkeel.clusters import reading

    return reading.features(args.kubernetes_version, source, quiet=args.quiet)


def _cluster(source: sources.Source, features: Features) -> tuple[ClusterView | None, RoomFor | None]:
    """Return the cluster, and a function that finds the room in it; None without --cluster."""
    if not source.cluster:
        return None, None
    from evenkeel.clusters.snapshots import snapshot
    from evenkeel.scheduler.replica_room import room_for

    return snapshot(source, features), room_for


def _with_input(
    args: argparse.Namespace, terms: LintTerms, files: Sequence[str], paths: Sequence[str], reader: FileReader
) -> LintTerms:
    """Return the terms with what the files, to which `paths` lead, state for each other."""
    snapshots = {folder: context.snapshot(terms.snapshot) for folder, context in read_context(files, reader).items()}
    overlays = read_overlays(files, reader, paths)
    return replace(
        terms,
        snapshot=snapshots.pop(""),
        patches=overlays.patches,
        kustomized=overlays.kustomized,
        built_by=overlays.built_by,
        named=frozenset(map(os.path.normpath, paths)),
        fixtures=snapshots,
        builds=_builds(args, overlays, files, reader) if args.build == AUTO else {},
    )


def _builds(
    args: argparse.Namespace, overlays: Overlays, files: Sequence[str], reader: FileReader
) -> Mapping[str, Build]:
    """Build the kustomizations and charts of the files, by the file of each."""
    from evenkeel.lint.building import build_all, chart_roots

    roots = {**overlays.roots, **chart_roots(files, reader.text_of_file)}
    helm_options = ["--namespace", args.namespace]
    if args.kubernetes_version:
        helm_options += ["--kube-version", args.kubernetes_version]
    builds = dict[str, Build]()
    with progress.bar(len(roots), "builds") as done:
        for build in build_all(roots, cpus(), helm_options):
            builds[build.file] = build
            done(len(builds))
    return builds


def _before(
    args: argparse.Namespace, configured: _Configured, files: Sequence[str], terms: LintTerms
) -> Callable[[JudgedFile], JudgedFile] | None:
    """Return a function that gives the result of a file before the change; UsageError if git cannot tell."""
    if args.since is None:
        return None
    from evenkeel.lint.since import SinceError, TreeBefore, read_change, within

    tops = [*dict.fromkeys(map(root_of, args.paths))]
    if len(tops) > 1:
        raise UsageError(
            f"--since: found paths in {' and '.join(tops)}, wanted one git repository; lint them in separate runs"
        )
    (top,) = tops

    def judge_before(tree: str) -> Iterator[JudgedFile]:
        names = [*(within(path, top) for path in args.paths), *change.old_names(files)]
        paths = [os.path.normpath(os.path.join(tree, name)) for name in names]
        old_files, _ = find(paths, args.exclude, configured.excluding(tree))
        reader = FileReader()
        with progress.bar(len(old_files), "files before the change") as done:
            old_terms = _with_input(args, terms, old_files, paths, reader)
            yield from judge_files(old_files, old_terms, reader, OtherFiles(old_terms.built_by), done, cpus())

    def result_before(judged: JudgedFile) -> JudgedFile:
        try:
            return tree(judged)
        except SinceError as error:
            raise UsageError(f"--since: {error}") from error

    try:
        change = read_change(args.since, top)
    except SinceError as error:
        raise UsageError(f"--since: {error}") from error
    tree = TreeBefore(change, files, judge_before, copies=args.build == AUTO)
    return result_before


def _with_severities(policy: Policy, severities: Mapping[str, Severity], said_by: str) -> Policy:
    """Return a policy with other severities; UsageError if a rule cannot have its own."""
    try:
        return policy.with_severities(severities)
    except PolicyError as error:
        raise UsageError("\n".join(f"{said_by}{cause}" for cause in error.causes)) from error


def _severity(text: str) -> tuple[str, Severity]:
    rule, equals, severity = text.partition("=")
    if not equals:
        raise UsageError(f'--rule: found "{text}", wanted ID=SEVERITY, with a severity of {", ".join(Severity)}')
    if rule not in RULES and rule != UNUSED_SUPPRESSION:
        raise UsageError(f'--rule: found "{rule}", wanted a rule; {suggestion(rule)}')
    if severity not in list(Severity):
        raise UsageError(f"--rule {rule}: {not_among(severity, Severity)}")
    return rule, Severity(severity)


def _baseline(args: argparse.Namespace) -> Baseline:
    if args.baseline is None or args.write_baseline:
        return Baseline()
    if not os.path.exists(args.baseline):
        raise UsageError(f"{args.baseline}: No such file or directory; --write-baseline writes it")
    try:
        return read_baseline(options.text(Path(args.baseline)))
    except BaselineError as error:
        raise UsageError(f"{args.baseline}: {error}") from error


def _write_baseline(args: argparse.Namespace, session: Session) -> int:
    summary = session.summary
    try:
        session.write_baseline()
    except OSError as error:
        raise UsageError(f"{args.baseline}: {error.strerror}") from error
    problems = [problem for problem in summary.problems if problem.lasting]
    files = number_of(len({located.file for located in summary.found} | {problem.file for problem in problems}), "file")
    accepted = [number_of(len(summary.found), "finding")]
    if problems:
        accepted.append(number_of(len(problems), "problem"))
    print(f"wrote {one_line(args.baseline, LINE_LIMIT)}: accepts {' and '.join(accepted)} in {files}")
    for problem in summary.problems:
        line = f"{problem.file}:{problem.line}:{problem.column}: {problem.message}"
        print(f"evenkeel: {one_line(line, LINE_LIMIT)}", file=sys.stderr)
    return 0 if len(problems) == len(summary.problems) else 2


def _print_outcome(args: argparse.Namespace, style: Style, outcome: FileOutcome) -> None:
    """Print the repair of a file as a diff and, as text, its findings; other formats are printed at the end."""
    judged, rewrite = outcome
    if args.diff and rewrite is not None:
        from evenkeel.terminal.diff import as_diff

        diff = as_diff(judged.file, rewrite.old, rewrite.new)
        print(diff, file=sys.stdout if args.output == "text" else sys.stderr)
    if args.write_baseline or args.output not in ("text", "concise"):
        return
    is_text = args.output == "text"
    if text := lint_text.file(judged, style) if is_text else lint_text.concise(judged.problems, judged.found):
        print(text)


def _exit_code(summary: LintSummary, fail_on: Severity) -> int:
    if summary.problems:
        return 2
    return int(any(located.finding.severity.rank <= fail_on.rank for located in summary.found))


def _print_summary(args: argparse.Namespace, style: Style, session: Session, files: list[str], code: int) -> None:
    summary = session.summary
    if args.output in ("text", "concise"):
        if not args.quiet:
            stream = sys.stdout if args.output == "text" else sys.stderr
            style = style if args.output == "text" else UNCOLOURED
            print(*lint_text.summary(summary, style, 0 if args.fix else session.repairable), sep="\n", file=stream)
            print_notes(lint_text.notes(summary))
    elif args.output == "json":
        from evenkeel.lint import as_json

        print(as_json.as_json(summary))
    elif args.output == "sarif":
        from evenkeel.lint import sarif

        print(sarif.as_sarif(summary, code, os.environ.get(DOCS, "").rstrip("/")))
    elif args.output == "github":
        from evenkeel.lint import github

        if commands := github.as_commands(summary):
            print(commands)
        if not _is_summed_up(summary):
            print_notes(lint_text.notes(summary), args.quiet)
    else:
        from evenkeel.lint import junit

        print(junit.as_xml(summary, files))


def _is_summed_up(summary: LintSummary) -> bool:
    """Add the results to the summary of the step on GitHub, and return whether there is one and it can be written."""
    from evenkeel.lint import markdown

    try:
        with open(os.environ.get(STEP_SUMMARY, ""), "a", encoding="utf-8") as file:
            file.write(f"{markdown.as_markdown(summary)}\n")
    except OSError:
        return False
    return True
