"""Targets: policies, dumps of clusters and manifests, as the commands read them from a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Hashable, Sequence
from functools import partial
from pathlib import Path

from hypothesis import strategies as st

from evenkeel.clusters.dump_files import DumpError, load
from evenkeel.lint.judgement import judge
from evenkeel.scheduler.snapshot import from_objects
from tests.fuzz.outline import outlined
from tests.fuzz.reviews import MINORS
from tests.properties.judging import assert_well_formed, at_most, decide, sent
from tests.properties.test_cli import dumps, streams
from tests.properties.test_cluster import WATCHED_OBJECTS
from tests.support import strategies as some
from tests.support.lint import terms
from webhook.admission.request import MUTATE, VALIDATE
from webhook.cli import main as cli
from webhook.kubernetes.documents import read_documents
from webhook.kubernetes.features import features
from webhook.kubernetes.scalars import DocumentError
from webhook.policy.parsing import built_in, parse_policy
from webhook.policy.policy import PolicyError
from webhook.spread.cluster_view import view_of

DEFECT = b"this is a defect"
SECONDS = 10  # Of work for one input.
RECORDED = some.RECORDED[:8]
COMMAND = 8  # One in so many inputs is given to a command, which takes as long as all the others.


def numbered(texts: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    number = st.integers(0, 1 << 20)
    return st.builds(
        b"%d\n%b".__mod__, st.tuples(number, texts.map(lambda text: text.encode("utf-8", "surrogatepass")))
    )


def split(given: bytes) -> tuple[int, bytes]:
    number, _, body = given.partition(b"\n")
    return int(number or b"0"), body


def said(lines: Sequence[str]) -> tuple[str, ...]:
    """What is said in outline; each must be a line."""
    assert lines and all(line and line.isprintable() for line in lines), lines
    return tuple(sorted({outlined(line) for line in lines}))


class Policies:
    """A policy is read or refused in words; one that is read judges reviews."""

    name, share = "policies", 2
    bases = numbered(
        st.one_of(
            some.perhaps_damaged(st.sampled_from(some.RAW_POLICIES)).map(sent),
            some.perhaps_damaged(st.sampled_from(some.RAW_POLICIES)).map(some.as_yaml),
        )
    )

    def check(self, given: bytes) -> Hashable:
        number, body = split(given)
        text, minor = body.decode("utf-8", "replace"), MINORS[number % len(MINORS)]
        try:
            with at_most(SECONDS):
                policy = parse_policy(text, features(minor))
        except PolicyError as error:
            return said(error.causes)
        request = RECORDED[number % len(RECORDED)]
        with at_most(SECONDS):
            decision = decide(request, (MUTATE, VALIDATE)[number % 2], lambda: policy, lambda: None, minor)
        assert_well_formed(decision)
        return decision.outcome, *(finding.rule for finding in decision.findings)


class Files:
    """Something that reads a file; where the number says so, a whole command does."""

    commands: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.file = folder / f"{self.name}.yaml"  # type: ignore[attr-defined]

    def check(self, given: bytes) -> Hashable:
        number, body = split(given)
        self.file.write_bytes(body)
        number, rest = divmod(number, COMMAND)
        with at_most(SECONDS):
            return self.read(number, body) if rest else self.command(self.commands[number % len(self.commands)])

    def read(self, number: int, body: bytes) -> Hashable:
        raise NotImplementedError

    def command(self, words: str) -> Hashable:
        """0, 1 or 2, and 2 with a reason; lint makes a problem of an exception, and says that it is a defect."""
        with streams("") as errors:
            code = cli.main([str(self.file) if word == "FILE" else word for word in words.split()])
            sys.stdout.flush()
            printed, reason = sys.stdout.buffer.getvalue(), errors.getvalue()
        assert code in (0, 1, 2), code
        assert DEFECT not in printed + reason, (printed, reason)
        assert code != 2 or words.startswith("lint") or reason.startswith(b"evenkeel: "), reason
        line = reason.decode("utf-8", "surrogateescape").replace(str(self.file), "")
        return words, code, outlined(line), len(printed).bit_length()


class Dumps(Files):
    """A dump is read or refused in words; one that is read serves reviews, and commands that explain."""

    name, share = "dumps", 2
    bases = numbered(
        dumps
        | st.lists(some.perhaps_damaged(WATCHED_OBJECTS | some.cluster_objects), max_size=4).map(
            lambda items: sent({"apiVersion": "v1", "kind": "List", "items": items})
        )
    )
    commands = (
        *("pending --cluster FILE", "pending --cluster FILE -o json", "explain pod/web -n default --cluster FILE"),
        *("explain pod/web -n shop --cluster FILE", "report -A --cluster FILE"),
        *(
            "explain deployment/web -n default --cluster FILE -o json",
            "dump --cluster FILE",
            "admit -f FILE --cluster FILE",
        ),
    )

    def read(self, number: int, body: bytes) -> Hashable:
        minor = MINORS[number % len(MINORS)]
        try:
            snapshot = load(self.file, partial(from_objects, features=features(minor)) if number % 2 else view_of)
        except DumpError as error:
            line = str(error).replace(str(self.file), "")
            assert "\n" not in line  # What else is not printable the command escapes.
            return outlined(line)
        decision = decide(RECORDED[number % len(RECORDED)], MUTATE, built_in, lambda: snapshot, minor)
        assert_well_formed(decision)
        return decision.outcome, *(bool(part) for part in (snapshot.nodes, snapshot.services, snapshot.namespaces))


class Manifests(Files):
    """YAML and JSON are judged or passed over, and each finding stands in the text."""

    name, share = "manifests", 3
    bases = numbered(
        some.yaml_texts
        | some.perhaps_damaged(some.objects()).map(sent)
        | some.perhaps_damaged(some.objects()).map(some.as_yaml)
    )
    commands = (
        *(f"lint FILE -o {form}" for form in ("text", "json", "sarif", "github", "junit")),
        *(
            "lint --fix FILE",
            "lint --fix --diff FILE",
            "admit -f FILE -o yaml",
            "admit -f FILE --old FILE",
        ),
    )

    def read(self, number: int, body: bytes) -> Hashable:
        text = body.decode("utf-8", "replace")
        try:
            json.dumps(read_documents(text), allow_nan=False)
            problem = ""
        except DocumentError as error:
            (problem,) = said([str(error)])
        judged = judge("a.yaml", text, terms(features=features(MINORS[number % len(MINORS)])))
        lines = text.count("\n") + text.count("\r") + 1
        assert all(1 <= one.line <= lines and one.column >= 1 for one in judged.found)
        return problem, *(one.finding.rule for one in judged.found), len(judged.problems), len(judged.notes)
