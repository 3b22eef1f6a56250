"""Writes a test of what a policy does with manifests today."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from evenkeel.clusters import reading, sources
from evenkeel.lint.walk import STANDARD_INPUT, find
from evenkeel.policy_test import text as render
from evenkeel.policy_test.form import Given, as_expectation
from evenkeel.policy_test.running import SUFFIX, answer_to, names_of
from evenkeel.terminal import inputs
from webhook.admission.ownership import account_of
from webhook.admission.terms import Terms
from webhook.cli import options
from webhook.cli.usage import UsageError, print_notes
from webhook.findings.wording import number_of
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.kinds import find_kinds
from webhook.kubernetes.reader import brief
from webhook.kubernetes.references import ObjectRef, owner_of


def write(name: str, paths: Sequence[str], policy_file: str | None, dump: str | None, version: str | None) -> None:
    """Write a test, which a policy passes today, to the file `name`; - prints it."""
    printed = name == STANDARD_INPUT
    if not printed and not name.endswith(SUFFIX):
        raise UsageError(f"--init: found {brief(name)}, wanted a name that ends in {SUFFIX}, or -")
    if dump == options.LIVE:
        raise UsageError(
            "--cluster: found live, wanted a file, which evenkeel dump writes: "
            "the result of a test must not change with the cluster"
        )
    folder = "." if printed else os.path.dirname(name) or "."
    relative = partial(os.path.relpath, start=folder)
    head = {
        **({"policy": relative(policy_file)} if policy_file else {}),
        **({"cluster": relative(dump)} if dump else {}),
        **({"kubernetesVersion": version} if version else {}),
    }
    source = sources.Source(dump or "")
    features = reading.features(version, source)
    policy = options.policy(Path(policy_file) if policy_file else None, features)
    if any(override.until for override in policy.overrides):
        head["today"] = options.today()
        policy = policy.on(head["today"])
    terms = Terms(policy, reading.cluster(source), features)
    every_case = [_case(obj, given, terms) for obj, given in _manifests(paths, terms, relative)]
    cases = _unlike([case for case in every_case if _can_be_written(case)])
    if not cases:
        found_none = f"{' '.join(paths)}: found no object that the policy judges"
        raise UsageError(f"{found_none}; give other files, or add their kinds to workloads in the policy")
    text = render.as_file(f"What {policy_file or 'the built-in policy'} does today.", head, cases)
    if printed:
        print(text, end="")
        return
    try:
        with open(name, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"--init: {name} already exists; remove it, or write another") from error
    except OSError as error:
        raise UsageError(f"--init: {name}: {error.strerror}") from error
    print(f"{name}: {number_of(len(cases), 'case')}")


def _manifests(paths: Iterable[str], terms: Terms, relative: Callable[[str], str]) -> Iterator[tuple[Raw, Given]]:
    """Yield each object that is judged, and how a test names it: by its file, or in full where that is not clear."""
    for path in paths:
        files, missing = find([path])
        if missing:
            raise UsageError(str(missing[0]))
        for file in files:
            objects = _read(file, named=not os.path.isdir(path))
            times = Counter(name for obj in objects for name in names_of(obj))
            for obj in objects:
                if find_kinds(obj, terms.policy.kinds):
                    unique_name = next((name for name in names_of(obj) if times[name] == 1), None)
                    if file == STANDARD_INPUT or (unique_name is None and len(objects) > 1):
                        yield obj, obj
                    else:
                        yield obj, relative(file) if len(objects) == 1 else f"{relative(file)}#{unique_name}"


def _read(file: str, named: bool) -> tuple[Raw, ...]:
    """Return the objects of a file; in a folder there may be other files."""
    if file.endswith(SUFFIX):
        return ()
    try:
        return inputs.objects(file)
    except UsageError as error:
        if named:
            raise
        print_notes([f"passed over {error}"])
        return ()


def _case(obj: Raw, given: Given, terms: Terms) -> dict[str, object]:
    """Return a case of what becomes of an object today.  An object with a built-in controller is sent by that."""
    ref, owner = ObjectRef.of(obj), owner_of(obj)
    user = account_of(ref.kind, owner) if owner is not None else None
    return {
        "name": str(ref),
        "object": given,
        **({"user": user} if user else {}),
        "expect": as_expectation(answer_to(obj, None, user or "", terms)),
    }


def _can_be_written(case: Mapping[str, object]) -> bool:
    """Return whether YAML can hold a case: JSON may have half a character, which kube-apiserver replaces."""
    try:
        json.dumps(case, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        print_notes([f"left out {case['name']}: it has an invalid character"])
        return False
    return True


def _unlike(cases: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the cases, each with a name of its own."""
    times, seen = Counter(case["name"] for case in cases), Counter[object]()
    for case in cases:
        name = case["name"]
        seen[name] += 1
        if times[name] > 1:
            case["name"] = f"{name}, {case['object']}" if isinstance(case["object"], str) else f"{name} ({seen[name]})"
    return cases
