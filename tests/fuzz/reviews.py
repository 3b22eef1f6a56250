"""Target: the bytes of a review, under many policies, clusters and versions, as the server's reviewer takes them."""

from __future__ import annotations

import base64
import json
import logging
import sys
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NamedTuple
from zlib import crc32

from hypothesis import strategies as st
from jsonpatch import apply_patch
from jsonpointer import JsonPointer

from tests.fuzz.outline import outlined
from tests.properties.judging import chosen, cluster, requests
from tests.support import strategies as some
from webhook.admission.request import MUTATE, VALIDATE
from webhook.cluster.cluster import Unchanging
from webhook.kubernetes.features import NEWEST, features
from webhook.kubernetes.fields import as_mapping, value_at, with_value
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.labels import labels_of
from webhook.server import logs
from webhook.server.metrics import Metrics
from webhook.server.reviewer import Reviewer
from webhook.server.wire import LONGEST_UID, REVIEW_API_VERSION, REVIEW_KIND
from webhook.spread.cluster_view import ClusterView
from webhook.spread.validation import validate

# Hypothesis draws small ones most of the time, which would be few of the ways in which an input is taken.
numbers = st.integers(0, 1 << 20).map(lambda drawn: crc32(b"%d" % drawn) >> 8)
CONSTRAINTS = ("spec", "topologySpreadConstraints")
PHASES, MINORS = (MUTATE, VALIDATE), range(25, 39)
WARNING, MOST_WARNINGS, STATUS_CODES = 256, 6, (400, 403, 500)
LOGGED = 64 << 10
DEPTH = 20_000
MOST_PATCHED = 5_000


def in_a_review(request: Mapping[str, object]) -> bytes:
    """As kube-apiserver writes it; empty where it is too deep to be written."""
    with suppress(RecursionError):
        review = {"kind": REVIEW_KIND, "apiVersion": REVIEW_API_VERSION, "request": {"uid": "r1", **request}}
        return json.dumps(review).encode("utf-8", "surrogatepass")
    return b""


class Patched(NamedTuple):
    """A Pod before and after its patch."""

    before: Any
    after: Any


class CheckedLines(logging.Handler):
    """Keeps the last line of an error; a line that would break a log is one."""

    def __init__(self) -> None:
        super().__init__()
        self.formatter, self.error = logs.JsonLines(), ""

    def handle(self, record: logging.LogRecord) -> bool:
        line = self.format(record)
        if record.levelno >= logging.ERROR or not (line.isascii() and line.isprintable() and len(line) < LOGGED):
            self.error = line
        return True


def without_constraints(obj, app, labels, namespace, username):
    """The request of a Pod that may get constraints: Services of the cluster select it, and it has none."""
    labels = {**labels_of(obj), **labels, "app": app}
    obj = with_value(with_value(obj, CONSTRAINTS, []), ("metadata", "labels"), labels)
    user = {"username": username}
    return {"uid": "r1", "operation": "CREATE", "object": obj, "namespace": namespace, "userInfo": user}


bare = st.builds(
    without_constraints,
    st.sampled_from([one["object"] for one in some.RECORDED if one["kind"]["kind"] == "Pod" and one["object"]])
    | some.objects([kind for kind in KINDS if kind.kind == "Pod"]),
    app=st.sampled_from(some.LABEL_VALUES),
    labels=some.labels,
    namespace=st.sampled_from(("default", *some.NAMESPACES)),
    username=some.users,
)


class Reviews:
    """As many policies, clusters and versions as there are, by the number of the input."""

    name, share = "reviews", 4
    bases = st.builds(b"%d\n%b".__mod__, st.tuples(numbers, (requests | bare).map(in_a_review)))

    def __init__(self) -> None:
        self.reviewer = Reviewer(chosen("plain"), Unchanging(None), features(37), Metrics())
        self.patched: dict[str, Patched] = {}
        self.log = CheckedLines()

    def check(self, given: bytes) -> Hashable:
        number, _, body = given.partition(b"\n")
        phase, minor = self._terms(int(number or b"0"))
        logs.logger.handlers, logs.logger.propagate, self.log.error = [self.log], False, ""
        logs.logger.setLevel(logging.INFO)
        answer = self.reviewer.answer(phase, body)
        assert not self.log.error, self.log.error
        assert answer.code in (200, 400), answer
        said = json.loads(answer.body, parse_constant=refused)
        assert (REVIEW_API_VERSION, REVIEW_KIND) == (said["apiVersion"], said["kind"])
        response = said["response"]
        review = read(body)
        check_uid(review, body, response["uid"])
        outline = [phase, answer.code, *self._said(response)]
        if "patch" in response:
            assert (phase, "JSONPatch", True) == (MUTATE, response["patchType"], response["allowed"])
            patch = json.loads(base64.b64decode(response["patch"]))
            with recursing(DEPTH):
                outline += self._patch(json.loads(body)["request"]["object"], patch, minor)
        return tuple(outline)

    def _terms(self, number: int) -> tuple[str, int]:
        """Set the reviewer's, by number; the phase, and the minor version of Kubernetes."""
        number, phase = divmod(number, len(PHASES))
        number, minor = divmod(number, 2 * len(MINORS))
        kubernetes = MINORS[minor] if minor < len(MINORS) else NEWEST
        number, snapshot = divmod(number, 4)
        self.reviewer.cluster = Unchanging((None, ClusterView(), cluster(), cluster())[snapshot])
        self.reviewer.features = features(kubernetes)
        self.reviewer.policy = policy(number % POLICIES)
        return PHASES[phase], kubernetes

    def _said(self, response: Mapping[str, Any]) -> list[Hashable]:
        warnings, annotations = response.get("warnings", []), response.get("auditAnnotations", {})
        assert len(warnings) <= MOST_WARNINGS and all(0 < len(one) <= WARNING for one in warnings)
        shown = [*warnings, *annotations.values()]
        message = ""
        if response["allowed"]:
            assert "status" not in response
        else:
            message = response["status"]["message"]
            assert response["status"]["code"] in STATUS_CODES
            shown += message.split("\n")
        assert all(line.isprintable() and line for line in shown), shown
        return [response["allowed"], outlined(message), *map(outlined, warnings), *sorted(annotations)]

    def _patch(self, obj: Any, patch: Any, minor: int) -> list[Hashable]:
        """It only adds, where nothing is, and kube-apiserver refuses nothing of what comes of it."""
        for one in patch:
            at = tuple(JsonPointer(one["path"]).parts)
            assert one["op"] == "add" and value_at(obj, at) in (None, []), one
        after = apply_patch(obj, patch)
        constraints = value_at(after, CONSTRAINTS)
        errors = validate(constraints, labels_of(after), CONSTRAINTS, merged=False, features=features(minor))
        assert not errors, [str(error) for error in errors]
        before, annotations = (as_mapping(value_at(one, ("metadata", "annotations"))) for one in (obj, after))
        assert all(isinstance(value, str) for name, value in annotations.items() if name not in before)
        if minor == NEWEST and len(self.patched) < MOST_PATCHED:
            self.patched.setdefault(json.dumps([constraints, labels_of(after)], default=str), Patched(obj, after))
        return [tuple(one["path"] for one in patch), len(constraints)]


@contextmanager
def recursing(levels: int) -> Iterator[None]:
    """Let what is as deep as the server reads be looked at."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(levels)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def check_uid(review: Any, body: bytes, uid: str) -> None:
    """A review keeps its uid, also one that is refused; what cannot be read has the one that stands in it, or none."""
    wanted = as_mapping(as_mapping(review).get("request")).get("uid")
    if isinstance(wanted, str) and 0 < len(wanted) <= LONGEST_UID:
        assert wanted == uid, f"uid: found {uid!r}, wanted {wanted!r}"
    else:
        assert not uid or (review is None and f'"{uid}"'.encode() in body), f"uid: found {uid!r}, wanted none"


def read(body: bytes) -> Any:
    """What the json module makes of a body, None if it is not JSON."""
    with suppress(ValueError, RecursionError):
        return json.loads(body.decode())
    return None


def refused(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


NAMES = ("plain", "strict", "enforced", "layered", "scheduler", "careful")
POLICIES = len(NAMES) * 3 * 2 * 2 * 2


@cache
def policy(number: int):
    """Each of the policies with each enforcement, and so on."""
    number, name = divmod(number, len(NAMES))
    number, enforcement = divmod(number, 3)
    number, owned = divmod(number, 2)
    number, early = divmod(number, 2)
    return chosen(
        NAMES[name],
        enforcement=("Deny", "Warn", "Audit")[enforcement],
        owned_objects=("Audit", "Deny")[owned],
        early_answer=bool(early),
        on_error=("Allow", "Deny")[number % 2],
    )
