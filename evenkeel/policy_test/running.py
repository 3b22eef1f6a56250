"""
Runs the tests of policies: each object gets the webhook's answer, which is compared with what is expected.

    files ──files_of──> each file ──run_file──> FileResults
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from evenkeel.admit.dry_run import Applied, dry_run
from evenkeel.clusters import reading, sources
from evenkeel.lint.walk import STANDARD_INPUT, find
from evenkeel.policy_test.form import Case, CaseResult, Given, PolicyTest, judge, parse_policy_test
from evenkeel.policy_test.text import FileResults
from evenkeel.scheduler.snapshot import Snapshot, from_objects
from evenkeel.terminal import inputs
from webhook.admission.terms import Terms
from webhook.cli import options
from webhook.cli.usage import UsageError
from webhook.kubernetes.documents import objects_of
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.kubernetes.reader import brief
from webhook.kubernetes.references import ObjectRef, identity_of
from webhook.kubernetes.scalars import DocumentError
from webhook.policy.parsing import policy_of
from webhook.policy.policy import Policy, PolicyError
from webhook.spread.cluster_view import SnapshotError

SUFFIX = ".evenkeel-test.yaml"
DEFAULT_NAMESPACE = "default"  # of objects that name none
Read = Callable[[str], tuple[Raw, ...]]


def files_of(paths: Iterable[str]) -> list[str]:
    """Return the files with tests: each that is named, and in folders those that end in SUFFIX."""
    test_files = dict[str, None]()
    for path in paths:
        files, missing = find([path])
        if missing:
            raise UsageError(str(missing[0]))
        below = [file for file in files if file.endswith(SUFFIX)] if os.path.isdir(path) else files
        if not below:
            raise UsageError(f"{path}: found no file that ends in {SUFFIX}; --init writes one")
        test_files |= dict.fromkeys(below)
    return list(test_files)


def run_file(file: str) -> FileResults:
    """Return the results of one file, and all that is wrong with it."""
    folder, read = os.path.dirname(file), cache(inputs.objects)
    cases: tuple[Case, ...] = ()
    try:
        with naming(file):
            test = parse_policy_test(Path(file).read_text("utf-8"))
            cases = test.cases
            terms = _terms(test, folder)
    except UsageError as error:
        return FileResults(file, tuple(_without_result(case, error) for case in cases), tuple(str(error).split("\n")))
    results, problems = list[CaseResult](), list[str]()
    for i, case in enumerate(cases):
        try:
            applied = _applied(case, f"{file}: cases[{i}]", terms.on(case.today or test.today), folder, read)
            results.append(judge(case.name, case.expect, applied))
        except UsageError as error:
            results.append(_without_result(case, error))
            problems += str(error).split("\n")
    return FileResults(file, tuple(results), tuple(problems))


def _without_result(case: Case, error: UsageError) -> CaseResult:
    return CaseResult(case.name, case.expect, {}, problem="; ".join(str(error).split("\n")))


def _terms(test: PolicyTest, folder: str) -> Terms:
    """Return the policy, with the overrides of all days, and the cluster of a test."""
    dump = sources.NO_CLUSTER
    if isinstance(test.cluster, str):
        with naming("cluster"):
            dump = sources.Source(_path(folder, test.cluster))
    features = reading.features(test.kubernetes_version or None, dump, "kubernetesVersion")
    with naming("policy"):
        policy = _policy(test.policy, folder, features)
    with naming("cluster"):
        if isinstance(test.cluster, str | None):
            return Terms(policy, reading.cluster(dump), features)
        return Terms(policy, _inline(test.cluster, features), features)


def _policy(given: Given | None, folder: str, features: Features) -> Policy:
    if given is None or isinstance(given, str):
        return options.policy(None if given is None else Path(_path(folder, given)), features)
    return policy_of(given, features)


def _inline(given: object, features: Features) -> Snapshot:
    """Return the cluster whose objects, or lists of objects, stand in the test."""
    return from_objects(
        (obj for item in (given if isinstance(given, list) else [given]) for obj in objects_of(item)),
        features,
    )


def _applied(case: Case, where: str, terms: Terms, folder: str, read: Read) -> Applied:
    with naming(f"{where}.object"):
        obj = object_of(case.obj, folder, read)
    if case.old is None:
        return answer_to(obj, None, case.user, terms)
    with naming(f"{where}.old"):
        old = object_of(case.old, folder, read)
        if identity_of(old, DEFAULT_NAMESPACE) != identity_of(obj, DEFAULT_NAMESPACE):
            raise UsageError(f'found "{ObjectRef.of(old)}", wanted "{ObjectRef.of(obj)}": an update is of one object')
    return answer_to(obj, old, case.user, terms)


def answer_to(obj: Raw, old: Raw | None, user: str, terms: Terms) -> Applied:
    return dry_run(obj, old, terms, namespace=DEFAULT_NAMESPACE, user=user, never_sent=SYSTEM_NAMESPACES)


def object_of(given: Given, folder: str, read: Read) -> Raw:
    """Return the object that stands in the test, or in a file: FILE, or FILE#KIND/NAME where that has several."""
    if not isinstance(given, str):
        if not all(isinstance(given.get(field), str) and given[field] for field in ("apiVersion", "kind")):
            raise UsageError("must have apiVersion and kind")
        return given
    name, wanted = given, ""
    if "#" in given and not os.path.lexists(os.path.join(folder, given)):
        name, _, wanted = given.rpartition("#")
    objects = read(_path(folder, name))
    matching = [obj for obj in objects if not wanted or wanted in names_of(obj)]
    if len(matching) == 1:
        return matching[0]
    choices = " or ".join(f"{name}#{names_of(obj)[-1]}" for obj in objects[:3])
    raise UsageError(f"found {brief(given)}, which is {len(matching)} objects, wanted one; write {choices}")


def names_of(obj: Raw) -> tuple[str, ...]:
    """Return the names of an object that may stand after #, the shortest first."""
    ref = ObjectRef.of(obj)
    return (f"{ref.kind}/{ref.name}", *([f"{ref.kind}/{ref.namespace}/{ref.name}"] if ref.namespace else []))


def _path(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    if not os.path.lexists(path):
        raise UsageError(f"found {brief(name)}, wanted a file; paths are relative to the folder of the test")
    return os.path.join(".", path) if path in (options.LIVE, STANDARD_INPUT) else path


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Put `where` before each line of an error."""
    try:
        yield
    except (UsageError, PolicyError, SnapshotError, DocumentError) as error:
        raise UsageError("\n".join(f"{where}: {line}" for line in str(error).split("\n"))) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: is not UTF-8") from error
    except OSError as error:
        raise UsageError(f"{where}: {error.strerror}") from error
