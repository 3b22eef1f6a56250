"""
Test a policy: give each object of *.evenkeel-test.yaml the webhook's answer, and compare that with what is expected.

    evenkeel policy test PATH…          run the tests in files and folders
    evenkeel policy test --init NEW.evenkeel-test.yaml --policy FILE PATH…
                                        write a test of what a policy does with manifests today

Exit code 0: every answer is as expected, 1: one is not, 2: a file cannot be used; the others are still tested.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from webhook.admission.dry_run import Applied, dry_run
from webhook.admission.ownership import account_of
from webhook.admission.policy_test import Case, CaseResult, Given, PolicyTest, judge, parse_policy_test, today
from webhook.admission.terms import Terms
from webhook.cli.admit import identity
from webhook.documents.reading import objects_of
from webhook.documents.scalars import DocumentError
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.lint.walk import STANDARD_INPUT, find
from webhook.loading import inputs
from webhook.loading.usage import UsageError
from webhook.manifests.configurations import SYSTEM_NAMESPACES
from webhook.objects.fields import as_mapping
from webhook.objects.kinds import find_kinds
from webhook.objects.reading import brief
from webhook.objects.references import ObjectRef, controller_of
from webhook.policy.parsing import policy_of
from webhook.policy.policy import Policy, PolicyError
from webhook.render import policy_test as render
from webhook.render.policy_test import FileResults
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot, SnapshotError, from_objects

SUFFIX = ".evenkeel-test.yaml"
DEFAULT_NAMESPACE = "default"  # of objects that name none
OUTPUT_FORMS = {"text": render.text, "json": render.as_json, "junit": render.as_xml}
Raw = Mapping[str, object]
Read = Callable[[str], tuple[Raw, ...]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="PATH", nargs="+", help=f"tests, and folders with *{SUFFIX}; with --init, manifests"
    )
    parser.add_argument(
        "-o", "--output", choices=tuple(OUTPUT_FORMS), default="text", help="the form of the output (default: text)"
    )
    parser.add_argument(
        "--init", metavar="FILE", help="write a test with a case for each object of PATH that is judged; - prints it"
    )
    parser.add_argument("--policy", metavar="FILE", help="with --init: the policy (default: the built-in policy)")
    parser.add_argument(
        "--cluster", metavar="FILE|DIR", help="with --init: a dump of a cluster, from evenkeel dump or kubectl get"
    )
    parser.add_argument("--kubernetes-version", metavar="VERSION", help="with --init: the version of the cluster")


def run(args: argparse.Namespace) -> int:
    if args.init is not None:
        return _init(args)
    for option in ("policy", "cluster", "kubernetes_version"):
        if getattr(args, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')}: is for --init; a test names its own in the file")
    results = [_run(file) for file in _tests(args.path)]
    problems = [problem for each in results for problem in each.problems]
    if args.output != "text" or len(problems) < len(results):
        print(OUTPUT_FORMS[args.output](results))
    if problems:
        raise UsageError("\n".join(problems))
    return 1 if any(each.failed for each in results) else 0


def _tests(paths: Iterable[str]) -> list[str]:
    """The files with tests: those that are named, and those of folders by their ending."""
    found = dict[str, None]()
    for path in paths:
        files, missing = find([path])
        if missing:
            raise UsageError(str(missing[0]))
        below = [file for file in files if file.endswith(SUFFIX)] if os.path.isdir(path) else files
        if not below:
            raise UsageError(f"{path}: found no file that ends in {SUFFIX}; --init writes one")
        found |= dict.fromkeys(below)
    return list(found)


def _run(file: str) -> FileResults:
    """The results of one file, or all that is wrong with it."""
    folder, read = os.path.dirname(file), cache(inputs.objects)
    try:
        with _at(file):
            test = parse_policy_test(Path(file).read_text("utf-8"))
            terms = _terms(test, folder)
    except UsageError as error:
        return FileResults(file, problems=tuple(str(error).split("\n")))
    results, problems = list[CaseResult](), list[str]()
    for i, case in enumerate(test.cases):
        try:
            results.append(judge(case.name, case.expect, _applied(case, f"{file}: cases[{i}]", terms, folder, read)))
        except UsageError as error:
            problems += str(error).split("\n")
    return FileResults(file, () if problems else tuple(results), tuple(problems))


def _terms(test: PolicyTest, folder: str) -> Terms:
    """Return the policy and the cluster of a test; a single review has no other objects beside it."""
    dump = inputs.NO_CLUSTER
    if isinstance(test.cluster, str):
        with _at("cluster"):
            dump = inputs.Source(_path(folder, test.cluster))
    features = inputs.features(test.kubernetes_version or None, dump, "kubernetesVersion")
    with _at("policy"):
        policy = _policy(test.policy, folder, features)
        policy = policy.on(test.today) if test.today else policy
    with _at("cluster"):
        if isinstance(test.cluster, str | None):
            return Terms(policy, inputs.cluster(dump, features, policy.watch_pods), features)
        return Terms(policy, _inline(test.cluster, features), features)


def _policy(given: Given | None, folder: str, features: Features) -> Policy:
    if given is None or isinstance(given, str):
        return inputs.policy(None if given is None else Path(_path(folder, given)), features)
    return policy_of(given, features)


def _inline(given: object, features: Features) -> Snapshot:
    """The cluster whose objects, or lists of objects, stand in the test."""
    return from_objects(
        (obj for item in (given if isinstance(given, list) else [given]) for obj in objects_of(item)),
        features,
    )


def _applied(case: Case, where: str, terms: Terms, folder: str, read: Read) -> Applied:
    with _at(f"{where}.object"):
        obj = _object(case.obj, folder, read)
    if case.old is None:
        return _answer(obj, None, case.user, terms)
    with _at(f"{where}.old"):
        old = _object(case.old, folder, read)
        if identity(old, DEFAULT_NAMESPACE) != identity(obj, DEFAULT_NAMESPACE):
            raise UsageError(f'found "{ObjectRef.of(old)}", wanted "{ObjectRef.of(obj)}": an update is of one object')
    return _answer(obj, old, case.user, terms)


def _answer(obj: Raw, old: Raw | None, user: str, terms: Terms) -> Applied:
    return dry_run(obj, old, terms, namespace=DEFAULT_NAMESPACE, user=user, never_sent=SYSTEM_NAMESPACES)


def _object(given: Given, folder: str, read: Read) -> Raw:
    """The object that stands in the test, or in a file: FILE, or FILE#KIND/NAME where that has several."""
    if not isinstance(given, str):
        if not all(isinstance(given.get(field), str) and given[field] for field in ("apiVersion", "kind")):
            raise UsageError("must have apiVersion and kind")
        return given
    name, wanted = given, ""
    if "#" in given and not os.path.lexists(os.path.join(folder, given)):
        name, _, wanted = given.rpartition("#")
    objects = read(_path(folder, name))
    named = [obj for obj in objects if not wanted or wanted in _names(obj)]
    if len(named) == 1:
        return named[0]
    known = " or ".join(f"{name}#{_names(obj)[-1]}" for obj in objects[:3])
    raise UsageError(f"found {brief(given)}, which is {len(named)} objects, wanted one; write {known}")


def _names(obj: Raw) -> tuple[str, ...]:
    """What an object is called after #, the shortest first."""
    ref = ObjectRef.of(obj)
    return (f"{ref.kind}/{ref.name}", *([f"{ref.kind}/{ref.namespace}/{ref.name}"] if ref.namespace else []))


def _path(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    if not os.path.lexists(path):
        raise UsageError(f"found {brief(name)}, wanted a file; paths are relative to the folder of the test")
    return os.path.join(".", path) if path in (inputs.LIVE, STANDARD_INPUT) else path


@contextmanager
def _at(where: str) -> Iterator[None]:
    """Put `where` before each line of an error."""
    try:
        yield
    except (UsageError, PolicyError, SnapshotError, DocumentError) as error:
        raise UsageError("\n".join(f"{where}: {line}" for line in str(error).split("\n"))) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: is not UTF-8") from error
    except OSError as error:
        raise UsageError(f"{where}: {error.strerror}") from error


def _init(args: argparse.Namespace) -> int:
    """Write a test that the policy passes today."""
    printed = args.init == STANDARD_INPUT
    if not printed and not args.init.endswith(SUFFIX):
        raise UsageError(f"--init: found {brief(args.init)}, wanted a name that ends in {SUFFIX}, or -")
    if args.cluster == inputs.LIVE:
        raise UsageError(
            "--cluster: found live, wanted a file, which evenkeel dump writes: a test is the same each day"
        )
    folder = "." if printed else os.path.dirname(args.init) or "."
    relative = partial(os.path.relpath, start=folder)
    head = {
        **({"policy": relative(args.policy)} if args.policy else {}),
        **({"cluster": relative(args.cluster)} if args.cluster else {}),
        **({"kubernetesVersion": args.kubernetes_version} if args.kubernetes_version else {}),
    }
    source = inputs.Source(args.cluster or "")
    features = inputs.features(args.kubernetes_version, source)
    policy = inputs.policy(Path(args.policy) if args.policy else None, features)
    if any(override.until for override in policy.overrides):
        head["today"] = inputs.today()
        policy = policy.on(head["today"])
    terms = Terms(policy, inputs.cluster(source, features, policy.watch_pods), features)
    found = [_case(obj, given, terms) for obj, given in _manifests(args.path, terms, relative)]
    cases = _unlike([case for case in found if _can_be_written(case)])
    if not cases:
        raise UsageError(f"{' '.join(args.path)}: found no object that the policy judges")
    text = render.as_file(f"What {args.policy or 'the built-in policy'} does today.", head, cases)
    if printed:
        print(text, end="")
        return 0
    try:
        with open(args.init, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"--init: {args.init} is there already; remove it, or write another") from error
    except OSError as error:
        raise UsageError(f"--init: {args.init}: {error.strerror}") from error
    print(f"{args.init}: {len(cases)} case{'' if len(cases) == 1 else 's'}")
    return 0


def _manifests(paths: Iterable[str], terms: Terms, relative: Callable[[str], str]) -> Iterator[tuple[Raw, Given]]:
    """Each object that is judged, and how a test names it: by its file, or in full where that is not clear."""
    for path in paths:
        files, missing = find([path])
        if missing:
            raise UsageError(str(missing[0]))
        for file in files:
            objects = _read(file, named=not os.path.isdir(path))
            times = Counter(name for obj in objects for name in _names(obj))
            for obj in objects:
                if find_kinds(obj, terms.policy.kinds):
                    alone = next((name for name in _names(obj) if times[name] == 1), None)
                    if file == STANDARD_INPUT or (alone is None and len(objects) > 1):
                        yield obj, obj
                    else:
                        yield obj, relative(file) if len(objects) == 1 else f"{relative(file)}#{alone}"


def _read(file: str, named: bool) -> tuple[Raw, ...]:
    """The objects of a file; in a folder there may be other files."""
    if file.endswith(SUFFIX):
        return ()
    try:
        return inputs.objects(file)
    except UsageError as error:
        if named:
            raise
        print(f"note: passed over {error}", file=sys.stderr)
        return ()


def _case(obj: Raw, given: Given, terms: Terms) -> dict[str, object]:
    """A case of what becomes of an object today; what a built-in controller owns is sent by that controller."""
    ref, owner = ObjectRef.of(obj), controller_of(as_mapping(obj.get("metadata")))
    user = account_of(ref.kind, owner) if owner is not None else None
    return {
        "name": str(ref),
        "object": given,
        **({"user": user} if user else {}),
        "expect": today(_answer(obj, None, user or "", terms)),
    }


def _can_be_written(case: Mapping[str, object]) -> bool:
    """Whether YAML can hold a case: JSON may have half a character, which kube-apiserver replaces."""
    try:
        json.dumps(case, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        print(one_line(f"note: passed over {case['name']}: has a character that is none", LINE_LIMIT), file=sys.stderr)
        return False
    return True


def _unlike(cases: list[dict[str, object]]) -> list[dict[str, object]]:
    """The cases, each with a name of its own."""
    times, seen = Counter(case["name"] for case in cases), Counter[object]()
    for case in cases:
        name = case["name"]
        seen[name] += 1
        if times[name] > 1:
            case["name"] = f"{name}, {case['object']}" if isinstance(case["object"], str) else f"{name} ({seen[name]})"
    return cases
